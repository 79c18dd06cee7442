"""What does not fit is told in our words: the field, what must hold, what came."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
import pytest
from msgspec import Meta

from equipoise.errors import InvalidDataError
from equipoise.messages.matches import MatchRequest
from equipoise.web.http.endpoints import refused_json
from equipoise.web.http.errors import MalformedError


class Part(msgspec.Struct, forbid_unknown_fields=True):
    """A part of a shape."""

    rank: int | None = None
    late: Literal["reject", "append"] = "reject"


class Whole(msgspec.Struct, forbid_unknown_fields=True):
    """A shape with a rule of each kind."""

    id: int | str
    number: Annotated[int, Meta(ge=1, le=9)] = 1
    text: Annotated[str, Meta(min_length=2, pattern="^a")] = "aa"
    weight: float = 1.0
    parts: list[Part] = []
    part: Part | None = None
    events: list[Literal["rated", "ended"]] = []


def refused(shape: Any, content: bytes, line: int | None = None) -> Exception:
    try:
        msgspec.json.decode(content, type=shape)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return refused_json(error, shape, line)
    raise AssertionError("it was taken")


@pytest.mark.parametrize(
    ("content", "field", "rule", "got"),
    [
        ("{}", "id", "must be given", "nothing"),
        ("[]", "", "must be an object", "an array"),
        ('{"id":1,"x":2}', "x", "unknown field", "x"),
        ('{"id":1.5}', "id", "must be a whole number or text", "a number"),
        ('{"id":1,"number":0}', "number", "must be at least 1", "another value"),
        (
            '{"id":1,"text":"a"}',
            "text",
            "must have at least 2 characters or items",
            "another value",
        ),
        ('{"id":1,"text":"bb"}', "text", "must match ^a", "another value"),
        ('{"id":1,"weight":1e999}', "weight", "must be a smaller number", "a larger one"),
        (
            '{"id":1,"parts":[{"rank":"a"}]}',
            "parts[0].rank",
            "must be a whole number or null",
            "text",
        ),
        ('{"id":1,"part":{"late":"no"}}', "part.late", "must be one of reject, append", "no"),
        ('{"id":1,"events":["rated","x"]}', "events[1]", "must be one of rated, ended", "x"),
    ],
)
def test_names_field_rule_and_value(content: str, field: str, rule: str, got: str) -> None:
    error = refused(Whole, content.encode(), 7)
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
