"""Which matches are read, and which rows and matches are skipped."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from typing import Any

import numpy as np
import polars as pl
import pytest

import equipoise as eq
from equipoise.errors import InvalidParameterError
from equipoise.formats import read_history, scan_history
from equipoise.formats.values import NO_PLACE, NUMBER, ONE_NUMBER, WHOLE, numbers_of
from formats.comparing import of_text

#: Hints are checked as they are typed on the command line.
pytestmark = pytest.mark.usefixtures("options_in_messages")

TABLE = {
    "match": [1, 1, 2, 2, 3],
    "time": [100, 100, 200, 200, 300],
    "player": [1, 2, 1, 2, 1],
    "rank": [0, 1, 0, 1, 0],
    "league": ["A", "A", "B", "B", "A"],
    "goals": [1.0, 2.0, 3.0, 4.0, 5.0],
}


def read_ids(**options):
    """Return the ids of the matches that are read from the table."""
    return read_history(TABLE, time_format="s", **options).match_ids.tolist()


@pytest.mark.parametrize(
    ("since", "until", "ids"),
    [
        (100, None, [1, 2, 3]),
        (101, None, [2, 3]),
        (None, 300, [1, 2]),
        (200, 300, [2]),
        (np.int64(200), "300", [2]),
        ("1970-01-01T00:03:20Z", "1970-01-01T00:05:00+00:00", [2]),
        (date(1970, 1, 1), date(1970, 1, 2), [1, 2, 3]),
        (datetime(1970, 1, 1, 0, 3, 20), None, [2, 3]),
        (datetime(1970, 1, 1, 2, 3, 20, tzinfo=timezone(timedelta(hours=2))), None, [2, 3]),
    ],
)
def test_matches_from_a_time_on_and_before_another(since, until, ids):
    """The first bound is included, the second is not; times without a zone are UTC."""
    assert read_ids(since=since, until=until) == ids


@pytest.mark.parametrize("bound", ["yesterday", 1_700_000_000_000, "1700000000000", 1.5, True, []])
def test_a_bound_must_be_a_time(bound):
    with pytest.raises(InvalidParameterError, match="since"):
        read_ids(since=bound)


@pytest.mark.parametrize(
    ("where", "ids"),
    [
        ({"league": "A"}, [1, 3]),
        ([("league", "A"), ("match", 3)], [3]),
        ({"match": 2}, [2]),
        ({"match": "2"}, [2]),
        ({"time": 200}, [2]),
        ({"match": 3, "goals": 5}, [3]),
        ({"match": 3, "goals": "5.0"}, [3]),
    ],
)
def test_matches_on_whose_rows_a_column_has_a_value(where, ids):
    """Values are compared as they are written; numbers with a fraction by value."""
    assert read_ids(where=where) == ids


def test_values_are_compared_and_what_is_not_asked_for_is_not_checked():
    reading = of_text("match,player,rank,side\n1,a,0,x\n2,b,0,\n", where={"side": ""})
    assert reading.history.match_ids.tolist() == [2]
    table = TABLE | {"final": [True, True, False, False, False]}
    assert read_history(table, where={"final": "true"}).match_ids.tolist() == [1]
    assert read_history(table, where={"final": False}).match_ids.tolist() == [2, 3]
    with pytest.raises(InvalidParameterError, match="all rows of a match or on none; player=1"):
        read_ids(where={"player": 1})
    table = TABLE | {"rank": [0, 1, 0, 1, None]}
    assert scan_history(table).history is None
    reading = scan_history(table, until=300)
    assert (reading.problems, reading.filtered, reading.history.matches) == ((), 1, 2)
    table = TABLE | {"time": [100, 100, 200, None, 300]}
    reading = scan_history(table, since=150, until=250)
    assert [(one.line, one.field) for one in reading.problems] == [(4, "time")]
    reading = scan_history(TABLE, where={"league": "C"})
    assert reading.history is None
    assert reading.filtered == 3
    assert reading.problems[0].rule == "must leave at least one match"


@pytest.mark.parametrize("no", ["false", "FALSE", "no", "No", "0", False, 0])
@pytest.mark.parametrize("yes", ["true", "True", "yes", "1", True, 1])
def test_unrated_matches_are_dropped_and_counted(no, yes):
    """However true and false are written; what is wrong with unrated matches does not matter."""
    table = {"match": [1, 1, 2, 3], "player": [1, 2, 1, 1], "rank": [0, 1, None, 0]}
    if isinstance(no, str) != isinstance(yes, str):
        yes, no = str(yes), str(no)
    reading = scan_history(table | {"rated": [yes, yes, no, None]})
    assert reading.history.match_ids.tolist() == [1, 3]
    assert (reading.unrated, reading.filtered) == (1, 0)
    assert "rated" not in reading.history.attributes


def test_columns_are_found_by_other_names_and_ragged_rows_can_be_skipped():
    """Canonical name <- name in the source; what was called so before makes room."""
    table = {"id": [1, 1], "player": ["x", "y"], "handle": ["a", "b"], "place": [0, 1]}
    reading = scan_history(table, columns={"match": "id", "player": "handle", "rank": "place"})
    assert reading.history.player_ids.tolist() == ["a", "b"]
    assert list(reading.history.attributes) == []
    assert reading.notes == ("column 'player' of the file is replaced by the renamed one",)
    table = {"match": [1, 1], "player": [0, 1], "rank": [7, 8]}
    history = read_history(table, columns={"player": "rank", "rank": "player"})
    assert history.player_ids.tolist() == [7, 8]
    history = read_history(
        {"when": [5, 5], "player": [1, 2], "rank": [0, 1]},
        columns={"match": "when", "time": "when"},
    )
    assert history.match_ids.tolist() == [5]
    assert history.times().tolist() == [5]
    text = "match,player,rank\n1,a,0\n1,b\n1,c,1,9\n2,d,0\n"
    rows = of_text(text, skip_bad="rows")
    assert rows.history.player_ids.tolist() == ["a", "d"]
    assert rows.dropped_rows == 2
    matches = of_text(text, skip_bad="matches")
    assert matches.history.player_ids.tolist() == ["d"]
    assert matches.dropped_matches == ("1",)


# Skipping bad matches, or single rows of matches that stay valid without them.

TEXT = (
    "match,player,team,winner\n"
    "1,a,X,X\n1,b,Y,X\n1,c,,X\n"  # valid without its last row
    "2,a,X,X\n2,b,,X\n"  # one team is left without its last row
    "3,a,X,X\n3,b,Y,X\n"  # good
    "4,a,X,Z\n4,b,Y,Z\n"  # names nobody
)


@pytest.mark.parametrize(
    ("skip_bad", "ids", "matches", "rows", "lines"),
    [
        # Of a match with a bad row only the row is spoken of.
        (None, [], (), 0, [(4, "team"), (6, "team"), (9, "winner")]),
        ("matches", [3], ("1", "2", "4"), 0, [(4, "team"), (6, "team"), (9, "winner")]),
        ("rows", [1, 3], ("2", "4"), 1, [(4, "team"), (5, "team"), (6, "team"), (9, "winner")]),
    ],
)
def test_bad_matches_or_bad_rows_are_skipped(skip_bad, ids, matches, rows, lines):
    reading = of_text(TEXT, skip_bad=skip_bad)
    found = [] if reading.history is None else reading.history.match_ids.tolist()
    assert found == ids
    assert (reading.dropped_matches, reading.dropped_rows) == (matches, rows)
    assert [(one.line, one.field) for one in reading.problems] == lines


@pytest.mark.parametrize(
    ("rows", "how", "kept", "dropped"),
    [
        # A row without a match goes alone, also between rows of a match.
        *(([("x", 1, 0), ("", 2, 0), ("y", 3, 0)], how, [1, 3], ()) for how in ("matches", "rows")),
        ([(1, 1, 0), (None, 2, 0), (1, 3, 0)], "rows", [1, 3], ()),
        # A match on scattered rows, and one that loses all rows, is dropped.
        ([(1, 1, 0), (2, 2, 0), (1, 3, 1)], "matches", [2], ("1",)),
        ([(1, 1, "x"), (1, 2, "y"), (2, 1, "0")], "rows", [1], ("1",)),
        # Players who are left without a match are no players.
        ([(1, 5, "x"), (1, 6, "0"), (2, 7, "0")], "matches", [7], ("1",)),
    ],
)
def test_only_good_rows_and_their_players_are_left(rows, how, kept, dropped):
    table = dict(zip(("match", "player", "rank"), map(list, zip(*rows, strict=True)), strict=True))
    reading = scan_history(table, skip_bad=how)
    assert reading.history.player_ids.tolist() == kept
    assert (reading.dropped_matches, reading.dropped_rows) == (dropped, int(not dropped))


@pytest.mark.parametrize("how", ["matches", "rows"])
def test_something_must_be_left(how):
    reading = scan_history({"match": [1], "player": [1], "rank": ["x"]}, skip_bad=how)
    assert reading.history is None
    assert reading.problems[-1].rule == "must leave at least one match"


@pytest.mark.parametrize("how", ["matches", "rows"])
def test_problems_of_the_whole_file_are_not_skipped(how):
    for content in (b"match,player\n1,a\n", b"match,player,rank\n1,\x81,0\n2,b,0\n"):
        assert scan_history(content, format="csv", skip_bad=how).history is None


# Numbers and places in other notations.


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


@pytest.mark.parametrize("values", [["1.5", "2", None], ["1e3", "-.5"], ["  7 "]])
def test_plain_numbers_say_nothing(values: list[str | None]) -> None:
    _, faults, notes = read(values)
    assert (faults, notes) == ([], [])


def scores(values: list[str], **options: Any) -> eq.HistoryReading:
    table = {"match": [1] * len(values), "player": list(range(len(values))), "score": values}
    return eq.scan_history(table, **options)


def test_scores_and_points_may_have_decimal_commas() -> None:
    reading = scores(["2,5", "10,25", "2,50"])
    assert reading.history.rank.tolist() == [1, 0, 1]
    assert reading.notes[-1] == "3 numbers of score in another notation: read '2,5' as 2.5"
    games = eq.read_games({"white": ["a", "b"], "black": ["b", "c"], "points": ["0,5", "1"]})
    assert games.points.tolist() == [0.5, 1.0]
    table = {"home": ["a"], "away": ["b"], "home_score": ["9,5"], "away_score": ["8,75"]}
    history = eq.read_history(table)
    assert history.attributes["score"].tolist() == [9.5, 8.75]
    table = {"match": [1, 1], "player": [1, 2], "rank": [1, 2], "rating": ["1500,5", "1400,5"]}
    history = eq.read_history(table)
    assert history.attributes["rating"].tolist() == ["1500,5", "1400,5"]


@pytest.mark.parametrize("separator", [";", "\t", ","])
def test_a_decimal_comma_needs_another_separator(separator: str) -> None:
    """A quoted one in a file separated by commas is refused; commas between thousands are not."""
    text = 'match,player,score\n1,a,"{}"\n1,b,1\n'.replace(",", separator)
    assert (of_text(text.format("1,234.5"))).history is not None
    reading = of_text(text.format("2,5"))
    refused = [(one.line, one.rule) for one in reading.problems]
    assert refused == ([(2, NUMBER)] if separator == "," else [])


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


def test_equal_places_tie_and_other_text_is_reported() -> None:
    table = {"match": [1] * 4, "player": list("abcd"), "rank": ["1st", "T2", "=2", "4."]}
    reading = eq.scan_history(table)
    assert reading.history.rank.tolist() == [0, 1, 1, 2]
    assert reading.notes[-1] == "4 places of rank in another notation: read '1st' as 1"
    found, faults, _ = read(["2,5", "many", None, "1,2,3", "1 23"])
    assert faults == [(1, NUMBER), (3, NUMBER), (4, NUMBER)]
    assert found[0] == 2.5


@pytest.mark.usefixtures("options_in_messages")
def test_who_has_no_place_can_be_left_out_or_share_the_last() -> None:
    table = {"match": [1] * 4, "player": list("abcd"), "rank": ["1", "2", "DNF", "second"]}
    problems = eq.scan_history(table).problems
    assert [(one.line, one.rule, one.got) for one in problems] == [
        (3, NO_PLACE, "'DNF'"),
        (4, WHOLE, "'second'"),
    ]
    left = eq.read_history(table, skip_bad="rows")
    assert left.player_ids.tolist() == ["a", "b"]
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
