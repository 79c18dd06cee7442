"""A database of an earlier version is brought to the current schema, and nothing in it changes.

The dump was written by commit 940f139c: pools with replays behind them, voids and a disqualified
player, one that waits for a replay, seasons, known ratings, a webhook, and a key.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, inspect, text

from equipoise.analysis.requests import HistoryRequest
from equipoise.errors import ConflictError
from equipoise.messages.matches import MatchRequest, TeamRequest
from equipoise.messages.pools import (
    PoolChange,
    ProfileRequest,
    ProfilesRequest,
    SeasonRequest,
)
from equipoise.pools import webhooks
from equipoise.pools.exchange.exporting import export_file
from equipoise.pools.exchange.importing import ImportRequest, import_pool
from equipoise.pools.pool.pools import pool_message
from equipoise.pools.pool.settings import change_settings
from equipoise.pools.posting.posting import Post, post_matches
from equipoise.pools.profiles import set_profiles
from equipoise.pools.reading.players import leaderboard
from equipoise.pools.replay.replaying import maintain_pool, rerate
from equipoise.pools.replay.verifying import verify_pool
from equipoise.pools.seasons import end_season
from equipoise.store import migrations
from equipoise.store.connection import Store, open_store
from equipoise.store.keys import list_keys
from equipoise.store.migrations import CURRENT, schema_version
from equipoise.store.schema import metadata
from pools.pool_trials import NOW
from trials.saved_database import restore

POOLS = (
    *("replayed", "waiting", "untimed", "season", "season.one"),
    *("contests", "learned", "known", "empty"),
)


def _stored(url: str) -> dict[str, dict[str, float]]:
    """Return the ratings of all pools as the tables have them, whatever wrote them."""
    engine = create_engine(url)
    query = text(
        "SELECT pools.name, ratings.player, ratings.rating FROM pools JOIN ratings "
        "ON ratings.pool = pools.id AND ratings.generation <= pools.generation "
        "ORDER BY ratings.generation"
    )
    found: dict[str, dict[str, float]] = {name: {} for name in POOLS}
    with engine.connect() as connection:
        for pool, player, rating in connection.execute(query):
            found[pool][player] = rating
    engine.dispose()
    return found


def _check(store: Store) -> None:
    for name in POOLS:
        found = verify_pool(store, name)
        assert found.identical, (name, found.differences)


def test_pools_in_every_condition_go_on(database_url: str, tmp_path: Path) -> None:
    """As they are, after what waits, and rated again from the first match."""
    restore(database_url, "0013_all_conditions", tmp_path)
    before = _stored(database_url)
    assert sum(map(len, before.values())) > 30
    store = open_store(database_url)
    try:
        with store.read() as connection:
            assert schema_version(connection) == CURRENT
        assert _stored(database_url) == before
        _check(store)
        assert [name for name in POOLS if pool_message(store, name).pending] == ["waiting"]
        maintain_pool(store, "waiting", owner="tester", stop=lambda: False)
        after = _stored(database_url)
        assert [name for name in POOLS if after[name] != before[name]] == ["waiting"]
        for name in POOLS:
            rerate(store, name)
            maintain_pool(store, name, owner="tester", stop=lambda: False)
        _check(store)
        assert _stored(database_url) == after
    finally:
        store.close()


def test_it_is_used_as_a_new_one(database_url: str, tmp_path: Path) -> None:
    restore(database_url, "0013_all_conditions", tmp_path)
    store = open_store(database_url)
    try:
        assert [key.name for key in list_keys(store)] == ["server"]
        (hook,) = webhooks.list_webhooks(store, "known").webhooks
        webhooks.delete_webhook(store, "known", hook.webhook, key=None, now=NOW)
        for name in POOLS:
            if "." in name:
                continue
            last = pool_message(store, name).last_time
            two = [TeamRequest(["newcomer-1"], 0), TeamRequest(["newcomer-2"], 1)]
            time = None if name == "untimed" else int(last or 0) + 5
            post_matches(store, name, [Post([MatchRequest("new", two, time=time)])], NOW)
            change_settings(store, name, PoolChange(placement_matches=0), NOW)
            named = ProfilesRequest([ProfileRequest("newcomer-1", "Ada")])
            assert set_profiles(store, name, named, key=None, now=NOW).changed == 1
        end_season(store, "replayed", SeasonRequest(season="two"), key=None, now=NOW + 9)
        _check(store)
        assert verify_pool(store, "replayed.two").identical
        assert leaderboard(store, "replayed.two").players_in_pool == 8
    finally:
        store.close()


def test_a_moved_pool_keeps_its_head(sqlite_url: str, tmp_path: Path) -> None:
    """The local head is of the database."""
    restore(sqlite_url, "0013_all_conditions", tmp_path)
    store = open_store(sqlite_url)
    other = open_store(f"sqlite:///{tmp_path / 'other.db'}")
    try:
        for name in POOLS:
            maintain_pool(store, name, owner="tester", stop=lambda: False)
            path = tmp_path / f"{name}.ndjson"
            export_file(store, name, "log", str(path))
            request = ImportRequest(
                history=HistoryRequest(source=str(path)), create=True, future_seconds=None
            )
            done = import_pool(other, name.replace(".", "-"), request, NOW + 1)
            assert done.same_head, name
            one, moved = (verify_pool(*at) for at in ((store, name), (other, done.pool)))
            same = (moved.head, moved.players, moved.changes)
            assert (one.head, one.players, one.changes) == same
            assert one.local_head != moved.local_head
            assert moved.identical
    finally:
        store.close()
        other.close()


def test_upgrading_leads_to_the_tables_of_the_code(database_url: str, tmp_path: Path) -> None:
    """Every table and column is there with the same type and may be null where it may here."""
    restore(database_url, "0013_all_conditions", tmp_path)
    open_store(database_url).close()
    engine = create_engine(database_url)
    found = inspect(engine)
    for table in metadata.sorted_tables:
        columns = {one["name"]: one for one in found.get_columns(table.name)}
        assert set(columns) == {column.name for column in table.columns}
        for column in table.columns:
            assert columns[column.name]["nullable"] == column.nullable, (table.name, column.name)
        indexes = {one["name"] for one in found.get_indexes(table.name)}
        assert {index.name for index in table.indexes} <= indexes
    engine.dispose()


def test_a_database_of_a_still_earlier_version_is_refused(
    database_url: str, tmp_path: Path
) -> None:
    """In a sentence that says what to do, and nothing in it is changed."""
    restore(database_url, "0013_all_conditions", tmp_path)
    engine = create_engine(database_url)
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '0009'"))
    before = _stored(database_url)
    sentence = (
        "has schema 0009, and this version of equipoise upgrades databases from schema 0013 on"
    )
    with pytest.raises(ConflictError, match=sentence):
        open_store(database_url)
    with engine.connect() as connection:
        assert schema_version(connection) == "0009"
    engine.dispose()
    assert _stored(database_url) == before


def test_tables_of_another_program_are_left_alone(sqlite_url: str) -> None:
    engine = create_engine(sqlite_url)
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE log (line TEXT)"))
    with pytest.raises(Exception, match="table log already exists"):
        open_store(sqlite_url)
    assert inspect(engine).get_table_names() == ["log"]
    engine.dispose()


def test_sqlite_sorts_large_tables_in_files_while_it_upgrades(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And in memory, which is faster, on the connections that come after."""
    restore(sqlite_url, "0013_all_conditions", tmp_path)
    upgrade, seen = migrations._upgrade, []

    def watched(connection: Any, version: str) -> None:
        upgrade(connection, version)
        seen.append(connection.exec_driver_sql("PRAGMA temp_store").scalar())

    monkeypatch.setattr(migrations, "_upgrade", watched)
    store = open_store(sqlite_url)
    with store.read() as connection:
        seen.append(connection.exec_driver_sql("PRAGMA temp_store").scalar())
    assert seen == [1, 2]
    store.close()
