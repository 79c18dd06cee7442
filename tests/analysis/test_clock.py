"""The clock that stops while kernels are compiled or loaded."""

from __future__ import annotations

import time
from typing import Any

import numba
import pytest
from numba.core import event
from numba.core.caching import FunctionCache

from equipoise._jit import _SourceKeyedCache, watch_compilation
from equipoise.analysis.clock import working_time


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")
def test_seconds_of_compiling_are_not_counted() -> None:
    wall, worked = time.perf_counter(), working_time()
    with watch_compilation() as seen:
        assert numba.njit(lambda x: x + 1.0)(1.0) == 2.0  # noqa: TID251  # not kept on disk
    time.sleep(0.01)
    wall, worked = time.perf_counter() - wall, working_time() - worked
    assert seen.kernels == 1
    assert seen.seconds > 0
    # Both clocks are read one after the other: what is between them is far below this.
    assert worked == pytest.approx(wall - seen.seconds, abs=0.2 * seen.seconds)
    assert worked >= 0.01


@pytest.fixture
def slow_disk(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a cache of a kernel, from which loading takes 20 ms and loads another one."""
    caches = [object.__new__(_SourceKeyedCache) for _ in range(2)]

    def load(cache: object, sig: object, context: object) -> None:
        time.sleep(0.02)
        if cache is caches[0]:
            caches[1].load_overload(sig, context)

    monkeypatch.setattr(FunctionCache, "_load_overload", load)
    return caches[0]


def test_seconds_of_loading_are_not_counted_and_nested_ones_once(slow_disk: Any) -> None:
    wall, worked = time.perf_counter(), working_time()
    with watch_compilation() as seen:
        slow_disk.load_overload(None, None)
    wall, worked = time.perf_counter() - wall, working_time() - worked
    assert (seen.kernels, seen.seconds) == (0, 0.0)
    assert 0.04 <= seen.loading <= wall
    assert worked == pytest.approx(wall - seen.loading, abs=0.005)


def test_loading_while_compiling_is_part_of_compiling(slow_disk: Any) -> None:
    wall, worked = time.perf_counter(), working_time()
    data = {"dispatcher": numba.core.registry.CPUDispatcher(lambda: None)}
    with watch_compilation() as seen, event.trigger_event("numba:compile", data=data):
        slow_disk.load_overload(None, None)
    wall, worked = time.perf_counter() - wall, working_time() - worked
    assert (seen.kernels, seen.loading) == (1, 0.0)
    assert 0.04 <= seen.seconds <= wall
    assert worked == pytest.approx(wall - seen.seconds, abs=0.005)
