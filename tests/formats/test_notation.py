"""Numbers and places in other notations."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import equipoise as eq
from equipoise.formats.values import NO_PLACE, NUMBER, ONE_NUMBER, WHOLE, numbers_of
from formats.comparing import of_text


def read(values: list[str | None]) -> tuple[list[float], list[tuple[int, str]], list[str]]:
    """Return the numbers (NaN if there is none), the rules that rows break, and the notes."""
    notes: list[str] = []
    numbers = numbers_of(pl.Series("score", values, dtype=pl.String), notes, by_commas=False)
    faults = [(row, rule) for rows, rule in numbers.faults for row in np.flatnonzero(rows).tolist()]
    return numbers.values.tolist(), faults, notes


@pytest.mark.parametrize(
    ("values", "numbers"),
    [
        (["2,5", "3"], [2.5, 3.0]),
        (["0,125", "1,234"], [0.125, 1.234]),
        (["1234,5", "-2,25"], [1234.5, -2.25]),
        (["1.234,5", "2.500"], [1234.5, 2500.0]),
        (["1.234.567", "1"], [1234567.0, 1.0]),
        (["1,234.5", "2,500"], [1234.5, 2500.0]),
        (["1,234,567", "1,500"], [1234567.0, 1500.0]),
        (["1 234,5", "12"], [1234.5, 12.0]),
        (["1\u00a0234", "950"], [1234.0, 950.0]),
        (["1\u202f234.5", "1\u2009000"], [1234.5, 1000.0]),
        (["1'234.5", "12\u2019345"], [1234.5, 12345.0]),
        (["\u22122,5", "1"], [-2.5, 1.0]),
    ],
)
def test_one_reading_is_read(values: list[str | None], numbers: list[float]) -> None:
    found, faults, notes = read(values)
    assert found == numbers
    assert faults == []
    (note,) = notes
    assert "of score in another notation: read" in note


@pytest.mark.parametrize(
    ("values", "rows"),
    [
        (["1,234", "950"], [0]),
        (["1,234", "2.5"], [0]),
        (["2,5", "1.234"], [1]),
        (["2,5", "3.75"], [0]),
        (["1.234,5", "1,234.5"], [0, 1]),
    ],
)
def test_two_readings_are_refused(values: list[str | None], rows: list[int]) -> None:
    _, faults, _ = read(values)
    assert faults == [(row, ONE_NUMBER) for row in rows]


def test_other_text_is_reported_beside_numbers_that_are_read() -> None:
    found, faults, _ = read(["2,5", "many", None, "1,2,3", "1 23"])
    assert faults == [(1, NUMBER), (3, NUMBER), (4, NUMBER)]
    assert found[0] == 2.5


@pytest.mark.parametrize("values", [["1.5", "2", None], ["1e3", "-.5"], ["  7 "]])
def test_plain_numbers_say_nothing(values: list[str | None]) -> None:
    _, faults, notes = read(values)
    assert (faults, notes) == ([], [])


def scores(values: list[str], **options: Any) -> eq.HistoryReading:
    table = {"match": [1] * len(values), "player": list(range(len(values))), "score": values}
    return eq.scan_history(table, **options)


def test_scores_with_decimal_commas_decide_the_places() -> None:
    reading = scores(["2,5", "10,25", "2,50"])
    assert reading.history.rank.tolist() == [1, 0, 1]
    assert reading.notes[-1] == "3 numbers of score in another notation: read '2,5' as 2.5"


@pytest.mark.parametrize("separator", [";", "\t", ","])
def test_a_decimal_comma_needs_another_separator(separator: str) -> None:
    """A quoted one in a file separated by commas is refused; commas between thousands are not."""
    text = 'match,player,score\n1,a,"{}"\n1,b,1\n'.replace(",", separator)
    assert (of_text(text.format("1,234.5"))).history is not None
    reading = of_text(text.format("2,5"))
    refused = [(one.line, one.rule) for one in reading.problems]
    assert refused == ([(2, NUMBER)] if separator == "," else [])


def test_columns_without_a_meaning_stay_text() -> None:
    table = {"match": [1, 1], "player": [1, 2], "rank": [1, 2], "rating": ["1500,5", "1400,5"]}
    history = eq.read_history(table)
    assert history.attributes["rating"].tolist() == ["1500,5", "1400,5"]


def test_goals_and_points_of_games_may_have_decimal_commas() -> None:
    games = eq.read_games({"white": ["a", "b"], "black": ["b", "c"], "points": ["0,5", "1"]})
    assert games.points.tolist() == [0.5, 1.0]
    table = {"home": ["a"], "away": ["b"], "home_score": ["9,5"], "away_score": ["8,75"]}
    history = eq.read_history(table)
    assert history.attributes["score"].tolist() == [9.5, 8.75]


@pytest.mark.parametrize(
    ("written", "place"),
    [
        *(("1st", 1), ("2nd", 2), ("3RD", 3), ("11th", 11), ("2.", 2), ("=3", 3), ("3=", 3)),
        *(("T3", 3), ("t-12", 12), ("T 4", 4), ("#5", 5), ("No. 6", 6), (" 7 ", 7), ("=4th", 4)),
    ],
)
def test_places_as_results_lists_write_them(written: str, place: int) -> None:
    places = [str(one) for one in range(1, 13)]
    places[place - 1] = written
    table = {"match": [1] * 12, "player": list(range(12)), "rank": places}
    reading = eq.scan_history(table)
    assert reading.history.rank.tolist() == list(range(12))


def test_equal_places_tie() -> None:
    table = {"match": [1] * 4, "player": list("abcd"), "rank": ["1st", "T2", "=2", "4."]}
    reading = eq.scan_history(table)
    assert reading.history.rank.tolist() == [0, 1, 1, 2]
    assert reading.notes[-1] == "4 places of rank in another notation: read '1st' as 1"


@pytest.mark.usefixtures("options_in_messages")
def test_who_has_no_place_can_be_left_out() -> None:
    table = {"match": [1] * 4, "player": list("abcd"), "rank": ["1", "2", "DNF", "second"]}
    problems = eq.scan_history(table).problems
    assert [(one.line, one.rule, one.got) for one in problems] == [
        (3, NO_PLACE, "'DNF'"),
        (4, WHOLE, "'second'"),
    ]
    left = eq.read_history(table, skip_bad="rows")
    assert left.player_ids.tolist() == ["a", "b"]


def test_who_has_no_place_can_share_the_last() -> None:
    table = {
        "match": [1] * 4 + [2] * 2,
        "player": [*"abcd", *"ab"],
        "rank": ["1", "=2", "NC", "DQ", "DNF", "dnf "],
    }
    reading = eq.scan_history(table, unplaced="last")
    assert reading.history.rank.tolist() == [0, 1, 2, 2, 0, 0]
    assert reading.notes[-1] == (
        "1 place of rank in another notation: read '=2' as 2; 4 players have no place (DNF, DQ, "
        "NC, dnf) and share the place after the last of their match"
    )
    table["rank"][1] = "second"
    (problem,) = eq.scan_history(table, unplaced="last").problems
    assert (problem.line, problem.rule) == (2, WHOLE)
    with pytest.raises(eq.InvalidParameterError, match="unplaced"):
        eq.scan_history(table, unplaced="first")


@pytest.mark.parametrize("place", ["-1", "1.5", "1-2", "1/2", "th", "2nd place", "12a", ""])
def test_other_places_are_refused(place: str) -> None:
    table = {"match": [1, 1], "player": ["a", "b"], "rank": ["1st", place]}
    (problem,) = eq.scan_history(table).problems
    assert (problem.line, problem.rule) == (2, WHOLE)
