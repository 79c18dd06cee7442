"""Backups of a database, and what is wrong with a file or a database.

SQLite copies itself by `VACUUM INTO`, which leaves out free pages, and with them what was deleted.
PostgreSQL comes with `pg_dump` and `pg_restore`. A copy has another name until it is complete and
on the disk, so whatever ends the process, no backup is half-written.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from sqlalchemy import Connection, create_engine, inspect, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from equipoise.data import times
from equipoise.errors import ConflictError, InvalidDataError, InvalidParameterError, NotFoundError
from equipoise.messages.upkeep import CheckMessage
from equipoise.store.connection import (
    PREPARE,
    UNREADABLE,
    bare_engine,
    checked_url,
    file_reason,
    reason_of,
)
from equipoise.store.migrations import CURRENT, OLDEST, schema_version, too_new
from equipoise.store.schema import metadata

#: Endings of the backups of SQLite and PostgreSQL.
SQLITE, POSTGRESQL = ".db", ".dump"

#: Ending of files that are not complete.
_PARTIAL = ".partial"
#: The time in the name of a backup.
_STAMP = re.compile(r"-\d{8}T\d{6}(-\d+)?Z(?=\.\w+$)")
#: Operations of SQLite between two reports of progress.
_OPERATIONS = 200_000

_Progress = Callable[[int, int], None]


def is_sqlite(url: str) -> bool:
    """Return whether an address is one of SQLite. Raises : InvalidParameterError."""
    return checked_url(url).drivername == "sqlite"


def sqlite_file(url: str) -> Path:
    """Return the file of a SQLite database."""
    return Path(str(make_url(url).database))


def make_backup(url: str, folder: Path, now: int, progress: _Progress | None = None) -> Path:
    """Write a backup into a folder and return its file, named after the database and the time.

    now : microseconds since 1970
    progress : called with (bytes written, bytes of the database), for SQLite
    Raises : NotFoundError, InvalidParameterError, InvalidDataError
    """
    if not folder.is_dir():
        raise NotFoundError(f"no folder {folder} for the backup")
    _remove_abandoned(folder)
    parsed = checked_url(url)
    name = sqlite_file(url).stem if is_sqlite(url) else parsed.database or "postgresql"
    stamp = re.sub(r"[-:]", "", times.iso(now)).replace(".", "-") + "Z"
    path = folder / f"{name}-{stamp}{SQLITE if is_sqlite(url) else POSTGRESQL}"
    with _whole(path) as partial:
        if is_sqlite(url):
            _copy_sqlite(sqlite_file(url), partial, progress)
        else:
            _dump(parsed, partial)
    return path


def backups_in(folder: Path, like: Path) -> list[Path]:
    """Return the backups of the same database as `like` in a folder, oldest first."""
    name = _STAMP.sub("", like.name)
    return sorted(
        one
        for one in folder.iterdir()
        if _STAMP.search(one.name) and _STAMP.sub("", one.name) == name
    )


def remove_old(folder: Path, newest: Path, keep: int) -> list[Path]:
    """Delete all but the newest backups of the same database; return the deleted ones."""
    old = backups_in(folder, newest)[:-keep]
    for path in old:
        path.unlink()
    return old


@contextmanager
def _whole(path: Path) -> Iterator[Path]:
    """Give an empty file that becomes `path` at the end of the block. Only the owner reads it.

    It is locked, so that another process does not take it for one that was left behind.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}{_PARTIAL}")
    descriptor = os.open(partial, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield partial
        synchronize(partial)
        partial.rename(path)
        synchronize(path.parent)
    finally:
        partial.unlink(missing_ok=True)
        os.close(descriptor)


def _remove_abandoned(folder: Path) -> None:
    """Delete what backups have left that were killed."""
    for path in folder.glob(f".*{_PARTIAL}"):
        with suppress(OSError), path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()


def synchronize(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _copy_sqlite(source: Path, target: Path, progress: _Progress | None) -> None:
    """Copy a database of SQLite into an empty file. Raises : NotFoundError, InvalidDataError."""
    if not source.is_file():
        raise NotFoundError(f"no database {source}")
    size = source.stat().st_size

    def report() -> int:
        if progress is not None:
            progress(min(target.stat().st_size, size), size)
        return 0

    try:
        with closing(sqlite3.connect(source, timeout=30.0)) as connection:
            connection.set_progress_handler(report, _OPERATIONS)
            connection.execute("VACUUM INTO ?", [str(target)])
    except sqlite3.DatabaseError as error:
        raise InvalidDataError([], f"the database {source} could not be copied: {error}") from error


def check_file(path: Path) -> list[str]:
    """Return what is wrong inside of a file of SQLite; empty for nothing.

    Raises : sqlite3.OperationalError if it cannot be read
    """
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            rows = connection.execute("PRAGMA integrity_check(20)").fetchall()
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in UNREADABLE:
            raise
        return [str(error)]
    except UnicodeDecodeError:
        # What SQLite says of a damaged schema quotes the schema.
        return ["its schema cannot be read"]
    return [str(row[0]) for row in rows if row[0] != "ok"]


def release_file(path: Path) -> None:
    """Leave a database of SQLite without files beside it, so that it can be replaced.

    Raises : ConflictError if another process has it open
    """
    try:
        with closing(sqlite3.connect(path, timeout=1.0)) as connection:
            # SQLite refuses this while there is another connection.
            connection.execute("PRAGMA journal_mode = DELETE").fetchone()
    except sqlite3.OperationalError as error:
        if "locked" in str(error) or "busy" in str(error):
            raise ConflictError(
                f"another process has {path} open: stop the service, then restore"
            ) from error
        raise
    except sqlite3.DatabaseError:
        # It is damaged, which may be why it is replaced.
        for ending in ("-wal", "-shm"):
            path.with_name(path.name + ending).unlink(missing_ok=True)


def _dump(url: URL, target: Path) -> None:
    """Write a dump of PostgreSQL. Raises : NotFoundError, InvalidParameterError."""
    _run("pg_dump", url, "--format=custom", "--no-owner", "--file", str(target))


def restore_dump(url: str, backup: Path, *, overwrite: bool) -> None:
    """Restore a dump into a database of PostgreSQL, in one transaction.

    overwrite : delete the tables of the dump that are there before
    Raises : InvalidDataError, InvalidParameterError
    """
    more = ["--clean", "--if-exists"] if overwrite else []
    given = ["--no-owner", "--single-transaction", *more, "--dbname"]
    _run("pg_restore", checked_url(url), *given, last=str(backup))


def _run(program: str, url: URL, *arguments: str, last: str | None = None) -> None:
    """Run a program of PostgreSQL on a database. The password is not among its arguments.

    last : an argument after the address, which then comes after `arguments`
    Raises : InvalidParameterError if it is not installed; InvalidDataError if it fails
    """
    found = shutil.which(program)
    if found is None:
        raise InvalidParameterError(
            f"PostgreSQL needs its program {program}, which is not in PATH: install the client "
            "programs of your version of PostgreSQL"
        )
    url = url.difference_update_query([PREPARE])
    address = url.set(drivername="postgresql", password=None).render_as_string(hide_password=False)
    environment = dict(os.environ)
    if url.password is not None:
        environment["PGPASSWORD"] = str(url.password)
    command = [found, *arguments, address] + ([] if last is None else [last])
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        reason = done.stderr.strip().partition("\n")[0]
        raise InvalidDataError([], f"{program} failed: {reason}")


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
