"""`equipoise serve`, the database of a command, and the libraries that the service needs."""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from equipoise.analysis.requests import assignments, typed
from equipoise.cli.report import compiling, say
from equipoise.errors import (
    DamagedError,
    EquipoiseError,
    InvalidParameterError,
    NotFoundError,
    UnavailableError,
)
from equipoise.wording import how_to_install, options_named

if TYPE_CHECKING:
    from equipoise.store.connection import Store
    from equipoise.web.settings import ServiceSettings


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


def serve(
    *,
    database: str | None = typed(
        None,
        "The database: sqlite:///FILE or postgresql+psycopg://USER:PASSWORD@HOST/NAME. An old "
        "schema is upgraded. The environment variable EQUIPOISE_DATABASE also sets it. [default: "
        "sqlite:///equipoise.db]",
        "URL",
        variable="EQUIPOISE_DATABASE",
    ),
    host: str = typed("127.0.0.1", "Address to listen on."),
    port: int = typed(8000, "Port to listen on; 0 chooses a free port.", least=0, most=65535),
    set_: Mapping[str, str] = typed(
        dict,
        "Change a setting of the service, like the environment variable EQUIPOISE_NAME. "
        "Repeatable.",
        "NAME=VALUE",
        many=True,
        read=assignments,
    ),
    demo: bool = typed(
        False,
        "Add a public pool `demo` with the sample season. Without --database, its database is "
        "deleted when the service stops.",
    ),
) -> None:
    """Run the service until SIGINT or SIGTERM stops it.

    The service then finishes the requests it has begun. Everything it has acknowledged is in the
    database.

    Example:
      equipoise serve --demo
      equipoise serve --database sqlite:///league.db --port 8000 --set rate_limit=50
    """
    import contextlib
    import signal
    import tempfile

    check_installed("starlette", "uvicorn", "prometheus_client")
    check_installed("sqlalchemy")
    from equipoise.web.serve import serve as run

    chosen = dict(set_)
    with contextlib.ExitStack() as stack:
        # The first process of a container has no handler by default, and would ignore the signal.
        before = signal.signal(signal.SIGTERM, _end)
        stack.callback(signal.signal, signal.SIGTERM, before)
        if demo and database is None and "database" not in chosen:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="equipoise-demo-"))
            database = f"sqlite:///{folder}/demo.db"
            # A demo needs no keys for calculations; its database is deleted when the service stops.
            chosen = {"calculations": "open", **chosen}
            _make_demo_key(database)
        settings = _settings(database, chosen)
        if demo:
            _fill_demo(settings.database, host, port)
        with options_named(False):  # callers of the service have parameters
            run(settings, host, port)


def _end(*_: object) -> None:
    """Exit normally, so that SIGTERM ends a start, and deletes the database of the demo.

    While the server runs, it handles the signal itself.
    """
    raise SystemExit(143)


def _settings(database: str | None, chosen: dict[str, str]) -> ServiceSettings:
    """Return the settings of the command, and of the environment for the others.

    Raises : InvalidParameterError   a setting is unknown
    """
    import msgspec

    from equipoise.web.settings import PREFIX, ServiceSettings, settings_from_environment

    if database is not None:
        chosen = {"database": database, **chosen}
    environment = {PREFIX + name.upper(): value for name, value in chosen.items()}
    settings = settings_from_environment({**os.environ, **environment})
    known = [field.name for field in msgspec.structs.fields(ServiceSettings)]
    for name in chosen:
        if name not in known:
            raise InvalidParameterError(
                f"the service has no setting {name!r}; the settings are {', '.join(known)}"
            )
    return settings


def _fill_demo(database: str, host: str, port: int) -> None:
    """Fill the demo pool if it does not exist, and print its address."""
    from equipoise.pools.exchange.importing import DEMO, fill_demo
    from equipoise.store.schema import now as clock

    with opened(database, create=True) as store, compiling():
        fill_demo(store, clock())
    if port:
        place = f"http://{f'[{host}]' if ':' in host else host}:{port}"
        pages = f"{place}/pools/{DEMO} and {place}/v1/pools/{DEMO}/leaderboard"
        say(f"The pool {DEMO!r} is public: {pages}")


def _make_demo_key(database: str) -> None:
    """Make a key with all rights in the demo, and print it."""
    from equipoise.messages.upkeep import KeyRequest
    from equipoise.pools.pool.access import make_key
    from equipoise.store.schema import now as clock

    with opened(database, create=True) as store:
        key = make_key(store, KeyRequest(name="demo", role="admin"), clock())
    say(f"Sign in with this key to make changes: {key.secret}")
