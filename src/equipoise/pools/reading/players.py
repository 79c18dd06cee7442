"""Players of a pool: a player's numbers as of a time, rated matches, and ratings over time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sqlalchemy import Connection

from equipoise.errors import InvalidParameterError, require
from equipoise.messages.conversion import json_value
from equipoise.messages.matches import Moment
from equipoise.messages.players import (
    PlayerHistory,
    PlayerMatch,
    PlayerMessage,
    RatingTimeline,
)
from equipoise.pools.amended_log import Eligibility, EligibilityRecord, amendments_of_matches
from equipoise.pools.pool.known_ratings import cached_known
from equipoise.pools.pool.pages import check_limit, decode_cursor, encode_cursor
from equipoise.pools.pool.rules import PoolRules, days, iso, moment, rules_of, written
from equipoise.pools.posting.rated_rows import day_of, days_idle, display, unpack_extra
from equipoise.pools.reading.leaderboard import LeaderboardView
from equipoise.rating.player_state import unpack_players
from equipoise.rating.system import RatingColumns
from equipoise.store import changes, log, ratings
from equipoise.store.changes import ChangeRow
from equipoise.store.connection import Store
from equipoise.store.pools import PoolRecord, get_pool
from equipoise.store.ratings import RatingRow

#: Matches of one timeline at most.
MOST_MATCHES = 20_000

#: Columns of a system that are fields of PlayerMessage; the others are in its `extra`.
_FIXED = ("rating", "deviation", "matches", "last_time")


def player(store: Store, pool: str, player_id: str, *, at: Moment | None = None) -> PlayerMessage:
    """Return a player's numbers, as of a time or of the last match.

    Raises : NotFoundError, InvalidParameterError
    """
    with store.read() as connection:
        record = get_pool(connection, pool)
        rules = rules_of(record.settings)
        row = ratings.get_rating(connection, record, player_id)
        known = ratings.states_of(connection, record.id, record.generation, [player_id])
        listed = not row.provisional and not row.disqualified
        place = LeaderboardView(connection, record, False, None).place(row) if listed else None
        eligibility = Eligibility.of_players(connection, record, [player_id])
        known_ratings = cached_known(connection, record)
    disqualification = eligibility.disqualification_of(player_id)
    begun = None if known_ratings is None else known_ratings.of(player_id)
    when = None if at is None else moment(at, "at")
    if when is not None and not rules.timed:
        raise InvalidParameterError("at must be left out: this pool has no times")
    if when is not None and row.last_time is not None and when < row.last_time:
        raise InvalidParameterError(
            f"at must not be before the player's last match, {written(row.last_time, rules)}"
        )
    now = _numbers_at(rules, record, row, known[player_id].state, when)
    return PlayerMessage(
        pool=pool,
        player=player_id,
        place=place,
        # Without a time it is the rating on the leaderboard.
        display=0.0 - row.ordering if when is None else _display_at(rules, now, when),
        rating=row.rating if when is None else float(now["rating"][0]),
        deviation=json_value(now["deviation"][0]),
        matches=row.matches,
        last_time=written(row.last_time, rules),
        at=written(when, rules),
        provisional=row.provisional,
        disqualified=None
        if disqualification is None
        else _disqualified_since(disqualification, rules),
        extra={name: json_value(column[0]) for name, column in now.items() if name not in _FIXED},
        known_rating=None if begun is None else begun[0],
        known_deviation=None if begun is None else begun[1],
    )


def _numbers_at(
    rules: PoolRules, pool: PoolRecord, row: RatingRow, state: bytes, when: int | None
) -> RatingColumns:
    """Return a player's numbers as of a time; without the system's package those of the last match.

    Raises : PluginError for a time, which needs the package
    """
    if rules.fault and when is None:
        deviation = np.nan if row.deviation is None else row.deviation
        return {"rating": np.array([row.rating]), "deviation": np.array([deviation])}
    found = unpack_players(rules.system, [state])
    found.shared = pool.shared
    return rules.system.at(found, np.zeros(1, np.int64), None if when is None else days(when))


def _display_at(rules: PoolRules, now: RatingColumns, when: int) -> float:
    """Return the rating shown of a player as of a time."""
    idle = days_idle(now["last_time"], day_of(when))
    return float(display(rules, now["rating"], now["deviation"], idle)[0])


def _disqualified_since(record: EligibilityRecord, rules: PoolRules) -> int | str:
    """Return the time that a disqualification names, or else when it was received."""
    since = written(record.since, rules)
    return iso(record.received) if since is None else since


def player_history(
    store: Store, pool: str, player_id: str, *, cursor: str | None = None, limit: int = 50
) -> PlayerHistory:
    """Return a player's rated matches, newest first.

    Raises : NotFoundError, InvalidParameterError
    """
    check_limit(limit)
    before = decode_cursor(cursor, tuple[int, int])
    with store.read() as connection:
        record = get_pool(connection, pool)
        rules = rules_of(record.settings)
        ratings.get_rating(connection, record, player_id)
        rows = changes.changes_of_player(connection, record, player_id, before, limit + 1)
        shown = rows[:limit]
        posted = played_times(connection, record, [row.seq for row in shown])
    last = shown[-1] if len(rows) > limit else None
    return PlayerHistory(
        pool=pool,
        player=player_id,
        matches=[_player_match(row, *posted[row.seq], rules) for row in shown],
        next=None if last is None else encode_cursor((last.time, last.seq)),
    )


def drawn_matches(
    store: Store, pool: str, player_id: str, *, cursor: str | None = None, limit: int = 50
) -> set[int]:
    """Return the records of those matches of `player_history` that were draws of two sides.

    Raises : NotFoundError, InvalidParameterError
    """
    before = decode_cursor(cursor, tuple[int, int])
    with store.read() as connection:
        record = get_pool(connection, pool)
        rows = changes.changes_of_player(connection, record, player_id, before, limit)
        return {
            row.seq
            for row in rows
            if row.teams == 2
            and row.rank == 0
            and all(
                one.rank == 0
                for one in changes.changes_of_match(
                    connection, record, (row.time, row.seq)
                ).values()
            )
        }


def rating_timeline(store: Store, pool: str, player: str, *, most: int) -> RatingTimeline:
    """Return a player's last rated matches as columns, oldest first.

    Raises : NotFoundError, InvalidParameterError
    """
    require(1 <= most <= MOST_MATCHES, "most", f"from 1 to {MOST_MATCHES}", most)
    with store.read() as connection:
        record = get_pool(connection, pool)
        timed = rules_of(record.settings).timed
        own = ratings.get_rating(connection, record, player)
        rows = changes.changes_of_player(connection, record, player, None, most)[::-1]
        posted = played_times(connection, record, [row.seq for row in rows])
    return RatingTimeline(
        player=player,
        matches=[posted[row.seq][0] for row in rows],
        times=[row.time / 1e6 for row in rows] if timed else None,
        ratings=[row.rating for row in rows],
        deviations=[row.deviation for row in rows],
        changes=[row.rating - row.rating_before for row in rows],
        ranks=[row.rank + 1 for row in rows],
        teams=[row.teams for row in rows],
        performances=[row.performance for row in rows],
        left_out=max(own.matches - len(rows), 0),
        played=[posted[row.seq][1] is not None for row in rows],
    )


def played_times(
    connection: Connection, pool: PoolRecord, seqs: Sequence[int]
) -> dict[int, tuple[str, int | None]]:
    """Return the id of a match and the time given for it, or None, by the number of its record."""
    posted = log.posted_times(connection, pool.id, seqs)
    amendments = amendments_of_matches(connection, pool, [match for match, _ in posted.values()])
    return {
        seq: (match, amendments.time_played(match, time)) for seq, (match, time) in posted.items()
    }


def _player_match(
    row: ChangeRow, match_id: str, played: int | None, rules: PoolRules
) -> PlayerMatch:
    return PlayerMatch(
        match=match_id,
        seq=row.seq,
        time=written(row.time, rules),
        rank=row.rank + 1,
        teams=row.teams,
        rating_before=row.rating_before,
        deviation_before=row.deviation_before,
        rating=row.rating,
        deviation=row.deviation,
        change=row.rating - row.rating_before,
        expected=row.expected,
        performance=row.performance,
        extra=unpack_extra(rules, row.extra),
        played=written(played, rules),
    )


def ratings_of_players(
    store: Store, pool: str, players: Sequence[str]
) -> dict[str, tuple[float, float | None]]:
    """Return rating and deviation of those players who are in the pool, by id.

    Raises : NotFoundError
    """
    wanted = [one for one in players if "\0" not in one]
    with store.read() as connection:
        record = get_pool(connection, pool)
        found = ratings.ratings_of(connection, record.id, record.generation, wanted)
    return {player: (row.rating, row.deviation) for player, row in found.items()}
