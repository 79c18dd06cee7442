"""`Client`, whose calls wait for their answers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from equipoise.client.call import Call, Failure, Reply, Retries, read_answer
from equipoise.client.calls import Format, What, export, stream_batch
from equipoise.client.endpoints import Sender
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


class Client(Sender):
    """A client of the service; threads may share it.

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
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._httpx = load_httpx()
        self._client = self._httpx.Client(**settings(url, key, timeout, transport))
        self._timeout = timeout
        self._retries = retries or Retries()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def send(self, call: Call[T]) -> T:
        """Return the answer to a call. Raises : the error that the service answered with."""
        return self._repeated(call, self._once)

    def stream_matches(
        self, pool: str, matches: Iterable[MatchRequest], *, batch: int = 5000
    ) -> Iterator[StreamLine]:
        """Post matches as they come. Each line that is yielded confirms all matches up to it.

        Lines are counted over the whole stream, from 1. A batch is sent when the one before it is
        answered. Confirmed matches stay recorded, and posting all again records none twice.
        Raises : InvalidDataError for the first bad lines, with their numbers
        """
        for before, part in batches(matches, batch):
            lines, error = self.send(stream_batch(pool, part, before))
            yield from lines
            if error is not None:
                raise error

    def export(
        self, pool: str, path: Path | str, what: What, format: Format, *, raw: bool = False
    ) -> None:
        """Write the log, the ratings or the changes of a pool to a file.

        The file appears when it is complete, never in part.

        raw : whether text that spreadsheets run is left as it is in CSV
        """

        def fetch(call: Call[Any]) -> Reply | Failure:
            return self._download(call, Download(path))

        self._repeated(export(pool, what, format, raw), fetch)

    def _repeated(self, call: Call[T], once: Callable[[Call[T]], Reply | Failure]) -> T:
        outcome, attempt = once(call), 1
        while (pause := self._retries.pause(call, attempt, outcome)) is not None:
            time.sleep(pause)
            outcome, attempt = once(call), attempt + 1
        return read_answer(call, outcome)

    def _once(self, call: Call[Any]) -> Reply | Failure:
        try:
            return reply_of(self._client.send(request_of(self._client, call, self._timeout)))
        except self._httpx.RequestError as error:
            return failure_of(error)

    def _download(self, call: Call[Any], download: Download) -> Reply | Failure:
        try:
            request = request_of(self._client, call, self._timeout)
            response = self._client.send(request, stream=True)
            try:
                if response.is_success:
                    with download as file:
                        for piece in response.iter_bytes():
                            file.write(piece)
                    return Reply(response.status_code, response.headers, b"")
                response.read()
                return reply_of(response)
            finally:
                response.close()
        except self._httpx.RequestError as error:
            return failure_of(error)
