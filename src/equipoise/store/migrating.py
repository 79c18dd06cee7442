"""Bringing a database to the current schema, step by step."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, inspect, text

from equipoise.errors import ConflictError

#: The schema that this code reads and writes: the last step in `migrations/versions`.
CURRENT = "0005"

#: Number of the advisory lock under which one process at a time migrates PostgreSQL.
_LOCK = 4_201_977

#: Alembic keeps what it is doing in its modules: one thread of a process at a time.
_ALEMBIC = threading.Lock()


def schema_version(connection: Connection) -> str | None:
    """Return the schema that a database has, None for an empty one."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    version: str | None = connection.execute(
        text("SELECT version_num FROM alembic_version")
    ).scalar()
    return version


def check_schema(engine: Engine) -> None:
    """Refuse another schema than the current one. Raises : ConflictError."""
    with engine.connect() as connection:
        version = schema_version(connection)
    if version != CURRENT:
        raise _wrong(version)


def migrate_schema(engine: Engine) -> None:
    """Create or upgrade the schema. Raises : ConflictError where it is newer than this code."""
    with engine.connect() as connection:
        version = schema_version(connection)
    if version == CURRENT:
        return
    if version is not None and version > CURRENT:
        raise _wrong(version)
    if engine.dialect.name == "sqlite":
        engine = engine.execution_options(equipoise_writes=True)
    with engine.connect() as connection:
        if engine.dialect.name == "sqlite":
            _work_in_files(connection)
        with connection.begin():
            if engine.dialect.name == "postgresql":
                connection.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": _LOCK})
            # Another process may have been quicker.
            if schema_version(connection) != CURRENT:
                _upgrade(connection)


def _work_in_files(connection: Connection) -> None:
    """Let SQLite sort whole tables, and note what it drops, in files: memory may be too small.

    That is settled before a transaction begins. The connection is closed afterwards.
    """
    connection.detach()
    cursor = connection.connection.cursor()
    cursor.execute("PRAGMA temp_store = FILE")
    cursor.close()


def configuration() -> Any:
    """Return the configuration that Alembic needs to find the steps."""
    from alembic.config import Config

    found = Config()
    found.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    found.set_main_option("path_separator", "os")
    return found


def _upgrade(connection: Connection) -> None:
    """Take all steps that are missing, in the transaction of the connection."""
    from alembic import command

    settings = configuration()
    settings.attributes["connection"] = connection
    with _ALEMBIC:
        command.upgrade(settings, CURRENT)


def _wrong(version: str | None) -> ConflictError:
    """Return the error for a database that this code must not touch."""
    if version is None:
        return ConflictError("the database is empty: `equipoise serve` sets it up")
    if version > CURRENT:
        return ConflictError(
            f"the database has schema {version}, and this version of equipoise knows {CURRENT} at "
            "most: use the version that wrote it, or a later one"
        )
    return ConflictError(
        f"the database has schema {version}, and this version of equipoise needs {CURRENT}: "
        "`equipoise serve` upgrades it (make a backup before)"
    )
