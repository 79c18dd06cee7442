"""Partial checkpoints: the states of players with rating changes since the previous one.

They are close together, so that the state before any match follows from a few matches. A player's
state at the end of one is in the first that ends at or after the player's last change. Each has
rows of a few hundred players, in the order of their ids; `first` is the first id of a row, "" in
the first row. They follow from the log: deleting rows is safe, but makes explanations slower.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import Connection, bindparam, delete, insert, select, tuple_

from equipoise.arrays import Floats
from equipoise.store.bulk import Prepared
from equipoise.store.pools import (
    PoolRecord,
    Position,
    pack_shared,
    row_value,
    seen_rows,
    unpack_shared,
)
from equipoise.store.schema import changes, partial_checkpoints, ratings

#: Bytes of states in a row, roughly.
_ROW_BYTES = 32_768


class End(NamedTuple):
    """The end of a partial checkpoint, and the position after which it has all changes."""

    position: Position
    generation: int
    begins: Position


_C = partial_checkpoints.c
_POSITION = tuple_(_C.time, _C.seq)
_SEEN = seen_rows(partial_checkpoints)
_END = select(_C.time, _C.seq, _C.generation, _C.from_time, _C.from_seq)
_HERE = tuple_(bindparam("time"), bindparam("seq"))
_FIRST_FROM = Prepared(
    _END.where(_SEEN, _POSITION >= _HERE).order_by(_C.time, _C.seq, _C.generation).limit(1)
)
_LAST_BEFORE = Prepared(
    _END.where(_SEEN, _POSITION < _HERE)
    .order_by(_C.time.desc(), _C.seq.desc(), _C.generation.desc())
    .limit(1)
)
_ROW = Prepared(
    select(_C.content, _C.shared)
    .where(
        _C.pool == bindparam("of_pool"),
        _C.time == bindparam("time"),
        _C.seq == bindparam("seq"),
        _C.generation == bindparam("generation"),
        _C.first <= bindparam("player"),
    )
    .order_by(_C.first.desc())
    .limit(1)
)


def put(
    connection: Connection,
    pool: int,
    end: End,
    states: Mapping[str, bytes],
    shared: Mapping[str, Floats],
) -> None:
    """Write a partial checkpoint; states : packed, by player."""
    packed, rows = pack_shared(shared), []
    first, held, size = "", dict[str, bytes](), 0
    for player in sorted(states):
        if size >= _ROW_BYTES:
            rows.append((first, held))
            first, held, size = player, {}, 0
        held[player] = states[player]
        size += len(states[player]) + len(player)
    rows.append((first, held))
    fixed = {
        "pool": pool,
        "time": end.position[0],
        "seq": end.position[1],
        "generation": end.generation,
        "from_time": end.begins[0],
        "from_seq": end.begins[1],
        "shared": packed,
    }
    # One may be made again after a stop.
    connection.execute(
        delete(partial_checkpoints).where(
            *(_C[name] == fixed[name] for name in ("pool", "time", "seq", "generation"))
        )
    )
    connection.execute(
        insert(partial_checkpoints),
        [
            {**fixed, "first": name, "content": msgspec.msgpack.encode(content)}
            for name, content in rows
        ],
    )


def first_from(connection: Connection, pool: PoolRecord, position: Position) -> End | None:
    """Return the first partial checkpoint that ends at a position or after it, or None."""
    return _end(_FIRST_FROM, connection, pool, position)


def last_before(connection: Connection, pool: PoolRecord, position: Position) -> End | None:
    """Return the last partial checkpoint that ends before a position, or None."""
    return _end(_LAST_BEFORE, connection, pool, position)


def _end(
    query: Prepared, connection: Connection, pool: PoolRecord, position: Position
) -> End | None:
    values = {**pool.seen, "time": position[0], "seq": position[1]}
    rows = query.rows(connection, values)
    if not rows:
        return None
    time, seq, generation, from_time, from_seq = rows[0]
    return End((time, seq), generation, (from_time, from_seq))


def ends(connection: Connection, pool: PoolRecord) -> list[End]:
    """Return all partial checkpoints of a pool that readers see, in order."""
    query = _END.distinct().where(seen_rows(partial_checkpoints, pool))
    rows = connection.execute(query.order_by(_C.time, _C.seq, _C.generation)).all()
    return [End((row[0], row[1]), row[2], (row[3], row[4])) for row in rows]


class PartialRow(NamedTuple):
    """A row of a partial checkpoint: its first player, the packed states, the shared state."""

    first: str
    states: dict[str, bytes]
    shared: dict[str, Floats]


def rows_of(connection: Connection, pool: int, end: End) -> list[PartialRow]:
    """Return the rows of a partial checkpoint. Raises : ValueError if one cannot be read."""
    query = select(_C.first, _C.content, _C.shared).where(
        _C.pool == pool,
        row_value(end.position) == _POSITION,
        _C.generation == end.generation,
    )
    return [
        PartialRow(
            first,
            _decode(content),
            unpack_shared(shared),
        )
        for first, content, shared in connection.execute(query.order_by(_C.first)).all()
    ]


class PartialStates:
    """The states in the partial checkpoints of a pool, each row of which is read once."""

    def __init__(self, connection: Connection, pool: PoolRecord) -> None:
        self._connection, self._pool = connection, pool
        self._contents: dict[bytes, dict[str, bytes]] = {}

    def state_after(self, player: str, change: Position) -> bytes | None:
        """Return the state of a player after a change, which must be the last one before an end.

        None if no partial checkpoint has it
        """
        end = first_from(self._connection, self._pool, change)
        if end is None or end.begins >= change:
            return None
        return self._row(end, player)[0].get(player)

    def shared_at(self, end: End) -> dict[str, Floats]:
        """Return the state that belongs to no single player at the end of one."""
        return unpack_shared(self._row(end, "")[1])

    def _row(self, end: End, player: str) -> tuple[dict[str, bytes], str]:
        """Return the states of the row that would have a player, and the shared state."""
        values: dict[str, Any] = {
            "of_pool": self._pool.id,
            "time": end.position[0],
            "seq": end.position[1],
            "generation": end.generation,
            "player": player,
        }
        rows = _ROW.rows(self._connection, values)
        if not rows:
            return {}, "{}"
        content = bytes(rows[0][0])
        if content not in self._contents:
            self._contents[content] = _decode(content)
        return self._contents[content], rows[0][1]


def states_since(
    connection: Connection, pool: PoolRecord, generation: int, after: Position
) -> dict[str, bytes]:
    """Return the current packed states of the players with changes after a position."""
    position = tuple_(changes.c.time, changes.c.seq)
    players = select(changes.c.player).where(
        changes.c.pool == pool.id,
        changes.c.generation == generation,
        position > row_value(after),
    )
    query = select(ratings.c.player, ratings.c.state).where(
        ratings.c.pool == pool.id,
        ratings.c.generation == generation,
        ratings.c.player.in_(players),
    )
    return {row[0]: bytes(row[1]) for row in connection.execute(query).all()}


def rename_player(connection: Connection, pool: int, player: str, pseudonym: str) -> None:
    """Give a player another name in all partial checkpoints, also in those that nobody reads.

    One that cannot be read is deleted.
    """
    every = connection.execute(_END.distinct().where(_C.pool == pool)).all()
    for time, seq, generation, from_time, from_seq in every:
        here = {"time": time, "seq": seq, "generation": generation}
        end = End((time, seq), generation, (from_time, from_seq))
        row = _ROW.rows(connection, {"of_pool": pool, **here, "player": player})
        try:
            if not row or player not in _decode(row[0][0]):
                continue
            rows = rows_of(connection, pool, end)
        except (TypeError, ValueError):
            mine = (_C[name] == value for name, value in here.items())
            connection.execute(delete(partial_checkpoints).where(_C.pool == pool, *mine))
            continue
        states = {name: state for row in rows for name, state in row.states.items()}
        states[pseudonym] = states.pop(player)
        put(connection, pool, end, states, rows[0].shared)


def _decode(content: bytes) -> dict[str, bytes]:
    return msgspec.msgpack.decode(bytes(content), type=dict[str, bytes])
