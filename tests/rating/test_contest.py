"""Contests of many players, which threads may share."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from equipoise.arrays import Floats
from equipoise.data.history import History
from equipoise.numeric.workers import Workers
from equipoise.rating.base_system import System
from equipoise.rating.elo_mmr.elo_mmr import EloMMR, EloMMX
from equipoise.rating.elo_mmr.gaussian import gaussian_on_one_thread, gaussian_on_workers
from equipoise.rating.elo_mmr.performance import (
    order_by_place,
    solve_on_one_thread,
    solve_on_workers,
)
from equipoise.rating.registry import make_system
from equipoise.rating.replay import replay
from equipoise.rating.systems.codeforces import Codeforces
from equipoise.rating.systems.contest import PARALLEL_FROM
from equipoise.rating.systems.topcoder import TopCoder
from rating.histories import Contest, dense, history_of, needs_jit


@needs_jit
@pytest.mark.parametrize("name", ["codeforces", "topcoder", "elo-mmr"])
def test_one_thread_rates_large_contests_with_the_kernel_of_small_ones(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The service rates on one thread, and rating two players there loads all that it needs.

    When the first large contest compiled more, its post took longer than a request may.
    """

    def refuse(*arguments: object) -> float:
        raise AssertionError("another kernel would be compiled")

    players = tuple(range(PARALLEL_FROM))
    system, state = make_system(name), make_system(name).initial(len(players))
    monkeypatch.setattr(type(system), "share", refuse)
    system.run(state, history_of([Contest(players, players)], len(players)), 0, 1)
    ratings = state.column("rating")
    assert ratings[0] > 1500.0 > ratings[-1]


def large_history() -> History:
    """Return two contests, tied and not, large enough for threads, with small ones around them."""
    rng = np.random.default_rng(4)
    played = []
    for size, places in ((40, 30), (PARALLEL_FROM + 700, 900), (3, 1), (PARALLEL_FROM, 5000)):
        players = rng.permutation(3000)[:size]
        ranks = rng.integers(0, places, size) + players // 10
        played.append(Contest(tuple(players.tolist()), tuple(ranks.tolist())))
    return history_of(played, 3000)


@needs_jit
@pytest.mark.parametrize(
    "system",
    [
        Codeforces(),
        TopCoder(),
        EloMMR(),
        EloMMR(rho=math.inf, split_ties=True),
        EloMMX(),
        EloMMX(split_ties=True),
    ],
    ids=str,
)
def test_the_number_of_threads_changes_no_bit(system: System) -> None:
    history = large_history()
    one, *others = (replay(system, history, threads=n, trace=True) for n in (1, 2, 3))
    assert one.trace is not None
    for other in others:
        assert other.trace is not None
        assert other.state.to_bytes() == one.state.to_bytes()
        for name, column in one.trace.columns.items():
            np.testing.assert_array_equal(other.trace.columns[name], column, err_msg=name)


@pytest.mark.parametrize(
    ("on_one_thread", "on_workers", "n"),
    [
        (solve_on_one_thread, solve_on_workers, 3000),
        (gaussian_on_one_thread, gaussian_on_workers, 1100),
        pytest.param(
            gaussian_on_one_thread, gaussian_on_workers, 3000, marks=[needs_jit, pytest.mark.slow]
        ),
        pytest.param(
            gaussian_on_one_thread, gaussian_on_workers, 20_000, marks=[needs_jit, pytest.mark.slow]
        ),
    ],
)
@pytest.mark.parametrize("split_ties", [False, True])
def test_threads_solve_what_one_kernel_solves(
    on_one_thread: Callable[..., tuple[Floats, float]],
    on_workers: Callable[..., tuple[Floats, float]],
    n: int,
    split_ties: bool,
) -> None:
    """Both ways through phase one give the same bits, so a contest's size is no cliff."""
    rng = np.random.default_rng(11)
    order, places = order_by_place(dense(rng.integers(0, n // 4, n)))
    ratings, slopes = rng.normal(1500, 300, n)[order], 1 / rng.uniform(110, 220, n)[order]
    alone, residual = on_one_thread(ratings, slopes, places, split_ties)
    assert residual < 0
    for threads in (1, 3):
        with Workers(threads) as workers:
            shared, residual = on_workers(ratings, slopes, places, split_ties, workers)
        assert residual < 0
        np.testing.assert_array_equal(shared, alone)
