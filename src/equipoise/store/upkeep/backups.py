"""Copies of a whole database: snapshots in one file, made while the service writes.

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

from sqlalchemy.engine import URL, make_url

from equipoise.data import times
from equipoise.errors import ConflictError, InvalidDataError, InvalidParameterError, NotFoundError
from equipoise.store.connection import PREPARE, UNREADABLE, checked_url

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
