"""The leaderboard of a pool, and the page of a player.

Ratings are as of each player's last match, best first. A page begins at a cursor: the player next
to it, and the place of the next player. Cursors of a leaderboard lead forwards or backwards.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import msgspec
import numpy as np
from sqlalchemy import Connection

from equipoise.data.history import MICROSECONDS_PER_DAY
from equipoise.errors import InvalidParameterError, NotFoundError, require
from equipoise.messages.conversion import json_value
from equipoise.messages.matches import (
    ContextMessage,
    LeaderboardMessage,
    LeaderboardRow,
    Moment,
    PlayerHistory,
    PlayerMessage,
    RatingTimeline,
)
from equipoise.pools.pool.pools import check_page, decode_cursor, encode_cursor, read_pool
from equipoise.pools.pool.rules import PoolRules, days, iso, moment, written
from equipoise.pools.posting.rating import day_of, days_idle, display, numbers_of
from equipoise.pools.profiles import folded
from equipoise.pools.reading.summaries import MatchContents
from equipoise.pools.records import (
    Eligibility,
    amendments_of_matches,
    cached_known,
    ids_of,
    renames_rated,
)
from equipoise.rating.contexts import CONTEXT, in_context
from equipoise.rating.one_call.call import require_context
from equipoise.rating.predicting import of_match
from equipoise.rating.state import unpack_players
from equipoise.rating.system import RatingColumns
from equipoise.store import changes, log, profiles, ratings
from equipoise.store.bulk import is_name
from equipoise.store.connection import Store
from equipoise.store.pools import PoolRecord, rated_through
from equipoise.store.ratings import RatingRow

#: Players that one search returns at most.
MOST_FOUND = 200

#: Whether disqualified players come after all others, or are ranked among them.
LeaderboardOrder: TypeAlias = Literal["last", "ranked"]

#: What puts players in order: whether disqualified, minus the rating shown, player.
_Key: TypeAlias = tuple[bool, float, str]

#: Players up to which a pool has leaderboards of contexts.
_MOST_IN_CONTEXT = 50_000

#: A cursor: whether it leads backwards, minus the rating shown and the player next to it, the
#: place of the next player, and whether that player is disqualified.
_Cursor: TypeAlias = tuple[bool, float, str, int | None, bool]


def leaderboard(
    store: Store,
    pool: str,
    *,
    cursor: str | None = None,
    limit: int = 50,
    provisional: bool = False,
    inactive: bool = True,
    around: str | None = None,
    disqualified: LeaderboardOrder = "last",
    context: str | None = None,
) -> LeaderboardMessage:
    """Return a page of the leaderboard: ratings as of each player's last match, best first.

    cursor : from an earlier page; None starts at the top
    limit : rows, from 1 to 1000
    provisional, inactive : whether to list such players
    disqualified : list them "last", after all others and without a place, or "ranked" among the
        others
    around : put this player in the middle of the page; cannot be combined with cursor
    context : show and order ratings in this context, where the pool counts contexts
    Raises : NotFoundError, InvalidParameterError
    """
    check_page(limit, cursor, around)
    start = _read_cursor(cursor)
    with read_pool(store, pool) as (connection, record, rules):
        since = _active_since(record, rules, inactive)
        view = LeaderboardView(connection, record, provisional, since, disqualified == "ranked")
        if context is not None:
            view = ContextLeaderboardView(view, rules, context)
        if around is not None:
            around = renames_rated(connection, record).get(around, around)
            rows, first = view.around(around, limit)
            more = bool(view.after(rows[-1], 1))
        else:
            rows, first, more = view.page(start, limit)
        names = _names(connection, record, rows)
    places, following = view.places(rows, first)
    is_top = bool(rows) and (first == 1 or (first is None and start is None))
    return LeaderboardMessage(
        pool=pool,
        generation=record.generation,
        players_in_pool=record.players,
        players=[
            _message(row, place, rules, names.get(row.player))
            for row, place in zip(rows, places, strict=True)
        ],
        previous=None if is_top or not rows else _written_cursor(True, rows[0], first),
        next=_written_cursor(False, rows[-1], following) if more else None,
    )


def search_players(store: Store, pool: str, text: str, *, limit: int) -> list[LeaderboardRow]:
    """Return players whose id or name contains a text, best first. Their places are left out.

    limit : from 1 to 200
    Raises : NotFoundError, InvalidParameterError
    """
    require(1 <= limit <= MOST_FOUND, "limit", f"from 1 to {MOST_FOUND}", limit)
    with read_pool(store, pool) as (connection, record, rules):
        # No id has this text, and databases cannot search for it.
        matching = changes.players_with(connection, record, text, limit) if is_name(text) else []
        if record.profiled and is_name(text):
            named = profiles.players_named(connection, record, folded(text), limit)
            every = {row.player: row for row in (*matching, *named)}.values()
            matching = sorted(every, key=lambda row: (row.disqualified, row.ordering, row.player))
            matching = matching[:limit]
        names = _names(connection, record, matching)
    return [_message(row, None, rules, names.get(row.player)) for row in matching]


def _names(connection: Connection, pool: PoolRecord, rows: Sequence[RatingRow]) -> dict[str, str]:
    """Return the names of the players of rows who have one, by id."""
    if not pool.profiled:
        return {}
    found = profiles.profiles_of(connection, pool.id, [row.player for row in rows])
    return {player: profile.name for player, profile in found.items() if profile.name}


@dataclass(slots=True)
class LeaderboardView:
    """The leaderboard of a pool with some kinds of players, read in one transaction.

    provisional : whether provisional players are listed
    since : players whose last match was earlier are not listed; None lists all
    ranked : whether disqualified players are ranked among the others; otherwise they come after
        all others, without a place
    """

    connection: Connection
    pool: PoolRecord
    provisional: bool
    since: int | None
    ranked: bool = False

    def page(self, cursor: _Cursor | None, limit: int) -> tuple[list[RatingRow], int | None, bool]:
        """Return the rows after or before a cursor, the first one's place, and if more follow."""
        backwards = False
        key: _Key | None = None
        place: int | None = 1
        if cursor is not None:
            backwards, ordering, player, place, disqualified = cursor
            key = (disqualified and not self.ranked, ordering, player)
        # One more than is shown tells whether more follow, without a query of its own.
        rows = self.rows(key, limit + (not backwards), backwards)
        if not backwards:
            return rows[:limit], place, len(rows) > limit
        # Players may have joined above since the cursor was made. At the top the places are
        # counted from 1 again.
        listed = sum(self.lists(row) for row in rows)
        first = None if place is None else max(place - listed, 1)
        more = bool(rows) and bool(self.after(rows[0], 1))
        return rows[::-1], 1 if len(rows) < limit else first, more

    def around(self, player: str, limit: int) -> tuple[list[RatingRow], int | None]:
        """Return the rows around a player, and the first one's place. Raises : NotFoundError."""
        row = self.row(player)
        above = self.rows(self.key(row), limit // 2, backwards=True)[::-1]
        below = self.after(row, limit - len(above) - 1)
        return [*above, row, *below], self.place(row) - sum(self.lists(higher) for higher in above)

    def after(self, row: RatingRow, limit: int) -> list[RatingRow]:
        """Return the rows after one."""
        return self.rows(self.key(row), limit)

    def place(self, row: RatingRow | None) -> int:
        """Return the place that a player has, or would have, among the players listed.

        row : None for one who comes after all of them
        """
        return ratings.place_of(
            self.connection,
            self.pool,
            None if row is None or (row.disqualified and not self.ranked) else row,
            provisional=self.provisional,
            disqualified=self.ranked,
            active_since=self.since,
        )

    def places(
        self, rows: Sequence[RatingRow], first: int | None
    ) -> tuple[list[int | None], int | None]:
        """Return the places of rows, None for a player without one, and the next place."""
        places: list[int | None] = []
        for row in rows:
            listed = first is not None and self.lists(row)
            places.append(first if listed else None)
            first = first + 1 if first is not None and listed else first
        return places, first

    def lists(self, row: RatingRow) -> bool:
        """Return whether a player has a place; others may be shown without one."""
        return self.shows(row) and (self.ranked or not row.disqualified)

    def shows(self, row: RatingRow) -> bool:
        """Return whether a player is shown, with a place or without one."""
        active = self.since is None or (row.last_time is not None and row.last_time >= self.since)
        return active and (self.provisional or not row.provisional)

    def key(self, row: RatingRow) -> _Key:
        """Return what puts a player in order."""
        return row.disqualified and not self.ranked, row.ordering, row.player

    def row(self, player: str) -> RatingRow:
        """Return the row of a player. Raises : NotFoundError."""
        return ratings.get_rating(self.connection, self.pool, player)

    def rows(self, key: _Key | None, limit: int, backwards: bool = False) -> list[RatingRow]:
        """Return the rows after a key, or before it, nearest first; None starts at the top."""
        sections: list[bool | None] = [None]
        if not self.ranked:
            # A pool without amendments has no disqualified players.
            sections = [False, True] if self.pool.amendments else [False]
            if backwards:
                sections.reverse()
            if key is not None and key[0] in sections:
                sections = sections[sections.index(key[0]) :]
        rows: list[RatingRow] = []
        for section in sections:
            if len(rows) < limit:
                rows += ratings.leaderboard(
                    self.connection,
                    self.pool.id,
                    self.pool.generation,
                    after=key[1:] if key is not None and section in (None, key[0]) else None,
                    limit=limit - len(rows),
                    provisional=self.provisional,
                    disqualified=section,
                    active_since=self.since,
                    backwards=backwards,
                )
        return rows


class ContextLeaderboardView(LeaderboardView):
    """The leaderboard of a pool in a context, which is computed from the states of all players."""

    def __init__(self, view: LeaderboardView, rules: PoolRules, context: str) -> None:
        """Compute the ratings; view : the leaderboard without a context.

        Raises : InvalidParameterError if the pool counts no contexts, or has too many players
        """
        super().__init__(view.connection, view.pool, view.provisional, view.since, view.ranked)
        require_context(rules.system, rules.able, context)
        players = self.pool.players
        most = f"left out in a pool of more than {_MOST_IN_CONTEXT:,} players"
        require(players <= _MOST_IN_CONTEXT, "context", most, f"{players:,} players")
        every = _rows_in_context(self.connection, self.pool, rules, context)
        self._of_player = {row.player: row for row in every}
        self._shown = sorted(filter(self.shows, every), key=self.key)

    def row(self, player: str) -> RatingRow:
        """Return the row of a player. Raises : NotFoundError."""
        found = self._of_player.get(player)
        return super().row(player) if found is None else found

    def place(self, row: RatingRow | None) -> int:
        """Return the place that a player has, or would have, among the players listed."""
        listed = [other for other in self._shown if self.lists(other)]
        if row is None or (row.disqualified and not self.ranked):
            return len(listed) + 1
        return bisect_left(listed, self.key(row), key=self.key) + 1

    def rows(self, key: _Key | None, limit: int, backwards: bool = False) -> list[RatingRow]:
        """Return the rows after a key, or before it, nearest first; None starts at the top."""
        shown = self._shown
        if key is not None and backwards:
            shown = shown[: bisect_left(shown, key, key=self.key)]
        elif key is not None:
            shown = shown[bisect_right(shown, key, key=self.key) :]
        return shown[::-1][:limit] if backwards else shown[:limit]


def _rows_in_context(
    connection: Connection, pool: PoolRecord, rules: PoolRules, context: str
) -> list[RatingRow]:
    """Return the rows of all players with their ratings in a context."""
    rows: list[RatingRow] = []
    for players in ratings.players_by_rating(connection, pool.id, pool.generation):
        stored = ratings.states_of(connection, pool.id, pool.generation, players)
        without = ratings.ratings_of(connection, pool.id, pool.generation, players)
        state = unpack_players(rules.system, [stored[player].state for player in players])
        state.shared = pool.shared
        now = numbers_of(rules.system, state, np.arange(len(players)))
        rating, deviation = of_match(rules.system, state, now["rating"], now["deviation"], context)
        shown = display(rules, rating, deviation, days_idle(now["last_time"], pool.board_day))
        rows += [
            without[player]._replace(
                ordering=-float(shown[i]),
                rating=float(rating[i]),
                deviation=json_value(deviation[i]),
            )
            for i, player in enumerate(players)
        ]
    return rows


def ranked_players(store: Store, pool: str, player_id: str | None = None) -> tuple[int | None, int]:
    """Return the place of a player among active, settled ones, None without one; their number.

    Raises : NotFoundError
    """
    with read_pool(store, pool) as (connection, record, rules):
        since = _active_since(record, rules, inactive=False)
        view = LeaderboardView(connection, record, False, since)
        row = None if player_id is None else view.row(player_id)
        place = None if row is None or not view.lists(row) else view.place(row)
        return place, view.place(None) - 1


def recent_ratings(
    store: Store, pool: str, players: Sequence[str], days_before: float
) -> dict[str, list[float]]:
    """Return ratings of players in the days before the pool's last match, oldest first.

    The first is the rating before these days. Players without a match in them, or without one
    before them, are left out, and all players in pools without times.
    """
    with read_pool(store, pool) as (connection, record, rules):
        if not rules.timed or record.last_time is None:
            return {}
        since = record.last_time - int(days_before * MICROSECONDS_PER_DAY)
        return changes.ratings_since(connection, record, players, since)


def _active_since(pool: PoolRecord, rules: PoolRules, inactive: bool) -> int | None:
    """Return the time before which a last match makes a player inactive; None lists all players."""
    within = rules.settings.inactive_days
    if inactive or within is None or pool.last_time is None or not rules.timed:
        return None
    return pool.last_time - int(within * MICROSECONDS_PER_DAY)


def _message(
    row: RatingRow, place: int | None, rules: PoolRules, name: str | None
) -> LeaderboardRow:
    return LeaderboardRow(
        place=place,
        player=row.player,
        # 0.0 instead of -0.0.
        display=0.0 - row.ordering,
        rating=row.rating,
        deviation=row.deviation,
        matches=row.matches,
        last_time=written(row.last_time, rules),
        provisional=row.provisional,
        disqualified=row.disqualified,
        name=name,
        tier=rules.tier(0.0 - row.ordering),
    )


def _written_cursor(backwards: bool, row: RatingRow, place: int | None) -> str:
    """Return the cursor of the page after a row, or before it; place : of the next row."""
    return encode_cursor((backwards, row.ordering, row.player, place, row.disqualified))


def _read_cursor(cursor: str | None) -> _Cursor | None:
    """Return what a cursor says. Raises : InvalidParameterError."""
    try:
        return decode_cursor(cursor, tuple[bool, float, str, int | None, bool])
    except InvalidParameterError:
        # A cursor from before leaderboards showed disqualified players.
        decoded = decode_cursor(cursor, tuple[bool, float, str, int | None])
        return None if decoded is None else (*decoded, False)


#: Matches of one timeline at most.
MOST_MATCHES = 20_000

#: Matches of a player that name the contexts of the player's page.
_MOST_OF_CONTEXTS = 200

#: Columns of a system that are fields of PlayerMessage; the others are in its `extra`.
_FIXED = ("rating", "deviation", "matches", "last_time")


def player(store: Store, pool: str, player_id: str, *, at: Moment | None = None) -> PlayerMessage:
    """Return a player's numbers, as of a time or of the last match.

    Raises : NotFoundError, InvalidParameterError
    """
    with read_pool(store, pool) as (connection, record, rules):
        row = ratings.get_rating(connection, record, player_id)
        known = ratings.states_of(connection, record.id, record.generation, [player_id])
        listed = not row.provisional and not row.disqualified
        place = LeaderboardView(connection, record, False, None).place(row) if listed else None
        renames = renames_rated(connection, record)
        eligibility = Eligibility.of_players(connection, record, [player_id], renames)
        known_ratings = cached_known(connection, record)
        named = profiles.profiles_of(connection, record.id, [player_id]) if record.profiled else {}
        profile = named.get(player_id)
        offsets = _offsets(connection, record, rules, player_id, known[player_id].state)
    disqualification = eligibility.disqualification_of(player_id)
    begun = None
    if known_ratings is not None:
        begun = next(filter(None, map(known_ratings.of, ids_of(renames, player_id))), None)
    when = None if at is None else moment(at, "at")
    if when is not None and not rules.timed:
        raise InvalidParameterError("at must be left out: this pool has no times")
    if when is not None and row.last_time is not None and when < row.last_time:
        raise InvalidParameterError(
            f"at must not be before the player's last match, {written(row.last_time, rules)}"
        )
    now = _numbers_at(rules, record, row, known[player_id].state, when)
    # Without a time it is the rating on the leaderboard.
    shown = 0.0 - row.ordering
    if when is not None:
        idle = days_idle(now["last_time"], day_of(when))
        shown = float(display(rules, now["rating"], now["deviation"], idle)[0])
    since = None
    if disqualification is not None:
        since = written(disqualification.since, rules)
        since = iso(disqualification.received) if since is None else since
    return PlayerMessage(
        pool=pool,
        player=player_id,
        place=place,
        display=shown,
        rating=row.rating if when is None else float(now["rating"][0]),
        deviation=json_value(now["deviation"][0]),
        matches=row.matches,
        last_time=written(row.last_time, rules),
        at=written(when, rules),
        provisional=row.provisional,
        disqualified=since,
        extra={name: json_value(column[0]) for name, column in now.items() if name not in _FIXED},
        known_rating=None if begun is None else begun[0],
        known_deviation=None if begun is None else begun[1],
        name=None if profile is None else profile.name or None,
        link=None if profile is None else profile.link,
        attributes={} if profile is None else msgspec.json.decode(profile.attributes),
        tier=rules.tier(shown),
        contexts=offsets,
    )


def _offsets(
    connection: Connection, pool: PoolRecord, rules: PoolRules, player: str, packed: bytes
) -> list[ContextMessage]:
    """Return the offsets of a player in the contexts of the last matches, largest first."""
    if rules.fault or CONTEXT not in rules.able.uses:
        return []
    state, zero, row = unpack_players(rules.system, [packed]), np.zeros(1), np.zeros(1, np.int64)
    state.shared = pool.shared
    rows = changes.changes_of_player(connection, pool, player, None, _MOST_OF_CONTEXTS)
    contents = MatchContents(connection, pool, rows)
    offsets = {}
    for name in dict.fromkeys(contents.context(row, player) for row in rows):
        if name is not None:
            fresh = rules.system.context_deviation  # type: ignore[attr-defined]
            (offset,), (deviation,) = in_context(state, row, zero, zero, fresh, name)
            offsets[name] = ContextMessage(name, float(offset), float(deviation))
    return sorted(offsets.values(), key=lambda offset: (-offset.offset, offset.context))


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


def player_history(
    store: Store,
    pool: str,
    player_id: str,
    *,
    cursor: str | None = None,
    limit: int = 50,
    around: str | None = None,
) -> PlayerHistory:
    """Return a player's rated matches, newest first.

    around : put this match in the middle of the page; cannot be combined with cursor
    Raises : NotFoundError, InvalidParameterError
    """
    check_page(limit, cursor, around)
    before = decode_cursor(cursor, tuple[int, int])
    with read_pool(store, pool) as (connection, record, rules):
        ratings.get_rating(connection, record, player_id)
        if around is not None:
            logged = log.get_match(connection, record, around)
            through = rated_through(connection, record)
            amended = amendments_of_matches(connection, record, [around], through)
            middle = amended.position(logged)
            if player_id not in changes.changes_of_match(connection, record, middle, [player_id]):
                raise NotFoundError(f"match {around!r} changed no rating of player {player_id!r}")
            time, seq = changes.change_after(connection, record, player_id, middle, limit // 2)
            before = (time, seq + 1)
        rows = changes.changes_of_player(connection, record, player_id, before, limit + 1)
        shown = rows[:limit]
        lines = MatchContents(connection, record, shown).lines(rules, player_id, shown)
    last = shown[-1] if len(rows) > limit else None
    return PlayerHistory(
        pool=pool,
        player=player_id,
        matches=lines,
        next=None if last is None else encode_cursor((last.time, last.seq)),
    )


def rating_timeline(store: Store, pool: str, player: str, *, most: int) -> RatingTimeline:
    """Return a player's last rated matches as columns, oldest first.

    Raises : NotFoundError, InvalidParameterError
    """
    require(1 <= most <= MOST_MATCHES, "most", f"from 1 to {MOST_MATCHES}", most)
    with read_pool(store, pool) as (connection, record, rules):
        own = ratings.get_rating(connection, record, player)
        rows = changes.changes_of_player(connection, record, player, None, most)[::-1]
        posted = log.posted_times(connection, record.id, [row.seq for row in rows])
        ids = [posted[row.seq][0] for row in rows]
        amendments = amendments_of_matches(connection, record, ids)
    played = (amendments.time_played(*posted[row.seq]) for row in rows)
    return RatingTimeline(
        player=player,
        matches=ids,
        times=[row.time / 1e6 for row in rows] if rules.timed else None,
        ratings=[row.rating for row in rows],
        deviations=[row.deviation for row in rows],
        changes=[row.rating - row.rating_before for row in rows],
        ranks=[row.rank + 1 for row in rows],
        teams=[row.teams for row in rows],
        performances=[row.performance for row in rows],
        left_out=max(own.matches - len(rows), 0),
        played=[time is not None for time in played],
    )


def ratings_of_players(
    store: Store, pool: str, players: Sequence[str]
) -> dict[str, tuple[float, float | None]]:
    """Return rating and deviation of those players who are in the pool, by present or earlier id.

    Raises : NotFoundError
    """
    wanted = [player for player in players if "\0" not in player]
    with read_pool(store, pool) as (connection, record, _):
        renames = renames_rated(connection, record)
        present = {player: renames.get(player, player) for player in wanted}
        rows = ratings.ratings_of(
            connection, record.id, record.generation, list(set(present.values()))
        )
    found = ((player, rows.get(now)) for player, now in present.items())
    return {player: (row.rating, row.deviation) for player, row in found if row is not None}
