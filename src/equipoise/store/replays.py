"""Replays of a pool and what they changed, and the checkpoints from which they can start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, delete, func, insert, literal, select, tuple_

from equipoise.store.bulk import sizes_of
from equipoise.store.pools import PoolRecord, Position
from equipoise.store.schema import checkpoints, replays


@dataclass(frozen=True, slots=True)
class ReplayRecord:
    """A replay that was swapped in.

    through_seq : last log record that it took into account
    begins : position from which it rated again
    difference : JSON of what it changed, empty if an earlier version did not store that
    """

    generation: int
    through_seq: int
    begins: Position
    started: int
    finished: int
    difference: str


def add_replay(connection: Connection, pool: int, replay: ReplayRecord) -> None:
    """Record a replay."""
    connection.execute(
        insert(replays).values(
            pool=pool,
            generation=replay.generation,
            through_seq=replay.through_seq,
            from_time=replay.begins[0],
            from_seq=replay.begins[1],
            started=replay.started,
            finished=replay.finished,
            difference=replay.difference,
        )
    )


def last_through(connection: Connection, pool: int) -> int:
    """Return the last log record that a replay took into account; 0 before the first."""
    row = connection.execute(select(func.max(replays.c.through_seq)).where(replays.c.pool == pool))
    return int(row.scalar() or 0)


def rated_through(connection: Connection, pool: PoolRecord) -> int | None:
    """Return the last record that the ratings of a pool take into account; None for all."""
    return None if pool.dirty is None else last_through(connection, pool.id)


def through_before(connection: Connection, pool: int, generation: int) -> int:
    """Return the last record that replays before a generation took into account; 0 for none."""
    query = select(func.max(replays.c.through_seq)).where(
        replays.c.pool == pool, replays.c.generation < generation
    )
    return int(connection.execute(query).scalar() or 0)


def first_replay_with(connection: Connection, pool: int, seq: int) -> ReplayRecord | None:
    """Return the first replay that took record `seq` into account, or None."""
    r = replays.c
    query = _SHOWN.where(r.pool == pool, r.through_seq >= seq).order_by(r.generation).limit(1)
    return _record(connection.execute(query).first())


def replay_of(connection: Connection, pool: int, generation: int) -> ReplayRecord | None:
    """Return the replay that made a generation, or None."""
    query = _SHOWN.where(replays.c.pool == pool, replays.c.generation == generation)
    return _record(connection.execute(query).first())


def replays_of(connection: Connection, pool: int) -> list[ReplayRecord]:
    """Return all replays of a pool, oldest first."""
    query = _SHOWN.where(replays.c.pool == pool).order_by(replays.c.generation)
    records = (_record(row) for row in connection.execute(query))
    return [record for record in records if record is not None]


def _record(row: Any) -> ReplayRecord | None:
    """Return a row of `_SHOWN` as a replay, None for None."""
    if row is None:
        return None
    return ReplayRecord(row[0], row[1], (row[2], row[3]), *row[4:])


_SHOWN = select(
    replays.c.generation,
    replays.c.through_seq,
    replays.c.from_time,
    replays.c.from_seq,
    replays.c.started,
    replays.c.finished,
    replays.c.difference,
)


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
    here = tuple_(c.time, c.seq) < tuple_(literal(position[0]), literal(position[1]))
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
    here = tuple_(c.time, c.seq) >= tuple_(literal(position[0]), literal(position[1]))
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
