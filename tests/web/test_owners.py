"""Posts go to the worker that owns their pool, and are committed here if it does not answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast
from zlib import crc32

import pytest

from equipoise.errors import ConflictError, InvalidDataError, Problem
from equipoise.messages.matches import MatchRequest, PostedMessage
from equipoise.pools.posting.planning import Post
from equipoise.web import owners as module
from equipoise.web.http.errors import CompilingError, OverloadedError
from equipoise.web.monitoring import Metrics
from equipoise.web.owners import Owners
from equipoise.web.writer import Recorded, Writer

#: A name for each place of two.
POOLS = {crc32(name.encode()) % 2: name for name in "abcdefgh"}
POST = Post([MatchRequest("m", [])], 7)


class FakeWriter:
    """Answers each post at once with the number of posts it got, or fails."""

    def __init__(self) -> None:
        self.got: list[tuple[str, Post]] = []
        self.error: Exception | None = None
        self.stopping = False

    def enqueue(self, pool: str, post: Post) -> asyncio.Future[Recorded]:
        if self.stopping:
            raise OverloadedError("stopping")
        self.got.append((pool, post))
        future: asyncio.Future[Recorded] = asyncio.get_running_loop().create_future()
        if self.error is not None:
            future.set_exception(self.error)
        else:
            future.set_result(PostedMessage(len(self.got), 0, 1))
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


def test_an_owner_that_is_gone_leaves_it_to_us(tmp_path: Path) -> None:
    async def go() -> None:
        async with machine(tmp_path) as here:
            await here.owners[1].close()
            for at in range(20):
                await here.post(0, 1, Post([MatchRequest(f"m{at}", [])]))
            assert len(here.writers[0].got) >= 19

    asyncio.run(go())


def test_posts_of_a_silent_owner_are_committed_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is taken for stopped after a time without any answer, even to a question."""
    monkeypatch.setattr(module, "LEASE", 0.1)
    monkeypatch.setattr(module, "ASKED", 0.02)

    async def silent() -> None:
        found = Machine(tmp_path)
        loop = asyncio.get_running_loop()
        await found.owners[0].open()
        server = await loop.create_unix_server(asyncio.Protocol, str(tmp_path / "1.socket"))
        async with server:
            await asyncio.gather(*(found.post(0, 1) for _ in range(3)))
            await asyncio.sleep(0.05)  # connected now
            await asyncio.gather(*(found.post(0, 1) for _ in range(3)))
        assert len(found.writers[0].got) == 6
        await found.owners[0].close()

    asyncio.run(silent())


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
