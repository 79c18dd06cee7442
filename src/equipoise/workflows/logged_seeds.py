"""What a season began with, as part of the log that is exported and imported."""

from __future__ import annotations

import zlib

from sqlalchemy import Connection

from equipoise.errors import ConflictError, InvalidDataError
from equipoise.rating.pool_state import PoolState
from equipoise.store import seeds
from equipoise.store.connection import Store
from equipoise.store.pools import PoolRecord, change_pool, get_pool
from equipoise.store.seeds import Seed
from equipoise.workflows.planting import plant_ratings
from equipoise.workflows.pools import rules_of
from equipoise.workflows.posted_matches import PoolRules

#: Number of the archive of a season that came from elsewhere: no pool has it.
_ELSEWHERE = 0


def seed_of(connection: Connection, pool: PoolRecord) -> bytes | None:
    """Return the packed state that a pool began with, None where nobody was known."""
    return None if pool.follows is None else seeds.content_of(connection, pool.id)


def plant_seed(store: Store, pool: str, content: bytes | None) -> None:
    """Let a pool begin with the state of a log, as it does already or as it is still empty.

    Raises : ConflictError where it began with another; InvalidDataError
    """
    with store.write() as connection:
        record = get_pool(connection, pool, lock=True)
        if seed_of(connection, record) == content:
            return
        if content is None or record.last_seq or record.follows is not None:
            raise ConflictError(
                f"pool {pool!r} started with other ratings than the pool of the log"
            )
        rules = rules_of(record.settings)
        state = _state(content, rules)
        players = plant_ratings(connection, record.id, record.generation, rules, state)
        seeds.add_seed(connection, record.id, Seed(_ELSEWHERE, "{}", None, players), content)
        change_pool(connection, record.id, players=players, follows=_ELSEWHERE)


def _state(content: bytes, rules: PoolRules) -> PoolState:
    """Return the state that is packed. Raises : InvalidDataError."""
    try:
        found = PoolState.from_bytes(zlib.decompress(content), "the seed of the log")
    except zlib.error as error:
        raise InvalidDataError([], f"the seed of the log is damaged: {error}") from error
    if found.system != rules.system:
        raise InvalidDataError([], "the seed of the log is of another system than the pool's")
    return found
