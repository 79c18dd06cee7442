"""The receiver of a webhook: posts over HTTP/1.1 to an address outside.

One deadline covers a complete post. Redirects are not followed, and addresses that are not public
are refused unless the settings allow them.
"""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from urllib.parse import urlsplit

from equipoise.pools.webhooks import is_public

#: Maximum bytes of the head of an answer, and of a body that is read to reuse the connection.
_HEAD, _BODY = 16_384, 65_536

_STATUS = re.compile(rb"HTTP/1\.([01]) (\d{3})(?: |\r)")

#: The status of an answer that has no body.
_NO_CONTENT = 204

#: Maximum number of interim answers (1xx) before the final one.
_INTERIM = 5


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of a post.

    status : of the answer, None if there was none; failure : why it did not arrive
    after : seconds until the next attempt, if the receiver asked for a pause
    """

    status: int | None
    failure: str | None
    seconds: float
    after: float | None = None

    @property
    def arrived(self) -> bool:
        """Return whether the receiver accepted the post."""
        return self.failure is None


class _RefusedError(Exception):
    """The address is refused, or the answer is not HTTP."""


#: Errors of a post; a head that is too long is a LimitOverrunError.
_FAILURES = (_RefusedError, OSError, EOFError, ValueError, asyncio.LimitOverrunError)


class Receiver:
    """An address, and the connection to it if it is still open.

    seconds : time limit of one post
    private : whether addresses that are not public are allowed
    """

    def __init__(self, url: str, seconds: float, private: bool) -> None:
        parts = urlsplit(url)
        self._host = parts.hostname or ""
        self._tls = parts.scheme == "https"
        self._port = parts.port or (443 if self._tls else 80)
        self._target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._named = parts.netloc
        self._seconds, self._private = seconds, private
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def post(self, headers: Mapping[str, str], body: bytes) -> Outcome:
        """Post JSON and return the result. Nothing is raised."""
        started = time.monotonic()
        status, after, failure = None, None, None
        try:
            async with asyncio.timeout(self._seconds):
                status, after = await self._exchanged(headers, body)
            if not 200 <= status < 300:
                failure = f"the answer was {status}"
        except TimeoutError:
            failure = f"no answer within {self._seconds:g} s"
        except _FAILURES as error:
            failure = (str(error) or type(error).__name__)[:200]
        if failure is not None:
            self.close()
        return Outcome(status, failure, time.monotonic() - started, after)

    def close(self) -> None:
        """Close the connection."""
        if self._writer is not None:
            self._writer.transport.abort()
        self._reader = self._writer = None

    async def _exchanged(self, headers: Mapping[str, str], body: bytes) -> tuple[int, float | None]:
        """Return status and Retry-After of the answer. The open connection may have been closed."""
        sent = self._request(headers, body)
        if self._reader is not None and self._writer is not None:
            try:
                return await self._send(self._reader, self._writer, sent)
            except (ConnectionError, EOFError):
                self.close()
        self._reader, self._writer = await self._connected()
        return await self._send(self._reader, self._writer, sent)

    def _request(self, headers: Mapping[str, str], body: bytes) -> bytes:
        lines = {
            "Host": self._named,
            "User-Agent": f"equipoise/{version('equipoise')}",
            "Content-Type": "application/json",
            "Content-Length": str(len(body)),
            **headers,
        }
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        return f"POST {self._target} HTTP/1.1\r\n{head}\r\n".encode("ascii") + body

    async def _send(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, sent: bytes
    ) -> tuple[int, float | None]:
        writer.write(sent)
        await writer.drain()
        _acknowledge_at_once(writer)
        for _ in range(_INTERIM):
            status, again, headers = _read_head(await reader.readuntil(b"\r\n\r\n"))
            if status >= 200:
                break
        else:
            raise _RefusedError("the answer does not end")
        length = "0" if status == _NO_CONTENT else headers.get("content-length", "")
        keeps = again and length.isdecimal() and int(length[:10]) <= _BODY
        if keeps:
            await reader.readexactly(int(length))
        else:
            self.close()
        return status, _seconds_of(headers.get("retry-after", ""))

    async def _connected(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Return a connection to an address that was checked, whatever its name means later."""
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(self._host, self._port, type=socket.SOCK_STREAM)
        addresses = list(dict.fromkeys(str(one[4][0]) for one in found))
        if not self._private and not all(is_public(address) for address in addresses):
            raise _RefusedError("the address is not public")
        failed: OSError = ConnectionError("the host name has no address")
        for address in addresses:
            try:
                return await asyncio.open_connection(
                    address,
                    self._port,
                    limit=_HEAD,
                    ssl=_tls() if self._tls else None,
                    server_hostname=self._host if self._tls else None,
                )
            except OSError as error:
                failed = error
        raise failed


@cache
def _tls() -> ssl.SSLContext:
    return ssl.create_default_context()


def _acknowledge_at_once(writer: asyncio.StreamWriter) -> None:
    """Switch off delayed acknowledgements of TCP, if the system allows that.

    A receiver that sends the head of an answer before the body may wait for one, 40 ms a message.
    """
    name = getattr(socket, "TCP_QUICKACK", None)
    if name is not None:
        with suppress(OSError):
            writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, name, 1)


def _read_head(head: bytes) -> tuple[int, bool, dict[str, str]]:
    """Return status, whether the connection stays open, and headers by name in lower case."""
    found = _STATUS.match(head)
    if found is None:
        raise _RefusedError("the answer is not HTTP/1.1")
    lines = head.decode("latin-1").split("\r\n")[1:]
    pairs = (line.partition(":") for line in lines if ":" in line)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    stays_open = found[1] == b"1" and headers.get("connection", "").lower() != "close"
    # A chunked body is not read, so the connection cannot be reused.
    return int(found[2]), stays_open and "transfer-encoding" not in headers, headers


def _seconds_of(text: str) -> float | None:
    """Return the seconds of a Retry-After, None for a date."""
    return float(text) if text.isascii() and text.isdecimal() and len(text) < 8 else None
