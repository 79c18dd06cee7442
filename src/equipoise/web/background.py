"""What is done between requests: replays, checkpoints, the deletion of what is out of date."""

from __future__ import annotations

import logging
import os
import queue
import threading
import time
import uuid
from collections.abc import Callable
from functools import partial

from equipoise.store.connection import Store
from equipoise.web.metrics import Metrics
from equipoise.workflows import pools as pools_workflow
from equipoise.workflows import replaying

log = logging.getLogger(__name__)

#: Seconds between two looks at what there is to do, where nobody says that there is something.
PAUSE = 1.0
#: The longest pause after failures of one pool, seconds.
_LONGEST = 60.0


class Background:
    """A thread that replays pools that wait for it and keeps the store in order."""

    def __init__(self, store: Store, metrics: Metrics) -> None:
        self._store = store
        self._metrics = metrics
        self._owner = f"{os.getpid()}-{uuid.uuid4().hex[:12]}"
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._posted: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._failures: dict[str, int] = {}
        self._not_before: dict[str, float] = {}
        self._first = True
        self._thread = threading.Thread(target=self._run, name="equipoise-background")

    @property
    def running(self) -> bool:
        """Return whether the thread lives."""
        return self._thread.is_alive()

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End; a replay under way is left, and taken up again by whoever comes next."""
        self._stop.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join()

    def posted(self, pool: str) -> None:
        """Take note that matches were recorded; any thread may say so."""
        self._posted.put(pool)

    def wake(self) -> None:
        """Look at once what there is to do."""
        self._wake.set()

    def _run(self) -> None:
        while not self._stop.is_set():
            self._wake.clear()
            self._guarded("", self._round)
            self._wake.wait(PAUSE)

    def _round(self) -> None:
        if self._first:
            for one in pools_workflow.pool_messages(self._store):
                self._guarded(one.pool, partial(self._tidy, one.pool))
            self._first = False
        pending = replaying.pending_pools(self._store)
        self._metrics.pending.set(len(pending))
        for pool in pending:
            if self._stop.is_set():
                return
            self._guarded(pool, partial(self._replay, pool))
        for pool in {self._posted.get() for _ in range(self._posted.qsize())}:
            self._guarded(pool, partial(replaying.keep_checkpoints, self._store, pool))

    def _replay(self, pool: str) -> None:
        started = time.perf_counter()
        swapped = replaying.replay_pool(
            self._store, pool, owner=self._owner, stop=self._stop.is_set
        )
        if swapped:
            seconds = time.perf_counter() - started
            self._metrics.replay.observe(seconds)
            log.info("replayed pool %s in %.2f s", pool, seconds)
            self._tidy(pool)
            # What was recorded meanwhile may want a replay in its turn.
            self._wake.set()

    def _tidy(self, pool: str) -> None:
        replaying.collect_garbage(self._store, pool)
        replaying.keep_checkpoints(self._store, pool)

    def _guarded(self, pool: str, work: Callable[[], object]) -> None:
        """Do something; a failure is logged, and tried again after a pause that grows."""
        if time.monotonic() < self._not_before.get(pool, 0.0):
            return
        try:
            work()
        except Exception:
            count = self._failures[pool] = self._failures.get(pool, 0) + 1
            self._not_before[pool] = time.monotonic() + min(_LONGEST, 2.0 ** min(count, 10))
            self._metrics.failures.inc()
            log.exception("background work failed for pool %r", pool)
        else:
            self._failures.pop(pool, None)
            self._not_before.pop(pool, None)
