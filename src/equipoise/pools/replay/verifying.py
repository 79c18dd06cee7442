"""Verifying a pool: a full replay of its log must give the stored numbers, bit for bit."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from sqlalchemy import Connection

from equipoise.analysis.clock import working_time
from equipoise.errors import EquipoiseError
from equipoise.messages.pools import VerifyMessage
from equipoise.pools.amended_log import amendments_of, counted_matches
from equipoise.pools.pool.rules import rules_of
from equipoise.pools.posting.match_history import LoggedMatch
from equipoise.pools.replay.chain_checks import LogWalk
from equipoise.pools.replay.checkpointing import RunningPool, running_from_start
from equipoise.pools.replay.findings import Findings
from equipoise.pools.replay.pool_checks import Replayed, compare_pool, settings_versions
from equipoise.pools.replay.rating_checks import CheckpointChecks, compare_ratings
from equipoise.store import changes, replays
from equipoise.store.changes import COLUMNS, ChangeRow, change_row
from equipoise.store.connection import Store
from equipoise.store.pools import START, PoolRecord, get_pool

#: What is raised where a stored value is not what the code has written.
_UNREADABLE = (
    EquipoiseError,
    msgspec.MsgspecError,
    ArithmeticError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
    struct.error,
    zlib.error,
)


def verify_pool(
    store: Store, pool: str, progress: Callable[[int, int], None] | None = None
) -> VerifyMessage:
    """Return whether a replay of the whole log gives the stored ratings and changes.

    A pool that waits for a replay is compared with the log as of its last replay.
    progress : called with (matches replayed, matches in the log)
    Raises : NotFoundError
    """
    started, found = working_time(), Findings()
    with store.read() as connection:
        record = get_pool(connection, pool)
        through = replays.rated_through(connection, record)
        walk = LogWalk.start(record)
        walk.advance(connection, record.id, found)
        walk.compare(record, found)
        running, written = None, 0
        try:
            running = running_from_start(connection, record, rules_of(record.settings))
            amendments = amendments_of(connection, record, through)
            checkpoints = CheckpointChecks(connection, record)
            for matches in counted_matches(connection, record, amendments, START):
                if matches:
                    rows = checkpoints.rate(connection, record, running, matches, found)
                    written += _compare_changes(connection, record, matches, rows, found)
                if progress is not None:
                    progress(running.matches, record.matches)
            checkpoints.finish(connection, record, running, found)
            _compare_end(connection, record, running, written, found)
        except _UNREADABLE as error:
            found.add(f"what is stored cannot be read: {type(error).__name__}: {error}")
    return VerifyMessage(
        pool=pool,
        identical=found.count == 0,
        matches=0 if running is None else running.matches,
        players=0 if running is None else len(running.players),
        changes=written,
        different=found.count,
        differences=found.listed,
        seconds=working_time() - started,
        head=record.head.hex(),
        local_head=record.heads.local.hex(),
        chained_from=record.chained_from,
    )


def _compare_end(
    connection: Connection, pool: PoolRecord, running: RunningPool, written: int, found: Findings
) -> None:
    """Compare the ratings and the pool at the end of a replay.

    written : changes that it gave
    """
    versions = settings_versions(connection, pool, found)
    compare_ratings(connection, pool, running, versions, found)
    replayed = Replayed(len(running.players), written)
    compare_pool(connection, pool, replayed, changes.count_of(connection, pool), found)


def _compare_changes(
    connection: Connection,
    pool: PoolRecord,
    matches: Sequence[LoggedMatch],
    rows: dict[str, Sequence[Any]],
    found: Findings,
) -> int:
    """Compare the changes of rated matches with the stored ones; return their number.

    rows : the changes as columns
    """
    first, last = matches[0].position, matches[-1].position
    stored = changes.changes_between(connection, pool, first, last)
    for row in map(change_row, zip(*(rows[name] for name in COLUMNS), strict=True)):
        kept = stored.pop((row.player, row.seq), None)
        if kept is None:
            found.add(f"record {row.seq}, player {row.player}: no change is stored")
        elif _bits(kept) != _bits(row):
            found.add(
                f"record {row.seq}, player {row.player}: stored rating {kept.rating!r}, "
                f"replayed {row.rating!r}"
            )
    for player, seq in stored:
        found.add(f"record {seq}, player {player}: a change is stored that the log does not give")
    return len(rows["player"])


def _bits(row: ChangeRow) -> tuple[object, ...]:
    """Return a change as text and numbers that are equal only if all bits are: 0.0 is not -0.0."""
    values = (
        row.rating_before,
        row.deviation_before,
        row.rating,
        row.deviation,
        row.expected,
        row.performance,
    )
    numbers = tuple(None if value is None else float(value).hex() for value in values)
    return (row.time, row.rank, row.teams, *numbers, row.extra, row.previous)
