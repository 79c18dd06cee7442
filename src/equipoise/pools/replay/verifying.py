"""Verifying a pool: a full replay of its log must give the stored numbers, bit for bit."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import msgspec
from sqlalchemy import Connection

from equipoise.analysis.clock import working_time
from equipoise.errors import EquipoiseError
from equipoise.messages.pools import VerifyMessage
from equipoise.pools.amended_log import Piece, amendments_of, counted_piece
from equipoise.pools.pool.rules import rules_of
from equipoise.pools.posting.match_history import LoggedMatch
from equipoise.pools.replay.chain_checks import LogWalk
from equipoise.pools.replay.checkpointing import RunningPool, running_from_start
from equipoise.pools.replay.findings import Findings
from equipoise.pools.replay.pool_checks import Replayed, compare_pool, settings_versions
from equipoise.pools.replay.rating_checks import CheckpointChecks, check_ratings
from equipoise.store import changes, replays
from equipoise.store.bulk import without_collection
from equipoise.store.changes import BY_POSITION
from equipoise.store.connection import Store
from equipoise.store.pools import START, PoolRecord, Position, find_pool, get_pool
from equipoise.store.sizes import sizes_of

#: How often a verification begins in short transactions.
_ATTEMPTS = 2
#: After all positions.
_END: Position = (2**62, 2**62)
#: In rows of `BY_POSITION`: the place of the rating, and how many columns are the key.
_RATING, _KEY = BY_POSITION.index("rating"), 3

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


class _ReplacedError(Exception):
    """What was verified so far was replaced, by a replay or an erasure."""


def verify_pool(
    store: Store,
    pool: str,
    progress: Callable[[int, int], None] | None = None,
) -> VerifyMessage:
    """Return whether a replay of the whole log gives the stored ratings and changes.

    The log is read in short transactions, and followed until its end; the last of them also reads
    the heads of the hash chain, the ratings and the pool. If a replay or an erasure replaces what
    was read, all begins again, the third time in one transaction. A pool that waits for a replay is
    compared with the log as of its last replay.
    progress : called with (matches replayed, matches in the log)
    Raises : NotFoundError
    """
    started, show = working_time(), progress or (lambda done, total: None)
    for _ in range(_ATTEMPTS):
        with suppress(_ReplacedError):
            with store.read() as connection:
                first = get_pool(connection, pool)
            return _verified(store, first, show, started)
    with store.moment() as snapshot:
        with snapshot.read() as connection:
            first = get_pool(connection, pool)
        return _verified(snapshot, first, show, started)


def _verified(
    store: Store,
    first: PoolRecord,
    progress: Callable[[int, int], None],
    started: float,
) -> VerifyMessage:
    """Return what `verify_pool` does. Raises : _ReplacedError.

    first : the pool when this begins
    """
    record, walk, chain, walked = first, LogWalk.start(first), Findings(), False
    while not walked:
        with store.read() as connection, without_collection():
            record = _same_pool(connection, first)
            walked = walk.advance(connection, record.id, chain)
    found, replay, last = Findings(), None, False
    while not last:
        with store.read() as connection, without_collection():
            record = _same_pool(connection, first)
            try:
                if replay is None:
                    replay = _Replay(connection, record)
                last = replay.advance(connection, record, found)
            except _UNREADABLE as error:
                found.add(f"what is stored cannot be read: {type(error).__name__}: {error}")
                last = True
            if last:
                walk.finish(connection, record, chain)
            else:
                walk.advance(connection, record.id, chain)
        if replay is not None:
            progress(replay.running.matches, record.matches)
    found = chain.and_then(found)
    return VerifyMessage(
        pool=first.name,
        identical=found.count == 0,
        matches=0 if replay is None else replay.running.matches,
        players=0 if replay is None else len(replay.running.players),
        changes=0 if replay is None else replay.written,
        different=found.count,
        differences=found.listed,
        seconds=working_time() - started,
        head=record.head.hex(),
        local_head=record.heads.local.hex(),
        chained_from=record.chained_from,
    )


def _same_pool(connection: Connection, first: PoolRecord) -> PoolRecord:
    """Return a pool as it is now. Raises : _ReplacedError if what was verified so far was replaced.

    first : the pool as it was when the verification began
    """
    now = find_pool(connection, first.name)
    if now is None or any(
        getattr(now, name) != getattr(first, name)
        for name in ("id", "generation", "erased", "initial", "settings")
    ):
        raise _ReplacedError
    return now


class _Replay:
    """A replay of the whole log, which is compared with what is stored as it goes on.

    running : the pool at the position `after`
    through : the last record that the ratings of the pool take into account
    written : number of changes so far
    """

    def __init__(self, connection: Connection, pool: PoolRecord) -> None:
        through = replays.rated_through(connection, pool)
        self.running: RunningPool = running_from_start(connection, pool, rules_of(pool.settings))
        self.through = pool.last_seq if through is None else through
        self.checkpoints = CheckpointChecks(connection, pool)
        self.after = START
        self.written = 0

    def advance(self, connection: Connection, pool: PoolRecord, found: Findings) -> bool:
        """Compare the next matches, at the end everything else; return whether this is the end."""
        batch = self._next_batch(connection, pool)
        end = _END if batch.last else batch.end
        stored = changes.rows_after(connection, pool, self.after, end)
        rows: dict[str, Sequence[Any]] = {}
        if batch.matches:
            rows = self.checkpoints.rate(connection, pool, self.running, batch.matches, found)
        self.written += _compare_changes(rows, stored, found)
        self.after = batch.end
        if batch.last:
            self.checkpoints.finish(connection, pool, self.running, found)
            self._compare_end(connection, pool, found)
        return batch.last

    def _next_batch(self, connection: Connection, pool: PoolRecord) -> Piece:
        """Return the next matches to rate, as many as are rated at once.

        The log is read up to the last match that is rated, so that matches posted after this come
        after what was read: void matches may be at any later time. Only the last transaction reads
        these as well, as the time of the last match may be wrong.
        """
        amendments = amendments_of(connection, pool, self.through)
        until = START[0] if pool.rated_to is None else pool.rated_to
        to_end, last, after, players = False, False, self.after, 0
        matches: list[LoggedMatch] = []
        while not last and (to_end or players < sizes_of(connection).batch):
            limit = None if to_end else until
            piece = counted_piece(connection, pool, amendments, after, limit)
            if piece.last and not to_end:
                to_end = True
                continue
            matches += piece.matches
            after, last = piece.end, piece.last
            players += sum([len(t.players) for one in piece.matches for t in one.request.teams])
        return Piece(matches, after, last)

    def _compare_end(self, connection: Connection, pool: PoolRecord, found: Findings) -> None:
        """Compare the ratings and the pool with the end of the replay."""
        versions = settings_versions(connection, pool, found)
        check_ratings(connection, pool, self.running, versions, found)
        replayed = Replayed(len(self.running.players), self.written)
        compare_pool(connection, pool, replayed, changes.count_of(connection, pool), found)


def _compare_changes(
    rows: dict[str, Sequence[Any]], stored: list[tuple[Any, ...]], found: Findings
) -> int:
    """Compare the changes of rated matches with the stored ones; return their number.

    rows : the changes as columns; none without matches
    """
    replayed = sorted(zip(*(rows[name] for name in BY_POSITION if rows), strict=True))
    # Equal numbers other than 0 have equal bits.
    zeros = 0.0 in rows.get("rating", ())
    if stored != replayed or (zeros and not _are_identical(stored, replayed)):
        _find_differences(stored, replayed, found)
    return len(replayed)


def _are_identical(stored: list[tuple[Any, ...]], replayed: list[tuple[Any, ...]]) -> bool:
    """Return whether rows of `BY_POSITION` are the same, bit for bit: 0.0 is not -0.0."""
    if stored != replayed:
        return False
    if 0.0 not in [row[_RATING] for row in replayed]:
        return True  # Equal numbers other than 0 have equal bits.
    shown = [[row[_RATING].hex() for row in rows] for rows in (stored, replayed)]
    return shown[0] == shown[1]


def _find_differences(
    stored: list[tuple[Any, ...]], replayed: list[tuple[Any, ...]], found: Findings
) -> None:
    """Add the differences between stored and replayed rows of `BY_POSITION`."""
    kept_rows = {row[:_KEY]: row for row in stored}
    for row in replayed:
        kept = kept_rows.pop(row[:_KEY], None)
        _, seq, player, *_, rating, _ = row
        if kept is None:
            found.add(f"record {seq}, player {player}: no change is stored")
        elif not _are_identical([kept], [row]):
            found.add(
                f"record {seq}, player {player}: stored rating {kept[_RATING]!r}, "
                f"replayed {rating!r}"
            )
    for _, seq, player in kept_rows:
        found.add(f"record {seq}, player {player}: a change is stored that the log does not give")
