"""Error bars of duels: against the exact posterior, and how often they hold."""

from __future__ import annotations

import numpy as np
import pytest

import equipoise as eq
from equipoise.data.games import Games
from equipoise.evaluate.leaderboard_errors import duel_errors

#: Rating points of a logarithm of odds: scales of 1 make a unit of sqrt(2).
UNIT = np.sqrt(2.0)


def games_of(white: np.ndarray, black: np.ndarray, points: np.ndarray, players: int) -> Games:
    return Games(player_ids=np.arange(players), white=white, black=black, points=points)


def drawn(rng: np.random.Generator, players: int, matches: int, spread: float) -> tuple:
    truth = rng.normal(0.0, spread, players)
    white = rng.integers(0, players, matches)
    black = (white + rng.integers(1, players, matches)) % players
    points = (rng.random(matches) < 1.0 / (1.0 + np.exp(truth[black] - truth[white]))).astype(float)
    return truth, games_of(white, black, points, players)


@pytest.mark.parametrize(("wins", "losses"), [(12, 12), (15, 5), (19, 1)])
@pytest.mark.parametrize("shift", [0.0, 2.0])
def test_the_bar_of_two_players_has_its_share_of_the_exact_posterior(
    wins: int, losses: int, shift: float
) -> None:
    """Only near one, since the posterior of a sweep is not normal; then bars are too wide."""
    count = wins + losses
    points = np.repeat([1.0, 0.0], [wins, losses])
    games = games_of(np.zeros(count, int), np.ones(count, int), points, 2)
    rating = UNIT * np.array([shift, -shift])
    (half, same), unit = duel_errors(games, rating, np.ones(2), 0.9)
    assert unit == pytest.approx(UNIT, rel=1e-15)
    assert same == pytest.approx(half, rel=1e-9)
    strength = np.linspace(-15.0, 15.0, 60_001)  # of the first; that of the other is -strength
    t = 2.0 * strength
    likelihood = np.exp(-wins * np.logaddexp(0.0, -t) - losses * np.logaddexp(0.0, t))
    spreads = np.geomspace(0.1, 6.0, 10)
    # A geometric step is as wide as its spread, which cancels that of the density.
    weights = np.exp(-0.5 * (spreads / 1.5) ** 2)
    prior = weights @ np.exp(-((strength / spreads[:, None]) ** 2))
    density = likelihood * prior
    inside = np.abs(strength - shift) <= half / UNIT
    share = density[inside].sum() / density.sum()
    assert -0.01 <= share - 0.9 <= (0.03 if losses == 1 else 0.01)


def test_bars_cover_what_they_promise() -> None:
    """benchmarks/error_bars.py draws more pools, of more kinds."""
    rng, system = np.random.default_rng(5), eq.BradleyTerry()
    held = []
    for _ in range(60):
        truth, games = drawn(rng, 10, 300, 1.2)
        ids = {"white": games.white, "black": games.black}
        history = eq.read_history(
            {
                "match": np.repeat(np.arange(300), 2),
                "player": np.stack(list(ids.values()), axis=1).ravel(),
                "rank": np.stack([1 - games.points, games.points], axis=1).ravel().astype(int) + 1,
            }
        )
        found = eq.replay(system, history).ratings
        order = np.argsort(found.player_ids)
        rating, deviation = found.rating[order], found.deviation[order]
        half, unit = duel_errors(games, rating, system.outlook(rating, deviation).scale, 0.95)
        held.append(np.abs(rating - rating.mean() - unit * (truth - truth.mean())) <= half)
    assert 0.93 <= np.mean(held) <= 0.97


def test_the_order_of_players_and_idle_ones_change_nothing() -> None:
    rng = np.random.default_rng(1)
    _, games = drawn(rng, 6, 80, 1.0)
    rating = rng.normal(1500.0, 1.0, 6)
    half, unit = duel_errors(games, rating, np.ones(6), 0.95)
    order = np.array([4, 7, 0, 2, 1, 5])  # the row of every player in a larger pool
    wider = games_of(order[games.white], order[games.black], games.points, 9)
    others = np.full(9, 9999.0)
    others[order] = rating
    found, same = duel_errors(wider, others, np.where(others == 9999.0, 50.0, 1.0), 0.95)
    assert same == unit
    assert found[order] == pytest.approx(half, rel=1e-9)
    assert np.isnan(np.delete(found, order)).all()


def test_ties_narrow_the_bars_by_their_variance() -> None:
    """By hand: 8 wins, 8 losses and 4 ties of every pair; S = 12 and T = 12 at equal strengths.

    The likelihood has the power 1/phi, as if each pair had won and lost 10/phi games.
    """
    white, black, rating = [0, 1, 2], [1, 2, 0], np.full(3, 1500.0)
    points = np.repeat([*[1.0] * 8, *[0.0] * 8, *[0.5] * 4], 3)
    ties = games_of(np.tile(white, 20), np.tile(black, 20), points, 3)
    count = 10.0 / ((12.0 + 0.25) / (12.0 + 12.0 / 4.0 + 0.25))
    coins = Games(
        player_ids=np.arange(3),
        white=np.tile(white, 2),
        black=np.tile(black, 2),
        points=np.repeat([count, 0.0], 3),
        weight=np.full(6, count),
    )
    half, _ = duel_errors(ties, rating, np.ones(3), 0.95)
    assert half == pytest.approx(duel_errors(coins, rating, np.ones(3), 0.95)[0], rel=1e-9)


def test_a_single_sweep_has_finite_bars() -> None:
    games = games_of(np.zeros(50, int), np.ones(50, int), np.ones(50), 2)
    half, _ = duel_errors(games, np.array([1600.0, 1400.0]), np.ones(2), 0.999999)
    assert np.isfinite(half).all()
