"""Backups of a database: made, restored, and what is wrong with a file or a database.

SQLite copies itself by `VACUUM INTO`, which leaves out free pages, and with them what was deleted.
PostgreSQL comes with `pg_dump` and `pg_restore`. A copy has another name until it is complete and
on the disk, so whatever ends the process, no backup is half-written.

A restored SQLite database replaces the old one after it has been verified. A PostgreSQL database is
restored in a transaction and verified afterwards.
"""

from __future__ import annotations

import fcntl
import logging
import os
import re
import secrets
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from sqlalchemy import Connection, create_engine, inspect, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from equipoise._jit import working_time
from equipoise.data import times
from equipoise.errors import (
    ConflictError,
    EquipoiseError,
    InvalidDataError,
    InvalidParameterError,
    NotFoundError,
)
from equipoise.messages.upkeep import BackupMessage, CheckList, CheckMessage, RestoreMessage
from equipoise.pools.pool.pools import pool_messages
from equipoise.pools.replay.chain_checks import Findings, LogWalk, verify_audit
from equipoise.pools.replay.replaying import replay_pool
from equipoise.pools.replay.verifying import verify_pool
from equipoise.store.connection import (
    PREPARE,
    UNREADABLE,
    bare_engine,
    checked_url,
    file_reason,
    open_store,
    reason_of,
)
from equipoise.store.migrations import CURRENT, OLDEST, schema_version, too_new
from equipoise.store.pools import all_pools
from equipoise.store.schema import metadata, now
from equipoise.wording import counted

log = logging.getLogger(__name__)

#: Endings of the backups of SQLite and PostgreSQL.
SQLITE, POSTGRESQL = ".db", ".dump"

#: Ending of files that are not complete.
_PARTIAL = ".partial"
#: The time in the name of a backup.
_STAMP = re.compile(r"-\d{8}T\d{6}(-\d+)?Z(?=\.\w+$)")
#: Operations of SQLite between two reports of progress.
_OPERATIONS = 200_000

_Progress = Callable[[int, int], None]


def _is_sqlite(url: str) -> bool:
    """Return whether an address is one of SQLite. Raises : InvalidParameterError."""
    return checked_url(url).drivername == "sqlite"


def _sqlite_file(url: str) -> Path:
    """Return the file of a SQLite database."""
    return Path(str(make_url(url).database))


def backups_in(folder: Path, like: Path) -> list[Path]:
    """Return the backups of the same database as `like` in a folder, oldest first."""
    name = _STAMP.sub("", like.name)
    return sorted(
        path
        for path in folder.iterdir()
        if _STAMP.search(path.name) and _STAMP.sub("", path.name) == name
    )


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
        _synchronize(partial)
        partial.rename(path)
        _synchronize(path.parent)
    finally:
        partial.unlink(missing_ok=True)
        os.close(descriptor)


def _remove_abandoned(folder: Path) -> None:
    """Delete what backups have left that were killed."""
    for path in folder.glob(f".*{_PARTIAL}"):
        with suppress(OSError), path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()


def _synchronize(path: Path) -> None:
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


def _faults_of(path: Path) -> list[str]:
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


def _release_file(path: Path) -> None:
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


def _run(program: str, url: URL, *arguments: str) -> None:
    """Run a program of PostgreSQL on a database. The password is not among its arguments.

    Raises : InvalidParameterError if it is not installed; InvalidDataError if it fails
    """
    executable = shutil.which(program)
    if executable is None:
        raise InvalidParameterError(
            f"PostgreSQL needs its program {program}, which is not in PATH: install the client "
            "programs of your version of PostgreSQL"
        )
    url = url.difference_update_query([PREPARE])
    address = url.set(drivername="postgresql", password=None).render_as_string(hide_password=False)
    environment = dict(os.environ)
    if url.password is not None:
        environment["PGPASSWORD"] = str(url.password)
    command = [executable, "--no-owner", "--dbname", address, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        reason = done.stderr.strip().partition("\n")[0]
        raise InvalidDataError([], f"{program} failed: {reason}")


#: Called with the name of a pool; returns a function that shows the progress in matches.
_Shown = Callable[[str], Callable[[int, int], None] | None]


def back_up(
    url: str,
    folder: Path,
    *,
    keep: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> BackupMessage:
    """Write a backup of a database into a folder; a service may write to it at the same time.

    keep : number of backups of this database that stay; older ones are deleted. None keeps all
    progress : called with (bytes written, bytes of the database), for SQLite
    Raises : NotFoundError, InvalidParameterError, InvalidDataError
    """
    started = working_time()
    if not folder.is_dir():
        raise NotFoundError(f"no folder {folder} for the backup")
    _remove_abandoned(folder)
    parsed, sqlite = checked_url(url), _is_sqlite(url)
    name = _sqlite_file(url).stem if sqlite else parsed.database or "postgresql"
    stamp = re.sub(r"[-:]", "", times.iso(now())).replace(".", "-") + "Z"
    path = folder / f"{name}-{stamp}{SQLITE if sqlite else POSTGRESQL}"
    with _whole(path) as partial:
        if sqlite:
            _copy_sqlite(_sqlite_file(url), partial, progress)
        else:
            _run("pg_dump", parsed, "--format=custom", "--file", str(partial))
    removed = [] if keep is None else backups_in(folder, path)[:-keep]
    for old in removed:
        old.unlink()
    return BackupMessage(
        file=str(path),
        bytes=path.stat().st_size,
        removed=[str(path) for path in removed],
        seconds=working_time() - started,
    )


def restore_backup(
    backup: Path,
    url: str,
    *,
    overwrite: bool = False,
    verify: bool = True,
    shown: _Shown = lambda pool: None,
) -> RestoreMessage:
    """Restore a backup into a database, brought to the current schema and verified.

    A SQLite database is replaced in one step, and only if all checks have passed.

    overwrite : replace an existing database
    verify : compare the stored ratings of every pool with its log
    shown : called with the name of each pool before it is verified
    Raises : NotFoundError; ConflictError if a database already exists, or if it is in use;
        InvalidDataError if the backup is damaged or does not verify
    """
    started = working_time()
    if not backup.is_file():
        raise NotFoundError(f"no backup {backup}")
    with backup.open("rb") as file:
        mark = file.read(16)
    if _is_sqlite(url) != mark.startswith(b"SQLite format 3"):
        kind = "SQLite" if _is_sqlite(url) else "PostgreSQL"
        raise InvalidParameterError(f"{backup} is not a backup of a {kind} database")
    restore = _restore_sqlite if _is_sqlite(url) else _restore_postgresql
    schema, pools, matches = restore(backup, url, overwrite, verify, shown)
    return RestoreMessage(
        database=checked_url(url).render_as_string(),
        schema=schema,
        pools=pools,
        matches=matches,
        verified=verify,
        seconds=working_time() - started,
    )


def _restore_sqlite(
    backup: Path, url: str, overwrite: bool, verify: bool, shown: _Shown
) -> tuple[str, int, int]:
    """Restore a backup of SQLite; return its schema and the numbers of pools and matches."""
    target = _sqlite_file(url)
    if not target.resolve().parent.is_dir():
        raise NotFoundError(f"no folder {target.resolve().parent} for the database")
    if target.exists() and not overwrite:
        raise ConflictError(f"a database {target} already exists: add --overwrite to replace it")
    beside = target.with_name(f".{target.name}.{secrets.token_hex(4)}.restored")
    try:
        shutil.copyfile(backup, beside)
        try:
            wrong = _faults_of(beside)
        except sqlite3.OperationalError as error:
            reason = file_reason(beside, error)
            raise InvalidDataError([], f"the backup {backup} cannot be read: {reason}") from error
        if wrong:
            raise InvalidDataError([], f"the backup {backup} is damaged: {wrong[0]}")
        beside.chmod(0o600)
        outcome = _checked(f"sqlite:///{beside}", backup, verify, shown)
        _synchronize(beside)
        if target.exists():
            _release_file(target)
        beside.rename(target)
        _synchronize(target.resolve().parent)
    finally:
        for ending in ("", "-wal", "-shm", "-journal"):
            beside.with_name(beside.name + ending).unlink(missing_ok=True)
    return outcome


def _restore_postgresql(
    backup: Path, url: str, overwrite: bool, verify: bool, shown: _Shown
) -> tuple[str, int, int]:
    """Restore a dump of PostgreSQL; return its schema and the numbers of pools and matches."""
    engine = bare_engine(url)
    try:
        tables = inspect(engine).get_table_names()
    except DBAPIError as error:
        reason = str(error.orig).strip().partition("\n")[0]
        raise NotFoundError(f"no database at {engine.url.render_as_string()}: {reason}") from error
    finally:
        engine.dispose()
    if tables and not overwrite:
        raise ConflictError(
            f"the database has {len(tables)} tables already: add --overwrite to replace them"
        )
    replacing = ["--clean", "--if-exists"] if tables else []
    _run("pg_restore", checked_url(url), "--single-transaction", *replacing, str(backup))
    return _checked(url, backup, verify, shown)


def _checked(url: str, backup: Path, verify: bool, shown: _Shown) -> tuple[str, int, int]:
    """Bring a database to the current schema; return the old one, and pools and matches in it.

    Raises : ConflictError for a later schema; InvalidDataError if it does not verify
    """
    engine = bare_engine(url)
    with engine.connect() as connection:
        schema = schema_version(connection)
        refused = None if schema is None else too_new(connection)
    engine.dispose()
    if schema is None:
        raise InvalidDataError([], f"the backup {backup} has no tables of equipoise")
    if refused is not None:
        raise ConflictError(f"the backup {backup} is of a later version: {refused}")
    store = open_store(url)
    try:
        pools = pool_messages(store)
        for pool in pools if verify else []:
            if schema < CURRENT:
                # A step of the schema may have requested a replay.
                replayed = replay_pool(store, pool.pool, owner="restore")
                if replayed is not None:
                    changed = counted(replayed.changed, "rating")
                    log.warning("pool %s was rated again: %s changed", pool.pool, changed)
            done = verify_pool(store, pool.pool, shown(pool.pool))
            if not done.identical:
                raise InvalidDataError(
                    [],
                    f"pool {pool.pool!r} of the backup {backup} does not verify: "
                    f"{done.differences[0]}; add --no-verify to restore it anyway",
                )
    finally:
        store.close()
    return schema, len(pools), sum(pool.matches for pool in pools)


def check_database(url: str, *, quick: bool = False) -> CheckList:
    """Return the checks of a database that exists. The chains are read if all else is in order.

    quick : without the checks that read everything: of the file, and of the hash chains
    Raises : InvalidParameterError, NotFoundError for a wrong address
    """
    checks = list(checks_of(url, quick=quick))
    failed = [
        check.check for check in checks if check.status == "failed" and check.check != "free space"
    ]
    if failed and not quick:
        detail = f"not read, because another check failed: {', '.join(failed)}"
        checks.append(CheckMessage("hash chain", "skipped", detail))
    elif not quick:
        checks.append(_hash_chain(url))
    return CheckList(all(check.status != "failed" for check in checks), checks)


def _hash_chain(url: str) -> CheckMessage:
    """Check that the log of every pool, and the audit log, lead to the heads of their chains."""
    wrong, records = [], 0
    try:
        store = open_store(url, migrate=False)
        try:
            with store.read() as connection:
                for pool in all_pools(connection):
                    findings, walk = Findings(), LogWalk.start(pool)
                    walk.finish(connection, pool, findings)
                    records += walk.after
                    wrong += [f"pool {pool.name}: {sentence}" for sentence in findings.listed]
            wrong += verify_audit(store).differences
        finally:
            store.close()
    except DBAPIError as error:
        wrong.append(f"the log cannot be read: {str(error.orig).strip().splitlines()[0]}")
    except EquipoiseError as error:
        wrong.append(str(error))
    if wrong:
        return CheckMessage("hash chain", "failed", _listed(wrong, 1))
    return CheckMessage("hash chain", "ok", f"{counted(records, 'record', 'records')} of logs")


def _listed(wrong: list[str], most: int) -> str:
    """Return what is wrong as a part of a sentence that names so many at most."""
    more = f", and {len(wrong) - most} more" if len(wrong) > most else ""
    return f"{', '.join(wrong[:most])}{more}"


#: Bytes that must be free at least.
_LEAST_FREE = 100_000_000
#: Missing tables, columns and indexes that are named.
_NAMED = 5


def checks_of(url: str, *, quick: bool = False) -> Iterator[CheckMessage]:
    """Give the checks of a database, one after another; the longest, of the file, comes first.

    url : of a database that exists
    quick : without the check that reads the whole file
    """
    if _is_sqlite(url) and not quick:
        yield _file(_sqlite_file(url))
    yield _result(url, "schema", _schema)
    yield _result(url, "indexes", _indexes)
    yield _free_space(url)


def _file(path: Path) -> CheckMessage:
    """Check the pages, indexes and order of a SQLite file."""
    try:
        wrong = _faults_of(path)
    except sqlite3.OperationalError as error:
        # The file may be sound: SQLite could not open it, or the files beside it.
        return CheckMessage("file", "failed", f"{path} cannot be read: {file_reason(path, error)}")
    if wrong:
        return CheckMessage("file", "failed", f"{path} is damaged: {_listed(wrong, 1)}")
    return CheckMessage("file", "ok", f"{path}, {path.stat().st_size / 1e6:,.1f} MB")


def _result(url: str, name: str, check: Callable[[Connection], tuple[bool, str]]) -> CheckMessage:
    """Return the result of a check that reads the database."""
    try:
        if _is_sqlite(url):
            place = f"{_sqlite_file(url).resolve().as_uri()}?mode=ro"
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
        if _is_sqlite(url):
            reason = file_reason(_sqlite_file(url), error.orig or error)
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
        absent = [column.name for column in table.columns if column.name not in columns]
        missing += [f"column {table.name}.{name}" for name in absent]
        present = {index["name"] for index in seen.get_indexes(table.name)}
        wanted = {str(index.name) for index in table.indexes}
        missing += [f"index {name}" for name in sorted(wanted - present)]
        count += len(wanted)
    if connection.dialect.name == "postgresql":
        query = "SELECT indexrelid::regclass::text FROM pg_index WHERE NOT indisvalid"
        missing += [f"index {row[0]}, which is invalid" for row in connection.execute(text(query))]
    if missing:
        return False, f"missing: {_listed(missing, _NAMED)}"
    return True, f"{count} indexes"


def _free_space(url: str) -> CheckMessage:
    """Check that a copy of the database fits on its disk, as an upgrade or a backup may need."""
    if not _is_sqlite(url):
        detail = "the disk of a PostgreSQL server cannot be seen from here"
        return CheckMessage("free space", "skipped", detail)
    path = _sqlite_file(url).resolve()
    parts = (path, path.with_name(f"{path.name}-wal"))
    size = sum(part.stat().st_size for part in parts if part.exists())
    free, needed = shutil.disk_usage(path.parent).free, max(size, _LEAST_FREE)
    detail = f"{free / 1e6:,.0f} MB free; a copy of the database needs {size / 1e6:,.0f} MB"
    return CheckMessage("free space", "ok" if free >= needed else "failed", detail)
