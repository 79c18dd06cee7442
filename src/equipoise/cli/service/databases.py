"""The database that a command works on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from equipoise.errors import InvalidParameterError, NotFoundError

if TYPE_CHECKING:
    from equipoise.store.connection import Store


@contextmanager
def opened(url: str, *, create: bool = False) -> Iterator[Store]:
    """Give the database at a URL, and close it afterwards.

    create : it may be new, and is brought to the current schema; otherwise it must be there, and
        of the current schema
    Raises : NotFoundError, ConflictError, InvalidParameterError
    """
    check_installed()
    from equipoise.store.connection import open_store

    if not create:
        _check_there(url)
    store = open_store(url, migrate=create)
    try:
        yield store
    finally:
        store.close()


def _check_there(url: str) -> None:
    """Refuse a SQLite database that is not there: it would be made, empty, of a mistyped name.

    Raises : NotFoundError
    """
    from pathlib import Path

    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        parsed = make_url(url)
    except ArgumentError:
        return  # what is wrong with it is told where it is opened
    is_file = parsed.drivername == "sqlite" and parsed.database
    if is_file and not Path(str(parsed.database)).is_file():
        raise NotFoundError(f"no database {parsed.database}")


def check_installed() -> None:
    """Refuse to go on without the libraries of the service. Raises : InvalidParameterError."""
    from importlib.util import find_spec

    missing = [name for name in ("sqlalchemy", "alembic") if find_spec(name) is None]
    if missing:
        raise InvalidParameterError(
            f"the service needs {' and '.join(missing)}: pip install 'equipoise[service]'"
        )
