"""Opening a database: how it is set up, who may write when, and what is said where it is none."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from equipoise.errors import ConflictError, DamagedError, InvalidParameterError, NotFoundError
from equipoise.store import connection
from equipoise.store.connection import Store, checked_url, open_store


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


def test_a_reader_sees_one_moment(store: Store) -> None:
    """Whatever is written between two statements of a transaction."""
    count = text("SELECT count(*) FROM keys")
    add = text(
        "INSERT INTO keys (id, name, role, hash, created) VALUES (:id, 'k', 'reader', :hash, 0)"
    )
    with store.read() as reading:
        assert reading.execute(count).scalar() == 0
        with store.write() as writing:
            writing.execute(add, {"id": 1, "hash": b"x"})
        assert reading.execute(count).scalar() == 0
    with store.read() as reading:
        assert reading.execute(count).scalar() == 1


def test_a_connection_that_is_given_back_after_the_end_is_closed(database_url: str) -> None:
    """A thread may still have one. It must not stay open until it is collected as garbage."""
    store = open_store(database_url)
    with store.read() as connection:
        driver: Any = connection.connection.driver_connection
        store.close()
        assert connection.execute(text("SELECT 1")).scalar() == 1
    with pytest.raises(Exception, match="closed"):
        driver.execute("SELECT 1")


def test_a_writer_that_fails_leaves_nothing(store: Store) -> None:
    """All of a transaction, or none of it; the next writer is let in."""
    add = text("INSERT INTO keys (id, name, role, hash, created) VALUES (1, 'k', 'r', :h, 0)")

    def fails() -> None:
        with store.write() as connection:
            connection.execute(add, {"h": b"x"})
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fails()
    with store.write() as connection:
        assert connection.execute(text("SELECT count(*) FROM keys")).scalar() == 0


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
        assert other.stdout is not None
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
    "url",
    [
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
    ],
)
def test_other_addresses_are_refused_in_a_sentence(tmp_path: Path, url: str) -> None:
    """Without telling a password that stands in them."""
    with pytest.raises(InvalidParameterError, match="database") as caught:
        open_store(url.format(folder=tmp_path))
    assert "hidden" not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "sqlite:///{folder}/absent/x.db",
        "sqlite:///{folder}",
        "postgresql+psycopg://reader:hidden@/name?host={folder}",
        "postgresql://reader:hidden@127.0.0.1:9/name",
    ],
)
def test_what_is_no_database_is_not_found(tmp_path: Path, url: str) -> None:
    """Absent, a folder, a server that is not there."""
    with pytest.raises(NotFoundError, match="database") as caught:
        open_store(url.format(folder=tmp_path))
    assert "hidden" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_of_something_else_is_reported_as_damaged(tmp_path: Path) -> None:
    """So is a database whose first page was overwritten; both need a look by the operator."""
    (tmp_path / "text.db").write_text("This is no database, but it is long enough for one.\n" * 99)
    with pytest.raises(DamagedError, match="file is not a database"):
        open_store(f"sqlite:///{tmp_path / 'text.db'}")


def test_an_unknown_option_of_postgresql_is_refused_in_a_sentence(tmp_path: Path) -> None:
    """As the driver names it."""
    with pytest.raises(InvalidParameterError, match="database"):
        open_store(f"postgresql://reader@/name?host={tmp_path}&colour=red")


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


def test_reads_of_one_moment_belong_together(store: Store) -> None:
    """Each may open the store anew; nothing can be written on the way."""
    count = text("SELECT count(*) FROM keys")
    add = text("INSERT INTO keys (id, name, role, hash, created) VALUES (1, 'k', 'r', :hash, 0)")
    with store.moment() as moment:
        with moment.read() as reading:
            assert reading.execute(count).scalar() == 0
        with store.write() as writing:
            writing.execute(add, {"hash": b"x"})
        with moment.read() as reading:
            assert reading.execute(count).scalar() == 0
        with pytest.raises(RuntimeError, match="cannot be written to"), moment.write():
            pass
    with store.read() as reading:
        assert reading.execute(count).scalar() == 1


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
