"""Skipping what is bad: whole matches, or single rows of matches that stay valid."""

from __future__ import annotations

import pytest

from equipoise.errors import InvalidDataError
from equipoise.formats import read_history, scan_history
from formats.comparing import of_text

TEXT = (
    "match,player,team,winner\n"
    "1,a,X,X\n1,b,Y,X\n1,c,,X\n"  # valid without its last row
    "2,a,X,X\n2,b,,X\n"  # one team is left without its last row
    "3,a,X,X\n3,b,Y,X\n"  # good
    "4,a,X,Z\n4,b,Y,Z\n"  # names nobody
)


def test_by_default_nothing_is_read():
    """Every problem is listed; of a match with a bad row only the row is spoken of."""
    reading = of_text(TEXT)
    assert reading.history is None
    lines = [(one.line, one.field) for one in reading.problems]
    assert lines == [(4, "team"), (6, "team"), (9, "winner")]
    assert reading.dropped_matches == ()
    with pytest.raises(InvalidDataError, match="3 problems"):
        read_history(TEXT.encode())


def test_skipping_matches_drops_them_whole():
    reading = of_text(TEXT, skip_bad="matches")
    assert reading.history.match_ids.tolist() == [3]
    assert reading.dropped_matches == ("1", "2", "4")
    assert reading.dropped_rows == 0
    assert len(reading.problems) == 3


def test_skipping_rows_keeps_matches_that_are_still_valid():
    reading = of_text(TEXT, skip_bad="rows")
    assert reading.history.match_ids.tolist() == [1, 3]
    assert reading.history.player_ids.tolist() == ["a", "b"]
    assert reading.dropped_matches == ("2", "4")
    assert reading.dropped_rows == 1
    assert [(one.line, one.field) for one in reading.problems] == [
        (4, "team"),
        (5, "team"),
        (6, "team"),
        (9, "winner"),
    ]


def test_a_row_without_a_match_goes_alone():
    table = {"match": ["x", "", "y"], "player": [1, 2, 3], "rank": [0, 0, 0]}
    for how in ("matches", "rows"):
        reading = scan_history(table, skip_bad=how)
        assert reading.history.match_ids.tolist() == ["x", "y"]
        assert (reading.dropped_matches, reading.dropped_rows) == ((), 1)


def test_a_bad_row_between_rows_of_a_match_does_not_tear_it_apart():
    table = {"match": [1, None, 1], "player": [1, 2, 3], "rank": [0, 0, 0]}
    assert scan_history(table, skip_bad="rows").history.matches == 1


def test_a_match_that_loses_all_rows_is_dropped():
    table = {"match": [1, 1, 2], "player": [1, 2, 3], "rank": ["x", "y", "0"]}
    reading = scan_history(table, skip_bad="rows")
    assert reading.history.match_ids.tolist() == [2]
    assert (reading.dropped_matches, reading.dropped_rows) == (("1",), 0)


def test_players_who_are_left_without_a_match_are_no_players():
    table = {"match": [1, 1, 2], "player": [5, 6, 7], "rank": ["x", "0", "0"]}
    assert scan_history(table, skip_bad="matches").history.player_ids.tolist() == [7]


@pytest.mark.parametrize("how", ["matches", "rows"])
def test_something_must_be_left(how):
    reading = scan_history({"match": [1], "player": [1], "rank": ["x"]}, skip_bad=how)
    assert reading.history is None
    assert reading.problems[-1].rule == "must leave at least one match"


@pytest.mark.parametrize("how", ["matches", "rows"])
def test_problems_of_the_whole_file_are_not_skipped(how):
    for content in (b"match,player\n1,a\n", b"match,player,rank\n1,\x81,0\n2,b,0\n"):
        assert scan_history(content, format="csv", skip_bad=how).history is None


def test_ragged_rows_can_be_skipped():
    text = "match,player,rank\n1,a,0\n1,b\n1,c,1,9\n2,d,0\n"
    rows = of_text(text, skip_bad="rows")
    assert rows.history.player_ids.tolist() == ["a", "d"]
    assert rows.dropped_rows == 2
    matches = of_text(text, skip_bad="matches")
    assert matches.history.player_ids.tolist() == ["d"]
    assert matches.dropped_matches == ("1",)
