"""Intervals: against resampling by hand, and against what theory says."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm, t

from equipoise.evaluate.backtest import _intervals
from equipoise.evaluate.scoring.tally import (
    ALL,
    LOG_LOSS,
    SUMS,
    TOP_GROUP,
    Sampled,
    draw,
    interval,
    resampled,
)


def blocks_of(losses: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return the sums of blocks in which every participation has this loss."""
    blocks = np.zeros((len(losses), SUMS))
    blocks[:, ALL] = sizes
    blocks[:, LOG_LOSS] = losses * sizes
    return blocks


def test_a_resample_is_the_metric_of_the_matches_drawn() -> None:
    """Sums over what was drawn, block by block, then their ratio."""
    rng = np.random.default_rng(1)
    blocks = rng.uniform(1, 2, (7, SUMS))
    drawn = draw(7, 20, rng=rng)
    found = resampled(blocks, drawn)["log_loss"]
    for r in range(20):
        rows = [blocks[k] for k in drawn[r]]
        ratio = sum(row[LOG_LOSS] for row in rows) / sum(row[ALL] for row in rows)
        assert found[r] == pytest.approx(ratio, abs=1e-12)


def test_the_interval_of_a_mean_is_that_of_its_standard_error() -> None:
    """1.96 standard errors, to a twentieth: 4,000 resamples know a percentile that well."""
    rng = np.random.default_rng(2)
    losses = rng.normal(0.5, 0.2, 400)
    blocks = blocks_of(losses, np.ones(400))
    lower, upper = interval(resampled(blocks, draw(400, 4000, rng=rng))["log_loss"], 0.95)
    half = 1.96 * losses.std() / math.sqrt(400)
    assert lower == pytest.approx(losses.mean() - half, abs=half / 20)
    assert upper == pytest.approx(losses.mean() + half, abs=half / 20)


def test_what_was_never_scored_has_no_interval() -> None:
    """Nobody of the top 100 was scored in any block."""
    rng = np.random.default_rng(5)
    blocks = blocks_of(np.ones(4), np.ones(4))
    assert not blocks[:, TOP_GROUP].any()
    found = resampled(blocks, draw(4, 10, rng=rng))
    assert all(math.isnan(bound) for bound in interval(found["pair_inversion_top100"], 0.9))


def duels_of(players: int, matches: int, spread: float, rng: np.random.Generator) -> Sampled:
    """Return the difference of two systems in duels, whose mean over all players is 0.

    spread : of what players add to the difference of their matches, beside noise of deviation 1
    """
    effect = rng.normal(0, spread, players)
    pairs = np.argsort(rng.random((matches, players)), axis=1)[:, :2]
    difference = effect[pairs].sum(axis=1) + rng.normal(size=matches)

    def summed(rows: np.ndarray, count: int) -> np.ndarray:
        """Return the sums of participations, and their number, twice for players."""
        both = np.repeat(difference, 2)
        return np.stack([np.bincount(rows, one, count) for one in (both, np.ones(2 * matches))], 1)

    blocks = summed(np.repeat(np.arange(matches), 2), matches)
    times = rng.multinomial(matches, np.full(matches, 1 / matches), size=400)
    values = (times @ blocks[:, 0]) / (times @ blocks[:, 1])
    cells = 2 * summed(np.arange(2 * matches), 2 * matches)
    return Sampled(values, blocks, 2 * summed(pairs.ravel(), players), cells)


@pytest.mark.no_kernel
@pytest.mark.parametrize("matches", [5, 8])
def test_matches_of_the_same_two_players_have_an_interval_of_students_t(matches: int) -> None:
    """With as many degrees of freedom as matches less one, which also correct their spread."""
    rng = np.random.default_rng(3)
    values = rng.normal(size=2000)
    blocks = np.stack([rng.normal(size=matches), np.ones(matches)], axis=1)
    players = np.stack([np.full(2, blocks[:, 0].sum()), np.full(2, matches)], axis=1)
    cells = np.repeat(blocks, 2, axis=0)
    lower, upper = Sampled(values, blocks, players, cells).interval(0.95)
    by_normal = np.subtract(*interval(values, 0.95)[::-1])
    wanted = t.ppf(0.975, matches - 1) / norm.ppf(0.975) * matches / (matches - 1)
    assert (upper - lower) / by_normal == pytest.approx(wanted, rel=0.01)


@pytest.mark.no_kernel
@pytest.mark.parametrize(("players", "spread"), [(30, 0.0), (8, 1.0)])
def test_equal_systems_are_declared_different_as_often_as_promised(
    players: int, spread: float
) -> None:
    """5 % of 400 histories, within two of its errors; too few where players add nothing.

    By matches alone, the last one is 50 %.
    """
    rng = np.random.default_rng(7)
    found = [duels_of(players, 200, spread, rng) for _ in range(400)]
    bounds = np.array([one.interval(0.95) for one in found])
    share = np.mean((bounds[:, 0] > 0) | (bounds[:, 1] < 0))
    assert (0.01 if spread == 0 else 0.03) <= share <= 0.075
    by_matches = np.array([interval(one.values, 0.95) for one in found])
    if spread > 0:
        assert np.mean((by_matches[:, 0] > 0) | (by_matches[:, 1] < 0)) > 0.1


@pytest.mark.parametrize(
    ("name", "values", "ends"),
    [
        ("pair_inversion", [100.0, 100.0, 99.0, 0.0], (0.0, 100.0)),
        ("ndcg", [1.0, 1.0, 1.0, 0.0], (0.0, 1.0)),
        ("log_loss", [0.0, 0.0, 4.0, 0.0], (0.0, math.inf)),
    ],
)
def test_an_interval_is_cut_at_the_values_that_are_possible(
    name: str, values: list[float], ends: tuple[float, float]
) -> None:
    """Four matches of one weight; a difference may also be negative."""
    matches = np.column_stack([values, np.ones(4)])
    none = np.zeros((0, 2))
    one = Sampled(np.array(values), matches, none, none)
    uncut = one.interval(0.95)
    assert uncut[0] < ends[0] or uncut[1] > ends[1]
    lower, upper = _intervals({name: one}, 0.95)[name]
    assert (lower, upper) == (max(uncut[0], ends[0]), min(uncut[1], ends[1]))
    both = _intervals({name: one}, 0.95, differences=True)[name]
    assert both == (max(uncut[0], -ends[1]), min(uncut[1], ends[1]))
    assert all(math.isnan(bound) for bound in _intervals({name: one}, 0.95, 20)[name])
