"""What the service holds: its store, writer, processes, and work in the background."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from functools import partial
from typing import Any, Concatenate, ParamSpec, TypeAlias, TypeVar

from equipoise.errors import ConflictError, InvalidDataError, NotFoundError, PluginError
from equipoise.messages.matches import AmendmentMessage, MatchMessage, MatchRequest, PostedMessage
from equipoise.messages.pools import PoolChange, PoolMessage
from equipoise.messages.upkeep import WebhookTestMessage
from equipoise.pools import webhooks
from equipoise.pools.pool import pools
from equipoise.pools.pool import settings as pool_settings
from equipoise.pools.pool.pools import pool_message, pool_messages
from equipoise.pools.posting.posting import Post
from equipoise.pools.replay import replaying
from equipoise.pools.webhooks import find_webhook
from equipoise.store.connection import Store
from equipoise.store.keys import KeyRecord, note_uses
from equipoise.store.schema import now
from equipoise.web.http.access import Access, ExpiringCache, KeyUses
from equipoise.web.http.errors import (
    DATABASE_ERRORS,
    OverloadedError,
    UnavailableError,
    without_lines,
)
from equipoise.web.http.streams import Exports
from equipoise.web.kernels import Kernels, request_of
from equipoise.web.monitoring import Metrics, Tracing
from equipoise.web.processes import CalculationProcesses, Work
from equipoise.web.settings import ServiceSettings
from equipoise.web.webhooks import OutboxSender, send_test
from equipoise.web.writer import Writer
from equipoise.wording import counted

log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")
#: A function that gets the store first.
UseCase: TypeAlias = Callable[Concatenate[Store, P], T]


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
    """

    def __init__(
        self,
        store: Store,
        settings: ServiceSettings,
        metrics: Metrics,
        uses: KeyUses,
        *,
        pause: float = PAUSE,
        ready: Callable[[], bool] = lambda: True,
        can_replay: Callable[[str], bool] = lambda pool: True,
        tracing: Tracing | None = None,
    ) -> None:
        self._store, self._settings, self._uses, self._pause = store, settings, uses, pause
        self._ready, self._can_replay = ready, can_replay
        self._metrics, self._tracing = metrics, tracing
        self._next_clearing = 0.0
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
        if not self._store.notice_upgrades():
            return  # A later version owns the schema now.
        self._store_uses()
        pending = replaying.pending_pools(self._store)
        self._metrics.pending.set(len(pending))
        for pool in pending:
            if self._stop.is_set():
                return
            self._guarded(pool, partial(self._maintain, pool))
        for number in pools.pools_to_clear(self._store):
            if self._stop.is_set():
                return
            self._guarded(f"deleted/{number}", partial(self._clear, number))
        if time.monotonic() >= self._next_clearing:
            self._next_clearing = time.monotonic() + _CLEARING
            self._guarded("", self._clear_old)

    def _clear_old(self) -> None:
        days = self._settings.audit_days
        if days:
            webhooks.clear_audit(self._store, days, now(), stop=self._stop.is_set)
        if self._settings.webhook_log_days:
            webhooks.clear_webhooks(self._store, self._settings.webhook_log_days, now())

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
        if pools.clear_deleted(self._store, number, stop=self._stop.is_set):
            log.info("cleared deleted pool %d in %.2f s", number, time.perf_counter() - started)

    def _maintain(self, pool: str) -> None:
        try:
            self._replay(pool)
        except NotFoundError:
            if pool in {record.pool for record in pool_messages(self._store)}:
                raise
            log.info("pool %s was deleted during its replay", pool)
        except ConflictError as error:
            log.info("the next round continues: %s", error)  # As after the erasure of a name.

    def _replay(self, pool: str) -> None:
        if not self._can_replay(pool):
            return
        started = time.perf_counter()
        tracing = self._tracing
        with nullcontext() if tracing is None else tracing.work("replay", pool=pool):
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


#: Reads that may wait for a thread, and those of callers without a key.
_WAITING_READS, _WAITING_WITHOUT_KEY = 2_000, 1_000
#: Seconds for which a pool's kernels count as loaded. Another process may end a season with others.
_LOADED_SECONDS = 1.0
#: Threads for changes: those of so many pools run at the same time.
_CHANGE_THREADS = 4
#: Threads that read the database for exports.
_EXPORT_THREADS = 2
#: Explanations that may run or wait.
_WAITING_EXPLANATIONS = 15
#: Threads that begin and end sessions, how many may wait for one, and the seconds for which one
#: waits for other writers.
_SESSION_THREADS, _WAITING_SESSIONS, _PATIENCE = 4, 4, 1.0


class Service:
    """What all endpoints and pages share. The application creates, starts and closes it.

    description : the OpenAPI document as JSON
    """

    def __init__(self, settings: ServiceSettings, store: Store, description: bytes) -> None:
        self.settings, self.store, self.description = settings, store, description
        self.metrics = Metrics()
        self.tracing = Tracing() if settings.tracing else None
        self._readers = BoundedExecutor("reading", settings.readers, _WAITING_READS)
        share = max(1, settings.readers // 2)
        self._readers_without_key = BoundedExecutor(
            "reading without a key", share, _WAITING_WITHOUT_KEY
        )
        self._calculators = CalculationProcesses(settings, self.metrics)
        self._changes = TurnExecutor("changes", _CHANGE_THREADS, settings.queued_calculations)
        self._sessions = BoundedExecutor("sessions", _SESSION_THREADS, _WAITING_SESSIONS)
        waiting = settings.exports
        self.exports = Exports(settings, BoundedExecutor("exports", _EXPORT_THREADS, waiting))
        self.access = Access(store, settings, self._readers)
        self.kernels = Kernels(store)
        self.background = Background(
            store,
            settings,
            self.metrics,
            self.access.uses,
            ready=lambda: self.kernels.ready,
            can_replay=self._can_replay,
            tracing=self.tracing,
        )
        self.writer = Writer(store, settings, self.metrics, self.tracing)
        self.sender = OutboxSender(store, settings, self.metrics)
        self._explaining = 0
        self._one_explanation = asyncio.Semaphore(1)
        # Pools whose kernels are loaded. A pool needs others only when a season ends, when it is
        # deleted and created again, or after a replay with another entry. The kernels for that are
        # loaded before the replay.
        self._loaded: ExpiringCache[bool] = ExpiringCache(_LOADED_SECONDS)

    def start(self) -> None:
        """Start the threads and the processes, in the event loop of the application."""
        self._calculators.open()
        for thread in (self.writer, self.kernels, self.background, self.sender):
            thread.start()

    async def close(self) -> None:
        """Commit accepted posts, end the threads, close the store."""
        await self._calculators.close()
        # The writer resolves futures in the event loop, which must keep running while it ends.
        for close in (
            self.writer.stop,
            self.sender.stop,
            self.background.stop,
            self.kernels.stop,
            self.exports.close,
            self._changes.close,
            self._sessions.close,
            self._readers_without_key.close,
            self._readers.close,
            self.store.close,
        ):
            await asyncio.to_thread(close)
        if self.tracing is not None:
            await asyncio.to_thread(self.tracing.close)

    @property
    def running(self) -> bool:
        """Return whether the threads run and the kernels are compiled."""
        return self.writer.running and self.background.running and self.kernels.ready

    async def read(self, function: UseCase[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a use case that only reads and is quick."""
        return await self._readers.run(function, self.store, *args, **kwargs)

    async def read_inline(self, function: UseCase[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a use case that reads a few dozen rows of an index.

        With SQLite it runs in the event loop: starting a thread would take longer, and the threads
        would exchange Python's lock at each row. With PostgreSQL it runs as in `read`.
        """
        if self.store.is_sqlite:
            return function(self.store, *args, **kwargs)
        return await self.read(function, *args, **kwargs)

    async def read_for(
        self, key: KeyRecord | None, function: UseCase[P, T], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run a use case as `read`, for a caller with this key.

        Callers without a key share a part of the threads, so that they cannot keep others waiting.
        """
        threads = self._readers_without_key if key is None else self._readers
        return await threads.run(function, self.store, *args, **kwargs)

    async def calculate(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a long calculation in another process, and end it if the caller is cancelled.

        The function must be at the top level of a module, and it must be possible to pickle its
        arguments.
        """
        result: T = await self._calculators.run(Work(function, args, kwargs, with_store=False))
        return result

    async def calculate_from_store(
        self, function: UseCase[P, T], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run a use case that reads, as in `calculate`."""
        result: T = await self._calculators.run(Work(function, args, kwargs, with_store=True))
        return result

    async def explain(self, function: UseCase[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run an explanation as in `calculate_from_store`, one at a time.

        Every visit to a player's page starts one. This leaves processes for predictions and splits.

        Raises : OverloadedError if too many wait
        """
        if self._explaining >= _WAITING_EXPLANATIONS:
            raise OverloadedError("too many explanations are waiting; try again later", 5.0)
        self._explaining += 1
        try:
            async with self._one_explanation:
                return await self.calculate_from_store(function, *args, **kwargs)
        finally:
            self._explaining -= 1

    async def change(self, function: UseCase[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a use case that writes. Changes of one pool run one after another.

        Use cases of a pool have its name as the first of their arguments; those of keys have no
        text there. Afterwards the caches of keys and pools are cleared, and the background thread
        is woken.
        """
        subject = args[0] if args and isinstance(args[0], str) else ""
        changed = await self._changes.run(subject, function, self.store, *args, **kwargs)
        self.access.forget()
        self._loaded.clear()
        self.background.wake()
        return changed

    async def change_session(self, function: Callable[..., T], /, *args: object) -> T:
        """Run a function that begins or ends sessions. It does not wait for other changes.

        function : takes the store, then `args`, and `patience` by name
        Raises : UnavailableError if another writer holds the lock of the database for too long
        """
        try:
            return await self._sessions.run(function, self.store, *args, patience=_PATIENCE)
        except TimeoutError:
            raise UnavailableError(
                "the database is busy with another write, so you were not signed in or out: try "
                "again in a few seconds",
                2.0,
            ) from None

    async def change_settings(self, pool: str, request: PoolChange, key: int | None) -> PoolMessage:
        """Change settings of a pool, and load the kernels that the replay of it needs.

        Raises : NotFoundError, InvalidDataError, ConflictError
        """
        changed = await self.change(pool_settings.change_settings, pool, request, now(), key=key)
        if changed.pending:
            self.kernels.want(request_of(await self.read(pool_settings.pool_as_wanted, pool)))
        return changed

    async def preview_settings(self, pool: str, request: PoolChange) -> AmendmentMessage:
        """Return which ratings a change of settings would change.

        Raises : as `change_settings`; CompilingError until the kernels for it are loaded
        """
        wanted = await self.read(pool_settings.pool_as_wanted, pool, request)
        await self.kernels.check(request_of(wanted))
        work = self.calculate_from_store(pool_settings.preview_settings, pool, request, now())
        shown: AmendmentMessage = await work
        return shown

    def _can_replay(self, pool: str) -> bool:
        """Return whether the kernels for the next replay of a pool are loaded.

        Those of its current parameters are: without them, nothing was posted.
        """
        current, wanted = (
            pool_message(self.store, pool),
            pool_settings.pool_as_wanted(self.store, pool),
        )
        same = wanted.parameters == current.parameters
        return same or self.kernels.are_loaded(request_of(wanted))

    async def submit_match(self, pool: str, match: MatchRequest, key: int | None) -> MatchMessage:
        """Return what one match changed, once it is committed. Raises : as `Writer.enqueue`."""
        try:
            answer = await self.writer.enqueue(pool, Post([match], key, detailed=True))
        except InvalidDataError as error:
            raise without_lines(error) from None
        assert not isinstance(answer, PostedMessage)
        return answer[0]

    async def check_kernels(self, pool: str) -> None:
        """Check that posts to a pool can be rated at once. Raises : CompilingError."""
        started = time.monotonic()
        if self._loaded.get(pool, started) is None:
            await self.kernels.check(request_of(await self.read(pool_message, pool)))
            self._loaded.put(pool, True, started)

    async def pool_message(self, pool: str) -> PoolMessage:
        """Return a pool with the status of its kernels. Raises : NotFoundError."""
        return await self.kernels.described(await self.read(pool_message, pool))

    async def test_webhook(self, pool: str, webhook: int) -> WebhookTestMessage:
        """Send a webhook a test message and return the result.

        Raises : NotFoundError, ConflictError if it is disabled
        """
        hook = await self.read(find_webhook, pool, webhook)
        seconds = min(self.settings.webhook_seconds, 0.8 * self.settings.request_seconds)
        return await send_test(hook, pool, seconds=seconds, private=self.settings.private_webhooks)
