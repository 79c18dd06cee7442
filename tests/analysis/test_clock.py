"""The clock that stops while kernels are compiled or loaded."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numba
import pytest
from numba.core import event
from numba.core.caching import FunctionCache

from equipoise._jit import _KernelCache, watch_compilation, working_time


@dataclass
class Elapsed:
    """What two clocks showed."""

    wall: float = 0.0
    worked: float = 0.0


@contextmanager
def elapsed() -> Iterator[Elapsed]:
    """Measure a block with both clocks, which are read one after the other."""
    found = Elapsed()
    wall, worked = time.perf_counter(), working_time()
    yield found
    found.wall, found.worked = time.perf_counter() - wall, working_time() - worked


def comes_close(trial: Callable[[], tuple[float, float]], within: float) -> bool:
    """Tell whether two measurements agree at least once in ten trials.

    On a busy machine another process may run between two readings of clocks, which tells nothing.
    """
    return any(abs(one - other) <= within for one, other in (trial() for _ in range(10)))


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")
def test_seconds_of_compiling_are_not_counted() -> None:
    def trial() -> tuple[float, float]:
        with elapsed() as clocks:
            with watch_compilation() as seen:
                assert numba.njit(lambda x: x + 1.0)(1.0) == 2.0  # noqa: TID251  # not kept on disk
            time.sleep(0.01)
        assert seen.kernels == 1
        assert seen.seconds > 0
        assert clocks.worked >= 0.01
        return clocks.worked / seen.seconds, (clocks.wall - seen.seconds) / seen.seconds

    assert comes_close(trial, 0.2)


@pytest.fixture
def slow_disk(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a cache of a kernel, from which loading takes 20 ms and loads another one."""
    caches = [object.__new__(_KernelCache) for _ in range(2)]

    def load(cache: object, sig: object, context: object) -> None:
        time.sleep(0.02)
        if cache is caches[0]:
            caches[1].load_overload(sig, context)

    monkeypatch.setattr(FunctionCache, "_load_overload", load)
    return caches[0]


def test_seconds_of_loading_are_not_counted_and_nested_ones_once(slow_disk: Any) -> None:
    def trial() -> tuple[float, float]:
        with elapsed() as clocks, watch_compilation() as seen:
            slow_disk.load_overload(None, None)
        assert (seen.kernels, seen.seconds) == (0, 0.0)
        assert 0.04 <= seen.loading <= clocks.wall
        return clocks.worked, clocks.wall - seen.loading

    assert comes_close(trial, 0.005)


def test_loading_while_compiling_is_part_of_compiling(slow_disk: Any) -> None:
    data = {"dispatcher": numba.core.registry.CPUDispatcher(lambda: None)}

    def trial() -> tuple[float, float]:
        with (
            elapsed() as clocks,
            watch_compilation() as seen,
            event.trigger_event("numba:compile", data=data),
        ):
            slow_disk.load_overload(None, None)
        assert (seen.kernels, seen.loading) == (1, 0.0)
        assert 0.04 <= seen.seconds <= clocks.wall
        return clocks.worked, clocks.wall - seen.seconds

    assert comes_close(trial, 0.005)
