"""A database of schema 0005 gets partial checkpoints, and explains as before."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from equipoise.pools.reading import explaining
from equipoise.pools.reading.explaining import explain_player
from equipoise.pools.replay.replaying import maintain_pool, replay_pool
from equipoise.pools.replay.verifying import verify_pool
from equipoise.store.connection import Store, open_store
from equipoise.store.pools import START, all_pools
from equipoise.store.ratings import all_ratings
from equipoise.store.schema import partial_checkpoints
from equipoise.store.sizes import Sizes
from trials.saved_database import restore

#: Every column, or every schema there ever was: a sweep.
pytestmark = pytest.mark.slow


def explanations(store: Store) -> dict[tuple[str, str], bytes]:
    """Return the explanations of the last match of all players of all pools."""
    found = {}
    with store.read() as connection:
        pools = all_pools(connection)
        players = {
            pool.name: [
                row.player
                for rows in all_ratings(connection, pool.id, pool.generation)
                for row in rows
                if row.matches
            ]
            for pool in pools
        }
    for pool, names in players.items():
        for name in names:
            found[pool, name] = msgspec.json.encode(explain_player(store, pool, name))
    return found


def test_older_matches_get_partial_checkpoints(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the background, until which explanations read whole checkpoints."""
    restore(database_url, "0005", tmp_path)
    store = open_store(database_url, sizes=Sizes(partial_interval=20, partial_bytes=10**6))
    with store.read() as connection:
        pools = all_pools(connection)
    assert any(pool.matches for pool in pools)
    for pool in pools:
        assert (pool.unfilled is None) == (pool.matches == 0)
        assert pool.partial_end == (pool.unfilled or START)
        replay_pool(store, pool.name, owner="test")
    before = explanations(store)
    assert before
    for pool in pools:
        maintain_pool(store, pool.name, owner="test", stop=lambda: False)
        assert verify_pool(store, pool.name).identical
    with store.read() as connection:
        assert all(pool.unfilled is None for pool in all_pools(connection))
        assert connection.execute(partial_checkpoints.select()).first() is not None
    # Only players of a seed, who are in no partial checkpoint, take the state of their whole pool.
    seeded = {pool.name for pool in pools if pool.follows is not None}
    slow, asked = explaining.state_before, []

    def counted(connection, pool, *rest):  # type: ignore[no-untyped-def]
        asked.append(pool.name)
        return slow(connection, pool, *rest)

    monkeypatch.setattr(explaining, "state_before", counted)
    assert explanations(store) == before
    assert set(asked) <= seeded
    store.close()
