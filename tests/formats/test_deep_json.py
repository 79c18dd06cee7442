"""JSON with more brackets within one another than can be read is refused like other bad files."""

from __future__ import annotations

from io import BytesIO

import pytest

import equipoise
from equipoise.errors import InvalidDataError, InvalidParameterError
from equipoise.formats.times import instant

DEEP = {
    "arrays": b"[" * 100_000 + b"]" * 100_000,
    "arrays left open": b"[" * 100_000,
    "objects": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "objects left open": b'{"a":' * 100_000,
    "in a row": b'{"white":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "in the second row": b'{"white":"a"}\n{"white":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
}


@pytest.mark.parametrize("name", DEEP)
@pytest.mark.parametrize("format", ["jsonl", "json", "games", "pairs", "crosstable", "history"])
def test_games_that_are_deep_json_are_refused(name: str, format: str) -> None:
    with pytest.raises(InvalidDataError):
        equipoise.read_games(BytesIO(DEEP[name]), format=format)


@pytest.mark.parametrize("name", DEEP)
@pytest.mark.parametrize("format", ["jsonl", "json"])
def test_histories_that_are_deep_json_are_refused(name: str, format: str) -> None:
    with pytest.raises(InvalidDataError):
        equipoise.read_history(BytesIO(DEEP[name]), format=format)


@pytest.mark.parametrize("text", ["9" * 5000, "+-5", "--5", "+", ""])
def test_times_that_are_nearly_numbers_are_refused(text: str) -> None:
    """Also those with more digits than Python reads."""
    with pytest.raises(InvalidParameterError, match="time must be"):
        instant(text, "time")
