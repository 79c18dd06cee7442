"""Commits on PostgreSQL with a synchronous standby: confirmed, or else unknown."""

from __future__ import annotations

import re
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from sqlalchemy import Connection, text
from sqlalchemy.exc import IntegrityError, OperationalError

from equipoise.errors import InvalidParameterError, UnconfirmedError
from equipoise.store.connection import (
    Commits,
    Store,
    checked_url,
    oldest_on_server,
    open_store,
    was_silent,
    weak_commits,
)
from equipoise.store.pools import find_pool
from trials.standby import StandbyPair

ADD = "INSERT INTO keys (id, name, role, hash, created) VALUES (1, 'k', 'reader', 'x', 0)"


@pytest.fixture
def standby_store(standby_url: str) -> Iterator[Store]:
    """Give a store on both servers."""
    store = open_store(standby_url)
    yield store
    store.close()


@pytest.fixture
def postgres_store(postgres_url: str) -> Iterator[Store]:
    """Give a store on one server."""
    store = open_store(postgres_url)
    yield store
    store.close()


def _add(store: Store, *before: str) -> None:
    with store.write() as connection:
        for statement in (*before, ADD):
            connection.execute(text(statement))


def _keys(store: Store) -> int:
    with store.read() as connection:
        return int(connection.execute(text("SELECT count(*) FROM keys")).scalar() or 0)


@contextmanager
def _waiting(
    store: Store, servers: StandbyPair, *before: str
) -> Iterator[tuple[Future[None], int]]:
    """Give a write whose commit waits for the standby, and its process on the primary."""
    servers.standby.signal(signal.SIGSTOP)
    try:
        with ThreadPoolExecutor(1) as thread:
            done = thread.submit(_add, store, *before)
            try:
                yield done, servers.wait_for_commit()
            finally:
                servers.standby.signal(signal.SIGCONT)
    finally:
        servers.standby.signal(signal.SIGCONT)


def test_a_commit_waits_for_the_standby(standby_servers: StandbyPair, standby_store: Store) -> None:
    """For as long as it takes; meanwhile it is known for how long the oldest has waited."""
    with _waiting(standby_store, standby_servers) as (done, _):
        time.sleep(1.0)
        assert not done.done()
        assert _keys(standby_store) == 0
        assert standby_store.commits.oldest() > 0.9
        with standby_store.read() as connection:
            assert oldest_on_server(connection) > 0.9
        standby_servers.standby.signal(signal.SIGCONT)
        done.result(60)
    assert _keys(standby_store) == 1
    assert standby_store.commits.oldest() == 0.0
    with standby_store.read() as connection:
        assert oldest_on_server(connection) == 0.0


def test_a_cancelled_wait_is_no_confirmation(
    standby_servers: StandbyPair, standby_store: Store
) -> None:
    """PostgreSQL has committed on the primary alone, and says so in a warning."""
    with _waiting(standby_store, standby_servers) as (done, process):
        standby_servers.primary.query(f"SELECT pg_cancel_backend({process})")
        with pytest.raises(UnconfirmedError, match="unknown whether this was recorded"):
            done.result(60)
        assert _keys(standby_store) == 1
    assert standby_store.commits.oldest() == 0.0


def test_a_connection_that_breaks_during_a_commit_is_no_confirmation(
    standby_servers: StandbyPair, standby_store: Store
) -> None:
    with _waiting(standby_store, standby_servers) as (done, process):
        standby_servers.primary.query(f"SELECT pg_terminate_backend({process})")
        with pytest.raises(UnconfirmedError, match="the connection broke"):
            done.result(60)
    with standby_store.write() as connection:
        assert connection.execute(text("SELECT count(*) FROM keys")).scalar() == 1


def test_a_connection_that_breaks_before_a_commit_records_nothing(
    standby_servers: StandbyPair, standby_store: Store
) -> None:
    """So the error is another one, which says that nothing was done."""

    def breaks() -> None:
        with standby_store.write() as connection:
            process = connection.execute(text("SELECT pg_backend_pid()")).scalar()
            standby_servers.primary.query(f"SELECT pg_terminate_backend({process})")
            connection.execute(text(ADD))

    with pytest.raises(OperationalError):
        breaks()
    assert _keys(standby_store) == 0


def test_a_refused_commit_is_an_error_of_its_own(postgres_store: Store) -> None:
    """The server is there and has undone everything."""

    def refused() -> None:
        with postgres_store.write() as connection:
            connection.execute(
                text("CREATE TEMP TABLE t (a int UNIQUE DEFERRABLE INITIALLY DEFERRED)")
            )
            connection.execute(text("INSERT INTO t VALUES (1), (1)"))

    with pytest.raises(IntegrityError):
        refused()
    _add(postgres_store)
    assert _keys(postgres_store) == 1


def test_a_standby_takes_no_writes(standby_servers: StandbyPair, standby_url: str) -> None:
    """An address may lead to it for a moment: this is an error of the database, not of ours."""
    open_store(standby_url).close()
    standby_servers.wait_until_replayed()
    name = checked_url(standby_url).database
    alone = f"postgresql+psycopg://postgres@127.0.0.1:{standby_servers.standby.port}/{name}"
    store = open_store(alone, migrate=False)
    assert _keys(store) == 0
    with pytest.raises(OperationalError, match="read-only"):
        _add(store)
    assert _keys(store) == 0
    store.close()


def test_a_silent_server_is_given_up(standby_url: str) -> None:
    """After about ten seconds, unless the address says otherwise."""
    for address, seconds in ((standby_url, 10_000), (f"{standby_url}?tcp_user_timeout=3000", 3000)):
        store = open_store(address)
        with store.read() as connection:
            number = connection.connection.driver_connection.fileno()  # type: ignore[union-attr]
            with socket.socket(fileno=number) as used:
                try:
                    given = used.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)
                    idle = used.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE)
                finally:
                    used.detach()
            assert (given, idle) == (seconds, 5)
        store.close()


@pytest.mark.parametrize(
    ("address", "host", "port"),
    [
        ("postgresql://u:p@one:1,two:2/name", "one,two", "1,2"),
        ("postgresql+psycopg://u@one,two/name", "one,two", "5432,5432"),
        ("postgresql+psycopg://[::1]:7,two:8/name", "::1,two", "7,8"),
        ("postgresql+psycopg:///name?host=one,two&port=1,2", "one,two", "1,2"),
        ("postgresql://one:1,two:2/name?target_session_attrs=any", "one,two", "1,2"),
    ],
)
def test_an_address_may_list_hosts(address: str, host: str, port: str) -> None:
    found = checked_url(address)
    assert (found.database, found.query["host"], found.query["port"]) == ("name", host, port)
    wanted = "any" if "any" in address else "read-write"
    assert found.query["target_session_attrs"] == wanted


def test_a_port_of_a_list_is_a_number() -> None:
    with pytest.raises(InvalidParameterError, match=re.escape("got 'postgresql://u:***@one:1,t")):
        checked_url("postgresql://u:hidden@one:1,two:x/name")


def test_the_oldest_commit_counts() -> None:
    """Whatever ends first."""
    commits = Commits()
    ending = threading.Event()

    def later() -> None:
        with commits.under_way():
            ending.wait(60)

    with commits.under_way():
        time.sleep(0.2)
        thread = threading.Thread(target=later)
        thread.start()
        assert commits.oldest() >= 0.2
    assert commits.oldest() < 0.2
    ending.set()
    thread.join()
    assert commits.oldest() == 0.0


@pytest.mark.parametrize(
    ("option", "several_hosts", "said"),
    [
        ("on", False, None),
        ("local", False, None),
        ("off", False, "synchronous_commit is off"),
        ("off", True, "synchronous_commit is off"),
        ("on", True, "synchronous_standby_names is empty"),
        ("local", True, "synchronous_standby_names is empty"),
    ],
)
def test_settings_that_lose_confirmed_commits_are_noticed(
    postgres_store: Store, option: str, several_hosts: bool, said: str | None
) -> None:
    """A standby is missed only where the address names more than one server."""
    with postgres_store.write() as connection:
        connection.exec_driver_sql(f"SET LOCAL synchronous_commit = {option}")
        found = weak_commits(connection, several_hosts)
    assert found is None if said is None else said in str(found)


def test_commits_that_do_not_wait_for_the_standby_are_noticed(standby_store: Store) -> None:
    assert standby_store.weakness() is None
    with standby_store.write() as connection:
        connection.exec_driver_sql("SET LOCAL synchronous_commit = local")
        assert "synchronous_commit is local" in str(weak_commits(connection, True))


def _idle(store: Store, following: Callable[[Connection], object]) -> None:
    with store.write() as connection:
        connection.exec_driver_sql("SET LOCAL idle_in_transaction_session_timeout = 100")
        connection.exec_driver_sql("DELETE FROM keys")
        time.sleep(1.0)
        following(connection)


#: What a transaction does next: a statement of SQLAlchemy, one of the driver, the COMMIT.
FOLLOWING: dict[str, Callable[[Connection], object]] = {
    "a statement": lambda connection: connection.exec_driver_sql("SELECT 1"),
    "a prepared statement": lambda connection: find_pool(connection, "any"),
    "the commit": lambda connection: None,
}


@pytest.mark.parametrize("following", FOLLOWING)
def test_an_idle_transaction_that_the_server_ends_is_not_stored(
    postgres_store: Store, following: str
) -> None:
    """The error is that of a database that does not answer; the next transaction connects anew.

    Nor is it unknown what became of it: the server has not read the statement, or the COMMIT.
    """
    _add(postgres_store)
    with pytest.raises(OperationalError, match="idle-in-transaction") as found:
        _idle(postgres_store, FOLLOWING[following])
    assert was_silent(found.value)
    assert _keys(postgres_store) == 1


def test_a_statement_timeout_does_not_end_the_wait_of_a_commit(
    standby_servers: StandbyPair, standby_store: Store
) -> None:
    """PostgreSQL ends that time before it commits; the commit is confirmed once the standby is."""
    with _waiting(standby_store, standby_servers, "SET LOCAL statement_timeout = 300") as (done, _):
        time.sleep(1.0)
        assert not done.done()
        standby_servers.standby.signal(signal.SIGCONT)
        done.result(60)
    assert _keys(standby_store) == 1
