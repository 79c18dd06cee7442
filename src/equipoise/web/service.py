"""A running service: its settings, store, threads and metrics."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Concatenate, ParamSpec, TypeVar

from equipoise.messages.webhooks import WebhookTestMessage
from equipoise.pools.webhooks import find_webhook
from equipoise.store.connection import Store, open_store
from equipoise.web.background import Background
from equipoise.web.delivery import OutboxSender, send_test
from equipoise.web.executor import BoundedExecutor
from equipoise.web.http.access import Access
from equipoise.web.http.errors import OverloadedError
from equipoise.web.monitoring import Metrics
from equipoise.web.settings import ServiceSettings
from equipoise.web.writer import Writer

P = ParamSpec("P")
T = TypeVar("T")

#: Reads that may wait for a thread.
_WAITING_READS = 2_000
#: Explanations that may wait for their thread.
_WAITING_EXPLANATIONS = 15
#: Exports that run at the same time.
_EXPORTS = 2


class Service:
    """What all endpoints and pages share. The application creates, opens and closes it."""

    def __init__(self, settings: ServiceSettings) -> None:
        self.settings = settings
        # The OpenAPI document as JSON.
        self.description = b"{}"
        self.metrics = Metrics()
        self.store: Store
        self.writer: Writer
        self.background: Background
        self.sender: OutboxSender
        self.access: Access
        self._readers: BoundedExecutor
        self._calculators: BoundedExecutor
        self._explainers: BoundedExecutor
        self._changes: BoundedExecutor
        self._exports: BoundedExecutor
        self._exporting = 0
        self._open = False

    async def open(self) -> None:
        """Open the store, migrate its schema and start the threads."""
        settings = self.settings
        self.store = await asyncio.to_thread(open_store, settings.database)
        self._readers = BoundedExecutor("reading", settings.readers, _WAITING_READS)
        self._calculators = BoundedExecutor(
            "calculating", settings.calculators, settings.queued_calculations
        )
        self._explainers = BoundedExecutor("explanations", 1, _WAITING_EXPLANATIONS)
        self._changes = BoundedExecutor("changes", 1, settings.queued_calculations)
        self._exports = BoundedExecutor("exports", _EXPORTS, _EXPORTS)
        self.access = Access(self.store, settings, self._readers)
        self.background = Background(self.store, self.metrics)
        self.writer = Writer(
            self.store,
            self.metrics,
            batch_matches=settings.batch_matches,
            queued_matches=settings.queued_matches,
            queued_posts=settings.queued_posts,
        )
        self.writer.start()
        self.background.start()
        self.sender = OutboxSender(
            self.store,
            self.metrics,
            seconds=settings.webhook_seconds,
            private=settings.private_webhooks,
        )
        self.sender.start()
        self._open = True

    async def close(self) -> None:
        """Commit accepted posts, end the threads, close the store."""
        if not self._open:
            return
        self._open = False
        # The writer resolves futures in the event loop, which must keep running while it ends.
        await asyncio.to_thread(self.writer.stop)
        await asyncio.to_thread(self.sender.stop)
        await asyncio.to_thread(self.background.stop)
        for executor in (
            self._exports,
            self._changes,
            self._explainers,
            self._calculators,
            self._readers,
        ):
            await asyncio.to_thread(executor.close)
        await asyncio.to_thread(self.store.close)
        self.metrics.close()

    @property
    def running(self) -> bool:
        """Return whether the threads run and the kernels are compiled."""
        threads = self.writer.running and self.background.running if self._open else False
        return threads and self.background.ready

    async def read(
        self, function: Callable[Concatenate[Store, P], T], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run a use case that only reads and is quick."""
        return await self._readers.run(function, self.store, *args, **kwargs)

    async def read_inline(
        self, function: Callable[Concatenate[Store, P], T], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run a use case that reads a few dozen rows of an index.

        With SQLite it runs in the event loop: starting a thread would take longer, and the threads
        would exchange Python's lock at each row. With PostgreSQL it runs as in `read`.
        """
        if self.store.is_sqlite:
            return function(self.store, *args, **kwargs)
        return await self.read(function, *args, **kwargs)

    async def calculate(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a function that takes long. It does not delay reads."""
        return await self._calculators.run(function, *args, **kwargs)

    async def explain(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a function that explains a change. Pages do so for anybody.

        They have a thread of their own, so that they do not delay predictions and splits.
        """
        return await self._explainers.run(function, *args, **kwargs)

    @contextmanager
    def exporting(self) -> Iterator[BoundedExecutor]:
        """Yield the executor for one export. Raises : OverloadedError if too many run."""
        if self._exporting >= _EXPORTS:
            raise OverloadedError("too many exports are running; try again later", 5.0)
        self._exporting += 1
        try:
            yield self._exports
        finally:
            self._exporting -= 1

    async def change(
        self, function: Callable[Concatenate[Store, P], T], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run a use case that writes. Changes run one after another.

        Afterwards the caches of keys and pools are cleared, and the background thread is woken.
        """
        changed = await self._changes.run(function, self.store, *args, **kwargs)
        self.access.forget()
        self.background.wake()
        return changed

    async def test_webhook(self, pool: str, webhook: int) -> WebhookTestMessage:
        """Send a webhook a test message and return the result.

        Raises : NotFoundError, ConflictError if it is disabled
        """
        hook = await self.read(find_webhook, pool, webhook)
        seconds = min(self.settings.webhook_seconds, 0.8 * self.settings.request_seconds)
        return await send_test(hook, pool, seconds=seconds, private=self.settings.private_webhooks)
