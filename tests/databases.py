"""Databases for tests of the store and of the service: a new, empty one for every test.

`database_url` runs a test on SQLite and on PostgreSQL; `sqlite_url` and `postgres_url` on one of
them. PostgreSQL is started once a test session, when the first test asks for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from trials.postgres import ABSENT, Postgres, is_installed, running_postgres


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """Give a PostgreSQL server, or skip where there is none."""
    if not is_installed():
        pytest.skip(ABSENT)
    with running_postgres() as server:
        yield server


@pytest.fixture
def postgres_url(postgres: Postgres) -> Iterator[str]:
    """Give the address of a new database of PostgreSQL."""
    with postgres.database() as url:
        yield url


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """Give the address of a new database of SQLite."""
    return f"sqlite:///{tmp_path / 'trial.db'}"


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest) -> str:
    """Give the address of a new database of each kind."""
    name = "sqlite_url" if request.param == "sqlite" else "postgres_url"
    url: str = request.getfixturevalue(name)
    return url


@pytest.fixture
def first_schema_url(database_url: str, tmp_path: Path) -> str:
    """Give the address of a database of schema 0001 that holds the pool `old`, of each kind."""
    from trials.first_schema import make_first_schema

    make_first_schema(database_url, tmp_path)
    return database_url
