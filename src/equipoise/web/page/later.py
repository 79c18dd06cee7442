"""What pages keep between requests: slow answers under way, and overviews of pools."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

from equipoise.messages.players import OverviewMessage
from equipoise.pools.pool import pools
from equipoise.pools.reading import overview
from equipoise.store.connection import Store

_Answer = TypeVar("_Answer")

#: Tasks in a cache, under way or done.
_TASKS = 200
#: Seconds for which an overview is shown although matches have come; pools in the cache.
_FRESH, _POOLS = 10.0, 100


class TaskCache(Generic[_Answer]):
    """Tasks by key; a request for a key whose task is under way waits for that task."""

    def __init__(self, most: int = _TASKS) -> None:
        self._most = most
        self._tasks: OrderedDict[Hashable, asyncio.Task[_Answer]] = OrderedDict()

    async def get(
        self, key: Hashable, make: Callable[[], Awaitable[_Answer]], seconds: float
    ) -> _Answer | None:
        """Return the answer, or None if it is not ready within so many seconds.

        key : all that the answer depends on
        Raises : what `make` raises; the next call tries again
        """
        task = self._tasks.get(key)
        if task is None:
            task = asyncio.ensure_future(_made(make))
            task.add_done_callback(lambda done: self._ended(key, done))
            self._tasks[key] = task
            while len(self._tasks) > self._most:
                self._tasks.popitem(last=False)
        await asyncio.wait({task}, timeout=seconds)
        return task.result() if task.done() else None

    def _ended(self, key: Hashable, task: asyncio.Task[_Answer]) -> None:
        """Forget a task that failed, so that the next call tries again."""
        failed = task.cancelled() or task.exception() is not None
        if failed and self._tasks.get(key) is task:
            del self._tasks[key]


async def _made(make: Callable[[], Awaitable[_Answer]]) -> _Answer:
    return await make()


class OverviewCache:
    """The last overview of each pool: it costs more than other answers, and changes slowly."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._made: OrderedDict[str, tuple[float, object, OverviewMessage]] = OrderedDict()

    def get(self, store: Store, pool: str) -> OverviewMessage:
        """Return the overview of a pool; never one from before a replay or of a former pool."""
        message = pools.pool_message(store, pool)
        made_of = (message.created, message.generation)
        with self._lock:
            found = self._made.get(pool)
        at = self._clock()
        if found is not None and found[1] == made_of and at - found[0] < _FRESH:
            return found[2]
        made = overview.overview(store, pool)
        with self._lock:
            self._made[pool] = (at, made_of, made)
            self._made.move_to_end(pool)
            while len(self._made) > _POOLS:
                self._made.popitem(last=False)
        return made
