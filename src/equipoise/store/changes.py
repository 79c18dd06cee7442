"""What every match did to every player in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, and_, bindparam, delete, func, literal, or_, select, tuple_

from equipoise.store.bulk import among, insert
from equipoise.store.pools import PoolRecord, Position
from equipoise.store.schema import changes

#: Changes looked at in one step of clearing out.
_PIECE = 10_000


class ChangeRow(NamedTuple):
    """A change as the table has it.

    rank : number of teams of the match that came before the player's
    extra : packed float64
    """

    player: str
    time: int
    seq: int
    rank: int
    teams: int
    rating_before: float
    deviation_before: float | None
    rating: float
    deviation: float | None
    expected: float | None
    performance: float | None
    extra: bytes


_SHOWN = [changes.c[name] for name in ChangeRow._fields]


def put(
    connection: Connection, pool: int, generation: int, columns: dict[str, Sequence[Any]]
) -> None:
    """Write changes, given as columns: those of `ChangeRow`."""
    rows = len(columns["player"])
    fixed = {"pool": [pool] * rows, "generation": [generation] * rows}
    insert(connection, changes, {**fixed, **columns})


def changes_of_match(
    connection: Connection, pool: PoolRecord, position: Position, players: Iterable[str]
) -> dict[str, ChangeRow]:
    """Return what a match did to these players, by id."""
    query = select(*_SHOWN).where(
        changes.c.pool == pool.id,
        among(changes.c.player, players, connection),
        changes.c.time == position[0],
        changes.c.seq == position[1],
        counts(pool),
    )
    return {row[0]: ChangeRow._make(row) for row in connection.execute(query)}


def changes_of_player(
    connection: Connection, pool: PoolRecord, player: str, before: Position | None, limit: int
) -> list[ChangeRow]:
    """Return a player's last changes before a position, newest first."""
    query = select(*_SHOWN).where(
        changes.c.pool == pool.id, changes.c.player == player, counts(pool)
    )
    if before is not None:
        query = query.where(_position() < _literal(before))
    query = query.order_by(changes.c.time.desc(), changes.c.seq.desc()).limit(limit)
    return [ChangeRow._make(row) for row in connection.execute(query)]


def changes_between(
    connection: Connection,
    pool: PoolRecord,
    players: Iterable[str],
    first: Position,
    last: Position,
) -> dict[tuple[str, int], ChangeRow]:
    """Return what matches from one position to another did to these, by player and seq."""
    query = select(*_SHOWN).where(
        changes.c.pool == pool.id,
        among(changes.c.player, players, connection),
        _position() >= _literal(first),
        _position() <= _literal(last),
        counts(pool),
    )
    return {(row[0], row[2]): ChangeRow._make(row) for row in connection.execute(query)}


def count_of(connection: Connection, pool: PoolRecord) -> int:
    """Return the number of changes that count."""
    query = select(func.count()).where(changes.c.pool == pool.id, counts(pool))
    return int(connection.execute(query).scalar_one())


def all_changes(connection: Connection, pool: PoolRecord) -> Iterator[list[ChangeRow]]:
    """Give all changes that count, by player and position, some thousands at a time."""
    after = ("", 0, 0)
    here = tuple_(changes.c.player, changes.c.time, changes.c.seq)
    while True:
        query = (
            select(*_SHOWN)
            .where(
                changes.c.pool == pool.id,
                here > tuple_(*(literal(value) for value in after)),
                counts(pool),
            )
            .order_by(changes.c.player, changes.c.time, changes.c.seq)
            .limit(_PIECE)
        )
        rows = [ChangeRow._make(row) for row in connection.execute(query)]
        if rows:
            yield rows
        if len(rows) < _PIECE:
            return
        after = (rows[-1].player, rows[-1].time, rows[-1].seq)


def forget_unseen(
    connection: Connection, pool: PoolRecord, after: tuple[Any, ...] | None, limit: int
) -> tuple[Any, ...] | None:
    """Delete some changes that newer ones have replaced, or that a given up replay has left.

    after : what the step before returned, None for the first one
    limit : rows deleted at most
    Returns : where to go on, None at the end
    """
    given_up = changes.c.generation > pool.generation
    if pool.replay_generation is not None:
        given_up &= changes.c.generation < pool.replay_generation
    replaced = and_(changes.c.generation < pool.generation, _position() >= _literal(pool.begins))
    key = (changes.c.player, changes.c.time, changes.c.seq, changes.c.generation)
    query = select(*key).where(changes.c.pool == pool.id, or_(given_up, replaced))
    if after is not None:
        query = query.where(tuple_(*key) > tuple_(*(literal(value) for value in after)))
    found = [tuple(row) for row in connection.execute(query.order_by(*key).limit(limit))]
    _delete(connection, pool.id, found)
    return found[-1] if len(found) == limit else None


def _delete(connection: Connection, pool: int, keys: list[tuple[Any, ...]]) -> None:
    """Delete rows by their keys, one statement with many parameters."""
    if not keys:
        return
    names = ("player", "time", "seq", "generation")
    one = delete(changes).where(
        changes.c.pool == pool, *(changes.c[name] == bindparam(f"the_{name}") for name in names)
    )
    marks = [f"the_{name}" for name in names]
    connection.execute(one, [dict(zip(marks, key, strict=True)) for key in keys])


def counts(pool: PoolRecord) -> Any:
    """Return the condition that a change is one that readers see."""
    return or_(
        changes.c.generation == pool.generation,
        and_(changes.c.generation < pool.generation, _position() < _literal(pool.begins)),
    )


def _position() -> Any:
    return tuple_(changes.c.time, changes.c.seq)


def _literal(position: Position) -> Any:
    return tuple_(literal(position[0]), literal(position[1]))
