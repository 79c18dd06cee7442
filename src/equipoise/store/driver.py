"""The driver's own cursor, for what SQLAlchemy's layers would make slow."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError


@contextmanager
def driver_cursor(connection: Connection) -> Iterator[Any]:
    """Give a cursor of the driver, in the transaction of a connection.

    What the driver raises is raised as SQLAlchemy does: callers know those errors alone.
    """
    dialect = connection.dialect
    base = dialect.loaded_dbapi.Error
    try:
        with closing(connection.connection.cursor()) as cursor:
            yield cursor
    except base as error:
        raise DBAPIError.instance(None, None, error, base, dialect=dialect) from error
