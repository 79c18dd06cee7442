"""Executors run work in their threads and refuse what would wait for too long."""

from __future__ import annotations

import asyncio
import threading

import pytest

from equipoise.web.http.errors import OverloadedError
from equipoise.web.service import BoundedExecutor, TurnExecutor


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
