"""A database of an earlier version is brought to the current schema, and nothing in it changes.

The dumps were written by commit 940f139c. `0013_all_conditions`: pools with replays behind them,
voids and a disqualified player, one that waits for a replay, seasons, known ratings, a webhook, and
a key. `0013_few_opponents`: schema 0014 takes the parameter `opponents` of Elo-MMR from pools, and
rates them again: `few` has 3, `every` has null, `plain` has none; the first two ended a season.
"""

from __future__ import annotations

import logging
import re
import threading
import time
from inspect import getsource
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import create_engine, inspect, text

from equipoise.analysis.requests import HistoryRequest
from equipoise.errors import ConflictError, UnavailableError
from equipoise.messages.matches import MatchRequest, TeamRequest
from equipoise.messages.pools import PoolChange, ProfileRequest, ProfilesRequest, SeasonRequest
from equipoise.pools import webhooks
from equipoise.pools.backups import checks_of, restore_backup
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
from equipoise.store.keys import create_key, list_keys
from equipoise.store.migrations import CURRENT, OLDEST, STEPS, schema_version
from equipoise.store.schema import metadata
from pools.pool_trials import NOW, Trial, duel, import_file
from trials.later_versions import CONTRACTED, EXPANDED, later_version
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


ELO_MMR_POOLS = ("few.one", "few", "every.one", "every", "plain")


def _ratings(store: Store, name: str) -> dict[str, float]:
    return Trial.existing(store, name).ratings()


def test_pools_are_rated_again_without_it(
    database_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    restore(database_url, "0013_few_opponents", tmp_path)
    caplog.set_level(logging.INFO)
    store = open_store(database_url)
    try:
        named = [one.message for one in caplog.records if "opponents=" in one.message]
        assert named == [
            f"pool {name}: opponents=3 was removed from elo-mmr; its log is rated again without it"
            for name in ELO_MMR_POOLS[:2]
        ]
        before = {name: _ratings(store, name) for name in ELO_MMR_POOLS}
        assert [name for name in ELO_MMR_POOLS if pool_message(store, name).pending] == list(
            ELO_MMR_POOLS[:2]
        )
        for name in ELO_MMR_POOLS[2:]:
            assert verify_pool(store, name).identical
        changed = []
        for name in ELO_MMR_POOLS:
            replayed = maintain_pool(store, name, owner="tester", stop=lambda: False)
            changed.append(None if replayed is None else replayed.changed)
            assert verify_pool(store, name).identical
            assert "opponents" not in pool_message(store, name).parameters
        assert changed == [12, 12, None, None, None]
        assert [name for name in ELO_MMR_POOLS if _ratings(store, name) != before[name]] == list(
            ELO_MMR_POOLS[:2]
        )
        # A log of that version gives the same, and its hash chain stays.
        log = Path(__file__).parents[1] / "trials" / "log_few_opponents.ndjson"
        assert import_file(store, "imported", log).same_head
        assert _ratings(store, "imported") == _ratings(store, "few")
    finally:
        store.close()


def test_a_backup_is_restored_and_verified(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    backup = tmp_path / "backup.db"
    restore(f"sqlite:///{backup}", "0013_few_opponents", tmp_path)
    restored = restore_backup(backup, f"sqlite:///{tmp_path / 'restored.db'}")
    assert (restored.pools, restored.schema, restored.verified) == (
        len(ELO_MMR_POOLS),
        "0013",
        True,
    )
    assert "pool few was rated again: 12 ratings changed" in caplog.messages


def test_the_steps_make_the_tables_of_the_code(store: Store) -> None:
    """Tables, columns, their types and which may be null, indexes and constraints."""
    with store.engine.connect() as connection:
        options = {"compare_type": True, "compare_server_default": True}
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, metadata) == []
        assert schema_version(connection) == CURRENT


def test_partial_indexes_keep_their_conditions(store: Store) -> None:
    """What is compared above leaves those out."""
    with store.engine.connect() as connection:
        catalogue = (
            "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL"
            if store.is_sqlite
            else "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'"
        )
        made = {row[0]: row[1] for row in connection.execute(text(catalogue))}
        kind = store.engine.dialect.name
        for table in metadata.tables.values():
            for index in table.indexes:
                wanted = index.dialect_options[kind]["where"]
                assert (wanted is not None) == (" WHERE " in made[str(index.name)])
        assert "kind" in made["ix_log_match"].partition(" WHERE ")[2]
        assert "needs_replay" in made["ix_log_waiting"].partition(" WHERE ")[2]


def test_the_last_step_is_the_current_schema() -> None:
    """And there is one way to it."""
    schemas = [OLDEST, *(step.schema for step in STEPS)]
    assert schemas == sorted(set(schemas))
    assert schemas[-1] == CURRENT


def test_postgresql_sorts_names_by_their_bytes(postgres_url: str) -> None:
    """As SQLite and Python do, whatever the language of the server."""
    store = open_store(postgres_url)
    columns = {
        (table, column["name"]): getattr(column["type"], "collation", None)
        for table in ("log", "ratings", "changes", "pools")
        for column in inspect(store.engine).get_columns(table)
    }
    for one in (("log", "match"), ("ratings", "player"), ("changes", "player"), ("pools", "name")):
        assert columns[one] == "C"
    store.close()


def test_questions_of_every_request_are_answered_from_indexes(sqlite_store: Store) -> None:
    """No table is gone through from one end to the other."""
    asked = {
        "SELECT * FROM log WHERE pool = 1 AND kind = 'match' AND match = ?": "ix_log_match",
        "SELECT * FROM log WHERE pool = 1 AND kind != 'match' ORDER BY seq": "ix_log_amendments",
        "SELECT * FROM log WHERE pool = 1 AND kind != 'match' AND match = ?": "ix_log_of_match",
        "SELECT * FROM log WHERE pool = 1 AND kind != 'match' AND player = ?": "ix_log_of_player",
        "SELECT * FROM log WHERE pool = 1 AND kind = 'match' AND (time, seq) > (1, 2) "
        "ORDER BY time, seq LIMIT 9": "ix_log_position",
        "SELECT player, ordering FROM ratings WHERE pool = 1 AND generation = 1 AND "
        "disqualified = 0 AND provisional = 0 AND (ordering, player) > (1.0, 'a') "
        "ORDER BY ordering, player LIMIT 9": ("ix_ratings_leaderboard"),
        "SELECT * FROM changes WHERE pool = 1 AND (time, seq) >= (1, 2) AND generation < 3 "
        "ORDER BY time, seq, player, generation LIMIT 9": "PRIMARY KEY",
    }
    with sqlite_store.engine.connect() as connection:
        for question, index in asked.items():
            plan = connection.exec_driver_sql(
                f"EXPLAIN QUERY PLAN {question}", ("x",) * question.count("?")
            )
            told = " ".join(str(row[3]) for row in plan)
            assert index in told, told
            assert "SCAN" not in told
            assert "TEMP B-TREE" not in told


def _upgrade(url: str, revision: str) -> None:
    """Upgrade a database to the schema of a later version."""
    with later_version(revision):
        open_store(url).close()


def _state(url: str) -> tuple[str, str]:
    """Return what a database says of its schema, and the check of it."""
    check = next(one for one in checks_of(url, quick=True) if one.check == "schema")
    return check.status, check.detail


def test_after_an_expanding_migration_this_version_goes_on(database_url: str) -> None:
    """With the database open, and opened again; both versions post to one pool, and verify it."""
    store = open_store(database_url)
    pool = Trial(store)
    pool.post(duel("before", "ana", "ben", None))
    _upgrade(database_url, EXPANDED)
    store.notice_upgrades()
    pool.post(duel("running", "ben", "cyd", None))

    again = open_store(database_url)
    pool.store = again
    pool.post(duel("opened", "cyd", "ana", None))
    with later_version(EXPANDED):
        newer = open_store(database_url)
        pool.store = newer
        pool.post(duel("later", "ana", "cyd", None))
        assert pool.is_sound()
        newer.close()
    pool.store = again
    assert pool.is_sound()
    assert leaderboard(store, "trial", provisional=True).players_in_pool == 3
    sentence = f"version {EXPANDED}, which this version of equipoise may use as {CURRENT}"
    assert _state(database_url) == ("ok", sentence)
    open_store(database_url, migrate=False).close()
    for one in (store, again):
        one.close()


def test_after_a_contracting_migration_this_version_refuses(database_url: str) -> None:
    """At the start in a sentence, and where it runs already before it writes."""
    store = open_store(database_url)
    create_key(store, "before", "admin", None, None, 0)
    _upgrade(database_url, CONTRACTED)
    sentence = (
        f"the database has schema {CONTRACTED}, which versions of equipoise from schema {EXPANDED} "
        f"on can use, and this one knows {CURRENT} at most: use the version that wrote it"
    )
    store.notice_upgrades()
    with pytest.raises(UnavailableError, match=sentence):
        create_key(store, "after", "admin", None, None, 0)
    store.close()
    for migrate in (True, False):
        with pytest.raises(ConflictError, match=sentence):
            open_store(database_url, migrate=migrate)
    status, detail = _state(database_url)
    assert status == "failed"
    assert sentence in detail
    with later_version(EXPANDED):  # the version before it may go on
        open_store(database_url).close()


@pytest.mark.parametrize("revision", [EXPANDED, CONTRACTED])
def test_a_later_version_may_be_faster(sqlite_url: str, revision: str) -> None:
    """It has migrated while this one waited to do so."""
    _upgrade(sqlite_url, revision)
    engine = open_raw(sqlite_url)
    if revision == CONTRACTED:
        with pytest.raises(ConflictError, match=f"schema {CONTRACTED}"):
            migrations._migrate(engine)
    else:
        migrations._migrate(engine)
    with engine.connect() as connection:
        assert migrations.schema_version(connection) == revision
    engine.dispose()


def open_raw(url: str) -> Any:
    """Return an engine as a store has it, without any check."""
    from equipoise.store.connection import _engine, checked_url

    return _engine(checked_url(url)).execution_options(equipoise_writes=True)


def test_a_migration_does_not_hold_up_posts_while_it_waits(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A backup holds locks on all tables. The migration gives up its place in the queue."""
    monkeypatch.setattr(migrations, "_PAUSE", 0.2)
    store = open_store(postgres_url)
    pool = Trial(store)
    with store.engine.connect() as backup, backup.begin():
        backup.execute(text("LOCK TABLE pools, log IN ACCESS SHARE MODE"))
        newer = threading.Thread(target=_upgrade, args=(postgres_url, EXPANDED))
        newer.start()
        until = time.monotonic() + 3.0
        count = 0
        while time.monotonic() < until or count < 3:
            pool.post(duel(f"m{count}", "ana", "ben", None))
            count += 1
        assert newer.is_alive()
        assert _version(store) == CURRENT
    newer.join(120)
    assert _version(store) == EXPANDED
    pool.post(duel("after", "ben", "ana", None))
    assert pool.is_sound()
    store.close()


def test_a_migration_that_gets_no_locks_ends_in_a_sentence(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrations, "_PATIENCE", 0.0)
    store = open_store(postgres_url)
    with store.engine.connect() as backup, backup.begin():
        backup.execute(text("LOCK TABLE pools IN ACCESS SHARE MODE"))
        with pytest.raises(ConflictError, match="others held locks on the tables"):
            _upgrade(postgres_url, EXPANDED)
    assert _version(store) == CURRENT
    store.close()


def _version(store: Store) -> str | None:
    with store.read() as connection:
        return migrations.schema_version(connection)


def test_a_migration_after_which_earlier_programs_go_on_only_adds() -> None:
    """New columns can be null or have a default, as earlier programs do not know them."""
    for step in STEPS:
        assert step.oldest <= step.schema
        if step.oldest == step.schema:
            continue
        source = getsource(step.take)
        assert not re.search(r"\b(DROP|RENAME|ALTER COLUMN)\b", source), step.schema
        for column in re.findall(r"ADD COLUMN[^\n]*NOT NULL[^\n]*", source):
            assert "DEFAULT" in column, column
