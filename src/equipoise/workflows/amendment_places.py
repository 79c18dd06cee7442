"""From where on an amendment wants a pool replayed."""

from __future__ import annotations

from sqlalchemy import Connection

from equipoise.store import log
from equipoise.store.log import LogRecord
from equipoise.store.pools import PoolRecord, Position
from equipoise.workflows.amended_log import Amendments


def place_of(entry: LogRecord, match: LogRecord | None, before: Amendments) -> Position:
    """Return the first position at which an amendment makes a difference.

    match : the entry of the match that it is about, if it is about one
    before : what was amended before it
    """
    if match is None:
        return entry.time, 0
    old = (before.time(match), match.seq)
    if entry.kind != "correct":
        return old
    return min(old, (entry.time, match.seq))


def waiting_from(connection: Connection, pool: PoolRecord, through: int) -> Position | None:
    """Return the first position at which what came after an entry makes a difference, or None."""
    first = log.first_waiting(connection, pool.id, through)
    places = [] if first is None else [first]
    if not pool.amendments:
        return min(places, default=None)
    every = log.amendments(connection, pool.id)
    waiting = [one for one in every if one.seq > through and one.needs_replay]
    named = {one.match for one in waiting if one.match is not None}
    matches = log.matches_by_id(connection, pool.id, named) if named else {}
    before = Amendments(through)
    for entry in every:
        if entry.seq > through and entry.needs_replay:
            match = None if entry.match is None else matches[entry.match]
            places.append(place_of(entry, match, before))
        before.take(entry)
    return min(places, default=None)
