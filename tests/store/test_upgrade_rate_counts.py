"""Schema 0013 has a table of rate limits, which only earlier versions use."""

from __future__ import annotations

from pathlib import Path

import pytest

from equipoise.pools.pool.pools import pool_messages
from equipoise.pools.reading.leaderboard import leaderboard
from equipoise.pools.replay.verifying import verify_pool
from equipoise.store.connection import open_store
from equipoise.store.keys import list_keys
from equipoise.store.migrations.migrating import CURRENT, schema_version
from trials.saved_database import restore

#: Every schema there ever was: a sweep.
pytestmark = pytest.mark.slow


def test_a_database_of_the_previous_version_goes_on(database_url: str, tmp_path: Path) -> None:
    """The dump is of the code before; pools verify."""
    restore(database_url, "0012", tmp_path)
    store = open_store(database_url)
    try:
        with store.read() as connection:
            assert schema_version(connection) == CURRENT
        pools = {pool.pool for pool in pool_messages(store)}
        assert pools == {"played", "played.one", "known"}
        assert all(verify_pool(store, pool).identical for pool in pools)
        assert [row.player for row in leaderboard(store, "known", provisional=True).players] == [
            "ana",
            "ben",
        ]
        assert [key.name for key in list_keys(store)] == ["server"]
    finally:
        store.close()
