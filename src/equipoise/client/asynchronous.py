"""`AsyncClient`, whose calls are awaited."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from equipoise.client.call import Call, Failure, Reply, Retries, read_answer
from equipoise.client.calls import Format, What, export, stream_batch
from equipoise.client.endpoints import AsyncSender
from equipoise.client.transport import (
    Download,
    batches,
    failure_of,
    load_httpx,
    reply_of,
    request_of,
    settings,
)
from equipoise.messages.matches import MatchRequest, StreamLine

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")


class AsyncClient(AsyncSender):
    """A client of the service for asyncio; tasks may share it.

    url : address of the service, with the path below which it is served, if any
    key : secret of a key; None reads public pools only
    timeout : seconds without data from the service after which a call fails
    retries : when a call is sent again
    transport : transport of httpx to use instead of the network
    """

    def __init__(
        self,
        url: str,
        key: str | None = None,
        *,
        timeout: float = 30.0,
        retries: Retries | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._httpx = load_httpx()
        self._client = self._httpx.AsyncClient(**settings(url, key, timeout, transport))
        self._timeout = timeout
        self._retries = retries or Retries()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def send(self, call: Call[T]) -> T:
        """Return the answer to a call. Raises : the error that the service answered with."""
        return await self._repeated(call, self._once)

    async def stream_matches(
        self, pool: str, matches: Iterable[MatchRequest], *, batch: int = 5000
    ) -> AsyncIterator[StreamLine]:
        """Post matches as they come. Each line that is yielded confirms all matches up to it.

        Lines are counted over the whole stream, from 1. A batch is sent when the one before it is
        answered. Confirmed matches stay recorded, and posting all again records none twice.
        Raises : InvalidDataError for the first bad lines, with their numbers
        """
        for before, part in batches(matches, batch):
            lines, error = await self.send(stream_batch(pool, part, before))
            for line in lines:
                yield line
            if error is not None:
                raise error

    async def export(
        self, pool: str, path: Path | str, what: What, format: Format, *, raw: bool = False
    ) -> None:
        """Write the log, the ratings or the changes of a pool to a file.

        The file appears when it is complete, never in part.

        raw : whether text that spreadsheets run is left as it is in CSV
        """

        async def fetch(call: Call[Any]) -> Reply | Failure:
            return await self._download(call, Download(path))

        await self._repeated(export(pool, what, format, raw), fetch)

    async def _repeated(
        self, call: Call[T], once: Callable[[Call[T]], Awaitable[Reply | Failure]]
    ) -> T:
        outcome, attempt = await once(call), 1
        while (pause := self._retries.pause(call, attempt, outcome)) is not None:
            await asyncio.sleep(pause)
            outcome, attempt = await once(call), attempt + 1
        return read_answer(call, outcome)

    async def _once(self, call: Call[Any]) -> Reply | Failure:
        try:
            request = request_of(self._client, call, self._timeout)
            return reply_of(await self._client.send(request))
        except self._httpx.RequestError as error:
            return failure_of(error)

    async def _download(self, call: Call[Any], download: Download) -> Reply | Failure:
        try:
            request = request_of(self._client, call, self._timeout)
            response = await self._client.send(request, stream=True)
            try:
                if response.is_success:
                    with download as file:
                        async for piece in response.aiter_bytes():
                            file.write(piece)
                    return Reply(response.status_code, response.headers, b"")
                await response.aread()
                return reply_of(response)
            finally:
                await response.aclose()
        except self._httpx.RequestError as error:
            return failure_of(error)
