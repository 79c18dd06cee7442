"""An address that is told things: it answers as a test says, and keeps what came."""

from __future__ import annotations

import json
import ssl
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any


@dataclass(frozen=True)
class Received:
    """A message that came, and what it was answered."""

    headers: dict[str, str]
    body: bytes
    status: int

    @property
    def told(self) -> Any:
        return json.loads(self.body)


@dataclass
class Inbox:
    """A receiver that can be stopped and started again on the same port.

    answers : statuses of the next answers; then it is 200
    seconds : that an answer takes; tls : context of a receiver with https
    """

    answers: list[int] = field(default_factory=list)
    seconds: float = 0.0
    headers: dict[str, str] = field(default_factory=dict)
    received: list[Received] = field(default_factory=list)
    port: int = 0
    tls: ssl.SSLContext | None = None
    _server: ThreadingHTTPServer | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook?of=test"

    def __enter__(self) -> Inbox:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: object, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        inbox = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                length = int(self.headers["Content-Length"])
                body = self.rfile.read(length)
                if len(body) < length:
                    self.close_connection = True  # whoever sent it was killed meanwhile
                    return
                time.sleep(inbox.seconds)
                status = inbox.answers.pop(0) if inbox.answers else 200
                given = {name.lower(): value for name, value in self.headers.items()}
                inbox.received.append(Received(given, body, status))
                try:
                    self.send_response(status)
                    for name, value in inbox.headers.items():
                        self.send_header(name, value)
                    self.send_header("Content-Length", "2")
                    self.end_headers()
                    self.wfile.write(b"ok")
                except OSError:
                    self.close_connection = True  # whoever sent it has not waited

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        if self.tls is not None:
            self._server.socket = self.tls.wrap_socket(self._server.socket, server_side=True)
        self._server.daemon_threads = True
        self._server.handle_error = lambda *_: None  # type: ignore[method-assign]
        self.port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    @property
    def taken(self) -> list[Any]:
        """Return what was answered with 200, in order."""
        return [one.told for one in self.received if one.status == 200]

    def waits_for(self, count: int, seconds: float = 120.0) -> list[Any]:
        """Return what was taken once it is so many."""
        eventually(lambda: len(self.taken) >= count, seconds)
        return self.taken


def eventually(holds: Callable[[], bool], seconds: float = 120.0) -> None:
    """Wait until something holds."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it did not come about in time"
        time.sleep(0.02)
