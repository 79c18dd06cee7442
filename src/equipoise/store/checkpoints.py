"""Checkpoints: states from which replays and explanations start. All of them follow from the log.

A checkpoint has the states of a whole pool.

A partial checkpoint has the states of the players with rating changes since the previous one. They
are close together, so that the state before any match follows from a few matches. A player's state
at the end of one is in the first that ends at or after the player's last change. Each has rows of a
few hundred players, in the order of their ids; `first` is the first id of a row, "" in the first
row. Deleting rows is safe, but makes explanations slower.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import Connection, and_, bindparam, delete, insert, select, tuple_, update

from equipoise.arrays import Floats
from equipoise.store.bulk import Prepared, sizes_of
from equipoise.store.pools import (
    PoolRecord,
    Position,
    pack_shared,
    row_value,
    seen_rows,
    unpack_shared,
)
from equipoise.store.schema import changes, checkpoints, partial_checkpoints, ratings


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


_C = checkpoints.c
_POSITION = tuple_(_C.time, _C.seq)


def _at(pool: int, position: Position) -> Any:
    return (_C.pool == pool) & (row_value(position) == _POSITION)


def add_checkpoint(connection: Connection, pool: int, checkpoint: Checkpoint) -> None:
    """Add a checkpoint; one at the same position is replaced."""
    connection.execute(delete(checkpoints).where(_at(pool, checkpoint.position)))
    values = asdict(checkpoint)
    time, seq = values.pop("position")
    connection.execute(insert(checkpoints).values(pool=pool, time=time, seq=seq, **values))


def last_before(connection: Connection, pool: int, position: Position) -> Checkpoint | None:
    """Return the last checkpoint before a position, or None."""
    query = (
        select(_C.time, _C.seq, _C.participations, _C.code, _C.content, _C.trail)
        .where(_C.pool == pool, row_value(position) > _POSITION)
        .order_by(_C.time.desc(), _C.seq.desc())
        .limit(1)
    )
    row = connection.execute(query).first()
    return None if row is None else Checkpoint((row[0], row[1]), *row[2:])


def forget_from(connection: Connection, pool: int, position: Position) -> None:
    """Delete the checkpoints from a position on."""
    mine = (_C.pool == pool) & (row_value(position) <= _POSITION)
    connection.execute(delete(checkpoints).where(mine))


def positions(connection: Connection, pool: int) -> list[Position]:
    """Return the positions of a pool's checkpoints, in order."""
    query = select(_C.time, _C.seq).where(_C.pool == pool).order_by(_C.time, _C.seq)
    return [(time, seq) for time, seq in connection.execute(query)]


def thin(connection: Connection, pool: int) -> bool:
    """Delete every second checkpoint, except the last, if there are too many; return whether."""
    places = positions(connection, pool)
    if len(places) <= sizes_of(connection).checkpoints:
        return False
    for position in places[-2::-2]:
        connection.execute(delete(checkpoints).where(_at(pool, position)))
    return True


def rewrite_states(
    connection: Connection,
    pool: int,
    rewritten: Callable[[bytes], bytes | None],
    write: bool,
    most_bytes: int,
) -> int:
    """Rewrite checkpoints, the newest first; return how many name a player.

    rewritten : returns the new state, None for one without the name; raises ValueError for a state
        that cannot be read, which is then deleted
    most_bytes : after so many bytes were rewritten, further checkpoints are deleted
    """
    count = done = 0
    for position in reversed(positions(connection, pool)):
        content = connection.execute(select(_C.content).where(_at(pool, position))).scalar_one()
        try:
            new = rewritten(bytes(content))
        except ValueError:
            new = b""
        if new is None:
            continue
        count, done = count + 1, done + len(new)
        change: Any = delete(checkpoints)
        if new and done <= most_bytes:
            change = update(checkpoints).values(content=new)
        if write:
            connection.execute(change.where(_at(pool, position)))
    return count


#: Bytes of states in a row, roughly.
_ROW_BYTES = 32_768


class PartialEnd(NamedTuple):
    """The end of a partial checkpoint, and the position after which it has all changes."""

    position: Position
    generation: int
    begins: Position

    def key(self, pool: int) -> dict[str, int]:
        """Return what its rows have in their key, beside the first player."""
        time, seq = self.position
        return {"pool": pool, "time": time, "seq": seq, "generation": self.generation}


_P = partial_checkpoints.c
_SEEN = seen_rows(partial_checkpoints)
_END = select(_P.time, _P.seq, _P.generation, _P.from_time, _P.from_seq)
_PLACE, _HERE = tuple_(_P.time, _P.seq), tuple_(bindparam("time"), bindparam("seq"))
_FIRST_FROM = Prepared(
    _END.where(_SEEN, _PLACE >= _HERE).order_by(_P.time, _P.seq, _P.generation).limit(1)
)
_LAST_BEFORE = Prepared(
    _END.where(_SEEN, _PLACE < _HERE)
    .order_by(_P.time.desc(), _P.seq.desc(), _P.generation.desc())
    .limit(1)
)
_ROW = Prepared(
    select(_P.content, _P.shared)
    .where(
        *(_P[name] == bindparam(name) for name in ("pool", "time", "seq", "generation")),
        _P.first <= bindparam("player"),
    )
    .order_by(_P.first.desc())
    .limit(1)
)


def _is(pool: int, end: PartialEnd) -> Any:
    return and_(*(_P[name] == value for name, value in end.key(pool).items()))


def put_partial(
    connection: Connection,
    pool: int,
    end: PartialEnd,
    states: Mapping[str, bytes],
    shared: Mapping[str, Floats],
) -> None:
    """Write a partial checkpoint; states : packed, by player."""
    rows, size = [("", dict[str, bytes]())], 0
    for player in sorted(states):
        if size >= _ROW_BYTES:
            rows.append((player, {}))
            size = 0
        rows[-1][1][player] = states[player]
        size += len(states[player]) + len(player)
    from_time, from_seq = end.begins
    fixed: dict[str, Any] = {**end.key(pool), "from_time": from_time, "from_seq": from_seq}
    fixed["shared"] = pack_shared(shared)
    # One may be made again after a stop.
    connection.execute(delete(partial_checkpoints).where(_is(pool, end)))
    connection.execute(
        insert(partial_checkpoints),
        [
            {**fixed, "first": first, "content": msgspec.msgpack.encode(content)}
            for first, content in rows
        ],
    )


def last_partial_before(
    connection: Connection, pool: PoolRecord, position: Position
) -> PartialEnd | None:
    """Return the last partial checkpoint that ends before a position, or None."""
    return _nearest(_LAST_BEFORE, connection, pool, position)


def _nearest(
    query: Prepared, connection: Connection, pool: PoolRecord, position: Position
) -> PartialEnd | None:
    time, seq = position
    rows = query.rows(connection, {**pool.seen, "time": time, "seq": seq})
    return _end(rows[0]) if rows else None


def _end(row: Sequence[Any]) -> PartialEnd:
    return PartialEnd((row[0], row[1]), row[2], (row[3], row[4]))


def partial_ends(connection: Connection, pool: PoolRecord) -> list[PartialEnd]:
    """Return all partial checkpoints of a pool that readers see, in order."""
    query = _END.distinct().where(seen_rows(partial_checkpoints, pool))
    rows = connection.execute(query.order_by(_P.time, _P.seq, _P.generation)).all()
    return list(map(_end, rows))


class PartialRow(NamedTuple):
    """A row of a partial checkpoint: its first player, the packed states, the shared state."""

    first: str
    states: dict[str, bytes]
    shared: dict[str, Floats]


def partial_rows(connection: Connection, pool: int, end: PartialEnd) -> list[PartialRow]:
    """Return the rows of a partial checkpoint. Raises : ValueError if one cannot be read."""
    query = select(_P.first, _P.content, _P.shared).where(_is(pool, end)).order_by(_P.first)
    return [
        PartialRow(first, _decode(content), unpack_shared(shared))
        for first, content, shared in connection.execute(query).all()
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
        end = _nearest(_FIRST_FROM, self._connection, self._pool, change)
        if end is None or end.begins >= change:
            return None
        return self._row(end, player)[0].get(player)

    def shared_at(self, end: PartialEnd) -> dict[str, Floats]:
        """Return the state that belongs to no single player at the end of one."""
        return unpack_shared(self._row(end, "")[1])

    def _row(self, end: PartialEnd, player: str) -> tuple[dict[str, bytes], str]:
        """Return the states of the row that would have a player, and the shared state."""
        rows = _ROW.rows(self._connection, {**end.key(self._pool.id), "player": player})
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
    every = connection.execute(_END.distinct().where(_P.pool == pool)).all()
    for end in map(_end, every):
        row = _ROW.rows(connection, {**end.key(pool), "player": player})
        try:
            if not row or player not in _decode(row[0][0]):
                continue
            rows = partial_rows(connection, pool, end)
        except (TypeError, ValueError):
            connection.execute(delete(partial_checkpoints).where(_is(pool, end)))
            continue
        states = {name: state for row in rows for name, state in row.states.items()}
        states[pseudonym] = states.pop(player)
        put_partial(connection, pool, end, states, rows[0].shared)


def _decode(content: bytes) -> dict[str, bytes]:
    return msgspec.msgpack.decode(bytes(content), type=dict[str, bytes])
