"""Reads from a standby, which leave the primary more time for posts, and say how old they are."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

from sqlalchemy.exc import DBAPIError

from equipoise.errors import EquipoiseError, NotFoundError
from equipoise.store.commits import replay_lag
from equipoise.store.connection import Store, open_store
from equipoise.web.executor import BoundedExecutor
from equipoise.web.http.errors import DATABASE_ERRORS

P = ParamSpec("P")
T = TypeVar("T")

log = logging.getLogger(__name__)

#: Reads that may wait for a thread.
_WAITING = 2_000
#: Seconds after a failure until the standby is asked again.
_PAUSE = 1.0


class ReplicaAwayError(Exception):
    """The standby cannot answer now: the primary must."""


class Replica:
    """A standby that is read from.

    url : of its database; threads : that read from it
    """

    def __init__(self, url: str, threads: int) -> None:
        self._url = url
        self._threads = BoundedExecutor("replica", threads, _WAITING)
        self._lock = threading.Lock()
        self._store: Store | None = None
        self._not_before = 0.0

    async def read(
        self, function: Callable[Concatenate[Store, P], T], /, *args: P.args, **kwargs: P.kwargs
    ) -> tuple[T, float]:
        """Return the result of a use case that only reads, and the lag of the standby in seconds.

        Raises : ReplicaAwayError; what `function` raises
        """
        return await self._threads.run(self._read, lambda store: function(store, *args, **kwargs))

    def _read(self, function: Callable[[Store], T]) -> tuple[T, float]:
        if time.monotonic() < self._not_before:
            raise ReplicaAwayError
        try:
            store = self._opened()
            # Before the read, so that what is read is not older than this.
            with store.read() as connection:
                lag = replay_lag(connection)
            return function(store), lag
        except NotFoundError as error:
            if self._store is None:
                raise self._away(error) from error
            raise ReplicaAwayError from error  # it may be new, and not here yet
        except (DBAPIError, *DATABASE_ERRORS) as error:
            # It is away, or has cancelled the read because the primary has deleted its rows.
            raise self._away(error) from error

    def _opened(self) -> Store:
        """Return the store, which is opened by the first read. Raises : EquipoiseError."""
        with self._lock:
            if self._store is None:
                try:
                    self._store = open_store(self._url, migrate=False)
                except NotFoundError:
                    raise
                except EquipoiseError as error:  # its schema is not there yet
                    raise self._away(error) from error
            return self._store

    def _away(self, error: Exception) -> ReplicaAwayError:
        self._not_before = time.monotonic() + _PAUSE
        log.warning("the replica does not answer, so the primary does: %s", error)
        return ReplicaAwayError()

    async def close(self) -> None:
        """End the threads and close the store."""
        await asyncio.to_thread(self._threads.close)
        if self._store is not None:
            await asyncio.to_thread(self._store.close)
