"""Replays that were swapped in, and what each of them changed."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, func, insert, select, update

from equipoise.store.pools import Position
from equipoise.store.schema import replays


@dataclass(frozen=True, slots=True)
class ReplayRecord:
    """A replay.

    through_seq : last entry of the log whose amendments it took into account
    begins : position from which on it rated anew
    difference : JSON of what it changed, empty until that is known
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


def tell(connection: Connection, pool: int, generation: int, difference: str) -> None:
    """Write down what a replay changed."""
    connection.execute(
        update(replays)
        .where(replays.c.pool == pool, replays.c.generation == generation)
        .values(difference=difference)
    )


def last_through(connection: Connection, pool: int) -> int:
    """Return the last entry of the log that a replay took into account; 0 before the first."""
    found = connection.execute(
        select(func.max(replays.c.through_seq)).where(replays.c.pool == pool)
    )
    return int(found.scalar() or 0)


def first_replay_with(connection: Connection, pool: int, seq: int) -> ReplayRecord | None:
    """Return the first replay that took entry `seq` into account, or None."""
    r = replays.c
    query = (
        select(
            r.generation,
            r.through_seq,
            r.from_time,
            r.from_seq,
            r.started,
            r.finished,
            r.difference,
        )
        .where(r.pool == pool, r.through_seq >= seq)
        .order_by(r.generation)
        .limit(1)
    )
    found = connection.execute(query).first()
    if found is None:
        return None
    return ReplayRecord(found[0], found[1], (found[2], found[3]), *found[4:])
