"""What a sweep says about ratings: closed forms, mpmath, plain bisection, and symmetries."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from equipoise.errors import ConvergenceError
from equipoise.tournament.curves import EloCurve
from equipoise.tournament.existence import (
    differences,
    existence,
    one_sided_bounds,
    sweep_differences,
)
from tournament.tournaments import pairs_of, result_lists

ELO = EloCurve()


class Never:
    """Not a curve: the better player never gets more than nine points of ten."""

    name = "never"

    def expected(self, t):
        return 0.5 + 0.4 * np.tanh(t / 400.0)

    slope = variance = expected


def sweep_difference(gaps, weight, curve, scale, confidence, **options) -> float:
    """Return the difference that one sweep proves."""
    group = np.zeros(len(gaps), dtype=np.int64)
    return float(differences(gaps, weight, group, 1, curve, scale, confidence, **options)[0])


def probability(gaps, weight, d, scale=1.0):
    """Return the probability of winning all games, [PRE] (2), as it is written."""
    return math.prod(
        (1.0 / (1.0 + 10.0 ** (-(gap + d) / scale / 400.0))) ** count
        for gap, count in zip(gaps, weight, strict=True)
    )


def by_bisection(gaps, weight, confidence, scale=1.0):
    """Return the difference by halving [-20,000, 20,000] sixty times."""
    low, high = -20_000.0, 20_000.0
    for _ in range(60):
        middle = (low + high) / 2
        if probability(gaps, weight, middle, scale) < 1.0 - confidence:
            low = middle
        else:
            high = middle
    return low


@pytest.mark.parametrize("confidence", [0.01, 0.5, 0.8, 0.95, 0.999999])
@pytest.mark.parametrize("games", [1.0, 2.5, 9.0, 1e6])
@pytest.mark.parametrize("scale", [0.01, 1.0, 250.0])
def test_equal_players_have_a_closed_form(confidence, games, scale) -> None:
    """psi(d/scale)^w = 1 - c gives d = -400 scale log10((1 - c)^(-1/w) - 1)."""
    d = sweep_difference(np.array([-30.0]), np.array([games]), ELO, scale, confidence)
    odds = math.expm1(-math.log1p(-confidence) / games)
    # The bracket, and the last digits of a large number.
    expected = 30.0 - 400.0 * scale * math.log10(odds)
    assert d == pytest.approx(expected, abs=1.1e-9, rel=1e-14)


@examples(80)
@given(
    st.lists(
        st.tuples(st.floats(-2500, 2500), st.sampled_from([0.5, 1.0, 4.0])), min_size=1, max_size=12
    ),
    st.floats(0.001, 0.999),
)
def test_the_difference_is_that_of_plain_bisection(games, confidence) -> None:
    gaps, weight = map(np.array, zip(*games, strict=True))
    d = sweep_difference(gaps, weight, ELO, 1.0, confidence)
    # The product is exact to 1e-15 of itself; by its slope that may be 1e-9 points.
    assert d == pytest.approx(by_bisection(gaps, weight, confidence), abs=1e-8)
    more = sweep_difference(gaps, weight, ELO, 1.0, confidence + 0.0005)
    assert more < d  # more certain, so less is claimed
    assert sweep_difference(gaps + 40.0, weight, ELO, 1.0, confidence) == pytest.approx(
        d - 40.0, abs=3e-9
    )


@examples(80)
@given(result_lists(max_players=8), st.integers(0, 10**6))
def test_all_sweeps_at_once_are_those_one_by_one(tournament, seed) -> None:
    """And bounds are the level met plus or minus the difference, by plain loops."""
    players, results = tournament
    pairs = pairs_of(players, results)
    answer = existence(pairs, players)
    ratings = np.random.default_rng(seed).normal(1500.0, 200.0, players)
    known = ratings.copy()
    classes = [answer.members(number) for number in range(answer.classes)]
    for members in classes:
        if len(members) == 1 and seed % 3:
            known[members] = np.nan
    level = [known[members].mean() for members in classes]
    position = {
        i: 0.0 if len(members) == 1 else known[i] - level[number]
        for number, members in enumerate(classes)
        for i in members.tolist()
    }
    found = sweep_differences(answer, pairs, known, ELO, 1.0, 0.9)
    lower, upper = one_sided_bounds(answer, known, found)
    lowers: dict[int, list[float]] = {}
    uppers: dict[int, list[float]] = {}
    for arc, (a, b) in enumerate(zip(answer.above.tolist(), answer.below.tolist(), strict=True)):
        games = [(i, j, w) for i, j, w, *_ in zip(*pairs, strict=True)]
        met = [(i, j, w) if answer.class_of[i] == a else (j, i, w) for i, j, w in games]
        met = [
            (position[i] - position[j], w)
            for i, j, w in met
            if answer.class_of[i] == a and answer.class_of[j] == b
        ]
        gaps, weight = map(np.array, zip(*met, strict=True))
        d = sweep_difference(gaps, weight, ELO, 1.0, 0.9)
        assert found[arc] == pytest.approx(d, abs=2e-9)
        assert found[arc] == pytest.approx(by_bisection(gaps, weight, 0.9), abs=1e-8)
        for i in classes[a].tolist():
            lowers.setdefault(i, []).append(position[i] + level[b] + d)
        for j in classes[b].tolist():
            uppers.setdefault(j, []).append(position[j] + level[a] - d)
    for i in range(players):
        least = [one for one in lowers.get(i, []) if not math.isnan(one)]
        most = [one for one in uppers.get(i, []) if not math.isnan(one)]
        expected = [max(least, default=math.nan), min(most, default=math.nan)]
        assert [lower[i], upper[i]] == pytest.approx(expected, abs=3e-9, nan_ok=True)


def test_a_class_without_ratings_gives_no_number() -> None:
    """Two players who drew, of unknown ratings, beat a third: where they stand is not known."""
    pairs = pairs_of(3, [(0, 1, 1.0, 0.5), (0, 2, 1.0, 1.0)])
    answer = existence(pairs, 3)
    ratings = np.array([np.nan, 1500.0, 1400.0])
    by = sweep_differences(answer, pairs, ratings, ELO, 1.0, 0.95)
    assert np.isnan(by).all()
    assert np.isnan(one_sided_bounds(answer, ratings, by)).all()


def test_without_sweeps_there_is_nothing_to_bound() -> None:
    """One draw, and a player without games."""
    pairs = pairs_of(3, [(0, 1, 1.0, 0.5)])
    answer = existence(pairs, 3)
    ratings = np.array([1500.0, 1500.0, np.nan])
    by = sweep_differences(answer, pairs, ratings, ELO, 1.0, 0.95)
    assert by.shape == (0,)
    assert np.isnan(one_sided_bounds(answer, ratings, by)).all()


def test_a_curve_that_stays_below_1_is_refused() -> None:
    """At 9 of 10 points at most, three wins never have probability 0.8."""
    with pytest.raises(ConvergenceError, match="bracket"):
        sweep_difference(np.zeros(3), np.ones(3), Never(), 1.0, 0.2)


def test_running_out_of_steps_is_told() -> None:
    with pytest.raises(ConvergenceError, match="difference of two classes did not converge"):
        sweep_difference(np.array([0.0, 100.0]), np.ones(2), ELO, 1.0, 0.95, max_steps=2)
