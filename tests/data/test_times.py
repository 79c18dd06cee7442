"""Times as text."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest

import equipoise as eq
from equipoise.data.times import days_of, iso, to_the_minute, utc


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


@pytest.mark.parametrize(
    ("time", "day"),
    [
        (None, None),
        (19_723.25, 19_723.25),
        (date(2024, 1, 1), 19_723.0),
        (datetime(2024, 1, 1, 6), 19_723.25),
        (datetime(2024, 1, 1, 6, tzinfo=UTC), 19_723.25),
        (datetime(2024, 1, 1, 7, tzinfo=timezone(timedelta(hours=1))), 19_723.25),
        (datetime(1969, 12, 31), -1.0),
    ],
)
def test_a_time_is_a_number_of_days_and_back(time: Any, day: float | None) -> None:
    """Counted on the calendar; without a zone a time is in UTC."""
    assert days_of(time) == day
    if isinstance(time, datetime):
        assert utc(days_of(time) or 0.0) == (time if time.tzinfo else time.replace(tzinfo=UTC))


def test_functions_take_a_time_as_days_or_as_a_date() -> None:
    history = eq.read_history(
        {"match": [1, 1], "time": [date(2024, 1, 1)] * 2, "player": [*"ab"], "rank": [1, 2]}
    )
    system = eq.Glicko2(period_days=7.0)
    days, moment = 19_753.0, datetime(2024, 1, 31, tzinfo=UTC)
    one, other = (eq.replay(system, history, at=at) for at in (days, moment))
    assert one.ratings.deviation.tolist() == other.ratings.deviation.tolist()
    assert one.ratings.deviation[0] > eq.replay(system, history).ratings.deviation[0]
    for function in (
        lambda at: eq.predict(system, one.state, [["a"], ["b"]], at=at).expected,
        lambda at: eq.what_if(system, one.state, [["a"], ["b"]], at=at).rating.tolist(),
        lambda at: eq.lobby_of(one.state, ["a", "b"], at=at).deviation.tolist(),
    ):
        assert function(days) == function(moment) == function(date(2024, 1, 31))
    with pytest.raises(eq.InvalidParameterError, match="at must be a number or a date"):
        eq.replay(system, history, at="2024-01-31")
