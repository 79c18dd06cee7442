"""Numbers, times and paths as people and browsers read them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from equipoise.web.page.rendering import (
    day,
    direction,
    halves,
    in_days,
    minute,
    number,
    ordinal,
    path,
    percent,
    plural,
    signed,
)

THIN = "\N{NARROW NO-BREAK SPACE}"


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (1234567.0, 0, "1,234,567"),
        (-12.345, 1, "\N{MINUS SIGN}12.3"),
        (-0.04, 1, "0.0"),
        (None, 1, "\N{EN DASH}"),
        (math.nan, 0, "\N{EN DASH}"),
        (math.inf, 0, "\N{INFINITY}"),
    ],
)
def test_formats_numbers(value: float | None, digits: int, text: str) -> None:
    assert number(value, digits) == text


@pytest.mark.parametrize(
    ("filter", "values", "texts"),
    [
        (halves, (0.0, 0.5, 1.0, 10.5, 2.25), "0 ½ 1 10½ 2.25"),
        # Nothing that is shown as zero has a sign.
        (signed, (1.25, -3.0, 0.01, 0.0), "+1.2 \N{MINUS SIGN}3.0 0.0 0.0"),
        # What is not certain is never 0 or 100 %.
        (percent, (0.5, 0.0, 1.0, 0.001, 0.9999), "50~% 0~% 100~% <_1~% >_99~%"),
        (ordinal, (1, 2, 3, 4, 11, 112, 21), "1st 2nd 3rd 4th 11th 112th 21st"),
        (direction, (1.0, -1.0, 0.0, None), "gain loss same same"),
    ],
)
def test_numbers_in_words(filter: Callable[..., str], values: tuple[Any, ...], texts: str) -> None:
    expected = [text.replace("_", " ").replace("~", THIN) for text in texts.split()]
    assert [filter(value) for value in values] == expected


def test_words_agree_with_their_numbers() -> None:
    assert plural(1, "match", "matches") == "1 match"
    assert plural(1_000, "match", "matches") == "1,000 matches"
    assert [in_days(days) for days in (1.0, 0.5, 30.0)] == ["1 day", "0.5 days", "30 days"]


@pytest.mark.parametrize(
    ("time", "text"),
    [
        (0, "1970-01-01"),
        (1_700_000_000, "2023-11-14 22:13"),
        ("2023-11-14T22:13:20.5Z", "2023-11-14 22:13"),
        ("2023-11-14T22:13:20", "2023-11-14 22:13"),
    ],
)
def test_moments_are_told_to_the_minute(time: int | str, text: str) -> None:
    assert f">{text}<" in minute(time)
    assert minute(None) == "\N{EN DASH}"
    assert f">{text[:10]}<" in day(time)


def test_times_beyond_the_calendar_are_shown_as_they_are() -> None:
    assert minute(10**15) == str(10**15)
    assert day(10**15) == str(10**15)


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("ada", "/pools/p/players/ada"),
        ("a/b c", "/pools/p/players/a/b%20c"),
        ("a?b#c%", "/pools/p/players/a%3Fb%23c%25"),
        ("..", "/pools/p/players/?id=.."),
        ("a/../b", "/pools/p/players/?id=a%2F..%2Fb"),
        ("a//b", "/pools/p/players/?id=a%2F%2Fb"),
    ],
)
def test_paths_hold_any_id(name: str, wanted: str) -> None:
    """What a browser would take for folders goes into the query."""
    assert path("pools", "p", "players", name) == wanted
    assert path("pools", "p", "players", name, match=None) == wanted
