"""A client that costs little beside the service it measures: HTTP/1.1 on raw connections.

It says what it is given, byte for byte, on connections that stay open, each with one request under
way, and reads no more of an answer than its status, its length and its content.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import cast

_END = b"\r\n\r\n"


@dataclass(slots=True)
class Load:
    """What came of a run: seconds of every answer in order of arrival, statuses, time in all."""

    latencies: list[float] = field(default_factory=list)
    arrivals: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    bodies: list[bytes] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def rate(self) -> float:
        """Answers a second."""
        return len(self.latencies) / self.seconds

    def quantile(self, share: float) -> float:
        """Return the latency, in milliseconds, that this share of answers kept."""
        ordered = sorted(self.latencies)
        return 1000.0 * ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def request(
    method: str, path: str, key: str, body: bytes | None = None, media: str = "application/json"
) -> bytes:
    """Return a request as it goes over the wire."""
    lines = [f"{method} {path} HTTP/1.1", "Host: x", f"Authorization: Bearer {key}"]
    if body is not None:
        lines += [f"Content-Type: {media}", f"Content-Length: {len(body)}"]
    return "\r\n".join(lines).encode() + _END + (body or b"")


def run_load(
    port: int,
    requests: Iterator[bytes],
    *,
    connections: int = 16,
    seconds: float | None = None,
    keep: bool = False,
) -> Load:
    """Send requests, each as soon as a connection is free, and return what came of them.

    seconds : after which no more are sent; keep : whether to keep the answers' contents
    """
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        return runner.run(_run(port, requests, connections, seconds, keep))


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop
    return uvloop.new_event_loop


async def _run(
    port: int, requests: Iterator[bytes], connections: int, seconds: float | None, keep: bool
) -> Load:
    loop = asyncio.get_running_loop()
    load = Load()
    started = time.perf_counter()
    until = None if seconds is None else started + seconds
    opened: Sequence[_Connection] = [
        _Connection(load, requests, until, keep, loop.create_future()) for _ in range(connections)
    ]
    for one in opened:
        await loop.create_connection(partial(_same, one), "127.0.0.1", port)
    started = time.perf_counter()
    for one in opened:
        one.send_next()
    await asyncio.gather(*(one.finished for one in opened))
    load.seconds = time.perf_counter() - started
    return load


def _same(connection: _Connection) -> _Connection:
    return connection


class _Connection(asyncio.Protocol):
    """A connection that sends a request, waits for its answer, and sends the next."""

    def __init__(
        self,
        load: Load,
        requests: Iterator[bytes],
        until: float | None,
        keep: bool,
        finished: asyncio.Future[None],
    ) -> None:
        self._load = load
        self._requests = requests
        self._until = until
        self._keep = keep
        self.finished = finished
        self._buffer = bytearray()
        self._sent = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def send_next(self) -> None:
        """Send the next request, or close where there is none."""
        now = time.perf_counter()
        following = None
        if self._until is None or now < self._until:
            following = next(self._requests, None)
        if following is None:
            self._transport.close()
            if not self.finished.done():
                self.finished.set_result(None)
            return
        self._sent = now
        self._transport.write(following)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        found = _answer(self._buffer)
        if found is not None:
            status, body = found
            now = time.perf_counter()
            self._buffer.clear()
            self._load.statuses[status] += 1
            self._load.latencies.append(now - self._sent)
            self._load.arrivals.append(now)
            if self._keep:
                self._load.bodies.append(body)
            self.send_next()

    def connection_lost(self, error: Exception | None) -> None:
        if not self.finished.done():
            self.finished.set_exception(
                ConnectionError(f"the service closed a connection: {bytes(self._buffer[:300])!r}")
            )


def _answer(buffer: bytearray) -> tuple[int, bytes] | None:
    """Return status and content of an answer, None while it is not whole."""
    end = buffer.find(_END)
    if end < 0:
        return None
    head = bytes(buffer[:end]).lower()
    status = int(head[9:12])
    start = end + len(_END)
    if b"\r\ntransfer-encoding: chunked" in head:
        if not buffer.endswith(b"0\r\n\r\n"):
            return None
        return status, _joined(bytes(buffer[start:]))
    _, _, rest = head.partition(b"\r\ncontent-length:")
    length = int(rest.partition(b"\r\n")[0] or b"0")
    if len(buffer) < start + length:
        return None
    return status, bytes(buffer[start : start + length])


def _joined(chunks: bytes) -> bytes:
    """Return what the chunks of a chunked answer hold."""
    parts = []
    while chunks:
        size, _, rest = chunks.partition(b"\r\n")
        length = int(size, 16)
        parts.append(rest[:length])
        chunks = rest[length + 2 :]
        if not length:
            break
    return b"".join(parts)
