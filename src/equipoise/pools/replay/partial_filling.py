"""Partial checkpoints of matches that were rated before there were any: made in the background."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sqlalchemy import Connection

from equipoise.arrays import Ints
from equipoise.errors import ConvergenceError, InvalidDataError
from equipoise.pools.amended_log import amendments_of, counted_piece
from equipoise.pools.pool.rules import rules_of
from equipoise.pools.posting.partial_states import is_due, is_small
from equipoise.pools.replay.checkpointing import RunningPool, running_before
from equipoise.rating.player_state import pack_players
from equipoise.store.connection import Store
from equipoise.store.derived import partial_checkpoints
from equipoise.store.derived.partial_checkpoints import End
from equipoise.store.log import KnownLog
from equipoise.store.pools import START, PoolRecord, Position, change_pool, get_pool
from equipoise.store.sizes import Sizes

log = logging.getLogger(__name__)


@dataclass(slots=True)
class RunningPartial:
    """What changed in a running pool since its last partial checkpoint.

    end : where that ends
    rows : of the players with changes since
    participations : since
    """

    end: Position
    rows: Ints
    participations: int = 0

    @classmethod
    def after(cls, running: RunningPool, end: Position) -> RunningPartial:
        """Return what changed in a running pool after a position."""
        last = running.last_changes
        time, seq = end
        rows = np.flatnonzero((last.time > time) | ((last.time == time) & (last.seq > seq)))
        return cls(end, rows[last.seq[rows] > 0])

    def add(
        self, sizes: Sizes, running: RunningPool, rows: Ints, participations: int, *, now: bool
    ) -> dict[str, bytes] | None:
        """Add rated matches; return the states of the next partial checkpoint if it is due.

        rows : of the players of these matches
        now : make it in any case
        """
        before = self.participations
        self.participations += participations
        self.rows = np.union1d(self.rows, rows)
        if not now and not is_due(sizes, before, self.participations):
            return None
        names = [running.players[row] for row in self.rows.tolist()]
        packed = pack_players(running.state.take(self.rows))
        states = dict(zip(names, packed, strict=True))
        if not now and not is_small(sizes, states, self.participations):
            return None
        return states

    def made(self, running: RunningPool) -> None:
        """Begin again after a partial checkpoint was stored."""
        self.end, self.rows, self.participations = running.position, self.rows[:0], 0


def fill_partial_checkpoints(store: Store, pool: str, *, stop: Callable[[], bool]) -> None:
    """Make the partial checkpoints that a pool lacks, until `stop` returns True.

    The next call continues where this one ended.
    """
    with store.read() as connection:
        record = get_pool(connection, pool)
        if record.unfilled is None or record.dirty is not None:
            return
        known = partial_checkpoints.last_before(connection, record, record.unfilled)
    try:
        _fill(store, record, START if known is None else known.position, stop)
    except (ConvergenceError, InvalidDataError) as error:
        # After an upgrade of the code. Explanations of these matches take longer.
        log.warning("pool %s has matches without partial checkpoints: %s", pool, error)
        with store.write() as connection:
            change_pool(connection, record.id, unfilled=None)


def _fill(store: Store, record: PoolRecord, after: Position, stop: Callable[[], bool]) -> None:
    """Rate the log of a pool from a position on, and store partial checkpoints."""
    rules, last = rules_of(record.settings), record.unfilled or START
    known = KnownLog.of(record)
    with store.read() as connection:
        amendments = amendments_of(connection, record)
        running = running_before(connection, record, rules, amendments, (after[0], after[1] + 1))
    changed, done = RunningPartial.after(running, after), False
    while not done:
        if stop():
            return
        with store.read() as connection:
            if not _is_same(connection, get_pool(connection, record.name), record, known):
                return
            piece = counted_piece(connection, record, amendments, after)
        matches = [match for match in piece.matches if match.position <= last]
        done = piece.last or len(matches) < len(piece.matches) or piece.end >= last
        after = piece.end
        rows, touched = running.rate(matches)
        states = changed.add(
            store.sizes, running, touched, len(rows["player"]), now=done and bool(matches)
        )
        if states is None and not done:
            continue
        with store.write() as connection:
            now = get_pool(connection, record.name, lock=True)
            if not _is_same(connection, now, record, known):
                return
            if states is not None:
                end = End(running.position, record.generation, changed.end)
                shared = running.state.shared
                partial_checkpoints.put(connection, record.id, end, states, shared)
                changed.made(running)
            if done:
                change_pool(connection, record.id, unfilled=None)


def _is_same(connection: Connection, now: PoolRecord, record: PoolRecord, known: KnownLog) -> bool:
    """Return whether a pool was neither replayed, nor amended, nor replaced since.

    known : its log, as far as it was followed
    """
    same = (now.id, now.generation, now.amendments, now.unfilled) == (
        record.id,
        record.generation,
        record.amendments,
        record.unfilled,
    )
    return same and known.has_grown_to(connection, now)
