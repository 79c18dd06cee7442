"""A process that is stopped in the middle of a transaction gives up the lock of its pool.

The stop is played by a step of the transaction that waits, in the thread that commits.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from equipoise.messages.matches import MatchRequest, PostedMessage
from equipoise.pools.posting import posting
from equipoise.pools.posting.posting import Post
from equipoise.store.connection import Store, open_store
from equipoise.web import writer as module
from equipoise.web.monitoring import Metrics
from equipoise.web.settings import ServiceSettings
from equipoise.web.writer import Writer
from pools.pool_trials import Trial, duel

#: Steps of a transaction: before its first write, and right before the COMMIT.
STEPS = ("rate", "earlier_matches")


@pytest.fixture
def store(postgres_url: str) -> Iterator[Store]:
    found = open_store(postgres_url)
    yield found
    found.close()


@pytest.fixture
def writer(store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[Writer]:
    """Give a writer that may be silent for a fifth of a second."""
    monkeypatch.setattr(module, "SILENCE", 0.2)
    settings = ServiceSettings(batch_matches=100, queued_matches=100, queued_posts=100)
    found = Writer(store, settings, Metrics())
    found.start()
    yield found
    found.stop()


def before(
    monkeypatch: pytest.MonkeyPatch, step: str, writer: Writer, do: Callable[[], object]
) -> None:
    """Do something before a step of each transaction of a writer."""
    there = getattr(posting._Posting, step)

    def changed(*args: Any) -> Any:
        if threading.current_thread() is writer._thread:
            do()
        return there(*args)

    monkeypatch.setattr(posting._Posting, step, changed)


def recorded(pool: Trial) -> list[str]:
    """Return the matches in the log, in its order."""
    with pool.store.read() as connection:
        rows = connection.exec_driver_sql("SELECT match FROM log ORDER BY seq")
        return [row[0] for row in rows]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("same", [False, True])
def test_others_commit_while_a_writer_is_stopped_in_a_transaction(
    store: Store,
    writer: Writer,
    monkeypatch: pytest.MonkeyPatch,
    step: str,
    same: bool,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It then goes on, and its posts are recorded once: also one that others have recorded."""
    pool = Trial(store, times="none")
    stopped, on = threading.Event(), threading.Event()

    def stop() -> None:
        if not stopped.is_set():
            stopped.set()
            on.wait(120)

    before(monkeypatch, step, writer, stop)
    mine = duel("mine", "ada", "bob", None)

    async def go() -> Any:
        waiting = writer.enqueue(pool.name, Post([mine]))
        more = writer.enqueue(pool.name, Post([duel("more", "ada", "cyd", None)], detailed=False))
        await asyncio.to_thread(stopped.wait, 120)
        other = mine if same else duel("other", "ada", "cyd", None)
        found = await asyncio.to_thread(pool.post, other)
        assert not waiting.done()
        on.set()
        return found, await asyncio.wait_for(waiting, 120), await asyncio.wait_for(more, 120)

    found, answer, more = asyncio.run(go())
    assert recorded(pool) == (["mine", "more"] if same else ["other", "mine", "more"])
    assert (list(answer) == found) == same
    assert more == PostedMessage(1, 0, 2 if same else 3)
    assert pool.is_sound()
    assert caplog.text.count("it is tried again") == 1


def test_retries_work_once(store: Store, writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rating may take longer than a stopped process is waited for. It is not a stop."""
    pool = Trial(store, times="none")
    attempts = []

    def work() -> None:
        attempts.append(None)
        until = time.thread_time() + 0.25
        while time.thread_time() < until:
            sum(range(1000))

    before(monkeypatch, "rate", writer, work)

    async def go() -> None:
        for name in "abc":
            await writer.enqueue(pool.name, Post([duel(name, "ada", "bob", None)]))

    asyncio.run(go())
    assert recorded(pool) == ["a", "b", "c"]
    assert len(attempts) == 4


def test_second_try_may_wait(store: Store, writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    pool = Trial(store, times="none")
    before(monkeypatch, "rate", writer, lambda: time.sleep(0.5))

    async def go() -> None:
        for name in "ab":
            await writer.enqueue(pool.name, Post([duel(name, "ada", "bob", None)]))

    asyncio.run(go())
    assert recorded(pool) == ["a", "b"]
    assert pool.is_sound()


def test_a_lock_that_others_hold_is_waited_for(store: Store, writer: Writer) -> None:
    pool = Trial(store, times="none")

    async def go() -> None:
        with store.write() as connection:
            connection.exec_driver_sql("SELECT id FROM pools FOR UPDATE")
            waiting = writer.enqueue(pool.name, Post([MatchRequest("m", [])]))
            await asyncio.sleep(0.6)
            assert not waiting.done()
        with pytest.raises(Exception, match="teams"):
            await waiting

    asyncio.run(go())
