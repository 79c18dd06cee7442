"""A database of an earlier version is brought to the current schema, and nothing in it changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, inspect

from equipoise.messages.matches import MatchRequest, PostedMessage, TeamRequest
from equipoise.messages.seasons import SeasonRequest
from equipoise.store import migrating
from equipoise.store.connection import open_store
from equipoise.store.keys import list_keys
from equipoise.store.migrating import CURRENT, schema_version
from equipoise.store.schema import metadata
from equipoise.workflows import replay_claims, replaying
from equipoise.workflows.pool_reading import leaderboard, player_history
from equipoise.workflows.pools import create_pool, pool_message
from equipoise.workflows.posting import Post, post_matches
from equipoise.workflows.replaying import rerate, tend_pool
from equipoise.workflows.seasons import end_season
from equipoise.workflows.verifying import verify_pool
from trials.first_schema import NOW, SETTINGS, make_schema
from workflows.pool_trials import Trial, duel


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


def _second(url: str) -> None:
    """Fill a database with pools in all conditions in which an upgrade may meet them."""
    store = open_store(url)
    names = ["ana", "ben", "cyd", "dee", "eve"]
    for name, times in (("replayed", "seconds"), ("given-up", "seconds"), ("untimed", "none")):
        timed = {"late": "replay"} if times != "none" else {}
        pool = Trial(store, name, times=times, **timed)
        for number in range(24):
            two = names[number % 5], names[(number + 1 + number % 3) % 5]
            pool.post(duel(f"m{number}", *two, 10 * number if timed else None))
        # Two replays, the second from further on; what they have replaced is still there.
        pool.void("m6")
        assert pool.replay()
        pool.void("m15")
        assert pool.replay()
        pool.post(duel("after", "ana", "fay", 500 if timed else None))
    steps: list[int] = []

    def stop() -> bool:
        # Its own rows lie beside all others when it is left.
        steps.append(1)
        return len(steps) > 14

    late = Trial.__new__(Trial)
    late.store, late.name = store, "given-up"
    late.post(duel("late", "dee", "ben", 35))
    assert not late.replay(stop=stop)
    season = Trial(store, "season")
    season.post(duel("a", "ana", "ben", 1), duel("b", "ben", "cyd", 2))
    end_season(store, "season", SeasonRequest(season="one"), key=None, now=NOW + 3)
    season.post(duel("c", "cyd", "dee", 3))
    Trial(store, "empty")
    store.close()


def _told(url: str) -> dict[str, Any]:
    """Return the board of every pool and the matches of everybody on it."""
    store = open_store(url)
    found: dict[str, Any] = {}
    for pool in ("replayed", "given-up", "untimed", "season", "season.one", "empty"):
        board = leaderboard(store, pool, provisional=True)
        people = [row.player for row in board.players]
        found[pool] = board, [player_history(store, pool, one, limit=500) for one in people]
    store.close()
    return found


def test_pools_in_every_condition_are_upgraded(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody sees a difference; what waits can be replayed, and what is left over is cleared."""
    monkeypatch.setattr("equipoise.workflows.amended_log.PIECE", 3)
    monkeypatch.setattr(replay_claims, "STEP_ROWS", 2)
    monkeypatch.setattr(replaying, "_NEARLY", 2)
    make_schema(database_url, tmp_path, "0002", _second)
    before = _told(f"sqlite:///{tmp_path / 'made.db'}")
    assert _told(database_url) == before
    store = open_store(database_url)
    for pool in before:
        assert verify_pool(store, pool).identical
    for pool in before:
        tend_pool(store, pool, owner="tester", stop=lambda: False)
        assert verify_pool(store, pool).identical
    assert _told(database_url)["replayed"] == before["replayed"]
    assert _told(database_url)["given-up"] != before["given-up"]
    for pool in before:
        rerate(store, pool)
        tend_pool(store, pool, owner="tester", stop=lambda: False)
        assert verify_pool(store, pool).identical
    store.close()


def test_sqlite_sorts_large_tables_in_files_while_it_upgrades(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And in memory, which is faster, on the connections that come after."""
    upgrade, seen = migrating._upgrade, []

    def watched(connection: Any) -> None:
        upgrade(connection)
        seen.append(connection.exec_driver_sql("PRAGMA temp_store").scalar())

    monkeypatch.setattr(migrating, "_upgrade", watched)
    store = open_store(sqlite_url)
    with store.read() as connection:
        seen.append(connection.exec_driver_sql("PRAGMA temp_store").scalar())
    assert seen == [1, 2]
    store.close()
