"""Checks of a database that change nothing: its file, its schema, its indexes, room on the disk."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

from sqlalchemy import Connection, create_engine, inspect, text
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from equipoise.messages.upkeep import CheckMessage
from equipoise.store.connection import bare_engine, file_reason, reason_of
from equipoise.store.migrations.migrating import CURRENT, OLDEST, schema_version, too_new
from equipoise.store.schema import metadata
from equipoise.store.upkeep.backups import check_file, is_sqlite, sqlite_file

#: Bytes that must be free at least.
_LEAST_FREE = 100_000_000
#: Missing tables, columns and indexes that are named.
_NAMED = 5


def checks_of(url: str, *, quick: bool = False) -> Iterator[CheckMessage]:
    """Give the checks of a database, one after another; the longest, of the file, comes first.

    url : of a database that exists
    quick : without the check that reads the whole file
    """
    if is_sqlite(url) and not quick:
        yield _file(sqlite_file(url))
    for name, check in _CHECKS.items():
        yield _checked(url, name, check)
    yield _free_space(url)


def _file(path: Path) -> CheckMessage:
    """Check the pages, indexes and order of a SQLite file."""
    try:
        wrong = check_file(path)
    except sqlite3.OperationalError as error:
        # The file may be sound: SQLite could not open it, or the files beside it.
        return CheckMessage("file", "failed", f"{path} cannot be read: {file_reason(path, error)}")
    if wrong:
        more = f", and {len(wrong) - 1} more" if len(wrong) > 1 else ""
        return CheckMessage("file", "failed", f"{path} is damaged: {wrong[0]}{more}")
    return CheckMessage("file", "ok", f"{path}, {path.stat().st_size / 1e6:,.1f} MB")


def _checked(url: str, name: str, check: Callable[[Connection], tuple[bool, str]]) -> CheckMessage:
    """Return the result of a check that reads the database."""
    try:
        if is_sqlite(url):
            place = f"{sqlite_file(url).resolve().as_uri()}?mode=ro"
            engine = create_engine(
                "sqlite://", creator=lambda: sqlite3.connect(place, uri=True, timeout=30.0)
            )
        else:
            engine = bare_engine(url)
        try:
            with engine.connect() as connection:
                holds, detail = check(connection)
        finally:
            engine.dispose()
    except DBAPIError as error:
        reason = reason_of(error)
        if is_sqlite(url):
            reason = file_reason(sqlite_file(url), error.orig or error)
        return CheckMessage(name, "failed", f"the database cannot be read: {reason}")
    except (SQLAlchemyError, UnicodeDecodeError) as error:
        return CheckMessage(name, "failed", f"the database cannot be read: {error}")
    return CheckMessage(name, "ok" if holds else "failed", detail)


def _schema(connection: Connection) -> tuple[bool, str]:
    """Check the version of the schema."""
    version = schema_version(connection)
    if version is None:
        return False, "the database has no tables of equipoise"
    if version == CURRENT:
        return True, f"version {version}"
    if version < OLDEST:
        return False, f"version {version}, and only schema {OLDEST} and later can be upgraded"
    if version < CURRENT:
        needs = f"and this version of equipoise needs {CURRENT}: `equipoise serve` upgrades it"
        return False, f"version {version}, {needs}"
    refused = too_new(connection)
    if refused is None:
        return True, f"version {version}, which this version of equipoise may use as {CURRENT}"
    return False, refused


def _indexes(connection: Connection) -> tuple[bool, str]:
    """Check that all tables, columns and indexes of the schema are there and valid."""
    seen = inspect(connection)
    tables = set(seen.get_table_names())
    missing, count = [], 0
    for table in metadata.sorted_tables:
        if table.name not in tables:
            missing.append(f"table {table.name}")
            continue
        columns = {column["name"] for column in seen.get_columns(table.name)}
        missing += [
            f"column {table.name}.{one.name}" for one in table.columns if one.name not in columns
        ]
        there = {index["name"] for index in seen.get_indexes(table.name)}
        wanted = {str(index.name) for index in table.indexes}
        missing += [f"index {name}" for name in sorted(wanted - there)]
        count += len(wanted)
    if connection.dialect.name == "postgresql":
        query = "SELECT indexrelid::regclass::text FROM pg_index WHERE NOT indisvalid"
        missing += [f"index {row[0]}, which is invalid" for row in connection.execute(text(query))]
    if missing:
        more = f", and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
        return False, f"missing: {', '.join(missing[:_NAMED])}{more}"
    return True, f"{count} indexes"


#: Checks that read the database, by name.
_CHECKS: dict[str, Callable[[Connection], tuple[bool, str]]] = {
    "schema": _schema,
    "indexes": _indexes,
}


def _free_space(url: str) -> CheckMessage:
    """Check that a copy of the database fits on its disk, as an upgrade or a backup may need."""
    if not is_sqlite(url):
        detail = "the disk of a PostgreSQL server cannot be seen from here"
        return CheckMessage("free space", "skipped", detail)
    path = sqlite_file(url).resolve()
    parts = (path, path.with_name(f"{path.name}-wal"))
    size = sum(part.stat().st_size for part in parts if part.exists())
    free, needed = shutil.disk_usage(path.parent).free, max(size, _LEAST_FREE)
    detail = f"{free / 1e6:,.0f} MB free; a copy of the database needs {size / 1e6:,.0f} MB"
    return CheckMessage("free space", "ok" if free >= needed else "failed", detail)
