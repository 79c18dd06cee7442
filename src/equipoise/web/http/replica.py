"""Reads from a standby, which leave the primary more time for posts, and say how old they are.

A standby may be behind by any time. So it is asked first how far, and whether it has the pool that
the primary let the sender read: an earlier pool of that name may have been private.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar

from sqlalchemy import event
from sqlalchemy.exc import DBAPIError

from equipoise.errors import ConflictError, EquipoiseError, NotFoundError
from equipoise.pools.pool.rules import iso
from equipoise.store.commits import replay_lag, system_of
from equipoise.store.connection import Store, open_store
from equipoise.store.pools import find_pool
from equipoise.web.executor import BoundedExecutor
from equipoise.web.http.errors import DATABASE_ERRORS
from equipoise.web.monitoring import Metrics

P = ParamSpec("P")
T = TypeVar("T")

log = logging.getLogger(__name__)

#: Reads that may wait for a thread.
_WAITING = 2_000
#: Seconds after a failure until the standby is asked again.
_PAUSE = 1.0
#: Seconds in which one of the reads under way must come further; otherwise the standby hangs.
_SILENCE = 3.0


class ReplicaAwayError(Exception):
    """The standby cannot answer now: the primary must.

    lag : seconds by which it is behind, if that is the reason
    """

    lag: float | None = None


class PoolIdentity(NamedTuple):
    """A pool as the primary has it; `created` tells it from earlier pools of its name."""

    name: str
    created: str


class StandbyAddress(NamedTuple):
    """Where a standby is, and by how many seconds it may be behind; 0 for any.

    system : number of the primary, which its standbys share; None if not known
    """

    url: str
    most_lag: float
    system: int | None = None


class Standby:
    """A standby, for the threads of one process."""

    def __init__(self, address: StandbyAddress) -> None:
        self._url, self._most_lag, self._system = address
        self._lock = threading.Lock()
        self._store: Store | None = None
        self._not_before = 0.0
        #: A second descriptor of each connection, by which another thread can end it.
        self._sockets: dict[int, socket.socket] = {}
        #: When a read came further, and whether the last one found that the standby hangs.
        self.progress = 0.0
        self.hung = False

    def read(
        self,
        pool: PoolIdentity,
        function: Callable[Concatenate[Store, P], T],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> tuple[T, float]:
        """Return the result of a use case that only reads, and the lag of the standby in seconds.

        pool : that is read
        Raises : ReplicaAwayError; what `function` raises
        """
        if time.monotonic() < self._not_before:
            raise ReplicaAwayError
        try:
            store = self._opened()
            # Before the read, so that what is read is not older than this.
            with store.read() as connection:
                lag = replay_lag(connection)
                found = find_pool(connection, pool.name)
            self.progress, self.hung = time.monotonic(), False
            if 0 < self._most_lag < lag:
                raise self._behind(lag)
            if found is None or iso(found.created) != pool.created:
                raise ReplicaAwayError  # the pool is new, and this is an earlier one of its name
            return function(store, *args, **kwargs), lag
        except NotFoundError as error:
            if self._store is None:
                raise self._away(error) from error
            raise ReplicaAwayError from error  # it may be new, and not here yet
        except (DBAPIError, *DATABASE_ERRORS) as error:
            # It is away, or has cancelled the read because the primary has deleted its rows.
            raise self._away(error) from error
        finally:
            self.progress = time.monotonic()

    def _opened(self) -> Store:
        """Return the store, which is opened by the first read. Raises : EquipoiseError."""
        with self._lock:
            if self._store is None:
                try:
                    self._store = self._open()
                except NotFoundError:
                    raise
                except EquipoiseError as error:  # for example its schema is not there yet
                    raise self._away(error) from error
            return self._store

    def _open(self) -> Store:
        """Return the store, whose connections can be ended."""
        store = open_store(self._url, migrate=False)
        with store.read() as connection:
            system = system_of(connection)
        if None not in (self._system, system) and self._system != system:
            store.close()
            raise ConflictError("it is no standby of the database, but another server")

        def made(connection: Any, record: object) -> None:
            with suppress(OSError):
                second = socket.socket(fileno=os.dup(connection.fileno()))
                self._sockets[id(connection)] = second

        def closed(connection: Any, record: object) -> None:
            if second := self._sockets.pop(id(connection), None):
                second.close()

        event.listen(store.engine, "connect", made)
        event.listen(store.engine, "close", closed)
        store.reconnect()
        return store

    def cut(self) -> None:
        """End all connections: reads that wait for an answer end with an error.

        The operating system of a stopped server still acknowledges what is sent, so no time limit
        of TCP ends them.
        """
        if not self.hung:
            log.warning("the replica hangs, so the primary answers")
        self.hung = True
        self._not_before = time.monotonic() + _PAUSE
        for one in tuple(self._sockets.values()):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def _behind(self, lag: float) -> ReplicaAwayError:
        self._not_before = time.monotonic() + _PAUSE
        log.warning(
            "the replica is %.1f s behind, and replica_lag_seconds is %g, so the primary answers",
            lag,
            self._most_lag,
        )
        error = ReplicaAwayError()
        error.lag = lag
        return error

    def _away(self, error: Exception) -> ReplicaAwayError:
        self._not_before = time.monotonic() + _PAUSE
        log.warning("the replica does not answer, so the primary does: %s", error)
        return ReplicaAwayError()

    def close(self) -> None:
        """Close the store."""
        if self._store is not None:
            self._store.close()


class Replica:
    """A standby that the service reads from, with threads for that.

    threads : that read from it
    """

    def __init__(self, address: StandbyAddress, threads: int, metrics: Metrics) -> None:
        self.address = address
        self._standby = Standby(address)
        self._threads = BoundedExecutor("replica", threads, _WAITING)
        self._metrics = metrics

    async def read(
        self,
        executor: BoundedExecutor | None,
        pool: PoolIdentity,
        function: Callable[Concatenate[Store, P], T],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> tuple[T, float]:
        """Return the result of a use case that only reads, and the lag of the standby in seconds.

        executor : whose threads read; None for those of the standby
        pool : that is read
        Raises : ReplicaAwayError; what `function` raises
        """
        try:
            if self._hangs():
                self._standby.cut()
            if self._standby.hung and self._threads.under_way:
                raise ReplicaAwayError  # one read at a time finds out whether it answers again
            if executor is None:
                found, lag = await self._read(pool, function, *args, **kwargs)
            else:
                found, lag = await executor.run(self._standby.read, pool, function, *args, **kwargs)
        except ReplicaAwayError as error:
            self._metrics.read_on_primary.inc()
            if error.lag is not None:
                self._metrics.replica_lag.set(error.lag)
            raise
        self.note(lag)
        return found, lag

    async def _read(
        self,
        pool: PoolIdentity,
        function: Callable[Concatenate[Store, P], T],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> tuple[T, float]:
        """As `read`, in the threads of the standby, and not for longer than it answers."""
        if not self._threads.under_way:
            self._standby.progress = time.monotonic()
        work = self._threads.run(self._standby.read, pool, function, *args, **kwargs)
        reading = asyncio.ensure_future(work)
        try:
            while not (await asyncio.wait({reading}, timeout=_SILENCE / 3))[0]:
                if self._hangs():
                    self._standby.cut()
                if self._standby.hung:
                    raise ReplicaAwayError
            return reading.result()
        finally:
            reading.cancel()

    def _hangs(self) -> bool:
        """Return whether reads are under way, and none has come further for some seconds."""
        silent = time.monotonic() - self._standby.progress > _SILENCE
        return silent and self._threads.under_way > 0

    @property
    def answers(self) -> bool:
        """Return whether the standby may be asked by processes that cannot notice that it hangs."""
        return not (self._standby.hung or self._hangs())

    def note(self, lag: float | None) -> None:
        """Count a read that another process has done; None if the primary has answered it."""
        if lag is None:
            self._metrics.read_on_primary.inc()
        else:
            self._metrics.read_on_replica.inc()
            self._metrics.replica_lag.set(lag)

    async def close(self) -> None:
        """End the threads and close the store."""
        if self._threads.under_way:
            self._standby.cut()
        await asyncio.to_thread(self._threads.close)
        await asyncio.to_thread(self._standby.close)


@cache
def _standby(address: StandbyAddress) -> Standby:
    """Return the standby of a process that calculates."""
    return Standby(address)


def read_standby_first(
    store: Store,
    address: StandbyAddress,
    pool: PoolIdentity,
    function: Callable[..., T],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> tuple[T, float | None]:
    """Return the result of a use case that reads, and the lag of the standby; None for `store`.

    It is for processes that calculate, which have no threads that read.
    """
    try:
        return _standby(address).read(pool, function, *args, **kwargs)
    except ReplicaAwayError:
        return function(store, *args, **kwargs), None
