"""Cross tables: cells by hand, the Interzonal of 1970, tables drawn at random."""

from __future__ import annotations

import csv
import io
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.data.games import GameColumns
from equipoise.errors import InvalidDataError
from equipoise.formats.crosstable import looks_like_cross_table, read_cross_table
from equipoise.formats.delimited import read_delimited
from formats.comparing import told
from formats.reading_games import named


def read(text: str, delimiter: str = ",") -> GameColumns:
    return read_cross_table(read_delimited(text.encode(), "t.csv", delimiter))


def games_of(columns: GameColumns) -> list[tuple[Any, ...]]:
    weight = np.ones(len(columns.points)) if columns.weight is None else columns.weight
    white, black, _ = named(columns)
    return list(zip(white, black, columns.points.tolist(), weight.tolist(), strict=True))


def pair(mine: str, theirs: str) -> GameColumns:
    return read(f"player,ann,bob\nann,X,{mine}\nbob,{theirs},X\n")


def written(rows: list[list[str]], delimiter: str = ",") -> str:
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter).writerows(rows)
    return text.getvalue()


# Cells.


@pytest.mark.parametrize(
    ("mine", "theirs", "games"),
    [
        ("1", "0", [(1.0, 1.0)]),
        ("0.0", "1.0", [(0.0, 1.0)]),
        ("\u00bd", "=", [(0.5, 1.0)]),
        ("0.5", ".5", [(0.5, 1.0)]),
        ("1/2", "1 / 2", [(0.5, 1.0)]),
        ('"0,5"', "\u00bd", [(0.5, 1.0)]),
        ("1 0 \u00bd", "0 1 \u00bd", [(1.0, 1.0), (0.0, 1.0), (0.5, 1.0)]),
        ("10=", "\u00bd10", [(1.0, 1.0), (0.0, 1.0), (0.5, 1.0)]),
        ("\u00bd1", "", [(0.5, 1.0), (1.0, 1.0)]),
        ("", "1;1/2", [(0.0, 1.0), (0.5, 1.0)]),
        ("2.5/4", "1\u00bd/4", [(2.5, 4.0)]),
        ("3/4", "", [(3.0, 4.0)]),
        ("", "\u00bd/1", [(0.5, 1.0)]),
        ("2/2", "0 0", [(1.0, 1.0), (1.0, 1.0)]),
        ("1 1 0", "1/3", [(1.0, 1.0), (1.0, 1.0), (0.0, 1.0)]),
        ("-", "*", []),
        ("", "\u2013", []),
        ("", "", []),
    ],
)
def test_cells_hold_one_game_or_several(mine, theirs, games):
    """Either side alone will do, and the one that tells the games one by one is better."""
    columns = pair(mine, theirs)
    assert (columns.problems, columns.notes, columns.left_out) == ((), (), {})
    assert games_of(columns) == [("ann", "bob", *game) for game in games]


def test_draws_are_known_from_results_and_marks_in_the_empty_half_contradict_nothing() -> None:
    assert pair("2.5/4", "").draws is None
    assert pair("2/2", "").draws.tolist() == [0]
    columns = read("player,1,2,3\nann,,1,=\nbob,-,,0\ncyd,*,-,\n")
    assert (columns.problems, columns.notes) == ((), ())
    assert [game[2] for game in games_of(columns)] == [1.0, 0.5, 0.0]


@pytest.mark.parametrize(("mine", "theirs"), [("+", "-"), ("-", "+"), ("+", ""), ("", "+")])
def test_forfeits_are_left_out(mine: str, theirs: str) -> None:
    columns = pair(mine, theirs)
    assert (columns.problems, len(columns.points)) == ((), 0)
    assert columns.left_out == {"forfeit": 1}


@pytest.mark.parametrize(
    "cell",
    ["2", "1.5", "a", "1-0", "5/4", "1/0", "1.25/2", "1 + 1", "2.5", "1-Feb", "0\u00bd/", "/"],
)
def test_a_cell_that_is_no_result_is_a_problem(cell: str) -> None:
    columns = pair(cell, "0")
    ((line, field, rule, got),) = told(columns.problems)
    assert (line, field, got) == (2, "bob", repr(cell.replace(" / ", "/")))
    assert rule.startswith("must be results of games")


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        *(("1", "1"), ("\u00bd", "0"), ("1 0", "1"), ("1 0", "\u00bd \u00bd")),
        *(("2.5/4", "2.5/4"), ("1.5/3", "1.5/2"), ("1", "-"), ("1", "+"), ("+", "+"), ("+", "0")),
    ],
)
def test_two_sides_that_differ_are_a_problem_that_names_both(mine: str, theirs: str) -> None:
    """A win and a loss, and two draws, are as many points, but not the same games.

    A third player keeps the table from being a half one.
    """
    text = f"player,ann,bob,cyd\nann,X,{mine},1\nbob,{theirs},X,1\ncyd,0,0,X\n"
    columns = read(text)
    rule = "must agree with the opponent's row"
    got = f"{mine!r}, while line 3, column 'ann' has {theirs!r}"
    assert told(columns.problems) == [(2, "bob", rule, got)]
    assert [game[:2] for game in games_of(columns)] == [("ann", "cyd"), ("bob", "cyd")]


# Columns.


def test_ratings_numbers_and_other_columns() -> None:
    """Numbers stand for the column no; 0 and nothing are no rating; places are of no player."""
    columns = read(
        "Place;No.;Name;Elo;11;12;13;Pts\n"
        "1;12;ann;2500;1;X;1;2\n2;11;bob;0;X;0;\u00bd;\u00bd\n3;13;cyd;;\u00bd;0;X;\u00bd\n",
        ",",
    )
    assert columns.problems == ()
    assert columns.notes == (
        "columns are separated by ';', not by a comma",
        "columns that belong to no player were skipped: 'Place'",
    )
    assert games_of(columns) == [
        ("ann", "bob", 1.0, 1.0),
        ("ann", "cyd", 1.0, 1.0),
        ("bob", "cyd", 0.5, 1.0),
    ]
    np.testing.assert_array_equal(columns.other_rating, [2500, np.nan, np.nan])
    np.testing.assert_array_equal(columns.white_rating, [2500, 2500, np.nan])
    np.testing.assert_array_equal(columns.black_rating, [np.nan, np.nan, np.nan])
    assert columns.draws.tolist() == [0, 0, 1]
    assert [columns.locate(row) for row in range(3)] == [("t.csv", 2), ("t.csv", 2), ("t.csv", 3)]


def test_columns_are_headed_by_numbers_or_names_and_one_may_be_missing() -> None:
    columns = read("no,player,1,2\n7,ann,X,1\n3,bob,0,X\n")
    assert games_of(columns) == [("ann", "bob", 1.0, 1.0)]
    columns = read("\t7\t5\n7\tX\t0\n5\t1\tX\n", "\t")
    assert games_of(columns) == [(7, 5, 0.0, 1.0)]
    assert columns.players.dtype == np.int64
    columns = read("player,bob,cyd\nann,1,=\nbob,,0\ncyd,,\n")
    assert (columns.problems, columns.notes) == ((), ())
    assert len(columns.points) == 3


HEADED = "must be headed by the name or the number of a player"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "player,ann,bob,carl\nann,X,1,1\nbob,0,X,1\ncyd,0,0,X\n",
            (None, "carl", HEADED, "'carl'"),
        ),
        ("player,1,2,3\nann,X,1,1\nbob,0,X,1\n", (None, "3", HEADED, "'3'")),
        (
            "player,ann,bob,2\nann,X,1,1\nbob,0,X,\n",
            (None, "2", "must be the only column of its player", "'bob' and '2' for 'bob'"),
        ),
        (
            "player,1,2\nann,X,1\nann,0,X\n",
            (3, "player", "must be the name of only one player", "'ann'"),
        ),
        (
            "player,ann,bob\nann,1,1\nbob,0,-\n",
            (2, "ann", "must be blank, - or X where a player's row meets their own column", "'1'"),
        ),
        ("player,1,2\nann,X,1\n,0,X\n", (3, "player", "must not be empty", "nothing")),
        ("player,elo,1,2\nann,high,X,1\nbob,1,0,X\n", (2, "elo", "must be a number", "'high'")),
        (
            "player,1,2\nann,X,1\nbob,0,X,5\n",
            (3, "", "must have 3 fields like the header", "4: 'bob,0,X,5'"),
        ),
    ],
)
def test_problems_of_rows_and_columns(text: str, problem: tuple[Any, ...]) -> None:
    assert told(read(text).problems) == [problem]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("team,1,2\nann,X,1\n", "must have a column player or name; got columns 'team, 1, 2'"),
        ("player,1,2\n", "must have a row for each player; got no rows"),
        ("player,elo\nann,5\n", "must have a column for each player, headed by their name"),
        ("", "must have a header and at least one row"),
    ],
)
def test_what_is_no_cross_table_is_refused(text: str, words: str) -> None:
    with pytest.raises(InvalidDataError) as caught:
        read(text)
    assert words in str(caught.value)


# Notes.


DIFFER = (
    "points of 1 of 2 players differ from the sum of their results (the first on line 2: 2 instead "
    "of 1); results count, not points"
)


@pytest.mark.parametrize(
    ("text", "points", "notes"),
    [
        ("player,1,2,points\nann,X,1,2\nbob,0,X,0\n", [1.0], (DIFFER,)),
        # Wins by forfeit count, and a half may be written in two ways.
        ('player,1,2,3,pts\na,X,+,\u00bd,1\u00bd\nb,-,X,1,1\nc,=,0,X,"0,5"\n', [0.5, 1.0], ()),
        (
            "player,1,2,3\na,X,1,1\nb,0,X,\nc,0,1,X\n",
            [1.0, 1.0, 0.0],
            ("1 of 3 pairings is on only one side of the table",),
        ),
    ],
)
def test_totals_and_pairings_that_differ_are_noted_and_results_count(text, points, notes):
    columns = read(text)
    assert columns.notes == notes
    assert columns.points.tolist() == points


# Which tables these are.


@pytest.mark.parametrize(
    ("header", "players", "answer"),
    [
        (["player", "1", "2", "3"], ["a", "b", "c"], True),
        (["player", "elo", "b", "c", "d", "pts"], ["a", "b", "c", "d"], True),
        (["", "a", "b"], ["a", "b"], True),
        (["no", "name", "#1", "#2", "3."], ["a", "b", "c"], True),
        (["white", "black", "result"], ["a", "b", "c"], False),
        (["player", "opponent", "points", "games"], ["a", "b"], False),
        (["player", "1", "2", "3"], ["a", "b", "c", "d", "e"], False),
        (["match", "player", "rank"], ["1", "1", "2"], False),
        (["player", "1"], ["a"], False),
        ([], [], False),
    ],
)
def test_a_cross_table_is_known_by_its_headings(header, players, answer):
    assert looks_like_cross_table(header, players) is answer


# Tables drawn at random.

RESULTS = {1.0: ["1", "1.0"], 0.0: ["0", "0.0"], 0.5: ["\u00bd", "=", "0.5", "1/2"]}


@given(st.data())
@settings(deadline=None)
def test_a_random_table_comes_back(data: st.DataObject) -> None:
    """Any number of games a pair, full or half, by names or by numbers, commas or tabs."""
    count = data.draw(st.integers(2, 7))
    names = [f"P {letter}" for letter in data.draw(st.permutations("abcdefg"))[:count]]
    half = data.draw(st.sampled_from(["", "above", "below"]))
    cells = [["X" if one == other else "" for other in range(count)] for one in range(count)]
    expected = []
    for one in range(count):
        for other in range(one + 1, count):
            points = data.draw(st.lists(st.sampled_from([1.0, 0.0, 0.5]), max_size=3))
            expected += [(names[one], names[other], point, 1.0) for point in points]
            mine = [data.draw(st.sampled_from(RESULTS[point])) for point in points]
            theirs = [data.draw(st.sampled_from(RESULTS[1 - point])) for point in points]
            if half != "below":
                cells[one][other] = " ".join(mine)
            if half != "above":
                cells[other][one] = " ".join(theirs)
    headings = data.draw(st.sampled_from([names, [str(at + 1) for at in range(count)]]))
    delimiter = data.draw(st.sampled_from([",", "\t"]))
    rows = [[name, *row] for name, row in zip(names, cells, strict=True)]
    columns = read(written([["player", *headings], *rows], delimiter), delimiter)
    assert (columns.problems, columns.notes) == ((), ())
    assert games_of(columns) == expected
