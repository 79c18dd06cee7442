"""A database from before sessions: its keys work on, can be rotated, and open sessions."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from equipoise.pools.pool.pools import pool_messages
from equipoise.pools.replay.verifying import verify_pool
from equipoise.store import keys
from equipoise.store.connection import open_store
from trials.saved_database import restore

#: Every column, or every schema there ever was: a sweep.
pytestmark = pytest.mark.slow

NOW = 1_900_000_000_000_100


def test_keys_of_schema_0005_go_on(database_url: str, tmp_path: Path) -> None:
    """Each of them is as it was, and every pool verifies."""
    restore(database_url, "0005", tmp_path)
    engine = create_engine(database_url)
    with engine.begin() as connection:
        made = text(
            "INSERT INTO keys (name, role, hash, created) VALUES ('mine', 'admin', :hash, 5) "
            "RETURNING id"
        )
        digest = hashlib.sha256(b"random").digest()
        number = connection.execute(made, {"hash": digest}).scalar_one()
        columns = "id, name, role, pool, hash, created, expires, revoked, last_used"
        query = text(f"SELECT {columns} FROM keys ORDER BY id")
        before = connection.execute(query).all()
    engine.dispose()

    store = open_store(database_url)
    try:
        with store.read() as connection:
            assert connection.execute(query).all() == before
        secret = f"eqp_{number}_random"
        key = keys.find_key(store, secret, NOW)
        assert key is not None
        assert key.previous_until is None
        opened = keys.open_session(store, secret, NOW, 1_000)
        assert opened is not None
        assert keys.find_session(store, opened[1], NOW) == key
        _, new = keys.rotate_key(store, number, NOW, keep=10, token="0123456789abcdefghij")
        assert keys.find_key(store, secret, NOW) == keys.find_key(store, new, NOW) != key
        for pool in pool_messages(store):
            assert verify_pool(store, pool.pool).identical
    finally:
        store.close()
