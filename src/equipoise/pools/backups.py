"""Backups of a database: made, restored, and checked.

A restored SQLite database replaces the old one after it has been verified. A PostgreSQL database is
restored in a transaction and verified afterwards.
"""

from __future__ import annotations

import logging
import secrets
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

from sqlalchemy import inspect
from sqlalchemy.exc import DBAPIError

from equipoise.analysis.clock import now, working_time
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
from equipoise.store import backups
from equipoise.store.backups import checks_of
from equipoise.store.connection import bare_engine, checked_url, file_reason, open_store
from equipoise.store.migrations import CURRENT, schema_version, too_new
from equipoise.store.pools import all_pools
from equipoise.wording import counted


def check_database(url: str, *, quick: bool = False) -> CheckList:
    """Return the checks of a database that exists. The chains are read if all else is in order.

    quick : without the checks that read everything: of the file, and of the hash chains
    Raises : InvalidParameterError, NotFoundError for a wrong address
    """
    checks = list(checks_of(url, quick=quick))
    if quick:
        return CheckList(all(one.status != "failed" for one in checks), checks)
    failed = [one.check for one in checks if one.status == "failed" and one.check != "free space"]
    if failed:
        detail = f"not read, because another check failed: {', '.join(failed)}"
        checks.append(CheckMessage("hash chain", "skipped", detail))
    else:
        checks.append(_hash_chain(url))
    return CheckList(all(one.status != "failed" for one in checks), checks)


def _hash_chain(url: str) -> CheckMessage:
    """Check that the log of every pool, and the audit log, lead to the heads of their chains."""
    wrong, records = [], 0
    try:
        store = open_store(url, migrate=False)
        try:
            with store.read() as connection:
                for pool in all_pools(connection):
                    found, walk = Findings(), LogWalk.start(pool)
                    walk.finish(connection, pool, found)
                    records += walk.after
                    wrong += [f"pool {pool.name}: {sentence}" for sentence in found.listed]
            wrong += verify_audit(store).differences
        finally:
            store.close()
    except DBAPIError as error:
        wrong.append(f"the log cannot be read: {str(error.orig).strip().splitlines()[0]}")
    except EquipoiseError as error:
        wrong.append(str(error))
    if wrong:
        more = f", and {len(wrong) - 1} more" if len(wrong) > 1 else ""
        return CheckMessage("hash chain", "failed", f"{wrong[0]}{more}")
    return CheckMessage("hash chain", "ok", f"{counted(records, 'record', 'records')} of logs")


log = logging.getLogger(__name__)

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
    path = backups.make_backup(url, folder, now(), progress)
    removed = [] if keep is None else backups.remove_old(folder, path, keep)
    return BackupMessage(
        file=str(path),
        bytes=path.stat().st_size,
        removed=[str(one) for one in removed],
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
    if backups.is_sqlite(url) != mark.startswith(b"SQLite format 3"):
        kind = "SQLite" if backups.is_sqlite(url) else "PostgreSQL"
        raise InvalidParameterError(f"{backup} is not a backup of a {kind} database")
    restore = _restore_sqlite if backups.is_sqlite(url) else _restore_postgresql
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
    target = backups.sqlite_file(url)
    if not target.resolve().parent.is_dir():
        raise NotFoundError(f"no folder {target.resolve().parent} for the database")
    if target.exists() and not overwrite:
        raise ConflictError(f"a database {target} already exists: add --overwrite to replace it")
    beside = target.with_name(f".{target.name}.{secrets.token_hex(4)}.restored")
    try:
        shutil.copyfile(backup, beside)
        try:
            wrong = backups.check_file(beside)
        except sqlite3.OperationalError as error:
            reason = file_reason(beside, error)
            raise InvalidDataError([], f"the backup {backup} cannot be read: {reason}") from error
        if wrong:
            raise InvalidDataError([], f"the backup {backup} is damaged: {wrong[0]}")
        beside.chmod(0o600)
        found = _checked(f"sqlite:///{beside}", backup, verify, shown)
        backups.synchronize(beside)
        if target.exists():
            backups.release_file(target)
        beside.rename(target)
        backups.synchronize(target.resolve().parent)
    finally:
        for ending in ("", "-wal", "-shm", "-journal"):
            beside.with_name(beside.name + ending).unlink(missing_ok=True)
    return found


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
    backups.restore_dump(url, backup, overwrite=bool(tables))
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
