"""Backtests, audits and searches on processes and executors: what one process finds, to the bit."""

from __future__ import annotations

import dataclasses
import multiprocessing
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from equipoise import Elo, EloMMR
from equipoise.errors import InvalidParameterError
from equipoise.evaluate.backtest import backtest
from equipoise.evaluate.incentives import Effort, incentives
from equipoise.evaluate.tuning import tune
from evaluate.histories import contests

#: Starts processes, and studies whole histories.
pytestmark = pytest.mark.slow


def exactly(value: Any) -> object:
    """Return everything in a result as values that can be compared, arrays to the bit."""
    if dataclasses.is_dataclass(value):
        return [exactly(getattr(value, field.name)) for field in dataclasses.fields(value)]
    if isinstance(value, np.ndarray):
        return value.dtype, value.shape, value.tolist() if value.dtype == "O" else value.tobytes()
    if isinstance(value, list | tuple):
        return [exactly(one) for one in value]
    if isinstance(value, dict):
        return {name: exactly(one) for name, one in value.items()}
    return repr(value)


def test_a_backtest_is_the_same_on_any_engine() -> None:
    systems = {"elo": Elo(), "mmr": EloMMR()}
    arguments: dict[str, Any] = {"min_history": 2, "first": 4, "resamples": 50, "calibrate": True}
    seen: list[tuple[int, int]] = []
    seconds: dict[str, float] = {}
    alone = backtest(systems, contests(20, 30), **arguments)
    shared = backtest(
        systems,
        contests(20, 30),
        **arguments,
        workers=2,
        timed=seconds.__setitem__,
        progress=lambda number, total: seen.append((number, total)),
    )
    assert exactly(shared) == exactly(alone)
    assert list(seconds) == list(systems)
    assert all(0 <= value < 60 for value in seconds.values())
    assert seen[-1] == (2 * contests(20, 30).participations,) * 2
    with ThreadPoolExecutor(3) as threads:
        assert exactly(
            backtest(systems, contests(20, 30), **arguments, executor=threads)
        ) == exactly(alone)
    with pytest.raises(InvalidParameterError, match="workers"):
        backtest(systems, contests(20, 30), workers=0)


def test_an_audit_is_the_same_on_any_engine() -> None:
    history = contests(20, 30)
    arguments: dict[str, Any] = {
        "effort": Effort(matches=6, budget=20),
        "seed": 3,
    }
    seen: list[tuple[int, int]] = []
    alone = incentives(EloMMR(), history, **arguments)
    shared = incentives(
        EloMMR(),
        history,
        **arguments,
        workers=2,
        progress=lambda number, total: seen.append((number, total)),
    )
    assert len(alone) == 4
    assert exactly(shared) == exactly(alone)
    assert seen[-1][0] == seen[-1][1]
    with ThreadPoolExecutor(2) as threads:
        assert exactly(incentives(EloMMR(), history, **arguments, executor=threads)) == exactly(
            alone
        )
    assert incentives(EloMMR(), history, [], workers=2) == []


def test_a_search_with_killed_workers_finds_the_same() -> None:
    choices = {"k": tuple(float(value) for value in range(4, 160, 4))}
    alone = tune(Elo(), contests(20, 30), choices, min_history=2)
    killed: list[int] = []

    def kill_one(done: int, total: int) -> None:
        if done in (5, 15):
            worker = multiprocessing.active_children()[0]
            killed.append(worker.pid or 0)
            worker.kill()

    shot = tune(Elo(), contests(20, 30), choices, min_history=2, workers=2, progress=kill_one)
    assert len(killed) == 2
    assert exactly(shot) == exactly(alone)
