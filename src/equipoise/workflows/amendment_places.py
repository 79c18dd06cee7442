"""From where on an amendment wants a pool replayed."""

from __future__ import annotations

from sqlalchemy import Connection

from equipoise.store import log
from equipoise.store.log import Entry
from equipoise.store.pools import PoolRecord, Position
from equipoise.workflows.amended_log import Amendments


def place_of(entry: Entry, match: Entry | None, before: Amendments) -> Position:
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
    if pool.amendments:
        every = log.amendments(connection, pool.id)
        for number, entry in enumerate(every):
            if entry.seq <= through or not entry.needs_replay:
                continue
            match = None
            if entry.match is not None:
                match = log.match_by_id(connection, pool.id, entry.match)
            before = Amendments.of(every[:number], entry.seq)
            places.append(place_of(entry, match, before))
    return min(places, default=None)
