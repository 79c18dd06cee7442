"""The leaderboard of a pool: its pages, and players found by a part of their id.

Ratings are as of each player's last match, best first. A page begins at a cursor: the player next
to it, and the place of the next player. Cursors of a leaderboard lead forwards or backwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from sqlalchemy import Connection

from equipoise.data.history import MICROSECONDS_PER_DAY
from equipoise.errors import InvalidParameterError, require
from equipoise.messages.players import (
    LeaderboardMessage,
    LeaderboardRow,
)
from equipoise.pools.pool.pages import check_limit, decode_cursor, encode_cursor
from equipoise.pools.pool.rules import PoolRules, rules_of, written
from equipoise.store import ratings
from equipoise.store.connection import Store
from equipoise.store.derived import summaries
from equipoise.store.pools import PoolRecord, get_pool
from equipoise.store.ratings import RatingRow
from equipoise.store.schema import is_name

#: Players that one search returns at most.
MOST_FOUND = 200

#: Whether disqualified players come after all others, or are ranked among them.
LeaderboardOrder: TypeAlias = Literal["last", "ranked"]

#: What puts players in order: whether disqualified, minus the rating shown, player.
_Key: TypeAlias = tuple[bool, float, str]

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
) -> LeaderboardMessage:
    """Return a page of the leaderboard: ratings as of each player's last match, best first.

    cursor : from an earlier page; None starts at the top
    limit : rows, from 1 to 1000
    provisional, inactive : whether to list such players
    disqualified : list them "last", after all others and without a place, or "ranked" among the
        others
    around : put this player in the middle of the page; cannot be combined with cursor
    Raises : NotFoundError, InvalidParameterError
    """
    check_limit(limit)
    if cursor is not None and around is not None:
        raise InvalidParameterError("around cannot be combined with cursor")
    start = _read_cursor(cursor)
    with store.read() as connection:
        record = get_pool(connection, pool)
        rules = rules_of(record.settings)
        since = _active_since(record, rules, inactive)
        view = LeaderboardView(
            connection, record, provisional, since, ranked=disqualified == "ranked"
        )
        if around is not None:
            rows, first = view.around(around, limit)
            more = bool(view.after(rows[-1], 1))
        else:
            rows, first, more = view.page(start, limit)
    places, following = view.places(rows, first)
    is_top = bool(rows) and (first == 1 or (first is None and start is None))
    return LeaderboardMessage(
        pool=pool,
        generation=record.generation,
        players_in_pool=record.players,
        players=[_message(row, place, rules) for row, place in zip(rows, places, strict=True)],
        previous=None if is_top or not rows else _written_cursor(True, rows[0], first),
        next=_written_cursor(False, rows[-1], following) if more else None,
    )


def search_players(store: Store, pool: str, text: str, *, limit: int) -> list[LeaderboardRow]:
    """Return players whose id contains a text, best first. Their places are left out.

    limit : from 1 to 200
    Raises : NotFoundError, InvalidParameterError
    """
    require(1 <= limit <= MOST_FOUND, "limit", f"from 1 to {MOST_FOUND}", limit)
    with store.read() as connection:
        record = get_pool(connection, pool)
        rules = rules_of(record.settings)
        # No id has this text, and databases cannot search for it.
        found = summaries.players_with(connection, record, text, limit) if is_name(text) else []
    return [_message(row, None, rules) for row in found]


class LeaderboardView:
    """The leaderboard of a pool with some kinds of players, read in one transaction.

    provisional : whether provisional players are listed
    since : players whose last match was earlier are not listed; None lists all
    ranked : whether disqualified players are ranked among the others; otherwise they come after
        all others, without a place
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

    def page(self, cursor: _Cursor | None, limit: int) -> tuple[list[RatingRow], int | None, bool]:
        """Return the rows after or before a cursor, the first one's place, and if more follow."""
        backwards = False
        key: _Key | None = None
        place: int | None = 1
        if cursor is not None:
            backwards, ordering, player, place, disqualified = cursor
            key = (disqualified, ordering, player)
        # One more than is shown tells whether more follow, without a query of its own.
        rows = self._rows(key, limit + (not backwards), backwards)
        if not backwards:
            return rows[:limit], place, len(rows) > limit
        # Players may have joined above since the cursor was made. At the top the places are
        # counted from 1 again.
        listed = sum(self._lists(row) for row in rows)
        first = None if place is None else max(place - listed, 1)
        more = bool(rows) and bool(self.after(rows[0], 1))
        return rows[::-1], 1 if len(rows) < limit else first, more

    def around(self, player: str, limit: int) -> tuple[list[RatingRow], int | None]:
        """Return the rows around a player, and the first one's place. Raises : NotFoundError."""
        row = ratings.get_rating(self._connection, self._pool, player)
        above = self._rows(_key(row), limit // 2, backwards=True)[::-1]
        below = self._rows(_key(row), limit - len(above) - 1)
        return [*above, row, *below], self.place(row) - sum(self._lists(one) for one in above)

    def after(self, row: RatingRow, limit: int) -> list[RatingRow]:
        """Return the rows after one."""
        return self._rows(_key(row), limit)

    def place(self, row: RatingRow) -> int:
        """Return the place that a player has, or would have, among the players listed."""
        return ratings.place_of(
            self._connection,
            self._pool,
            None if row.disqualified and not self._ranked else row,
            provisional=self._provisional,
            disqualified=self._ranked,
            active_since=self._since,
        )

    def places(
        self, rows: Sequence[RatingRow], first: int | None
    ) -> tuple[list[int | None], int | None]:
        """Return the places of rows, None for a player without one, and the next place."""
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

    def _rows(self, key: _Key | None, limit: int, backwards: bool = False) -> list[RatingRow]:
        """Return the rows after a key, or before it, nearest first; None starts at the top."""
        sections: list[bool | None] = [None]
        if not self._ranked:
            # A pool without amendments has no disqualified players.
            sections = [False, True] if self._pool.amendments else [False]
            if backwards:
                sections.reverse()
            if key is not None and key[0] in sections:
                sections = sections[sections.index(key[0]) :]
        found: list[RatingRow] = []
        for section in sections:
            inside = key is not None and section in (None, key[0])
            if len(found) < limit:
                found += ratings.leaderboard(
                    self._connection,
                    self._pool.id,
                    self._pool.generation,
                    after=key[1:] if key is not None and inside else None,
                    limit=limit - len(found),
                    provisional=self._provisional,
                    disqualified=section,
                    active_since=self._since,
                    backwards=backwards,
                )
        return found


def _active_since(pool: PoolRecord, rules: PoolRules, inactive: bool) -> int | None:
    """Return the time before which a last match makes a player inactive; None lists all players."""
    within = rules.settings.inactive_days
    if inactive or within is None or pool.last_time is None or not rules.timed:
        return None
    return pool.last_time - int(within * MICROSECONDS_PER_DAY)


def _message(row: RatingRow, place: int | None, rules: PoolRules) -> LeaderboardRow:
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
    )


def _key(row: RatingRow) -> _Key:
    return row.disqualified, row.ordering, row.player


def _written_cursor(backwards: bool, row: RatingRow, place: int | None) -> str:
    """Return the cursor of the page after a row, or before it; place : of the next row."""
    return encode_cursor((backwards, row.ordering, row.player, place, row.disqualified))


def _read_cursor(cursor: str | None) -> _Cursor | None:
    """Return what a cursor says. Raises : InvalidParameterError."""
    try:
        return decode_cursor(cursor, tuple[bool, float, str, int | None, bool])
    except InvalidParameterError:
        # A cursor from before leaderboards showed disqualified players.
        found = decode_cursor(cursor, tuple[bool, float, str, int | None])
        return None if found is None else (*found, False)
