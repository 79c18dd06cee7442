"""What an amendment would change, before it is recorded."""

from __future__ import annotations

import msgspec
import numpy as np
from sqlalchemy import Connection

from equipoise.messages.amendments import AmendmentMessage, DifferenceMessage
from equipoise.store import log
from equipoise.store.log import LogRecord
from equipoise.store.pools import PoolRecord, Position
from equipoise.workflows.amended_log import Amendments, counted_piece
from equipoise.workflows.amendment_messages import described
from equipoise.workflows.amendment_places import place_of
from equipoise.workflows.checkpointing import running_before
from equipoise.workflows.differences import difference, running_numbers, stored_numbers
from equipoise.workflows.pools import rules_of


def begin_of(
    connection: Connection, pool: PoolRecord, entry: LogRecord, before: Amendments
) -> Position:
    """Return the first position at which an amendment makes a difference."""
    match = None if entry.match is None else log.match_by_id(connection, pool.id, entry.match)
    return place_of(entry, match, before)


def preview_of(
    connection: Connection, pool: PoolRecord, before: Amendments, entry: LogRecord
) -> AmendmentMessage:
    """Return what an amendment would change, with all else that waits for a replay."""
    found = DifferenceMessage(0, 0, [])
    if entry.needs_replay:
        begin = begin_of(connection, pool, entry, before)
        begin = begin if pool.dirty is None else min(begin, pool.dirty)
        entries = [*log.amendments(connection, pool.id), entry]
        after = Amendments.of(entries, entry.seq)
        found = _replayed(connection, pool, after, begin)
    shown = described(pool, entry, "done", found)
    return msgspec.structs.replace(shown, seq=None, kind="preview")


def _replayed(
    connection: Connection, pool: PoolRecord, amendments: Amendments, begin: Position
) -> DifferenceMessage:
    """Return what a replay from a position on would change."""
    rules = rules_of(pool.settings)
    running = running_before(connection, pool, rules, amendments, begin)
    running.matches = 0
    after, last = max((begin[0], begin[1] - 1), running.position), False
    while not last:
        piece = counted_piece(connection, pool, amendments, after)
        after, last = piece.end, piece.last
        if piece.matches:
            running.rate(piece.matches)
    before = stored_numbers(connection, pool)
    then = running_numbers(running, np.arange(len(running.players)))
    return difference(before, then, running.matches)
