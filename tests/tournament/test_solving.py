"""The equilibrium: [PRE]_ sec. 2 and 3 as properties, and the slow reference."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from equipoise.data.games import Games
from equipoise.errors import ConvergenceError
from equipoise.tournament.curves import EloCurve, NormalCurve
from equipoise.tournament.newton import DenseEngine, laplacian
from equipoise.tournament.pairs import Pairs, gather_pairs
from equipoise.tournament.solving import PerformanceFunction, solve
from reference import equilibrium as reference
from tournament.tournaments import (
    connected_tournaments,
    one_component,
    random_games,
    triples,
)

ELO = EloCurve()


def potential(x, pairs, scored):
    """Return P(x) of [PRE]_, whose A(t) is the logarithm of 1 + 10^(t/400), scaled, less A(0)."""
    t = (x[pairs.first] - x[pairs.second]) * math.log(10) / 400
    a = (np.logaddexp(0, t) - math.log(2)) * 400 / math.log(10)
    return scored @ x - np.sum(pairs.weight * (a + x[pairs.second]))


@examples(50)
@given(games=connected_tournaments())
def test_expected_scores_are_the_scores(games):
    """E(x*) = m, found by plain Python; the mean is 0."""
    found = solve(*prepared(games), curve=ELO)
    # 1e-9 for m - E, and as much again for the reference's own sums.
    assert reference.residual(found.ratings.tolist(), triples(games)) < 2e-9
    assert found.residual <= 1e-9
    assert abs(np.mean(found.ratings)) < 1e-9


def prepared(games):
    """Return pairs, players, labels."""
    pairs, label = one_component(games)
    return pairs, games.players, label


@examples(10)
@given(games=connected_tournaments(max_players=4))
@pytest.mark.parametrize("curve", ["elo", "normal"])
def test_ratings_are_those_of_the_plain_iteration(games, curve):
    """The reference halves every step of x <- f(x); it stops at changes of 1e-11."""
    psi = getattr(reference, curve)
    slow = reference.equilibrium(games.players, triples(games), psi, steps=150)
    known = {"elo": ELO, "normal": NormalCurve()}
    found = solve(*prepared(games), curve=known[curve]).ratings
    if reference.residual(slow, triples(games), psi) < 1e-10:
        assert np.allclose(found, slow, rtol=0, atol=1e-5)
    else:  # a long ring: the plain iteration is not there yet, ours is
        assert reference.residual(found.tolist(), triples(games), psi) < 2e-9


@examples(50)
@given(games=connected_tournaments(), seed=st.integers(0, 99))
def test_gradient_and_hessian_are_those_of_the_potential(games, seed):
    """[PRE]_ Prop. 2 and (4), by differences of P and of the gradient."""
    pairs, label = one_component(games)
    n, scored = games.players, games.scored()
    x = np.random.default_rng(seed).normal(0, 300, n)
    engine = DenseEngine(pairs, ELO, 0.0, np.zeros(n, dtype=bool), label)
    gradient = engine.evaluate(x)
    hessian = laplacian(pairs, pairs.weight * ELO.slope(x[pairs.first] - x[pairs.second]), n)
    step = 1e-2 * np.eye(n)
    by_differences = [
        (potential(x + one, pairs, scored) - potential(x - one, pairs, scored)) / 2e-2
        for one in step
    ]
    # P is of size 1e4, its differences lose 1e-12/2e-2.
    assert np.allclose(gradient, by_differences, rtol=0, atol=1e-7)
    columns = [(engine.evaluate(x + one) - engine.evaluate(x - one)) / 2e-2 for one in step]
    assert np.allclose(-hessian, np.array(columns).T, rtol=0, atol=1e-9)
    assert np.linalg.eigvalsh(hessian).min() > -1e-12  # P is concave


@examples(50)
@given(games=connected_tournaments(), constant=st.floats(-3000, 3000))
def test_moving_everyone_changes_no_performance_but_by_that(games, constant):
    """f(x + c) = f(x) + c; and f(x*) = x*, the definition of the equilibrium."""
    pairs, players, label = prepared(games)
    x = solve(pairs, players, label, curve=ELO).ratings
    here = PerformanceFunction(pairs, len(x), curve=ELO)(x)
    there = PerformanceFunction(pairs, len(x), curve=ELO)(x + constant)
    # A residual of 1e-9 is divided by the slope of a player's own expected score.
    slope = pairs.weight * ELO.slope(x[pairs.first] - x[pairs.second])
    close = 1e-8 + 2e-9 / np.min(pairs.summed(slope, slope, players))
    assert np.allclose(here, x, rtol=0, atol=close)
    assert np.allclose(there, here + constant, rtol=0, atol=close)


@pytest.mark.parametrize(
    ("share", "scale", "advantage"),
    [(0.25, 2, 0), (1e-3, 1, 0), (1e-6, 1, 0), (1e-12, 1, 300), (1e-30, 1, 0)],
)
def test_nearly_all_won_is_far_and_finite(share, scale, advantage):
    """400 log10((1 - s)/s) for a share s: what is small keeps its digits."""
    games = Games(player_ids=np.arange(2), white=[0], black=[1], points=[share])
    found = solve(*prepared(games), curve=ELO, scale=scale, advantage=advantage).ratings
    truth = scale * 400 * (math.log10(share) - math.log10(1 - share)) - advantage
    assert found[0] - found[1] == pytest.approx(truth, rel=1e-9)


@examples(50)
@given(games=connected_tournaments(weighted=False), factor=st.sampled_from([1e-9, 0.3, 7.0, 1e6]))
def test_only_proportions_of_weights_count(games, factor):
    """w and y times a constant: the same ratings."""
    pairs, players, label = prepared(games)
    more = pairs._replace(weight=factor * pairs.weight, points=factor * pairs.points)
    one = solve(pairs, players, label, curve=ELO).ratings
    other = solve(more, players, label, curve=ELO).ratings
    assert np.allclose(one, other, rtol=0, atol=1e-5)


def test_several_players_who_are_held_leave_the_others_equations():
    """By plain Python: the free players' scores are met, the held ratings are kept."""
    games = random_games(9, 40)
    fixed = np.full(9, np.nan)
    fixed[[2, 7]] = 1900.0, 2300.0
    found = solve(*prepared(games), curve=ELO, fixed=fixed)
    assert np.array_equal(found.ratings[[2, 7]], [1900.0, 2300.0])
    pairs = gather_pairs(games)
    t = found.ratings[pairs.first] - found.ratings[pairs.second]
    expected = pairs.summed(pairs.weight * ELO.expected(t), pairs.weight * ELO.expected(-t), 9)
    free = np.isnan(fixed)
    assert np.allclose(expected[free], games.scored()[free], rtol=0, atol=1e-9)
    assert not np.allclose(expected[~free], games.scored()[~free], rtol=0, atol=0.01)


def test_players_held_far_apart_are_believed():
    """9,000 points between two who are held, and one who drew with both: in the middle."""
    games = Games(player_ids=np.arange(3), white=[0, 1], black=[2, 2], points=[0.5, 0.5])
    fixed = np.array([-4_500.0, 4_500.0, np.nan])
    found = solve(*prepared(games), curve=ELO, fixed=fixed)
    # Between 2,000 and -2,000 the slopes are 1e-6 of a point a point and less.
    assert found.ratings[2] == pytest.approx(0.0, abs=1.0)


def test_a_tournament_without_equilibrium_is_not_claimed_to_have_one():
    """Somebody won everything: the caller should have asked; here it ends in an error."""
    games = Games(
        player_ids=np.arange(3), white=[0, 0, 1, 2], black=[1, 2, 2, 1], points=[1, 1, 0.5, 0.5]
    )
    pairs, players, label = prepared(games)
    # What is left of the equation falls below any tolerance; the games between the groups tell.
    with pytest.raises(ConvergenceError, match="the equilibrium of groups"):
        solve(pairs, players, label, curve=ELO)


def test_nobody_and_nothing():
    """No players, or no games: no ratings, no failure."""
    none = Pairs(*(np.empty(0, dtype=kind) for kind in (int, int, float, float, float)))
    assert len(solve(none, 0, np.empty(0, dtype=int), curve=ELO).ratings) == 0
    assert np.all(np.isnan(solve(none, 3, np.full(3, -1), curve=ELO).ratings))
