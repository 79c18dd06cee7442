"""Forms taken apart, lobbies and matches made of them, answers that come later."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from urllib.parse import quote, urlencode

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.errors import EquipoiseError, InvalidDataError, InvalidParameterError
from equipoise.messages.matches import MatchRequest, TeamRequest
from equipoise.web.http.errors import TooLargeError
from equipoise.web.page.balancing import Row, lobby_of, request_of
from equipoise.web.page.context import FORM, Form, FormLimits, TaskCache, parsed
from equipoise.web.page.matches import (
    match_of_form,
    match_of_json,
    team_lines,
    with_places,
    with_scores,
)
from equipoise.web.page.tournaments import guessed

ENCODED = "application/x-www-form-urlencoded"


def test_a_form_with_parts_is_taken_apart() -> None:
    """Fields in UTF-8, files as they are, whatever their bytes."""
    content = bytes(range(256)) * 3 + b"\r\n--other\r\n"
    body = (
        b'--x\r\nContent-Disposition: form-data; name="games"\r\n\r\n\xc3\xa9 \r\nb\r\n'
        b'--x\r\nContent-Disposition: form-data; name="file"; filename="a &quot; b.pgn"\r\n'
        b"Content-Type: application/octet-stream\r\n\r\n" + content + b"\r\n--x--\r\n"
    )
    form = parsed("multipart/form-data; boundary=x", body, FormLimits(2_000, 2, files=1))
    assert form.fields == {"games": ["é \r\nb"]}
    assert form.files["file"] == ("a &quot; b.pgn", content)


def test_parts_that_are_none_are_refused() -> None:
    """Without a boundary there are no parts, and every part must have a name (RFC 7578, 4.2)."""
    nameless = b"--x\r\nContent-Disposition: form-data\r\n\r\na\r\n--x--\r\n"
    for kind, body in (
        ("", b"--x\r\n\r\n--x--"),
        ("; boundary=x", b"no parts at all"),
        ("; boundary=x", nameless),
    ):
        with pytest.raises(InvalidDataError, match="cannot be read"):
            parsed(f"multipart/form-data{kind}", body, FORM)
    named = nameless.replace(b"form-data", b'form-data; name="a"')
    assert parsed("multipart/form-data; boundary=x", named, FORM).fields == {"a": ["a"]}
    with pytest.raises(InvalidDataError, match="last boundary is missing"):
        parsed("multipart/form-data; boundary=x", named[:-8], FORM)
    latin = b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n\xff\r\n--x--\r\n'
    with pytest.raises(InvalidDataError, match="cannot be read"):
        parsed("multipart/form-data; boundary=x", latin, FORM)


def test_plain_forms_must_be_utf_8_and_not_endless() -> None:
    found = parsed(ENCODED, b"a=1&a=%C3%A9+x&b=&c&&d=1%3D2=3", FORM).fields
    assert found == {"a": ["1", "é x"], "b": [""], "c": [""], "d": ["1=2=3"]}
    with pytest.raises(InvalidDataError):
        parsed(ENCODED, b"a=%FF", FORM)
    with pytest.raises(TooLargeError, match="at most 5,000 fields"):
        parsed(ENCODED, b"&".join([b"a=1"] * 6_000), FORM)


FIELDS = st.lists(st.tuples(st.text(min_size=1, max_size=9), st.text(max_size=30)), max_size=9)


@given(FIELDS)
def test_what_a_client_writes_is_read_back(pairs: list[tuple[str, str]]) -> None:
    """In both media types, as httpx writes them; multipart names have no quotes and line ends."""
    fields: dict[str, list[str]] = {}
    for name, value in pairs:
        fields.setdefault(name, []).append(value)
    assert parsed(ENCODED, urlencode(pairs).encode(), FORM).fields == fields
    plain = {quote(name): values for name, values in fields.items()}
    parts = [(name, (None, value.encode())) for name, all_ in plain.items() for value in all_]
    if not parts:
        return
    sent = httpx.Request("POST", "http://x", files=parts)  # type: ignore[arg-type]
    assert parsed(sent.headers["content-type"], sent.read(), FORM).fields == plain


@given(st.binary(max_size=300))
def test_a_damaged_form_is_read_or_refused(noise: bytes) -> None:
    start = b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n'
    bodies = (noise, start + noise + b"\r\n--x--\r\n", b"--x\r\n" + noise + b"\r\n\r\n\r\n--x--")
    for body in bodies:
        for header in (ENCODED, "multipart/form-data; boundary=x", noise.decode("latin-1")):
            with suppress(EquipoiseError):
                parsed(header, body, FORM)


@pytest.mark.parametrize("text", ["x", "nan", "inf", "-1", "100.1"])
def test_a_number_out_of_its_bounds_is_refused(text: str) -> None:
    with pytest.raises(InvalidDataError, match="from 0 to 100"):
        Form({"keep": [text]}).number("keep", 0, 100)
    assert Form({"keep": [" 12.5 "]}).number("keep", 0, 100) == 12.5
    assert Form({"keep": [" "]}).number("keep", 0, 100) is None


def test_pasted_lines_are_parties() -> None:
    form = Form(
        {"player": ["zoe", ""], "party": ["A", ""], "paste": ["ada + bo\n\n cyd \ndi\tel\n"]}
    )
    assert lobby_of(form).rows == [
        Row("zoe", "A"),
        Row("ada", "B"),
        Row("bo", "B"),
        Row("cyd"),
        Row("di", "C"),
        Row("el", "C"),
    ]


def test_a_lobby_becomes_a_request() -> None:
    form = Form(
        {
            "player": ["ada", "bo", "cy"],
            "party": ["A", "", "A"],
            "team": ["", "2", ""],
            "avoid": ["bo", ""],
            "avoided": ["cy", ""],
        }
    )
    found = request_of(lobby_of(form))
    assert [(one.party, one.team, one.avoid) for one in found.players] == [  # type: ignore[union-attr]
        ("A", None, []),
        (None, 2, ["cy"]),
        ("A", None, []),
    ]


def test_a_match_is_made_of_a_form() -> None:
    form = Form(
        {
            "match": ["m1"],
            "time": ["1700000000"],
            "rank": ["1", "2", "x"],
            "players": ["ada\r\n\r\nbo", "cy", ""],
        }
    )
    teams = [TeamRequest(["ada", "bo"], rank=1), TeamRequest(["cy"], rank=2)]
    assert match_of_form(form) == MatchRequest("m1", teams, time=1_700_000_000)
    with pytest.raises(InvalidDataError) as found:
        match_of_form(Form({"rank": ["first"], "players": ["ada"]}))
    assert len(found.value.problems) == 2


@pytest.mark.parametrize("text", ["", "[]", "[" * 100_000, '{"match": "m"}', "\ud800"])
def test_json_that_is_no_match_is_refused(text: str) -> None:
    with pytest.raises(InvalidDataError):
        match_of_json(text)


def test_other_places_leave_the_rest_of_a_match_as_it_was() -> None:
    match = MatchRequest(
        "m", [TeamRequest(["a"], rank=1), TeamRequest(["b"], rank=2)], time=7, weight=0.5
    )
    found = with_places(match, ["2", "1"])
    assert [team.rank for team in found.teams] == [2, 1]
    assert (found.weight, found.time) == (0.5, None)


def test_a_correction_has_a_number_for_each_team() -> None:
    match = MatchRequest("m", [TeamRequest(["a"], rank=1), TeamRequest(["b"], rank=2)])
    for change in (with_places, with_scores):
        with pytest.raises(InvalidDataError, match="must be 2"):
            change(match, ["1"])


def test_places_of_scores_can_be_changed() -> None:
    """The form shows the places that the scores make; those that are typed stand instead."""
    teams = [TeamRequest(["a"], score=3.0), TeamRequest(["b"], score=8.0)]
    match = MatchRequest("m", teams, time=7)
    assert [line.number for line in team_lines(match, [])] == ["2", "1"]
    found = with_places(match, ["1", "2"])
    assert [(team.rank, team.score) for team in found.teams] == [(1, None), (2, None)]


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("open.PGN", b"", "pgn"),
        ("open.trfx", b"", "trf"),
        ("open.txt", b"", "trf"),
        ("", b'\xef\xbb\xbf[Event "x"]', "pgn"),
        ("", b"012 Open\n", "trf"),
        ("", b"white,black,result\n", "csv"),
        ("", b"white\tblack\n", "tsv"),
        ("", b'{"white": 1}\n', "jsonl"),
        ("", b"", "csv"),
    ],
)
def test_guesses_the_format_by_name_or_content(name: str, content: bytes, kind: str) -> None:
    assert guessed(name, content) == kind


def test_a_task_is_begun_once_and_shown_when_ready() -> None:
    """Whoever asks again while it is under way waits for the same; what failed is tried anew."""

    async def run() -> None:
        cache: TaskCache[int] = TaskCache(most=2)
        begun = []
        go = asyncio.Event()

        async def slow() -> int:
            begun.append(1)
            await go.wait()
            return 7

        async def wrong() -> int:
            begun.append(1)
            raise InvalidParameterError("no")

        assert await cache.get("a", slow, 0.01) is None
        assert await cache.get("a", slow, 0.01) is None
        go.set()
        assert await cache.get("a", slow, 5) == 7
        assert len(begun) == 1
        for _ in range(2):
            with pytest.raises(InvalidParameterError):
                await cache.get("b", wrong, 5)
        assert len(begun) == 3
        for key in "cde":
            await cache.get(key, slow, 5)
        assert await cache.get("a", slow, 5) == 7
        assert len(begun) == 7

    asyncio.run(run())
