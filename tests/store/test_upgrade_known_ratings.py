"""Schema 0012 says which log record has the known ratings of a pool."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import create_engine, inspect, text

from equipoise.messages.pools import InitialRating, InitialRequest
from equipoise.messages.seasons import SeasonRequest
from equipoise.pools.exchange.exporting import export_bytes
from equipoise.pools.initial_ratings import initial_content, initial_ratings, keep_content
from equipoise.pools.pool.pools import pool_message, pool_messages
from equipoise.pools.replay.verifying import verify_pool
from equipoise.pools.seasons import end_season
from equipoise.store.connection import open_store
from equipoise.store.migrations.migrating import CURRENT, schema_version
from pools.pool_trials import NOW, Trial, duel
from trials.saved_database import restore

#: Every schema there ever was: a sweep.
pytestmark = pytest.mark.slow


def _previous(url: str) -> None:
    """Fill a database with pools, and take away what schema 0012 added."""
    store = open_store(url)
    played = Trial(store, "played", system="glicko2", late="replay")
    for number in range(6):
        played.post(duel(f"m{number}", "ana", "ben" if number % 2 else "cyd", 10 * number))
    played.void("m2")
    played.settle()
    end_season(store, "played", SeasonRequest(season="one", reset="soft"), key=None, now=NOW)
    played.post(duel("n", "ana", "dee", 100))
    Trial(store, "empty")
    store.close()
    engine = create_engine(url)
    with engine.begin() as connection:
        for column in ("initial", "known_ratings"):
            connection.execute(text(f"ALTER TABLE pools DROP COLUMN {column}"))
        connection.execute(text("DROP TABLE rate_counts"))  # schema 0013
        connection.execute(text("UPDATE alembic_version SET version_num = '0011'"))
    assert "initial" not in {one["name"] for one in inspect(engine).get_columns("pools")}
    engine.dispose()


def test_pools_of_the_previous_version_verify(database_url: str) -> None:
    """Nothing in them changes, and an empty one can begin with known ratings."""
    _previous(database_url)
    store = open_store(database_url)
    try:
        with store.read() as connection:
            assert schema_version(connection) == CURRENT
        for pool in ("played", "played.one", "empty"):
            assert verify_pool(store, pool).identical
            assert pool_message(store, pool).known_ratings == 0
            head = next(export_bytes(store, pool, "log", "ndjson")).splitlines()[0]
            assert head.startswith(b'{"equipoise_log":3,')
        known = InitialRequest(ratings=[InitialRating("ana", 1800.0)])
        told = keep_content(store, "empty", initial_content(known), key=None, now=NOW)
        assert (told.seq, told.players) == (1, 1)
        assert verify_pool(store, "empty").identical
    finally:
        store.close()


def test_pools_of_an_earlier_version_have_none(database_url: str, tmp_path: Path) -> None:
    restore(database_url, "0005", tmp_path)
    store = open_store(database_url)
    try:
        for pool in pool_messages(store):
            assert pool.known_ratings == 0
            assert initial_ratings(store, pool.pool).summary.seq is None
            assert verify_pool(store, pool.pool).identical
    finally:
        store.close()
