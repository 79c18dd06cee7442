"""Streams: cut into pieces of whole lines, recorded in order, acknowledged, refused by line."""

from __future__ import annotations

import asyncio
import json
from itertools import pairwise
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from equipoise.web.http.errors import SlowRequestError, TooLargeError
from equipoise.web.http.streams import Piece, pieces
from equipoise.web.settings import ServiceSettings
from web.conftest import Serve, Served, duel, lines


def cut(chunks: list[bytes], **settings: Any) -> list[Piece]:
    """Return the pieces of a stream that arrives in these chunks."""
    left = list(chunks) or [b""]

    async def receive() -> dict[str, Any]:
        body = left.pop(0)
        return {"type": "http.request", "body": body, "more_body": bool(left)}

    service = SimpleNamespace(settings=ServiceSettings(**settings))
    request = cast("Any", SimpleNamespace(receive=receive, service=service))

    async def go() -> list[Piece]:
        return [piece async for piece in pieces(request)]

    return asyncio.run(go())


# Drawing is slow where many tests share the processor.
@settings(suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.sampled_from([b"", b"a", b"bb", b"ccc"]), max_size=20),
    st.booleans(),
    st.lists(st.integers(0, 60), max_size=5),
    st.integers(1, 5),
    st.integers(4, 20),
)
def test_pieces_are_whole_lines_in_order(
    given_lines: list[bytes], ended: bool, cuts: list[int], most: int, size: int
) -> None:
    content = b"\n".join(given_lines) + (b"\n" if ended and given_lines else b"")
    places = sorted({0, len(content), *(min(one, len(content)) for one in cuts)})
    chunks = [content[low:high] for low, high in pairwise(places)]
    found = cut(chunks, chunk_lines=most, chunk_bytes=size, line_bytes=10)
    assert b"".join(piece.content for piece in found) == content
    number = 1
    for piece in found:
        assert piece.first == number
        assert piece.content.count(b"\n") <= most
        assert len(piece.content) <= size
        number += piece.content.count(b"\n")
        if piece is not found[-1]:
            assert piece.content.endswith(b"\n")
            assert piece.through == number - 1


@pytest.mark.parametrize("chunks", [[b"a\n" + b"b" * 30], [b"a\n", b"b" * 11, b"b" * 11]])
def test_a_line_that_is_too_long_is_refused_by_its_number(chunks: list[bytes]) -> None:
    """Before all of it has come."""
    with pytest.raises(TooLargeError, match="line 2"):
        cut([*chunks, b"never read"], line_bytes=10, chunk_bytes=100)


def test_a_stream_that_brings_nothing_for_long_is_given_up() -> None:
    async def receive() -> dict[str, Any]:
        await asyncio.sleep(10)
        raise AssertionError

    service = SimpleNamespace(settings=ServiceSettings(idle_seconds=0.01))
    request = cast("Any", SimpleNamespace(receive=receive, service=service))

    async def go() -> list[Piece]:
        return [piece async for piece in pieces(request)]

    with pytest.raises(SlowRequestError):
        asyncio.run(go())


def told(answer: Any) -> list[Any]:
    """Return the lines of an answer."""
    return [json.loads(line) for line in answer.text.splitlines()]


def test_each_piece_is_acknowledged(serve: Serve) -> None:
    """By the last line that is recorded; what is known already counts apart."""
    served = serve(chunk_lines=2)
    pool = served.pool()
    matches = [duel(str(i), time=i) for i in range(5)]
    answer = served.stream(pool, lines(*matches))
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/x-ndjson"
    assert told(answer) == [
        {"through": 2, "new": 2, "known": 0, "seq": 2},
        {"through": 4, "new": 2, "known": 0, "seq": 4},
        {"through": 5, "new": 1, "known": 0, "seq": 5},
    ]
    again = told(served.stream(pool, lines(*matches[3:], duel("new", time=9))))
    assert again == [
        {"through": 2, "new": 0, "known": 2, "seq": 5},
        {"through": 3, "new": 1, "known": 0, "seq": 6},
    ]


def test_a_bad_first_piece_is_a_plain_error(served: Served) -> None:
    """All bad lines of it are listed, blank ones are counted, and nothing is recorded."""
    pool = served.pool()
    content = b"\n" + lines(duel("1")) + b"{\n\n" + lines({"match": "2"}, duel("3"))
    answer = served.stream(pool, content)
    assert answer.status_code == 422
    problems = answer.json()["error"]["problems"]
    assert [one["line"] for one in problems] == [3, 5]
    assert problems[0]["rule"] == "must be JSON: it ends too early"
    assert problems[1]["field"] == "teams"
    twice = served.stream(pool, lines(duel("1")) + b"\n\r\n" + lines(duel("2", "x", "x")))
    assert {one["line"] for one in twice.json()["error"]["problems"]} == {4}
    assert served.get(f"/v1/pools/{pool}").json()["last_seq"] == 0


def test_a_later_bad_piece_ends_the_stream(serve: Serve) -> None:
    """What was recorded before it is acknowledged, and nothing behind it is recorded."""
    served = serve(chunk_lines=2)
    pool = served.pool()
    bad = [duel("1"), duel("2"), duel("3"), {"match": "4"}, duel("5"), duel("6")]
    found = told(served.stream(pool, lines(*bad)))
    assert found[0] == {"through": 2, "new": 2, "known": 0, "seq": 2}
    assert found[1]["error"]["problems"][0]["line"] == 4
    assert len(found) == 2
    conflict = [duel("1"), duel("7"), duel("2", "b", "a"), duel("8"), duel("9")]
    found = told(served.stream(pool, lines(*conflict)))
    assert found[0] == {"through": 2, "new": 1, "known": 1, "seq": 3}
    assert found[1]["error"]["code"] == "conflict"
    assert served.get(f"/v1/pools/{pool}").json()["matches"] == 3


def test_an_empty_stream_is_told_where_the_log_stands(served: Served) -> None:
    pool = served.pool()
    served.stream(pool, lines(duel("1")))
    assert told(served.stream(pool, b"\n")) == [{"through": 0, "new": 0, "known": 0, "seq": 1}]


def test_a_fault_in_the_middle_is_told_without_its_trace(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    served = serve(chunk_lines=1)
    pool = served.pool()
    from equipoise.web.http import streams

    decode = streams.decode_piece

    def fail(piece: Piece) -> Any:
        if piece.first == 2:
            raise ZeroDivisionError("secret")
        return decode(piece)

    monkeypatch.setattr(streams, "decode_piece", fail)
    found = told(served.stream(pool, lines(duel("1"), duel("2"))))
    assert found[0]["through"] == 1
    assert found[1]["error"]["code"] == "internal"
    assert "secret" not in str(found)
    assert "secret" in caplog.text


def test_fields_that_the_pool_does_not_use_are_named_piece_by_piece(serve: Serve) -> None:
    """Of a match alone and of an array too; scores make places as ranks do."""
    served = serve(chunk_lines=2)
    pool = served.pool()
    leaver = {"player": "b", "share": 0.5}
    teams = [{"players": ["a"], "score": 1}, {"players": [leaver], "score": 2.5}]
    odd = {"match": "odd", "teams": teams, "time": 3}
    plain = [duel(str(i), time=i) for i in range(3)]
    found = told(served.stream(pool, lines(*plain, odd)))
    assert [line.get("unused") for line in found] == [None, ["share"]]
    array = served.post(f"/v1/pools/{pool}/matches", [odd]).json()
    assert (array["known"], array["unused"]) == (1, ["share"])
    one = served.ask("GET", f"/v1/pools/{pool}/matches/odd").json()
    assert one["unused"] == ["share"]
    assert [team["rank"] for team in one["teams"]] == [2, 1]
    both = {**odd, "match": "both", "teams": [{**team, "rank": 1} for team in teams]}
    refused = served.post(f"/v1/pools/{pool}/matches", both)
    assert refused.status_code == 422
    assert [one["field"] for one in refused.json()["error"]["problems"]] == ["score", "score"]
    assert "share" in served.ask("GET", f"/v1/pools/{pool}").json()["unused"]
