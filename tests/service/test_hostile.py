"""What no honest client sends: it is refused in words, or kept and shown as what it is."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from service.serving import Service

httpx = pytest.importorskip("httpx")

#: Bodies that are no match.
BODIES: dict[str, bytes] = {
    "nothing": b"",
    "white space": b"   \n ",
    "no JSON": b"{",
    "two values": b"{} {}",
    "number": b"1",
    "text": b'"match"',
    "null": b"null",
    "deep array": b"[" * 100_000,
    "deep closed array": b"[" * 50_000 + b"]" * 50_000,
    "deep object": b'{"a":' * 100_000,
    "deep in a field": b'{"match":"m","teams":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "10 MB text": b'{"match":"' + b"a" * 10_000_000 + b'","teams":[]}',
    "9 MB id": b'{"match":"' + b"a" * 9_000_000 + b'","teams":[]}',
    "9 MB unknown field": b'{"x":"' + b"a" * 9_000_000 + b'","match":"m","teams":[]}',
    "many digits": b'{"match":' + b"9" * 100_000 + b',"teams":[]}',
    "NaN": b'{"match":"m","teams":[{"players":["a"],"rank":0}],"weight":NaN}',
    "Infinity": b'{"match":"m","teams":[{"players":["a"],"rank":0}],"weight":Infinity}',
    "1e999": b'{"match":"m","teams":[{"players":["a"],"rank":0}],"weight":1e999}',
    "1e308": b'{"match":"m","teams":[{"players":["a"],"rank":1e308}]}',
    "huge rank": b'{"match":"m","teams":[{"players":["a"],"rank":99999999999999999999}]}',
    "huge time": b'{"match":"m","teams":[{"players":["a"],"rank":0}],"time":9223372036854775807}',
    "endless time": b'{"match":"m","teams":[{"players":["a"],"rank":0}],"time":"'
    + b"9" * 5000
    + b'"}',
    "odd sign": b'{"match":"m","teams":[{"players":["a"],"rank":0}],"time":"+-5"}',
    "odd time": b'{"match":"m","teams":[{"players":["a"],"rank":0}],"time":"0000-99-99T99:99:99Z"}',
    "UTF-16": '{"match":"m","teams":[]}'.encode("utf-16"),
    "Latin-1": '{"match":"é","teams":[]}'.encode("latin-1"),
    "half a character": b'{"match":"\xe2\x82","teams":[]}',
    "overlong NUL": b'{"match":"\xc0\x80","teams":[]}',
    "lone surrogate": b'{"match":"\\ud800","teams":[{"players":["a"],"rank":0}]}',
    "NUL in an id": b'{"match":"a\\u0000b","teams":[{"players":["a"],"rank":0}]}',
    "escape in an id": b'{"match":"a\\u001b[31m","teams":[{"players":["a"],"rank":0}]}',
    "BOM": b'\xef\xbb\xbf{"match":"m","teams":[]}',
    "same key twice": b'{"match":"m","match":"n","teams":[]}',
    "player twice": b'{"match":"m","teams":[{"players":["a","a"],"rank":0}]}',
    "no players": b'{"match":"m","teams":[{"players":[],"rank":0},{"players":["b"],"rank":1}]}',
    "no teams": b'{"match":"m","teams":[]}',
    "negative rank": b'{"match":"m","teams":[{"players":["a"],"rank":-1}]}',
    "zero weight": b'{"match":"m","weight":0,"teams":[{"players":["a"],"rank":0}]}',
    "id of 201": b'{"match":"' + b"a" * 201 + b'","teams":[{"players":["a"],"rank":0}]}',
    "empty id": b'{"match":"","teams":[{"players":["a"],"rank":0},{"players":["b"],"rank":1}]}',
    "binary": bytes(range(256)) * 40,
    "gzip": b"\x1f\x8b\x08\x00" + b"\x00" * 100,
}


@pytest.fixture(scope="module")
def pool(service: Service) -> str:
    """Return a pool for matches of every shape."""
    return service.new_pool(system="team-glicko2")


@pytest.fixture(scope="module")
def raw(service: Service) -> Iterator[Any]:
    """Give a client that sends what it is told."""
    headers = {"Authorization": f"Bearer {service.key}"}
    with httpx.Client(base_url=service.server.url, headers=headers, timeout=60) as client:
        yield client


def refused_well(response: Any, sent: object) -> None:
    """Check that an answer refuses in the one shape of errors, and in few words."""
    assert 400 <= response.status_code < 500, (sent, response.text[:500])
    error = response.json()["error"]
    assert set(error) == {"code", "message", "problems"}, sent
    assert len(response.content) < 100_000, sent


def test_a_body_that_is_no_match_is_refused(raw: Any, service: Service, pool: str) -> None:
    """As a match, in an array, or as a line of a stream; and nothing of it is recorded."""
    path = f"/v1/pools/{pool}/matches"
    before = service.admin.pool(pool).last_seq
    as_json = {"Content-Type": "application/json"}
    as_lines = {"Content-Type": "application/x-ndjson"}
    for name, body in BODIES.items():
        refused_well(raw.post(path, content=body, headers=as_json), name)
        if body.strip():  # else it is an array of no matches, or a stream of none
            refused_well(raw.post(path, content=b"[" + body + b"]", headers=as_json), name)
            refused_well(raw.post(path, content=body + b"\n", headers=as_lines), name)
        assert service.admin.pool(pool).last_seq == before, name


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=pytest.mark.nightly) if path != "predict" else path
        for path in ("predict", "balance", "matches/m/void", "players/a/disqualify")
    ],
)
def test_other_bodies_are_refused_too(raw: Any, pool: str, path: str) -> None:
    for name, body in BODIES.items():
        if body.strip():
            refused_well(raw.post(f"/v1/pools/{pool}/{path}", content=body), name)


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/xml"},
        {"Content-Type": "multipart/form-data"},
        {"Content-Encoding": "gzip"},
        {"Content-Type": "application/json; charset=utf-16"},
        {"Authorization": "Basic YTpi"},
        {"Authorization": "Bearer \xff"},
        {"Authorization": "Bearer " + "a" * 50_000},
        {"Range": "bytes=0-1"},
        {"Host": "'\"><script>"},
        {"X-Request-Id": "a" * 10_000},
        {"X-Request-Id": "<script>"},
    ],
    ids=lambda headers: next(iter(headers.items()))[0] + next(iter(headers.values()))[:20],
)
def test_odd_headers_do_no_harm(raw: Any, pool: str, headers: dict[str, str]) -> None:
    encoded = [(name, value.encode("latin-1")) for name, value in headers.items()]
    match = {"match": "header", "teams": [{"players": ["a"], "rank": -1}]}
    try:
        response = raw.post(
            f"/v1/pools/{pool}/matches", content=json.dumps(match).encode(), headers=encoded
        )
    except httpx.TransportError:
        return  # the connection was closed: as good an answer to what is no HTTP
    assert 400 <= response.status_code < 500, response.text[:500]


@pytest.mark.parametrize(
    "sent",
    [
        b"\x00\x01\x02\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET  HTTP/1.1\r\n\r\n",
        b"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        b"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999999\r\n\r\n{",
        b"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n{}",
        b"POST {path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n{}\r\n",
        b"POST {path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: x\r\nContent-Length: 2\r\n\r\n{}",
        b"GET {path} HTTP/1.1\r\nHost: x\r\n" + b"A: b\r\n" * 20_000 + b"\r\n",
        b"GET /" + b"a" * 200_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
    ],
    ids=range(10),
)
def test_what_is_no_http_is_refused_or_cut_off(service: Service, pool: str, sent: bytes) -> None:
    path = f"/v1/pools/{pool}/matches".encode()
    with socket.create_connection(("127.0.0.1", service.server.port), timeout=10) as connection:
        with suppress(ConnectionError):
            connection.sendall(sent.replace(b"{path}", path))
            connection.shutdown(socket.SHUT_WR)
        with suppress(ConnectionError):
            answer = connection.recv(65536)
            assert answer == b"" or answer.startswith(b"HTTP/1.1 4"), answer[:300]


def test_the_service_is_still_there(service: Service) -> None:
    assert service.admin.ready()
