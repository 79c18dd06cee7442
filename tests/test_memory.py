"""Processes of tests give back what they do not use, once they are large."""

from __future__ import annotations

import gc
import weakref

import pytest

from trials import memory


class Ring:
    """An object that only the collector of garbage can free."""

    def __init__(self) -> None:
        self.itself = self


@pytest.mark.skipif(not memory.IS_LINUX, reason="reads /proc")
@pytest.mark.parametrize(("megabytes", "freed"), [(399.0, False), (400.0, True)])
def test_large_processes_collect_garbage(
    monkeypatch: pytest.MonkeyPatch, megabytes: float, freed: bool
) -> None:
    gc.collect()
    gc.disable()
    try:
        monkeypatch.setattr(memory, "_resident", lambda: megabytes)
        ring = weakref.ref(Ring())
        memory.give_back()
        assert (ring() is None) == freed
    finally:
        gc.enable()


@pytest.mark.skipif(not memory.IS_LINUX, reason="reads /proc")
def test_memory_is_that_of_this_process() -> None:
    before = memory._resident()
    held = bytearray(b"x" * 50_000_000)
    assert memory._resident() - before > 40.0
    assert len(held) == 50_000_000
