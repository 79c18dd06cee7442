"""Contests of many players, which threads may share."""

from __future__ import annotations

import pytest

from equipoise.rating.registry import make_system
from equipoise.rating.systems.contest import PARALLEL_FROM
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
