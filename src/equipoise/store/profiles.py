"""Profiles of players: the name, link and attributes that pages show beside the id.

The table is projected from the records of the kind `profiles` in the log: the last one that has a
player counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from sqlalchemy import Connection, delete, select

from equipoise.store.bulk import among, has_text, insert_rows, sizes_of
from equipoise.store.pools import PoolRecord
from equipoise.store.ratings import RatingRow
from equipoise.store.schema import profiles, ratings


class ProfileRow(NamedTuple):
    """A profile, as the table has it.

    name : "" for none; folded : the name for searches, without case and accents
    attributes : JSON
    """

    player: str
    name: str
    folded: str
    link: str | None
    attributes: str


_COLUMNS = [profiles.c[name] for name in ProfileRow._fields]


def put(connection: Connection, pool: int, rows: Sequence[ProfileRow]) -> None:
    """Write profiles, each player once, in place of earlier ones."""
    if rows:
        names = ("pool", *ProfileRow._fields)
        insert_rows(connection, profiles, names, [(pool, *row) for row in rows], replace=True)


def remove(connection: Connection, pool: int, players: Iterable[str] | None = None) -> None:
    """Delete the profiles of some players; None for all."""
    mine = profiles.c.pool == pool
    if players is not None:
        mine &= among(profiles.c.player, players, connection)
    connection.execute(delete(profiles).where(mine))


def profiles_of(connection: Connection, pool: int, players: Iterable[str]) -> dict[str, ProfileRow]:
    """Return the profiles of those players who have one, by id."""
    mine = among(profiles.c.player, players, connection)
    rows = connection.execute(select(*_COLUMNS).where(profiles.c.pool == pool, mine))
    return {row[0]: ProfileRow._make(row) for row in rows}


def all_profiles(connection: Connection, pool: int) -> Iterator[list[ProfileRow]]:
    """Give all profiles by player, piece by piece."""
    size, after = sizes_of(connection).rows, ""
    while True:
        mine = (profiles.c.pool == pool) & (profiles.c.player > after)
        query = select(*_COLUMNS).where(mine).order_by(profiles.c.player).limit(size)
        rows = [ProfileRow._make(row) for row in connection.execute(query)]
        if not rows:
            return
        yield rows
        after = rows[-1].player


def players_named(
    connection: Connection, pool: PoolRecord, folded: str, limit: int
) -> list[RatingRow]:
    """Return rated players whose name has a folded text, best first, disqualified ones last."""
    query = (
        select(*(ratings.c[name] for name in RatingRow._fields))
        .join(
            profiles,
            (profiles.c.pool == ratings.c.pool) & (profiles.c.player == ratings.c.player),
        )
        .where(
            profiles.c.pool == pool.id,
            has_text(connection, profiles.c.folded, folded),
            ratings.c.generation == pool.generation,
        )
        .order_by(ratings.c.disqualified, ratings.c.ordering, ratings.c.player)
        .limit(limit)
    )
    return [RatingRow._make(row) for row in connection.execute(query)]
