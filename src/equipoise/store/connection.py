"""A database: its connections, its transactions, and how these are flushed and ended.

PostgreSQL with a synchronous standby commits in two steps: the transaction is on the disk of the
primary, then it waits until the standby has it. If that wait is cancelled, PostgreSQL says so in a
warning, and the COMMIT succeeds all the same. If the connection breaks, nobody knows what became of
the transaction. Neither is a confirmation: after a failover, the transaction may be gone.

SQLite asks every few thousand of its steps whether it is to go on. PostgreSQL is told over a
connection of its own, and again until the transaction has noticed: between two statements it does
not listen.
"""

from __future__ import annotations

import logging
import re
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from sqlalchemy import Connection, Engine, RootTransaction, create_engine, event, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, OperationalError

from equipoise.errors import (
    DamagedError,
    InvalidParameterError,
    NotFoundError,
    UnavailableError,
    UnconfirmedError,
)
from equipoise.store import ratings
from equipoise.store.bulk import OPTION, SIZES, Sizes, driver_cursor
from equipoise.store.migrations import check_schema, migrate_schema, too_new
from equipoise.wording import how_to_install

log = logging.getLogger(__name__)

#: The commit of any process on this database that has waited longest for a standby, in seconds.
_OLDEST = text(
    "SELECT max(extract(epoch FROM clock_timestamp() - query_start)) FROM pg_stat_activity "
    "WHERE wait_event = 'SyncRep' AND datname = current_database()"
)
_UNKNOWN = (
    "the database did not confirm its commit ({reason}), so it is unknown whether this was "
    "recorded: send it again"
)


#: Error of PostgreSQL: it has ended a session that was silent in the middle of a transaction. It
#: says so in answer to the next statement, which it has not read.
SILENT = "25P03"


class Commits:
    """The commits of one process that are under way."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._begun: dict[object, float] = {}

    @contextmanager
    def under_way(self) -> Iterator[None]:
        """Count a commit while the block runs."""
        number = object()
        with self._lock:
            self._begun[number] = time.monotonic()
        try:
            yield
        finally:
            with self._lock:
                del self._begun[number]

    def oldest(self) -> float:
        """Return for how many seconds the oldest commit has been under way; 0 if there is none."""
        with self._lock:
            first = min(self._begun.values(), default=None)
        return 0.0 if first is None else time.monotonic() - first


def oldest_on_server(connection: Connection) -> float:
    """Return for how many seconds the oldest commit has waited for a standby of PostgreSQL.

    Those of other processes count, also on other machines, if they have the same user.
    """
    return float(connection.execute(_OLDEST).scalar() or 0.0)


def accepts_writes(connection: Connection) -> bool:
    """Return whether a server of PostgreSQL is a primary whose sessions may write."""
    query = "SELECT NOT pg_is_in_recovery() AND current_setting('default_transaction_read_only') = "
    return bool(connection.execute(text(f"{query}'off'")).scalar())


_DURABILITY = text(
    "SELECT current_setting('synchronous_commit'), current_setting('synchronous_standby_names')"
)


def weak_commits(connection: Connection, several_hosts: bool) -> str | None:
    """Return how PostgreSQL may lose what it has confirmed, None if it is set up as intended.

    several_hosts : whether the address names several servers, thus a standby is meant to take over
    """
    commit, names = connection.execute(_DURABILITY).one()
    if commit == "off":
        return (
            "synchronous_commit is off: matches that were acknowledged right before a crash of the "
            "database are lost; set it to on"
        )
    if not several_hosts:
        return None
    if not names.strip():
        return (
            "the database has several hosts, but synchronous_standby_names is empty: if the "
            "primary dies, the matches acknowledged last are lost"
        )
    if commit == "local":
        return (
            "synchronous_commit is local: commits do not wait for the standby, and if the primary "
            "dies, the matches acknowledged last are lost; set it to on"
        )
    return None


def commit_confirmed(connection: Connection, transaction: RootTransaction) -> None:
    """Commit a transaction of PostgreSQL, for however long that takes.

    Raises : UnconfirmedError if it may be stored or not; DBAPIError if it is certainly not
    """
    driver: Any = connection.connection.driver_connection
    warnings: list[str] = []

    def notice(message: Any) -> None:
        # The text may be in any language, and these warnings have no code of their own.
        if message.severity_nonlocalized == "WARNING":
            warnings.append(message.message_primary or "a warning")

    driver.add_notice_handler(notice)
    try:
        transaction.commit()
    except DBAPIError as error:
        if getattr(error.orig, "sqlstate", None) == SILENT:
            raise  # The session had ended before the COMMIT came, and the transaction with it.
        if driver.closed or error.connection_invalidated:
            log.warning("the connection to the database broke during a commit: %s", error.orig)
            raise UnconfirmedError(_UNKNOWN.format(reason="the connection broke")) from error
        raise  # The server is there and has refused it.
    finally:
        driver.remove_notice_handler(notice)
    if warnings:
        log.warning("the database warned during a commit: %s", "; ".join(warnings))
        raise UnconfirmedError(_UNKNOWN.format(reason=warnings[0]))


#: Steps of SQLite between two questions: about a millisecond.
_STEPS = 20_000
#: Seconds between two cancellations of PostgreSQL, and in which one must have arrived.
_PAUSE, _ARRIVES = 0.1, 5.0


class InterruptedTransactionError(Exception):
    """A transaction was ended before its commit began. Nothing was stored."""


class Interruption:
    """Whether a transaction is to end."""

    def __init__(self) -> None:
        self._wanted = False
        # No cancellation may reach a later statement, nor the COMMIT: it could be stored and yet
        # not be confirmed.
        self._lock = threading.Lock()
        self._cancel_statement: Callable[[], None] | None = None

    def request(self) -> None:
        """End the transaction, if its commit has not begun; returns at once."""
        self._wanted = True
        threading.Thread(target=self._cancel, name="equipoise-cancel", daemon=True).start()

    def check(self) -> None:
        """Raise InterruptedTransactionError if the transaction is to end."""
        if self._wanted:
            raise InterruptedTransactionError("the transaction was interrupted")

    @contextmanager
    def of(self, connection: Connection) -> Iterator[None]:
        """Let the statements of this block be interrupted; its transaction commits after it.

        Raises : InterruptedTransactionError
        """
        driver: Any = connection.connection.driver_connection
        sqlite = connection.dialect.name == "sqlite"
        if sqlite:
            driver.set_progress_handler(lambda: self._wanted, _STEPS)
        else:
            self._cancel_statement = lambda: driver.cancel_safe(timeout=_ARRIVES)
        try:
            self.check()
            yield
            self.check()
        except Exception as error:
            if not self._wanted or isinstance(error, InterruptedTransactionError):
                raise
            raise InterruptedTransactionError(str(error)) from error
        finally:
            with self._lock:
                self._cancel_statement = None
            if sqlite:
                driver.set_progress_handler(None, 0)

    def _cancel(self) -> None:
        """Cancel statements of PostgreSQL until the block has ended."""
        while True:
            with self._lock:
                if self._cancel_statement is None:
                    return
                try:
                    self._cancel_statement()
                except Exception as error:  # noqa: BLE001  # the next one may arrive
                    log.debug("a statement could not be cancelled: %s", error)
            time.sleep(_PAUSE)


#: The database of a service that names none.
DEFAULT_URL = "sqlite:///equipoise.db"

#: How long a writer waits for another process to finish, milliseconds.
_BUSY_TIMEOUT = 30_000
#: How long the emptying of the write-ahead log of SQLite waits for readers, milliseconds.
_EMPTYING = 2_000
#: Seconds for other processes that are left to a writer who has waited for those of its own.
_LEAST_PATIENCE = 0.1

#: Options of connections to PostgreSQL that its address does not give. A server that is silent, as
#: its machine is gone, is given up after about ten seconds; one that answers never is.
_POSTGRES_OPTIONS = {
    "connect_timeout": "5",
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "3",
    "tcp_user_timeout": "10000",
}
#: The option that says which of several hosts is meant; by default the first that accepts writes.
_PRIMARY = "target_session_attrs"
#: The option of the driver, not of PostgreSQL, after how many uses the server keeps a statement.
PREPARE = "prepare_threshold"
#: An address that lists several hosts, as PostgreSQL's own programs take it.
_SEVERAL_HOSTS = re.compile(r"(postgresql(?:\+\w+)?://(?:[^@/?]*@)?)([^@/?,]+(?:,[^@/?,]+)+)(/.*)?")

_SQLITE_PRAGMAS = (
    # First, because setting the journal mode may have to wait.
    f"PRAGMA busy_timeout = {_BUSY_TIMEOUT}",
    "PRAGMA journal_mode = WAL",
    # A commit is on the disk before it is acknowledged.
    "PRAGMA synchronous = FULL",
    "PRAGMA foreign_keys = ON",
    "PRAGMA temp_store = MEMORY",
    "PRAGMA cache_size = -65536",
    # Pages, 128 MB. Posting changes the same pages many times; a checkpoint of SQLite copies each
    # of them into the database once.
    "PRAGMA wal_autocheckpoint = 32768",
)


#: Bytes that must be free on the disk of a SQLite database, or a write is tried.
_ROOM = 2_000_000
#: Seconds for which a write that is only tried waits for others.
_ROOM_PATIENCE = 1.0
#: Statements that need a megabyte of room for a moment.
_WRITE_A_MEGABYTE = {
    "sqlite": (
        "CREATE TABLE IF NOT EXISTS room (content BLOB)",
        "INSERT INTO room VALUES (zeroblob(1000000))",
    ),
    "postgresql": (
        "CREATE TEMPORARY TABLE room ON COMMIT DROP AS "
        "SELECT random() FROM generate_series(1, 30000)",
    ),
}


def lacks_room(path: Path) -> bool:
    """Return whether the disk of a file has hardly any room."""
    try:
        return shutil.disk_usage(path.resolve().parent).free < _ROOM
    except OSError:
        return False


def overwrite_deleted(connection: Connection) -> None:
    """Let SQLite overwrite what this transaction deletes, so that no page keeps it."""
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("PRAGMA secure_delete = ON")


class Store:
    """A database with the current schema.

    Threads may share it. SQLite has one writer: within a process they wait for one another here,
    between processes in SQLite itself.

    sizes : of single steps
    commits : of this store that are under way
    damage : what a statement has said about damage to the database, None for nothing
    outdated : why this code may not write any more, None while it may
    full : whether a write has failed for lack of room, and none has been tried with success since
    """

    def __init__(self, engine: Engine, sizes: Sizes = SIZES) -> None:
        self.engine, self.sizes = engine, sizes
        self.is_sqlite = engine.dialect.name == "sqlite"
        options: dict[str, Any] = {OPTION: sizes}
        moment = {} if self.is_sqlite else {"isolation_level": "REPEATABLE READ"}
        # Only for readers: a writer sees rows that may be undone.
        self._reading = engine.execution_options(
            **options, **moment, **{ratings.OPTION: ratings.Standings()}
        )
        self._writing = engine.execution_options(**options, equipoise_writes=True)
        self._writer = threading.Lock()
        self._kept: Connection | None = None
        self.commits = Commits()
        self.damage: str | None = None
        self.outdated: str | None = None
        self.full = False

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Give a connection whose statements all read the same snapshot.

        Raises : DamagedError
        """
        with self._noticing_damage(), self._reading.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def write(self, *, durable: bool = True, patience: float | None = None) -> Iterator[Connection]:
        """Give a connection whose statements are one transaction.

        durable : whether the transaction is on the disk when the block ends. Otherwise it is after
            the next one that is, and a crash before that may undo it: for steps of a work that then
            begins again
        patience : seconds for which it waits for other writers; None for as long as usual
        Raises : DamagedError; TimeoutError if other writers take longer than `patience`;
            UnconfirmedError if the database did not confirm the commit; UnavailableError if a later
            version has changed the schema so that this one may not write
        """
        if self.outdated is not None:
            raise UnavailableError(self.outdated)
        if not self.is_sqlite:
            with (
                self._noticing_damage(patience),
                self._leaving_standbys(),
                self._writing.connect() as connection,
                connection.begin() as transaction,
            ):
                if not durable:
                    connection.exec_driver_sql("SET LOCAL synchronous_commit = off")
                if patience is not None:
                    milliseconds = round(1000 * patience)
                    connection.exec_driver_sql(f"SET LOCAL lock_timeout = {milliseconds}")
                yield connection
                with self.commits.under_way():
                    commit_confirmed(connection, transaction)
            return
        with (
            self._noticing_damage(patience),
            self._alone(patience) as left,
            self._kept_connection() as connection,
            _set_for_now(connection, durable, left),
            connection.begin() as transaction,
        ):
            yield connection
            with self.commits.under_way():
                transaction.commit()

    @contextmanager
    def _alone(self, patience: float | None) -> Iterator[float | None]:
        """Wait for the other writers of this process, and give the patience that is left.

        Raises : TimeoutError
        """
        began = time.monotonic()
        if not self._writer.acquire(timeout=-1 if patience is None else patience):
            raise TimeoutError(_LOCKED)
        try:
            waited = time.monotonic() - began
            yield None if patience is None else max(patience - waited, _LEAST_PATIENCE)
        finally:
            self._writer.release()

    @contextmanager
    def _kept_connection(self) -> Iterator[Connection]:
        """Give the connection of the one writer of SQLite, which stays open from write to write.

        After an error, and once the store was closed, the next write opens another one.
        """
        if self._kept is None:
            self._kept = self._writing.connect()
        pool = self.engine.pool
        try:
            yield self._kept
        except BaseException:
            self._leave()
            raise
        if self.engine.pool is not pool:
            self._leave()

    def _leave(self) -> None:
        """Close the connection of the writer, if it is open."""
        if self._kept is not None:
            self._kept.close()
            self._kept = None

    @contextmanager
    def moment(self) -> Iterator[Store]:
        """Give a store that reads one snapshot, for answers that belong together.

        It is for one thread, ends with the block, and cannot be written to.
        """
        with self.read() as connection:
            yield _Snapshot(self, connection)

    @contextmanager
    def _noticing_damage(self, patience: float | None = None) -> Iterator[None]:
        """Raise DamagedError, and remember it, where the database says that it is damaged.

        Raises : TimeoutError if a writer with bounded patience did not get a lock
        """
        try:
            yield
        except DBAPIError as error:
            if patience is not None and is_locked(error):
                raise TimeoutError(_LOCKED) from error
            if not is_damage(error):
                self.full = self.full or is_full(error)
                if error.connection_invalidated and not isinstance(error, OperationalError):
                    # The server has ended the session, for example as it was idle for too long.
                    cause = error.orig or error
                    raise OperationalError(error.statement, error.params, cause) from error
                raise
            if self.damage is None:
                self.damage = _damaged(reason_of(error))
                log.error("%s", self.damage)
            raise DamagedError(self.damage) from error

    @contextmanager
    def _leaving_standbys(self) -> Iterator[None]:
        """Raise OperationalError where the server only reads, and connect anew afterwards.

        An address may lead to a standby until it is promoted or another server has the address.
        """
        try:
            yield
        except DBAPIError as error:
            if getattr(error.orig, "sqlstate", None) != _READ_ONLY:
                raise
            self.reconnect()
            raise OperationalError(error.statement, error.params, error.orig or error) from error

    def reconnect(self) -> None:
        """Leave all connections, as `close` does. Later ones may lead to another server."""
        self.close()

    def notice_upgrades(self) -> bool:
        """Look whether a later version has changed the schema; return whether this one may go on.

        If not, `write` raises an error from now on.
        """
        with self.read() as connection:
            version = too_new(connection)
        if version is not None and self.outdated is None:
            log.error("%s", version)
        self.outdated = version
        return version is None

    @property
    def name(self) -> str:
        """Return the name of the file of SQLite, without folders, or of the PostgreSQL database."""
        return Path(self.engine.url.database or "").name

    def weakness(self) -> str | None:
        """Return how the database may lose what it has confirmed; None if nothing is known."""
        if self.is_sqlite:
            return None
        with self.read() as connection:
            return weak_commits(connection, _has_several_hosts(self.engine.url))

    def check_room(self) -> None:
        """Check that there is room on the disk, by a write if one has failed or little is free.

        Raises : UnavailableError if there is none; DamagedError
        """
        if not self.full and not (
            self.is_sqlite and lacks_room(Path(self.engine.url.database or ""))
        ):
            return
        try:
            # What is written is as large as a post with many matches, and is removed at once.
            with self.write(durable=self.is_sqlite, patience=_ROOM_PATIENCE) as connection:
                for statement in _WRITE_A_MEGABYTE[self.engine.dialect.name]:
                    connection.exec_driver_sql(statement)
            if self.is_sqlite:
                with self.write(patience=_ROOM_PATIENCE) as connection:
                    connection.exec_driver_sql("DROP TABLE IF EXISTS room")
        except DBAPIError as error:
            if not is_full(error):
                raise
        except TimeoutError:
            # Another writer is at work: it will notice.
            if not self.full:
                return
        else:
            self.full = False
            return
        raise UnavailableError("posts fail: the disk of the database is full")

    def is_sound(self) -> bool:
        """Return whether SQLite finds no damage in the whole file; True for PostgreSQL."""
        if not self.is_sqlite:
            return True
        try:
            with self.read() as connection:
                result = connection.exec_driver_sql("PRAGMA integrity_check(1)").scalar()
        except DamagedError:
            return False
        return bool(result == "ok")

    def empty_write_ahead_log(self) -> bool:
        """Move SQLite's write-ahead log into the database and empty it, as it has deleted rows.

        Returns : False if readers prevented that; a later checkpoint of SQLite does it
        """
        if not self.is_sqlite:
            return True
        with self.engine.connect() as connection:
            cursor = connection.connection.cursor()
            try:
                cursor.execute(f"PRAGMA busy_timeout = {_EMPTYING}")
                busy = cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
            finally:
                cursor.execute(f"PRAGMA busy_timeout = {_BUSY_TIMEOUT}")
                cursor.execute("PRAGMA secure_delete = OFF")
                cursor.close()
        return not busy

    def close(self) -> None:
        """Close the connections that nobody uses, and others when they are given back.

        A SQLite database is then one file.
        """
        if self._writer.acquire(blocking=False):  # a writer at work leaves its connection itself
            try:
                self._leave()
            finally:
                self._writer.release()
        former = self.engine.pool
        self.engine.dispose()
        # The former pool would keep what is given back to it until it is collected as garbage.
        event.listen(former, "checkin", _close_driver)


def _close_driver(driver: Any, _: object) -> None:
    """Close a connection of a driver; None if that was done already."""
    if driver is not None:
        driver.close()


class _Snapshot(Store):
    """A store inside one transaction that reads."""

    def __init__(self, store: Store, connection: Connection) -> None:
        super().__init__(store.engine, store.sizes)
        self._connection = connection

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Give the connection of the transaction."""
        yield self._connection

    @contextmanager
    def write(self, *, durable: bool = True, patience: float | None = None) -> Iterator[Connection]:
        """Raise an error: reads of this store would not see the rows written."""
        raise RuntimeError("a snapshot of a store cannot be written to")
        yield


def open_store(url: str = DEFAULT_URL, *, migrate: bool = True, sizes: Sizes = SIZES) -> Store:
    """Return the database at a URL, brought to the current schema.

    url : "sqlite:///FILE" or "postgresql+psycopg://USER:PASSWORD@HOST/NAME"; with several hosts,
        HOST1:PORT,HOST2:PORT, the one that accepts writes is used
    migrate : create or upgrade the schema; otherwise it must be the current one, or a later one
        that this code may use
    sizes : of single steps
    Raises : InvalidParameterError for any other URL; NotFoundError if the database cannot be
        reached; ConflictError if this code may not use its schema; DamagedError
    """
    parsed = checked_url(url)
    engine = _engine(parsed)
    try:
        if migrate:
            migrate_schema(engine)
        else:
            check_schema(engine)
    except DBAPIError as error:
        engine.dispose()
        if is_damage(error):
            raise DamagedError(_damaged(reason_of(error))) from error
        path = Path(parsed.database or "") if parsed.drivername == "sqlite" else None
        reason = reason_of(error) if path is None else file_reason(path, error.orig or error)
        failure = "no database at"
        if path is not None and path.exists():
            failure = "cannot open the database"
        sentence = f"{failure} {parsed.render_as_string()}: {reason}"
        if "connection option" in reason:
            raise InvalidParameterError(sentence) from error
        raise NotFoundError(sentence) from error
    except UnicodeDecodeError as error:
        # What SQLite says of a damaged schema quotes the schema.
        engine.dispose()
        raise DamagedError(_damaged("its schema cannot be read")) from error
    except BaseException:
        engine.dispose()
        raise
    return Store(engine, sizes)


def bare_engine(url: str) -> Engine:
    """Return connections to a database whose schema is not looked at; the caller disposes of them.

    Raises : as `checked_url`
    """
    return _engine(checked_url(url))


#: Errors of SQLite: the file is malformed, or not a database.
_DAMAGED_FILE = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
#: Errors of PostgreSQL: a table or an index is corrupted.
_DAMAGED_ROWS = frozenset({"XX001", "XX002"})
#: Error of PostgreSQL: a lock was not available within `lock_timeout`.
_NO_LOCK = "55P03"
#: Error of PostgreSQL: no space on the disk.
_DISK_FULL = "53100"
#: Error of PostgreSQL: the server, or the session, only reads.
_READ_ONLY = "25006"
_LOCKED = "another writer holds the lock of the database"


def is_damage(error: DBAPIError) -> bool:
    """Return whether an error says that the database is damaged."""
    # The lowest byte is the code, the others say more.
    code = getattr(error.orig, "sqlite_errorcode", 0) & 0xFF
    return code in _DAMAGED_FILE or getattr(error.orig, "sqlstate", None) in _DAMAGED_ROWS


def is_locked(error: DBAPIError) -> bool:
    """Return whether an error says that another writer holds a lock."""
    code = getattr(error.orig, "sqlite_errorcode", 0) & 0xFF
    return code == sqlite3.SQLITE_BUSY or getattr(error.orig, "sqlstate", None) == _NO_LOCK


def was_silent(error: BaseException) -> bool:
    """Return whether PostgreSQL has undone a transaction because its process was silent."""
    sqlstate = getattr(getattr(error, "orig", None), "sqlstate", None)
    return sqlstate == SILENT


def is_full(error: BaseException) -> bool:
    """Return whether an error says that there is no room on the disk of the database."""
    if not isinstance(error, DBAPIError):
        return False
    code = getattr(error.orig, "sqlite_errorcode", 0) & 0xFF
    return code == sqlite3.SQLITE_FULL or getattr(error.orig, "sqlstate", None) == _DISK_FULL


def reason_of(error: DBAPIError) -> str:
    """Return the first line of what the database said."""
    return str(error.orig).strip().partition("\n")[0]


#: Errors of SQLite where it could not open, read or extend a file, which may be sound. A full disk
#: gives any of them: SQLite makes files beside a database.
UNREADABLE = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN})


def file_reason(path: Path, error: BaseException) -> str:
    """Return why a file of SQLite cannot be opened or read."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in UNREADABLE and lacks_room(path):
        return (
            f"the disk is full, and SQLite needs room for {path.name}-wal and {path.name}-shm "
            f"({error}): make room, then try again"
        )
    return str(error).strip().partition("\n")[0]


def _damaged(reason: str) -> str:
    """Return the sentence for a damaged database."""
    return f"the database is damaged ({reason}): stop the service and restore a backup"


def checked_url(url: str) -> URL:
    """Return the URL in parts. Raises : InvalidParameterError, NotFoundError."""
    rule = (
        "the database must be sqlite:///FILE or postgresql+psycopg://USER:PASSWORD@HOST/NAME; "
        f"got {_without_password(url)!r}"
    )
    several = _SEVERAL_HOSTS.fullmatch(url)
    try:
        parsed = make_url(url if several is None else several[1] + (several[3] or "/"))
        if several is not None:
            parsed = parsed.update_query_dict(_hosts(several[2]))
    except (ArgumentError, ValueError) as error:
        raise InvalidParameterError(rule) from error
    if parsed.drivername == "postgresql":
        parsed = parsed.set(drivername="postgresql+psycopg")
    if parsed.drivername not in ("sqlite", "postgresql+psycopg"):
        raise InvalidParameterError(rule)
    if parsed.drivername != "sqlite":
        _prepare_threshold(parsed)
    if _PRIMARY not in parsed.query and _has_several_hosts(parsed):
        parsed = parsed.update_query_dict({_PRIMARY: "read-write"})
    if parsed.drivername == "sqlite":
        if not parsed.database or parsed.database == ":memory:":
            raise InvalidParameterError("a SQLite database must be a file: sqlite:///FILE")
        if parsed.query:
            raise InvalidParameterError("the address of a SQLite database takes no options")
        folder = Path(parsed.database).resolve().parent
        if not folder.is_dir():
            raise NotFoundError(f"no folder {folder} for the database")
    return parsed


def _prepare_threshold(url: URL) -> dict[str, int | None]:
    """Return the argument of the driver that the address gives, if it does.

    Raises : InvalidParameterError
    """
    text = url.query.get(PREPARE)
    if text is None:
        return {}
    if text == "none":
        return {PREPARE: None}
    if not isinstance(text, str) or re.fullmatch(r"\d{1,9}", text, re.ASCII) is None:
        raise InvalidParameterError(
            f"{PREPARE} of the database must be a whole number from 0 on, or none; got {text!r}"
        )
    return {PREPARE: int(text)}


def _hosts(text: str) -> dict[str, str]:
    """Return the hosts and ports of a list of hosts, as options. Raises : ValueError."""
    hosts, ports = [], []
    for part in text.split(","):
        host_match = re.fullmatch(r"(?:\[([\da-fA-F:.]+)\]|([^:\[\]]+))(?::(\d+))?", part)
        if host_match is None:
            raise ValueError(part)
        hosts.append(host_match[1] or unquote(host_match[2]))
        ports.append(host_match[3] or "5432")
    return {"host": ",".join(hosts), "port": ",".join(ports)}


def _has_several_hosts(url: URL) -> bool:
    """Return whether the address of a PostgreSQL database names several hosts."""
    hosts = url.query.get("host", url.host or "")
    return not isinstance(hosts, str) or "," in hosts


def _without_password(url: str) -> str:
    """Return an address, which may not be a URL, without a password."""
    return re.sub(r"(://[^:@/]*:)[^@]*@", r"\1***@", url)


def _engine(url: URL) -> Engine:
    """Return an engine. Raises : InvalidParameterError if a library is not installed."""
    options: dict[str, Any] = {"pool_size": 16, "max_overflow": 16, "pool_timeout": 30}
    try:
        if url.drivername == "sqlite":
            engine = create_engine(url, connect_args={"check_same_thread": False}, **options)
            event.listen(engine, "connect", _set_up_sqlite)
            event.listen(engine, "begin", _begin_sqlite)
            return engine
        arguments: dict[str, str | int | None] = {
            name: value for name, value in _POSTGRES_OPTIONS.items() if name not in url.query
        }
        threshold = _prepare_threshold(url)
        arguments |= threshold  # instead of its text in the address
        engine = create_engine(url, pool_pre_ping=True, connect_args=arguments, **options)
        if not threshold:
            event.listen(engine, "connect", _set_up_postgresql)
        return engine
    except (ModuleNotFoundError, NoSuchModuleError) as error:
        raise InvalidParameterError(
            f"{url.drivername} needs the extra 'postgresql': {how_to_install('postgresql')}"
        ) from error


def _set_up_sqlite(connection: Any, record: object) -> None:
    """Set up a connection; transactions are begun by `_begin_sqlite` alone."""
    connection.isolation_level = None
    cursor = connection.cursor()
    for pragma in _SQLITE_PRAGMAS:
        cursor.execute(pragma)
    cursor.close()


def _set_up_postgresql(connection: Any, record: object) -> None:
    """Prepare no statements if a pooler such as PgBouncer is between this process and the server.

    It may give the next transaction another connection of the server, where a statement of the same
    name is another one. A pooler tells its clients another number than that of the server's
    process.
    """
    with connection.cursor() as cursor:
        ((process,),) = cursor.execute("SELECT pg_backend_pid()").fetchall()
    connection.rollback()
    if process != connection.info.backend_pid:
        connection.prepare_threshold = None


@contextmanager
def _set_for_now(connection: Connection, durable: bool, seconds: float | None) -> Iterator[None]:
    """Let a connection of SQLite work in another way while the block runs.

    durable : whether commits are on the disk before they return. The WAL keeps the order of others:
        none can be on the disk without those before it
    seconds : for which it waits for other processes; None for as long as usual
    """
    unusual: dict[str, tuple[object, object]] = {}
    if not durable:
        unusual["synchronous"] = ("NORMAL", "FULL")
    if seconds is not None:
        unusual["busy_timeout"] = (round(1000 * seconds), _BUSY_TIMEOUT)
    if not unusual:
        yield
        return
    # Not through SQLAlchemy, which would begin a transaction.
    with closing(connection.connection.cursor()) as cursor:
        for name, (now, _) in unusual.items():
            cursor.execute(f"PRAGMA {name} = {now}")
        try:
            yield
        finally:
            for name, (_, usual) in unusual.items():
                cursor.execute(f"PRAGMA {name} = {usual}")


def _begin_sqlite(connection: Connection) -> None:
    """Begin a transaction. A writer takes the lock at once: after a read it might not get it."""
    writes = connection.get_execution_options().get("equipoise_writes", False)
    with driver_cursor(connection) as cursor:  # every transaction comes here
        cursor.execute("BEGIN IMMEDIATE" if writes else "BEGIN")
