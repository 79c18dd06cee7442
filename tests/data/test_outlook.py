"""Chances of a coming match: both curves in both tails, and teams from their members."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.data.outlook import Curve, Outlook, chance

CURVES: tuple[Curve, ...] = ("logistic", "normal")

every_curve = pytest.mark.parametrize("curve", CURVES)

#: Of sums of two numbers of size 1, each rounded once.
ROUNDING = 4e-16


def mp_chance(z: mpmath.mpf, curve: Curve) -> mpmath.mpf:
    """Return the distribution function without cancellation."""
    if curve == "logistic":
        return 1 / (1 + mpmath.exp(-z))
    return mpmath.erfc(-z / mpmath.sqrt(2)) / 2


@st.composite
def outlooks(draw: st.DrawFn, least: int = 2) -> Outlook:
    """Draw up to eight players or teams."""
    n = draw(st.integers(least, 8))
    centre = draw(st.lists(st.floats(-3000, 5000), min_size=n, max_size=n))
    scale = draw(st.lists(st.floats(1, 800), min_size=n, max_size=n))
    return Outlook(
        centre=np.array(centre),
        scale=np.array(scale),
        curve=draw(st.sampled_from(CURVES)),
        team=draw(st.sampled_from(["mean", "sum"])),
    )


few = settings(max_examples=60, deadline=None)


# Relative: exp, a sum and a quotient; the normal tail is as good as z^2/2 (numeric.normal).
@pytest.mark.parametrize(
    ("curve", "lowest", "bound"), [("logistic", -700.0, 1e-15), ("normal", -37.6, 1e-13)]
)
def test_chances_keep_their_relative_error_in_the_lower_tail(
    curve: Curve, lowest: float, bound: float
) -> None:
    """Truth is mpmath: an upset of one in 10^300 is not rounded to never."""
    z = np.linspace(lowest, 40.0, 1001)
    with mpmath.workdps(40):
        for at, found in zip(z.tolist(), chance(z, curve).tolist(), strict=True):
            exact = mp_chance(mpmath.mpf(at), curve)
            assert abs(mpmath.mpf(found) - exact) <= bound * exact, at


@every_curve
def test_chances_of_the_two_sides_sum_to_one(curve: Curve) -> None:
    """F(z) + F(-z) = 1 to one rounding, F(0) is one half to the bit, and F rises."""
    z = np.linspace(-12.0, 12.0, 997)
    np.testing.assert_allclose(chance(z, curve) + chance(-z, curve), 1.0, rtol=0, atol=ROUNDING)
    assert chance(np.zeros(3), curve).tolist() == [0.5] * 3
    # Above 6, steps of 0.02 are less than the rounding of 1.
    assert np.all(np.diff(chance(z[z < 6], curve)) > 0)
    assert np.all(np.diff(chance(z, curve)) >= 0)


@every_curve
def test_chances_far_out_are_0_and_1(curve: Curve) -> None:
    far = np.array([1e3, 1e8, math.inf])
    np.testing.assert_array_equal(chance(far, curve), 1.0)
    assert np.all(chance(-far, curve) < 1e-300)


@every_curve
@pytest.mark.parametrize("shape", [(), (0,), (3, 4)])
def test_chances_have_the_shape_of_their_arguments(curve: Curve, shape: tuple[int, ...]) -> None:
    z = np.random.default_rng(1).normal(0.0, 3.0, shape)
    found = chance(z, curve)
    assert found.shape == shape
    expected = [chance(np.array([one]), curve)[0] for one in z.ravel().tolist()]
    np.testing.assert_array_equal(found.ravel(), expected)


@every_curve
def test_the_higher_centre_is_never_the_outsider(curve: Curve) -> None:
    z = np.concatenate([np.geomspace(5e-324, 1e-3, 20_001), np.linspace(0.0, 1e-14, 20_001)])
    assert np.all(chance(z, curve) >= 0.5)
    assert np.all(chance(-z, curve) <= 0.5)


@given(outlooks())
@few
def test_pairs_are_complementary(outlook: Outlook) -> None:
    pairs = outlook.pairs()
    np.testing.assert_allclose(pairs + pairs.T, 1.0, rtol=0, atol=ROUNDING)
    assert np.all(np.diag(pairs) == 0.5)
    assert np.all((pairs >= 0) & (pairs <= 1))
    # The higher centre is never the outsider.
    higher = outlook.centre[:, None] > outlook.centre[None, :]
    assert np.all(pairs[higher] >= 0.5)


@given(outlooks())
@few
def test_a_pair_is_the_curve_of_the_difference_over_both_scales(outlook: Outlook) -> None:
    """The definition, by mpmath; relative error as in the tails, where float64 has the range."""
    n = len(outlook.centre)
    first, second = (grid.ravel() for grid in np.indices((n, n)))
    found = outlook.beats(first, second)
    np.testing.assert_array_equal(found.reshape(n, n), outlook.pairs())
    with mpmath.workdps(40):
        for i, j, one in zip(first.tolist(), second.tolist(), found.tolist(), strict=True):
            a, b, s, t = (
                mpmath.mpf(value)
                for value in (*outlook.centre[[i, j]].tolist(), *outlook.scale[[i, j]].tolist())
            )
            exact = mp_chance((a - b) / mpmath.sqrt(s * s + t * t), outlook.curve)
            # z itself is rounded: by 3e-16 of it, which z^2 or z times as much of the tail feels.
            assert abs(mpmath.mpf(one) - exact) <= 1e-12 * exact + 1e-300


@given(outlooks())
@few
def test_expected_scores_are_the_means_of_the_pairs(outlook: Outlook) -> None:
    n = len(outlook.centre)
    others = outlook.pairs()[~np.eye(n, dtype=bool)].reshape(n, n - 1)
    # A sum of n numbers of up to 1, less one half, over n - 1.
    np.testing.assert_allclose(outlook.expected(), others.mean(axis=1), rtol=0, atol=1e-15 * n)
    assert math.fsum(outlook.expected()) == pytest.approx(n / 2, abs=1e-14)


@given(outlooks(least=1), st.data())
@few
def test_teams_play_at_the_mean_or_at_the_sum_of_their_members(
    outlook: Outlook, data: st.DataObject
) -> None:
    """Of the centres; the squared scale is that of a mean or sum of independent parts."""
    n = len(outlook.centre)
    labels = data.draw(st.lists(st.integers(0, n - 1), min_size=n, max_size=n), label="teams")
    team = np.unique(labels, return_inverse=True)[1]
    teams = int(team.max()) + 1
    found = outlook.of_teams(team, teams)
    assert (found.curve, found.team) == (outlook.curve, outlook.team)
    for t in range(teams):
        members = np.flatnonzero(team == t)
        share = len(members) if outlook.team == "mean" else 1
        centre = math.fsum(outlook.centre[members]) / share
        own = math.fsum(outlook.scale[members] ** 2 - outlook.shared) / share**2
        squared = outlook.shared + own
        # Rounding of sums of eight numbers of up to 5000.
        assert found.centre[t] == pytest.approx(centre, rel=1e-14, abs=1e-11)
        # Taking away what is shared leaves its rounding behind.
        assert found.scale[t] ** 2 == pytest.approx(squared, rel=1e-13)


def test_two_members_by_hand() -> None:
    members = {"centre": np.array([1400.0, 1600.0, 1500.0]), "scale": np.array([60.0, 80.0, 10.0])}
    mean = Outlook(**members, curve="normal").of_teams(np.array([0, 0, 1]), 2)
    assert mean.centre.tolist() == [1500.0, 1500.0]
    np.testing.assert_allclose(mean.scale, [50.0, 10.0], rtol=1e-15)
    # 2000 of the 3600 and 6400 is shared: (1600 + 4400)/4 + 2000.
    held = Outlook(**{**members, "scale": np.array([60.0, 80.0, 50.0])}, curve="normal", shared=2e3)
    np.testing.assert_allclose(
        held.of_teams(np.array([0, 0, 1]), 2).scale, [math.sqrt(3500), 50.0], rtol=1e-15
    )
    added = Outlook(**members, curve="normal", team="sum").of_teams(np.array([0, 0, 1]), 2)
    assert added.centre.tolist() == [3000.0, 1500.0]
    np.testing.assert_allclose(added.scale, [100.0, 10.0], rtol=1e-15)


def test_a_hundred_points_by_hand() -> None:
    """One standard deviation of the difference apart, from the tables of the two curves."""
    for curve, expected in (("logistic", 0.731059), ("normal", 0.841345)):
        outlook = Outlook(
            centre=np.array([1600.0, 1500.0]), scale=np.array([60.0, 80.0]), curve=curve
        )
        assert outlook.beats(np.array([0]), np.array([1]))[0] == pytest.approx(expected, abs=5e-7)
