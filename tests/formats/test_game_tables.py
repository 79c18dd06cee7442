"""Lists of games: results in every spelling, columns under many names, every rule."""

from __future__ import annotations

import re

import numpy as np
import polars as pl
import pytest

import equipoise.data.games as rules
from equipoise.errors import InvalidParameterError
from equipoise.formats.games.reading import read_games, scan_games
from equipoise.formats.games.two_sides import RESULT
from equipoise.formats.tables.values import NOT_EMPTY, NUMBER
from equipoise.formats.times import TIME
from formats.reading_games import problems, rows, rows_of, scan

#: Hints are checked as they are typed on the command line.
pytestmark = pytest.mark.usefixtures("options_in_messages")


@pytest.mark.parametrize(
    ("points", "spellings"),
    [
        (1.0, "1-0 | 1 - 0 | 1:0 | 1\u20130 | 1.0-0.0 | 1 | 1.0 | white | White | Win"),
        (0.0, "0-1 | 0:1 | 0\u22121 | 0 | 0.0 | black | loss"),
        (0.5, "1/2-1/2 | \u00bd-\u00bd | \u00bd\u2013\u00bd | 1/2 | \u00bd | 0.5-0.5 | 0.50 | .5"),
        (0.5, '"0,5" | = | draw | Tie | tie (bothbad)'),
    ],
)
def test_a_result_is_known_in_many_spellings(points: float, spellings: str) -> None:
    for spelling in spellings.split(" | "):
        text = f"white,black,result\na,b,{spelling}\n"
        assert rows(text) == [("a", "b", points, 1.0)], spelling


@pytest.mark.parametrize(
    ("reason", "spellings"),
    [
        ("unfinished", "* | ? | *-*"),
        ("forfeit", "+/- | -/+ | -/- | +- | +:- | -- | 1-0F | 0F-1 | 0f-0f | + | 1-0 ff | 0-0"),
        ("bye", "bye | BYE"),
        ("adjudged", "1/2-0 | 0-\u00bd"),
    ],
)
def test_what_was_not_played_is_left_out_and_counted(reason: str, spellings: str) -> None:
    """READINGS C6: byes, forfeits and unplayed games are not games."""
    for spelling in spellings.split(" | "):
        reading = scan(f"white,black,result\na,b,1-0\nc,a,{spelling}\n")
        assert reading.problems == (), spelling
        assert reading.left_out == {reason: 1}, spelling
        assert rows_of(reading.games) == [("a", "b", 1.0, 1.0)]
        # Who has no game is still a player of the tournament.
        assert reading.games.player_ids.tolist() == ["a", "b", "c"]
        assert reading.games.played().tolist() == [1.0, 1.0, 0.0]


def test_byes_and_forfeits_of_a_list_count_in_its_rounds() -> None:
    """With their points, as those of a report do; who has no row in a round is unknown there."""
    rows = (
        "1,a,b,1-0 1,c,d,½-½ 2,a,c,+- 2,b,bye,1 3,a,d,0-0 3,bye,c,½ 3,b,bye,0 4,d,b,+/- 4,bye,a,1"
    )
    lines = "\n".join(["round,white,black,result", *rows.split(" ")])
    rounds = scan(lines).games.rounds
    kinds = [[rules.ROUND_KINDS[kind] for kind in row] for row in rounds.kind.tolist()]
    assert kinds == [
        ["played", "forfeit-win", "forfeit-loss", "pairing-bye"],
        ["played", "pairing-bye", "zero-bye", "forfeit-loss"],
        ["played", "forfeit-loss", "half-bye", "unknown"],
        ["played", "unknown", "forfeit-loss", "forfeit-win"],
    ]
    assert rounds.scored().tolist() == [3.0, 1.0, 1.0, 1.5]
    assert rounds.opponent[:, 1].tolist() == [2, -1, 0, -1]
    # Without rounds there are none, and a forfeit that nobody won is unknown.
    assert scan("white,black,result\na,b,1-0\nb,a,+:-\n").games.rounds is None
    doubtful = scan("round,white,black,result\n1,a,b,1-0\n2,b,a,forfeit\n").games.rounds
    assert doubtful.kind[:, 1].tolist() == [rules.KIND["unknown"]] * 2


@pytest.mark.parametrize(
    "result", ["", "2-0", "1-1", "x", "1-", "0.7", "01-Jan", "-1", "nan", "1/2-1", "1e0"]
)
def test_anything_else_is_no_result(result: str) -> None:
    [problem] = problems(f"white,black,result\na,b,1-0\nc,a,{result}\n")
    got = repr(result) if result else "nothing"
    assert problem == f"3 result: {RESULT}; {got}"


def test_columns_can_be_renamed() -> None:
    text = "Weiss,Schwarz,Ergebnis,black\na,b,1-0,x\n"
    names = {"white": "Weiss", "black": "Schwarz", "result": "Ergebnis"}
    assert rows(text, columns=names) == [("a", "b", 1.0, 1.0)]
    with pytest.raises(
        InvalidParameterError, match=r"must name a column of the table.*did you mean"
    ):
        scan(text, columns={"white": "Wei\u00df"})


def test_of_two_columns_for_one_meaning_none_is_guessed() -> None:
    assert problems("White,white,black,result\na,a,b,1-0\n") == [
        "None White: must be the name of only one column; White, white; choose "
        "--column white=White or --column white=white"
    ]
    assert problems("white,black,result,points\na,b,1-0,1\n") == [
        "None points: cannot be combined with result: only one of the two can decide a game; "
        "points and result; --column unused=points makes points a column like any other"
    ]
    text = "white,black,result,points\na,b,1-0,1\n"
    assert rows(text, columns={"unused": "points"}) == [("a", "b", 1.0, 1.0)]
    # A renamed column is the one that was meant.
    text = "White,white,black,result\na,x,b,1-0\n"
    assert rows(text, columns={"white": "White"}) == [("a", "b", 1.0, 1.0)]


def test_a_table_that_fits_nothing_says_what_each_kind_would_need() -> None:
    found = problems("white,opponent,result\na,b,1-0\n")
    assert [one.partition(";")[2] for one in found] == [
        " no black, but columns white, opponent, result; --column black=NAME says which column it "
        "is",
        " no player; --column player=NAME says which column it is",
        " no match, no player, no rank",
    ]
    assert found[0].startswith("None : must have white, black and result (or points, or")


def test_a_wide_table_is_named_by_its_first_columns() -> None:
    names = [f"statistic_{number}" for number in range(60)]
    found = problems(f"{','.join(names)}\n{','.join(['1'] * 60)}\n")
    assert " and 51 more" in found[0]
    assert max(map(len, found)) < 320


def test_points_and_games_of_a_row_are_totals() -> None:
    text = "white,black,points,games\na,b,2.5,4\nb,c,0,1\n"
    assert rows(text) == [("a", "b", 2.5, 4.0), ("b", "c", 0.0, 1.0)]
    assert rows("white,black,points\na,b,0.25\n") == [("a", "b", 0.25, 1.0)]


def test_a_weight_multiplies_points_and_games() -> None:
    """READINGS C6: weighted games (real w) are allowed; an empty weight is 1."""
    text = "white,black,result,weight\na,b,1/2,0.5\nb,c,1-0,\nc,a,0-1,3\n"
    reading = scan(text)
    assert rows_of(reading.games) == [("a", "b", 0.25, 0.5), ("b", "c", 1.0, 1.0), ("c", "a", 0, 3)]
    assert reading.games.draws.tolist() == [0.5, 0.0, 0.0]


@pytest.mark.parametrize(
    ("text", "draws"),
    [
        ("white,black,result\na,b,1/2\nb,c,1-0\n", [1.0, 0.0]),
        ("white,black,points,games\na,b,2,4\n", None),
        ("white,black,points,games,draws\na,b,2,4,2\n", [2.0]),
    ],
)
def test_draws_are_known_where_results_tell_them(text: str, draws: list[float] | None) -> None:
    games = scan(text).games
    assert (None if games.draws is None else games.draws.tolist()) == draws


def test_unrated_players_are_written_in_many_ways() -> None:
    given = ["", "0", "-", "?", "unrated", "N/A", "NaN", "--"]
    text = "white,black,result,white_elo,black_elo\n" + "".join(
        f"p{at},q,1-0,{rating},2000\n" for at, rating in enumerate(given)
    )
    reading = scan(text)
    assert reading.problems == ()
    initial = dict(zip(reading.games.player_ids, reading.games.initial, strict=True))
    assert initial.pop("q") == 2000.0
    assert np.isnan(list(initial.values())).all()


@pytest.mark.parametrize(
    ("header", "row", "problem"),
    [
        ("white,black,result", "a,a,1-0", f"black: {rules.OTHER}; 'a'"),
        ("white,black,result", ",b,1-0", f"white: {NOT_EMPTY}; nothing"),
        ("white,black,result", "b, ,1-0", f"black: {NOT_EMPTY}; ' '"),
        ("white,black,points", "a,b,1.5", f"points: {rules.POINTS}; '1.5'"),
        ("white,black,points", "a,b,-1", f"points: {rules.POINTS}; '-1'"),
        ("white,black,points", "a,b,", f"points: {NUMBER}; nothing"),
        ("white,black,points", "a,b,win", f"points: {NUMBER}; 'win'"),
        ("white,black,points,games", "a,b,5,4", f"points: {rules.POINTS}; '5'"),
        ("white,black,points,games", "a,b,0,0", f"games: {rules.WEIGHT}; '0'"),
        ("white,black,points,games", "a,b,0,", f"games: {NUMBER}; nothing"),
        ("white,black,points,games,draws", "a,b,1,2,3", f"draws: {rules.DRAWS}; '3'"),
        ("white,black,result,weight", "a,b,1-0,-2", f"weight: {rules.WEIGHT}; '-2'"),
        ("white,black,result,weight", "a,b,1-0,0", f"weight: {rules.WEIGHT}; '0'"),
        ("white,black,result,weight", "a,b,1-0,inf", "weight: must be a finite number; 'inf'"),
        ("white,black,result,WhiteElo", "a,b,1-0,abc", f"WhiteElo: {NUMBER}; 'abc'"),
        ("white,black,result,WhiteElo", "a,b,1-0,1e9", f"WhiteElo: {rules.RATING}; '1e9'"),
    ],
)
def test_every_rule_has_its_line(header: str, row: str, problem: str) -> None:
    good = {"draws": "x,y,1,1,0", "result": "x,y,1", "points": "x,y,1"}.get(
        header.rpartition(",")[2], "x,y,1,1"
    )
    assert problems(f"{header}\n{good}\n\n{row}\n") == [f"4 {problem}"]


def test_a_bye_needs_no_opponent() -> None:
    text = (
        "white,black,result\n1,2,1-0\n3,,bye\n2,Not paired,1-0\nspielfrei,1,0-1\n,3,bye\n2,--,+\n"
    )
    reading = scan(text)
    assert reading.problems == ()
    assert reading.left_out == {"bye": 5}
    assert reading.games.player_ids.tolist() == [1, 2, 3]
    assert problems("white,black,result\na,b,1\n,,bye\n") == [
        f"3 white: {NOT_EMPTY}; nothing",
        f"3 black: {NOT_EMPTY}; nothing",
    ]


def test_ids_keep_their_type_and_numbers_need_numbers_on_both_sides() -> None:
    assert rows("white,black,result\n7,8,1-0\n8,9,0-1\n")[0][:2] == (7, 8)
    assert rows("white,black,result\n7,x,1-0\n")[0][:2] == ("7", "x")
    assert rows("white,black,result\n7,08,1-0\n")[0][:2] == ("7", "08")
    frame = pl.DataFrame({"white": [7, 8], "black": ["x", "7"], "result": [1, 0]})
    assert [row[:2] for row in rows_of(read_games(frame))] == [("7", "x"), ("8", "7")]
    whole = frame.with_columns(pl.Series("black", [9, 7], dtype=pl.UInt8))
    assert [row[:2] for row in rows_of(read_games(whole))] == [(7, 9), (8, 7)]


def test_games_can_be_chosen_by_any_column() -> None:
    text = "white,black,result,Event,round\na,b,1-0,Cup,1\nc,d,x,Open,1\nb,a,0-1,Cup,2\n"
    reading = scan(text, where={"event": "Cup"})
    assert reading.problems == ()  # what is not asked for is not judged
    assert reading.left_out == {"filtered": 1}
    assert reading.games.player_ids.tolist() == ["a", "b"]
    assert len(rows(text, where={"Event": "Cup", "round": "2"})) == 1
    assert len(rows(text, columns={"stage": "Event"}, where={"stage": "Cup"})) == 2
    with pytest.raises(InvalidParameterError, match=r"where .* must name a column .*; got 'place'"):
        scan(text, where={"place": "x"})
    none = scan(text, where={"Event": "Nowhere"})
    assert none.games is None
    assert str(none.problems[0]).endswith("must hold at least one game; got none, but 3 filtered")


def test_games_can_be_chosen_by_time() -> None:
    text = "white,black,result,Date\na,b,1-0,2024-01-01\nb,a,1-0,2024-02-01\na,b,1-0,2024-03-01\n"
    assert scan(text, since="2024-01-15", until="2024-03-01").left_out == {"filtered": 2}
    bad = text.replace("2024-02-01", "May")
    assert problems(bad, since="2024-01-15") == [f"3 Date: {TIME}; 'May'"]


def test_rows_that_cannot_be_taken_apart_are_told_whatever_is_asked_for() -> None:
    text = "white,black,result,event\na,b,1-0,Cup\na,b\n"
    assert problems(text, where={"event": "Cup"}) == [
        "3 : must have 4 fields like the header; 2: 'a,b'"
    ]


def test_results_are_numbers_in_tables_that_have_numbers() -> None:
    for results in ([1, 0, 1], [1.0, 0.5, 0.0], np.array([0.5, 1, 0])):
        table = {"white": ["a", "b", "c"], "black": ["b", "c", "a"], "result": results}
        assert read_games(table).points.tolist() == [float(one) for one in results]
    wrong = scan_games({"white": ["a"], "black": ["b"], "result": [[1]]})
    assert [one.rule for one in wrong.problems] == [RESULT]


def test_every_result_that_the_rule_offers_is_one() -> None:
    offered = re.findall(r"[\d.*+][\d./F*-]*", RESULT)
    assert offered == ["1-0", "0-1", "1/2-1/2", "1", "0", "0.5", "+/-", "1-0F", "*"]
    for spelling in offered:
        assert scan(f"white,black,result\na,b,1-0\na,b,{spelling}\n").problems == (), spelling
