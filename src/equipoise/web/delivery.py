"""Delivers the outbox to webhooks, in a thread with an event loop of its own.

Posting to an address outside: HTTP/1.1 with one deadline, no redirects, no private addresses.
"""

from __future__ import annotations

import asyncio
import logging
import os
import random
import re
import socket
import ssl
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from importlib.metadata import version
from typing import Any, TypeVar
from urllib.parse import urlsplit

from sqlalchemy import Connection

from equipoise.analysis.clock import now
from equipoise.pools.events import Outgoing, forget_delivered, outgoing, signed_headers
from equipoise.pools.webhooks import disable_webhook, is_public
from equipoise.store import webhooks
from equipoise.store.connection import Store
from equipoise.store.pools import pool_by_number
from equipoise.store.webhooks import WebhookRecord
from equipoise.web.http.middleware import Metrics

#: Bytes of an answer's head, and of a body that is read so that the connection can be used again.
_HEAD, _BODY = 16_384, 65_536

_STATUS = re.compile(rb"HTTP/1\.([01]) (\d{3})(?: |\r)")

#: The status of an answer that has no body.
_NO_CONTENT = 204

#: Answers that only say that another one follows.
_INTERIM = 5


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of a post.

    status : of the answer, None where there was none; failure : why it did not arrive
    after : seconds that the receiver wants to be left alone
    """

    status: int | None
    failure: str | None
    seconds: float
    after: float | None = None

    @property
    def arrived(self) -> bool:
        """Return whether the receiver has taken it."""
        return self.failure is None


class _RefusedError(Exception):
    """The receiver cannot be posted to, or answers no HTTP."""


#: What may go wrong on the way; a head that is too long is a LimitOverrunError.
_FAILURES = (_RefusedError, OSError, EOFError, ValueError, asyncio.LimitOverrunError)


class Receiver:
    """An address, and the connection to it while that lasts.

    seconds : that one post may take, whatever the receiver does
    private : addresses that are not public may be posted to
    """

    def __init__(self, url: str, seconds: float, private: bool) -> None:
        parts = urlsplit(url)
        self._host = parts.hostname or ""
        self._tls = parts.scheme == "https"
        self._port = parts.port or (443 if self._tls else 80)
        self._target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._named = parts.netloc
        self._seconds, self._private = seconds, private
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def post(self, headers: Mapping[str, str], body: bytes) -> Outcome:
        """Post JSON and return the result; nothing is raised."""
        started = time.monotonic()
        status, after, failure = None, None, None
        try:
            async with asyncio.timeout(self._seconds):
                status, after = await self._exchanged(headers, body)
            if not 200 <= status < 300:
                failure = f"the answer was {status}"
        except TimeoutError:
            failure = f"no answer within {self._seconds:g} s"
        except _FAILURES as error:
            failure = (str(error) or type(error).__name__)[:200]
        if failure is not None:
            self.close()
        return Outcome(status, failure, time.monotonic() - started, after)

    def close(self) -> None:
        """Close the connection."""
        if self._writer is not None:
            self._writer.transport.abort()
        self._reader = self._writer = None

    async def _exchanged(self, headers: Mapping[str, str], body: bytes) -> tuple[int, float | None]:
        """Return status and Retry-After of the answer; a connection that was kept may be gone."""
        sent = self._request(headers, body)
        if self._reader is not None and self._writer is not None:
            try:
                return await self._asked(self._reader, self._writer, sent)
            except (ConnectionError, EOFError):
                self.close()
        self._reader, self._writer = await self._connected()
        return await self._asked(self._reader, self._writer, sent)

    def _request(self, headers: Mapping[str, str], body: bytes) -> bytes:
        lines = {
            "Host": self._named,
            "User-Agent": f"equipoise/{version('equipoise')}",
            "Content-Type": "application/json",
            "Content-Length": str(len(body)),
            **headers,
        }
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        return f"POST {self._target} HTTP/1.1\r\n{head}\r\n".encode("ascii") + body

    async def _asked(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, sent: bytes
    ) -> tuple[int, float | None]:
        writer.write(sent)
        await writer.drain()
        _acknowledge_at_once(writer)
        for _ in range(_INTERIM):
            status, again, headers = _read_head(await reader.readuntil(b"\r\n\r\n"))
            if status >= 200:
                break
        else:
            raise _RefusedError("the answer does not end")
        length = "0" if status == _NO_CONTENT else headers.get("content-length", "")
        keeps = again and length.isdecimal() and int(length[:10]) <= _BODY
        if keeps:
            await reader.readexactly(int(length))
        else:
            self.close()
        return status, _seconds_of(headers.get("retry-after", ""))

    async def _connected(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Return a connection to the address that was checked, not to what its name is next."""
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(self._host, self._port, type=socket.SOCK_STREAM)
        addresses = list(dict.fromkeys(str(one[4][0]) for one in found))
        if not self._private and not all(is_public(address) for address in addresses):
            raise _RefusedError("the address is not public")
        failed: OSError = ConnectionError("the host name has no address")
        for address in addresses:
            try:
                return await asyncio.open_connection(
                    address,
                    self._port,
                    limit=_HEAD,
                    ssl=_tls() if self._tls else None,
                    server_hostname=self._host if self._tls else None,
                )
            except OSError as error:
                failed = error
        raise failed


@cache
def _tls() -> ssl.SSLContext:
    return ssl.create_default_context()


def _acknowledge_at_once(writer: asyncio.StreamWriter) -> None:
    """Let the system confirm what comes next without delay, where it can.

    Receivers that send the head of an answer before its body may wait for that, 40 ms a message.
    """
    name = getattr(socket, "TCP_QUICKACK", None)
    if name is not None:
        with suppress(OSError):
            writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, name, 1)


def _read_head(head: bytes) -> tuple[int, bool, dict[str, str]]:
    """Return status, whether the connection goes on, and headers by name in small letters."""
    found = _STATUS.match(head)
    if found is None:
        raise _RefusedError("the answer is not HTTP/1.1")
    lines = head.decode("latin-1").split("\r\n")[1:]
    pairs = (line.partition(":") for line in lines if ":" in line)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    goes_on = found[1] == b"1" and headers.get("connection", "").lower() != "close"
    # A body in chunks is not read, so nothing can follow it.
    return int(found[2]), goes_on and "transfer-encoding" not in headers, headers


def _seconds_of(text: str) -> float | None:
    """Return the seconds that a Retry-After names; dates are left alone."""
    return float(text) if text.isascii() and text.isdecimal() and len(text) < 8 else None


log = logging.getLogger(__name__)

T = TypeVar("T")

#: Seconds between two looks at the outbox, after a failure of the database, and between two
#: deletions of delivered events.
_PAUSE, _LONG_PAUSE, _CLEARING = 0.5, 5.0, 10.0
#: Webhooks delivered to at the same time; events read together.
_MOST, _BATCH = 64, 50
#: Threads that ask the database.
_THREADS = 2
#: Length of the lease of a webhook, as a multiple of the time that one post may take.
_LEASES = 3.0
#: Seconds for one webhook before others that wait have their turn, and between two records of its
#: progress: after a crash, events since the last record are sent again.
_TURN, _NOTE = 20.0, 1.0
#: Seconds after a first failure, and at most; each is twice the one before.
_FIRST, _LONGEST = 1.0, 86_400.0
#: Status of a receiver that wants no more events.
_GONE = 410


class OutboxSender:
    """Delivers the outbox: to each webhook its events in order, at least once.

    One process at a time delivers to a webhook; it holds a lease in its row. The progress of a
    webhook moves on only after the receiver has answered 2xx.

    seconds : that one post may take; private : whether addresses that are not public are allowed
    first : seconds to wait after a first failure
    """

    def __init__(
        self,
        store: Store,
        metrics: Metrics,
        *,
        seconds: float,
        private: bool,
        first: float = _FIRST,
    ) -> None:
        self._store, self._metrics = store, metrics
        self._seconds, self._private, self._first = seconds, private, first
        self._owner = f"{os.getpid()}-{uuid.uuid4().hex[:12]}"
        self._stopping = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._wake: asyncio.Event | None = None
        self._under_way: dict[int, asyncio.Task[None]] = {}
        self._cleared = 0.0
        self._database = ThreadPoolExecutor(_THREADS, thread_name_prefix="equipoise-outbox")
        self._thread = threading.Thread(target=self._run, name="equipoise-sender")

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End when the posts under way are over; the next process delivers the rest."""
        self._stopping.set()
        self.wake()
        if self._thread.is_alive():
            self._thread.join()
        self._database.shutdown()

    def wake(self) -> None:
        """Look at the outbox at once; from any thread."""
        loop, wake = self._loop, self._wake
        if loop is not None and wake is not None:
            with suppress(RuntimeError):  # it has ended
                loop.call_soon_threadsafe(wake.set)

    def _run(self) -> None:
        asyncio.run(self._main())

    async def _main(self) -> None:
        self._loop, self._wake = asyncio.get_running_loop(), asyncio.Event()
        pause = _PAUSE
        while not self._stopping.is_set():
            self._wake.clear()
            try:
                await self._round()
                pause = _PAUSE
            except Exception:
                log.exception("the outbox cannot be read")
                pause = _LONG_PAUSE
            with suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), pause)
        await asyncio.gather(*self._under_way.values())

    async def _round(self) -> None:
        """Start deliveries to webhooks with events, and delete delivered events now and then."""
        under_way = {hook: task for hook, task in self._under_way.items() if not task.done()}
        self._under_way = under_way
        for hook in await self._in_database(self._due):
            if hook not in under_way and len(under_way) < _MOST:
                under_way[hook] = asyncio.create_task(self._guarded(hook))
        if time.monotonic() - self._cleared > _CLEARING:
            self._cleared = time.monotonic()
            await self._in_database(forget_delivered, self._store)

    def _due(self) -> list[int]:
        with self._store.read() as connection:
            return webhooks.due(connection, now(), 2 * _MOST)

    async def _guarded(self, hook: int) -> None:
        try:
            await self._deliver(hook)
        except Exception:
            log.exception("delivery to webhook %d failed", hook)
            await asyncio.sleep(_LONG_PAUSE)

    async def _deliver(self, number: int) -> None:
        """Deliver to a webhook the events that wait, for the time of its turn."""
        claimed = partial(
            webhooks.claim, number=number, owner=self._owner, now=now(), until=self._lease()
        )
        hook = await self._in_transaction(claimed)
        if hook is None:
            return
        delivery = _Delivery(self, hook, Receiver(hook.url, self._seconds, self._private))
        try:
            await delivery.run()
        finally:
            delivery.receiver.close()
            await delivery.end()

    def _lease(self) -> int:
        return now() + int(_LEASES * self._seconds * 1e6)

    async def _in_database(self, function: Callable[..., T], *arguments: Any) -> T:
        """Return what a function returns that uses the database, in a thread."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._database, function, *arguments)

    async def _in_transaction(self, function: Callable[[Connection], T]) -> T:
        """Return what a function returns that writes, in one transaction."""

        def transaction() -> T:
            with self._store.write() as connection:
                return function(connection)

        return await self._in_database(transaction)


class _Delivery:
    """A delivery to one webhook: its progress, and how much of it is recorded."""

    def __init__(self, sender: OutboxSender, hook: WebhookRecord, receiver: Receiver) -> None:
        self.receiver = receiver
        self._sender, self._hook = sender, hook
        self._delivered = self._noted_at = hook.delivered
        self._last: int | None = None
        self._noted = time.monotonic()
        self._failed = False

    async def run(self) -> None:
        """Send events in order until none is left, one fails or the time is over."""
        sender, hook = self._sender, self._hook
        end = time.monotonic() + _TURN
        while time.monotonic() < end:
            batch = await sender._in_database(
                outgoing, sender._store, hook.pool, self._delivered, hook.events, _BATCH, now()
            )
            if not batch:
                return
            for event in batch:
                if sender._stopping.is_set() or not await self._sent(event):
                    return
                if time.monotonic() - self._noted > _NOTE and not await self.note(
                    lease_until=sender._lease()
                ):
                    return

    async def _sent(self, event: Outgoing) -> bool:
        """Send an event; return whether to continue."""
        if event.body is not None:
            headers = signed_headers(self._hook.secret, event.message, now() // 10**6, event.body)
            outcome = await self.receiver.post(headers, event.body)
            if not outcome.arrived:
                await self._fail(outcome)
                return False
            self._sender._metrics.delivered.inc()
            self._last = now()
        self._delivered = event.number
        return True

    async def _fail(self, outcome: Outcome) -> None:
        """Record a failure, the time of the next attempt, and the progress before it."""
        self._sender._metrics.undelivered.inc()
        failures = 1 if self._last is not None else self._hook.failures + 1
        log.info("webhook %d: %s (%d in a row)", self._hook.id, outcome.failure, failures)
        if outcome.status == _GONE:
            await self._sender._in_database(self._disable)
        pause = max(backoff(failures, self._sender._first), min(outcome.after or 0.0, _LONGEST))
        self._failed = True
        await self.note(
            failures=failures, failure=outcome.failure, next_attempt=now() + int(pause * 1e6)
        )

    async def note(self, **columns: Any) -> bool:
        """Record the progress of the webhook; return whether the lease is still ours."""
        self._noted = time.monotonic()
        if self._delivered != self._noted_at:
            columns["delivered"] = self._noted_at = self._delivered
        if self._last is not None:
            columns["last_delivery"] = self._last
            if not self._failed:
                columns |= {"failures": 0, "failure": None}
        number, owner = self._hook.id, self._sender._owner
        return await self._sender._in_transaction(
            lambda connection: webhooks.advance(connection, number, owner, **columns)
        )

    async def end(self) -> None:
        """Record the progress and give up the lease."""
        # Webhooks that have waited longest come first.
        waiting = {} if self._failed else {"next_attempt": now()}
        await self.note(lease_owner=None, lease_until=0, **waiting)

    def _disable(self) -> None:
        store = self._sender._store
        with store.read() as connection:
            pool = pool_by_number(connection, self._hook.pool)
        if pool is not None:
            reason = "the receiver has answered 410 Gone"
            disable_webhook(store, pool.name, self._hook.id, key=None, now=now(), reason=reason)


def backoff(failures: int, first: float = _FIRST) -> float:
    """Return seconds until the next attempt: longer each time, and not the same for all."""
    longest = min(first * 2.0 ** min(failures - 1, 30), _LONGEST)
    return longest * random.uniform(0.5, 1.0)
