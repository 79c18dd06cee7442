"""Connections: large and slow heads, clients that do not read, and more of them than fit."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import resource
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("uvicorn")
pytest.importorskip("httptools")

import uvicorn

from equipoise.web import serve
from equipoise.web.serve import ServerConfig, most_connections
from equipoise.web.settings import ServiceSettings
from trials.pace import allow, stopwatch
from trials.server import Server, make_key

LIMITS: dict[str, Any] = {
    "head_bytes": 8_192,
    "header_bytes": 4_096,
    "head_seconds": 20.0,
    "idle_seconds": 20.0,
    "connections": 50,
}
BIG = 20_000_000


async def application(scope: Any, receive: Any, send: Any) -> None:
    """Answer with the length of the body, or with a large one; `/wait` takes a second."""
    length = 0
    while True:
        message = await receive()
        length += len(message.get("body", b""))
        if not message.get("more_body"):
            break
    if scope["path"] == "/wait":
        await asyncio.sleep(1.0)
    content = b"x" * BIG if scope["path"] == "/big" else str(length).encode()
    headers = [(b"content-length", str(len(content)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": content})


Start = Callable[..., int]


@pytest.fixture
def start() -> Iterator[Start]:
    """Give a function that starts a server with some limits changed, and returns its port."""
    with contextlib.ExitStack() as stack:

        def run(keep_alive: float = 20.0, loop: str = "asyncio", **limits: Any) -> int:
            settings = ServiceSettings(**{**LIMITS, **limits})
            config = ServerConfig(
                application,
                settings,
                settings.connections,
                loop=loop,
                lifespan="off",
                timeout_keep_alive=keep_alive,
            )
            server = uvicorn.Server(config)
            listening = stack.enter_context(socket.socket())
            listening.bind(("127.0.0.1", 0))
            thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
            port: int = listening.getsockname()[1]
            thread.start()

            def end() -> None:
                server.should_exit = server.force_exit = True
                thread.join()

            stack.callback(end)
            while not server.started:
                time.sleep(0.01)
            return port

        yield run


def connect(port: int) -> socket.socket:
    """Return a connection that waits for at most two minutes."""
    return socket.create_connection(("127.0.0.1", port), timeout=120.0)


def everything(connection: socket.socket) -> bytes:
    """Return what arrives until the server closes."""
    received = b""
    with contextlib.suppress(ConnectionResetError):
        while piece := connection.recv(65_536):
            received += piece
    return received


def get(connection: socket.socket) -> None:
    """Make a request after which the connection is kept."""
    connection.sendall(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
    received = b""
    while not received.endswith(b"\r\n\r\n0"):
        piece = connection.recv(1_000)
        assert piece, received
        received += piece


def exchange(port: int, *pieces: bytes) -> bytes:
    """Return the answer to bytes that are sent one after another."""
    with connect(port) as connection:
        with contextlib.suppress(OSError):
            for piece in pieces:
                connection.sendall(piece)
        return everything(connection)


#: That of Python too, for the night: the service takes uvloop where it is.
LOOPS = pytest.mark.parametrize(
    "loop", ["uvloop", pytest.param("asyncio", marks=pytest.mark.nightly)]
)


def head(*headers: str, path: str = "/", method: str = "GET") -> bytes:
    """Return the head of a request after which the server closes."""
    lines = [f"{method} {path} HTTP/1.1", "host: x", "connection: close", *headers]
    return "\r\n".join([*lines, "", ""]).encode()


@pytest.mark.parametrize(
    "sent",
    [
        head("x: " + "v" * 4_096),
        head(*(f"x-{number}: {'v' * 1_000}" for number in range(9))),
        head(*("a: b" for _ in range(100))),
        head(path="/?" + "q" * 8_192),
        head("x: " + "v" * 1_000_000),
        b"GET / HTTP/1.1\r\n" + b"a:\r\n" * 50_000,
        b"GET /" + b"p" * 100_000,
    ],
    ids=[
        "one header",
        "together",
        "number",
        "query",
        "one of a megabyte",
        "unfinished lines",
        "unfinished path",
    ],
)
def test_heads_that_are_too_large_get_431(start: Start, sent: bytes) -> None:
    port = start()
    pieces = [sent[at : at + 1_500] for at in range(0, len(sent), 1_500)]
    for answer in (exchange(port, sent), exchange(port, *pieces)):
        assert answer.startswith(b"HTTP/1.1 431 "), answer[:100]
        error = json.loads(answer.partition(b"\r\n\r\n")[2])["error"]
        assert error["code"] == "headers-too-large"
        assert "8,192 bytes" in error["message"]


def test_heads_up_to_the_limits_are_answered(start: Start) -> None:
    """Bodies do not count, however they arrive; nor do earlier requests of the connection."""
    port = start()
    assert exchange(port, head("x: " + "v" * 4_000)).startswith(b"HTTP/1.1 200")
    assert exchange(port, head(*(f"a{n}: b" for n in range(97)))).startswith(b"HTTP/1.1 200")
    body = b"b" * 3_000_000
    posted = head(f"content-length: {len(body)}", method="POST")
    assert exchange(port, posted + body).endswith(b"\r\n\r\n3000000")
    chunk = b"%x\r\n%s\r\n" % (5_000, b"c" * 5_000)
    chunked = head("transfer-encoding: chunked", method="POST")
    assert exchange(port, chunked, *(100 * [chunk]), b"0\r\n\r\n").endswith(b"\r\n\r\n500000")
    kept = b"GET / HTTP/1.1\r\nhost: x\r\nx: " + b"v" * 3_000 + b"\r\n\r\n"
    assert exchange(port, 5 * kept, head()).count(b"HTTP/1.1 200") == 6


def test_trailers_are_bounded(start: Start) -> None:
    port = start()
    chunked = head("transfer-encoding: chunked", method="POST") + b"1\r\nb\r\n0\r\n"
    for trailers in (b"a: b\r\n" * 100_000, b"a: " + b"v" * 1_000_000):
        assert b" 200 " not in exchange(port, chunked + trailers + b"\r\n\r\n")
        assert b" 200 " not in exchange(port, chunked, trailers, b"\r\n\r\n")


@pytest.mark.slow
@LOOPS
def test_a_head_that_does_not_arrive_ends_the_connection(start: Start, loop: str) -> None:
    """A new connection without a byte, one that sends a byte now and then, and a second request."""
    pytest.importorskip(loop)
    seconds = allow(1.0)
    port = start(head_seconds=seconds, loop=loop)
    with connect(port) as nothing, connect(port) as slow, connect(port) as second:
        get(second)
        second.sendall(b"GET / HTTP/1.1\r\n")
        with contextlib.suppress(OSError):
            for _ in range(100):
                slow.sendall(b"\r\n")
                time.sleep(0.05 * seconds)
        assert everything(nothing).startswith(b"HTTP/1.1 408")
        assert b" 200 " not in everything(slow)
        answer = everything(second)
        assert answer.startswith(b"HTTP/1.1 408 ")
        assert b"request-timeout" in answer


@pytest.mark.slow
def test_a_request_may_take_longer_than_its_head(start: Start) -> None:
    """The time of a head ends with it; a body after the answer does not keep a connection."""
    seconds = allow(0.3)
    port = start(head_seconds=seconds)
    assert exchange(port, head(path="/wait")).startswith(b"HTTP/1.1 200")
    with connect(port) as connection:
        posted = b"POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 10\r\n\r\n"
        connection.sendall(posted)
        for _ in range(10):
            time.sleep(seconds / 3)
            connection.sendall(b"b")
        assert everything(connection).endswith(b"10")


def test_an_idle_connection_is_closed(start: Start) -> None:
    port = start(keep_alive=0.5)
    with connect(port) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
        with stopwatch() as watch:
            assert b"HTTP/1.1 200" in everything(connection)
        assert watch.seconds < 15.0


@pytest.mark.slow
@LOOPS
@pytest.mark.parametrize(
    "further",
    [pytest.param(b"", marks=pytest.mark.nightly), head()],
    ids=["one request", "another one behind it"],
)
def test_disconnects_clients_that_do_not_read(start: Start, loop: str, further: bytes) -> None:
    """Otherwise its answers stay in memory; one that reads slowly gets everything."""
    pytest.importorskip(loop)
    seconds = allow(1.0)
    port = start(idle_seconds=seconds, loop=loop)
    big = b"GET /big HTTP/1.1\r\nhost: x\r\n\r\n"
    with connect(port) as silent, connect(port) as slow:
        silent.sendall(big + further)
        slow.sendall(head(path="/big"))
        received = len(slow.recv(1))
        for _ in range(8):
            time.sleep(0.4 * seconds)
            wanted = 2_000_000
            while wanted > 0 and (piece := slow.recv(min(wanted, 65_536))):
                received += len(piece)
                wanted -= len(piece)
        received += len(everything(slow))
        assert received > BIG
        # It gets what the buffers of the system hold, and then the end.
        assert len(everything(silent)) < BIG


@pytest.mark.slow
def test_an_idle_connection_makes_room(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    """The one that has been idle for the longest time; requests under way are never closed."""
    port = start(connections=4)
    with contextlib.ExitStack() as stack, caplog.at_level(logging.WARNING):
        idle = [stack.enter_context(connect(port)) for _ in range(3)]
        busy = stack.enter_context(connect(port))
        # An answer on each says that the server has accepted all three.
        for one in (*idle, idle[0]):
            get(one)
        busy.sendall(head(path="/wait"))
        for _ in range(2):
            assert exchange(port, head()).startswith(b"HTTP/1.1 200")
            extra = stack.enter_context(connect(port))
            extra.sendall(b"GET")
        assert everything(idle[1]) == b""
        assert everything(busy).startswith(b"HTTP/1.1 200")
        idle[0].sendall(head())
        assert everything(idle[0]).startswith(b"HTTP/1.1 200")
    said = [one.getMessage() for one in caplog.records if one.name == serve.__name__]
    assert said == ["there are 4 connections, the maximum: idle ones are closed"]


@pytest.mark.slow
@LOOPS
def test_a_request_that_waits_for_its_client_makes_room(start: Start, loop: str) -> None:
    """A body that does not arrive and an answer that is not read, but none that is computed."""
    pytest.importorskip(loop)
    port = start(connections=3, loop=loop)
    with connect(port) as body, connect(port) as unread, connect(port) as busy:
        body.sendall(head("content-length: 10", method="POST") + b"b")
        big = b"GET /big HTTP/1.1\r\nhost: x\r\n\r\n"
        unread.sendall(big + big)
        busy.sendall(head(path="/wait"))
        time.sleep(0.3)
        for _ in range(2):
            # The connection of this exchange closes, so each needs the place of another one.
            with connect(port) as more:
                more.sendall(head(path="/wait"))
                time.sleep(0.3)
                assert exchange(port, head()).startswith(b"HTTP/1.1 200")
                assert everything(more).startswith(b"HTTP/1.1 200")
        assert everything(body) == b""
        assert len(everything(unread)) < 2 * BIG
        assert everything(busy).startswith(b"HTTP/1.1 200")


@pytest.mark.slow
def test_bounds_requests_that_arrive_before_an_answer(start: Start) -> None:
    """Each takes memory until its turn."""
    port = start()
    kept = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"
    waiting = b"GET /wait HTTP/1.1\r\nhost: x\r\n\r\n"
    answer = exchange(port, waiting + 50 * kept + head())
    assert answer.count(b"HTTP/1.1 200") == 52
    assert exchange(port, waiting + 1_000 * kept + head()).count(b"HTTP/1.1 200") == 0


@pytest.mark.slow
def test_too_many_requests_at_once_are_refused(start: Start) -> None:
    """With 503, where no connection is idle."""
    port = start(connections=2)
    with connect(port) as one, connect(port) as other:
        for busy in (one, other):
            busy.sendall(head(path="/wait"))
        time.sleep(0.3)
        answer = exchange(port, head())
        assert answer == b"" or answer.startswith(b"HTTP/1.1 503 ")
        for busy in (one, other):
            assert everything(busy).startswith(b"HTTP/1.1 200")


def test_connections_stay_below_the_descriptors() -> None:
    """By default a few thousand; a number in the settings holds, if the descriptors allow it."""
    default = ServiceSettings()
    assert most_connections(default, 1_024) == 768
    assert most_connections(default, 256) == 128
    assert most_connections(default, 1_000_000) == 4_096
    assert most_connections(ServiceSettings(connections=10), 1_024) == 10
    assert most_connections(ServiceSettings(connections=5_000), 1_024) == 768


@pytest.mark.slow
@LOOPS
def test_with_1200_idle_connections_requests_are_answered(tmp_path: Path, loop: str) -> None:
    """At 1,024 descriptors. Before, the next connection waited for ever."""
    pytest.importorskip("uvloop")
    database = f"sqlite:///{tmp_path / 'service.db'}"
    key = make_key(database, "admin")
    server = Server(database, tmp_path / "log")
    # The limit is set in the process, before the service starts.
    program = (
        "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))\n"
        "import equipoise.web.serve as serving\n"
        + ("" if loop == "uvloop" else "serving.find_spec = lambda name: None\n")
        + "from equipoise.__main__ import main; main()"
    )
    command = [sys.executable, "-c", program, "serve", "--database", database]
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 4_096:
        pytest.skip("the test itself needs more descriptors")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 4_096), hard))
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen([*command, "--port", str(server.port)], stderr=log)
    try:
        while not server.is_ready():
            assert process.poll() is None
            time.sleep(0.05)
        with contextlib.ExitStack() as stack, server.client(key) as client:
            client.create_pool("p", {"system": "elo"})
            for number in range(1_200):
                idle = stack.enter_context(connect(server.port))
                if number % 2:
                    idle.sendall(b"GET /healthz HT")
            with stopwatch() as watch:
                for number in range(20):
                    assert client.ready()
                    duel = {"match": str(number), "teams": [{"players": ["a"]}, {"players": ["b"]}]}
                    duel["teams"][0]["rank"], duel["teams"][1]["rank"] = 1, 2
                    client.post_match("p", duel)
            assert watch.seconds < 30.0
    finally:
        process.terminate()
        process.wait(60)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert "there are 768 connections, the maximum" in (tmp_path / "log").read_text()


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    [
        pytest.param(b"x: " + b"v" * 77 + b"\r\n", marks=pytest.mark.nightly),
        pytest.param(b"v", marks=pytest.mark.nightly),
        b"a:\r\n",
    ],
    ids=["lines", "one value", "short lines"],
)
def test_64_megabytes_of_headers_take_no_memory(tmp_path: Path, piece: bytes) -> None:
    """Before: 120 to 1,865 MB, and other requests waited for up to 9 s."""
    database = f"sqlite:///{tmp_path / 'service.db'}"
    server = Server(database, tmp_path / "log")
    server.start()
    try:
        assert server.is_ready()
        before, longest, waited = server.memory(), 0.0, 0.0
        with connect(server.port) as connection, contextlib.suppress(OSError):
            connection.sendall(b"GET /healthz HTTP/1.1\r\nhost: x\r\nx: ")
            for _ in range(64):
                connection.sendall(piece * (1_000_000 // len(piece)))
                started = time.monotonic()
                assert server.is_ready()
                waited = max(waited, time.monotonic() - started)
                longest = max(longest, server.memory())
    finally:
        server.stop()
    assert longest - before < 30.0
    assert waited < allow(2.0)
