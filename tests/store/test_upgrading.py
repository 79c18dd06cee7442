"""A database of an earlier version is brought to the current schema, and nothing in it changes."""

from __future__ import annotations

from sqlalchemy import create_engine, inspect

from equipoise.messages.matches import MatchRequest, PostedMessage, TeamRequest
from equipoise.messages.seasons import SeasonRequest
from equipoise.store.connection import open_store
from equipoise.store.keys import list_keys
from equipoise.store.migrating import CURRENT, schema_version
from equipoise.store.schema import metadata
from equipoise.workflows.pool_reading import leaderboard
from equipoise.workflows.pools import create_pool, pool_message
from equipoise.workflows.posting import Post, post_matches
from equipoise.workflows.seasons import end_season
from equipoise.workflows.verifying import verify_pool
from trials.first_schema import NOW, SETTINGS


def test_a_database_of_the_first_version_goes_on(first_schema_url: str) -> None:
    """Its pool verifies, is set as it was, takes matches and can end a season."""
    store = open_store(first_schema_url)
    try:
        with store.read() as connection:
            assert schema_version(connection) == CURRENT
        assert verify_pool(store, "old").identical
        before = pool_message(store, "old")
        assert create_pool(store, "old", SETTINGS, NOW + 1) == before
        assert [key.name for key in list_keys(store)] == ["server"]
        more = MatchRequest("new", [TeamRequest(["ana"], 0), TeamRequest(["eva"], 1)])
        (answer,) = post_matches(store, "old", [Post([more], told=False)], NOW + 2)
        assert answer == PostedMessage(1, 0, before.last_seq + 1)
        assert verify_pool(store, "old").identical
        end_season(store, "old", SeasonRequest(season="one"), key=None, now=NOW + 3)
        assert verify_pool(store, "old").identical
        assert leaderboard(store, "old").players_in_pool == before.players + 1
    finally:
        store.close()


def test_upgrading_leads_to_the_tables_of_the_code(first_schema_url: str) -> None:
    """Every table and column is there with the same type and may be null where it may here."""
    open_store(first_schema_url).close()
    engine = create_engine(first_schema_url)
    found = inspect(engine)
    for table in metadata.sorted_tables:
        columns = {one["name"]: one for one in found.get_columns(table.name)}
        assert set(columns) == {column.name for column in table.columns}
        for column in table.columns:
            assert columns[column.name]["nullable"] == column.nullable, (table.name, column.name)
        indexes = {one["name"] for one in found.get_indexes(table.name)}
        assert {index.name for index in table.indexes} <= indexes
    engine.dispose()
