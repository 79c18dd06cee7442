"""A match before it is recorded, and a recorded one as it was posted: for those who edit them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import msgspec
from sqlalchemy import Connection

from equipoise.errors import EquipoiseError, NotFoundError
from equipoise.messages.matches import MatchMessage, MatchRequest
from equipoise.store import log
from equipoise.store.connection import Store
from equipoise.store.pools import get_pool
from equipoise.workflows.amended_log import amendments_of
from equipoise.workflows.pools import rules_of, written
from equipoise.workflows.posting import Post, post_matches


class _UndoneError(Exception):
    """Ends a transaction without its changes."""


class _Undoing(Store):
    """A store whose writes are undone."""

    def __init__(self, store: Store) -> None:
        super().__init__(store.engine)
        self._store = store

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Give a connection whose statements come to nothing in the end."""
        with suppress(_UndoneError), self._store.write() as connection:
            yield connection
            raise _UndoneError


def preview_match(store: Store, pool: str, match: MatchRequest, now: int) -> MatchMessage:
    """Return what posting a match would do: it is posted, and that is undone.

    Raises : NotFoundError, ConflictError, InvalidDataError
    """
    answer = post_matches(_Undoing(store), pool, [Post([match])], now)[0]
    if isinstance(answer, EquipoiseError):
        raise answer
    assert isinstance(answer, list)
    return answer[0]


def posted_match(store: Store, pool: str, match: str) -> MatchRequest:
    """Return a match as it was posted, or as it was last corrected.

    Without a time where none was given, so that a correction made from it keeps that so.
    Raises : NotFoundError
    """
    with store.read() as connection:
        record = get_pool(connection, pool)
        entry = log.match_by_id(connection, record.id, match)
        if entry is None:
            raise NotFoundError(f"no match {match!r} in pool {pool!r}")
        amendments = amendments_of(connection, record)
        played = amendments.time_played(match, entry.posted_time)
        counted = None if played is None else amendments.time(entry)
        time = written(counted, rules_of(record.settings))
    return msgspec.structs.replace(amendments.request(entry), time=time)
