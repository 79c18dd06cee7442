"""Ratings of a pool's players: what the system knows of each, and the leaderboard."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import (
    Connection,
    bindparam,
    delete,
    false,
    func,
    literal,
    select,
    true,
    tuple_,
    union_all,
    update,
)

from equipoise.errors import NotFoundError
from equipoise.store.bulk import Prepared, PreparedEach, among, insert
from equipoise.store.derived.standings import standing_of
from equipoise.store.pools import PoolRecord
from equipoise.store.schema import is_name, ratings
from equipoise.store.sizes import sizes_of


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


def all_states(connection: Connection, pool: int, generation: int) -> Iterator[Sequence[StateRow]]:
    """Give all players and their packed states by id, a few thousand at a time."""
    after, limit = "", sizes_of(connection).ratings
    while True:
        query = (
            select(*_STATES)
            .where(
                ratings.c.pool == pool,
                ratings.c.generation == generation,
                ratings.c.player > after,
            )
            .order_by(ratings.c.player)
            .limit(limit)
        )
        rows = [StateRow._make(row) for row in connection.execute(query).all()]
        if rows:
            yield rows
        if len(rows) < limit:
            return
        after = rows[-1][0]


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


def rating_of(connection: Connection, pool: int, generation: int, player: str) -> RatingRow | None:
    """Return a player's rating, or None."""
    if not is_name(player):
        return None
    values = {"of_pool": pool, "of_generation": generation, "wanted": player}
    found = connection.execute(_ONE, values).first()
    return None if found is None else RatingRow._make(found)


def get_rating(connection: Connection, pool: PoolRecord, player: str) -> RatingRow:
    """Return a player's rating as readers see it. Raises : NotFoundError."""
    found = rating_of(connection, pool.id, pool.generation, player)
    if found is None:
        raise NotFoundError(f"no player {player!r} in pool {pool.name!r}")
    return found


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
    standing = standing_of(connection, pool) if active_since is None else None
    if standing is not None:
        return standing.place(
            None if row is None else (row.ordering, row.player),
            provisional=provisional,
            disqualified=disqualified,
        )
    query = select(func.count()).where(
        ratings.c.pool == pool.id, ratings.c.generation == pool.generation
    )
    if row is not None:
        here = tuple_(ratings.c.ordering, ratings.c.player)
        query = query.where(here < tuple_(literal(row.ordering), literal(row.player)))
    if not disqualified:
        query = query.where(ratings.c.disqualified == false())
    if not provisional:
        query = query.where(ratings.c.provisional == false())
    if active_since is not None:
        query = query.where(ratings.c.last_time >= active_since)
    return 1 + int(connection.execute(query).scalar_one())


def ratings_after(
    connection: Connection, pool: int, generation: int, after: str, limit: int
) -> list[RatingRow]:
    """Return the next ratings by id after a player."""
    query = (
        select(*_SHOWN)
        .where(
            ratings.c.pool == pool,
            ratings.c.generation == generation,
            ratings.c.player > after,
        )
        .order_by(ratings.c.player)
        .limit(limit)
    )
    return [RatingRow._make(row) for row in connection.execute(query).all()]


def all_ratings(connection: Connection, pool: int, generation: int) -> Iterator[list[RatingRow]]:
    """Yield all ratings in order of id, a few thousand at a time."""
    after, limit = "", sizes_of(connection).ratings
    while True:
        rows = ratings_after(connection, pool, generation, after, limit)
        if rows:
            yield rows
        if len(rows) < limit:
            return
        after = rows[-1].player


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
    found = connection.execute(query, execution_options=options)
    for rows in found.partitions():
        yield [row[0] for row in rows]


def any_disqualified(connection: Connection, pool: int, generation: int) -> bool:
    """Return whether any player is disqualified."""
    query = select(ratings.c.player).where(
        ratings.c.pool == pool, ratings.c.generation == generation, ratings.c.disqualified == true()
    )
    return connection.execute(query.limit(1)).first() is not None


def away_since(
    connection: Connection, pool: int, generation: int, time: int, after: str, limit: int
) -> list[RatingRow]:
    """Return players by id, after one, whose last match was before a time."""
    query = (
        select(*_SHOWN)
        .where(
            ratings.c.pool == pool,
            ratings.c.generation == generation,
            ratings.c.player > after,
            ratings.c.last_time < time,
        )
        .order_by(ratings.c.player)
        .limit(limit)
    )
    return [RatingRow._make(row) for row in connection.execute(query)]


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


def mark_provisional(
    connection: Connection, pool: int, generation: int, players: Sequence[str], provisional: bool
) -> None:
    """Mark players as provisional, or no longer."""
    if players:
        connection.execute(
            update(ratings)
            .where(
                ratings.c.pool == pool,
                ratings.c.generation == generation,
                among(ratings.c.player, players, connection),
            )
            .values(provisional=provisional)
        )


def reorder(
    connection: Connection, pool: int, generation: int, orderings: Mapping[str, float]
) -> None:
    """Change the places of players on the leaderboard; orderings : minus ratings shown, by id."""
    if orderings:
        one = (
            update(ratings)
            .where(
                ratings.c.pool == pool,
                ratings.c.generation == generation,
                ratings.c.player == bindparam("the_player"),
            )
            .values(ordering=bindparam("the_ordering"))
        )
        rows = [{"the_player": name, "the_ordering": value} for name, value in orderings.items()]
        connection.execute(one, rows)


def forget_others(
    connection: Connection, pool: int, generation: int, replaying: int | None, limit: int
) -> int:
    """Delete at most `limit` ratings of other generations; return how many.

    generation, replaying : those that readers see and that a replay is writing
    """
    others = (
        select(ratings.c.generation, ratings.c.player)
        .where(ratings.c.pool == pool, ratings.c.generation.not_in([generation, replaying or 0]))
        .limit(limit)
    )
    found = [(row[0], row[1]) for row in connection.execute(others)]
    for number in {one for one, _ in found}:
        players = [player for one, player in found if one == number]
        connection.execute(
            delete(ratings).where(
                ratings.c.pool == pool,
                ratings.c.generation == number,
                among(ratings.c.player, players, connection),
            )
        )
    return len(found)


_OF_GENERATION = (
    ratings.c.pool == bindparam("of_pool"),
    ratings.c.generation == bindparam("of_generation"),
)
_ONE = select(*_SHOWN).where(*_OF_GENERATION, ratings.c.player == bindparam("wanted"))
_EACH_STATE = PreparedEach(select(*_STATES).where(*_OF_GENERATION), ratings.c.player)
_EACH_RATING = PreparedEach(select(*_SHOWN).where(*_OF_GENERATION), ratings.c.player)


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
        ratings.c.pool == bindparam("of_pool"),
        ratings.c.generation == bindparam("of_generation"),
        ratings.c.disqualified == (true() if disqualified else false()),
        ratings.c.provisional == (true() if provisional else false()),
    )
    if after:
        mark = tuple_(bindparam("ordering"), bindparam("player"))
        query = query.where(here < mark if backwards else here > mark)
    if active:
        query = query.where(ratings.c.last_time >= bindparam("since"))
    columns = (ratings.c.ordering, ratings.c.player)
    order = [column.desc() for column in columns] if backwards else list(columns)
    return query.order_by(*order).limit(bindparam("many"))


def _merged(parts: Sequence[Any], backwards: bool) -> Any:
    """Return the query for several kinds of players: the first rows of each, in order."""
    every = union_all(*(select(part.subquery()) for part in parts)).subquery()
    columns = (every.c.ordering, every.c.player)
    order = [column.desc() for column in columns] if backwards else list(columns)
    return select(every).order_by(*order).limit(bindparam("many"))
