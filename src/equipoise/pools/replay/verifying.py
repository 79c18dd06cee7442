"""Verifying a pool: a full replay of its log must give the stored numbers, bit for bit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sqlalchemy import Connection

from equipoise.analysis.clock import working_time
from equipoise.data.missing import or_nan
from equipoise.messages.pools import VerifyMessage
from equipoise.pools.amended_log import Piece, amendments_of, counted_piece
from equipoise.pools.pool.rules import rules_of
from equipoise.pools.posting.match_history import LoggedMatch
from equipoise.pools.posting.rated_rows import display
from equipoise.pools.replay.checkpointing import RunningPool, running_from_start
from equipoise.rating.player_state import pack_players
from equipoise.store import changes, log, ratings, replays
from equipoise.store.bulk import without_collection
from equipoise.store.changes import BY_POSITION
from equipoise.store.connection import Store
from equipoise.store.pools import START, PoolRecord, Position, get_pool
from equipoise.store.sizes import sizes_of
from equipoise.wording import counted

#: Differences that are listed; the others are counted.
_LISTED = 20
#: How often a verification begins in short transactions.
_ATTEMPTS = 2
#: After all positions.
_END: Position = (2**62, 2**62)
#: In rows of `BY_POSITION`: the place of the rating, and how many columns are the key.
_RATING, _KEY = BY_POSITION.index("rating"), 3


@dataclass(slots=True)
class _Findings:
    """The differences found."""

    count: int = 0
    listed: list[str] = field(default_factory=list)

    def add(self, sentence: str) -> None:
        self.count += 1
        if len(self.listed) < _LISTED:
            self.listed.append(sentence)


class _ReplacedError(Exception):
    """A replay has replaced the ratings that are verified."""


def verify_pool(
    store: Store, pool: str, progress: Callable[[int, int], None] | None = None
) -> VerifyMessage:
    """Return whether a replay of the whole log gives the stored ratings and changes.

    The log is read in short transactions, and followed until its end; the last of them also reads
    the ratings. If a replay replaces the ratings meanwhile, all begins again, the third time in one
    transaction. A pool that waits for a replay is compared with the log as of its last replay.
    progress : called with (matches replayed, matches in the log)
    Raises : NotFoundError
    """
    started, show = working_time(), progress or (lambda done, total: None)
    for _ in range(_ATTEMPTS):
        with suppress(_ReplacedError):
            return _verified(store, pool, show, started)
    with store.moment() as snapshot:
        return _verified(snapshot, pool, show, started)


def _verified(
    store: Store, pool: str, progress: Callable[[int, int], None], started: float
) -> VerifyMessage:
    """Return what `verify_pool` does. Raises : _ReplacedError, NotFoundError."""
    found = _Findings()
    with store.read() as connection:
        first = get_pool(connection, pool)
        through = replays.rated_through(connection, first)
        through = first.last_seq if through is None else through
        running = running_from_start(connection, first, rules_of(first.settings))
    written, after, last = 0, START, False
    while not last:
        with store.read() as connection, without_collection():
            record = get_pool(connection, pool)
            if (record.id, record.generation) != (first.id, first.generation):
                raise _ReplacedError
            batch = _next_batch(connection, record, through, after)
            last, end = batch.last, _END if batch.last else batch.end
            stored = changes.rows_after(connection, record, after, end)
            rows = running.rate(batch.matches)[0] if batch.matches else {}
            written += _compare_changes(rows, stored, found)
            after = batch.end
            if last:
                _compare_ratings(connection, record, running, found)
                _compare_board(connection, record, found)
                _compare_numbers(connection, record, found)
        progress(running.matches, record.matches)
    return VerifyMessage(
        pool=pool,
        identical=found.count == 0,
        matches=running.matches,
        players=len(running.players),
        changes=written,
        different=found.count,
        differences=found.listed,
        seconds=working_time() - started,
    )


def _next_batch(connection: Connection, pool: PoolRecord, through: int, after: Position) -> Piece:
    """Return the next matches to rate, as many as are rated at once.

    through : the last record that the ratings of the pool take into account
    """
    amendments = amendments_of(connection, pool, through)
    matches: list[LoggedMatch] = []
    last, players = False, 0
    while not last and players < sizes_of(connection).batch:
        piece = counted_piece(connection, pool, amendments, after)
        matches += piece.matches
        after, last = piece.end, piece.last
        players += sum([len(t.players) for one in piece.matches for t in one.request.teams])
    return Piece(matches, after, last)


def _compare_changes(
    rows: dict[str, Sequence[Any]], stored: list[tuple[Any, ...]], found: _Findings
) -> int:
    """Compare the changes of rated matches with the stored ones; return their number.

    rows : the changes as columns; none without matches
    """
    replayed = sorted(zip(*(rows[name] for name in BY_POSITION if rows), strict=True))
    if not _are_identical(stored, replayed):
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
    stored: list[tuple[Any, ...]], replayed: list[tuple[Any, ...]], found: _Findings
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


def _compare_numbers(connection: Connection, pool: PoolRecord, found: _Findings) -> None:
    """Compare the number of records with the number of the last one."""
    records = log.count_of(connection, pool.id)
    if records != pool.last_seq:
        found.add(
            f"the log has {counted(records, 'record')}, and the last one has number {pool.last_seq}"
        )


def _compare_ratings(
    connection: Connection, pool: PoolRecord, running: RunningPool, found: _Findings
) -> None:
    """Compare the stored state of every player, and the state that they share."""
    states = pack_players(running.state)
    last = zip(running.last_changes.time.tolist(), running.last_changes.seq.tolist(), strict=True)
    expected = dict(zip(running.players, zip(states, last, strict=True), strict=True))
    for rows in ratings.all_states(connection, pool.id, pool.generation):
        for player, state, *change in rows:
            replayed = expected.pop(player, None)
            if replayed is None:
                found.add(f"player {player}: a rating is stored that the log does not give")
            elif replayed[0] != bytes(state):
                found.add(f"player {player}: the stored state differs from the replayed one")
            elif replayed[1] != tuple(change):
                found.add(f"player {player}: the last change is not the one of the log")
    for player in expected:
        found.add(f"player {player}: no rating is stored")
    shared = running.state.shared
    same = shared.keys() == pool.shared.keys() and all(
        np.array_equal(shared[name], pool.shared[name], equal_nan=True) for name in shared
    )
    if not same:
        found.add("the state that all players share differs")
    if pool.players != len(running.players):
        found.add(
            f"the pool counts {counted(pool.players, 'player')}, "
            f"the log has {len(running.players):,}"
        )


def _compare_board(connection: Connection, pool: PoolRecord, found: _Findings) -> None:
    """Compare the leaderboard with the ratings, the settings and the log."""
    rules, eligible = rules_of(pool.settings), amendments_of(connection, pool).eligibility
    # The order may lag behind while ratings shown decay or changed settings are written.
    ordered = pool.board_day is None and pool.board_from is None
    for rows in ratings.all_ratings(connection, pool.id, pool.generation):
        deviation = or_nan(row.deviation for row in rows)
        shown = display(rules, np.array([row.rating for row in rows]), deviation)
        for row, value in zip(rows, shown.tolist(), strict=True):
            if row.disqualified != (eligible.disqualification_of(row.player) is not None):
                found.add(f"player {row.player}: the mark 'disqualified' disagrees with the log")
            if pool.board_from is None and row.provisional != (
                row.matches < rules.settings.placement_matches
            ):
                found.add(
                    f"player {row.player}: the mark 'provisional' disagrees with the settings"
                )
            if ordered and row.ordering != -value:
                found.add(f"player {row.player}: the leaderboard shows a different rating")
