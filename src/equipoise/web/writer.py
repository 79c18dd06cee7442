"""The thread that records matches. It commits the waiting posts of a pool together.

A transaction costs about the same whatever it holds. So a commit takes what waits for its pool when
the pool is locked, not what waited when the commit before it ended. Each pool is answered as soon
as its own transaction is committed.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from equipoise.errors import EquipoiseError
from equipoise.messages.matches import MatchMessage, PostedMessage
from equipoise.pools.posting import posting
from equipoise.pools.posting.posting import Post
from equipoise.pools.posting.running import StateCache
from equipoise.store.connection import (
    InterruptedTransactionError,
    Interruption,
    Store,
    is_full,
    was_silent,
)
from equipoise.store.schema import now
from equipoise.web.http.errors import (
    DATABASE_ERRORS,
    InternalError,
    OverloadedError,
    UnavailableError,
)
from equipoise.web.monitoring import Metrics, Tracing
from equipoise.web.settings import ServiceSettings

log = logging.getLogger(__name__)

#: Answer to a post that was recorded.
Recorded: TypeAlias = "Sequence[MatchMessage] | PostedMessage"
#: Seconds after which a rejected post may be tried again.
_RETRY = 1.0
#: Seconds between two statements of a transaction after which the process is taken for stopped, and
#: PostgreSQL gives the lock of the pool to others.
SILENCE = 2.0
#: Share of these for which the thread has worked if its work is slow, and it was not stopped.
_WORKED = 0.5


@dataclass(slots=True)
class _Waiting:
    """A post that waits for its commit."""

    pool: str
    post: Post
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Recorded]
    # The span of its request, if there are traces.
    cause: Any = None


@dataclass(slots=True)
class _UnderWay:
    """A transaction that has begun: the futures of its posts, and how it is ended."""

    futures: set[asyncio.Future[Recorded]]
    interruption: Interruption = field(default_factory=Interruption)


#: The outcome of a post whose request has ended. Nobody gets it.
_GIVEN_UP = OverloadedError("the request has ended")

_Outcome: TypeAlias = "tuple[_Waiting, Recorded | EquipoiseError]"


class Writer:
    """Takes posts from the event loop and commits them in a thread of its own."""

    def __init__(
        self,
        store: Store,
        settings: ServiceSettings,
        metrics: Metrics,
        tracing: Tracing | None = None,
    ) -> None:
        self._store, self._settings = store, settings
        self._metrics, self._tracing = metrics, tracing
        self._queue: queue.SimpleQueue[_Waiting | None] = queue.SimpleQueue()
        # These are used only in the thread. Pools are in the order of their turns.
        self._cache = StateCache()
        self._waiting: dict[str, deque[_Waiting]] = {}
        self._ended = False
        self._under_way: _UnderWay | None = None
        # Pools in which the work between two statements may take longer than `SILENCE`.
        self._slow: set[str] = set()
        # Both are used only in the event loop.
        self._matches = 0
        self._posts = 0
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="equipoise-writer")

    @property
    def stopping(self) -> bool:
        """Return whether new posts are refused because the service stops."""
        return self._stopping

    @property
    def running(self) -> bool:
        """Return whether posts are accepted."""
        return self._thread.is_alive() and not self._stopping

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Refuse new posts; return when all accepted posts are committed."""
        self._stopping = True
        self._queue.put(None)
        if self._thread.is_alive():
            self._thread.join()

    def enqueue(self, pool: str, post: Post) -> asyncio.Future[Recorded]:
        """Return a future with the answer to a post once its transaction is committed.

        The future raises what `post_matches` raises for the post. If it is cancelled before the
        commit begins, nothing is recorded, and a transaction that has begun ends at once.
        Raises : OverloadedError if too many posts wait already; then nothing is recorded
        """
        if self._stopping:
            raise OverloadedError("the service is stopping; try again later", _RETRY)
        matches = len(post.matches)
        # A post that is larger than the queue is taken while the queue is empty.
        full = 0 < self._matches < self._matches + matches > self._settings.queued_matches
        if full or self._posts >= self._settings.queued_posts:
            raise OverloadedError("the queue of matches is full; try again later", _RETRY)
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Recorded] = loop.create_future()
        future.add_done_callback(self._notice)
        self._matches += matches
        self._posts += 1
        self._metrics.queue.set(self._matches)
        cause = None if self._tracing is None else self._tracing.current()
        self._queue.put(_Waiting(pool, post, loop, future, cause))
        return future

    def _notice(self, future: asyncio.Future[Recorded]) -> None:
        """End the transaction that contains a post whose request has ended."""
        under_way = self._under_way
        if future.cancelled() and under_way is not None and future in under_way.futures:
            under_way.interruption.request()

    def _run(self) -> None:
        while self._gather(patient=not self._waiting):
            pool = next(iter(self._waiting))
            taken = self._take(pool, self._settings.batch_matches)
            started = time.perf_counter()
            outcomes = list(self._commit(pool, taken))
            self._metrics.batch.observe(_matches_of([item for item, _ in outcomes]))
            self._metrics.commit.observe(time.perf_counter() - started)
            if pool in self._waiting:  # the others have their turn first
                self._waiting[pool] = self._waiting.pop(pool)
            # One call for all: waking the loop for each post would cost more than the commit.
            taken[0].loop.call_soon_threadsafe(self._resolve, outcomes)

    def _gather(self, *, patient: bool = False) -> bool:
        """Sort the queue by pool; return whether any post waits.

        patient : wait for the first post, until `stop`
        """
        while not self._ended:
            try:
                item = self._queue.get(block=patient)
            except queue.Empty:
                break
            patient = False
            if item is None:
                self._ended = True
            else:
                self._waiting.setdefault(item.pool, deque()).append(item)
        return bool(self._waiting)

    def _take(self, pool: str, matches: int) -> list[_Waiting]:
        """Take the oldest posts of a pool, until they have this many matches."""
        waiting = self._waiting.get(pool, deque())
        taken = []
        while waiting and matches > 0:
            taken.append(waiting.popleft())
            matches -= len(taken[-1].post.matches)
        if not waiting:
            self._waiting.pop(pool, None)
        return taken

    def _commit(
        self, pool: str, waiting: list[_Waiting], *, alone: bool = False, again: bool = False
    ) -> Iterator[_Outcome]:
        """Yield the outcome of each post to one pool.

        waiting : at least one; posts that arrive until the pool is locked are committed with them
        alone : take no others
        again : whether PostgreSQL has undone this before, as the thread was silent for too long
        """
        under_way = self._under_way = _UnderWay({item.future for item in waiting})
        given_up = [item for item in waiting if item.future.cancelled()]
        yield from ((item, _GIVEN_UP) for item in given_up)
        waiting = [item for item in waiting if item not in given_up] if given_up else waiting
        if not waiting:
            return
        posts = [item.post for item in waiting]
        began, worked = time.monotonic(), time.thread_time()

        def arrived() -> tuple[list[Post], int]:
            more: list[_Waiting] = []
            if not alone:
                self._gather()
                more = self._take(pool, self._settings.batch_matches - _matches_of(waiting))
                waiting.extend(more)
                under_way.futures.update(item.future for item in more)
                if any(item.future.cancelled() for item in more):
                    under_way.interruption.request()
            self._describe(waiting, more)
            return [item.post for item in more], now()

        try:
            with self._span(pool, waiting):
                answers = posting.post_matches(
                    self._store,
                    pool,
                    posts,
                    now(),
                    self._cache,
                    future_seconds=self._settings.future_seconds,
                    arrived=arrived,
                    silence=None if again or pool in self._slow else SILENCE,
                    interruption=under_way.interruption,
                )
        except InterruptedTransactionError:
            # The request of a post has ended. The others are committed without it.
            yield from self._commit(pool, waiting, alone=True, again=again)
        except EquipoiseError as error:
            yield from ((item, error) for item in waiting)
        except DATABASE_ERRORS as error:
            # Of a process that was stopped while it waited for the lock, libpq only says that the
            # connection is gone. Nothing was recorded: an error of the COMMIT is another one.
            gone = getattr(error, "connection_invalidated", False)
            stopped = gone and time.monotonic() - began > SILENCE
            if not again and (stopped or was_silent(error)):
                log.warning("a transaction was silent for %g s: it is tried again", SILENCE)
                if time.thread_time() - worked > _WORKED * SILENCE:
                    self._slow.add(pool)
                yield from self._commit(pool, waiting, alone=True, again=True)
                return
            log.exception("a batch of posts could not be committed")
            full = is_full(error)
            reason = "the disk of the database is full" if full else "the database does not answer"
            away = UnavailableError(f"{reason}; try again later", _RETRY)
            yield from ((item, away) for item in waiting)
        except Exception:
            # One bad post must not fail the others of its batch.
            if len(waiting) > 1:
                for item in waiting:
                    yield from self._commit(pool, [item], alone=True)
            else:
                log.exception("a post failed")
                yield waiting[0], InternalError("the service failed; its log says why")
        else:
            yield from zip(waiting, answers, strict=True)
        finally:
            self._under_way = None

    def _span(self, pool: str, waiting: Sequence[_Waiting]) -> AbstractContextManager[None]:
        if self._tracing is None:
            return nullcontext()
        return self._tracing.work("commit", [item.cause for item in waiting], pool=pool)

    def _describe(self, waiting: Sequence[_Waiting], more: Sequence[_Waiting]) -> None:
        """Say in the span of a commit what it contains, and link it to the later posts."""
        if self._tracing is not None:
            contents = {"posts": len(waiting), "matches": _matches_of(waiting)}
            self._tracing.describe_work([item.cause for item in more], contents)

    def _resolve(self, outcomes: Sequence[_Outcome]) -> None:
        """Resolve the futures of posts; runs in the event loop."""
        for waiting, answer in outcomes:
            self._matches -= len(waiting.post.matches)
            self._posts -= 1
            self._count(waiting.post, answer)
            if waiting.future.done():  # its client is gone
                continue
            if isinstance(answer, EquipoiseError):
                waiting.future.set_exception(answer)
            else:
                waiting.future.set_result(answer)
        self._metrics.queue.set(self._matches)

    def _count(self, post: Post, answer: Recorded | EquipoiseError) -> None:
        if isinstance(answer, EquipoiseError):
            self._metrics.refused.inc()
        elif isinstance(answer, PostedMessage):
            self._metrics.new.inc(answer.new)
            self._metrics.known.inc(answer.known)
        else:
            self._metrics.new.inc(len(post.matches))


def _matches_of(waiting: Sequence[_Waiting]) -> int:
    return sum(len(item.post.matches) for item in waiting)
