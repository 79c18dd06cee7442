"""Serving the application: limits of connections, signals, the end.

uvicorn has none of these limits: the bytes of a head are kept until it is complete, a client may
take for ever to send one or to read an answer, and connections are accepted until no file
descriptor is left. `LimitedProtocol` is uvicorn's protocol with limits:

- A head has at most `head_bytes`, one of its headers `header_bytes`, and there are at most 100. The
  same bounds hold for what else a parser keeps: the trailers of a body in chunks.
- A connection on which no request is being answered is idle. From its first byte on, a head must
  be complete within `head_seconds`; a new connection has as long for its first head.
- A client that has read nothing of its answer for `idle_seconds` is disconnected.
- Beyond the maximum number of connections, the one that has been idle for the longest time makes
  room. If none is idle, one makes room that waits for its client: to send more of a body, or to
  read. If there is none either, the new one gets 503.
- Requests that arrive before the answer to an earlier one are kept, at most 100.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shlex
import signal
import socket
import sys
import threading
import time
from http import HTTPStatus
from importlib.util import find_spec
from types import FrameType
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from equipoise.errors import EquipoiseError, InvalidParameterError, require
from equipoise.store.connection import checked_url, open_store
from equipoise.store.keys import list_keys
from equipoise.web.application import served_application
from equipoise.web.http.errors import (
    HeadTooLargeError,
    MalformedError,
    OverloadedError,
    SlowRequestError,
    error_body,
    http_status,
)
from equipoise.web.monitoring import check_installed, configure_logs
from equipoise.web.settings import ServiceSettings

log = logging.getLogger(__name__)

#: Headers of a request. Each costs 200 bytes beside its text, so their size alone is no bound.
MOST_HEADERS = 100
#: Requests of a connection that wait for the answer to an earlier one.
MOST_WAITING = 100
#: Bytes of a header beside its name and value: colon, space and the end of the line.
_SEPARATORS = 4
#: Connections of a process if the descriptors allow as many.
_MOST_CONNECTIONS = 4_096
#: Descriptors for the database, the log and connections that are accepted but not yet counted.
_RESERVED = 256
#: Seconds for which a refused client may read why, and between two lines of the log about this.
_LINGER, _LOG_EVERY = 1.0, 60.0


def most_connections(settings: ServiceSettings, descriptors: int) -> int:
    """Return how many connections a process may have that may have this many descriptors."""
    # Half of a small number of descriptors is more than what the reserve leaves.
    possible = max(descriptors - _RESERVED, descriptors // 2, 1)
    wanted = settings.connections or min(possible, _MOST_CONNECTIONS)
    return min(wanted, possible)


class ServerConfig(uvicorn.Config):
    """The configuration of uvicorn, with the bounds and the idle connections of this process.

    most : connections that it may have
    idle : connections on which no request is being answered; the longest idle comes first
    waiting : those that wait for their client during a request; the longest waiting comes first
    """

    def __init__(self, app: Any, settings: ServiceSettings, most: int, **options: Any) -> None:
        super().__init__(app, http=LimitedProtocol, ws="none", log_config=None, **options)
        self.settings, self.most = settings, most
        self.idle: dict[LimitedProtocol, None] = {}
        self.waiting: dict[LimitedProtocol, None] = {}
        self.logged = -_LOG_EVERY


class LimitedProtocol(HttpToolsProtocol):
    """The protocol of uvicorn with limits; `cycle` is the last request with a complete head."""

    config: ServerConfig

    def __init__(self, config: ServerConfig, *args: Any, **options: Any) -> None:
        super().__init__(config, *args, **options)
        self._limits = config.settings
        self._refused = False
        self._head_timer: asyncio.TimerHandle | None = None
        self._sending_timer: asyncio.TimerHandle | None = None
        self._unsent = 0
        # Bytes that arrived since the parser last passed on a head or a piece of a body: it may
        # still keep them.
        self._kept = 0
        self.headers = []

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Count the connection, and close another one if there are too many."""
        super().connection_made(transport)
        if len(self.connections) > self.config.most and not self._make_room():
            self._refused = True
            transport.write(_response(OverloadedError("too many connections; try again later")))
            transport.close()
            return
        self.config.idle[self] = None
        self._start_head_timer()

    def _make_room(self) -> bool:
        """Close another connection that waits for its client. Return whether there is one."""
        oldest = next(iter(self.config.idle), None) or next(iter(self.config.waiting), None)
        if (now := time.monotonic()) - self.config.logged > _LOG_EVERY:
            self.config.logged = now
            log.warning(
                "there are %d connections, the maximum: %s",
                self.config.most,
                "new ones are refused" if oldest is None else "idle ones are closed",
            )
        if oldest is None:
            return False
        oldest.make_room()
        return True

    def make_room(self) -> None:
        """Close the connection, which waits for its client."""
        self._forget()
        # It no longer counts, although it closes only after the current step of the event loop.
        self.connections.discard(self)
        if self._answering or self.transport.get_write_buffer_size():
            self.transport.abort()
        else:
            self.transport.close()

    def _forget(self) -> None:
        self.config.idle.pop(self, None)
        self.config.waiting.pop(self, None)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._forget()
        self._stop_head_timer()
        self._stop_sending_timer()
        super().connection_lost(exc)

    @property
    def _answering(self) -> bool:
        cycle: Any = self.cycle  # None before the first request
        return cycle is not None and not cycle.response_complete

    def data_received(self, data: bytes) -> None:
        """Parse data, in pieces for which the bounds hold."""
        most = self._limits.head_bytes
        if len(data) <= most:
            self._receive(data)
        else:
            for start in range(0, len(data), most):
                self._receive(data[start : start + most])

    def _receive(self, data: bytes) -> None:
        if self._refused or self.transport.is_closing():
            return
        self._kept += len(data)
        super().data_received(data)
        # The headers of an incomplete head, or trailers.
        too_many = self._kept > self._limits.head_bytes or len(self.headers) > MOST_HEADERS
        if too_many and not self._refused:
            self._refuse(_too_large(self._limits))
        if len(self.pipeline) > MOST_WAITING:
            self.transport.abort()
        if self._answering:
            if self._head_timer is not None:
                self._stop_head_timer()
            self._forget()
            if self.cycle.more_body:
                self.config.waiting[self] = None
        elif self._head_timer is None and not self._refused:
            self._start_head_timer()

    def on_headers_complete(self) -> None:
        """Pass a request on. Raises : HeadTooLargeError, which the parser wraps."""
        self._kept = 0
        check_head(self.headers, len(self.url), self._limits)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Pass a piece of the body on."""
        self._kept = 0
        super().on_body(body)

    def on_response_complete(self) -> None:
        """Wait for the next request, and for the client to read the answer."""
        super().on_response_complete()
        if not self._answering:
            self.config.waiting.pop(self, None)
            self.config.idle[self] = None
        if self.transport.get_write_buffer_size() and self._sending_timer is None:
            self._watch_sending()

    def _start_head_timer(self) -> None:
        seconds = self._limits.head_seconds
        self._head_timer = self.loop.call_later(seconds, self._head_is_late)

    def _stop_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _head_is_late(self) -> None:
        seconds = self._limits.head_seconds
        self._refuse(SlowRequestError(f"the head of a request must arrive within {seconds:g} s"))

    def pause_writing(self) -> None:
        """Give the client time to read what is waiting for it."""
        super().pause_writing()
        if self._answering:
            self.config.waiting[self] = None
        self._stop_sending_timer()
        self._watch_sending()

    def resume_writing(self) -> None:
        """Continue to send."""
        self.config.waiting.pop(self, None)
        self._stop_sending_timer()
        super().resume_writing()

    def _watch_sending(self) -> None:
        self._unsent = self.transport.get_write_buffer_size()
        self._sending_timer = self.loop.call_later(self._limits.idle_seconds, self._check_sending)

    def _stop_sending_timer(self) -> None:
        if self._sending_timer is not None:
            self._sending_timer.cancel()
            self._sending_timer = None

    def _check_sending(self) -> None:
        """Disconnect a client that has read nothing since the last look at it."""
        self._sending_timer = None
        unsent = self.transport.get_write_buffer_size()
        if unsent >= self._unsent:
            self.transport.abort()
        elif unsent:
            self._watch_sending()

    def send_400_response(self, msg: str) -> None:
        """Answer a request that could not be parsed, or that has too large a head."""
        # uvicorn calls this while it handles the error of the parser.
        failure = sys.exc_info()[1]
        if failure is not None and isinstance(failure.__context__, HeadTooLargeError):
            self._refuse(_too_large(self._limits))
        else:
            self._refuse(MalformedError("this is not a valid HTTP request"))

    def _refuse(self, error: EquipoiseError) -> None:
        """Answer with an error, and close. What the client still sends is dropped."""
        self._refused = True
        self._stop_head_timer()
        if self.transport.is_closing():
            return
        if self._answering:  # The error would be read as a part of the answer.
            self.transport.abort()
            return
        # A socket that is closed while data arrives discards what it has sent.
        self.transport.write(_response(error))
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.loop.call_later(_LINGER, self.transport.abort)


def check_head(headers: list[tuple[bytes, bytes]], target: int, limits: ServiceSettings) -> None:
    """Check a complete head; target : length of path and query. Raises : HeadTooLargeError."""
    total, most = target, limits.header_bytes
    for name, value in headers:
        size = len(name) + len(value) + _SEPARATORS
        total += size
        if size > most:
            raise _too_large(limits)
    if total > limits.head_bytes or len(headers) > MOST_HEADERS:
        raise _too_large(limits)


def _too_large(limits: ServiceSettings) -> HeadTooLargeError:
    return HeadTooLargeError(
        f"the request line and headers must have at most {limits.head_bytes:,} bytes, one header "
        f"{limits.header_bytes:,}, and there may be {MOST_HEADERS} headers"
    )


def _response(error: EquipoiseError) -> bytes:
    """Return the bytes of the answer with an error."""
    status = HTTPStatus(http_status(error))
    body = error_body(error)
    return (
        f"HTTP/1.1 {status.value} {status.phrase}\r\nconnection: close\r\n"
        f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    ).encode() + body


DEFAULT_HOST, DEFAULT_PORT = "127.0.0.1", 8000
_BACKLOG = 2048

#: Files that a process may have open, if the system allows as many.
_DESCRIPTORS = 8_192
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
        _announce(listening)
        if fresh:
            _say_how_to_get_a_key(settings)
        _run(settings, listening)
    finally:
        listening.close()


def _run(settings: ServiceSettings, listening: socket.socket) -> None:
    most = most_connections(settings, _raise_descriptors())
    config = ServerConfig(served_application(settings), settings, most, **_options(settings))
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
        log.warning(
            "process %s was not finished %g s after the signal to stop, and was ended: see "
            "`grace_seconds`",
            os.getpid(),
            self._grace,
        )
        os._exit(UNFINISHED)

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until a signal."""
        try:
            super().run(sockets)
        finally:
            if self._timer is not None:
                self._timer.cancel()


def _options(settings: ServiceSettings) -> dict[str, Any]:
    return {
        "loop": "uvloop" if find_spec("uvloop") else "asyncio",
        "lifespan": "on",
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


def _announce(listening: socket.socket) -> None:
    """Print or log the address on which the service listens."""
    host, port = listening.getsockname()[:2]
    address = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    _say(f"Equipoise listens on {address} (its API: /docs)", f"listening on {address}")


def _say_how_to_get_a_key(settings: ServiceSettings) -> None:
    """Print or log how the first key of a database is made."""
    url = checked_url(settings.database).render_as_string()
    command = f"equipoise db keys create --name admin --role admin --database {shlex.quote(url)}"
    _say(
        f"There is no key yet. Create one: {command}", f"there is no key yet; create one: {command}"
    )


def _say(shown: str, logged: str) -> None:
    """Write one text to a terminal, or the other one to the log."""
    if sys.stderr.isatty():
        sys.stderr.write(f"{shown}\n")
        sys.stderr.flush()
    else:
        log.info("%s", logged)
