"""Times of tables of games: dates with clock times, days of tournaments with words of rounds."""

from __future__ import annotations

from typing import Any

import pytest

import equipoise as eq
from equipoise.cli import run
from equipoise.errors import InvalidParameterError
from formats.comparing import of_text, results_of

#: Hints are checked as they are typed on the command line.
pytestmark = pytest.mark.usefixtures("options_in_messages")

GAMES = (
    "Date,Time,HomeTeam,AwayTeam,FTHG,FTAG\n2024-08-16,20:00,ann,ben,1,0\n"
    "2024-08-16,12:30,ben,cid,0,0\n2024-08-15,12:30,cid,ann,2,1\n"
)
TOGETHER = "Date and Time together are the times"
DATES_ALONE = "the times are those of Date; Time, times of day, is left out"
LONG = (
    "Date,Time,Match,Player,Rank\n2024-08-16,20:00,1,ann,1\n2024-08-16,20:00,1,ben,2\n"
    "2024-08-15,12:30,2,ann,2\n2024-08-15,12:30,2,ben,1\n"
)


@pytest.mark.parametrize(
    ("text", "options", "ids", "note"),
    [
        (GAMES, {}, [3, 2, 1], TOGETHER),
        (LONG, {}, [2, 1], TOGETHER),
        (GAMES.replace("16,12:30", "16,"), {}, [3, 1, 2], DATES_ALONE),
        (GAMES, {"columns": {"time": "Date"}}, [3, 1, 2], ""),
    ],
)
def test_dates_and_clock_times_are_one_time(
    text: str, options: dict[str, Any], ids: list[int], note: str
) -> None:
    reading = of_text(text, **options)
    assert reading.history.match_ids.tolist() == ids
    assert not note or note in reading.notes


def test_games_are_selected_by_date_and_clock_time() -> None:
    games = eq.read_games(GAMES.encode(), format="csv", since="2024-08-16T13:00")
    assert len(games.points) == 1
    assert of_text(GAMES, columns={"time": "Time"}).history is None


def test_a_format_of_dates_and_one_of_both_are_taken() -> None:
    text = GAMES.replace("2024-08-16", "16/08/2024").replace("2024-08-15", "15/08/2024")
    assert "--time-format '%d/%m/%Y %H:%M'" in of_text(text).problems[0].rule
    for time_format, ids in (("%d/%m/%Y %H:%M", [3, 2, 1]), ("%d/%m/%Y", [3, 1, 2])):
        assert of_text(text, time_format=time_format).history.match_ids.tolist() == ids


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("tourney_date,winner,loser\n19800303,a,b\n19800303,b,c\n", "tourney_date"),
        ("Match,player,rank,created_at\n1,a,1,20240101\n1,b,2,20240101\n", "created_at"),
        ("match,player,rank,created_at\n1,a,1,20240101\n1,b,2,20240101\n", "created_at"),
    ],
)
def test_a_column_that_may_be_the_time_is_said(text: str, column: str) -> None:
    note = f"{column} is kept but not read as time (--column time={column} does it)"
    assert note in of_text(text).notes


def test_home_team_id_and_full_time_are_read() -> None:
    goals = "home_team_id,home_goals,away_team_id,away_goals\n1,2,2,3\n"
    assert results_of(of_text(goals).history) == "2>1"
    full = "Date,Team 1,FT,Team 2\nFri Aug 10 2018,a,2-1,b\n"
    assert results_of(of_text(full, time_format="%a %b %d %Y").history) == "a>b"
    (problem,) = of_text(full).problems
    assert "--time-format '%a %b %d %Y'" in problem.rule


def test_clock_times_without_dates_are_no_times_of_games() -> None:
    """Games stay readable: in the order of their rounds, or else in that of the file."""
    games = GAMES.replace("Date", "Round").replace("2024-08-16,2", "2,2")
    games = games.replace("2024-08-16,1", "1,1").replace("2024-08-15", "1")
    rounds = of_text(games)
    assert "Time has times of day without dates, so it is left out" in rounds.notes
    assert rounds.history.order.tolist() == [1, 1, 2]
    alone = of_text("\n".join(line.partition(",")[2] for line in games.splitlines()))
    assert alone.history.time is alone.history.order is None
    assert "Time" not in alone.history.attributes
    assert of_text(games, columns={"time": "Time"}).problems[0].field == "Time"


#: Rows as collections of tennis results have them, the final first.
TENNIS = """tourney_id,surface,tourney_date,winner_name,loser_name,score,best_of,round
A,Hard,20190107,ann,bea,6-4 6-2,3,F
A,Hard,20190107,ann,cid,6-4 3-1 RET,3,SF
A,Hard,20190107,bea,dan,W/O,3,SF
B,Clay,20181231,bea,ann,7-6(6) 6-2,3,F
B,Clay,20181231,ann,eva,6-1 6-1,3,R16
B,Clay,20181231,bea,cid,6-1 Def.,3,QF
"""


def test_the_day_of_the_tournament_and_the_round_give_the_order() -> None:
    """Ids are the rows of the file: rounds of the same day go from the first to the final."""
    reading = of_text(TENNIS)
    assert reading.history.match_ids.tolist() == [5, 6, 4, 2, 3, 1]
    day = "tourney_date is the day of the matches"
    assert f"{day}; round gives the order within a day, the final last" in reading.notes
    assert "1 walkover counted as won (--walkovers drop leaves them out)" in reading.notes
    (problem,) = of_text(TENNIS.replace("ann,eva", "ann,ann")).problems
    assert problem.line == 6


def test_walkovers_can_be_left_out(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    reading = of_text(TENNIS, walkovers="drop")
    assert reading.history.match_ids.tolist() == [5, 6, 4, 2, 1]
    assert "left out: 1 walkover" in reading.notes
    assert "2 matches ended by a retirement or default, and counted as won" in reading.notes
    (tmp_path / "tennis.csv").write_text(TENNIS)
    assert run(["rate", str(tmp_path / "tennis.csv"), "--walkovers", "drop"]) == 0
    assert "left out: 1 walkover\n" in capsys.readouterr().err
    # A table of nothing else is kept.
    rows = "winner,loser,score\na,b,W/O\n"
    assert of_text(rows, walkovers="drop").history.matches == 1
    with pytest.raises(InvalidParameterError, match="drop"):
        of_text(TENNIS, walkovers="lose")


def test_rounds_of_a_day_follow_each_other() -> None:
    """Most words of the dictionary, and ordinal numbers, from the first round to the final."""
    rounds = ["Q1", "1st Round", "2nd round", "RR", "R64", "R16"]
    rounds += ["Quarterfinals", "SF", "BR", "The Final"]
    rows = "".join(f"2020-01-01,a,b,{word}\n" for word in rounds[::-1])
    history = of_text(f"date,winner,loser,round\n{rows}").history
    assert history.match_ids.tolist() == list(range(len(rounds), 0, -1))


@pytest.mark.parametrize("word", ["group A", ""])
def test_unknown_rounds_change_nothing(word: str) -> None:
    history = of_text(TENNIS.replace("R16", word)).history
    assert history.match_ids.tolist() == [1, 2, 3, 4, 5, 6]
    assert history.time is None
