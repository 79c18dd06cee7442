"""Transactions that another thread ends before their commit."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import pytest
from sqlalchemy import Connection, text

from equipoise.store.connection import InterruptedTransactionError, Interruption, Store, open_store

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


def write(store: Store, interruption: Interruption, *work: Callable[[Connection], object]) -> None:
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
        write(marked, interruption, add, lambda connection: connection.execute(_LONG))
    assert time.monotonic() - began < 20.0
    assert marks(marked) == 0


def test_a_transaction_is_ended_between_its_statements(marked: Store) -> None:
    interruption = Interruption()
    with pytest.raises(InterruptedTransactionError):
        write(marked, interruption, add, lambda _: interruption.request())
    assert marks(marked) == 0


def test_one_that_is_ended_before_it_begins_does_nothing(marked: Store) -> None:
    interruption, done = Interruption(), []
    interruption.request()
    with pytest.raises(InterruptedTransactionError):
        write(marked, interruption, done.append)
    assert not done


def test_a_commit_is_not_ended_nor_is_what_follows(marked: Store) -> None:
    interruption = Interruption()
    with marked.write() as connection:
        with interruption.of(connection):
            add(connection)
        interruption.request()
        time.sleep(0.3)
        connection.execute(_MARKS)
    assert marks(marked) == 1


def test_other_errors_are_raised_as_they_are(marked: Store) -> None:
    with pytest.raises(ZeroDivisionError):
        write(marked, Interruption(), lambda _: 1 / 0)
