"""The background thread: replays, checkpoints, deletion of old rows and old entries of logs."""

from __future__ import annotations

import logging
import os
import threading
import time
import uuid
from collections.abc import Callable
from functools import partial

from equipoise.analysis.clock import now
from equipoise.errors import NotFoundError, PluginError
from equipoise.pools import retention
from equipoise.pools.pool import deleting
from equipoise.pools.pool.pools import pool_messages
from equipoise.pools.replay import replaying
from equipoise.store.connection import Store
from equipoise.store.keys import note_uses
from equipoise.web.http.access import KeyUses
from equipoise.web.http.errors import DATABASE_ERRORS
from equipoise.web.monitoring import Metrics
from equipoise.web.tracing import Tracing, span
from equipoise.wording import counted

log = logging.getLogger(__name__)

#: Seconds between two searches for work, unless `wake` is called.
PAUSE = 1.0
#: Seconds between two deletions of old entries.
_CLEARING = 3600.0
#: The longest pause after failures of one pool, seconds.
_LONGEST = 60.0


class Background:
    """A thread that maintains the pools.

    ready : whether it may begin; an earlier replay would compile kernels in this process
    can_replay : whether the kernels for the next replay of a pool are loaded
    may_write : whether this version may use the schema as it is now; asked before each round
    audit_days, webhook_days : days for which entries of the audit log and disabled webhooks are
        kept; 0 for ever
    """

    def __init__(
        self,
        store: Store,
        metrics: Metrics,
        pause: float = PAUSE,
        ready: Callable[[], bool] = lambda: True,
        can_replay: Callable[[str], bool] = lambda pool: True,
        may_write: Callable[[], bool] = lambda: True,
        audit_days: float = 0.0,
        webhook_days: float = 0.0,
        tracing: Tracing | None = None,
        uses: KeyUses | None = None,
    ) -> None:
        self._pause = pause
        self._uses = uses or KeyUses()
        self._ready, self._can_replay, self._may_write = ready, can_replay, may_write
        self._audit_days, self._webhook_days = audit_days, webhook_days
        self._next_clearing = 0.0
        self._tracing = tracing
        self._store = store
        self._metrics = metrics
        self._owner = f"{os.getpid()}-{uuid.uuid4().hex[:12]}"
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._failures: dict[str, int] = {}
        self._not_before: dict[str, float] = {}
        self._thread = threading.Thread(target=self._run, name="equipoise-background")

    @property
    def running(self) -> bool:
        """Return whether the thread is alive."""
        return self._thread.is_alive()

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread. Another process continues an unfinished replay."""
        self._stop.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join()

    def wake(self) -> None:
        """Search for work at once."""
        self._wake.set()

    def _run(self) -> None:
        while not self._stop.is_set():
            self._wake.clear()
            if self._ready():
                self._guarded("", self._round)
            self._wake.wait(self._pause)

    def _round(self) -> None:
        if not self._may_write():
            return
        self._store_uses()
        pending = replaying.pending_pools(self._store)
        self._metrics.pending.set(len(pending))
        for pool in pending:
            if self._stop.is_set():
                return
            self._guarded(pool, partial(self._maintain, pool))
        for number in deleting.pools_to_clear(self._store):
            if self._stop.is_set():
                return
            self._guarded(f"deleted/{number}", partial(self._clear, number))
        if time.monotonic() >= self._next_clearing:
            self._next_clearing = time.monotonic() + _CLEARING
            self._guarded("", self._clear_old)

    def _clear_old(self) -> None:
        if self._audit_days:
            retention.clear_audit(self._store, self._audit_days, now(), stop=self._stop.is_set)
        if self._webhook_days:
            retention.clear_webhooks(self._store, self._webhook_days, now())

    def _store_uses(self) -> None:
        """Store the last uses of keys. Drop them if the database is busy for too long."""
        uses = self._uses.take()
        if uses:
            try:
                note_uses(self._store, uses)
            except DATABASE_ERRORS:
                log.info("the last use of %s was not stored", counted(len(uses), "key", "keys"))

    def _clear(self, number: int) -> None:
        started = time.perf_counter()
        if deleting.clear_deleted(self._store, number, stop=self._stop.is_set):
            log.info("cleared deleted pool %d in %.2f s", number, time.perf_counter() - started)

    def _maintain(self, pool: str) -> None:
        try:
            self._replay(pool)
        except NotFoundError:
            if pool in {one.pool for one in pool_messages(self._store)}:
                raise
            log.info("pool %s was deleted during its replay", pool)

    def _replay(self, pool: str) -> None:
        if not self._can_replay(pool):
            return
        started = time.perf_counter()
        with span(self._tracing, "replay", pool=pool):
            done = replaying.maintain_pool(
                self._store, pool, owner=self._owner, stop=self._stop.is_set
            )
        if done:
            seconds = time.perf_counter() - started
            self._metrics.replay.observe(seconds)
            changed = counted(done.changed, "rating")
            log.info("replayed pool %s in %.2f s: %s changed", pool, seconds, changed)
            # Matches recorded in the meantime may need another replay.
            self._wake.set()

    def _guarded(self, pool: str, work: Callable[[], object]) -> None:
        """Do some work. Log a failure, and try again after a pause that grows."""
        if time.monotonic() < self._not_before.get(pool, 0.0):
            return
        try:
            work()
        except Exception as error:
            count = self._failures[pool] = self._failures.get(pool, 0) + 1
            self._not_before[pool] = time.monotonic() + min(_LONGEST, 2.0 ** min(count, 10))
            self._metrics.failures.inc()
            if isinstance(error, PluginError):  # its message says what to install
                log.warning("background work of pool %r waits: %s", pool, error)
            else:
                log.exception("background work failed%s", f" for pool {pool!r}" if pool else "")
        else:
            self._failures.pop(pool, None)
            self._not_before.pop(pool, None)
