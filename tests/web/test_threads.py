"""Threads of the service: executors with bounded queues, and the one that maintains pools."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from equipoise.errors import ConflictError
from equipoise.pools.pool import pools
from equipoise.pools.replay import replaying
from equipoise.web.http.access import KeyUses
from equipoise.web.http.errors import OverloadedError
from equipoise.web.monitoring import Metrics
from equipoise.web.service import Background, BoundedExecutor, TurnExecutor
from equipoise.web.settings import ServiceSettings


def test_work_runs_in_another_thread_and_its_errors_come_back() -> None:
    executor = BoundedExecutor("test", 1, 1)

    async def go() -> tuple[bool, int]:
        other = await executor.run(threading.current_thread) is not threading.current_thread()
        with pytest.raises(ZeroDivisionError):
            await executor.run(divmod, 1, 0)
        return other, await executor.run(int, "ff", base=16)

    assert asyncio.run(go()) == (True, 255)
    executor.close()


def test_more_than_may_wait_is_refused() -> None:
    """Also when those who waited have gone: their work is still under way."""
    executor = BoundedExecutor("test", 1, 1)
    free = threading.Event()

    async def go() -> None:
        under_way = [asyncio.create_task(executor.run(free.wait, 10)) for _ in range(2)]
        await asyncio.sleep(0.02)
        with pytest.raises(OverloadedError):
            await executor.run(int)
        under_way[0].cancel()
        await asyncio.sleep(0)
        with pytest.raises(OverloadedError):
            await executor.run(int)
        free.set()
        await under_way[1]
        assert await executor.run(int) == 0

    asyncio.run(go())
    executor.close()


def test_work_on_one_subject_keeps_its_order_and_delays_no_other() -> None:
    """However much waits for one: it occupies one thread, and has a queue of its own."""
    executor = TurnExecutor("test", 2, 2)
    free = threading.Event()
    done: list[str] = []

    async def go() -> None:
        work = [asyncio.create_task(executor.run("slow", free.wait, 60))]
        await asyncio.sleep(0)
        work += [asyncio.create_task(executor.run("slow", done.append, name)) for name in "ab"]
        await asyncio.sleep(0)
        with pytest.raises(OverloadedError):
            await executor.run("slow", int)
        for _ in range(5):
            assert await executor.run("other", int, "7") == 7
        with pytest.raises(ZeroDivisionError):
            await executor.run("other", divmod, 1, 0)
        assert done == []
        free.set()
        await asyncio.gather(*work)
        assert done == ["a", "b"]

    asyncio.run(go())
    executor.close()


def test_work_that_nobody_awaits_is_dropped_and_the_next_is_done() -> None:
    executor = TurnExecutor("test", 1, 5)
    free = threading.Event()
    done: list[str] = []

    async def go() -> None:
        first = asyncio.create_task(executor.run("a", free.wait, 60))
        await asyncio.sleep(0)
        gone = asyncio.create_task(executor.run("a", done.append, "gone"))
        await asyncio.sleep(0)
        last = asyncio.create_task(executor.run("a", done.append, "last"))
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.sleep(0)
        free.set()
        await asyncio.gather(first, last)

    asyncio.run(go())
    assert done == ["last"]
    executor.close()


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
    monkeypatch.setattr(pools, "pools_to_clear", lambda store: [])
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
