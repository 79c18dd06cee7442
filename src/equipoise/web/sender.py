"""What tells webhooks: a thread with a loop of its own, so that none waits for another."""

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

from sqlalchemy import Connection

from equipoise.store import webhooks
from equipoise.store.connection import Store
from equipoise.store.pools import pool_by_number
from equipoise.store.webhooks import WebhookRecord
from equipoise.web.metrics import Metrics
from equipoise.web.receivers import Outcome, Receiver
from equipoise.workflows.clock import now
from equipoise.workflows.events import Outgoing, forget_delivered, outgoing
from equipoise.workflows.signatures import signed_headers
from equipoise.workflows.webhooks import disable_webhook

log = logging.getLogger(__name__)

T = TypeVar("T")

#: Seconds between two looks at what there is to tell, after a failure of the database, and
#: between two clearings out.
_PAUSE, _LONG_PAUSE, _CLEARING = 0.5, 5.0, 10.0
#: Webhooks that are told at the same time; events read together.
_MOST, _BATCH = 64, 50
#: Threads that ask the database.
_THREADS = 2
#: Seconds after which somebody else may go on with a webhook, as a multiple of one post's.
_LEASES = 3.0
#: Seconds of telling one webhook before others that wait get their turn, and between two notes of
#: how far it is: what was told since the last one is told again where the process is killed.
_TURN, _NOTE = 20.0, 1.0
#: Seconds after a first failure, and at most; each is twice the one before.
_FIRST, _LONGEST = 1.0, 86_400.0
#: The answer of a receiver that wants no more.
_GONE = 410


class Sender:
    """Tells webhooks of the outbox, each in order, at least once.

    A webhook belongs to one process at a time, by a lease in its row. How far it is moves on only
    after the receiver has answered 2xx.

    seconds : that one post may take; private : addresses that are not public are allowed
    first : seconds after a first failure
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
        """End when posts under way are over; what is left is told by whoever comes next."""
        self._stopping.set()
        self.wake()
        if self._thread.is_alive():
            self._thread.join()
        self._database.shutdown()

    def wake(self) -> None:
        """Look at once what there is to tell; any thread may say so."""
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
                log.exception("webhooks cannot be looked up")
                pause = _LONG_PAUSE
            with suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), pause)
        await asyncio.gather(*self._under_way.values())

    async def _round(self) -> None:
        """Begin to tell those webhooks that wait for something, and clear out now and then."""
        under_way = {hook: task for hook, task in self._under_way.items() if not task.done()}
        self._under_way = under_way
        for hook in await self._asked(self._due):
            if hook not in under_way and len(under_way) < _MOST:
                under_way[hook] = asyncio.create_task(self._guarded(hook))
        if time.monotonic() - self._cleared > _CLEARING:
            self._cleared = time.monotonic()
            await self._asked(forget_delivered, self._store)

    def _due(self) -> list[int]:
        with self._store.read() as connection:
            return webhooks.due(connection, now(), 2 * _MOST)

    async def _guarded(self, hook: int) -> None:
        try:
            await self._tell(hook)
        except Exception:
            log.exception("webhook %d could not be told", hook)
            await asyncio.sleep(_LONG_PAUSE)

    async def _tell(self, number: int) -> None:
        """Tell a webhook what it waits for, until its turn is over."""
        claimed = partial(
            webhooks.claim, number=number, owner=self._owner, now=now(), until=self._lease()
        )
        hook = await self._written(claimed)
        if hook is None:
            return
        turn = _Turn(self, hook, Receiver(hook.url, self._seconds, self._private))
        try:
            await turn.take()
        finally:
            turn.receiver.close()
            await turn.end()

    def _lease(self) -> int:
        return now() + int(_LEASES * self._seconds * 1e6)

    async def _asked(self, function: Callable[..., T], *arguments: Any) -> T:
        """Return what a function returns that asks the database."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._database, function, *arguments)

    async def _written(self, function: Callable[[Connection], T]) -> T:
        """Return what a function returns that writes, in a transaction."""

        def in_transaction() -> T:
            with self._store.write() as connection:
                return function(connection)

        return await self._asked(in_transaction)


class _Turn:
    """A webhook while it is told: how far it is, and how far that is written down."""

    def __init__(self, sender: Sender, hook: WebhookRecord, receiver: Receiver) -> None:
        self.receiver = receiver
        self._sender, self._hook = sender, hook
        self._delivered = self._noted_at = hook.delivered
        self._last: int | None = None
        self._noted = time.monotonic()
        self._failed = False

    async def take(self) -> None:
        """Tell what waits, in order, until nothing is left, something fails or the turn is over."""
        sender, hook = self._sender, self._hook
        end = time.monotonic() + _TURN
        while time.monotonic() < end:
            batch = await sender._asked(
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
        """Send an event and return whether to go on."""
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
        """Write down a failure and when to try again, and that what came before has arrived."""
        self._sender._metrics.undelivered.inc()
        failures = 1 if self._last is not None else self._hook.failures + 1
        log.info("webhook %d: %s (%d in a row)", self._hook.id, outcome.failure, failures)
        if outcome.status == _GONE:
            await self._sender._asked(self._disable)
        pause = max(backoff(failures, self._sender._first), min(outcome.after or 0.0, _LONGEST))
        self._failed = True
        await self.note(
            failures=failures, failure=outcome.failure, next_attempt=now() + int(pause * 1e6)
        )

    async def note(self, **columns: Any) -> bool:
        """Write down how far the webhook is; return whether it is still ours."""
        self._noted = time.monotonic()
        if self._delivered != self._noted_at:
            columns["delivered"] = self._noted_at = self._delivered
        if self._last is not None:
            columns["last_delivery"] = self._last
            if not self._failed:
                columns |= {"failures": 0, "failure": None}
        number, owner = self._hook.id, self._sender._owner
        return await self._sender._written(
            lambda connection: webhooks.advance(connection, number, owner, **columns)
        )

    async def end(self) -> None:
        """Write down how far it is, and leave it to whoever comes next."""
        # Those that have waited longest are told first.
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
