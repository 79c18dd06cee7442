"""Streams of matches: one match on each line, recorded in pieces.

Each piece is acknowledged when it is committed. While one piece is committed, the next is read and
decoded, but it goes to the writer only after the first has succeeded. So no match after a rejected
line is recorded.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import msgspec
from starlette.requests import ClientDisconnect

from equipoise.errors import EquipoiseError, InvalidDataError, Problem
from equipoise.messages.matches import MatchRequest, PostedMessage, StreamLine
from equipoise.pools.pool import pools
from equipoise.pools.posting.planning import Post
from equipoise.pools.posting.posting import read_post
from equipoise.store.connection import Store
from equipoise.web.http.endpoints import NDJSON, ApiRequest
from equipoise.web.http.errors import (
    InternalError,
    OverloadedError,
    SlowRequestError,
    TooLargeError,
    error_body,
)
from equipoise.web.http.reading import JSON_ERRORS, refused_json
from equipoise.web.settings import ServiceSettings
from equipoise.web.writer import Recorded

log = logging.getLogger(__name__)

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
    answer = _Answer(request)
    key = None if request.key is None else request.key.id
    sent: _Sent | None = None
    try:
        async for piece in pieces(request):
            post = await request.service.read(_read_piece, request.pool, piece, key)
            if sent is not None:
                earlier, sent = sent, None
                await _acknowledge(answer, earlier)
            if post is not None:
                sent = piece, await _enqueue(request, post)
        if sent is not None:
            earlier, sent = sent, None
            await _acknowledge(answer, earlier)
        if not answer.started:
            pool = await request.service.read(pools.pool_message, request.pool)
            await answer.write(msgspec.json.encode(StreamLine(0, 0, 0, pool.last_seq)))
    except ClientDisconnect:
        if sent is not None:
            sent[1].cancel()  # It is committed all the same.
        raise
    except Exception as error:  # noqa: BLE001 - answered and logged by `_refuse`
        await _refuse(answer, sent, error)
    await answer.end()


async def _acknowledge(answer: _Answer, sent: _Sent) -> None:
    """Wait until a piece is committed, and answer with its line. Raises : EquipoiseError."""
    piece, future = sent
    try:
        recorded = await future
    except InvalidDataError as error:
        raise _with_lines(error, piece) from None
    if not isinstance(recorded, PostedMessage):
        raise TypeError(f"a piece of a stream was answered with {type(recorded).__name__}")
    line = StreamLine(piece.through, recorded.new, recorded.known, recorded.seq, recorded.unused)
    await answer.write(msgspec.json.encode(line))


async def _refuse(answer: _Answer, sent: _Sent | None, error: Exception) -> None:
    """Answer the last piece, then the error that ended the stream. Raises : the error."""
    if sent is not None:
        try:
            await _acknowledge(answer, sent)
        except EquipoiseError as earlier:
            error = earlier
    if not answer.started:
        raise error
    if not isinstance(error, EquipoiseError):
        log.error("a stream failed", exc_info=error)
        error = InternalError("the service failed; its log says why")
    await answer.write(error_body(error))


async def _enqueue(request: ApiRequest, post: Post) -> asyncio.Future[Recorded]:
    """Send a post to the writer as soon as its queue has room. Raises : OverloadedError."""
    posts = request.service.writer
    waited = 0.0
    while True:
        try:
            return posts.enqueue(request.pool, post)
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
            replace(found, line=numbers[found.line - 1])
            if found.line is not None and 0 < found.line <= len(numbers)
            else found
            for found in error.problems
        ]
    )


class _Answer:
    """The answer to a stream. It starts when its first line is written."""

    def __init__(self, request: ApiRequest) -> None:
        self._send = request.send
        self.started = False

    async def write(self, line: bytes) -> None:
        if not self.started:
            self.started = True
            headers = [(b"content-type", NDJSON.encode()), (b"cache-control", b"no-store")]
            await self._send({"type": "http.response.start", "status": 200, "headers": headers})
        await self._send({"type": "http.response.body", "body": line + b"\n", "more_body": True})

    async def end(self) -> None:
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})


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
