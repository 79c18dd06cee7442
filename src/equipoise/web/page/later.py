"""Answers that may take longer than a page: begun once, waited for a moment, shown when ready."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

_Answer = TypeVar("_Answer")

#: Answers that are remembered, under way or ready.
_MOST = 200


class Later(Generic[_Answer]):
    """Answers by what they answer; the same question again while one is under way is the same."""

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._tasks: OrderedDict[Hashable, asyncio.Task[_Answer]] = OrderedDict()

    async def get(
        self, key: Hashable, make: Callable[[], Awaitable[_Answer]], seconds: float
    ) -> _Answer | None:
        """Return the answer, or None if it is not there within so many seconds.

        key : says all that the answer depends on
        Raises : what `make` raises, each time it is asked anew
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
        """Forget what failed: it may work the next time."""
        failed = task.cancelled() or task.exception() is not None
        if failed and self._tasks.get(key) is task:
            del self._tasks[key]


async def _made(make: Callable[[], Awaitable[_Answer]]) -> _Answer:
    return await make()
