"""The walk along a log's hash chain while the log is replayed, where it is large in a process.

Both read the whole log, and neither needs the other, so two processors halve the time in which the
log is read.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field

from sqlalchemy import Connection

from equipoise.pools.replay.chain_checks import LogWalk
from equipoise.pools.replay.findings import Findings
from equipoise.store.bulk import without_collection
from equipoise.store.connection import Store, open_store
from equipoise.store.pools import PoolRecord
from equipoise.store.sizes import Sizes

#: Records of a log for which the start of a process, about a second, is worth its time.
_LARGE = 200_000


@dataclass(slots=True)
class _Walked:
    """A walk along a log, and what was found on it."""

    walk: LogWalk
    found: Findings = field(default_factory=Findings)


class Walking:
    """A walk along the log of a pool, in this process or, up to its last record, in another one.

    pool : when the walk begins
    coming : the walk in another process, if there is one
    """

    def __init__(self, pool: PoolRecord, coming: Future[_Walked] | None = None) -> None:
        self._pool = pool
        self._done = _Walked(LogWalk.start(pool))
        self._coming = coming

    @property
    def is_beside(self) -> bool:
        """Whether another process walks."""
        return self._coming is not None

    def advance(self, connection: Connection) -> bool:
        """Read the next records, unless another process does; return whether that is all."""
        if self._coming is not None and not self._coming.done():
            return False
        self._take()
        return self._done.walk.advance(connection, self._pool.id, self._done.found)

    def finish(self, connection: Connection, pool: PoolRecord) -> Findings:
        """Read all further records, compare what was read with the pool, and return the findings.

        pool : as it is now
        """
        self._take()
        self._done.walk.finish(connection, pool, self._done.found)
        return self._done.found

    def _take(self) -> None:
        """Wait for the walk in another process, and go on from its end."""
        coming, self._coming = self._coming, None
        # If that process failed, this one reads all records, and says why that fails.
        if coming is not None and coming.exception() is None:
            self._done = coming.result()


@contextmanager
def walking(store: Store, pool: PoolRecord, *, beside: bool) -> Iterator[Walking]:
    """Give the walk along a log, which another process has begun if the log is large.

    beside : whether there may be another process
    """
    if not beside or pool.last_seq < _LARGE:
        yield Walking(pool)
        return
    url = store.engine.url.render_as_string(hide_password=False)
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), _let_parent_end) as process:
        yield Walking(pool, process.submit(_walk, url, store.sizes, pool))


def _let_parent_end() -> None:
    """Ignore Ctrl-C, which goes to all processes of a terminal."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _walk(url: str, sizes: Sizes, pool: PoolRecord) -> _Walked:
    """Walk along the records that a log had, in short transactions."""
    done = _Walked(LogWalk.start(pool))
    store = open_store(url, migrate=False, sizes=sizes)
    try:
        last = False
        while not last and done.walk.after < pool.last_seq:
            with store.read() as connection, without_collection():
                last = done.walk.advance(connection, pool.id, done.found)
    finally:
        store.close()
    return done
