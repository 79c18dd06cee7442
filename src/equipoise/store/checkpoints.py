"""Checkpoints: states of a whole pool, from which replays can start."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, delete, insert, select, tuple_

from equipoise.store.bulk import sizes_of
from equipoise.store.pools import Position, row_value
from equipoise.store.schema import checkpoints


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The state of a pool after the match at `position`.

    participations : rated up to there
    code : version of the code that rated
    content : the packed state
    trail : packed positions of the players' last changes; empty for none
    """

    position: Position
    participations: int
    code: str
    content: bytes
    trail: bytes = b""


def add_checkpoint(connection: Connection, pool: int, checkpoint: Checkpoint) -> None:
    """Add a checkpoint; one at the same position is replaced."""
    time, seq = checkpoint.position
    connection.execute(
        delete(checkpoints).where(
            checkpoints.c.pool == pool, checkpoints.c.time == time, checkpoints.c.seq == seq
        )
    )
    connection.execute(
        insert(checkpoints).values(
            pool=pool,
            time=time,
            seq=seq,
            participations=checkpoint.participations,
            code=checkpoint.code,
            content=checkpoint.content,
            trail=checkpoint.trail,
        )
    )


def last_before(connection: Connection, pool: int, position: Position) -> Checkpoint | None:
    """Return the last checkpoint before a position, or None."""
    c = checkpoints.c
    here = tuple_(c.time, c.seq) < row_value(position)
    query = (
        select(c.time, c.seq, c.participations, c.code, c.content, c.trail)
        .where(c.pool == pool, here)
        .order_by(c.time.desc(), c.seq.desc())
        .limit(1)
    )
    row = connection.execute(query).first()
    return None if row is None else Checkpoint((row[0], row[1]), *row[2:])


def forget_from(connection: Connection, pool: int, position: Position) -> None:
    """Delete the checkpoints from a position on."""
    c = checkpoints.c
    here = tuple_(c.time, c.seq) >= row_value(position)
    connection.execute(delete(checkpoints).where(c.pool == pool, here))


def positions(connection: Connection, pool: int) -> list[Position]:
    """Return the positions of a pool's checkpoints, in order."""
    c = checkpoints.c
    query = select(c.time, c.seq).where(c.pool == pool).order_by(c.time, c.seq)
    return [(time, seq) for time, seq in connection.execute(query)]


def thin(connection: Connection, pool: int) -> bool:
    """Delete every second checkpoint, except the last, if there are too many; return whether."""
    places = positions(connection, pool)
    if len(places) <= sizes_of(connection).checkpoints:
        return False
    c = checkpoints.c
    for time, seq in places[-2::-2]:
        connection.execute(delete(checkpoints).where(c.pool == pool, c.time == time, c.seq == seq))
    return True
