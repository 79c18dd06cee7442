"""The whole state of a pool at some of its matches, from which a replay can start."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, delete, insert, literal, select, tuple_

from equipoise.store.pools import Position
from equipoise.store.schema import checkpoints
from equipoise.store.sizes import sizes_of


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The state after the match at `position`.

    participations : rated up to there; code : version that rated; content : the packed state
    trail : packed positions of its players' last changes; nothing where there are none
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
    """Return the last checkpoint that has seen nothing from `position` on, or None."""
    c = checkpoints.c
    here = tuple_(c.time, c.seq) < tuple_(literal(position[0]), literal(position[1]))
    query = (
        select(c.time, c.seq, c.participations, c.code, c.content, c.trail)
        .where(c.pool == pool, here)
        .order_by(c.time.desc(), c.seq.desc())
        .limit(1)
    )
    found = connection.execute(query).first()
    return None if found is None else Checkpoint((found[0], found[1]), *found[2:])


def forget_from(connection: Connection, pool: int, position: Position) -> None:
    """Delete the checkpoints that have seen something from `position` on."""
    c = checkpoints.c
    here = tuple_(c.time, c.seq) >= tuple_(literal(position[0]), literal(position[1]))
    connection.execute(delete(checkpoints).where(c.pool == pool, here))


def positions(connection: Connection, pool: int) -> list[Position]:
    """Return where the checkpoints of a pool stand, in order."""
    c = checkpoints.c
    query = select(c.time, c.seq).where(c.pool == pool).order_by(c.time, c.seq)
    return [(time, seq) for time, seq in connection.execute(query)]


def thin(connection: Connection, pool: int) -> bool:
    """Delete every second checkpoint, not the last, if there are too many; return whether."""
    found = positions(connection, pool)
    if len(found) <= sizes_of(connection).checkpoints:
        return False
    c = checkpoints.c
    for time, seq in found[-2::-2]:
        connection.execute(delete(checkpoints).where(c.pool == pool, c.time == time, c.seq == seq))
    return True
