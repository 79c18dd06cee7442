"""Which matches are read, and which rows and matches are skipped."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone

import numpy as np
import pytest

from equipoise.errors import InvalidParameterError
from equipoise.formats import read_history, scan_history
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


def test_a_filter_may_not_tear_a_match_apart():
    with pytest.raises(InvalidParameterError, match="all rows of a match or on none; player=1"):
        read_ids(where={"player": 1})


def test_an_empty_value_finds_empty_fields():
    reading = of_text("match,player,rank,side\n1,a,0,x\n2,b,0,\n", where={"side": ""})
    assert reading.history.match_ids.tolist() == [2]


def test_truth_values_are_compared_as_words():
    table = TABLE | {"final": [True, True, False, False, False]}
    assert read_history(table, where={"final": "true"}).match_ids.tolist() == [1]
    assert read_history(table, where={"final": False}).match_ids.tolist() == [2, 3]


def test_what_is_not_asked_for_is_not_checked():
    table = TABLE | {"rank": [0, 1, 0, 1, None]}
    assert scan_history(table).history is None
    reading = scan_history(table, until=300)
    assert (reading.problems, reading.filtered, reading.history.matches) == ((), 1, 2)


def test_a_bad_time_is_told_even_with_bounds():
    table = TABLE | {"time": [100, 100, 200, None, 300]}
    reading = scan_history(table, since=150, until=250)
    assert [(one.line, one.field) for one in reading.problems] == [(4, "time")]


def test_nothing_that_is_asked_for_is_a_problem():
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


def test_columns_are_found_by_other_names():
    """Canonical name <- name in the source; what was called so before makes room."""
    table = {"id": [1, 1], "player": ["x", "y"], "handle": ["a", "b"], "place": [0, 1]}
    reading = scan_history(table, columns={"match": "id", "player": "handle", "rank": "place"})
    assert reading.history.player_ids.tolist() == ["a", "b"]
    assert list(reading.history.attributes) == []
    assert reading.notes == ("column 'player' of the file is replaced by the renamed one",)


def test_columns_can_be_swapped():
    table = {"match": [1, 1], "player": [0, 1], "rank": [7, 8]}
    history = read_history(table, columns={"player": "rank", "rank": "player"})
    assert history.player_ids.tolist() == [7, 8]


def test_one_column_can_serve_twice():
    history = read_history(
        {"when": [5, 5], "player": [1, 2], "rank": [0, 1]},
        columns={"match": "when", "time": "when"},
    )
    assert history.match_ids.tolist() == [5]
    assert history.times().tolist() == [5]


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


def test_ragged_rows_can_be_skipped():
    text = "match,player,rank\n1,a,0\n1,b\n1,c,1,9\n2,d,0\n"
    rows = of_text(text, skip_bad="rows")
    assert rows.history.player_ids.tolist() == ["a", "d"]
    assert rows.dropped_rows == 2
    matches = of_text(text, skip_bad="matches")
    assert matches.history.player_ids.tolist() == ["d"]
    assert matches.dropped_matches == ("1",)
