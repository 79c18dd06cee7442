"""The database of a command, and the libraries that the service needs."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from equipoise.errors import (
    DamagedError,
    EquipoiseError,
    InvalidParameterError,
    NotFoundError,
    UnavailableError,
)
from equipoise.wording import how_to_install

if TYPE_CHECKING:
    from equipoise.store.connection import Store


@contextmanager
def opened(url: str, *, create: bool = False) -> Iterator[Store]:
    """Open the database at a URL, and close it afterwards.

    create : make a missing database and upgrade an old schema; otherwise the database must exist
        and have the current schema
    Raises : NotFoundError, ConflictError, InvalidParameterError, DamagedError; also from the block,
        where the database fails or has values that no version has written
    """
    check_installed("sqlalchemy")
    import msgspec
    from sqlalchemy.exc import DBAPIError

    from equipoise.store.connection import open_store, reason_of

    if not create:
        check_there(url)
    store = open_store(url, migrate=create)
    try:
        yield store
    except DBAPIError as error:
        raise UnavailableError(f"the database failed: {reason_of(error)}") from error
    except (EquipoiseError, OSError, KeyboardInterrupt):
        raise
    except (UnicodeError, struct.error, zlib.error, msgspec.MsgspecError) as error:
        raise _unreadable(error) from error
    except Exception as error:
        # Rows of a damaged file can be anything. Without damage it is a defect.
        if store.is_sound():
            raise
        raise _unreadable(error) from error
    finally:
        store.close()


def _unreadable(error: Exception) -> DamagedError:
    """Return the error for values that no version has written."""
    reason = str(error).partition("\n")[0] or type(error).__name__
    return DamagedError(
        f"the database has a value that cannot be read ({reason}): restore a backup"
    )


def check_there(url: str) -> None:
    """Refuse a SQLite file that does not exist: a mistyped name would make an empty database.

    Raises : NotFoundError
    """
    if is_absent(url):
        raise NotFoundError(f"no database {_file_of(url)}")


def is_absent(url: str) -> bool:
    """Return whether a URL names a SQLite file that does not exist."""
    file = _file_of(url)
    return file is not None and not file.is_file()


def in_words(url: str) -> str:
    """Return the file of SQLite with its folder, or the URL without its password."""
    from sqlalchemy.engine import make_url

    file = _file_of(url)
    return make_url(url).render_as_string() if file is None else str(file.absolute())


def _file_of(url: str) -> Path | None:
    """Return the file of a SQLite database, None for another database."""
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):  # a list of hosts, or no address
        return None  # opening it reports the error
    is_file = parsed.drivername == "sqlite" and parsed.database
    return Path(str(parsed.database)) if is_file else None


def check_installed(*libraries: str) -> None:
    """Refuse to continue without libraries of the service. Raises : InvalidParameterError."""
    from importlib.util import find_spec

    missing = [name for name in libraries if find_spec(name) is None]
    if missing:
        raise InvalidParameterError(
            f"the service needs {', '.join(missing)}: {how_to_install('service')}"
        )
