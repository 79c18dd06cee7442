"""More tables of two sides: winner and loser, team 1 and team 2, scores in one column or two."""

from __future__ import annotations

from typing import Any

import pytest

import equipoise as eq
from equipoise.errors import Problem
from equipoise.formats.games.rows import RESULT

#: ann beats bob, bob beats cyd, cyd and ann draw.
FIRST, SECOND = ["ann", "bob", "cyd"], ["bob", "cyd", "ann"]
WON = ["1-0", "1-0", "1/2-1/2"]


def ranks(history: eq.History) -> list[int]:
    return history.rank.tolist()


def names_of(history: eq.History) -> list[str]:
    return history.player_ids[history.player].tolist()


@pytest.mark.parametrize(
    "sides",
    [
        ("Team 1", "Team 2"),
        ("team_a", "team_b"),
        ("HomeTeamName", "AwayTeamName"),
        ("player1_name", "player2_name"),
        ("home_player", "away_player"),
    ],
)
def test_more_names_of_sides(sides: tuple[str, str]) -> None:
    table = {sides[0]: FIRST, sides[1]: SECOND, "result": WON}
    history = eq.read_history(table)
    assert names_of(history) == ["ann", "bob", "bob", "cyd", "cyd", "ann"]
    assert ranks(history) == [0, 1, 0, 1, 0, 0]
    assert eq.read_games(table).points.tolist() == [1.0, 1.0, 0.5]


@pytest.mark.parametrize(
    ("sides", "scores"),
    [
        (("home", "away"), ("home_points", "away_points")),
        (("HomeTeam", "AwayTeam"), ("FTHG", "FTAG")),
        (("team1", "team2"), ("score1", "score2")),
        (("Team A", "Team B"), ("Goals A", "Goals B")),
        (("home_team", "away_team"), ("scoreHome", "scoreAway")),
        (("player1_name", "player2_name"), ("player1_score", "player2_score")),
    ],
)
def test_more_names_of_scores(sides: tuple[str, str], scores: tuple[str, str]) -> None:
    table: dict[str, list[Any]] = {sides[0]: FIRST, sides[1]: SECOND}
    table |= {scores[0]: [3, 2, 1], scores[1]: [0, 1, 1]}
    reading = eq.scan_history(table)
    assert reading.history is not None, reading.problems
    assert ranks(reading.history) == [0, 1, 0, 1, 0, 0]
    assert reading.history.attributes["score"].tolist() == [3, 0, 2, 1, 1, 1]


def test_a_result_decides_where_it_did_before() -> None:
    """Scores under more names are columns like any other if there is a result."""
    table = {
        "home": ["a"],
        "away": ["b"],
        "result": ["0-1"],
        "home_points": [9],
        "away_points": [1],
    }
    history = eq.read_history(table)
    assert ranks(history) == [1, 0]
    assert history.attributes["home_points"].tolist() == [9, 9]


@pytest.mark.parametrize("names", [("winner", "loser"), ("Winner Name", "Loser Name")])
def test_winner_and_loser_need_no_result(names: tuple[str, str]) -> None:
    """Ids that look like results are ids, and a score beside them decides nothing."""
    table = {names[0]: [0, 1, 2], names[1]: [1, 2, 0], "score": ["6-4 6-3", "W/O", "7-5"]}
    reading = eq.scan_history(table)
    assert reading.history is not None, reading.problems
    assert names_of(reading.history) == [0, 1, 1, 2, 2, 0]
    assert ranks(reading.history) == [0, 1] * 3
    assert eq.read_games(table).points.tolist() == [1.0, 1.0, 1.0]


def test_winner_and_loser_beside_other_sides_decide_nothing_new() -> None:
    table = {"white": ["a"], "black": ["b"], "winner": ["b"], "loser": ["a"]}
    assert ranks(eq.read_history(table)) == [1, 0]
    long = {"match": [1, 1], "player": ["a", "b"], "winner": ["b", "b"], "loser": ["a", "a"]}
    assert eq.scan_history(long).kind == "history"
    assert eq.scan_games(long).kind == "history"
    lonely = {"match": [1], "winner": ["a"]}
    assert [one.field for one in eq.scan_history(lonely).problems] == ["player"]


@pytest.mark.parametrize(
    "scores", [["2-1", "3:0", "0 - 0"], ["1-0", "2\u20131", "1-1"], ["2.5-1.5", "3,5-0,5", "2-2"]]
)
def test_scores_in_one_column_decide(scores: list[str]) -> None:
    table = {"home": FIRST, "away": SECOND, "score": scores}
    reading = eq.scan_history(table)
    assert reading.history is not None, reading.problems
    assert ranks(reading.history) == [0, 1, 0, 1, 0, 0]
    assert reading.notes[-1] == "score has the scores of both sides: the higher one wins"
    assert eq.read_games(table).points.tolist() == [1.0, 1.0, 0.5]


def problem_of(table: dict[str, list[Any]]) -> Problem:
    (problem,) = eq.scan_history(table).problems
    return problem


def test_scores_need_to_be_scores_on_all_rows() -> None:
    table = {"home": FIRST, "away": SECOND, "score": ["2-1", "3-0", "later"]}
    assert len(eq.scan_history(table).problems) == 3
    chess = {"white": ["a", "b"], "black": ["b", "a"], "result": ["1-0", "2-1"]}
    assert (problem_of(chess).line, problem_of(chess).rule) == (2, RESULT)


def test_results_of_chess_stay_results() -> None:
    """Where all values are results, 0-0 is a forfeit, as before."""
    reading = eq.scan_games({"home": FIRST, "away": SECOND, "result": ["1-0", "0-1", "0-0"]})
    assert reading.left_out == {"forfeit": 1}


def test_short_names_of_scores_results_and_rounds_are_known() -> None:
    football = eq.scan_history({"Home": FIRST, "Away": SECOND, "HG": [2, 1, 0], "AG": [0, 3, 0]})
    assert football.history is not None, football.problems
    assert ranks(football.history) == [0, 1, 1, 0, 0, 0]
    chess = {"Rd.": [1, 1, 2], "White": FIRST, "Res.": ["1-0", "0-1", "1/2-1/2"], "Black": SECOND}
    reading = eq.scan_history(chess)
    assert reading.history is not None, reading.problems
    assert ranks(reading.history) == [0, 1, 1, 0, 0, 0]
    assert reading.columns["round"] == "Rd."


@pytest.mark.parametrize(
    "sides", [("left", "right"), ("player_1", "player_2"), ("Model A", "Model B")]
)
def test_renamed_sides_are_valid_results(sides: tuple[str, str]) -> None:
    """The names that `columns` gives the sides win, as do those of their columns."""
    first, second = sides
    rows = {
        "one": ["ann", "ben", "cid", "ann", "ann"],
        "two": ["ben", "cid", "ann", "cid", "ben"],
        "vote": [first, "tie", second.upper(), "one", "two"],
    }
    history = eq.read_history(rows, columns={first: "one", second: "two", "winner": "vote"})
    assert history.rank.tolist() == [0, 1, 0, 0, 1, 0, 0, 1, 1, 0]
