"""The database of a command, and the libraries that the service needs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from equipoise.errors import InvalidParameterError, NotFoundError

if TYPE_CHECKING:
    from equipoise.store.connection import Store


@contextmanager
def opened(url: str, *, create: bool = False) -> Iterator[Store]:
    """Open the database at a URL, and close it afterwards.

    create : make a missing database and upgrade an old schema; otherwise the database must exist
        and have the current schema
    Raises : NotFoundError, ConflictError, InvalidParameterError
    """
    check_installed("sqlalchemy", "alembic")
    from equipoise.store.connection import open_store

    if not create:
        check_there(url)
    store = open_store(url, migrate=create)
    try:
        yield store
    finally:
        store.close()


def check_there(url: str) -> None:
    """Refuse a SQLite file that does not exist: a mistyped name would make an empty database.

    Raises : NotFoundError
    """
    from pathlib import Path

    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        parsed = make_url(url)
    except ArgumentError:
        return  # opening it reports the error
    is_file = parsed.drivername == "sqlite" and parsed.database
    if is_file and not Path(str(parsed.database)).is_file():
        raise NotFoundError(f"no database {parsed.database}")


def check_installed(*libraries: str) -> None:
    """Refuse to continue without libraries of the service. Raises : InvalidParameterError."""
    from importlib.util import find_spec

    missing = [name for name in libraries if find_spec(name) is None]
    if missing:
        raise InvalidParameterError(
            f"the service needs {', '.join(missing)}: pip install 'equipoise[service]'"
        )
