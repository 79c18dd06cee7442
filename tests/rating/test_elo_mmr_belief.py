"""The posterior density of Elo-MMR as a value: equation (7), its mode, and statistics of it."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

import equipoise as eq
from equipoise.data.explanation import Belief

#: A part of the season: a belief needs a few performances, and plain Python takes its time.
CONTESTS = eq.read_history("examples/contests.csv").slice(0, 8)

SYSTEMS = [
    eq.EloMMR(),
    eq.EloMMR(rho=0.0),
    eq.EloMMR(rho=math.inf),
    eq.EloMMR(remembered=2),
    eq.EloMMR(drift_per_day=3.0),
    eq.EloMMX(),
]


def belief_of(system: eq.RatingSystem, player: str = "jade-kite") -> Belief:
    found = eq.explain(system, CONTESTS, player)
    assert found.belief.rating == found.rating
    assert found.belief.deviation == found.deviation
    return found.belief


@pytest.mark.parametrize("system", SYSTEMS, ids=str)
def test_the_rating_is_the_mode_and_the_deviation_is_equation_9(system):
    """[EM]_ (8) is 0 at the rating; (9) adds the weights omega/beta^2."""
    found = belief_of(system)
    step = np.array([-1.0, 0.0, 1.0])
    down, here, up = found.log_density(found.rating + step)
    assert here == 0.0
    assert up < 0.0 > down
    # A point away, third derivatives are below 1e-6.
    assert abs(up - down) / 2 < 1e-6
    weight = found.prior_deviation**-2 + float(np.sum(found.multiplicity / found.beta**2))
    assert weight == pytest.approx(found.deviation**-2, rel=1e-9)


def test_the_density_and_its_statistics_are_those_of_equation_7():
    """The printed product in 30 digits, integrated by mpmath."""
    found = belief_of(eq.EloMMR())
    with mpmath.workdps(30):
        terms = list(zip(found.performance, found.beta, found.multiplicity, strict=True))

        def product(s):
            value = mpmath.exp(-((s - found.prior) ** 2) / (2 * found.prior_deviation**2))
            for p, beta, omega in terms:
                z = mpmath.pi / mpmath.sqrt(12) * (s - p) / beta
                value *= mpmath.sech(z) ** (2 * omega)
            return value

        parts = [found.rating + k * found.deviation for k in range(-12, 13, 4)]
        area = mpmath.quad(product, parts)
        mean = mpmath.quad(lambda s: s * product(s), parts) / area
        variance = mpmath.quad(lambda s: (s - mean) ** 2 * product(s), parts) / area
        low, high = found.interval()
        inside = mpmath.quad(product, [low, found.rating, high]) / area
        at = [found.rating - 100, found.rating + 37]
        truth = [float(product(s) / area) for s in at]
    assert found.mean() == pytest.approx(float(mean), abs=1e-6)
    assert found.standard_deviation() == pytest.approx(float(mpmath.sqrt(variance)), abs=1e-6)
    # Quantiles are interpolated between points at 0.3 rating points.
    assert float(inside) == pytest.approx(0.95, abs=1e-5)
    assert found.density(np.array(at)) == pytest.approx(truth, rel=1e-9)
    assert low < found.median() < high


def test_with_normal_factors_it_is_normal():
    found = belief_of(eq.EloMMX())
    assert found.mean() == pytest.approx(found.rating, abs=1e-6)
    assert found.median() == pytest.approx(found.rating, abs=1e-6)
    assert found.standard_deviation() == pytest.approx(found.deviation, rel=1e-9)
    assert found.interval()[1] - found.rating == pytest.approx(1.959964 * found.deviation, abs=1e-3)


def test_a_held_level_moves_the_belief_with_the_rating():
    """Rating and mode are the same after the level adjustment, too."""
    played, times = np.unique(CONTESTS.player, return_counts=True)
    for player in CONTESTS.player_ids[played[times > 4][:3]].tolist():
        found = eq.explain(eq.EloMMR(hold_level=0.5), CONTESTS, player)
        assert found.belief.rating == pytest.approx(found.rating, abs=1e-9)
        up, down = found.belief.log_density(np.array([1.0, -1.0]) + found.rating)
        assert abs(up - down) / 2 < 1e-6


def test_other_systems_have_none_and_shares_are_checked():
    assert eq.explain(eq.Elo(), eq.read_history("examples/league.csv"), "ada").belief is None
    found = eq.explain(eq.EloMMR(), CONTESTS, "jade-kite").belief
    with pytest.raises(eq.InvalidParameterError, match="share"):
        found.quantile(1.0)
    with pytest.raises(eq.InvalidParameterError, match="confidence"):
        found.interval(0.0)
    moved = found.moved(10.0)
    assert moved.mean() == pytest.approx(found.mean() + 10.0, abs=1e-6)
    assert found.to_polars().columns == ["skill", "density"]
