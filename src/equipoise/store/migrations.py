"""Migrations: the steps of the schema, of which the missing ones are run.

A new database gets the tables of the code at once, and is marked as having the current schema.

A program may use a database whose schema is later than its own, as long as no migration since has
taken anything away that the program needs. So two versions can share a database while one replaces
the other. Every step names the oldest schema whose programs can go on after it. The highest of
these is kept in the database, as programs that have to know it do not have the steps. Its table has
the name and the form that Alembic gave it, which earlier versions used.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable
from hashlib import sha256
from typing import NamedTuple

from sqlalchemy import Connection, Engine, insert, inspect, select, text, update
from sqlalchemy.exc import OperationalError

from equipoise.errors import ConflictError
from equipoise.store.schema import audit_chain, metadata, pools

log = logging.getLogger(__name__)


def _remove_opponents(connection: Connection) -> None:
    """Rate pools again without the parameter `opponents` of Elo-MMR, which is gone.

    The parameter is taken from their settings, and a replay of the whole log is requested. The
    first settings of a pool stay as they are, because its hash chain begins with them.

    Earlier programs rate by the settings that are left. Where a pool sets the parameter, they must
    be stopped before, because they may replay it with its first settings.
    """
    columns = (pools.c.id, pools.c.name, pools.c.settings)
    query = select(*columns).where(pools.c.deleted.is_(None)).with_for_update()
    for number, name, content in connection.execute(query).all():
        settings = json.loads(content)
        opponents = settings["parameters"].pop("opponents", None)
        if opponents is None or settings["system"] not in ("elo-mmr", "elo-mmx"):
            continue
        log.warning(
            "pool %s: opponents=%s was removed from %s; its log is rated again without it",
            *(name, opponents, settings["system"]),
        )
        values = {
            "settings": json.dumps(settings, ensure_ascii=False, separators=(",", ":")),
            "dirty_time": -(2**62),
            "dirty_seq": 0,
            # Ends a replay that is under way by the former settings.
            "replay_owner": None,
            "replay_until": None,
        }
        connection.execute(update(pools).where(pools.c.id == number).values(**values))


def _add_profiles(connection: Connection) -> None:
    """Add the profiles of players, and the number of the last record that they follow from."""
    name = 'TEXT COLLATE "C"' if connection.dialect.name == "postgresql" else "TEXT"
    columns = (
        f"pool INTEGER NOT NULL, player {name} NOT NULL, name TEXT NOT NULL, folded TEXT NOT NULL, "
        "link TEXT, attributes TEXT NOT NULL, CONSTRAINT pk_profiles PRIMARY KEY (pool, player)"
    )
    connection.execute(text(f"CREATE TABLE profiles ({columns})"))
    connection.execute(text("ALTER TABLE pools ADD COLUMN profiled BIGINT NOT NULL DEFAULT 0"))


class Step(NamedTuple):
    """A step to a schema.

    oldest : the oldest schema whose programs may use the database afterwards
    take : changes the database in the transaction of a connection
    """

    schema: str
    oldest: str
    take: Callable[[Connection], None]


#: The steps, in order.
STEPS = (Step("0014", "0012", _remove_opponents), Step("0015", "0012", _add_profiles))
#: The schema that this code reads and writes, and the oldest one that is upgraded.
CURRENT, OLDEST = "0015", "0013"

#: Number of the advisory lock under which one process at a time migrates PostgreSQL.
_LOCK = 4_201_977
#: Milliseconds for which a migration of PostgreSQL waits for a lock on a table. Everybody else
#: waits behind it for that table. It is less than `deadlock_timeout`, so that not a post is undone.
_LOCK_TIMEOUT = 500
#: Seconds until it tries again, and in which it must have got its locks.
_PAUSE, _PATIENCE = 1.0, 600.0
#: Errors of PostgreSQL: no lock within the time, and a deadlock.
_LOCKED = frozenset({"55P03", "40P01"})


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


def migrate_schema(engine: Engine) -> None:
    """Create or upgrade the schema. Raises : ConflictError if this code may not use it."""
    with engine.connect() as connection:
        version, oldest = _versions(connection)
        if _may_use(version, oldest):
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
                _upgrade(connection, version)
            elif not _may_use(version, oldest):
                raise _refused(version, oldest)


def _work_in_files(connection: Connection) -> None:
    """Let SQLite sort tables, and keep what it drops, in files, as memory may be too small.

    This must be set before a transaction begins. The connection is closed afterwards.
    """
    connection.detach()
    cursor = connection.connection.cursor()
    cursor.execute("PRAGMA temp_store = FILE")
    cursor.close()


def _create(connection: Connection) -> None:
    """Make the tables of the code in an empty database."""
    # A table of another program is not taken for ours.
    metadata.create_all(connection, checkfirst=False)
    first = sha256(b"equipoise audit 1").digest()
    connection.execute(
        insert(audit_chain).values(id=1, last=0, head=first, cut=0, cut_head=first, chained_from=1)
    )
    columns = "version_num VARCHAR(32) NOT NULL PRIMARY KEY, oldest VARCHAR(32)"
    connection.execute(text(f"CREATE TABLE alembic_version ({columns})"))
    connection.execute(text("INSERT INTO alembic_version (version_num) VALUES ('')"))
    _note_schema(connection)


def _upgrade(connection: Connection, version: str) -> None:
    """Take all steps after a schema."""
    for step in STEPS:
        if step.schema > version:
            step.take(connection)
    _note_schema(connection)


def _note_schema(connection: Connection) -> None:
    """Write down the schema, and the oldest one whose programs may go on."""
    noted = {"schema": CURRENT, "oldest": max(step.oldest for step in STEPS)}
    change = text("UPDATE alembic_version SET version_num = :schema, oldest = :oldest")
    connection.execute(change, noted)


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
