"""Migrations: the missing ones are run, and a database says who may still use it.

A new database gets the tables of the code at once, and is marked as having the current schema.

A program may use a database whose schema is later than its own, as long as no migration since has
taken anything away that the program needs. So two versions can share a database while one replaces
the other. Every migration names the oldest schema whose programs can go on after it, in `oldest`.
The highest of these is kept in the table of Alembic, as programs that have to know it do not have
the migrations.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, inspect, text
from sqlalchemy.exc import OperationalError

from equipoise.errors import ConflictError
from equipoise.store import audit
from equipoise.store.schema import metadata

log = logging.getLogger(__name__)

#: The schema that this code reads and writes: the last step in `versions`.
CURRENT = "0015"
#: The oldest schema that is upgraded: the first step in `versions`.
OLDEST = "0013"

#: Number of the advisory lock under which one process at a time migrates PostgreSQL.
_LOCK = 4_201_977
#: Milliseconds for which a migration of PostgreSQL waits for a lock on a table. Everybody else
#: waits behind it for that table. It is less than `deadlock_timeout`, so that not a post is undone.
_LOCK_TIMEOUT = 500
#: Seconds until it tries again, and in which it must have got its locks.
_PAUSE, _PATIENCE = 1.0, 600.0
#: Errors of PostgreSQL: no lock within the time, and a deadlock.
_LOCKED = frozenset({"55P03", "40P01"})

#: Alembic keeps its state in modules: one thread of a process migrates at a time.
_ALEMBIC = threading.Lock()


def schema_version(connection: Connection) -> str | None:
    """Return the schema that a database has, None for an empty one."""
    return _versions(connection)[0]


def _versions(connection: Connection) -> tuple[str | None, str | None]:
    """Return the schema of a database, and the oldest one whose programs may use it.

    The second is None if the database does not say it: then only programs of the same schema may.
    """
    if not inspect(connection).has_table("alembic_version"):
        return None, None
    row = connection.execute(text("SELECT * FROM alembic_version")).mappings().first()
    return (None, None) if row is None else (row["version_num"], row.get("oldest"))


def too_new(connection: Connection) -> str | None:
    """Return why this code may not use the database of a later version, None if it may.

    The database is not an empty one.
    """
    version: str | None = connection.execute(
        text("SELECT version_num FROM alembic_version")
    ).scalar()
    if version is None or version <= CURRENT:
        return None
    version, oldest = _versions(connection)
    return None if version is None or _may_use(version, oldest) else _too_new(version, oldest)


def check_schema(engine: Engine) -> None:
    """Check that this code may use the schema. Raises : ConflictError."""
    with engine.connect() as connection:
        version, oldest = _versions(connection)
        if not _may_use(version, oldest):
            raise _refused(version, oldest)
        _check_chained(connection)


def migrate_schema(engine: Engine) -> None:
    """Create or upgrade the schema. Raises : ConflictError if this code may not use it."""
    with engine.connect() as connection:
        version, oldest = _versions(connection)
        if _may_use(version, oldest):
            _check_chained(connection)
            return
    if version is not None and not OLDEST <= version <= CURRENT:
        raise _refused(version, oldest)
    if engine.dialect.name == "sqlite":
        engine = engine.execution_options(equipoise_writes=True)
    _migrate_patiently(engine)


def _may_use(version: str | None, oldest: str | None) -> bool:
    """Return whether this code may use a database."""
    if version is None or version <= CURRENT:
        return version == CURRENT
    return oldest is not None and oldest <= CURRENT


def _migrate_patiently(engine: Engine) -> None:
    """Run the missing migrations, again and again while others hold locks. Raises : ConflictError.

    A backup holds locks on all tables for as long as it runs. If the migration waited behind it,
    every post would wait behind the migration.
    """
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            return _migrate(engine)
        except OperationalError as error:
            if getattr(error.orig, "sqlstate", None) not in _LOCKED:
                raise
            if time.monotonic() > until:
                raise ConflictError(
                    "the schema cannot be upgraded: for "
                    f"{_PATIENCE:.0f} s others held locks on the tables; end long transactions and "
                    "backups, then start again"
                ) from error
        log.info("the upgrade of the schema waits for transactions that hold locks on its tables")
        time.sleep(_PAUSE)


def _migrate(engine: Engine) -> None:
    """Run the missing migrations in one transaction. Raises : ConflictError."""
    with engine.connect() as connection:
        if engine.dialect.name == "sqlite":
            _work_in_files(connection)
        with connection.begin():
            if engine.dialect.name == "postgresql":
                connection.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": _LOCK})
                connection.execute(text(f"SET LOCAL lock_timeout = {_LOCK_TIMEOUT}"))
            # Another process may have upgraded it in the meantime, perhaps one of a later version.
            version, oldest = _versions(connection)
            if version is None:
                _create(connection)
            elif version < CURRENT:
                _upgrade(connection)
            elif _may_use(version, oldest):
                _check_chained(connection)
            else:
                raise _refused(version, oldest)


def _work_in_files(connection: Connection) -> None:
    """Let SQLite sort tables, and keep what it drops, in files, as memory may be too small.

    This must be set before a transaction begins. The connection is closed afterwards.
    """
    connection.detach()
    cursor = connection.connection.cursor()
    cursor.execute("PRAGMA temp_store = FILE")
    cursor.close()


def configuration() -> Any:
    """Return the configuration with which Alembic finds the migrations."""
    from alembic.config import Config

    found = Config()
    found.set_main_option("script_location", str(Path(__file__).parent))
    found.set_main_option("path_separator", "os")
    return found


#: Whether an upgrade from before schema 0006 is still making the hash chains.
_HALF_CHAINED = text(
    "SELECT 1 FROM pools WHERE chained_through IS NOT NULL AND deleted IS NULL "
    "UNION ALL SELECT 1 FROM audit_chain WHERE chained_through IS NOT NULL"
)


def _check_chained(connection: Connection) -> None:
    """Check that an earlier version has ended its upgrade. Raises : ConflictError."""
    if connection.execute(_HALF_CHAINED).first() is not None:
        raise ConflictError(
            "the upgrade of the database to an earlier version is not complete: let that version "
            "complete it first"
        )


def _create(connection: Connection) -> None:
    """Make the tables of the code in an empty database."""
    from alembic import command

    # A table of another program is not taken for ours.
    metadata.create_all(connection, checkfirst=False)
    audit.begin_chain(connection)
    with _alembic(connection) as settings:
        command.stamp(settings, CURRENT)
    _note_oldest(connection)


def _upgrade(connection: Connection) -> None:
    """Run all missing migrations in the transaction of the connection. Raises : ConflictError."""
    from alembic import command

    _check_chained(connection)
    with _alembic(connection) as settings:
        command.upgrade(settings, CURRENT)
    _note_oldest(connection)


@contextmanager
def _alembic(connection: Connection) -> Iterator[Any]:
    """Let one thread at a time use Alembic in the transaction of a connection."""
    settings = configuration()
    settings.attributes["connection"] = connection
    with _ALEMBIC:
        yield settings


def _note_oldest(connection: Connection) -> None:
    """Write down the oldest schema whose programs may go on."""
    from alembic.script import ScriptDirectory

    steps = ScriptDirectory.from_config(configuration()).iterate_revisions(CURRENT, "base")
    oldest = max(getattr(step.module, "oldest", step.revision) for step in steps)
    names = {column["name"] for column in inspect(connection).get_columns("alembic_version")}
    if "oldest" not in names:
        connection.execute(text("ALTER TABLE alembic_version ADD COLUMN oldest VARCHAR(32)"))
    connection.execute(text("UPDATE alembic_version SET oldest = :oldest"), {"oldest": oldest})


def _refused(version: str | None, oldest: str | None) -> ConflictError:
    """Return the error for a database that this code must not change."""
    if version is None:
        return ConflictError("the database is empty: `equipoise serve` sets it up")
    if version > CURRENT:
        return ConflictError(_too_new(version, oldest))
    if version < OLDEST:
        return ConflictError(
            f"the database has schema {version}, and this version of equipoise upgrades databases "
            f"from schema {OLDEST} on: upgrade it with an earlier version first"
        )
    return ConflictError(
        f"the database has schema {version}, and this version of equipoise needs {CURRENT}: "
        "`equipoise serve` upgrades it (make a backup before)"
    )


def _too_new(version: str, oldest: str | None) -> str:
    """Return the sentence for a database that a later version has changed too much."""
    limit = version if oldest is None else oldest
    return (
        f"the database has schema {version}, which versions of equipoise from schema {limit} on "
        f"can use, and this one knows {CURRENT} at most: use the version that wrote it, or a later "
        "one"
    )
