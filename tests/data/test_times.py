"""Times as text."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from equipoise.data.times import iso, to_the_minute


@pytest.mark.parametrize(
    ("time", "text"),
    [
        (0, "1970-01-01T00:00:00"),
        (-1, "1969-12-31T23:59:59.999999"),
        (1_714_557_600_000_000, "2024-05-01T10:00:00"),
    ],
)
def test_microseconds_are_iso_8601(time: int, text: str) -> None:
    assert iso(time) == text


@pytest.mark.parametrize(
    ("time", "text"),
    [
        (7, "7"),
        (1_714_557_661, "2024-05-01 10:01"),
        (datetime(2024, 5, 1, 10, 1, 59, tzinfo=UTC), "2024-05-01 10:01"),
        (date(2024, 5, 1), "2024-05-01"),
        (None, "None"),
    ],
)
def test_a_round_is_a_number_and_a_moment_has_minutes(time: object, text: str) -> None:
    assert to_the_minute(time) == text
