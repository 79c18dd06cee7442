"""A database of the service for every test, on SQLite and on PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from equipoise.store.connection import Store, open_store


@pytest.fixture
def store(database_url: str) -> Iterator[Store]:
    """Give a new store of each kind."""
    found = open_store(database_url)
    yield found
    found.close()


@pytest.fixture
def sqlite_store(sqlite_url: str) -> Iterator[Store]:
    """Give a new store on SQLite, where the database makes no difference."""
    found = open_store(sqlite_url)
    yield found
    found.close()
