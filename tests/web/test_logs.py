"""The log is a line of JSON an event, whatever is in it."""

from __future__ import annotations

import json
import logging
import sys

from equipoise.web.monitoring import FIELDS, JsonFormatter
from equipoise.wording import printable


def written(message: str, **more: object) -> dict[str, object]:
    record = logging.LogRecord("equipoise.x", logging.INFO, "", 1, message, (), None)
    setattr(record, FIELDS, more)
    text = JsonFormatter().format(record)
    assert printable(text) == text
    found: dict[str, object] = json.loads(text)
    return found


def test_a_line_has_time_level_message_and_fields() -> None:
    found = written("hello", request="1", status=200)
    assert str(found.pop("time")).endswith("+00:00")
    assert found == {
        "level": "info",
        "logger": "equipoise.x",
        "message": "hello",
        "request": "1",
        "status": 200,
    }


def test_nothing_breaks_a_line() -> None:
    """Line ends are escaped, and halves of characters are written as what they are."""
    found = written("a\nb\x9b\u202e", path="\ud800")
    assert found["message"] == "a\nb\x9b\u202e"
    assert found["path"] == "\\ud800"


def test_an_exception_is_part_of_its_line() -> None:
    try:
        raise ValueError("deep")
    except ValueError:
        record = logging.LogRecord("x", logging.ERROR, "", 1, "failed", (), sys.exc_info())
    found = json.loads(JsonFormatter().format(record))
    assert "ValueError: deep" in found["exception"]
