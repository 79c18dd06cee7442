"""Backtests, audits and searches on processes and executors: what one process finds, to the bit."""

from __future__ import annotations

import os
import pickle
import signal
import threading
import time
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from equipoise import Elo, EloMMR
from equipoise.data.history import History
from equipoise.errors import InvalidParameterError
from equipoise.evaluate.backtest import backtest
from equipoise.evaluate.incentives.audit import Effort, incentives
from equipoise.evaluate.synthetic_contests import ContestModel, simulate_contests
from equipoise.evaluate.tuning import tune
from equipoise.parallel.processes import ProcessPool

#: Starts processes, and studies whole histories.
pytestmark = pytest.mark.slow


def contests(count: int = 20, players: int = 30, seed: int = 1) -> History:
    model = ContestModel(players=players, contests=count, attendance=0.7, score_step=60)
    return simulate_contests(model, rng=np.random.default_rng(seed))[0]


def as_bytes(value: object) -> bytes:
    """Return everything in a result; arrays too."""
    return pickle.dumps(value, protocol=5)


def test_a_backtest_is_the_same_on_any_engine() -> None:
    systems = {"elo": Elo(), "mmr": EloMMR()}
    arguments: dict[str, Any] = {"min_history": 2, "first": 4, "resamples": 50}
    done: list[str] = []
    seen: list[tuple[int, int]] = []
    seconds: dict[str, float] = {}
    alone = backtest(systems, contests(), **arguments)
    shared = backtest(
        systems,
        contests(),
        **arguments,
        workers=2,
        finished=done.append,
        timed=seconds.__setitem__,
        progress=lambda number, total: seen.append((number, total)),
    )
    assert as_bytes(shared) == as_bytes(alone)
    assert done == list(seconds) == list(systems)
    assert all(0 <= value < 60 for value in seconds.values())
    assert seen[-1] == (2 * contests().participations,) * 2
    with ThreadPoolExecutor(3) as threads:
        assert as_bytes(backtest(systems, contests(), **arguments, executor=threads)) == as_bytes(
            alone
        )
    with pytest.raises(InvalidParameterError, match="workers"):
        backtest(systems, contests(), workers=0)


@pytest.mark.parametrize("others", ["frozen", "replayed"])
def test_an_audit_is_the_same_on_any_engine(others: Any) -> None:
    history = contests()
    arguments: dict[str, Any] = {
        "others": others,
        "effort": Effort(matches=6, budget=20, replays=4),
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
    assert as_bytes(shared) == as_bytes(alone)
    assert seen[-1][0] == seen[-1][1]
    with ThreadPoolExecutor(2) as threads:
        assert as_bytes(incentives(EloMMR(), history, **arguments, executor=threads)) == as_bytes(
            alone
        )
    assert incentives(EloMMR(), history, [], workers=2) == []


class Shot(ProcessPool):
    """A pool of which a worker is killed again and again, at any moment."""

    def __init__(self, times: int) -> None:
        super().__init__(2)
        self.kills = 0
        self._times = times
        threading.Thread(target=self._shoot, daemon=True).start()

    def _shoot(self) -> None:
        while self.kills < self._times:
            time.sleep(0.5)
            for pid in self.pids()[:1]:
                os.kill(pid, signal.SIGKILL)
                self.kills += 1


def test_a_search_with_killed_workers_finds_the_same() -> None:
    choices = {"k": tuple(float(value) for value in range(4, 160, 2))}
    alone = tune(Elo(), contests(60, 200), choices, min_history=2)
    executor: Executor
    with Shot(times=2) as executor:
        shot = tune(Elo(), contests(60, 200), choices, min_history=2, executor=executor)
        assert shot == alone
        assert executor.kills >= 1


def test_the_shared_history_is_gone_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EQUIPOISE_SHARED_FOLDER", str(tmp_path))
    tune(Elo(), contests(), {"k": (8.0, 16.0)}, min_history=2, workers=2)
    assert list(tmp_path.iterdir()) == []
