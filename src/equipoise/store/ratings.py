"""The ratings of a pool's players, and their order on the leaderboard.

Counting a player's place in the table, or comparing every id with a text, takes time in proportion
to the number of players. In memory, both are a few operations on arrays. A standing belongs to one
record of the log and never changes. The next one is made from it and from the changes since, as
long as only matches were posted; after anything else it is read again.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import (
    Column,
    Connection,
    Row,
    bindparam,
    false,
    func,
    select,
    true,
    tuple_,
    union_all,
    update,
)

from equipoise.arrays import Flags, Floats, Ints
from equipoise.errors import NotFoundError
from equipoise.store.bulk import Prepared, PreparedEach, among, insert, sizes_of
from equipoise.store.log import salt_of
from equipoise.store.pools import PoolRecord, row_value
from equipoise.store.schema import changes, ratings

#: Name of the execution option of a connection that reads, with the standings of its store.
OPTION = "equipoise_standings"

#: Records since a standing after which it is read again instead of brought up to date.
_MOST_RECORDS = 20_000
#: Standings kept of one pool, for readers of slightly older moments; players kept of all pools.
_KEPT, _MOST_PLAYERS = 3, 2_000_000
#: Occurrences of a text up to which they are looked up one by one. Of a more frequent text, the
#: best players with it are probably among the best of all, so many of which are tried first.
_FEW, _BEST = 1_000, 20_000

#: Columns of which the index of the leaderboard consists, so that only that index is read.
_COLUMNS = tuple(ratings.c[name] for name in ("player", "ordering", "provisional", "disqualified"))
_MINE = (
    ratings.c.pool == bindparam("of_pool"),
    ratings.c.generation == bindparam("of_generation"),
)
_ALL = Prepared(select(*_COLUMNS).where(*_MINE))
#: Players of matches rated since a position.
_TOUCHED = select(changes.c.player).where(
    changes.c.pool == bindparam("of_pool"),
    tuple_(changes.c.time, changes.c.seq) > tuple_(bindparam("time"), bindparam("seq")),
    changes.c.generation == bindparam("of_generation"),
)
_CHANGED = Prepared(select(*_COLUMNS).where(*_MINE, ratings.c.player.in_(_TOUCHED)))


class _Moment(NamedTuple):
    """What must be equal for two standings to differ by posted matches only.

    board_day, board_from : they change where ratings get other places without a record in the log
    """

    pool: int
    generation: int
    amendments: int
    board_day: int | None
    board_from: str | None


class _End(NamedTuple):
    """The last record that a standing follows from.

    time : the latest time at which a match counts, 0 for none
    head : of the hash chain after the record
    salt : of the record, which no record of another history has; empty where it has none
    """

    seq: int
    time: int
    head: bytes
    salt: bytes


@dataclass(frozen=True)
class Standing:
    """All players of a pool after one record of its log, by id.

    names : ids, sorted; the other columns have their order
    ordering : minus the rating shown
    """

    moment: _Moment
    end: _End
    names: list[str]
    ordering: Floats
    provisional: Flags
    disqualified: Flags

    def place(self, row: tuple[float, str] | None, *, provisional: bool, disqualified: bool) -> int:
        """Return a place as `store.ratings.place_of` counts it; row : (ordering, player)."""
        listed = np.ones(len(self.names), bool)
        if not disqualified:
            listed &= ~self.disqualified
        if not provisional:
            listed &= ~self.provisional
        if row is None:
            return 1 + int(np.count_nonzero(listed))
        ordering, player = row
        before = int(np.count_nonzero(listed & (self.ordering < ordering)))
        at = bisect_left(self.names, player)
        ties = listed[:at] & (self.ordering[:at] == ordering)
        return 1 + before + int(np.count_nonzero(ties))

    def containing(self, text: str, limit: int) -> list[str]:
        """Return players whose id contains a text, regardless of the case of A to Z, best first.

        Disqualified players come after all others.
        """
        wanted = text.encode().lower()
        if not wanted:
            rows = np.arange(len(self.names))
        else:
            places = self._few_places(wanted)
            if places is None:
                best = self._best_with(wanted, limit)
                if len(best) == limit:
                    return best
                places = self._many_places(wanted)
            rows = np.unique(np.searchsorted(self._text[1], places, side="right") - 1)
        order = np.lexsort((rows, self.ordering[rows], self.disqualified[rows]))
        return [self.names[row] for row in rows[order[:limit]].tolist()]

    def _best_with(self, wanted: bytes, limit: int) -> list[str]:
        """Return the best of the best players whose ids contain a text in lower case."""
        names: list[str] = []
        for row in self._best:
            name = self.names[row]
            if wanted in name.encode().lower():
                names.append(name)
                if len(names) == limit:
                    break
        return names

    @cached_property
    def _best(self) -> list[int]:
        """Return the rows of the best players in order, without disqualified ones."""
        rows = np.flatnonzero(~self.disqualified)
        if len(rows) > _BEST:
            ordering = self.ordering[rows]
            # All players who tie with the last of the best are among them.
            rows = rows[ordering <= np.partition(ordering, _BEST)[_BEST]]
        best: list[int] = rows[np.lexsort((rows, self.ordering[rows]))].tolist()
        return best

    def _few_places(self, wanted: bytes) -> Ints | None:
        """Return where a text in lower case is in all ids; None if it is there too often."""
        content = self._text[0]
        positions, at = [], content.find(wanted)
        while at >= 0:
            positions.append(at)
            if len(positions) > _FEW:
                return None
            at = content.find(wanted, at + 1)
        return np.array(positions, np.int64)

    def _many_places(self, wanted: bytes) -> Ints:
        """Return where a text in lower case is in all ids, if it is there often."""
        letters = np.frombuffer(self._text[0], np.uint8)
        places = np.flatnonzero(letters[: len(letters) - len(wanted) + 1] == wanted[0])
        for step, letter in enumerate(wanted[1:], start=1):
            places = places[letters[places + step] == letter]
        return places

    @cached_property
    def _text(self) -> tuple[bytes, Ints]:
        """Return all ids in lower case, each followed by NUL, which no id has; and their begins."""
        encoded = [name.encode() for name in self.names]
        lengths = np.array([len(name) + 1 for name in encoded], np.int64)
        return b"\0".join(encoded).lower() + b"\0", np.cumsum(lengths) - lengths

    def followed_by(self, rows: Iterable[Sequence[Any]], end: _End) -> Standing:
        """Return the standing after new rows of players; rows : of `_COLUMNS`."""
        # Code points have the order of UTF-8, in which both databases compare ids.
        new_rows = sorted(tuple(row) for row in rows)
        at = np.array([bisect_left(self.names, row[0]) for row in new_rows], np.int64)
        known = np.array(
            [
                place < len(self.names) and self.names[place] == row[0]
                for place, row in zip(at.tolist(), new_rows, strict=True)
            ],
            bool,
        )
        names = self.names
        columns: list[Any] = [self.ordering, self.provisional, self.disqualified]
        if not known.all():
            new = np.flatnonzero(~known)
            # Both parts are sorted, so that this takes one pass.
            names = sorted(names + [new_rows[row][0] for row in new.tolist()])
            columns = [np.insert(column, at[new], 0) for column in columns]
            at += np.cumsum(~known) - ~known
        else:
            columns = [column.copy() for column in columns]
        for column, values in zip(columns, _arrays(new_rows), strict=True):
            column[at] = values
        after = replace(
            self,
            end=end,
            names=names,
            ordering=columns[0],
            provisional=columns[1],
            disqualified=columns[2],
        )
        if names is self.names and "_text" in self.__dict__:
            after.__dict__["_text"] = self._text
        return after


def _arrays(rows: Sequence[Sequence[Any]]) -> tuple[Floats, Flags, Flags]:
    """Return rows of `_COLUMNS` as arrays, without the ids."""
    return (
        np.array([row[1] for row in rows], np.float64),
        np.array([row[2] for row in rows], bool),
        np.array([row[3] for row in rows], bool),
    )


class Standings:
    """The last standings of the pools of a store, for readers in several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._making: defaultdict[int, threading.Lock] = defaultdict(threading.Lock)
        self._kept: OrderedDict[int, list[Standing]] = OrderedDict()

    def get(self, connection: Connection, pool: PoolRecord) -> Standing:
        """Return the standing of a pool in the snapshot of a connection.

        One thread makes it, and those that want it at the same time wait.
        """
        with self._lock:
            making = self._making[pool.id]
        with making:
            moment = _moment_of(pool)
            with self._lock:
                kept = list(self._kept.get(pool.id, ()))
            for standing in reversed(kept):
                if standing.moment == moment and standing.end.head == pool.head:
                    return standing
            made = _made(connection, pool, moment, kept)
            self._keep(made)
            return made

    def _keep(self, standing: Standing) -> None:
        with self._lock:
            pool = standing.moment.pool
            kept = self._kept.pop(pool, [])
            self._kept[pool] = [*kept[1 - _KEPT :], standing]
            while len(self._kept) > 1 and (
                sum(len(boards[-1].names) for boards in self._kept.values()) > _MOST_PLAYERS
            ):
                self._kept.popitem(last=False)


def _moment_of(pool: PoolRecord) -> _Moment:
    return _Moment(pool.id, pool.generation, pool.amendments, pool.board_day, pool.board_from)


def _made(
    connection: Connection, pool: PoolRecord, moment: _Moment, kept: Sequence[Standing]
) -> Standing:
    """Return the standing of a pool, made from an earlier one if that is possible."""
    salt = salt_of(connection, pool.id, pool.last_seq)
    end = _End(pool.last_seq, pool.last_time or 0, pool.head, salt)
    mine = {"of_pool": pool.id, "of_generation": pool.generation}
    for board in reversed(kept):
        if board.moment != moment or not 0 <= end.seq - board.end.seq <= _MOST_RECORDS:
            continue
        # After a backup was restored, the log may have another record of this number.
        if not board.end.salt or board.end.salt != salt_of(connection, pool.id, board.end.seq):
            continue
        rows = _CHANGED.rows(connection, {**mine, "time": board.end.time, "seq": board.end.seq})
        followed = board.followed_by(rows, end)
        # A match of a single team adds a player without a change.
        if len(followed.names) == pool.players:
            return followed
    rows = sorted(_ALL.rows(connection, mine))
    return Standing(moment, end, [row[0] for row in rows], *_arrays(rows))


def standing_of(connection: Connection, pool: PoolRecord) -> Standing:
    """Return the standing of a pool, in memory if the connection is one of a reader."""
    standings = connection.get_execution_options().get(OPTION)
    if isinstance(standings, Standings):
        return standings.get(connection, pool)
    return _made(connection, pool, _moment_of(pool), ())


class RatingRow(NamedTuple):
    """A row of the leaderboard; `ordering` is minus the rating shown.

    disqualified : from matches to come
    """

    player: str
    ordering: float
    rating: float
    deviation: float | None
    matches: int
    last_time: int | None
    provisional: bool
    disqualified: bool


class StateRow(NamedTuple):
    """The packed state of a player, and the position of the player's last change.

    change_seq : 0 for no change
    """

    player: str
    state: bytes
    change_time: int
    change_seq: int


_SHOWN = [ratings.c[name] for name in RatingRow._fields]
_STATES = [ratings.c[name] for name in StateRow._fields]


def states_of(
    connection: Connection, pool: int, generation: int, players: Iterable[str]
) -> dict[str, StateRow]:
    """Return the packed states of those players that have one."""
    of = {"of_pool": pool, "of_generation": generation}
    rows = _EACH_STATE.rows(connection, players, of)
    return {row[0]: StateRow._make(row) for row in rows}


def span_of_last_times(
    connection: Connection, pool: int, generation: int
) -> tuple[int, int, bool] | None:
    """Return the earliest and latest last time of a player, and whether some have fractions.

    None if no player has a last time.
    """
    part = func.max(ratings.c.last_time % 1_000_000)
    query = select(func.min(ratings.c.last_time), func.max(ratings.c.last_time), part).where(
        ratings.c.pool == pool, ratings.c.generation == generation
    )
    low, high, rest = connection.execute(query).one()
    return None if low is None else (low, high, rest != 0)


def all_states(connection: Connection, pool: int, generation: int) -> Iterator[list[StateRow]]:
    """Give all players and their packed states by id, a few thousand at a time."""
    for rows in _pieces(connection, _STATES, pool, generation):
        yield [StateRow._make(row) for row in rows]


def all_ratings(connection: Connection, pool: int, generation: int) -> Iterator[list[RatingRow]]:
    """Give all ratings by id, a few thousand at a time."""
    for rows in _pieces(connection, _SHOWN, pool, generation):
        yield [RatingRow._make(row) for row in rows]


def all_rows(connection: Connection, pool: int, generation: int) -> Iterator[Sequence[Row[Any]]]:
    """Give all columns of all ratings by id, a few thousand at a time."""
    return _pieces(connection, list(ratings.c), pool, generation)


def ratings_after(
    connection: Connection, pool: int, generation: int, after: str, limit: int
) -> list[RatingRow]:
    """Return the next ratings by id after a player."""
    rows = _after(connection, _SHOWN, pool, generation, after, limit)
    return [RatingRow._make(row) for row in rows]


def _pieces(
    connection: Connection, columns: list[Column[Any]], pool: int, generation: int
) -> Iterator[Sequence[Row[Any]]]:
    """Give some columns of all rows by id, a few thousand rows at a time."""
    after, limit = "", sizes_of(connection).ratings
    while rows := _after(connection, columns, pool, generation, after, limit):
        yield rows
        after = rows[-1].player


def _after(
    connection: Connection,
    columns: list[Column[Any]],
    pool: int,
    generation: int,
    after: str,
    limit: int,
) -> Sequence[Row[Any]]:
    mine = (ratings.c.pool == pool) & (ratings.c.generation == generation)
    query = select(*columns).where(mine, ratings.c.player > after)
    return connection.execute(query.order_by(ratings.c.player).limit(limit)).all()


def put(
    connection: Connection,
    pool: int,
    generation: int,
    columns: dict[str, Sequence[Any]],
    *,
    replace: bool = True,
) -> None:
    """Write players' ratings, given as columns: those of `RatingRow` and of `StateRow`."""
    rows = len(columns["player"])
    fixed = {"pool": [pool] * rows, "generation": [generation] * rows}
    insert(connection, ratings, {**fixed, **columns}, replace=replace)


def get_rating(connection: Connection, pool: PoolRecord, player: str) -> RatingRow:
    """Return a player's rating as readers see it. Raises : NotFoundError."""
    row = ratings_of(connection, pool.id, pool.generation, [player]).get(player)
    if row is None:
        raise NotFoundError(f"no player {player!r} in pool {pool.name!r}")
    return row


def ratings_of(
    connection: Connection, pool: int, generation: int, players: Iterable[str]
) -> dict[str, RatingRow]:
    """Return the ratings of those players that have one, by id."""
    of = {"of_pool": pool, "of_generation": generation}
    rows = _EACH_RATING.rows(connection, players, of)
    # The driver's booleans may be 0 and 1.
    return {row[0]: RatingRow._make((*row[:-2], bool(row[-2]), bool(row[-1]))) for row in rows}


def leaderboard(
    connection: Connection,
    pool: int,
    generation: int,
    *,
    after: tuple[float, str] | None,
    limit: int,
    provisional: bool,
    disqualified: bool | None,
    active_since: int | None = None,
    backwards: bool = False,
) -> list[RatingRow]:
    """Return players in the order of the leaderboard.

    after : (ordering, player) of the one before the first; None from the top
    provisional : list provisional players too
    disqualified : list only disqualified players, or only the others; None lists all together
    active_since : only players whose last match was then or later
    backwards : those before `after` instead, nearest first
    """
    values: dict[str, Any] = {"of_pool": pool, "of_generation": generation, "many": limit}
    if after is not None:
        values |= {"ordering": after[0], "player": after[1]}
    if active_since is not None:
        values["since"] = active_since
    query = _page(after is not None, provisional, disqualified, active_since is not None, backwards)
    # SQLite has no booleans.
    return [
        RatingRow._make((*row[:-2], bool(row[-2]), bool(row[-1])))
        for row in query.rows(connection, values)
    ]


def place_of(
    connection: Connection,
    pool: PoolRecord,
    row: RatingRow | None,
    *,
    provisional: bool,
    disqualified: bool,
    active_since: int | None = None,
) -> int:
    """Return the place of a player among those listed, from 1.

    row : None for the place after all of them
    provisional, disqualified : whether such players are listed
    """
    if active_since is None:
        return standing_of(connection, pool).place(
            None if row is None else (row.ordering, row.player),
            provisional=provisional,
            disqualified=disqualified,
        )
    query = select(func.count()).where(
        ratings.c.pool == pool.id,
        ratings.c.generation == pool.generation,
        ratings.c.last_time >= active_since,
    )
    if row is not None:
        here = tuple_(ratings.c.ordering, ratings.c.player)
        query = query.where(here < row_value((row.ordering, row.player)))
    if not disqualified:
        query = query.where(ratings.c.disqualified == false())
    if not provisional:
        query = query.where(ratings.c.provisional == false())
    return 1 + int(connection.execute(query).scalar_one())


def players_by_rating(connection: Connection, pool: int, generation: int) -> Iterator[list[str]]:
    """Give all players, best ratings first and then by id, a few thousand at a time.

    Disqualified players come after all others.
    """
    query = (
        select(ratings.c.player)
        .where(ratings.c.pool == pool, ratings.c.generation == generation)
        .order_by(ratings.c.disqualified, ratings.c.rating.desc(), ratings.c.player)
    )
    options = {"yield_per": sizes_of(connection).ratings}
    rows_read = connection.execute(query, execution_options=options)
    for rows in rows_read.partitions():
        yield [row[0] for row in rows]


def any_disqualified(connection: Connection, pool: int, generation: int) -> bool:
    """Return whether any player is disqualified."""
    query = select(ratings.c.player).where(
        ratings.c.pool == pool, ratings.c.generation == generation, ratings.c.disqualified == true()
    )
    return connection.execute(query.limit(1)).first() is not None


def mark_disqualified(
    connection: Connection,
    pool: int,
    generations: Sequence[int],
    players: Iterable[str],
    disqualified: bool,
) -> None:
    """Mark players as disqualified from matches to come, or no longer, in some generations."""
    connection.execute(
        update(ratings)
        .where(
            ratings.c.pool == pool,
            ratings.c.generation.in_(generations),
            among(ratings.c.player, players, connection),
        )
        .values(disqualified=disqualified)
    )


def busiest_player(connection: Connection, pool: PoolRecord) -> RatingRow | None:
    """Return the player with the most rated matches; None without any."""
    query = (
        select(*(ratings.c[name] for name in RatingRow._fields))
        .where(
            ratings.c.pool == pool.id,
            ratings.c.generation == pool.generation,
            ratings.c.matches > 0,
        )
        .order_by(ratings.c.matches.desc(), ratings.c.player)
    )
    row = connection.execute(query.limit(1)).first()
    return None if row is None else RatingRow._make(row)


def reorder(
    connection: Connection, pool: int, generation: int, places: Mapping[str, tuple[float, bool]]
) -> None:
    """Change the places of players on the leaderboard; places : (ordering, provisional), by id."""
    if places:
        statement = (
            update(ratings)
            .where(
                ratings.c.pool == pool,
                ratings.c.generation == generation,
                ratings.c.player == bindparam("the_player"),
            )
            .values(ordering=bindparam("the_ordering"), provisional=bindparam("the_mark"))
        )
        rows = [
            {"the_player": name, "the_ordering": ordering, "the_mark": mark}
            for name, (ordering, mark) in places.items()
        ]
        connection.execute(statement, rows)


def count_of_player(connection: Connection, pool: int, player: str) -> dict[str, int]:
    """Return how many rows of ratings and changes are of a player."""
    counts = {}
    for table in (ratings, changes):
        query = select(func.count()).where(table.c.pool == pool, table.c.player == player)
        counts[table.name] = int(connection.execute(query).scalar_one())
    return counts


def rename_player(connection: Connection, pool: int, player: str, pseudonym: str) -> None:
    """Give the rows of ratings and changes of a player another name."""
    for table in (ratings, changes):
        mine = (table.c.pool == pool) & (table.c.player == player)
        connection.execute(update(table).where(mine).values(player=pseudonym))


_EACH_STATE = PreparedEach(select(*_STATES).where(*_MINE), ratings.c.player)
_EACH_RATING = PreparedEach(select(*_SHOWN).where(*_MINE), ratings.c.player)


@lru_cache(maxsize=64)
def _page(
    after: bool, provisional: bool, disqualified: bool | None, active: bool, backwards: bool
) -> Prepared:
    """Return the query of a page. Each kind of players is one range of the index."""
    kinds = [
        (out, placing)
        for out in ((False, True) if disqualified is None else (disqualified,))
        for placing in ((False, True) if provisional else (False,))
    ]
    parts = [_listed(*kind, after, active, backwards) for kind in kinds]
    return Prepared(parts[0] if len(parts) == 1 else _merged(parts, backwards))


def _listed(
    disqualified: bool, provisional: bool, after: bool, active: bool, backwards: bool
) -> Any:
    """Return the query for one kind of players: disqualified or not, provisional or not."""
    here = tuple_(ratings.c.ordering, ratings.c.player)
    query = select(*_SHOWN).where(
        *_MINE,
        ratings.c.disqualified == (true() if disqualified else false()),
        ratings.c.provisional == (true() if provisional else false()),
    )
    if after:
        mark = tuple_(bindparam("ordering"), bindparam("player"))
        query = query.where(here < mark if backwards else here > mark)
    if active:
        query = query.where(ratings.c.last_time >= bindparam("since"))
    return _ordered(query, ratings.c, backwards)


def _ordered(query: Any, columns: Any, backwards: bool) -> Any:
    order = (columns.ordering, columns.player)
    order = tuple(column.desc() for column in order) if backwards else order
    return query.order_by(*order).limit(bindparam("many"))


def _merged(parts: Sequence[Any], backwards: bool) -> Any:
    """Return the query for several kinds of players: the first rows of each, in order."""
    every = union_all(*(select(part.subquery()) for part in parts)).subquery()
    return _ordered(select(every), every.c, backwards)
