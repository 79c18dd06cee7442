"""The receiver of a webhook: posts over HTTP/1.1 to an address outside.

One deadline covers the complete post, and one limit covers all bytes that are read of its answer.
The name of the receiver is resolved once for each connection, and the connection goes to a checked
address. The certificate must be valid for the name, and the header Host contains it. Redirects are
not followed, proxies and cookies are not used, and addresses that are not public are rejected
unless the settings allow them.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from typing import Any

import httpcore
import httpx

from equipoise.pools.public_addresses import is_public

#: Maximum bytes of the head of an answer with the interim answers before it, and of a body that is
#: read to reuse the connection.
_HEAD, _BODY = 16_384, 65_536

#: The only header of an answer that is used.
_PAUSE = "retry-after"


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of a post.

    status : of the answer, None if there was none; failure : why it did not arrive
    after : seconds until the next attempt, if the receiver sent Retry-After
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
    """The address is refused, or the answer is too long."""


#: Errors of a post. The last two come from an address that no host can have.
_FAILURES = (
    _RefusedError,
    OSError,
    httpx.HTTPError,
    httpcore.NetworkError,
    httpcore.ProtocolError,
    httpx.InvalidURL,
    UnicodeError,
)


class Receiver:
    """An address, and the connection to it if it is still open.

    seconds : time limit of one post
    private : whether addresses that are not public are allowed
    """

    def __init__(self, url: str, seconds: float, private: bool) -> None:
        self._url, self._seconds = url, seconds
        self._network = _CheckedNetwork(private)
        self._client = httpx.AsyncClient(
            transport=_Transport(self._network),
            headers={"User-Agent": _agent(), "Content-Type": "application/json"},
            # A post has one time limit for everything.
            timeout=None,
            follow_redirects=False,
            trust_env=False,
        )

    async def post(self, headers: Mapping[str, str], body: bytes) -> Outcome:
        """Post JSON and return the result. Nothing is raised."""
        started = time.monotonic()
        deadline = asyncio.get_running_loop().time() + self._seconds
        status, after, failure = None, None, None
        try:
            async with asyncio.timeout_at(deadline):
                response = await self._answered(headers, body)
            status, after = response.status_code, _seconds_of(response.headers.get(_PAUSE, ""))
            if not response.is_success:
                failure = f"the answer was {status}"
            await self._finish(response, deadline)
        except TimeoutError:
            failure = f"no answer within {self._seconds:g} s"
        except _FAILURES as error:
            failure = (str(error) or type(error).__name__)[:200]
        return Outcome(status, failure, time.monotonic() - started, after)

    async def close(self) -> None:
        """Close the connection."""
        await self._client.aclose()

    async def _answered(self, headers: Mapping[str, str], body: bytes) -> httpx.Response:
        """Return the answer, its body unread. The open connection may have been closed."""
        connected = self._network.connections
        try:
            return await self._sent(headers, body)
        except (httpcore.NetworkError, httpcore.RemoteProtocolError):
            if not connected or self._network.connections > connected:
                raise  # It was a new connection.
        return await self._sent(headers, body)

    async def _sent(self, headers: Mapping[str, str], body: bytes) -> httpx.Response:
        self._network.left = _HEAD
        request = self._client.build_request("POST", self._url, content=body, headers=headers)
        return await self._client.send(request, stream=True)

    async def _finish(self, response: httpx.Response, deadline: float) -> None:
        """Read a short body, so that the connection can be used again, or close the connection."""
        self._network.left = _BODY
        # The status has decided already.
        with suppress(TimeoutError, *_FAILURES):
            async with asyncio.timeout_at(deadline):
                async for _ in response.aiter_raw():
                    pass
        await response.aclose()


class _Transport(httpx.AsyncBaseTransport):
    """Sends requests through one connection of a network.

    Of the headers of an answer only Retry-After is passed on: the client would keep cookies.
    """

    def __init__(self, network: _CheckedNetwork) -> None:
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=_tls(), max_connections=1, network_backend=network
        )

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Return the answer to a request; its body is still to be read."""
        url, stream = request.url, request.stream
        assert isinstance(stream, httpx.AsyncByteStream)
        answer = await self._pool.handle_async_request(
            httpcore.Request(
                request.method,
                httpcore.URL(
                    scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
                ),
                headers=request.headers.raw,
                content=stream,
            )
        )
        wanted = _PAUSE.encode()
        headers = [(name, value) for name, value in answer.headers if name.lower() == wanted]
        return httpx.Response(answer.status, headers=headers, stream=_Body(answer))

    async def aclose(self) -> None:
        """Close the connection."""
        await self._pool.aclose()


class _Body(httpx.AsyncByteStream):
    """The body of an answer. A body that is closed before its end ends the connection."""

    def __init__(self, answer: httpcore.Response) -> None:
        self._answer = answer

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._answer.aiter_stream():
            yield piece

    async def aclose(self) -> None:
        await self._answer.aclose()


class _CheckedNetwork(httpcore.AsyncNetworkBackend):
    """Connects to addresses that were checked, whatever their name means later.

    private : whether addresses that are not public are allowed
    connections : number of connections made
    left : bytes that may still be read of the answer
    """

    def __init__(self, private: bool) -> None:
        self._private = private
        self._network = httpcore.AnyIOBackend()
        self.connections = 0
        self.left = 0

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Return a connection to one of the addresses of a name. Raises : _RefusedError."""
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        addresses = list(dict.fromkeys(str(one[4][0]) for one in found))
        if not self._private and not all(is_public(address) for address in addresses):
            raise _RefusedError("the address is not public")
        failed: Exception = httpcore.ConnectError("the host name has no address")
        for address in addresses:
            try:
                stream = await self._network.connect_tcp(address, port, timeout)
            except httpcore.ConnectError as error:
                failed = httpcore.ConnectError(_reason(error))
            else:
                self.connections += 1
                return _BoundedStream(stream, self)
        raise failed


class _BoundedStream(httpcore.AsyncNetworkStream):
    """A connection of which no more is read than its network allows."""

    def __init__(self, stream: httpcore.AsyncNetworkStream, network: _CheckedNetwork) -> None:
        self._stream, self._network = stream, network

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Return what has arrived. Raises : _RefusedError if it is too much."""
        if self._network.left <= 0:
            raise _RefusedError("the answer is too long")
        content = await self._stream.read(min(max_bytes, self._network.left), timeout)
        self._network.left -= len(content)
        return content

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send bytes."""
        await self._stream.write(buffer, timeout)
        _acknowledge_at_once(self._stream)

    async def aclose(self) -> None:
        """Close the connection."""
        await self._stream.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Return the connection with TLS, with its bound on what is read after the handshake."""
        secured = await self._stream.start_tls(ssl_context, server_hostname, timeout)
        return _BoundedStream(secured, self._network)

    def get_extra_info(self, info: str) -> Any:
        """Return what the connection knows about itself."""
        return self._stream.get_extra_info(info)


def _reason(error: BaseException) -> str:
    """Return the first cause of an error in words."""
    while error.__cause__ is not None:
        error = error.__cause__
    return str(error)


@cache
def _agent() -> str:
    return f"equipoise/{version('equipoise')}"


@cache
def _tls() -> ssl.SSLContext:
    return ssl.create_default_context()


def _acknowledge_at_once(stream: httpcore.AsyncNetworkStream) -> None:
    """Switch off delayed acknowledgements of TCP, if the system allows that.

    A receiver that sends the head of an answer before the body may wait for one, 40 ms a message.
    """
    name = getattr(socket, "TCP_QUICKACK", None)
    connection = stream.get_extra_info("socket")
    if name is not None and connection is not None:
        with suppress(OSError):
            connection.setsockopt(socket.IPPROTO_TCP, name, 1)


def _seconds_of(text: str) -> float | None:
    """Return the seconds of a Retry-After, None for a date."""
    return float(text) if text.isascii() and text.isdecimal() and len(text) < 8 else None
