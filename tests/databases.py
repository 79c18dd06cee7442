"""Databases for tests of the store and of the service: a new one for every test, without rows.

`database_url` runs a test on SQLite and on PostgreSQL; `sqlite_url` and `postgres_url` on one of
them. PostgreSQL is started once a test session, when the first test asks for it. Where a test has
a store, the database is a copy that has the schema; otherwise it is empty.
"""

from __future__ import annotations

import shutil
import signal
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from trials.postgres import ABSENT, Postgres, is_installed, name_of, running_postgres
from trials.standby import ABSENT as NO_STANDBY
from trials.standby import StandbyPair, programs, standby_pair

if TYPE_CHECKING:
    from equipoise.store.connection import Store

#: Tests with one of these fixtures open their database at once, which creates its schema.
STORES = {"store", "sqlite_store"}


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """Give a PostgreSQL server, or skip where there is none."""
    if not is_installed():
        pytest.skip(ABSENT)
    with running_postgres() as server:
        server.forget_crashes()
        yield server


@pytest.fixture(scope="session")
def standby_servers() -> Iterator[StandbyPair]:
    """Give a primary of PostgreSQL and its synchronous standby, or skip where there is none."""
    if programs() is None:
        pytest.skip(NO_STANDBY)
    with standby_pair() as pair:
        yield pair


@pytest.fixture
def standby_url(standby_servers: StandbyPair) -> Iterator[str]:
    """Give the address of a new database on both servers, which names the standby first."""
    name = f"trial_{uuid.uuid4().hex}"
    standby_servers.primary.query(f"CREATE DATABASE {name}")
    yield standby_servers.address(name)
    standby_servers.standby.signal(signal.SIGCONT)
    standby_servers.primary.query(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(scope="session")
def postgres_template(postgres: Postgres) -> Iterator[str]:
    """Give the name of a database with the current schema, of which others are copies."""
    from equipoise.store.connection import open_store

    with postgres.database() as url:
        open_store(url).close()
        yield name_of(url)


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a file with the current schema, of which others are copies."""
    from equipoise.store.connection import open_store

    path = tmp_path_factory.mktemp("template") / "template.db"
    open_store(f"sqlite:///{path}").close()
    return path


@pytest.fixture
def postgres_url(request: pytest.FixtureRequest, postgres: Postgres) -> Iterator[str]:
    """Give the address of a new database of PostgreSQL; for a store it has its schema already."""
    opened = not STORES.isdisjoint(request.fixturenames)
    template = request.getfixturevalue("postgres_template") if opened else None
    with postgres.database(template) as url:
        yield url


@pytest.fixture
def sqlite_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Give the address of a new database of SQLite; for a store it has its schema already."""
    path = tmp_path / "trial.db"
    if not STORES.isdisjoint(request.fixturenames):
        shutil.copy(request.getfixturevalue("sqlite_template"), path)
    return f"sqlite:///{path}"


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest) -> str:
    """Give the address of a new database of each kind."""
    name = "sqlite_url" if request.param == "sqlite" else "postgres_url"
    url: str = request.getfixturevalue(name)
    return url


@pytest.fixture
def store(database_url: str) -> Iterator[Store]:
    """Give a new store of each kind."""
    from equipoise.store.connection import open_store

    opened = open_store(database_url)
    yield opened
    opened.close()


@pytest.fixture
def sqlite_store(sqlite_url: str) -> Iterator[Store]:
    """Give a new store on SQLite, where the database makes no difference."""
    from equipoise.store.connection import open_store

    opened = open_store(sqlite_url)
    yield opened
    opened.close()
