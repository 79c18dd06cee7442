"""Contests of many players, which threads may share."""

from __future__ import annotations

import math

import numpy as np
import pytest

from equipoise.data.history import History
from equipoise.rating.base_system import System
from equipoise.rating.elo_mmr.elo_mmr import EloMMR, EloMMX
from equipoise.rating.registry import make_system
from equipoise.rating.replay import replay
from equipoise.rating.systems.codeforces import Codeforces
from equipoise.rating.systems.contest import PARALLEL_FROM
from equipoise.rating.systems.topcoder import TopCoder
from rating.histories import Contest, history_of, needs_jit


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
    for other in others:
        assert other.state.to_bytes() == one.state.to_bytes()
        for name, column in one.trace.columns.items():
            np.testing.assert_array_equal(other.trace.columns[name], column, err_msg=name)
