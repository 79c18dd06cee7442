"""What does not fit is told in our words: the field, what must hold, what came."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
import pytest
from msgspec import Meta

from equipoise.errors import InvalidDataError
from equipoise.messages.matches import DisqualifyRequest, MatchRequest
from equipoise.messages.pools import PoolRequest, SeasonRequest
from equipoise.messages.upkeep import KeyRequest, WebhookRequest
from equipoise.web.http.endpoints import refused_json
from equipoise.web.http.errors import MalformedError


class Bounded(msgspec.Struct):
    """A shape with bounds of each kind."""

    number: Annotated[int, Meta(ge=1, le=9)] = 1
    text: Annotated[str, Meta(min_length=2, pattern="^a")] = "aa"


def refused(shape: Any, content: bytes, line: int | None = None) -> Exception:
    try:
        msgspec.json.decode(content, type=shape)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return refused_json(error, shape, line)
    raise AssertionError("it was taken")


@pytest.mark.parametrize(
    ("shape", "content", "field", "rule", "got"),
    [
        (
            MatchRequest,
            b'{"match":1,"teams":[{"players":[],"rank":"a"}]}',
            "teams[0].rank",
            "must be a whole number or null",
            "text",
        ),
        (MatchRequest, b'{"match":1}', "teams", "must be given", "nothing"),
        (
            MatchRequest,
            b'{"match":1,"teams":[],"x":2}',
            "x",
            "unknown field",
            "x",
        ),
        (
            MatchRequest,
            b'{"match":1.5,"teams":[]}',
            "match",
            "must be a whole number or text",
            "a number",
        ),
        (MatchRequest, b"[]", "", "must be an object", "an array"),
        (
            PoolRequest,
            b'{"late":"never"}',
            "late",
            "must be one of reject, append, replay",
            "never",
        ),
        (
            KeyRequest,
            b'{"name":"x","role":"king"}',
            "role",
            "must be one of reader, writer, admin",
            "king",
        ),
        (
            DisqualifyRequest,
            b'{"effect":"kept"}',
            "effect",
            "must be one of without, keep, void",
            "kept",
        ),
        (
            SeasonRequest,
            b'{"season":"old","settings":{"late":"never"}}',
            "settings.late",
            "must be one of reject, append, replay",
            "never",
        ),
        (
            WebhookRequest,
            b'{"url":"https://example.org","events":["match.rated","match"]}',
            "events[1]",
            "must be one of match.rated, ratings.corrected, season.ended",
            "match",
        ),
        (
            MatchRequest,
            b'{"match":1,"teams":[],"weight":1e999}',
            "weight",
            "must be a smaller number",
            "a larger one",
        ),
        (Bounded, b'{"number":0}', "number", "must be at least 1", "another value"),
        (
            Bounded,
            b'{"text":"a"}',
            "text",
            "must have at least 2 characters or items",
            "another value",
        ),
        (Bounded, b'{"text":"bb"}', "text", "must match ^a", "another value"),
    ],
)
def test_a_problem_names_field_rule_and_value(
    shape: Any, content: bytes, field: str, rule: str, got: str
) -> None:
    error = refused(shape, content, 7)
    assert isinstance(error, InvalidDataError)
    (found,) = error.problems
    assert (found.line, found.field, found.rule, found.got) == (7, field, rule, got)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"{", "the body must be JSON: it ends too early"),
        (b'{"match":1,"teams":[]} x', "the body must be JSON: trailing characters"),
        (b'{"match":"\xff"}', "the body must be UTF-8"),
    ],
)
def test_what_is_no_json_is_malformed(content: bytes, words: str) -> None:
    error = refused(MatchRequest, content)
    assert isinstance(error, MalformedError)
    assert words in str(error)


def test_nesting_beyond_what_can_be_read_is_malformed() -> None:
    assert "nested too deeply" in str(refused_json(RecursionError(), MatchRequest))
