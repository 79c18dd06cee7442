"""The schema that the steps make is the one that the code knows."""

from __future__ import annotations

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import inspect, text

from equipoise.store.connection import Store, open_store
from equipoise.store.migrations import CURRENT, OLDEST, STEPS, schema_version
from equipoise.store.schema import metadata


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
