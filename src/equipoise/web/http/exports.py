"""Exports: who may have one, and how it is sent to readers of any speed.

A reader that is too slow is cut off. An export has credit: seconds that the service may wait for
its reader. Each byte sent adds to it what the byte takes at the minimum rate, and each second of
waiting takes from it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from typing import TypeAlias

from starlette.requests import ClientDisconnect
from starlette.types import Message

from equipoise.web.executor import BoundedExecutor
from equipoise.web.http.endpoints import ApiRequest
from equipoise.web.http.errors import OverloadedError, TooManyRequestsError
from equipoise.web.http.rates import caller_of
from equipoise.web.monitoring import FIELDS
from equipoise.web.settings import ServiceSettings

log = logging.getLogger(__name__)

#: Threads that read the database for exports.
_THREADS = 2
#: Seconds until a refused export may be tried again.
_PAUSE = 5.0
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

    def __init__(self, settings: ServiceSettings) -> None:
        self._most, self._most_of_caller = settings.exports, settings.exports_per_key
        self._most_without_key = max(1, settings.exports // 2)
        self._under_way: Counter[Caller] = Counter()
        self._executor = BoundedExecutor("exports", _THREADS, settings.exports)

    @contextmanager
    def admitted(self, caller: Caller) -> Iterator[BoundedExecutor]:
        """Give the threads to one more export of a caller.

        Raises : TooManyRequestsError, OverloadedError if too many are under way
        """
        if self._under_way[caller] >= self._most_of_caller:
            raise TooManyRequestsError(
                f"At most {self._most_of_caller} exports of one key, or of one address without a "
                "key, at a time; try again when one has ended",
                _PAUSE,
            )
        if isinstance(caller, str) and self._without_key() >= self._most_without_key:
            raise OverloadedError(
                "too many exports without a key are running; try again later, or use a key", _PAUSE
            )
        if self._under_way.total() >= self._most:
            raise OverloadedError("too many exports are running; try again later", _PAUSE)
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
    if request.key is not None:
        return request.key.id
    client = request.scope.get("client")
    return caller_of(str(client[0])) if client else ""


async def send_pieces(
    request: ApiRequest, executor: BoundedExecutor, pieces: Iterator[bytes], start: Message
) -> None:
    """Send the pieces of a file as they are made; empty ones are not sent.

    start : the message before the first piece. An error before it is answered as an error
    Raises : ClientDisconnect if the reader is gone or too slow; the file is then cut short
    """
    gone = asyncio.ensure_future(_gone(request))
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


async def _gone(request: ApiRequest) -> None:
    """Return when the client has closed the connection."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


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
                        "pool": self._request.pool,
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
