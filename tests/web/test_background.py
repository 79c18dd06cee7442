"""The background thread maintains pools, and outlives failures."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from equipoise.errors import ConflictError
from equipoise.pools.replay import replaying
from equipoise.web.http.access import KeyUses
from equipoise.web.monitoring import Metrics
from equipoise.web.service import Background
from equipoise.web.settings import ServiceSettings

#: A store whose schema no later version has changed.
CURRENT = cast("Any", SimpleNamespace(notice_upgrades=lambda: True))


class Work:
    """Stands in for the workflows: which pools want something, and what is done for them."""

    def __init__(self) -> None:
        self.pending: list[str] = []
        self.tended: list[str] = []
        self.done = threading.Event()

    def maintain_pool(
        self, store: object, pool: str, *, owner: str, stop: Callable[[], bool]
    ) -> bool:
        assert owner
        assert not stop()
        self.tended.append(pool)
        if pool == "broken":
            raise ZeroDivisionError
        if pool == "erased" and self.tended.count(pool) == 1:
            raise ConflictError("the replay was taken over")
        self.pending.remove(pool)
        self.done.set()
        return True


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Work:
    found = Work()
    # Other services of this process, whose stores are real ones, have nothing to do.
    monkeypatch.setattr(
        replaying, "pending_pools", lambda store: list(found.pending) if store is CURRENT else []
    )
    monkeypatch.setattr(replaying, "maintain_pool", found.maintain_pool)
    return found


@pytest.fixture
def thread(work: Work) -> Iterator[Background]:
    found = Background(CURRENT, ServiceSettings(), Metrics(), KeyUses(), pause=0.01)
    found.start()
    yield found
    found.stop()
    assert not found.running


def test_pools_that_want_it_are_tended(work: Work, thread: Background) -> None:
    work.pending.append("a")
    thread.wake()
    assert work.done.wait(120)
    assert work.tended == ["a"]


@pytest.mark.slow
def test_retries_failures(work: Work, thread: Background, caplog: pytest.LogCaptureFixture) -> None:
    """It is logged, tried again after a pause, and the others are tended meanwhile."""
    work.pending += ["broken", "a"]
    assert work.done.wait(120)
    time.sleep(0.1)
    assert work.tended.count("broken") == 1
    assert work.tended.count("a") == 1
    assert "ZeroDivisionError" in caplog.text
    assert thread.running


def test_continues_after_an_erasure(
    work: Work, thread: Background, caplog: pytest.LogCaptureFixture
) -> None:
    """It ends a replay that is under way, which is no failure."""
    work.pending.append("erased")
    thread.wake()
    assert work.done.wait(120)
    assert "ConflictError" not in caplog.text


def test_nothing_is_done_before_the_kernels_are_there(work: Work) -> None:
    """A replay would compile them in this process."""
    ready = threading.Event()
    work.pending.append("a")
    found = Background(
        CURRENT, ServiceSettings(), Metrics(), KeyUses(), pause=0.01, ready=ready.is_set
    )
    found.start()
    try:
        assert not work.done.wait(0.2)
        ready.set()
        assert work.done.wait(120)
    finally:
        found.stop()
