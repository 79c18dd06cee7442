"""Rate limits of all processes together: each tells the database what it has counted.

This is a task beside the requests, which wait for nothing: a process goes on with its own counts
until it knows those of the others. So within a second, each process lets a caller do what it would
let it do alone. What was too much is missing in the bucket afterwards.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from contextvars import Context

from equipoise.errors import EquipoiseError
from equipoise.store import rate_counts
from equipoise.store.connection import Store
from equipoise.web.http.errors import DATABASE_ERRORS
from equipoise.web.http.rates import Rates

log = logging.getLogger(__name__)

#: Seconds between two settlements, and for which one waits for other writers.
SECONDS = 1.0
#: Settlements between two deletions of full buckets.
_CLEARING = 60


class RateSettling:
    """Settles the rates of a process with those of the others, every second."""

    def __init__(
        self, store: Store, rates: Rates, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._store, self._rates, self._clock = store, rates, clock
        self._before_clearing = _CLEARING
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start the task."""
        # Its context is not that of whoever starts it.
        self._task = asyncio.get_running_loop().create_task(self._run(), context=Context())

    async def stop(self) -> None:
        """End the task. What it has not told is forgotten."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(SECONDS)
            try:
                await self.settle()
            except Exception:  # limits are counted here all the same, and the next one may succeed
                log.exception("rate limits could not be settled")

    async def settle(self) -> None:
        """Settle once. If the database does not answer, each process goes on by itself."""
        used = self._rates.take_used(self._clock())
        if not used:
            return
        amounts = {caller: amount for caller, (_, _, amount) in used.items()}
        try:
            found = await asyncio.to_thread(self._settled, amounts)
        except (*DATABASE_ERRORS, EquipoiseError, TimeoutError) as error:
            log.info("rate limits were not settled with other processes: %s", error)
            return
        for caller, missing in found.items():
            limit, who, _ = used[caller]
            limit.settle(who, missing, self._clock())

    def _settled(self, amounts: dict[bytes, int]) -> dict[bytes, int]:
        """Settle, and now and then delete what is full; in another thread."""
        longest = round(1e6 * self._rates.longest)
        found = rate_counts.settle(self._store, amounts, longest=longest, patience=SECONDS)
        self._before_clearing -= 1
        if self._before_clearing <= 0:
            self._before_clearing = _CLEARING
            rate_counts.clear_full(self._store, patience=SECONDS)
        return found
