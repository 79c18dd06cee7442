"""f, P and the iteration x <- f(x), against the document and differences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from papers.performance.iteration import (
    performance_function,
    performance_iteration,
    performance_potential,
    potential_of,
)

import equipoise as eq
from drawing import examples
from equipoise.tournament.curves import CauchyCurve, DavidsonCurve, EloCurve, NormalCurve, curve_of
from tournament.tournaments import matches, table_1, tournaments

CURVES = ["elo", "normal", "laplace", "cauchy"]


def by_name(games, values):
    return dict(zip(games.player_ids.tolist(), values.tolist(), strict=True))


def test_f_of_the_ratings_before_is_the_tpr():
    """[PRE]_ Def. 4; the numbers are READINGS C5."""
    found = by_name(table_1(1), performance_function(table_1(1)))
    assert found == pytest.approx({"C": 2538.52, "B": 2225.0, "A": 1894.68}, abs=0.005)


@pytest.mark.parametrize("curve", CURVES)
def test_the_equilibrium_is_the_fixed_point_of_f(curve):
    """[PRE]_ Def. 2 and Lemma 1, for every named curve."""
    games = eq.read_games("examples/interzonal1970.csv")
    found = eq.performance_equilibrium(games, anchor=2557, curve=curve)
    best = by_name(games, found.rating)
    assert np.allclose(performance_function(games, best, curve=curve), found.rating, atol=1e-6)
    there = performance_potential(games, best, curve=curve)
    assert np.max(np.abs(there.gradient)) < 1e-8


def test_the_iteration_settles_at_its_eighth_step():
    """The document's note 11."""
    run = performance_iteration(table_1(1), 2216.67)
    assert run.settled_at == 8 == len(run.changes)
    assert run.changes[7] < 0.5 <= run.changes[6]
    assert run.ratings.shape == (9, 3)


def test_the_iteration_of_two_players_alternates():
    """After one step each is as far above the other as before, with the other sign."""
    games = matches([("a", "b", 4.0, 3.0)])
    run = performance_iteration(games, steps=20)
    assert run.settled_at is None
    assert np.allclose(run.ratings[20], run.ratings[18])
    assert run.changes[-1] == pytest.approx(400 * np.log10(3), abs=1e-6)


def test_the_iteration_moves_apart_without_an_equilibrium():
    """a and b took every point of c and d; all have some points. [PRE]_ Theorem 1."""
    swept = [("a", "b", 2.0, 1.0), ("c", "d", 2.0, 1.0), ("a", "c", 1.0, 1.0), ("b", "d", 1.0, 1.0)]
    games = matches(swept)
    run = performance_iteration(games, steps=200, settled=0)
    apart = np.ptp(run.ratings, axis=1)
    assert run.settled_at is None
    assert np.all(np.diff(apart) > 0)
    with pytest.raises(eq.NoEquilibriumError):
        eq.performance_equilibrium(games)


@examples(50)
@given(games=tournaments())
def test_derivatives_of_p_are_what_differences_say(games):
    """[PRE]_ Prop. 2 and (4): central differences of a hundredth of a point."""
    start = np.linspace(-200, 200, games.players)
    names = games.player_ids.tolist()

    def potential(x):
        return performance_potential(games, dict(zip(names, x.tolist(), strict=True)))

    here = potential(start)
    for row in range(games.players):
        step = np.zeros(games.players)
        step[row] = 0.01
        up, down = potential(start + step), potential(start - step)
        slope = (up.value - down.value) / 0.02
        assert slope == pytest.approx(here.gradient[row], abs=1e-5)
        bend = (up.gradient - down.gradient) / 0.02
        assert np.allclose(bend, here.curvature[row], atol=1e-8)
    # Adding a number to all ratings changes nothing, and P is concave.
    assert potential(start + 77).value == pytest.approx(here.value, abs=1e-8)
    assert np.max(np.linalg.eigvalsh(here.curvature)) < 1e-12


def test_what_cannot_be_computed_is_refused():
    games = matches([("a", "b", 1.0, 1.0), ("b", "c", 1.0, 0.5)])
    with pytest.raises(eq.InvalidDataError, match="player a: must have some points"):
        performance_iteration(games, 1500)
    assert np.isnan(by_name(games, performance_function(games, 1500))["a"])
    with pytest.raises(eq.InvalidDataError, match="player b: must have a rating"):
        performance_function(games, {"a": 1500, "c": 1500})


@pytest.mark.parametrize(
    "curve", [*map(curve_of, CURVES), DavidsonCurve(2.5), curve_of(CauchyCurve().expected)]
)
def test_the_potential_is_the_integral_of_the_curve(curve):
    """[PRE]_ sec. 3: A(0) = 0, A(t) - A(-t) = t and A' = psi, by differences of a point."""
    t = np.linspace(-2000, 2000, 41)
    area = potential_of(curve, t)
    assert potential_of(curve, np.zeros(1))[0] == 0
    assert np.allclose(area - potential_of(curve, -t), t, rtol=1e-13, atol=1e-10)
    slope = (potential_of(curve, t + 1) - potential_of(curve, t - 1)) / 2
    assert np.allclose(slope, curve.expected(t), rtol=0, atol=2e-6)


@pytest.mark.parametrize("curve", [EloCurve(), NormalCurve()])
def test_the_potential_by_formula_is_that_by_quadrature(curve):
    """A curve given as a function is integrated numerically."""
    t = np.linspace(-3000, 3000, 61)
    assert np.allclose(
        potential_of(curve, t), potential_of(curve_of(curve.expected), t), rtol=1e-11
    )
