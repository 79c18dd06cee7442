"""Partial checkpoints made while matches are posted, from the states that were just written.

See `store.derived.partial_checkpoints`. The cache of states keeps the states since the last one in
memory. A process that does not have them all reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sqlalchemy import Connection

from equipoise.arrays import Floats
from equipoise.store.derived import partial_checkpoints
from equipoise.store.derived.partial_checkpoints import End
from equipoise.store.pools import PoolRecord, Position
from equipoise.store.sizes import Sizes, sizes_of


def is_due(sizes: Sizes, before: int, after: int) -> bool:
    """Return whether a partial checkpoint is to be tried after a batch.

    It may turn out to be too large. The next attempt is then made at twice the distance, so that
    attempts stay a small part of the work.

    before, after : participations since the last one, before and after the batch
    """
    interval = sizes.partial_interval
    return (after // interval).bit_length() > (before // interval).bit_length()


def is_small(sizes: Sizes, states: Mapping[str, bytes], participations: int) -> bool:
    """Return whether states are small enough for a partial checkpoint after so many."""
    return sum(map(len, states.values())) <= sizes.partial_bytes * participations


def columns_after(
    connection: Connection,
    pool: PoolRecord,
    end: Position,
    participations: int,
    known: Callable[[], Mapping[str, bytes] | None],
    shared: Mapping[str, Floats],
) -> dict[str, Any]:
    """Write a partial checkpoint if one is due; return the columns of the pool after it.

    pool : before the batch, whose ratings are written
    end : after the last record of the batch
    participations : of the batch
    known : gives the states of all players with changes since the last partial checkpoint, None
        if they must be read
    """
    sizes, due = sizes_of(connection), pool.partial_due + participations
    # While a replay waits, times of the log may go back.
    if pool.dirty is not None or not is_due(sizes, pool.partial_due, due):
        return {"partial_due": due}
    states = known()
    if states is None:
        states = partial_checkpoints.states_since(
            connection, pool, pool.generation, pool.partial_end
        )
    if not is_small(sizes, states, due):
        return {"partial_due": due}
    made = End(end, pool.generation, pool.partial_end)
    partial_checkpoints.put(connection, pool.id, made, states, shared)
    return {"partial_due": 0, "partial_end": end}
