"""Reading a pool: its leaderboard, its players, their matches.

People of a pool: found by a part of their name, looked up together, followed over time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Literal, TypeAlias

import numpy as np
from sqlalchemy import Connection

from equipoise.data.history import MICROSECONDS_PER_DAY
from equipoise.errors import InvalidParameterError, NotFoundError, require
from equipoise.messages.conversion import json_value
from equipoise.messages.matches import MatchMessage, MatchPage, Moment
from equipoise.messages.players import (
    LeaderboardMessage,
    LeaderboardRow,
    PlayerHistory,
    PlayerMatch,
    PlayerMessage,
    RatingTimeline,
)
from equipoise.pools.amended_log import Amendments, Eligibility, amendments_of_matches
from equipoise.pools.pool.pools import cursor_in, cursor_out, iso, rules_of, written
from equipoise.pools.posting.match_history import players_of
from equipoise.pools.posting.match_messages import MatchState, match_line, match_message
from equipoise.pools.posting.posted_matches import PoolRules, days, moment
from equipoise.pools.posting.rated_rows import day_of, days_idle, display, unpack_extra
from equipoise.rating.player_state import unpack_players
from equipoise.rating.system import RatingColumns
from equipoise.store import changes, log, ratings, replays, summaries
from equipoise.store.changes import ChangeRow
from equipoise.store.connection import Store
from equipoise.store.log import LogRecord
from equipoise.store.pools import PoolRecord, get_pool
from equipoise.store.ratings import RatingRow

#: Rows of a page at most.
MOST_ROWS = 1000

#: Where those who are disqualified stand: after all others, or among them.
BoardOrder: TypeAlias = Literal["last", "ranked"]

#: A row's place in the order: whether it is disqualified, and its (ordering, player).
_Mark: TypeAlias = tuple[bool, float, str]
#: What a cursor says: whether it leads backwards, (ordering, player), the place of what follows,
#: and whether the player is disqualified.
_Place: TypeAlias = tuple[bool, float, str, int | None, bool]

#: Numbers of a player that have a place of their own in the answer.
_FIXED = ("rating", "deviation", "matches", "last_time")


def leaderboard(
    store: Store,
    pool: str,
    *,
    cursor: str | None = None,
    limit: int = 50,
    provisional: bool = False,
    inactive: bool = True,
    around: str | None = None,
    disqualified: BoardOrder = "last",
) -> LeaderboardMessage:
    """Return a page of the leaderboard: ratings as of each player's last match, best first.

    cursor : of an earlier answer; None is the top
    limit : rows, from 1 to 1000
    provisional, inactive : whether those are listed too
    disqualified : those are listed "last", after all others and without a place, or "ranked" among
        the others
    around : a player in the middle of the page, instead of a cursor
    Raises : NotFoundError, InvalidParameterError
    """
    _check_limit(limit)
    if cursor is not None and around is not None:
        raise InvalidParameterError("around cannot be combined with cursor")
    place = _place_in(cursor)
    with store.read() as connection:
        record = get_pool(connection, pool)
        rules = rules_of(record.settings)
        since = _active_since(record, rules, inactive)
        view = _View(connection, record, provisional, since, ranked=disqualified == "ranked")
        if around is not None:
            rows, first = view.around(around, limit)
            more = bool(view.after(rows[-1], 1))
        else:
            rows, first, more = view.page(place, limit)
    places, following = view.places(rows, first)
    begins = bool(rows) and (first == 1 or (first is None and place is None))
    return LeaderboardMessage(
        pool=pool,
        generation=record.generation,
        players_in_pool=record.players,
        players=_board_rows(rows, places, rules),
        previous=None if begins or not rows else _cursor(True, rows[0], first),
        next=_cursor(False, rows[-1], following) if more else None,
    )


class _View:
    """The players whom a leaderboard lists.

    ranked : those who are disqualified stand among the others; otherwise after all of them
    """

    def __init__(
        self,
        connection: Connection,
        pool: PoolRecord,
        provisional: bool,
        since: int | None,
        *,
        ranked: bool = False,
    ) -> None:
        self._connection, self._pool = connection, pool
        self._provisional, self._since, self._ranked = provisional, since, ranked

    def page(self, place: _Place | None, limit: int) -> tuple[list[RatingRow], int | None, bool]:
        """Return the rows after or before a place, the place of the first, and if more follow."""
        backwards = False
        mark: _Mark | None = None
        number: int | None = 1
        if place is not None:
            backwards, mark, number = place[0], (place[4], place[1], place[2]), place[3]
        # One more than is shown tells whether more follow, without a query of its own.
        rows = self._rows(mark, limit + (not backwards), backwards)
        if not backwards:
            return rows[:limit], number, len(rows) > limit
        # Whoever has joined above since then is met at the top: the places are then counted anew.
        listed = sum(self._lists(row) for row in rows)
        first = None if number is None else max(number - listed, 1)
        more = bool(rows) and bool(self.after(rows[0], 1))
        return rows[::-1], 1 if len(rows) < limit else first, more

    def around(self, player: str, limit: int) -> tuple[list[RatingRow], int | None]:
        """Return the rows around a player, and the place of the first. Raises : NotFoundError."""
        row = _rating(self._connection, self._pool, player)
        above = self._rows(_mark(row), limit // 2, backwards=True)[::-1]
        below = self._rows(_mark(row), limit - len(above) - 1)
        return [*above, row, *below], self.place(row) - sum(self._lists(one) for one in above)

    def places(
        self, rows: Sequence[RatingRow], first: int | None
    ) -> tuple[list[int | None], int | None]:
        """Return the places of rows, None for whoever is shown but not listed, and the next one."""
        found: list[int | None] = []
        for row in rows:
            listed = first is not None and self._lists(row)
            found.append(first if listed else None)
            first = first + 1 if first is not None and listed else first
        return found, first

    def _lists(self, row: RatingRow) -> bool:
        """Return whether a player has a place; others may be shown without one."""
        if row.disqualified and not self._ranked:
            return False
        active = self._since is None or (row.last_time is not None and row.last_time >= self._since)
        return active and (self._provisional or not row.provisional)

    def after(self, row: RatingRow, limit: int) -> list[RatingRow]:
        """Return the rows after one."""
        return self._rows(_mark(row), limit)

    def place(self, row: RatingRow) -> int:
        """Return the place that a player has, or would have, among those listed."""
        return ratings.place_of(
            self._connection,
            self._pool.id,
            self._pool.generation,
            None if row.disqualified and not self._ranked else row,
            provisional=self._provisional,
            disqualified=self._ranked,
            active_since=self._since,
        )

    def _rows(self, mark: _Mark | None, limit: int, backwards: bool = False) -> list[RatingRow]:
        """Return the rows after a mark, or before it, nearest first."""
        sections: list[bool | None] = [None]
        if not self._ranked:
            # Nobody is disqualified where nothing was amended.
            sections = [False, True] if self._pool.amendments else [False]
            if backwards:
                sections.reverse()
            if mark is not None and mark[0] in sections:
                sections = sections[sections.index(mark[0]) :]
        found: list[RatingRow] = []
        for section in sections:
            inside = mark is not None and section in (None, mark[0])
            if len(found) < limit:
                found += ratings.leaderboard(
                    self._connection,
                    self._pool.id,
                    self._pool.generation,
                    after=mark[1:] if mark is not None and inside else None,
                    limit=limit - len(found),
                    provisional=self._provisional,
                    disqualified=section,
                    active_since=self._since,
                    backwards=backwards,
                )
        return found


def player(store: Store, pool: str, player_id: str, *, at: Moment | None = None) -> PlayerMessage:
    """Return a player's numbers, as of a time or of the last match.

    Raises : NotFoundError, InvalidParameterError
    """
    with store.read() as connection:
        record = get_pool(connection, pool)
        rules = rules_of(record.settings)
        row = _rating(connection, record, player_id)
        known = ratings.states_of(connection, record.id, record.generation, [player_id])
        listed = not row.provisional and not row.disqualified
        place = _View(connection, record, False, None).place(row) if listed else None
        barred = Eligibility.of_players(connection, record, [player_id]).barred_now(player_id)
    when = None if at is None else moment(at, "at")
    if when is not None and not rules.timed:
        raise InvalidParameterError("at must be left out: this pool has no times")
    if when is not None and row.last_time is not None and when < row.last_time:
        raise InvalidParameterError(
            f"at must not be before the player's last match, {written(row.last_time, rules)}"
        )
    state = unpack_players(rules.system, [known[player_id].state])
    state.shared = record.shared
    now = rules.system.at(state, np.zeros(1, np.int64), None if when is None else days(when))
    return PlayerMessage(
        pool=pool,
        player=player_id,
        place=place,
        # Without a time it is what the leaderboard has.
        display=0.0 - row.ordering if when is None else _shown(rules, now, when),
        rating=float(now["rating"][0]),
        deviation=json_value(now["deviation"][0]),
        matches=row.matches,
        last_time=written(row.last_time, rules),
        at=written(when, rules),
        provisional=row.provisional,
        disqualified=None if barred is None else _since(barred.since, barred.received, rules),
        extra={name: json_value(column[0]) for name, column in now.items() if name not in _FIXED},
    )


def _shown(rules: PoolRules, now: RatingColumns, when: int) -> float:
    """Return the rating that is shown of a player as of a time."""
    idle = days_idle(now["last_time"], day_of(when))
    return float(display(rules, now["rating"], now["deviation"], idle)[0])


def player_history(
    store: Store, pool: str, player_id: str, *, cursor: str | None = None, limit: int = 50
) -> PlayerHistory:
    """Return a player's rated matches, newest first.

    Raises : NotFoundError, InvalidParameterError
    """
    _check_limit(limit)
    before = cursor_in(cursor, tuple[int, int])
    with store.read() as connection:
        record = get_pool(connection, pool)
        rules = rules_of(record.settings)
        _rating(connection, record, player_id)
        rows = changes.changes_of_player(connection, record, player_id, before, limit + 1)
        shown = rows[:limit]
        posted = played_times(connection, record, [row.seq for row in shown])
    last = shown[-1] if len(rows) > limit else None
    return PlayerHistory(
        pool=pool,
        player=player_id,
        matches=[_player_match(row, *posted[row.seq], rules) for row in shown],
        next=None if last is None else cursor_out((last.time, last.seq)),
    )


def match(store: Store, pool: str, match_id: str) -> MatchMessage:
    """Return a match and what it did. Raises : NotFoundError."""
    with store.read() as connection:
        record = get_pool(connection, pool)
        found = stored_matches(connection, record, rules_of(record.settings), [match_id])
    if match_id not in found:
        raise NotFoundError(f"no match {match_id!r} in pool {pool!r}")
    return found[match_id]


def matches(store: Store, pool: str, *, cursor: str | None = None, limit: int = 50) -> MatchPage:
    """Return matches as they were posted, newest first. Raises : NotFoundError."""
    _check_limit(limit)
    before = cursor_in(cursor, tuple[int, int])
    with store.read() as connection:
        record = get_pool(connection, pool)
        rules = rules_of(record.settings)
        entries = log.matches_before(connection, record.id, before, limit + 1)
        names = [str(one.match) for one in entries]
        amendments = amendments_of_matches(connection, record, names)
        through = _replayed(connection, record)
    shown = entries[:limit]
    more = len(entries) > limit
    return MatchPage(
        matches=[match_line(one, match_state(one, amendments, through), rules) for one in shown],
        next=cursor_out(shown[-1].position) if more else None,
    )


def stored_matches(
    connection: Connection, pool: PoolRecord, rules: PoolRules, ids: Iterable[str]
) -> dict[str, MatchMessage]:
    """Return those matches that are in the log, with what they did, by id."""
    entries = log.matches_by_id(connection, pool.id, ids)
    amendments = amendments_of_matches(connection, pool, entries)
    through = _replayed(connection, pool)
    replayed = amendments
    if through is not None and amendments.corrections:
        replayed = amendments_of_matches(connection, pool, entries, through)
    states = {name: match_state(entry, amendments, through) for name, entry in entries.items()}
    everyone = {player for one in states.values() for player in players_of(one.request)}
    eligible = Eligibility.of_players(connection, pool, everyone)
    found = {}
    for match_id, entry in entries.items():
        state = states[match_id]
        # While a correction waits for its replay, the changes are those of what it corrects.
        place = (replayed.time(entry), entry.seq)
        rows = changes.changes_of_match(connection, pool, place)
        if eligible:
            players, position = players_of(state.request), (state.time, entry.seq)
            state = replace(state, barred=frozenset(eligible.barred(players, match_id, position)))
        found[match_id] = match_message(entry, state, rows, rules)
    return found


def match_state(entry: LogRecord, amendments: Amendments, through: int | None) -> MatchState:
    """Return how a match counts now.

    through : last entry that ratings take into account; None: all
    """
    request = amendments.request(entry)
    name = str(entry.match)
    waits = through is not None and (
        (entry.needs_replay and entry.seq > through) or amendments.touched.get(name, 0) > through
    )
    status = "void" if name in amendments.void else "rated" if request.rated else "unrated"
    correction = amendments.corrections.get(name)
    return MatchState(
        request=request,
        time=amendments.time(entry),
        played=amendments.time_played(name, entry.posted_time),
        status="pending" if waits else status,
        corrected=None if correction is None else correction.seq,
    )


def _replayed(connection: Connection, pool: PoolRecord) -> int | None:
    """Return the last entry that ratings take into account, None where that is all of them."""
    return None if pool.dirty is None else replays.last_through(connection, pool.id)


def _rating(connection: Connection, pool: PoolRecord, player_id: str) -> RatingRow:
    """Return a player's rating. Raises : NotFoundError."""
    found = ratings.rating_of(connection, pool.id, pool.generation, player_id)
    if found is None:
        raise NotFoundError(f"no player {player_id!r} in pool {pool.name!r}")
    return found


def _active_since(pool: PoolRecord, rules: PoolRules, inactive: bool) -> int | None:
    """Return the time before which a last match makes a player inactive; None: all are listed."""
    within = rules.settings.inactive_days
    if inactive or within is None or pool.last_time is None or not rules.timed:
        return None
    return pool.last_time - int(within * MICROSECONDS_PER_DAY)


def _board_rows(
    rows: Sequence[RatingRow], places: Sequence[int | None], rules: PoolRules
) -> list[LeaderboardRow]:
    return [
        LeaderboardRow(
            place=place,
            player=row.player,
            # Minus zero is no rating to show.
            display=0.0 - row.ordering,
            rating=row.rating,
            deviation=row.deviation,
            matches=row.matches,
            last_time=written(row.last_time, rules),
            provisional=row.provisional,
            disqualified=row.disqualified,
        )
        for place, row in zip(places, rows, strict=True)
    ]


def played_times(
    connection: Connection, pool: PoolRecord, seqs: Sequence[int]
) -> dict[int, tuple[str, int | None]]:
    """Return ids of matches and the times given for them, None for none, by log record."""
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
        extra=unpack_extra(rules.system, row.extra),
        played=written(played, rules),
    )


def _mark(row: RatingRow) -> _Mark:
    return row.disqualified, row.ordering, row.player


def _cursor(backwards: bool, row: RatingRow, number: int | None) -> str:
    """Return the cursor of the page after a row, or before it; number : place of what follows."""
    disqualified, *mark = _mark(row)
    return cursor_out((backwards, *mark, number, disqualified))


def _place_in(cursor: str | None) -> _Place | None:
    """Return the place of a cursor. Raises : InvalidParameterError."""
    try:
        return cursor_in(cursor, tuple[bool, float, str, int | None, bool])
    except InvalidParameterError:
        # One that was given when the board knew nothing of disqualified players.
        found = cursor_in(cursor, tuple[bool, float, str, int | None])
        return None if found is None else (*found, False)


def _since(since: int | None, received: int, rules: PoolRules) -> int | str:
    """Return from when on a player is barred; by the clock where no time was named."""
    found = written(since, rules)
    return iso(received) if found is None else found


def _check_limit(limit: int) -> None:
    require(1 <= limit <= MOST_ROWS, "limit", f"from 1 to {MOST_ROWS}", limit)


#: Players that one search returns, and matches of one timeline, at most.
MOST_FOUND, MOST_MATCHES = 200, 20_000


def search_players(store: Store, pool: str, text: str, *, limit: int) -> list[LeaderboardRow]:
    """Return players in whose id a text stands, best first; their places are not looked up.

    Raises : NotFoundError, InvalidParameterError
    """
    require(1 <= limit <= MOST_FOUND, "limit", f"from 1 to {MOST_FOUND}", limit)
    with store.read() as connection:
        record = get_pool(connection, pool)
        rules = rules_of(record.settings)
        # PostgreSQL cannot look for NUL, and no id has one.
        found = [] if "\0" in text else summaries.players_with(connection, record, text, limit)
    return [
        LeaderboardRow(
            place=None,
            player=row.player,
            display=0.0 - row.ordering,
            rating=row.rating,
            deviation=row.deviation,
            matches=row.matches,
            last_time=written(row.last_time, rules),
            provisional=row.provisional,
            disqualified=row.disqualified,
        )
        for row in found
    ]


def ratings_of_players(
    store: Store, pool: str, players: Sequence[str]
) -> dict[str, tuple[float, float | None]]:
    """Return rating and deviation of those players that the pool knows. Raises : NotFoundError."""
    wanted = [one for one in players if "\0" not in one]
    with store.read() as connection:
        record = get_pool(connection, pool)
        found = ratings.ratings_of(connection, record.id, record.generation, wanted)
    return {player: (row.rating, row.deviation) for player, row in found.items()}


def rating_timeline(store: Store, pool: str, player: str, *, most: int) -> RatingTimeline:
    """Return a player's last rated matches as columns, oldest first.

    Raises : NotFoundError, InvalidParameterError
    """
    require(1 <= most <= MOST_MATCHES, "most", f"from 1 to {MOST_MATCHES}", most)
    with store.read() as connection:
        record = get_pool(connection, pool)
        timed = rules_of(record.settings).timed
        own = ratings.rating_of(connection, record.id, record.generation, player)
        if own is None:
            raise NotFoundError(f"no player {player!r} in pool {pool!r}")
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
