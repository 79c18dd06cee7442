"""DWZ: official calculations, the values of another library, and the rules one by one."""

from __future__ import annotations

import math
from typing import Any

import pytest

import equipoise as eq
from equipoise.cli import run
from equipoise.rating.systems.dwz import development
from rating.federations.published import DWZ_EVENTS, Calculation
from rating.federations.test_fide import POINTS, against, known, rated, table


@pytest.mark.parametrize("one", DWZ_EVENTS)
def test_official_calculations(one: Calculation) -> None:
    """The new rating and the expected points, to the last digit."""
    year = 1987 if one.rating == 2085 else 1970
    history, initial = against(one, "2007-05-05", event="open", birth_year=year)
    assert rated(eq.DWZ(), history, initial)["hero"] == one.change
    done = eq.replay(eq.DWZ(), history, initial=initial, trace=True)
    row = history.player_ids.tolist().index("hero") == history.player
    expected = math.fsum(done.trace.columns["expected"][row].tolist())
    assert expected == pytest.approx(one.expected, abs=1e-9)


@pytest.mark.parametrize(
    ("rating", "age", "index", "points", "expected", "e"),
    [
        (1530.0, 30.0, 22.0, 1.0, 0.1, 20),  # 5.48 + 15
        (1530.0, math.nan, 22.0, 1.0, 0.1, 20),  # nobody is young without a year
        (1530.0, 20.0, 22.0, 0.0, 0.1, 10),
        (1530.0, 20.0, 22.0, 1.0, 0.1, 8),  # times 0.765
        (800.0, 20.0, 22.0, 1.0, 0.1, 5),  # times 1/2, at least 5
        (2500.0, 40.0, 22.0, 1.0, 0.1, 30),
        (2500.0, 40.0, 2.0, 1.0, 0.1, 10),
        (1000.0, 40.0, 22.0, 0.0, 0.5, 22),  # 16 + e^2 - 1
        (1000.0, 40.0, 1.0, 0.0, 0.5, 22),  # the bound of new players does not hold
        (1000.0, 40.0, 1.0, 1.0, 0.5, 5),
        (200.0, 40.0, 22.0, 0.0, 0.5, 150),
    ],
)
def test_the_development_coefficient(
    rating: float, age: float, index: float, points: float, expected: float, e: float
) -> None:
    assert development(rating, age, index, points, expected) == e


def test_an_event_ends_with_a_match_of_another() -> None:
    """All matches of an event are compared with the ratings before it."""
    games = [("a", "b", 1.0), ("a", "b", 1.0), ("a", "b", 1.0)]
    start = known({"a": 1500.0, "b": 1500.0})
    system = eq.DWZ(rounded=False)

    def traced(events: list[str]) -> list[float]:
        history = table(games, "2025-05-05", event=events)
        done = eq.replay(system, history, initial=start, trace=True)
        row = history.player_ids.tolist().index("a") == history.player
        return [round(float(one), 4) for one in done.trace.columns["expected"][row]]

    assert traced(["x", "x", "x"]) == [0.5, 0.5, 0.5]
    two = traced(["x", "x", "y"])
    assert two[:2] == [0.5, 0.5]
    assert two[2] > 0.5
    # Without a name all matches of the month are one event, and whole numbers are names too.
    assert traced(["", "", ""]) == [0.5, 0.5, 0.5]
    assert traced([7, 7, 8]) == two  # type: ignore[list-item]


def test_a_first_rating_needs_five_games_not_all_won_or_lost() -> None:
    ratings = {f"o{k}": 1500.0 for k in range(6)}
    system = eq.DWZ(newcomers="unrated")

    def first(results: str) -> float:
        games = [("new", f"o{k}", POINTS[one]) for k, one in enumerate(results)]
        return rated(system, table(games, "2025-05-05", event="x"), known(ratings))["new"]

    start = system.initial_rating
    assert first("1==0") == start
    assert first("11111") == first("00000") == start
    assert first("1==0=") == 1500
    # One draw more in the next event counts all games before.
    games = [("new", f"o{k}", 1.0) for k in range(5)] + [("new", "o5", 0.5)]
    history = table(games, "2025-05-05", event=["x"] * 5 + ["y"])
    assert rated(system, history, known(ratings))["new"] > 1800


def test_low_first_ratings_are_raised() -> None:
    """722 in skillratings too: 700 + R/8 below 800."""
    ratings = {f"o{k}": 700.0 for k in range(5)}
    games = [("new", f"o{k}", 0.5 if k == 0 else 0.0) for k in range(5)]
    system = eq.DWZ(newcomers="unrated")
    found = rated(system, table(games, "2025-05-05", event="x"), known(ratings))["new"]
    gap = 200 * 2**0.5 * 1.2815515655
    assert found == math.floor(700 + (700 - gap) / 8 + 0.5)


def test_what_is_missing_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    """With what is assumed; and nothing of the columns that are there."""
    history = table([("a", "b", 1.0)], "2025-05-05", event="open", birth_year=1980)
    assert eq.DWZ().missing(history) == [
        "no column events_before: dwz assumes that players without it had 6 rated events before "
        "if their rating was known, else none"
    ]
    assert run(["rate", "examples/league.csv", "--system", "fide"]) == 0
    said = " ".join("".join(capsys.readouterr()).split())
    assert "no column birth_year: fide assumes that players without it are older than 18" in said
    assert "no column time" not in said


def test_what_is_missing_of_some_players_is_said() -> None:
    """One value of a player is enough."""
    games: list[Any] = [("a", "b", 1.0), ("a", "c", 1.0), ("a", "d", 0.5)]
    years = [1980, None, None]
    history = table(games, "2025-05-05", event="x", birth_year=years, events_before=7)
    assert eq.DWZ().missing(history) == [
        "2 players without birth_year: dwz assumes that players without it are older than 25"
    ]
    assert eq.DWZ().missing(history, resumed=True) == []


def test_events_and_years_that_contradict_each_other_are_said() -> None:
    """A match belongs to one event, and a player was born once."""
    history = eq.read_history(
        {
            "match": [1, 1, 2, 2, 3, 3],
            "player": ["a", "b", "a", "c", "b", "c"],
            "rank": [1, 2, 1, 2, 1, 1],
            "event": ["open", "cup", "open", None, "cup", "cup"],
            "birth_year": [2010, 1980, 2011, 1990, 1980, 1990],
            "events_before": [3] * 6,
        }
    )
    assert eq.DWZ().missing(history) == [
        "2 matches whose players have different values of event, or only one has a value: each "
        "player's own counts",
        "1 player with several values of birth_year: that of the match counts",
    ]
