"""Opening a database: how it is set up, who may write when, and errors where there is none."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import Connection, text

from equipoise.errors import ConflictError, DamagedError, InvalidParameterError, NotFoundError
from equipoise.pools.backups import check_database
from equipoise.store import connection
from equipoise.store.connection import (
    InterruptedTransactionError,
    Interruption,
    Store,
    checked_url,
    open_store,
)


def test_a_commit_to_sqlite_is_on_the_disk(sqlite_store: Store) -> None:
    """In every connection, whoever reads or writes: a log ahead, and full synchronisation."""
    for give in (sqlite_store.read, sqlite_store.write, sqlite_store.read):
        with give() as connection:
            asked = {
                name: connection.execute(text(f"PRAGMA {name}")).scalar()
                for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
            }
        assert asked == {
            "journal_mode": "wal",
            "synchronous": 2,
            "foreign_keys": 1,
            "busy_timeout": 30_000,
        }


def test_readers_see_one_moment(store: Store) -> None:
    """Whatever is written meanwhile, within a transaction and in a snapshot of several reads."""
    count = text("SELECT count(*) FROM keys")
    add = text(
        "INSERT INTO keys (id, name, role, hash, created) VALUES (:id, 'k', 'reader', :hash, 0)"
    )

    def counted(of: Store) -> int:
        with of.read() as connection:
            return int(connection.execute(count).scalar_one())

    with store.read() as reading, store.moment() as moment:
        assert reading.execute(count).scalar() == counted(moment) == 0
        with store.write() as writing:
            writing.execute(add, {"id": 1, "hash": b"x"})
        assert reading.execute(count).scalar() == counted(moment) == 0
        with pytest.raises(RuntimeError, match="cannot be written to"), moment.write():
            pass
    assert counted(store) == 1


def test_a_connection_that_is_given_back_after_the_end_is_closed(database_url: str) -> None:
    """A thread may still have one. It must not stay open until it is collected as garbage."""
    store = open_store(database_url)
    with store.read() as connection:
        driver: Any = connection.connection.driver_connection
        store.close()
        assert connection.execute(text("SELECT 1")).scalar() == 1
    with pytest.raises(Exception, match="closed"):
        driver.execute("SELECT 1")


_ANOTHER = """
import sqlite3, sys, time
other = sqlite3.connect(sys.argv[1], isolation_level=None)
other.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
sys.stdin.readline()
time.sleep(0.5)
other.execute("COMMIT")
"""


def test_a_writer_waits_for_another_process(sqlite_url: str) -> None:
    """Readers do not; nobody is told that the database is locked."""
    store = open_store(sqlite_url)
    path = sqlite_url.removeprefix("sqlite:///")
    command = [sys.executable, "-c", _ANOTHER, path]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdin is not None
        assert other.stdout.readline() == "locked\n"
        with store.read() as connection:
            assert connection.execute(text("SELECT count(*) FROM pools")).scalar() == 0
        assert other.poll() is None
        other.stdin.write("\n")  # From now on it holds the lock for half a second.
        other.stdin.flush()
        with store.write() as connection:
            assert connection.execute(text("SELECT count(*) FROM pools")).scalar() == 0
        assert other.wait() == 0
    store.close()


_OPEN = """
import sys
from equipoise.store.connection import open_store
open_store(sys.argv[1]).close()
"""


def test_processes_may_open_a_new_database_together(database_url: str) -> None:
    """One sets it up, the others find it so."""
    command = [sys.executable, "-c", _OPEN, database_url]
    opened = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    told = [one.communicate()[1] for one in opened]
    assert [one.returncode for one in opened] == [0, 0, 0], told
    open_store(database_url, migrate=False).close()


@pytest.mark.parametrize(
    ("url", "error"),
    [
        *(
            (url, InvalidParameterError)
            for url in (
                "",
                "x",
                "equipoise.db",
                "mysql://reader:hidden@host/name",
                "sqlite+pysqlcipher:///x.db",
                "postgresql+asyncpg://reader:hidden@host/name",
                "postgresql://reader:hidden@host:port/name",
                "sqlite://",
                "sqlite:///:memory:",
                "sqlite:///{folder}/x.db?cipher=hidden",
                "postgresql://reader:hidden@/name?host={folder}&colour=red",
            )
        ),
        # Absent, a folder, a server that is not there.
        *(
            (url, NotFoundError)
            for url in (
                "sqlite:///{folder}/absent/x.db",
                "sqlite:///{folder}",
                "postgresql+psycopg://reader:hidden@/name?host={folder}",
                "postgresql://reader:hidden@127.0.0.1:9/name",
            )
        ),
    ],
)
def test_other_addresses_are_refused_in_a_sentence(
    tmp_path: Path, url: str, error: type[Exception]
) -> None:
    """Without telling a password that stands in them."""
    with pytest.raises(error, match="database") as caught:
        open_store(url.format(folder=tmp_path))
    assert "hidden" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_of_something_else_is_reported_as_damaged(tmp_path: Path) -> None:
    """So is a database whose first page was overwritten; both need a look by the operator."""
    (tmp_path / "text.db").write_text("This is no database, but it is long enough for one.\n" * 99)
    with pytest.raises(DamagedError, match="file is not a database"):
        open_store(f"sqlite:///{tmp_path / 'text.db'}")


def test_a_newer_schema_is_left_alone(sqlite_url: str) -> None:
    """Whether or not it may be upgraded; an empty database is not set up unasked."""
    with pytest.raises(ConflictError, match="is empty"):
        open_store(sqlite_url, migrate=False)
    open_store(sqlite_url).close()
    with sqlite3.connect(sqlite_url.removeprefix("sqlite:///")) as other:
        other.execute("UPDATE alembic_version SET version_num = '9999', oldest = '9998'")
    other.close()
    for migrate in (True, False):
        with pytest.raises(ConflictError, match="schema 9999"):
            open_store(sqlite_url, migrate=migrate)


def test_a_closed_sqlite_database_is_one_file(tmp_path: Path) -> None:
    """It can be copied as it is."""
    store = open_store(f"sqlite:///{tmp_path / 'one.db'}")
    with store.write() as connection:
        connection.execute(text("DELETE FROM keys"))
    store.close()
    assert [path.name for path in tmp_path.iterdir()] == ["one.db"]


@pytest.mark.parametrize(("given", "driver"), [("none", None), ("0", 0), ("7", 7)])
def test_the_address_may_say_when_statements_are_prepared(
    given: str, driver: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The driver takes a number or None, and an address is text."""
    pytest.importorskip("psycopg")
    url = checked_url(f"postgresql://nobody@db.example/league?prepare_threshold={given}")
    engine = connection._engine(url)
    seen: list[object] = []

    def connect(*_: object, **options: object) -> None:
        seen.append(options["prepare_threshold"])
        raise OSError("no server here")

    monkeypatch.setattr(engine.dialect, "connect", connect)
    with pytest.raises(OSError, match="no server here"):
        engine.connect()
    assert seen == [driver]
    # The address of another process for this database still says so.
    assert f"prepare_threshold={given}" in engine.url.render_as_string()


def test_another_threshold_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match=r"from 0 on, or none; got 'never'"):
        checked_url("postgresql://nobody@db.example/league?prepare_threshold=never")


#: Takes minutes on either database.
_LONG = text(
    "WITH RECURSIVE counted(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted "
    "WHERE n < 1000000000) SELECT count(*) FROM counted"
)
_MARKED = text("CREATE TABLE marked (n INTEGER)")
_MARKS = text("SELECT count(*) FROM marked")
_ADD = text("INSERT INTO marked VALUES (1)")


@pytest.fixture
def marked(database_url: str) -> Iterator[Store]:
    """Give a store with a table of marks."""
    store = open_store(database_url)
    with store.write() as connection:
        connection.execute(_MARKED)
    yield store
    store.close()


def marks(store: Store) -> int:
    with store.read() as connection:
        return int(connection.execute(_MARKS).scalar_one())


def interrupted_write(
    store: Store, interruption: Interruption, *work: Callable[[Connection], object]
) -> None:
    """Do some work in a transaction that can be interrupted."""
    with store.write() as connection, interruption.of(connection):
        for one in work:
            one(connection)


def add(connection: Connection) -> None:
    connection.execute(_ADD)


def test_a_statement_under_way_is_ended_and_nothing_is_stored(marked: Store) -> None:
    interruption = Interruption()
    threading.Timer(0.3, interruption.request).start()
    began = time.monotonic()
    with pytest.raises(InterruptedTransactionError):
        interrupted_write(marked, interruption, add, lambda connection: connection.execute(_LONG))
    assert time.monotonic() - began < 20.0
    assert marks(marked) == 0


def test_a_transaction_is_ended_between_its_statements_or_before_them(marked: Store) -> None:
    interruption, done = Interruption(), []
    for work in ((add, lambda _: interruption.request()), (done.append,)):
        with pytest.raises(InterruptedTransactionError):
            interrupted_write(marked, interruption, *work)
    assert (marks(marked), done) == (0, [])


def test_a_commit_is_not_ended_nor_is_what_follows(marked: Store) -> None:
    interruption = Interruption()
    with marked.write() as connection:
        with interruption.of(connection):
            add(connection)
        interruption.request()
        time.sleep(0.3)
        connection.execute(_MARKS)
    assert marks(marked) == 1


def test_a_writer_that_fails_leaves_nothing(marked: Store) -> None:
    """All of a transaction, or none of it; the error is its own, and the next writer is let in."""
    with pytest.raises(ZeroDivisionError):
        interrupted_write(marked, Interruption(), add, lambda _: 1 / 0)
    assert marks(marked) == 0
    interrupted_write(marked, Interruption(), add)
    assert marks(marked) == 1


@pytest.fixture
def blocked(tmp_path: Path) -> Path:
    """Give a sound database beside which SQLite cannot make its files, as on a full disk."""
    path = tmp_path / "service.db"
    open_store(f"sqlite:///{path}").close()
    path.with_name("service.db-wal").mkdir()
    return path


@pytest.mark.parametrize("full", [True, False])
def test_check_and_verify_say_why_a_database_cannot_be_opened(
    blocked: Path, monkeypatch: pytest.MonkeyPatch, full: bool
) -> None:
    """The database is there and sound, so neither its absence nor damage is the reason."""
    if full:
        monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=0))
    reason = "the disk is full" if full else "unable to open database file"
    url = f"sqlite:///{blocked}"
    checks = {one.check: one for one in check_database(url).checks}
    for name in ("file", "schema", "indexes"):
        assert checks[name].status == "failed"
        assert reason in checks[name].detail
        assert "damaged" not in checks[name].detail
    with pytest.raises(NotFoundError) as refused:
        open_store(url, migrate=False)
    assert "cannot open the database" in str(refused.value)
    assert reason in str(refused.value)
    blocked.with_name("service.db-wal").rmdir()
    if not full:
        assert check_database(url).checks[0].status == "ok"
