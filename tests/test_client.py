"""The client, against a pretended service; tests/service has it against the real one."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args, get_type_hints
from urllib.parse import unquote

import msgspec
import pytest

import equipoise.client
from equipoise.client import AsyncClient, Client, Retries
from equipoise.client.clients import Endpoint, Endpoints, Listing
from equipoise.errors import (
    AccessError,
    ConflictError,
    ConvergenceError,
    EquipoiseError,
    InvalidDataError,
    InvalidParameterError,
    NotFoundError,
    Problem,
    UnavailableError,
)
from equipoise.messages.conversion import error_message
from equipoise.messages.matches import (
    LeaderboardMessage,
    LeaderboardRow,
    MatchRequest,
    ParticipationRequest,
    PostedMessage,
    StreamLine,
    TeamRequest,
)
from trials.calls import EVERYTHING, duel

httpx = pytest.importorskip("httpx")

FAST = Retries(first=0.001, longest=0.002)


class Pretended:
    """A service that gives the answers it was told to give, in turn, and keeps what was asked."""

    def __init__(self, *answers: Any) -> None:
        self.answers: Iterator[Any] = iter(answers)
        self.asked: list[Any] = []

    def __call__(self, request: Any) -> Any:
        self.asked.append(request)
        answer = next(self.answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def client(self, retries: Retries = FAST) -> Client:
        return Client("http://x", "k", retries=retries, transport=httpx.MockTransport(self))


def answer(content: Any, status: int = 200, **headers: str) -> Any:
    """Return an answer in JSON."""
    return httpx.Response(status, content=msgspec.json.encode(content), headers=headers)


POSTED = PostedMessage(2, 0, 2)


def test_key_content_type_and_body_are_sent() -> None:
    service = Pretended(answer(POSTED))
    assert service.client().post_matches("p", [duel(1), duel(2)]) == POSTED
    (request,) = service.asked
    assert request.headers["authorization"] == "Bearer k"
    assert request.headers["content-type"] == "application/json"
    assert [match["match"] for match in json.loads(request.content)] == ["m1", "m2"]


@pytest.mark.parametrize("name", ["a/b", "..", ".", "a é", "?x=1&y#z", "%2F", "a\nb"])
def test_every_id_is_one_segment_of_the_path(name: str) -> None:
    """Slashes, dots and the rest reach the service as they are, and nothing is cut off or added."""
    service = Pretended(answer(None, 404), answer(None, 404))
    client = service.client()
    with pytest.raises(EquipoiseError):
        client.player_history("p", name, limit=3)
    with pytest.raises(EquipoiseError):
        client.leaderboard("p", around=name)
    history, around = (request.url.raw_path.decode() for request in service.asked)
    path, _, query = history.partition("?")
    assert [unquote(part) for part in path.split("/")][3:] == ["p", "players", name, "history"]
    assert path.split("/")[5] not in {".", ".."}
    assert query == "limit=3"
    assert unquote(around.partition("?around=")[2]) == name
    assert "&" not in around


def test_an_empty_id_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="at least one character"):
        Pretended().client().player("p", "")


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (401, "unauthorised", AccessError),
        (403, "forbidden", AccessError),
        (404, "not-found", NotFoundError),
        (409, "conflict", ConflictError),
        (422, "invalid-parameter", InvalidParameterError),
        (429, "too-many-requests", UnavailableError),
        (500, "internal", UnavailableError),
        (503, "unavailable", UnavailableError),
        (418, "teapot", EquipoiseError),
    ],
)
def test_errors_come_back_as_what_they_were(status: int, code: str, kind: type) -> None:
    """The code decides the class; one that the client does not know is kept."""
    told = {"error": {"code": code, "message": "so it is", "problems": []}}
    service = Pretended(*[answer(told, status)] * FAST.attempts)
    with pytest.raises(kind, match="so it is") as raised:
        service.client().pool("p")
    assert type(raised.value) is kind
    assert raised.value.code == code


def test_errors_come_back_with_their_values() -> None:
    problem = Problem("", 2, "weight", "must be positive", "-1")
    sent = InvalidDataError([problem])
    service = Pretended(
        answer(error_message(sent), 422),
        answer(error_message(ConvergenceError("x = cos x", 50, 1e-3)), 422),
    )
    with pytest.raises(InvalidDataError) as raised:
        service.client().post_matches("p", [duel(1)])
    assert raised.value.problems == (problem,)
    assert str(raised.value) == str(sent)
    with pytest.raises(ConvergenceError) as missed:
        service.client().post_match("p", duel(1))
    assert (missed.value.what, missed.value.iterations) == ("x = cos x", 50)


@pytest.mark.parametrize("content", [b"<html>Bad gateway</html>", b"\xff\xfe", b"", b"[1]"])
def test_what_is_no_answer_of_the_service_is_said_so(content: bytes) -> None:
    service = Pretended(httpx.Response(500, content=content), httpx.Response(200, content=content))
    with pytest.raises(UnavailableError, match="500"):
        service.client().pool("p")
    with pytest.raises(UnavailableError, match="does not understand"):
        service.client().pool("p")


REFUSED, BROKEN = httpx.ConnectError("refused"), httpx.ReadError("broken")


@pytest.mark.parametrize(
    ("request_", "answers"),
    [
        # Posting is repeated: the same match twice is one match.
        (
            lambda client: client.post_matches("p", [duel(1)]),
            [
                REFUSED,
                BROKEN,
                answer(None, 502),
                answer(None, 503),
                answer(None, 429),
                answer({}, 404),
            ],
        ),
        (lambda client: client.pool("p"), [REFUSED] * FAST.attempts),
        # An amendment may have been recorded although no answer came.
        *(
            (lambda client: client.void_match("p", "m"), [broken])
            for broken in (BROKEN, answer(None, 502), answer(None, 503))
        ),
        # The service has never seen these.
        (
            lambda client: client.void_match("p", "m"),
            [REFUSED, answer(None, 429), answer({}, 404)],
        ),
        (lambda client: client.void_match("p", "m", preview=True), [BROKEN, answer({}, 404)]),
    ],
)
def test_requests_are_repeated_unless_that_does_them_twice(
    request_: Callable[[Client], object], answers: list[Any]
) -> None:
    service = Pretended(*answers)
    with pytest.raises(EquipoiseError):
        request_(service.client())
    assert len(service.asked) == len(answers)
    assert len({request.content for request in service.asked}) == 1


def test_a_request_for_a_secret_is_repeated_with_its_token() -> None:
    """So that the service recognises it; the next request has another one."""
    for ask in (
        lambda client: client.create_key("k", "reader"),
        lambda client: client.rotate_key(1),
    ):
        service = Pretended(httpx.ReadError("broken"), answer(None, 504), answer({}, 409))
        client = service.client()
        with pytest.raises(UnavailableError, match="409"):
            ask(client)
        first, second, third = (json.loads(one.content)["token"] for one in service.asked)
        assert first == second == third
        assert len(first) >= 20
        service.answers = iter([answer({}, 409)])
        with pytest.raises(UnavailableError, match="409"):
            ask(client)
        assert json.loads(service.asked[-1].content)["token"] != first


def test_pauses_grow_and_respect_what_is_asked() -> None:
    """Half to all of 0.1, 0.2, 0.4 s, at most 5 s; Retry-After wins, but not without end."""
    from equipoise.client.calls import Reply, pool

    retries, call = Retries(attempts=20), pool("p")
    for attempt in range(1, 20):
        usual = min(5.0, 0.1 * 2 ** (attempt - 1))
        pause = retries.pause(call, attempt, Reply(503, {}, b""))
        assert pause is not None
        assert usual / 2 <= pause <= usual
    assert retries.pause(call, 20, Reply(503, {}, b"")) is None
    assert retries.pause(call, 1, Reply(429, {"retry-after": "7"}, b"")) == 7
    assert retries.pause(call, 1, Reply(429, {"retry-after": "3600"}, b"")) is None
    past = {"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}
    assert retries.pause(call, 1, Reply(503, past, b"")) is not None
    assert retries.pause(call, 1, Reply(503, {"retry-after": "soon"}, b"")) is not None
    assert retries.pause(call, 1, Reply(200, {}, b"")) is None
    assert retries.pause(call, 1, Reply(500, {}, b"")) is None


def acknowledged(request: Any) -> Any:
    """Answer a stream: one line for every two matches, and one for the rest."""
    count = len(request.content.splitlines())
    ends = [*range(2, count + 1, 2), *([count] if count % 2 else [])]
    lines = [msgspec.json.encode(StreamLine(end, 2, 0, end, ["share"])) for end in ends]
    return httpx.Response(200, content=b"\n".join(lines) + b"\n")


def test_a_stream_is_sent_in_batches_and_counted_over_all() -> None:
    """The next batch is taken from the iterator when the one before is answered."""
    taken, asked = [], []

    def source() -> Iterator[MatchRequest]:
        for number in range(8):
            taken.append(number)
            yield duel(number)

    def service(request: Any) -> Any:
        assert request.headers["content-type"] == "application/x-ndjson"
        asked.append((len(taken), [json.loads(line) for line in request.content.splitlines()]))
        return acknowledged(request)

    client = Client("http://x", transport=httpx.MockTransport(service))
    lines = client.stream_matches("p", source(), batch=3)
    assert [line.through for line in lines] == [2, 3, 5, 6, 8]
    assert all(line.unused == ["share"] for line in lines)
    assert [count for count, _ in asked] == [3, 6, 8]
    assert [match["match"] for _, part in asked for match in part] == [f"m{i}" for i in range(8)]


@pytest.mark.parametrize("recorded", [True, False])
def test_a_stream_ends_with_the_error_and_its_line_number(recorded: bool) -> None:
    """What was recorded before is told first; the bad line is counted from the first batch.

    Where nothing of a batch is recorded, the service answers with the error alone.
    """
    bad = error_message(InvalidDataError([Problem("", 3, "rank", "must be a number", "x")]))
    lines = [StreamLine(2, 2, 0, 7), bad] if recorded else [bad]
    service = Pretended(
        answer(StreamLine(3, 3, 0, 5)),
        httpx.Response(
            200 if recorded else 422, content=b"\n".join(map(msgspec.json.encode, lines))
        ),
    )
    stream = service.client().stream_matches("p", map(duel, range(9)), batch=3)
    assert next(stream).through == 3
    if recorded:
        assert next(stream).through == 5
    with pytest.raises(InvalidDataError) as raised:
        next(stream)
    assert raised.value.problems[0].line == 6


def board(names: str, following: str | None) -> LeaderboardMessage:
    """Return a page of the leaderboard with a player for every letter."""
    rows = [LeaderboardRow(1, name, 1.0, 1.0, None, 1, None, False) for name in names]
    return LeaderboardMessage("p", 1, 9, rows, None, following)


def test_all_pages_are_read_as_they_are_asked_for() -> None:
    service = Pretended(
        answer(board("ab", "x/1")), answer(board("", "y")), answer(board("c", None))
    )
    rows = service.client().each_on_leaderboard("p", limit=2, around="a")
    assert next(rows).player == "a"
    assert len(service.asked) == 1
    assert [row.player for row in rows] == ["b", "c"]
    assert [request.url.query for request in service.asked] == [
        b"limit=2&around=a",
        b"cursor=x%2F1&limit=2",
        b"cursor=y&limit=2",
    ]


def test_an_export_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    """A connection that breaks half way leaves nothing, and is tried again."""

    def half() -> Iterator[bytes]:
        yield b"half"
        raise httpx.ReadError("broken")

    path = tmp_path / "log.csv"
    path.write_bytes(b"old")
    service = Pretended(httpx.Response(200, content=half()))
    with pytest.raises(UnavailableError, match="broken"):
        service.client(Retries(attempts=1)).export("p", path, "log", "csv")
    assert path.read_bytes() == b"old"
    service = Pretended(
        httpx.Response(200, content=half()), httpx.Response(200, content=b"whole\n")
    )
    service.client().export("p", path, "log", "csv")
    assert path.read_bytes() == b"whole\n"
    with pytest.raises(UnavailableError, match="status 500: broken"):
        Pretended(httpx.Response(500, content=b"broken")).client().export("p", path, "log", "csv")
    assert path.read_bytes() == b"whole\n"
    assert [file.name for file in tmp_path.iterdir()] == ["log.csv"]
    assert service.asked[0].url.raw_path == b"/v1/pools/p/export?what=log&format=csv"


@pytest.mark.parametrize(("ask", "expected"), EVERYTHING, ids=[line for _, line in EVERYTHING])
def test_both_clients_ask_the_same(ask: Callable[[Any], Any], expected: str) -> None:
    refused = {"error": {"code": "not-found", "message": "nothing here", "problems": []}}
    service = Pretended(answer(refused, 404), answer(refused, 404))
    with pytest.raises(NotFoundError):
        ask(service.client())

    async def later() -> None:
        transport = httpx.MockTransport(service)
        async with AsyncClient("http://x", "k", transport=transport) as client:
            with pytest.raises(NotFoundError):
                await ask(client)

    asyncio.run(later())
    first, second = service.asked
    assert f"{first.method} {first.url.raw_path.decode()}" == expected
    assert (first.method, first.url, first.content) == (second.method, second.url, second.content)


def test_the_async_client_streams_pages_exports_and_repeats(tmp_path: Path) -> None:
    service = Pretended(
        httpx.ConnectError("refused"),
        answer(StreamLine(2, 2, 0, 2)),
        answer(StreamLine(1, 1, 0, 3)),
        answer(board("ab", "x")),
        answer(board("c", None)),
        httpx.Response(200, content=b"seq\n"),
        httpx.Response(500, content=b"broken"),
    )

    async def talk() -> None:
        transport = httpx.MockTransport(service)
        async with AsyncClient("http://x", retries=FAST, transport=transport) as client:
            stream = client.stream_matches("p", map(duel, range(3)), batch=2)
            assert [line.through async for line in stream] == [2, 3]
            rows = client.each_on_leaderboard("p")
            assert [row.player async for row in rows] == ["a", "b", "c"]
            await client.export("p", tmp_path / "log.csv", "log", "csv")
            with pytest.raises(UnavailableError, match="status 500: broken"):
                await client.export("p", tmp_path / "log.csv", "log", "csv")

    asyncio.run(talk())
    assert (tmp_path / "log.csv").read_bytes() == b"seq\n"


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://x", "", "http://[::1"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(InvalidParameterError, match="url must be"):
        Client(url)


@pytest.mark.parametrize("key", ["", "a b", "a\n", "é", "a\r\nX-Header: 1"])
def test_a_key_that_can_be_none_is_refused_and_not_shown(key: str) -> None:
    with pytest.raises(InvalidParameterError, match="key must be") as raised:
        Client("http://x", key)
    assert not key or key not in str(raised.value)


def test_a_service_below_a_path_is_reached_there() -> None:
    service = Pretended(answer(POSTED))
    transport = httpx.MockTransport(service)
    with Client("http://x/ratings/", transport=transport) as client:
        client.post_matches("p", [])
    assert service.asked[0].url.raw_path == b"/ratings/v1/pools/p/matches"


def test_a_match_is_sent_without_what_is_not_said() -> None:
    """Defaults stay away, so that a later service may have others."""
    service = Pretended(answer({}, 404))
    players = [ParticipationRequest("a", statistics={"kills": 3.0}), "b"]
    with pytest.raises(EquipoiseError):
        service.client().post_match("p", MatchRequest(1, [TeamRequest(players, 0)]))
    assert json.loads(service.asked[0].content) == {
        "match": 1,
        "teams": [
            {"players": [{"player": "a", "statistics": {"kills": 3.0}}, "b"], "rank": 0},
        ],
    }


def test_every_type_that_calls_take_has_a_public_name() -> None:
    """Also the types of their fields: a match is made of teams and participations."""

    def inside(hint: Any) -> set[type]:
        if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
            fields = msgspec.structs.fields(hint)
            return {hint}.union(*(inside(field.type) for field in fields))
        return set().union(*map(inside, get_args(hint)))

    described = [
        one._describe for one in vars(Endpoints).values() if isinstance(one, Endpoint | Listing)
    ]
    hints = [get_type_hints(describe) for describe in described]
    needed = set().union(
        *(inside(one) for found in hints for name, one in found.items() if name != "return")
    )
    assert {"MatchRequest", "TeamRequest", "PoolRequest"} <= {one.__name__ for one in needed}
    assert all(getattr(equipoise.client, one.__name__) is one for one in needed)
    assert {one.__name__ for one in needed} <= set(equipoise.client.__all__)
