"""The writer commits what waits together, and keeps what goes wrong to those whom it concerns."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

import pytest
from sqlalchemy.exc import OperationalError

from equipoise.errors import ConflictError, NotFoundError
from equipoise.messages.matches import MatchRequest, PostedMessage
from equipoise.pools.posting import posting
from equipoise.pools.posting.posting import Post
from equipoise.store.connection import Interruption
from equipoise.web.http.errors import InternalError, OverloadedError, UnavailableError
from equipoise.web.monitoring import Metrics
from equipoise.web.settings import ServiceSettings
from equipoise.web.writer import Writer

Batches = list[tuple[str, list[str]]]


def post(*names: str) -> Post:
    return Post([MatchRequest(name, []) for name in names], None, detailed=False)


class Database:
    """Stands in for the workflow: notes what it is given, may be held up, fails by name."""

    def __init__(self) -> None:
        self.batches: Batches = []
        self.free, self.held = threading.Event(), threading.Event()
        self.free.set()
        self.hold = ""

    def post_matches(
        self,
        store: object,
        pool: str,
        posts: Sequence[Post],
        now: int,
        states: object,
        *,
        future_seconds: float,
        arrived: Callable[[], tuple[Sequence[Post], int]],
        silence: float | None,
        interruption: Interruption,
    ) -> list[Any]:
        self.free.wait(120)
        if pool == self.hold:
            self.held.wait(120)
        more, after = arrived()
        interruption.check()
        assert after >= now
        posts = [*posts, *more]
        names = [str(match.match) for one in posts for match in one.matches]
        self.batches.append((pool, names))
        if pool == "nowhere":
            raise NotFoundError("no pool")
        if pool == "locked":
            raise OperationalError("", {}, Exception("locked"))
        if "poison" in names:
            raise ZeroDivisionError
        return [
            ConflictError("other content")
            if one.matches and one.matches[0].match == "conflict"
            else PostedMessage(len(one.matches), 0, 1)
            for one in posts
        ]


@pytest.fixture
def database(monkeypatch: pytest.MonkeyPatch) -> Database:
    found = Database()
    monkeypatch.setattr(posting, "post_matches", found.post_matches)
    return found


@pytest.fixture
def make() -> Iterator[Callable[..., Writer]]:
    """Give a function that starts a writer."""
    made: list[Writer] = []

    def start(**limits: int) -> Writer:
        given = {"batch_matches": 100, "queued_matches": 1000, "queued_posts": 100, **limits}
        settings = ServiceSettings(**given)  # type: ignore[arg-type]
        made.append(Writer(cast("Any", None), settings, Metrics()))
        made[-1].start()
        return made[-1]

    yield start
    for one in made:
        one.stop()


def test_commits_waiting_posts_together(database: Database, make: Callable[..., Writer]) -> None:
    """A commit takes what arrived until its pool was locked; posts keep their order."""
    writer = make()

    async def go() -> list[Any]:
        database.free.clear()
        first = writer.enqueue("a", post("1"))
        await asyncio.sleep(0.05)
        others = [writer.enqueue(pool, post(f"{pool}{i}")) for i in range(3) for pool in "ab"]
        database.free.set()
        return await asyncio.gather(first, *others)

    answers = asyncio.run(go())
    assert answers == [PostedMessage(1, 0, 1)] * 7
    assert database.batches == [("a", ["1", "a0", "a1", "a2"]), ("b", ["b0", "b1", "b2"])]


def test_answers_pool_by_pool(database: Database, make: Callable[..., Writer]) -> None:
    writer = make()

    async def go() -> Any:
        database.free.clear()
        first = writer.enqueue("a", post("1"))
        held = writer.enqueue("b", post("2"))
        database.hold = "b"
        database.free.set()
        answer = await asyncio.wait_for(first, 60)
        assert not held.done()
        database.held.set()
        await held
        return answer

    assert asyncio.run(go()) == PostedMessage(1, 0, 1)


def test_pools_take_turns(database: Database, make: Callable[..., Writer]) -> None:
    writer = make(batch_matches=2)

    async def go() -> None:
        database.free.clear()
        waiting = [writer.enqueue("busy", post(str(i))) for i in range(6)]
        waiting.append(writer.enqueue("other", post("x")))
        database.free.set()
        await asyncio.gather(*waiting)

    asyncio.run(go())
    assert [pool for pool, _ in database.batches].index("other") == 1
    assert all(len(names) <= 2 for _, names in database.batches)


def test_an_error_goes_to_whom_it_concerns(
    database: Database, make: Callable[..., Writer], caplog: pytest.LogCaptureFixture
) -> None:
    """A refused post, a pool that is gone, a locked database and a fault of ours."""
    writer = make()

    async def go() -> list[Any]:
        database.free.clear()
        waiting = [
            writer.enqueue("a", post("good")),
            writer.enqueue("a", post("conflict")),
            writer.enqueue("nowhere", post("x")),
            writer.enqueue("locked", post("x")),
            writer.enqueue("b", post("poison")),
            writer.enqueue("b", post("good")),
        ]
        database.free.set()
        return await asyncio.gather(*waiting, return_exceptions=True)

    answers = asyncio.run(go())
    assert [type(one) for one in answers] == [
        PostedMessage,
        ConflictError,
        NotFoundError,
        UnavailableError,
        InternalError,
        PostedMessage,
    ]
    assert "ZeroDivisionError" in caplog.text


def test_too_much_is_refused_at_once(database: Database, make: Callable[..., Writer]) -> None:
    """Nothing of it is recorded; a post larger than the bound is taken where nothing waits."""
    writer = make(queued_matches=3, queued_posts=2)

    async def go() -> None:
        database.free.clear()
        first = writer.enqueue("a", post(*"12345"))
        with pytest.raises(OverloadedError):
            writer.enqueue("a", post("6"))
        second = writer.enqueue("a", post())
        with pytest.raises(OverloadedError):
            writer.enqueue("a", post())
        database.free.set()
        await asyncio.gather(first, second)
        await writer.enqueue("a", post("7"))

    asyncio.run(go())
    assert [name for _, names in database.batches for name in names] == list("123457")


def test_stopping_commits_what_was_taken(database: Database, make: Callable[..., Writer]) -> None:
    writer = make(batch_matches=1)

    async def go() -> list[Any]:
        database.free.clear()
        waiting = [writer.enqueue("a", post(str(i))) for i in range(5)]
        stopped = asyncio.create_task(asyncio.to_thread(writer.stop))
        await asyncio.sleep(0.02)
        with pytest.raises(OverloadedError):
            writer.enqueue("a", post("late"))
        database.free.set()
        await stopped
        return await asyncio.gather(*waiting)

    assert len(asyncio.run(go())) == 5
    assert [name for _, names in database.batches for name in names] == list("01234")
    assert not writer.running


@pytest.mark.parametrize("begun", [False, True])
def test_skips_ended_requests(database: Database, make: Callable[..., Writer], begun: bool) -> None:
    """Its transaction, if it has begun, is interrupted, and the other posts are committed."""
    writer = make()

    async def go() -> None:
        database.free.clear()
        given_up = writer.enqueue("a", post("1"))
        if begun:
            await asyncio.sleep(0.05)
        other = writer.enqueue("a", post("2"))
        given_up.cancel()
        await asyncio.sleep(0)
        database.free.set()
        await other
        await writer.enqueue("a", post("3"))

    asyncio.run(go())
    assert [name for _, names in database.batches for name in names] == ["2", "3"]
