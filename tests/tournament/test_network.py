"""Large tournaments: the same numbers as by elimination, whatever the curve, weights and threads.

They are made small here by lowering the number of players from which they count as large.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from drawing import WITHOUT_JIT
from equipoise.data.games import Games
from equipoise.errors import ConvergenceError
from equipoise.tournament.curves import DavidsonCurve, EloCurve, NormalCurve, curve_of
from equipoise.tournament.newton import Limits
from equipoise.tournament.pairs import gather_pairs
from equipoise.tournament.solving import PerformanceFunction, Solution, solve
from tournament.tournaments import one_component, random_games

CURVES = [
    EloCurve(),
    NormalCurve(),
    DavidsonCurve(1.3),
    curve_of(lambda t: 1 / (1 + 10 ** (-t / 400))),
]
IDS = ["elo", "normal", "davidson", "custom"]


#: Every tournament counts as large.
LARGE = Limits(dense_players=0)


@pytest.mark.parametrize("held", [{}, {3: 1500.0, 30: 1900.0}], ids=["free", "held"])
@pytest.mark.parametrize("curve", CURVES, ids=IDS)
def test_by_iteration_as_by_elimination(curve, held):
    """60 players, weights from 0.1 to 3, white 25 points stronger: to 1e-8 points, as asked."""
    plain = random_games(60, 300)
    weight = np.random.default_rng(1).uniform(0.1, 3.0, plain.rows)
    games = replace(plain, points=plain.points * weight, weight=weight)
    pairs, label = gather_pairs(games, coloured=True), np.zeros(60, dtype=int)
    fixed = np.array([held.get(row, np.nan) for row in range(60)])
    options = {"curve": curve, "scale": 1.5, "advantage": 25.0, "tolerance": 1e-11, "fixed": fixed}
    one = solve(pairs, 60, label, **options)
    other = solve(pairs, 60, label, **options, limits=LARGE)
    assert one.inner_iterations == 0 < other.inner_iterations
    assert np.max(np.abs(one.ratings - other.ratings)) < 1e-8
    assert max(one.residual, other.residual) < 1e-9
    assert other.ratings[[*held]].tolist() == [*held.values()]


def test_threads_change_no_number():
    """Chunks of 16 rows on one thread and on three: the same bits."""
    games = random_games(150, 900)
    pairs, label = one_component(games)
    options = {"curve": EloCurve(), "limits": LARGE._replace(chunk=16)}
    one = solve(pairs, 150, label, **options)
    other = solve(pairs, 150, label, **options, threads=3)
    assert np.array_equal(one.ratings, other.ratings)
    assert (one.iterations, one.inner_iterations) == (other.iterations, other.inner_iterations)
    first = PerformanceFunction(pairs, 150, **options)(one.ratings)
    second = PerformanceFunction(pairs, 150, **options, threads=3)(one.ratings)
    assert np.array_equal(first, second)


@pytest.mark.parametrize("curve", CURVES, ids=IDS)
def test_performances_compiled_as_in_numpy(curve):
    """f(x) both ways, for ratings far apart too; NaN where nothing or everything was won."""
    games = random_games(40, 160)
    white = np.concatenate([games.white, [40, 0]])
    black = np.concatenate([games.black, [3, 41]])
    points = np.concatenate([games.points, [1, 1]])
    games = Games(player_ids=np.arange(43), white=white, black=black, points=points)
    pairs = gather_pairs(games)
    x = np.random.default_rng(0).normal(1500, 800, 43)
    one = PerformanceFunction(pairs, len(x), curve=curve, scale=2.0)(x)
    assert np.array_equal(np.flatnonzero(np.isnan(one)), [40, 41, 42])
    other = PerformanceFunction(pairs, len(x), curve=curve, scale=2.0, limits=LARGE)(x)
    # A last step of 1e-9 over the scale; the equations are as steep as a thousandth a point.
    assert np.allclose(one, other, rtol=0, atol=1e-8, equal_nan=True)


def chain(length: int) -> Games:
    """Return players of whom each draws with the next, but the first wins 3 of 4."""
    return Games(
        player_ids=np.arange(length),
        white=np.arange(length - 1),
        black=np.arange(1, length),
        points=np.r_[3.0, np.full(length - 2, 2.0)],
        weight=np.full(length - 1, 4.0),
    )


def test_a_long_chain_takes_as_many_iterations_as_it_is_long():
    """By hand: 190.85 points between the first two, all others equal."""
    pairs, label = one_component(chain(200))
    found = solve(pairs, 200, label, curve=EloCurve(), limits=LARGE)
    assert found.ratings[0] - found.ratings[1] == pytest.approx(400 * np.log10(3), abs=1e-4)
    assert np.ptp(found.ratings[1:]) < 1e-3
    assert found.inner_iterations > 100


def test_a_hub_of_many_games_is_summed_in_parts():
    """One player against 3,000 others, weights of 1e-3 to 1e3: both ways the same."""
    rng = np.random.default_rng(2)
    weight = 10.0 ** rng.uniform(-3, 3, 3_000)
    share = rng.uniform(0.1, 0.9, 3_000)
    games = Games(
        player_ids=np.arange(3_001),
        white=np.zeros(3_000, dtype=int),
        black=np.arange(1, 3_001),
        points=share * weight,
        weight=weight,
    )
    pairs, label = one_component(games)
    found = solve(pairs, 3_001, label, curve=EloCurve(), limits=LARGE)
    truth = 400 * np.log10(share / (1 - share))
    assert np.allclose(found.ratings[0] - found.ratings[1:], truth, rtol=0, atol=1e-6)


def test_too_few_iterations_are_an_error_that_names_the_library(monkeypatch):
    """Without multigrid a long chain needs more iterations than are allowed here."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    pairs, label = one_component(chain(300))
    with pytest.raises(ConvergenceError, match="the extra 'amg' would help"):
        solve(
            pairs,
            300,
            label,
            curve=EloCurve(),
            limits=LARGE._replace(iterations=2, steps=5),
        )


def test_multigrid_takes_over_where_iterations_are_many():
    """A grid of players, each meeting neighbours only: fewer iterations, the same ratings."""
    pytest.importorskip("pyamg", reason="the extra amg is not installed")
    # In plain Python a quarter of the grid shows it, too: 49 iterations and 255, not 49 and 549.
    side = 30 if WITHOUT_JIT else 60
    cell = np.arange(side * side).reshape(side, side)
    white = np.concatenate([cell[:, :-1].ravel(), cell[:-1].ravel()])
    black = np.concatenate([cell[:, 1:].ravel(), cell[1:].ravel()])
    points = np.random.default_rng(3).uniform(0.2, 0.8, len(white))
    games = Games(player_ids=np.arange(side * side), white=white, black=black, points=points)
    pairs, label = one_component(games)

    def solved(before_multigrid: int) -> Solution:
        limits = LARGE._replace(before_multigrid=before_multigrid)
        task = pairs, side * side, label
        return solve(*task, curve=EloCurve(), tolerance=1e-11, limits=limits)

    one, again = solved(30), solved(30)
    other = solved(10**6)
    assert np.array_equal(one.ratings, again.ratings)  # no random vectors
    assert one.inner_iterations < other.inner_iterations / 2
    assert np.allclose(one.ratings, other.ratings, rtol=0, atol=1e-6)
