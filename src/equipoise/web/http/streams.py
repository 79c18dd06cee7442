"""Long bodies: posts that are read and exports that are sent piece by piece.

A reader that is too slow is cut off. An export has credit: seconds that the service may wait for
its reader. Each byte sent adds to it what the byte takes at the minimum rate, and each second of
waiting takes from it.

Each piece is acknowledged when it is committed. While one piece is committed, the next is read and
decoded, but it goes to the writer only after the first has succeeded. So no match after a rejected
line is recorded.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import AsyncIterator, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import msgspec
from starlette.requests import ClientDisconnect
from starlette.types import Message

from equipoise.errors import EquipoiseError, InvalidDataError, Problem
from equipoise.messages.matches import MatchRequest, PostedMessage, StreamLine
from equipoise.pools.pool import pools
from equipoise.pools.posting.posting import Post, read_post
from equipoise.store.connection import Store
from equipoise.web.http.access import address_of, caller_of
from equipoise.web.http.endpoints import JSON_ERRORS, NDJSON, ApiRequest, disconnected, refused_json
from equipoise.web.http.errors import (
    InternalError,
    OverloadedError,
    SlowRequestError,
    TooLargeError,
    TooManyRequestsError,
    error_body,
)
from equipoise.web.monitoring import FIELDS
from equipoise.web.settings import ServiceSettings
from equipoise.web.writer import Recorded

if TYPE_CHECKING:
    from equipoise.web.service import BoundedExecutor

log = logging.getLogger(__name__)

#: Seconds until a refused export may be tried again.
_EXPORT_PAUSE = 5.0
#: Seconds of credit of an export at its beginning, and at most.
_FIRST_CREDIT, _MOST_CREDIT = 10.0, 30.0
#: Bytes sent at once: at the minimum rate well below the credit.
_MOST_BYTES = 2**18


#: Whom an export is counted for: the number of a key, or an address without a key.
Caller: TypeAlias = int | str


class Exports:
    """The exports under way, counted by caller, and the threads that they share.

    All callers without a key together have half of the places: whoever has many addresses cannot
    take the places of keys.
    """

    def __init__(self, settings: ServiceSettings, executor: BoundedExecutor) -> None:
        self._executor = executor
        self._most, self._most_of_caller = settings.exports, settings.exports_per_key
        self._most_without_key = max(1, settings.exports // 2)
        self._under_way: Counter[Caller] = Counter()

    @contextmanager
    def admitted(self, caller: Caller) -> Iterator[BoundedExecutor]:
        """Give the threads to one more export of a caller.

        Raises : TooManyRequestsError, OverloadedError if too many are under way
        """
        if self._under_way[caller] >= self._most_of_caller:
            raise TooManyRequestsError(
                f"At most {self._most_of_caller} exports of one key, or of one address without a "
                "key, at a time; try again when one has ended",
                _EXPORT_PAUSE,
            )
        if isinstance(caller, str) and self._without_key() >= self._most_without_key:
            raise OverloadedError(
                "too many exports without a key are running; try again later, or use a key",
                _EXPORT_PAUSE,
            )
        if self._under_way.total() >= self._most:
            raise OverloadedError("too many exports are running; try again later", _EXPORT_PAUSE)
        self._under_way[caller] += 1
        try:
            yield self._executor
        finally:
            self._under_way[caller] -= 1
            if not self._under_way[caller]:
                del self._under_way[caller]

    def _without_key(self) -> int:
        return sum(count for who, count in self._under_way.items() if isinstance(who, str))

    def close(self) -> None:
        """End the threads after their current work."""
        self._executor.close()


def caller(request: ApiRequest) -> Caller:
    """Return whom an export is counted for: its key, or its address without one."""
    return caller_of(address_of(request.scope)) if request.key is None else request.key.id


async def send_pieces(
    request: ApiRequest, executor: BoundedExecutor, pieces: Iterator[bytes], start: Message
) -> None:
    """Send the pieces of a file as they are made; empty ones are not sent.

    start : the message before the first piece. An error before it is answered as an error
    Raises : ClientDisconnect if the reader is gone or too slow; the file is then cut short
    """
    gone = asyncio.create_task(disconnected(request.receive))
    reader = _Reader(request)
    try:
        piece = await executor.run(next, pieces, None)
        while piece == b"" and not gone.done():
            piece = await executor.run(next, pieces, None)
        await request.send(start)
        while piece is not None:
            if gone.done():
                raise ClientDisconnect
            for at in range(0, len(piece), _MOST_BYTES):
                await reader.send(piece[at : at + _MOST_BYTES])
            piece = await executor.run(next, pieces, None)
        await request.send({"type": "http.response.body", "body": b"", "more_body": False})
    finally:
        gone.cancel()
        with suppress(asyncio.CancelledError):
            await gone
        await executor.run(_close, pieces)


class _Reader:
    """The reader of an export, with its credit."""

    def __init__(self, request: ApiRequest) -> None:
        self._request = request
        self._rate = request.service.settings.export_rate
        self._idle = request.service.settings.idle_seconds
        self._credit = _FIRST_CREDIT
        self._sent = 0

    async def send(self, piece: bytes) -> None:
        """Send a piece as soon as the reader takes it. Raises : ClientDisconnect if too slow."""
        began = time.monotonic()
        self._credit = min(self._credit + len(piece) / self._rate, _MOST_CREDIT)
        message = {"type": "http.response.body", "body": piece, "more_body": True}
        try:
            async with asyncio.timeout(min(self._credit, self._idle)):
                await self._request.send(message)
        except TimeoutError:
            log.warning(
                "an export was cut off: its reader takes less than %d bytes a second",
                self._rate,
                extra={
                    FIELDS: {
                        "request": self._request.scope.get("equipoise.request"),
                        "pool": self._request.pool_name,
                        "key": self._request.key_number,
                        "sent": self._sent,
                    }
                },
            )
            raise ClientDisconnect from None
        self._credit -= time.monotonic() - began
        self._sent += len(piece)


def _close(pieces: Iterator[bytes]) -> None:
    """End an export of which not all pieces were fetched."""
    if isinstance(pieces, Generator):
        pieces.close()


#: Media types that are read as a stream.
LINE_MEDIA = (NDJSON, "application/jsonl", "application/ndjson")
#: Bad lines of one piece that an error lists.
_PROBLEMS = 100
#: Seconds until the next attempt while the queue of the writer is full.
_PAUSE = 0.05

_lines = msgspec.json.Decoder(MatchRequest)


@dataclass(frozen=True, slots=True)
class Piece:
    """Lines of a stream that are recorded together.

    first, through : numbers of its first and last line, from 1
    """

    content: bytes
    first: int
    through: int


#: A piece that was sent to the writer, and its future answer.
_Sent: TypeAlias = "tuple[Piece, asyncio.Future[Recorded]]"


async def take_stream(request: ApiRequest) -> None:
    """Record a stream and answer line by line.

    Raises : EquipoiseError if the first piece is rejected; then nothing was answered
    """
    started = False

    async def write(line: bytes) -> None:
        nonlocal started
        if not started:
            started = True
            headers = [(b"content-type", NDJSON.encode()), (b"cache-control", b"no-store")]
            await request.send({"type": "http.response.start", "status": 200, "headers": headers})
        body = {"type": "http.response.body", "body": line + b"\n", "more_body": True}
        await request.send(body)

    try:
        async for line in _recorded(request):
            await write(msgspec.json.encode(line))
        if not started:
            pool = await request.service.read(pools.pool_message, request.pool_name)
            await write(msgspec.json.encode(StreamLine(0, 0, 0, pool.last_seq)))
    except ClientDisconnect:
        raise
    except Exception as error:
        if not started:
            raise
        if not isinstance(error, EquipoiseError):
            log.exception("a stream failed")
            error = InternalError("the service failed; its log says why")
        await write(error_body(error))
    await request.send({"type": "http.response.body", "body": b"", "more_body": False})


async def _recorded(request: ApiRequest) -> AsyncIterator[StreamLine]:
    """Record a stream; yield a line for each piece when it is committed.

    Raises : EquipoiseError for a piece, once those before it are committed
    """
    sent: _Sent | None = None
    try:
        async for piece in pieces(request):
            post = await request.service.read(
                _read_piece, request.pool_name, piece, request.key_number
            )
            if sent is not None:
                earlier, sent = sent, None
                yield await _committed(*earlier)
            if post is not None:
                sent = piece, await _enqueue(request, post)
    except ClientDisconnect:
        if sent is not None:
            sent[1].cancel()  # It is committed all the same.
        raise
    except Exception:
        if sent is not None:
            yield await _committed(*sent)
        raise
    if sent is not None:
        yield await _committed(*sent)


async def _committed(piece: Piece, future: asyncio.Future[Recorded]) -> StreamLine:
    """Return the line of a piece once it is committed. Raises : EquipoiseError."""
    try:
        recorded = await future
    except InvalidDataError as error:
        raise _with_lines(error, piece) from None
    if not isinstance(recorded, PostedMessage):
        raise TypeError(f"a piece of a stream was answered with {type(recorded).__name__}")
    return StreamLine(piece.through, recorded.new, recorded.known, recorded.seq, recorded.unused)


async def _enqueue(request: ApiRequest, post: Post) -> asyncio.Future[Recorded]:
    """Send a post to the writer as soon as its queue has room. Raises : OverloadedError."""
    posts = request.service.writer
    waited = 0.0
    while True:
        try:
            return posts.enqueue(request.pool_name, post)
        except OverloadedError:
            if posts.stopping or waited > request.service.settings.request_seconds:
                raise
        await asyncio.sleep(_PAUSE)
        waited += _PAUSE


def _read_piece(store: Store, pool: str, piece: Piece, key: int | None) -> Post | None:
    """Return the post of a piece, None if empty. Raises : InvalidDataError, NotFoundError."""
    matches = decode_piece(piece)
    return read_post(store, pool, Post(matches, key, detailed=False)) if matches else None


def decode_piece(piece: Piece) -> list[MatchRequest]:
    """Return the matches of a piece. Raises : InvalidDataError with the bad lines."""
    try:
        return _lines.decode_lines(piece.content)
    except JSON_ERRORS:
        raise _bad_lines(piece) from None


def _bad_lines(piece: Piece) -> EquipoiseError:
    """Return the bad lines of a piece, found by decoding line by line."""
    problems: list[Problem] = []
    for number, line in _numbered(piece):
        try:
            _lines.decode(line)
        except JSON_ERRORS as error:
            problems += _problems_of(error, number, line)
        if len(problems) >= _PROBLEMS:
            break
    return InvalidDataError(problems)


def _problems_of(error: Exception, number: int, line: bytes) -> Sequence[Problem]:
    refused = refused_json(error, MatchRequest, number)
    if isinstance(refused, InvalidDataError):
        return refused.problems
    rule = str(refused).removeprefix(f"line {number} ")
    return [Problem("", number, "", rule, line[:100].decode("utf-8", "replace"))]


def _numbered(piece: Piece) -> list[tuple[int, bytes]]:
    """Return the lines of a piece that are not blank, with their numbers in the stream."""
    split = enumerate(piece.content.split(b"\n"), start=piece.first)
    return [(number, line) for number, line in split if line.strip()]


def _with_lines(error: InvalidDataError, piece: Piece) -> InvalidDataError:
    """Return problems that count matches of a post with the numbers of their lines instead."""
    numbers = [number for number, _ in _numbered(piece)]
    return InvalidDataError(
        [
            replace(problem, line=numbers[problem.line - 1])
            if problem.line is not None and 0 < problem.line <= len(numbers)
            else problem
            for problem in error.problems
        ]
    )


async def pieces(request: ApiRequest) -> AsyncIterator[Piece]:
    """Yield a stream in pieces of complete lines, of the size in the settings.

    Raises : TooLargeError, SlowRequestError, ClientDisconnect
    """
    settings = request.service.settings
    buffer = b""
    number = 1
    more = True
    while more:
        chunk, more = await _received(request)
        buffer = buffer + chunk if buffer else chunk
        while (end := _cut(buffer, settings, more)) > 0:
            piece = _piece(buffer[:end], number, settings)
            buffer = buffer[end:]
            number = piece.through + 1
            yield piece
        if len(buffer) > settings.line_bytes:
            _check_lines(buffer, number, settings)


async def _received(request: ApiRequest) -> tuple[bytes, bool]:
    seconds = request.service.settings.idle_seconds
    try:
        async with asyncio.timeout(seconds):
            message = await request.receive()
    except TimeoutError:
        raise SlowRequestError(f"a stream must send something every {seconds:g} s") from None
    if message["type"] == "http.disconnect":
        raise ClientDisconnect
    return message.get("body", b""), message.get("more_body", False)


def _cut(buffer: bytes, settings: ServiceSettings, more: bool) -> int:
    """Return the end of the next piece in a buffer, 0 if more data is needed first."""
    lines = buffer.count(b"\n")
    ends = []
    if lines >= settings.chunk_lines:
        ends.append(len(buffer) - len(buffer.split(b"\n", settings.chunk_lines)[-1]))
    if lines and len(buffer) >= settings.chunk_bytes:
        # Up to the last line within the size, but at least one line.
        within = buffer.rfind(b"\n", 0, settings.chunk_bytes) + 1
        ends.append(within or buffer.find(b"\n") + 1)
    if ends:
        return min(ends)
    return 0 if more else len(buffer)


def _piece(content: bytes, number: int, settings: ServiceSettings) -> Piece:
    if len(content) > settings.line_bytes:
        _check_lines(content, number, settings)
    lines = content.count(b"\n") + (not content.endswith(b"\n"))
    return Piece(content, number, number + lines - 1)


def _check_lines(content: bytes, number: int, settings: ServiceSettings) -> None:
    """Raise TooLargeError for a line that is too long."""
    for at, line in enumerate(content.split(b"\n"), start=number):
        if len(line) > settings.line_bytes:
            raise TooLargeError(f"line {at} must have at most {settings.line_bytes} bytes")
