"""Which worker process of a machine commits the posts of a pool: its owner, to whom others forward.

Two processes that write to one pool split its posts, so that each transaction holds half as many
and costs as much, and each invalidates what the other remembers of the players. So a pool has one
owner among the workers, by a hash of its name.

This is only for speed. What is recorded rests on the lock of the pool in the database: any process
may commit any post, and a post that two of them commit is recorded once, because its matches are
known the second time. So whoever forwards a post need not know what became of it: if the owner is
silent, stops or is gone, it commits the post itself. An owner that goes on after a pause leaves
alone what it had not read before, because its sender has long committed it.

A worker takes the first free place in a folder that only this user can read, by a lock that the
operating system releases when the process ends, and listens on the socket of that place. What comes
over it is unpickled, so a folder that others can read is not used.
"""

from __future__ import annotations

import asyncio
import logging
import os
import pickle
import stat
import struct
import sys
import time
from collections.abc import Awaitable, Callable
from contextvars import Context
from pathlib import Path
from typing import Any, NamedTuple, cast
from zlib import crc32

import msgspec

from equipoise.errors import EquipoiseError, UnconfirmedError
from equipoise.messages.matches import MatchRequest, PostedMessage
from equipoise.pools.posting.planning import Post
from equipoise.web.calculation import Failed, pickled_error
from equipoise.web.http.errors import (
    CompilingError,
    InternalError,
    OverloadedError,
    UnavailableError,
)
from equipoise.web.monitoring import Metrics
from equipoise.web.writing.writer import Recorded, Writer

log = logging.getLogger(__name__)

#: Environment variables with the folder of the sockets, and with the number of workers.
FOLDER, WORKERS = "EQUIPOISE_WORKERS_FOLDER", "EQUIPOISE_WORKERS"
#: Seconds of silence after which an owner is taken for stopped, and between questions to it.
LEASE, ASKED = 1.0, 0.25
#: Seconds until an owner that was silent or gone is tried again.
_PAUSE = 1.0
#: Seconds for which the end of a process waits until the others have its answers.
_ENDING = 5.0
#: Bytes of the length of a frame; a frame is a pickled tuple.
_LENGTH = struct.Struct("!I")
#: Bytes of the path of a socket: macOS allows 103, Linux 107.
_PATH_BYTES = 103

_matches = msgspec.msgpack.Decoder(list[MatchRequest])
_encoder = msgspec.json.Encoder()


class _Forwarded(NamedTuple):
    """A post on its way to an owner.

    number : by which the answer names it
    matches : of the post, encoded; pickle would take ten times as long, in the event loop
    sent : seconds of the clock of the machine
    """

    number: int
    pool: str
    matches: bytes
    key: int | None
    detailed: bool
    first_line: int
    sent: float


class _Sent(NamedTuple):
    """A post that was forwarded."""

    pool: str
    post: Post
    future: asyncio.Future[Recorded]


class Owners:
    """Sends posts to the writer of the process that owns their pool.

    writer : of this process
    check : what must hold before this process can commit to a pool; raises if it does not
    """

    def __init__(
        self,
        writer: Writer,
        metrics: Metrics,
        folder: Path,
        workers: int,
        check: Callable[[str], Awaitable[None]],
    ) -> None:
        self._writer, self._metrics, self._check = writer, metrics, check
        self._links = [
            _Link(folder / f"{place}.socket", self._commit, writer.has_room)
            for place in range(workers)
        ]
        self._folder = folder
        self._place = -1
        self._lock = -1
        self._server: asyncio.AbstractServer | None = None
        # By connection and number of the post.
        self._answering: dict[tuple[_Frames, int], asyncio.Task[None]] = {}
        self._others: set[_Frames] = set()

    @property
    def stopping(self) -> bool:
        """Return whether new posts are refused because the service stops."""
        return self._writer.stopping

    async def open(self) -> None:
        """Take a place, and listen to the other processes.

        Without a place, or where it cannot listen, this process owns no pool.
        """
        try:
            self._place, self._lock = _take_place(self._folder, len(self._links))
            if self._place >= 0:
                path = self._folder / f"{self._place}.socket"
                path.unlink(missing_ok=True)
                loop = asyncio.get_running_loop()
                self._server = await loop.create_unix_server(self._listener, str(path))
        except OSError as error:
            log.warning("this worker takes no posts of others: %s", error)
            self._leave()

    async def close(self) -> None:
        """Give the last answers, and leave the place."""
        for link in self._links:
            await link.close()
        if self._server is not None:
            self._server.close()
        if self._answering:
            await asyncio.wait(self._answering.values(), timeout=_ENDING)
        for frames in list(self._others):
            frames.close()
        self._leave()

    def _leave(self) -> None:
        """Leave the place to another process."""
        self._place = -1
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def enqueue(self, pool: str, post: Post) -> asyncio.Future[Recorded]:
        """Return a future with the answer to a post, as `Writer.enqueue`. Raises : OverloadedError.

        It may be committed by another process.
        """
        place = crc32(pool.encode()) % len(self._links)
        if place != self._place and not self._writer.stopping:
            future = self._links[place].send(pool, post)
            if future is not None:
                self._metrics.forwarded.inc()
                return future
        return self._writer.enqueue(pool, post)

    def _commit(self, sent: _Sent, refused: bool) -> None:
        """Commit a post here that its owner has not committed, or has not answered.

        refused : whether the owner has certainly not committed it
        """
        if sent.future.done():  # its client is gone; whether it was recorded is unknown to it
            return
        try:
            ours = self._writer.enqueue(sent.pool, sent.post)
        except EquipoiseError as error:
            sent.future.set_exception(error if refused else _as_unknown(error))
        else:
            ours.add_done_callback(lambda done: _pass_on(done, sent.future, refused))
            sent.future.add_done_callback(lambda done: ours.cancel() if done.cancelled() else None)

    def _listener(self) -> _Frames:
        frames = _Frames(self._take, lambda: self._lose(frames))
        self._others.add(frames)
        return frames

    def _lose(self, frames: _Frames) -> None:
        """Give up the posts of a process that is gone, or commits them itself."""
        self._others.discard(frames)
        for (sender, _), task in list(self._answering.items()):
            if sender is frames:
                task.cancel()

    def _take(self, frames: _Frames, frame: tuple[Any, ...]) -> None:
        """Answer a frame of another process.

        It is a post, the end of the request of a post, or the question whether this one is alive.
        """
        if len(frame) == len(_QUESTION):
            frames.send(frame)
            return
        key = (frames, frame[0])
        if len(frame) == len(_ENDED):
            if key in self._answering:
                self._answering[key].cancel()
            return
        answering = self._answer(frames, _Forwarded(*frame))
        task = asyncio.get_running_loop().create_task(answering, context=Context())
        self._answering[key] = task
        task.add_done_callback(lambda done: self._answering.pop(key, None))

    async def _answer(self, frames: _Frames, post: _Forwarded) -> None:
        """Commit a post for another process. None is the answer if this process cannot."""
        answer: Any = None
        try:
            # After a pause of this process, its sender has committed the post.
            if not self._writer.stopping and time.monotonic() - post.sent <= LEASE:
                await self._check(post.pool)
                matches = _matches.decode(post.matches)
                ours = Post(matches, post.key, post.detailed, post.first_line)
                answer = _packed(await self._writer.enqueue(post.pool, ours))
        except CompilingError:
            pass
        except EquipoiseError as error:
            # A post that is refused only because this process stops is committed by its sender.
            if not self._writer.stopping:
                answer = pickle.loads(pickled_error(error))
        except Exception:
            log.exception("a post of another worker could not be committed")
        frames.send((post.number, answer))


class _Frames(asyncio.Protocol):
    """A connection over which both ends send tuples."""

    def __init__(
        self,
        take: Callable[[_Frames, tuple[Any, ...]], None],
        lost: Callable[[], None] = lambda: None,
    ) -> None:
        self._take, self._lost = take, lost
        self._buffer = bytearray()
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Note the connection."""
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is none by its class

    def connection_lost(self, exc: Exception | None) -> None:
        """Note its end."""
        self._transport = None
        self._lost()

    def data_received(self, data: bytes) -> None:
        """Take the frames that are complete."""
        self._buffer += data
        at = 0
        while len(self._buffer) - at >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._buffer, at)
            begins = at + _LENGTH.size
            if len(self._buffer) < begins + length:
                break
            at = begins + length
            try:
                self._take(self, pickle.loads(memoryview(self._buffer)[begins:at]))
            except Exception as error:  # noqa: BLE001  # whatever another version sends
                log.warning("what another worker sent cannot be read: %r", error)
                self._buffer = bytearray()
                self.abort()
                return
        del self._buffer[:at]

    def send(self, frame: tuple[Any, ...]) -> None:
        """Send a tuple, unless the connection has ended."""
        if self._transport is not None:
            content = pickle.dumps(frame, pickle.HIGHEST_PROTOCOL)
            self._transport.write(_LENGTH.pack(len(content)) + content)

    def close(self) -> None:
        """End the connection, once what was sent is on its way."""
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """End the connection at once, as the other end may not read any more."""
        if self._transport is not None:
            self._transport.abort()


#: The question whether a process is alive, and its answer.
_QUESTION = (0,)
#: What follows the number of a post whose request has ended, in a frame.
_ENDED = (0, "ended")


class _Link:
    """The connection to one owner, and what it has not answered yet.

    path : of its socket
    uncommitted : gets each post that the owner refused, or did not answer, and which of the two
    has_room : whether as many posts and matches may wait as there would be with one more post
    """

    def __init__(
        self,
        path: Path,
        uncommitted: Callable[[_Sent, bool], None],
        has_room: Callable[[int, int, int], bool],
    ) -> None:
        self._path, self._uncommitted, self._has_room = path, uncommitted, has_room
        self._frames: _Frames | None = None
        self._sent: dict[int, _Sent] = {}
        self._matches = 0
        self._number = 0
        # Questions since the owner was heard.
        self._asked = 0
        self._heard = asyncio.Event()
        self._not_before = 0.0
        self._task: asyncio.Task[None] | None = None

    def send(self, pool: str, post: Post) -> asyncio.Future[Recorded] | None:
        """Forward a post; None if it must be committed here.

        There may be no connection, which is then made for later posts, or too much may wait.
        """
        loop = asyncio.get_running_loop()
        if self._frames is None:
            if self._task is None and time.monotonic() >= self._not_before:
                # Its context is not that of the request that happens to be the first.
                self._task = loop.create_task(self._watch(), context=Context())
            return None
        if not self._has_room(len(self._sent), self._matches, len(post.matches)):
            return None
        try:
            content = msgspec.msgpack.encode(post.matches)
        except (ValueError, OverflowError):  # half of a surrogate pair: the writer says so
            return None
        self._number += 1
        if not self._sent:  # its silence counts from now
            self._asked = 0
        future: asyncio.Future[Recorded] = loop.create_future()
        number = self._number
        future.add_done_callback(lambda done: self._end(number) if done.cancelled() else None)
        self._sent[number] = _Sent(pool, post, future)
        self._matches += len(post.matches)
        rest = (post.key, post.detailed, post.first_line, time.monotonic())
        self._frames.send((number, pool, content, *rest))
        return future

    def _end(self, number: int) -> None:
        """Tell the owner that the request of a post has ended, if it was not answered."""
        sent = self._sent.pop(number, None)
        if sent is not None:
            self._matches -= len(sent.post.matches)
            if self._frames is not None:
                self._frames.send((number, *_ENDED[1:]))

    async def close(self) -> None:
        """End the connection."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _watch(self) -> None:
        """Connect, and end the connection once the owner is silent."""
        loop = asyncio.get_running_loop()
        frames = _Frames(self._take, lambda: self._drop(frames))
        try:
            # A process that is stopped still has connections made to it, but answers nothing.
            async with asyncio.timeout(LEASE):
                await loop.create_unix_connection(lambda: frames, str(self._path))
                self._heard.clear()
                frames.send(_QUESTION)
                await self._heard.wait()
            self._frames, self._asked = frames, 0
            while self._frames is frames:
                await asyncio.sleep(ASKED)
                if self._sent:
                    # Questions are counted, not seconds: this process may have had a pause itself.
                    if self._asked * ASKED >= LEASE:
                        log.warning("another worker does not answer; its posts are committed here")
                        break
                    self._asked += 1
                    frames.send(_QUESTION)
        except (OSError, TimeoutError) as error:
            log.debug("no connection to another worker: %s", error)
        finally:
            frames.abort()
            self._drop(frames)
            self._not_before = time.monotonic() + _PAUSE
            self._task = None

    def _take(self, frames: _Frames, frame: tuple[Any, ...]) -> None:
        """Take an answer of the owner."""
        self._asked = 0
        self._heard.set()
        sent = self._sent.get(frame[0])
        if sent is None:
            return
        # An answer that makes no sense raises while its post is among those that are not answered.
        answer = frame[1]
        if answer is not None:
            answer = answer.exception() if isinstance(answer, Failed) else _unpacked(answer)
        del self._sent[frame[0]]
        self._matches -= len(sent.post.matches)
        if answer is None:
            self._uncommitted(sent, True)
        elif sent.future.done():
            return
        elif isinstance(answer, BaseException):
            sent.future.set_exception(answer)
        else:
            sent.future.set_result(answer)

    def _drop(self, frames: _Frames) -> None:
        """Give up a connection; what was not answered is committed here."""
        if self._frames is not frames:
            return
        self._frames = None
        waiting, self._sent, self._matches = list(self._sent.values()), {}, 0
        for sent in waiting:
            self._uncommitted(sent, False)


def _packed(answer: Recorded) -> list[bytes] | PostedMessage:
    """Return an answer as it is sent: matches as the JSON that the client gets in the end."""
    if isinstance(answer, PostedMessage):
        return answer
    return [_encoder.encode(one) for one in answer]


def _unpacked(answer: list[bytes] | PostedMessage) -> Recorded:
    """Return an answer as it was sent."""
    if isinstance(answer, PostedMessage):
        return answer
    return [msgspec.Raw(one) for one in answer]


def folder_fits(folder: str) -> bool:
    """Return whether the sockets of workers may be in a folder: their paths are limited."""
    return len(os.fsencode(folder)) + len("/63.socket") <= _PATH_BYTES


def number_of_workers() -> int:
    """Return the number of workers of this service."""
    text = os.environ.get(WORKERS, "1")
    return int(text) if text.isdecimal() else 1


def owners_folder() -> tuple[Path, int] | None:
    """Return the folder of the sockets and the number of workers.

    None for a single process, and if others could write to the folder.
    """
    folder = os.environ.get(FOLDER)
    workers = number_of_workers()
    if not folder or workers < 2 or sys.platform == "win32":
        return None
    try:
        found = os.stat(folder)
    except OSError as error:
        log.warning("posts are not passed on between workers: %s", error)
        return None
    if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o077:
        log.warning("posts are not passed on between workers: others have access to %s", folder)
        return None
    return Path(folder), workers


def _take_place(folder: Path, places: int) -> tuple[int, int]:
    """Return the first free place and the file that locks it; -1 and -1 if all are taken."""
    import fcntl

    for place in range(places):
        lock = os.open(folder / f"{place}.lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
        else:
            return place, lock
    return -1, -1


#: Errors that say that nothing was done.
_NOTHING_DONE = (OverloadedError, UnavailableError, InternalError)


def _as_unknown(error: BaseException) -> BaseException:
    """Return the error for a post that another worker may have committed."""
    if not isinstance(error, _NOTHING_DONE):
        return error
    return UnconfirmedError(
        "the worker of the pool did not answer, so it is unknown whether this was recorded: send "
        f"it again ({error})"
    )


def _pass_on(
    done: asyncio.Future[Recorded], future: asyncio.Future[Recorded], refused: bool
) -> None:
    """Give the outcome of one future to another.

    refused : whether nobody else can have committed the post
    """
    error = None if done.cancelled() else done.exception()  # fetched, so that nobody warns of it
    if future.done():
        return
    if done.cancelled():
        future.cancel()
    elif error is not None:
        future.set_exception(error if refused else _as_unknown(error))
    else:
        future.set_result(done.result())
