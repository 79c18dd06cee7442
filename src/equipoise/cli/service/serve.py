"""equipoise serve: the service."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from equipoise.cli.declaring import option

if TYPE_CHECKING:
    from equipoise.web.settings import ServiceSettings

EXAMPLE = """\b
Example:
  equipoise serve --demo
  equipoise serve --database sqlite:///league.db --port 8000 --set rate_limit=50"""


def serve(
    *,
    database: str | None = option(
        None,
        "sqlite:///FILE or postgresql+psycopg://USER:PASSWORD@HOST/NAME, upgraded if need be; "
        "without the option what EQUIPOISE_DATABASE says. [default: sqlite:///equipoise.db]",
        "URL",
        envvar="EQUIPOISE_DATABASE",
        show_envvar=False,
    ),
    host: str = option("127.0.0.1", "Address to listen on."),
    port: int = option(8000, "Port to listen on; 0 takes a free one.", min=0, max=65535),
    workers: int = option(1, "Processes; more than one is for PostgreSQL.", min=1, max=64),
    set_: list[str] | None = option(
        None,
        "A setting of the service, as EQUIPOISE_NAME in the environment; repeatable.",
        "NAME=VALUE",
    ),
    demo: bool = option(
        False,
        "With a public pool `demo` of the sample, in a database that goes with the service unless "
        "one is named.",
    ),
) -> None:
    """Run the service until it is stopped by SIGINT or SIGTERM.

    Requests under way are then finished, and all that was acknowledged is in the database.
    """
    import contextlib
    import signal
    import tempfile

    from equipoise.analysis.files.systems import assignments
    from equipoise.cli.service.databases import check_installed

    _check_installed()
    check_installed()
    from equipoise.web.serve import serve as run

    chosen = assignments(set_ or [], "--set")
    with contextlib.ExitStack() as stack:
        if demo and database is None and "database" not in chosen:
            signal.signal(signal.SIGTERM, _end)
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="equipoise-demo-"))
            database = f"sqlite:///{folder}/demo.db"
            # Whoever tries it finds nothing locked; the database goes with the service.
            chosen = {"calculations": "open", **chosen}
            _make_demo_key(database)
        settings = _settings(database, chosen)
        if demo:
            _fill_demo(settings.database, host, port)
        run(settings, host, port, workers)


def _end(*_: object) -> None:
    """End in order: by itself SIGTERM would leave the database of the demo behind.

    While it serves, the server sees to that.
    """
    raise SystemExit(143)


def _settings(database: str | None, chosen: dict[str, str]) -> ServiceSettings:
    """Return the settings: of the command, and else of the environment."""
    from equipoise.web.settings import PREFIX, settings_from_environment

    if database is not None:
        chosen = {"database": database, **chosen}
    given = {PREFIX + name.upper(): value for name, value in chosen.items()}
    _check_names(chosen)
    return settings_from_environment({**os.environ, **given})


def _check_names(chosen: dict[str, str]) -> None:
    """Refuse settings that there are not. Raises : InvalidParameterError."""
    import msgspec

    from equipoise.errors import InvalidParameterError
    from equipoise.web.settings import ServiceSettings

    known = [field.name for field in msgspec.structs.fields(ServiceSettings)]
    for name in chosen:
        if name not in known:
            raise InvalidParameterError(
                f"the service has no setting {name!r}: it has {', '.join(known)}"
            )


def _fill_demo(database: str, host: str, port: int) -> None:
    """Fill the demo pool if it is not there, and say where it is."""
    from equipoise.analysis.clock import now as clock
    from equipoise.cli.report import compiling, say
    from equipoise.cli.service.databases import opened
    from equipoise.pools.exchange.importing import DEMO, fill_demo

    with opened(database, create=True) as store, compiling():
        fill_demo(store, clock())
    if port:
        place = f"http://{f'[{host}]' if ':' in host else host}:{port}"
        pages = f"{place}/pools/{DEMO} and {place}/v1/pools/{DEMO}/leaderboard"
        say(f"The pool {DEMO!r} is public: {pages}")


def _make_demo_key(database: str) -> None:
    """Make a key with which one may do everything in the demo, and say it."""
    from equipoise.analysis.clock import now as clock
    from equipoise.cli.report import say
    from equipoise.cli.service.databases import opened
    from equipoise.messages.access import KeyRequest
    from equipoise.pools.pool.access import make_key

    with opened(database, create=True) as store:
        made = make_key(store, KeyRequest(name="demo", role="admin"), clock())
    say(f"Sign in with this key to change things: {made.secret}")


def _check_installed() -> None:
    """Refuse to go on without the libraries of the web. Raises : InvalidParameterError."""
    from importlib.util import find_spec

    from equipoise.errors import InvalidParameterError

    missing = [
        name for name in ("starlette", "uvicorn", "prometheus_client") if not find_spec(name)
    ]
    if missing:
        raise InvalidParameterError(
            f"the service needs {', '.join(missing)}: pip install 'equipoise[service]'"
        )
