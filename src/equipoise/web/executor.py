"""Thread pools with a bounded queue, for work that would block the event loop."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, ParamSpec, TypeVar

from equipoise.web.http.errors import OverloadedError

P = ParamSpec("P")
T = TypeVar("T")


class BoundedExecutor:
    """A pool of threads. Work beyond the bound of its queue is refused at once."""

    def __init__(self, name: str, threads: int, waiting: int) -> None:
        self._name = name
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix=f"equipoise-{name}")
        self._most = threads + waiting
        self._under_way = 0
        self._lock = threading.Lock()

    async def run(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a function in one of the threads.

        Raises : OverloadedError
        """
        with self._lock:
            if self._under_way >= self._most:
                raise OverloadedError(f"the queue for {self._name} is full; try again later")
            self._under_way += 1
        future = self._executor.submit(partial(function, *args, **kwargs))
        # It counts until the thread has finished it, even if nobody waits for it any more.
        future.add_done_callback(self._done)
        return await asyncio.wrap_future(future)

    def _done(self, future: Future[Any]) -> None:
        with self._lock:
            self._under_way -= 1

    def close(self) -> None:
        """End the threads after their current work; drop what waits."""
        self._executor.shutdown(wait=True, cancel_futures=True)


class TurnExecutor:
    """A pool of threads for work on subjects: work on one runs one after another, in its order.

    So one subject occupies one thread, and has a queue of its own with a bound.
    """

    def __init__(self, name: str, threads: int, waiting: int) -> None:
        self._name, self._waiting = name, waiting
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix=f"equipoise-{name}")
        # The first in each queue runs, or waits for a thread.
        self._queues: dict[str, deque[tuple[Future[Any], Callable[[], Any]]]] = {}
        self._lock = threading.Lock()
        self._closed = False

    async def run(
        self, subject: str, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run a function after the earlier work on its subject. Raises : OverloadedError."""
        future: Future[T] = Future()
        with self._lock:
            queue = self._queues.setdefault(subject, deque())
            if len(queue) > self._waiting:
                raise OverloadedError(f"the queue for {self._name} is full; try again later")
            queue.append((future, partial(function, *args, **kwargs)))
            if len(queue) == 1:
                self._executor.submit(self._perform, subject)
        return await asyncio.wrap_future(future)

    def _perform(self, subject: str) -> None:
        """Do the first work of a queue, and hand in the next."""
        with self._lock:
            queue = self._queues[subject]
            future, work = queue[0]
        if future.set_running_or_notify_cancel():
            try:
                future.set_result(work())
            except BaseException as error:  # noqa: BLE001 - it is raised where the work is awaited
                future.set_exception(error)
        with self._lock:
            queue.popleft()
            if not queue:
                del self._queues[subject]
            elif not self._closed:
                self._executor.submit(self._perform, subject)

    def close(self) -> None:
        """End the threads after their current work; drop what waits."""
        with self._lock:
            self._closed = True
            for queue in self._queues.values():
                for future, _ in queue:
                    future.cancel()
        self._executor.shutdown(wait=True, cancel_futures=True)
