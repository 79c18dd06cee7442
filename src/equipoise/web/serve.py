"""Running the service until a signal stops it."""

from __future__ import annotations

import logging
import os
import shlex
import signal
import socket
import sys
import threading
from importlib.util import find_spec
from types import FrameType
from typing import Any

import uvicorn

from equipoise.errors import InvalidParameterError, require
from equipoise.store.connection import checked_url, open_store
from equipoise.store.keys import list_keys
from equipoise.web.application import served_application
from equipoise.web.http.connections import ServerConfig, limits_of
from equipoise.web.monitoring import configure_logs
from equipoise.web.settings import ServiceSettings
from equipoise.web.tracing import check_installed

log = logging.getLogger(__name__)

DEFAULT_HOST, DEFAULT_PORT = "127.0.0.1", 8000
_BACKLOG = 2048

#: Files that a process may have open, if the system allows as many.
_DESCRIPTORS = 8_192
_HTTPTOOLS = "equipoise.web.http.connections:LimitedHttpTools"
_H11 = "equipoise.web.http.connections:LimitedH11"
#: Exit status of a process that was not finished when its grace ended.
UNFINISHED = 3


def serve(settings: ServiceSettings, host: str = DEFAULT_HOST, port: int = DEFAULT_PORT) -> None:
    """Serve until SIGINT or SIGTERM, then finish active requests and commit all accepted posts.

    port : 0 for any free port; the address is printed on standard error
    Raises : InvalidParameterError if it cannot listen on the port or lacks a library; what
        `open_store` raises; SystemExit with status 1 if the service does not start
    """
    require(0 <= port < 65_536, "port", "from 0 to 65535", port)
    configure_logs(settings.log_level)
    if settings.tracing:
        check_installed()
    # Problems of the database are reported before anything listens.
    store = open_store(settings.database)
    weakness = store.weakness()
    fresh = not list_keys(store)
    store.close()
    if weakness is not None:
        log.warning("%s", weakness)
    listening = _listen(host, port)
    try:
        _announce(listening, settings)
        if fresh:
            _say_how_to_get_a_key(settings)
        _run(settings, listening)
    finally:
        listening.close()


def _run(settings: ServiceSettings, listening: socket.socket) -> None:
    limits = limits_of(settings, _raise_descriptors())
    config = ServerConfig(served_application(settings), limits, **_options(settings))
    server = _PunctualServer(config, settings.grace_seconds)
    # At its end the server raises the signal that stopped it once more. That must not end this
    # process before it has cleaned up.
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        server.run(sockets=[listening])
    except KeyboardInterrupt:
        log.debug("stopped from the keyboard")
    except SystemExit:  # uvicorn's, with a status that has another meaning here
        log.debug("did not start")
    finally:
        signal.signal(signal.SIGTERM, before)
    if not server.started:
        raise SystemExit(1)


class _PunctualServer(uvicorn.Server):
    """A server whose process ends at the end of its grace, also if it is not finished.

    Requests are cancelled before. But a thread may wait for a lock of the database, or for a
    receiver of webhooks, and a thread cannot be ended.
    """

    def __init__(self, config: uvicorn.Config, grace: float) -> None:
        super().__init__(config)
        self._grace = grace
        self._timer: threading.Timer | None = None

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to end, after a signal."""
        super().handle_exit(sig, frame)
        if self._timer is None:
            self._timer = threading.Timer(self._grace, self._end_at_once)
            self._timer.daemon = True
            self._timer.start()

    def _end_at_once(self) -> None:
        _log_unfinished(os.getpid(), self._grace)
        os._exit(UNFINISHED)

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until a signal."""
        try:
            super().run(sockets)
        finally:
            if self._timer is not None:
                self._timer.cancel()


def _log_unfinished(pid: int | None, grace: float) -> None:
    log.warning(
        "process %s was not finished %g s after the signal to stop, and was ended: see "
        "`grace_seconds`",
        pid,
        grace,
    )


def _options(settings: ServiceSettings) -> dict[str, Any]:
    return {
        "http": _HTTPTOOLS if find_spec("httptools") else _H11,
        "loop": "uvloop" if find_spec("uvloop") else "asyncio",
        "ws": "none",
        "lifespan": "on",
        "log_config": None,
        "access_log": False,
        "server_header": False,
        "proxy_headers": bool(settings.proxies),
        "forwarded_allow_ips": list(settings.proxies),
        # The rest of the time is for closing.
        "timeout_graceful_shutdown": max(
            settings.grace_seconds - 1.0, 0.5 * settings.grace_seconds
        ),
        "timeout_keep_alive": settings.keep_alive_seconds,
        "backlog": _BACKLOG,
    }


def _raise_descriptors() -> int:
    """Raise the number of files that this process may have open, and return it.

    The processes that it starts have the same number.
    """
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return _DESCRIPTORS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, _DESCRIPTORS)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return _DESCRIPTORS if soft == resource.RLIM_INFINITY else soft
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    except (OSError, ValueError):
        log.warning("the number of open files stays at %d: it cannot be raised", soft)
        return soft
    return wanted


def _listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens. Raises : InvalidParameterError."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, socket.SOCK_STREAM)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
            # While processes start, connections wait and are not refused.
            listening.listen(_BACKLOG)
        except OSError:
            listening.close()
            raise
    except (OSError, UnicodeError, OverflowError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise InvalidParameterError(f"cannot listen on {host}, port {port}: {reason}") from error
    listening.set_inheritable(True)
    return listening


def _announce(listening: socket.socket, settings: ServiceSettings) -> None:
    """Print or log the address on which the service listens."""
    host, port = listening.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    if sys.stderr.isatty():
        sys.stderr.write(f"Equipoise listens on http://{shown}:{port} (its API: /docs)\n")
        sys.stderr.flush()
    else:
        log.info("listening on http://%s:%s", shown, port)


def _say_how_to_get_a_key(settings: ServiceSettings) -> None:
    """Print or log how the first key of a database is made."""
    url = checked_url(settings.database).render_as_string()
    command = f"equipoise db keys create --name admin --role admin --database {shlex.quote(url)}"
    if sys.stderr.isatty():
        sys.stderr.write(f"There is no key yet. Create one: {command}\n")
        sys.stderr.flush()
    else:
        log.info("there is no key yet; create one: %s", command)
