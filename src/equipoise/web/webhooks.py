"""Webhooks: sent to their receivers, and tried again.

One deadline covers the complete post, and one limit covers all bytes that are read of its answer.
The name of the receiver is resolved once for each connection, and the connection goes to a checked
address. The certificate must be valid for the name, and the header Host contains it. Redirects are
not followed, proxies and cookies are not used, and addresses that are not public are rejected
unless the settings allow them.

The outbox is delivered in a thread with an event loop of its own.
"""

from __future__ import annotations

import asyncio
import logging
import os
import random
import socket
import ssl
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from importlib.metadata import version
from typing import Any, TypeVar

import httpcore
import httpx
import msgspec
from sqlalchemy import Connection

from equipoise.messages.upkeep import EventMessage, WebhookTestMessage
from equipoise.pools.pool.rules import iso
from equipoise.pools.webhooks import (
    Outgoing,
    disable_far_behind,
    disable_webhook,
    forget_delivered,
    is_public,
    outgoing,
    signed_headers,
)
from equipoise.store import webhooks
from equipoise.store.connection import Store
from equipoise.store.pools import pool_by_number
from equipoise.store.schema import now
from equipoise.store.webhooks import WebhookRecord
from equipoise.web.monitoring import Metrics
from equipoise.web.settings import ServiceSettings

#: Maximum bytes of the head of an answer with the interim answers before it, and of a body that is
#: read to reuse the connection.
_HEAD, _BODY = 16_384, 65_536


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of a post.

    status : of the answer, None if there was none; failure : why it did not arrive
    after : seconds until the next attempt, if the receiver sent Retry-After
    """

    status: int | None
    failure: str | None
    seconds: float
    after: float | None = None

    @property
    def arrived(self) -> bool:
        """Return whether the receiver accepted the post."""
        return self.failure is None


class _RefusedError(Exception):
    """The address is refused, or the answer is too long."""


#: Errors of a post. The last two come from an address that no host can have.
_FAILURES = (
    _RefusedError,
    OSError,
    httpcore.NetworkError,
    httpcore.ProtocolError,
    httpx.InvalidURL,
    UnicodeError,
)


class Receiver:
    """An address, and the connection to it if it is still open.

    seconds : time limit of one post
    private : whether addresses that are not public are allowed
    """

    def __init__(self, url: str, seconds: float, private: bool) -> None:
        self._url, self._seconds = url, seconds
        self._network = _CheckedNetwork(private)
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=_tls(), max_connections=1, network_backend=self._network
        )

    async def post(self, headers: Mapping[str, str], body: bytes) -> Outcome:
        """Post JSON and return the result. Nothing is raised."""
        started = time.monotonic()
        deadline = asyncio.get_running_loop().time() + self._seconds
        status, after, failure = None, None, None
        try:
            async with asyncio.timeout_at(deadline):
                response = await self._answered(headers, body)
            status, after = response.status, _seconds_until_next(response)
            if not 200 <= status < 300:
                failure = f"the answer was {status}"
            await self._finish(response, deadline)
        except TimeoutError:
            failure = f"no answer within {self._seconds:g} s"
        except _FAILURES as error:
            failure = (str(error) or type(error).__name__)[:200]
        return Outcome(status, failure, time.monotonic() - started, after)

    async def close(self) -> None:
        """Close the connection."""
        await self._pool.aclose()

    async def _answered(self, headers: Mapping[str, str], body: bytes) -> httpcore.Response:
        """Return the answer, its body unread. The open connection may have been closed."""
        connected = self._network.connections
        try:
            return await self._sent(headers, body)
        except (httpcore.NetworkError, httpcore.RemoteProtocolError):
            if not connected or self._network.connections > connected:
                raise  # It was a new connection.
        return await self._sent(headers, body)

    async def _sent(self, headers: Mapping[str, str], body: bytes) -> httpcore.Response:
        self._network.left = _HEAD
        # It also knows names in other scripts.
        url = httpx.URL(self._url)
        target = httpcore.URL(
            scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
        )
        sent: list[tuple[bytes | str, bytes | str]] = [
            ("Host", url.netloc),
            ("User-Agent", _agent()),
            ("Content-Type", "application/json"),
            ("Content-Length", str(len(body))),
            *headers.items(),
        ]
        return await self._pool.handle_async_request(
            httpcore.Request("POST", target, headers=sent, content=body)
        )

    async def _finish(self, response: httpcore.Response, deadline: float) -> None:
        """Read a short body, so that the connection can be used again, or close the connection."""
        self._network.left = _BODY
        # The status has decided already.
        with suppress(TimeoutError, *_FAILURES):
            async with asyncio.timeout_at(deadline):
                async for _ in response.aiter_stream():
                    pass
        await response.aclose()


class _CheckedNetwork(httpcore.AsyncNetworkBackend):
    """Connects to addresses that were checked, whatever their name means later.

    private : whether addresses that are not public are allowed
    connections : number of connections made
    left : bytes that may still be read of the answer
    """

    def __init__(self, private: bool) -> None:
        self._private = private
        self._network = httpcore.AnyIOBackend()
        self.connections = 0
        self.left = 0

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Return a connection to one of the addresses of a name. Raises : _RefusedError."""
        loop = asyncio.get_running_loop()
        addresses_found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        addresses = list(dict.fromkeys(str(info[4][0]) for info in addresses_found))
        if not self._private and not all(is_public(address) for address in addresses):
            raise _RefusedError("the address is not public")
        failed: Exception = httpcore.ConnectError("the host name has no address")
        for address in addresses:
            try:
                stream = await self._network.connect_tcp(address, port, timeout)
            except httpcore.ConnectError as error:
                failed = httpcore.ConnectError(_reason(error))
            else:
                self.connections += 1
                return _BoundedStream(stream, self)
        raise failed


class _BoundedStream(httpcore.AsyncNetworkStream):
    """A connection of which no more is read than its network allows."""

    def __init__(self, stream: httpcore.AsyncNetworkStream, network: _CheckedNetwork) -> None:
        self._stream, self._network = stream, network

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Return what has arrived. Raises : _RefusedError if it is too much."""
        if self._network.left <= 0:
            raise _RefusedError("the answer is too long")
        content = await self._stream.read(min(max_bytes, self._network.left), timeout)
        self._network.left -= len(content)
        return content

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send bytes."""
        await self._stream.write(buffer, timeout)
        _acknowledge_at_once(self._stream)

    async def aclose(self) -> None:
        """Close the connection."""
        await self._stream.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Return the connection with TLS, with its bound on what is read after the handshake."""
        secured = await self._stream.start_tls(ssl_context, server_hostname, timeout)
        return _BoundedStream(secured, self._network)

    def get_extra_info(self, info: str) -> Any:
        """Return what the connection knows about itself."""
        return self._stream.get_extra_info(info)


def _reason(error: BaseException) -> str:
    """Return the first cause of an error in words."""
    while error.__cause__ is not None:
        error = error.__cause__
    return str(error)


@cache
def _agent() -> str:
    return f"equipoise/{version('equipoise')}"


@cache
def _tls() -> ssl.SSLContext:
    return ssl.create_default_context()


def _acknowledge_at_once(stream: httpcore.AsyncNetworkStream) -> None:
    """Switch off delayed acknowledgements of TCP, if the system allows that.

    A receiver that sends the head of an answer before the body may wait for one, 40 ms a message.
    """
    name = getattr(socket, "TCP_QUICKACK", None)
    connection = stream.get_extra_info("socket")
    if name is not None and connection is not None:
        with suppress(OSError):
            connection.setsockopt(socket.IPPROTO_TCP, name, 1)


def _seconds_until_next(response: httpcore.Response) -> float | None:
    """Return the seconds in Retry-After, None without it and for a date."""
    values = (value for name, value in response.headers if name.lower() == b"retry-after")
    text = next(values, b"").decode("latin-1")
    return float(text) if text.isascii() and text.isdecimal() and len(text) < 8 else None


log = logging.getLogger(__name__)

T = TypeVar("T")

#: Seconds between two reads of the outbox, after a failure of the database, and between two
#: deletions of events that no webhook waits for.
_PAUSE, _LONG_PAUSE, _CLEARING = 0.5, 5.0, 10.0
#: Webhooks with a delivery at the same time; events read together.
_MOST, _BATCH = 64, 50
#: Threads that use the database.
_THREADS = 2
#: Length of the lease of a webhook, as a multiple of the time limit of a post.
_LEASES = 3.0
#: Maximum seconds of one delivery while other webhooks wait, and seconds between two records of its
#: progress. After a crash, events since the last record are sent again.
_DELIVERY, _RECORD = 20.0, 1.0
#: Seconds until the next attempt after a first failure, and at most; the pause doubles each time.
_FIRST, _LONGEST = 1.0, 86_400.0
#: Microseconds of a day.
_DAY = 86_400_000_000
#: Status of a receiver that wants no more events.
_GONE = 410


class OutboxSender:
    """Delivers the outbox: the events of each webhook in order, at least once.

    One process at a time delivers to a webhook: the one with the lease in the webhook's row. An
    event counts as delivered only after the receiver has answered 2xx.

    first : seconds to wait after a first failure
    """

    def __init__(
        self, store: Store, settings: ServiceSettings, metrics: Metrics, first: float = _FIRST
    ) -> None:
        self._store, self._settings, self._metrics, self._first = store, settings, metrics, first
        self._owner = f"{os.getpid()}-{uuid.uuid4().hex[:12]}"
        self._stopping = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._wake: asyncio.Event | None = None
        self._under_way: dict[int, asyncio.Task[None]] = {}
        self._cleared = 0.0
        self._database = ThreadPoolExecutor(_THREADS, thread_name_prefix="equipoise-outbox")
        self._thread = threading.Thread(target=self._run, name="equipoise-sender")

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop after the current posts. The next process delivers the rest."""
        self._stopping.set()
        self.wake()
        if self._thread.is_alive():
            self._thread.join()
        self._database.shutdown()

    def wake(self) -> None:
        """Read the outbox at once. May be called from any thread."""
        loop, wake = self._loop, self._wake
        if loop is not None and wake is not None:
            with suppress(RuntimeError):  # The loop has ended.
                loop.call_soon_threadsafe(wake.set)

    def _run(self) -> None:
        asyncio.run(self._main())

    async def _main(self) -> None:
        self._loop, self._wake = asyncio.get_running_loop(), asyncio.Event()
        # Names are resolved in these threads. With fewer, slow names would delay other webhooks.
        self._loop.set_default_executor(ThreadPoolExecutor(_MOST, "equipoise-names"))
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
        """Start deliveries to webhooks with events, and sometimes delete delivered events."""
        under_way = {hook: task for hook, task in self._under_way.items() if not task.done()}
        self._under_way = under_way
        for hook in await self._in_database(self._due):
            if hook not in under_way and len(under_way) < _MOST:
                under_way[hook] = asyncio.create_task(self._guarded(hook))
        if time.monotonic() - self._cleared > _CLEARING:
            self._cleared = time.monotonic()
            await self._in_database(
                disable_far_behind, self._store, self._settings.webhook_waiting, now()
            )
            await self._in_database(forget_delivered, self._store)

    def _due(self) -> list[int]:
        if self._store.outdated is not None:
            return []  # what is sent could not be noted; the later version sends it
        with self._store.read() as connection:
            return webhooks.due(connection, now(), 2 * _MOST)

    async def _guarded(self, hook: int) -> None:
        try:
            await self._deliver(hook)
        except Exception:
            log.exception("delivery to webhook %d failed", hook)
            await asyncio.sleep(_LONG_PAUSE)

    async def _deliver(self, number: int) -> None:
        """Deliver the waiting events of a webhook, for a limited time."""
        claimed = partial(
            webhooks.claim, number=number, owner=self._owner, now=now(), until=self._lease()
        )
        hook = await self._in_transaction(claimed)
        if hook is None:
            return
        settings = self._settings
        receiver = Receiver(hook.url, settings.webhook_seconds, settings.private_webhooks)
        delivery = _Delivery(self, hook, receiver)
        try:
            await delivery.run()
        finally:
            await delivery.receiver.close()
            await delivery.end()

    def _lease(self) -> int:
        return now() + int(_LEASES * self._settings.webhook_seconds * 1e6)

    async def _in_database(self, function: Callable[..., T], *arguments: Any) -> T:
        """Run a function that uses the database in a thread."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._database, function, *arguments)

    async def _in_transaction(self, function: Callable[[Connection], T]) -> T:
        """Run a function that writes in one transaction."""

        def transaction() -> T:
            with self._store.write() as connection:
                return function(connection)

        return await self._in_database(transaction)


class _Delivery:
    """A delivery to one webhook: its progress, and the part of it that is recorded."""

    def __init__(self, sender: OutboxSender, hook: WebhookRecord, receiver: Receiver) -> None:
        self.receiver = receiver
        self._sender, self._hook = sender, hook
        self._delivered = self._recorded = hook.delivered
        self._last: int | None = None
        self._recorded_at = time.monotonic()
        self._failed = False

    async def run(self) -> None:
        """Send events in order until none is left, one fails, or the time is over."""
        sender, hook = self._sender, self._hook
        end = time.monotonic() + _DELIVERY
        while time.monotonic() < end:
            batch = await sender._in_database(
                outgoing, sender._store, hook.pool, self._delivered, hook.events, _BATCH
            )
            if not batch:
                return
            for event in batch:
                if sender._stopping.is_set() or not await self._sent(event):
                    return
                if time.monotonic() - self._recorded_at > _RECORD and not await self.record(
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
        sender, at = self._sender, now()
        since = self._hook.failing_since if failures > 1 else None
        since = at if since is None else since
        pause = max(backoff(failures, sender._first), min(outcome.after or 0.0, _LONGEST))
        self._failed = True
        holds = await self.record(
            failures=failures,
            failing_since=since,
            failure=outcome.failure,
            next_attempt=at + int(pause * 1e6),
        )
        if not holds:
            return  # Another process delivers to it, or it was disabled or deleted.
        if outcome.status == _GONE:
            await sender._in_database(self._disable, "the receiver has answered 410 Gone")
        elif at - since >= (days := sender._settings.webhook_days) * _DAY:
            reason = f"no delivery in {days:g} days; the last failure: {outcome.failure}"
            await sender._in_database(self._disable, reason)

    async def record(self, **columns: Any) -> bool:
        """Record the progress of the webhook; return whether the lease is still ours."""
        self._recorded_at = time.monotonic()
        if self._delivered != self._recorded:
            columns["delivered"] = self._recorded = self._delivered
        if self._last is not None:
            columns["last_delivery"] = self._last
            if not self._failed:
                columns |= {"failures": 0, "failing_since": None, "failure": None}
        number, owner = self._hook.id, self._sender._owner
        return await self._sender._in_transaction(
            lambda connection: webhooks.advance(connection, number, owner, **columns)
        )

    async def end(self) -> None:
        """Record the progress and release the lease."""
        # Webhooks that have waited longest come first.
        waiting = {} if self._failed else {"next_attempt": now()}
        await self.record(lease_owner=None, lease_until=0, **waiting)

    def _disable(self, reason: str) -> None:
        store = self._sender._store
        log.warning("webhook %d is disabled: %s", self._hook.id, reason)
        with store.read() as connection:
            pool = pool_by_number(connection, self._hook.pool)
        if pool is not None:
            disable_webhook(store, pool.name, self._hook.id, key=None, now=now(), reason=reason)


#: Of its own, so that nothing else draws other numbers because a delivery failed.
_CHANCE = random.Random()


def backoff(failures: int, first: float = _FIRST) -> float:
    """Return the seconds until the next attempt, which grow with each failure and are random."""
    longest = min(first * 2.0 ** min(failures - 1, 30), _LONGEST)
    return longest * _CHANCE.uniform(0.5, 1.0)


async def send_test(
    hook: WebhookRecord, pool: str, *, seconds: float, private: bool
) -> WebhookTestMessage:
    """Send a webhook a test message and return the result.

    seconds : time limit of the post; private : whether addresses that are not public are allowed
    """
    at = now()
    event = EventMessage("webhook.test", iso(at), pool, {"webhook": hook.id})
    body = msgspec.json.encode(event)
    headers = signed_headers(hook.secret, f"msg_test_{uuid.uuid4().hex}", at // 10**6, body)
    receiver = Receiver(hook.url, seconds, private)
    try:
        outcome = await receiver.post(headers, body)
    finally:
        await receiver.close()
    return WebhookTestMessage(outcome.arrived, outcome.status, outcome.failure, outcome.seconds)
