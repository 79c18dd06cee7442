"""Verifying a pool: a full replay of its log must give the stored numbers, bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from sqlalchemy import Connection

from equipoise.analysis.clock import working_time
from equipoise.data.missing import or_nan
from equipoise.messages.pools import VerifyMessage
from equipoise.pools.amended_log import amendments_of, counted_matches
from equipoise.pools.pool.rules import rules_of
from equipoise.pools.posting.match_history import LoggedMatch
from equipoise.pools.posting.rated_rows import display
from equipoise.pools.replay.checkpointing import RunningPool, running_from_start
from equipoise.rating.player_state import pack_players
from equipoise.store import changes, log, ratings, replays
from equipoise.store.changes import COLUMNS, ChangeRow, change_row
from equipoise.store.connection import Store
from equipoise.store.pools import START, PoolRecord, get_pool
from equipoise.wording import counted

#: Differences that are listed; the others are counted.
_LISTED = 20


@dataclass(slots=True)
class _Findings:
    """The differences found."""

    count: int = 0
    listed: list[str] = field(default_factory=list)

    def add(self, sentence: str) -> None:
        self.count += 1
        if len(self.listed) < _LISTED:
            self.listed.append(sentence)


def verify_pool(
    store: Store, pool: str, progress: Callable[[int, int], None] | None = None
) -> VerifyMessage:
    """Return whether a replay of the whole log gives the stored ratings and changes.

    A pool that waits for a replay is compared with the log as of its last replay.
    progress : called with (matches replayed, matches in the log)
    Raises : NotFoundError
    """
    started, found = working_time(), _Findings()
    with store.read() as connection:
        record = get_pool(connection, pool)
        through = replays.rated_through(connection, record)
        amendments = amendments_of(connection, record, through)
        running = running_from_start(connection, record, rules_of(record.settings))
        written = 0
        for matches in counted_matches(connection, record, amendments, START):
            written += _compare_changes(connection, record, running, matches, found)
            if progress is not None:
                progress(running.matches, record.matches)
        _compare_ratings(connection, record, running, found)
        _compare_board(connection, record, found)
        stored = changes.count_of(connection, record)
        if stored != written:
            found.add(
                f"{counted(stored, 'change is', 'changes are')} stored, "
                f"and the log gives {written:,}"
            )
        records = log.count_of(connection, record.id)
        if records != record.last_seq:
            found.add(
                f"the log has {counted(records, 'record')}, "
                f"and the last one has number {record.last_seq}"
            )
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


def _compare_changes(
    connection: Connection,
    pool: PoolRecord,
    running: RunningPool,
    matches: list[LoggedMatch],
    found: _Findings,
) -> int:
    """Rate matches and compare their changes with the stored ones; return their number."""
    if not matches:
        return 0
    rows, _ = running.rate(matches)
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
