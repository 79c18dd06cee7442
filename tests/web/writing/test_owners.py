"""Posts go to the worker that owns their pool, and are committed here if it does not answer."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast
from zlib import crc32

import msgspec
import pytest

from equipoise.errors import ConflictError, InvalidDataError, Problem, UnconfirmedError
from equipoise.messages.matches import (
    ChangeMessage,
    MatchMessage,
    MatchRequest,
    ParticipationRequest,
    PostedMessage,
    TeamMessage,
    TeamRequest,
)
from equipoise.pools.posting.planning import Post
from equipoise.web.http.errors import CompilingError, OverloadedError, UnavailableError
from equipoise.web.monitoring import Metrics
from equipoise.web.writing import owners as module
from equipoise.web.writing.owners import Owners
from equipoise.web.writing.writer import Recorded, Writer

#: A name for each place of two.
POOLS = {crc32(name.encode()) % 2: name for name in "abcdefgh"}
POST = Post([MatchRequest("m", [])], 7)


class FakeWriter:
    """Answers each post at once with the number of posts it got, or fails.

    room : posts that may wait for the answer of an owner
    held : the future of posts instead, if given
    """

    def __init__(self) -> None:
        self.got: list[tuple[str, Post]] = []
        self.error: Exception | None = None
        self.answer: Recorded | None = None
        self.held: asyncio.Future[Recorded] | None = None
        self.stopping = False
        self.room = 100

    def has_room(self, posts: int, matches: int, more: int) -> bool:
        return posts < self.room and matches + more <= self.room

    def enqueue(self, pool: str, post: Post) -> asyncio.Future[Recorded]:
        if self.stopping:
            raise OverloadedError("stopping")
        self.got.append((pool, post))
        if self.held is not None:
            return self.held
        future: asyncio.Future[Recorded] = asyncio.get_running_loop().create_future()
        if self.error is not None:
            future.set_exception(self.error)
        else:
            future.set_result(self.answer or PostedMessage(len(self.got), 0, 1))
        return future


class Machine:
    """Two workers in one process."""

    def __init__(self, folder: Path) -> None:
        self.writers = [FakeWriter(), FakeWriter()]
        self.refused: Exception | None = None
        self.owners = [
            Owners(cast(Writer, writer), Metrics(), folder, 2, self.check)
            for writer in self.writers
        ]

    async def check(self, pool: str) -> None:
        if self.refused is not None:
            raise self.refused

    async def post(self, at: int, of: int, post: Post = POST) -> Any:
        """Post at one worker to a pool of another."""
        return await asyncio.wait_for(self.owners[at].enqueue(POOLS[of], post), 30)

    async def connect(self) -> None:
        """Post until the first worker has a connection to the second."""
        for _ in range(1000):
            await self.post(0, 1)
            if self.writers[1].got:
                break
            await asyncio.sleep(0.01)
        for writer in self.writers:
            writer.got.clear()


@asynccontextmanager
async def machine(folder: Path) -> AsyncIterator[Machine]:
    found = Machine(folder)
    for one in found.owners:
        await one.open()
    await found.connect()
    yield found
    for one in found.owners:
        await one.close()


def test_a_post_is_committed_by_the_owner(tmp_path: Path) -> None:
    async def go() -> None:
        async with machine(tmp_path) as here:
            assert await here.post(0, 1) == PostedMessage(1, 0, 1)
            assert await here.post(0, 0) == PostedMessage(1, 0, 1)
            assert [pool for pool, _ in here.writers[0].got] == [POOLS[0]]
            assert here.writers[1].got == [(POOLS[1], POST)]

    asyncio.run(go())


@pytest.mark.parametrize(
    "error",
    [
        ConflictError("other content"),
        InvalidDataError([Problem("", 1, "rank", "must be there", "nothing")]),
        OverloadedError("the queue is full", 3.0),
        UnconfirmedError("the connection broke: send it again"),
    ],
)
def test_an_error_of_the_owner_is_raised_here(tmp_path: Path, error: Exception) -> None:
    async def go() -> None:
        async with machine(tmp_path) as here:
            here.writers[1].error = error
            with pytest.raises(type(error)) as found:
                await here.post(0, 1)
            assert str(found.value) == str(error)
            assert vars(found.value) == vars(error)
            assert not here.writers[0].got

    asyncio.run(go())


def test_an_owner_that_cannot_commit_leaves_it_to_us(tmp_path: Path) -> None:
    """It stops, or still compiles the kernels."""

    async def go() -> None:
        async with machine(tmp_path) as here:
            here.writers[1].stopping = True
            await here.post(0, 1)
            here.writers[1].stopping = False
            here.refused = CompilingError("compiling")
            await here.post(0, 1)
            assert len(here.writers[0].got) == 2

    asyncio.run(go())


def test_what_fails_at_the_owner_is_tried_here(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """An error that is no answer to the post: the sender has its own connection to the database."""

    async def go() -> None:
        async with machine(tmp_path) as here:
            here.writers[1].error = ZeroDivisionError()
            assert await here.post(0, 1) == PostedMessage(1, 0, 1)
            assert len(here.writers[0].got) == 1

    asyncio.run(go())
    assert "could not be committed" in caplog.text


def test_a_refusal_because_the_owner_stops_is_no_answer(tmp_path: Path) -> None:
    """It may begin to stop after it has taken the post."""

    async def go() -> None:
        async with machine(tmp_path) as here:

            async def stops(pool: str) -> None:
                here.writers[1].stopping = True

            here.check = stops  # type: ignore[method-assign]
            here.owners[1]._check = stops
            assert await here.post(0, 1) == PostedMessage(1, 0, 1)
            assert len(here.writers[0].got) == 1

    asyncio.run(go())


def test_an_owner_that_is_gone_leaves_it_to_us(tmp_path: Path) -> None:
    async def go() -> None:
        async with machine(tmp_path) as here:
            await here.owners[1].close()
            for at in range(20):
                await here.post(0, 1, Post([MatchRequest(f"m{at}", [])]))
            assert len(here.writers[0].got) >= 19

    asyncio.run(go())


class Silent(asyncio.Protocol):
    """An owner that stops after it has answered some questions."""

    answers = 1

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.left = self.answers

    def data_received(self, data: bytes) -> None:
        if self.left:
            self.left -= 1
            self.transport.write(data)


class Stopped(Silent):
    """An owner that has stopped: connections are made, as the operating system does that."""

    answers = 0


@asynccontextmanager
async def beside(folder: Path, owner: type[Silent]) -> AsyncIterator[Machine]:
    """Give a worker beside an owner that does not answer."""
    found = Machine(folder)
    await found.owners[0].open()
    path = str(folder / "1.socket")
    server = await asyncio.get_running_loop().create_unix_server(owner, path)
    yield found
    await found.owners[0].close()
    server.close()


async def connected(here: Machine) -> None:
    """Wait for the connection to the owner that the first post makes."""
    await here.post(0, 1)
    for _ in range(1000):
        if here.owners[0]._links[1]._frames is not None:
            return
        await asyncio.sleep(0.01)
    raise AssertionError("no connection")


def test_posts_of_a_silent_owner_are_committed_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is taken for stopped after a time without any answer, even to a question."""
    monkeypatch.setattr(module, "ASKED", 0.02)

    async def go() -> None:
        async with beside(tmp_path, Silent) as here:
            await connected(here)
            monkeypatch.setattr(module, "LEASE", 0.1)
            await asyncio.gather(*(here.post(0, 1) for _ in range(3)))
            assert len(here.writers[0].got) == 4
            assert here.owners[0]._links[1]._frames is None

    asyncio.run(go())


def test_a_stopped_owner_gets_no_posts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection to it can be made, but it does not answer the first question."""
    monkeypatch.setattr(module, "LEASE", 60.0)

    async def go() -> None:
        async with beside(tmp_path, Stopped) as here:
            for _ in range(5):
                await here.post(0, 1)
                await asyncio.sleep(0.01)
            assert len(here.writers[0].got) == 5

    asyncio.run(go())


def test_no_more_waits_for_an_owner_than_for_a_writer(tmp_path: Path) -> None:
    """So memory is bounded while it is silent; the rest is committed here, or refused here."""

    async def go() -> None:
        async with beside(tmp_path, Silent) as here:
            await connected(here)
            here.writers[0].room = 2
            waiting = [here.owners[0].enqueue(POOLS[1], POST) for _ in range(5)]
            assert [one.done() for one in waiting] == [False, False, True, True, True]
            await asyncio.gather(*waiting)

    asyncio.run(go())


@pytest.mark.parametrize("how", ["ended", "gone"])
def test_an_owner_gives_up_what_its_sender_has_given_up(tmp_path: Path, how: str) -> None:
    """A request has ended, or the sender is gone, or it commits the post itself."""

    async def go() -> None:
        async with machine(tmp_path) as here:
            held: asyncio.Future[Recorded] = asyncio.get_running_loop().create_future()
            here.writers[1].held = held
            waiting = here.owners[0].enqueue(POOLS[1], POST)
            while not here.writers[1].got:
                await asyncio.sleep(0.01)
            if how == "ended":
                waiting.cancel()
            else:
                await here.owners[0]._links[1].close()
                assert await waiting == PostedMessage(1, 0, 1)
            await asyncio.wait([held], timeout=30)
            assert held.cancelled()

    asyncio.run(go())


def test_an_owner_leaves_alone_what_it_was_sent_before_a_pause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its sender has committed that, and the pool may be another one by now."""

    async def go() -> None:
        async with machine(tmp_path) as here:
            clock = module.time.monotonic
            monkeypatch.setattr(module.time, "monotonic", lambda: clock() - 2 * module.LEASE)
            waiting = here.owners[0].enqueue(POOLS[1], POST)
            monkeypatch.setattr(module.time, "monotonic", clock)
            assert await asyncio.wait_for(waiting, 30) == PostedMessage(1, 0, 1)
            assert not here.writers[1].got
            assert len(here.writers[0].got) == 1

    asyncio.run(go())


def test_an_owner_gets_the_post_as_it_was(tmp_path: Path) -> None:
    """With every field; one with half of a surrogate pair cannot be sent and is committed here."""
    player = ParticipationRequest(player=7, performance=1.5, statistics={"kills": 3}, role="\u00e9")
    teams = [TeamRequest([player, "b"], 1, team=4), TeamRequest(["c"], 2)]
    full = MatchRequest(5, teams, "2026-01-01T00:00:00Z", 2.0, 1500.5, rated=False)
    given = Post([full, MatchRequest("x", [], 1_700_000_000)], 3, False, 11)

    async def go() -> None:
        async with machine(tmp_path) as here:
            await here.post(0, 1, given)
            assert here.writers[1].got == [(POOLS[1], given)]
            await here.post(0, 1, Post([MatchRequest("\ud800", [])]))
            assert len(here.writers[0].got) == 1

    asyncio.run(go())


def test_matches_come_from_the_owner_as_the_client_gets_them(tmp_path: Path) -> None:
    """As JSON, which the answer then holds as it is; a page makes an object of it."""
    change = ChangeMessage("ana", True, 1500.0, None, 1516.0, None, 16.0, 0.5, None, {"x": 1.0})
    teams = [TeamMessage(1, None, [change]), TeamMessage(2, "b", [])]
    match = MatchMessage("m", 4, 5, "2026-01-01", "rated", None, 1.0, teams, ["role"])

    async def go() -> None:
        async with machine(tmp_path) as here:
            here.writers[1].answer = [match]
            (found,) = await here.post(0, 1)
            assert isinstance(found, msgspec.Raw)
            assert msgspec.json.encode(found) == msgspec.json.encode(match)
            assert msgspec.json.decode(found, type=MatchMessage) == match

    asyncio.run(go())


def test_a_post_that_nobody_waits_for_is_left_alone(tmp_path: Path) -> None:
    """And an error for it is nobody's."""

    async def go() -> None:
        unseen: list[Any] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, seen: unseen.append(seen))
        async with beside(tmp_path, Silent) as here:
            await connected(here)
            here.owners[0].enqueue(POOLS[1], POST).cancel()
            late = here.owners[0].enqueue(POOLS[1], POST)
            here.writers[0].error = ConflictError("other content")
            here.owners[0]._links[1]._frames.close()  # type: ignore[union-attr]
            while not late.done():
                await asyncio.sleep(0.01)
            assert isinstance(late.exception(), ConflictError)
            assert len(here.writers[0].got) == 2
        assert not unseen

    asyncio.run(go())


@pytest.mark.parametrize("error", [None, UnavailableError("away"), OverloadedError("full")])
def test_a_post_that_the_owner_may_have_committed_is_never_called_undone(
    tmp_path: Path, error: Exception | None
) -> None:
    """The owner is silent and this worker cannot commit it either: it stops, or fails.

    503 with another code than `unconfirmed` would say that nothing was done.
    """

    async def go() -> None:
        async with beside(tmp_path, Silent) as here:
            await connected(here)
            waiting = here.owners[0].enqueue(POOLS[1], POST)
            here.writers[0].error, here.writers[0].stopping = error, error is None
            here.owners[0]._links[1]._frames.close()  # type: ignore[union-attr]
            with pytest.raises(UnconfirmedError, match="send it again"):
                await asyncio.wait_for(waiting, 30)

    asyncio.run(go())


def test_a_post_that_the_owner_refused_is_not_called_unknown(tmp_path: Path) -> None:
    async def go() -> None:
        async with machine(tmp_path) as here:
            here.writers[1].stopping = True
            here.writers[0].error = UnavailableError("the database is away")
            with pytest.raises(UnavailableError):
                await here.post(0, 1)

    asyncio.run(go())


def test_what_an_owner_that_ends_was_sent_is_answered_before(tmp_path: Path) -> None:
    """It ends its connections only then. The other worker does not commit the post again."""

    async def go() -> None:
        async with machine(tmp_path) as here:
            slow: asyncio.Future[Recorded] = asyncio.get_running_loop().create_future()
            here.writers[1].enqueue = lambda pool, post: slow  # type: ignore[method-assign]
            waiting = here.owners[0].enqueue(POOLS[1], POST)
            while not here.owners[1]._answering:
                await asyncio.sleep(0.01)
            closing = asyncio.ensure_future(here.owners[1].close())
            await asyncio.sleep(0.05)
            assert not closing.done()
            slow.set_result(PostedMessage(9, 0, 9))
            assert await asyncio.wait_for(waiting, 30) == PostedMessage(9, 0, 9)
            await asyncio.wait_for(closing, 30)
            assert not here.writers[0].got

    asyncio.run(go())


def test_a_worker_that_ends_commits_what_no_owner_has_answered(tmp_path: Path) -> None:
    async def go() -> None:
        async with beside(tmp_path, Silent) as here:
            await connected(here)
            waiting = [here.owners[0].enqueue(POOLS[1], POST) for _ in range(3)]
            await here.owners[0].close()
            await asyncio.wait_for(asyncio.gather(*waiting), 30)
            assert len(here.writers[0].got) == 4

    asyncio.run(go())


class Twice(Silent):
    """An owner that answers every post twice."""

    def data_received(self, data: bytes) -> None:
        at = 0
        while at < len(data):
            (length,) = module._LENGTH.unpack_from(data, at)
            at += module._LENGTH.size + length
            frame = pickle.loads(data[at - length : at])
            if len(frame) > 1:
                frame = (frame[0], PostedMessage(1, 0, frame[0]))
            content = pickle.dumps(frame)
            self.transport.write(2 * (module._LENGTH.pack(len(content)) + content))


def test_a_second_answer_to_a_post_is_left_alone(tmp_path: Path) -> None:
    """And room for later posts is counted right."""

    async def go() -> None:
        async with beside(tmp_path, Twice) as here:
            await connected(here)
            first, second = (here.owners[0].enqueue(POOLS[1], POST) for _ in range(2))
            assert await asyncio.wait_for(first, 30) == PostedMessage(1, 0, 1)
            assert await asyncio.wait_for(second, 30) == PostedMessage(1, 0, 2)
            await asyncio.sleep(0.05)
            link = here.owners[0]._links[1]
            assert (link._sent, link._matches) == ({}, 0)

    asyncio.run(go())


def _frame(content: bytes) -> bytes:
    return module._LENGTH.pack(len(content)) + content


#: What is sent instead of an answer to the post with a number.
NONSENSE = {
    "no pickle": lambda number: _frame(b"HTTP/1.1 400"),
    "an empty frame": lambda number: _frame(b""),
    "no tuple": lambda number: _frame(pickle.dumps(7)),
    "no answer": lambda number: _frame(pickle.dumps((number,))),
    "a number": lambda number: _frame(pickle.dumps((number, 7))),
    "numbers": lambda number: _frame(pickle.dumps((number, [7]))),
    "half of a huge frame": lambda number: module._LENGTH.pack(2**32 - 1) + b"x" * 1000,
    "an unknown class": lambda number: _frame(b"cequipoise.web.later\nAnswer\n."),
}


@pytest.mark.parametrize("kind", NONSENSE)
def test_a_post_that_is_answered_with_nonsense_is_committed_here(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As while the program is replaced by a later version under the running service."""
    monkeypatch.setattr(module, "LEASE", 0.5)

    class Mad(Silent):
        def data_received(self, data: bytes) -> None:
            at = 0
            while at < len(data):
                (length,) = module._LENGTH.unpack_from(data, at)
                at += module._LENGTH.size + length
                frame = pickle.loads(data[at - length : at])
                if len(frame) > 1:
                    self.transport.write(NONSENSE[kind](frame[0]))
                else:
                    self.transport.write(_frame(pickle.dumps(frame)))

    async def go() -> None:
        async with beside(tmp_path, Mad) as here:
            await connected(here)
            futures = [here.owners[0].enqueue(POOLS[1], POST) for _ in range(3)]
            await asyncio.wait_for(asyncio.gather(*futures), 30)
            link = here.owners[0]._links[1]
            assert (link._sent, link._matches) == ({}, 0)

    asyncio.run(go())


def test_an_owner_that_is_sent_nonsense_goes_on(tmp_path: Path) -> None:
    async def go() -> None:
        async with machine(tmp_path) as here:
            path = str(tmp_path / "1.socket")
            for kind in NONSENSE.values():
                reader, writer = await asyncio.open_unix_connection(path)
                writer.write(kind(1))
                writer.write_eof()
                await asyncio.wait_for(reader.read(), 30)
                writer.close()
            assert await here.post(0, 1) == PostedMessage(1, 0, 1)
            assert len(here.writers[1].got) == 1

    asyncio.run(go())


def test_a_client_that_leaves_keeps_no_room(tmp_path: Path) -> None:
    """Its post is answered to nobody, but what it took of the queue is free afterwards."""

    async def go() -> None:
        async with machine(tmp_path) as here:
            here.owners[0].enqueue(POOLS[1], POST).cancel()
            await here.post(0, 1)
            link = here.owners[0]._links[1]
            assert (link._sent, link._matches) == ({}, 0)
            assert len(here.writers[1].got) == 1  # the request has ended, and its post with it
            assert not here.writers[0].got

    asyncio.run(go())


def test_windows_has_no_owners(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It has no Unix sockets in Python: each worker commits its posts itself."""
    tmp_path.chmod(0o700)
    monkeypatch.setenv(module.FOLDER, str(tmp_path))
    monkeypatch.setenv(module.WORKERS, "2")
    monkeypatch.setattr(module.sys, "platform", "win32")
    assert module.owners_folder() is None
    assert module.number_of_workers() == 2


def test_a_worker_that_cannot_listen_commits_its_posts_itself(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The folder is gone, as programs that tidy up do, or its path is too long for sockets."""
    long = tmp_path / ("x" * 100)
    long.mkdir()

    async def go(folder: Path) -> None:
        found = Machine(folder)
        for owners in found.owners:
            await owners.open()
        for of in (0, 1):
            assert await found.post(0, of) == PostedMessage(of + 1, 0, 1)
        for owners in found.owners:
            await owners.close()

    for folder in (tmp_path / "gone", long):
        caplog.clear()
        asyncio.run(go(folder))
        assert caplog.text.count("this worker takes no posts of others") == 2
    assert module.folder_fits("/tmp/equipoise-workers-12345678")
    assert not module.folder_fits(str(long))


def test_a_folder_of_others_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """What comes over its sockets is unpickled."""
    monkeypatch.setenv(module.FOLDER, str(tmp_path))
    monkeypatch.setenv(module.WORKERS, "2")
    tmp_path.chmod(0o700)
    assert module.owners_folder() == (tmp_path, 2)
    tmp_path.chmod(0o770)
    assert module.owners_folder() is None
    assert "others have access" in caplog.text
    monkeypatch.setenv(module.FOLDER, str(tmp_path / "gone"))
    assert module.owners_folder() is None


def test_a_place_is_free_again_when_its_process_ends(tmp_path: Path) -> None:
    async def go() -> None:
        async with machine(tmp_path) as here:
            third = Owners(cast(Writer, FakeWriter()), Metrics(), tmp_path, 2, here.check)
            await third.open()
            assert third._place == -1
            await here.owners[1].close()
            fourth = Owners(cast(Writer, FakeWriter()), Metrics(), tmp_path, 2, here.check)
            await fourth.open()
            assert fourth._place == 1
            await third.close()
            await fourth.close()

    asyncio.run(go())


def test_without_workers_there_are_no_owners(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(module.FOLDER, raising=False)
    assert module.owners_folder() is None
    monkeypatch.setenv(module.FOLDER, "/tmp")
    monkeypatch.setenv(module.WORKERS, "1")
    assert module.owners_folder() is None
