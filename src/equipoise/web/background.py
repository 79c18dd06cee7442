"""The background thread: replays, checkpoints, deletion of old rows, and compiling kernels.

Numba compiles a kernel at its first use. Without a cache on disk that takes seconds, and the first
match of a pool would wait. So the kernels of a system are compiled beforehand, by rating a
throw-away pool.
"""

from __future__ import annotations

import logging
import os
import queue
import tempfile
import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from pathlib import Path

import msgspec

from equipoise.errors import EquipoiseError, NotFoundError
from equipoise.messages.matches import (
    MatchRequest,
    ParticipationRequest,
    ReasonRequest,
    TeamRequest,
)
from equipoise.messages.pools import PoolMessage, PoolRequest
from equipoise.pools import amending
from equipoise.pools.pool import deleting
from equipoise.pools.pool.pools import create_pool, pool_messages
from equipoise.pools.posting import planning, posting
from equipoise.pools.replay import replaying
from equipoise.store.connection import Store, open_store
from equipoise.store.keys import note_uses
from equipoise.web.http.access import KeyUses
from equipoise.web.http.errors import DATABASE_ERRORS
from equipoise.web.monitoring import Metrics
from equipoise.wording import counted

log = logging.getLogger(__name__)

_POOL = "precompile"
_NOW = 0


def request_of(pool: PoolMessage) -> PoolRequest:
    """Return a request with the settings of a pool that decide which kernels it uses."""
    return PoolRequest(
        system=pool.system,
        parameters={name: value for name, value in pool.parameters.items() if value is not None},
        times=pool.times,  # type: ignore[arg-type]
    )


def precompile(request: PoolRequest) -> bool:
    """Rate, void and replay in a throw-away pool; return whether the system can do that."""
    request = msgspec.structs.replace(request, statistics={}, late="reject")
    with tempfile.TemporaryDirectory(prefix="equipoise-precompile-") as folder:
        store = open_store(f"sqlite:///{Path(folder) / 'pools.db'}")
        try:
            create_pool(store, _POOL, request, _NOW)
            answers = posting.post_matches(store, _POOL, [planning.Post(_matches())], _NOW)
            failed = [one for one in answers if isinstance(one, EquipoiseError)]
            if failed:
                raise failed[0]
            amending.void_match(store, _POOL, "1", ReasonRequest(), key=None, now=_NOW)
            replaying.maintain_pool(store, _POOL, owner="precompile", stop=lambda: False)
        except EquipoiseError as error:
            log.debug("%s could not be precompiled: %s", request.system, error)
            return False
        finally:
            store.close()
    return True


def _matches() -> list[MatchRequest]:
    """Return matches that every system can rate."""

    def team(player: str, rank: int) -> TeamRequest:
        return TeamRequest([ParticipationRequest(player, performance=2.0 - rank)], rank)

    return [
        MatchRequest(str(number), [team("a", 0), team("b", 1)], time=86_400 * number)
        for number in range(3)
    ]


#: Seconds between two searches for work, unless `wake` is called.
PAUSE = 1.0
#: The longest pause after failures of one pool, seconds.
_LONGEST = 60.0


class Background:
    """A thread that maintains the pools, and compiles the kernels of their systems beforehand."""

    def __init__(
        self, store: Store, metrics: Metrics, pause: float = PAUSE, uses: KeyUses | None = None
    ) -> None:
        self._pause = pause
        self._uses = uses or KeyUses()
        self._store = store
        self._metrics = metrics
        self._owner = f"{os.getpid()}-{uuid.uuid4().hex[:12]}"
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._to_compile: queue.SimpleQueue[tuple[PoolRequest, Future[None]]] = queue.SimpleQueue()
        self._compiled: list[tuple[str, dict[str, object]]] = []
        self._failures: dict[str, int] = {}
        self._not_before: dict[str, float] = {}
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="equipoise-background")

    @property
    def running(self) -> bool:
        """Return whether the thread is alive."""
        return self._thread.is_alive()

    @property
    def ready(self) -> bool:
        """Return whether the kernels of all pools that existed at the start are compiled."""
        return self._ready.is_set()

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread. Another process continues an unfinished replay."""
        self._stop.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join()

    def precompile(self, request: PoolRequest) -> Future[None]:
        """Compile the kernels of a new pool; return a future that resolves when that is done."""
        done: Future[None] = Future()
        self._to_compile.put((request, done))
        self._wake.set()
        return done

    def wake(self) -> None:
        """Search for work at once."""
        self._wake.set()

    def _run(self) -> None:
        self._guarded("", self._precompile_all)
        self._ready.set()
        while not self._stop.is_set():
            self._wake.clear()
            self._guarded("", self._round)
            self._wake.wait(self._pause)

    def _precompile_all(self) -> None:
        for pool in pool_messages(self._store):
            self._precompile_one(request_of(pool))

    def _precompile_one(self, request: PoolRequest) -> None:
        kind = (request.system, request.parameters)
        if kind in self._compiled or self._stop.is_set():
            return
        self._compiled.append(kind)
        started = time.perf_counter()
        if precompile(request):
            log.info("%s kernels compiled in %.1f s", request.system, time.perf_counter() - started)

    def _round(self) -> None:
        while not self._to_compile.empty():
            request, done = self._to_compile.get()
            try:
                self._precompile_one(request)
            finally:
                # The request that waits for it may have timed out and cancelled it.
                if done.set_running_or_notify_cancel():
                    done.set_result(None)
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
        started = time.perf_counter()
        if replaying.maintain_pool(self._store, pool, owner=self._owner, stop=self._stop.is_set):
            seconds = time.perf_counter() - started
            self._metrics.replay.observe(seconds)
            log.info("replayed pool %s in %.2f s", pool, seconds)
            # Matches recorded in the meantime may need another replay.
            self._wake.set()

    def _guarded(self, pool: str, work: Callable[[], object]) -> None:
        """Do some work. Log a failure, and try again after a pause that grows."""
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
