"""Delivery of events to webhooks: the outbox, and test messages.

The outbox is delivered in a thread with an event loop of its own.
"""

from __future__ import annotations

import asyncio
import logging
import os
import random
import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

import msgspec
from sqlalchemy import Connection

from equipoise.analysis.clock import now
from equipoise.messages.webhooks import EventMessage, WebhookTestMessage
from equipoise.pools.events import Outgoing, forget_delivered, outgoing, signed_headers
from equipoise.pools.pool.rules import iso
from equipoise.pools.webhooks import disable_far_behind, disable_webhook
from equipoise.store import webhooks
from equipoise.store.connection import Store
from equipoise.store.pools import pool_by_number
from equipoise.store.webhooks import WebhookRecord
from equipoise.web.monitoring import Metrics
from equipoise.web.webhooks.receiver import Outcome, Receiver

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

    seconds : time limit of a post; private : whether addresses that are not public are allowed
    days : after which a webhook without a successful delivery is disabled
    waiting : events that may wait for a webhook before it is disabled
    first : seconds to wait after a first failure
    """

    def __init__(
        self,
        store: Store,
        metrics: Metrics,
        *,
        seconds: float,
        private: bool,
        days: float = 7.0,
        waiting: int = 1_000_000,
        first: float = _FIRST,
    ) -> None:
        self._store, self._metrics = store, metrics
        self._days, self._waiting = days, waiting
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
            await self._in_database(disable_far_behind, self._store, self._waiting, now())
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
        delivery = _Delivery(self, hook, Receiver(hook.url, self._seconds, self._private))
        try:
            await delivery.run()
        finally:
            await delivery.receiver.close()
            await delivery.end()

    def _lease(self) -> int:
        return now() + int(_LEASES * self._seconds * 1e6)

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
                outgoing, sender._store, hook.pool, self._delivered, hook.events, _BATCH, now()
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
        elif at - since >= sender._days * _DAY:
            reason = f"no delivery in {sender._days:g} days; the last failure: {outcome.failure}"
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
