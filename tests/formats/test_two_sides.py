"""Tables with a row for each game: their sides, results and times."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import equipoise as eq
from equipoise.cli import run
from equipoise.errors import InvalidParameterError
from equipoise.formats.two_sides import RESULT
from formats.comparing import of_text, real_data, results_of, results_of_games, rows_of

#: Hints are checked as they are typed on the command line.
pytestmark = pytest.mark.usefixtures("options_in_messages")

#: ann beats bob, bob beats cyd, cyd and ann draw: by results, and by scores.
ROUND = "ann>bob; bob>cyd; cyd=ann"
RESULTS = "ann,bob,1-0\nbob,cyd,1-0\ncyd,ann,1/2-1/2\n"
SIDES = (
    *("Team 1,Team 2", "team_a,team_b", "HomeTeamName,AwayTeamName"),
    *("player1_name,player2_name", "home_player,away_player"),
    *("white_player,black_player", "WhiteName,BlackName", "WHITE , black", "Player A,Player B"),
)
SIDES_AND_SCORES = (
    *("home,away,home_points,away_points", "HomeTeam,AwayTeam,FTHG,FTAG"),
    *("home,visitor,hgoal,vgoal", "Home,Away,HG,AG", "team1,team2,score1,score2"),
    *("home,guest,home_goals,guest_goals", "player 1,player 2,sets 1,sets 2"),
    *("Team A,Team B,Goals A,Goals B", "home_team,away_team,scoreHome,scoreAway"),
    "player1_name,player2_name,player1_score,player2_score",
)
SCORES = "ann,bob,3,0\nbob,cyd,2,1\ncyd,ann,1,1\n"


def problems_of(text: str) -> list[tuple[int | None, str, str]]:
    reading = of_text(text)
    assert reading.history is None
    return [(one.line, one.field, one.got) for one in reading.problems]


@pytest.mark.parametrize(
    ("text", "results"),
    [
        ("White,Black,points\n1,2,0\n2,3,0.5\n", "2>1; 2=3"),
        ("home,away,result\na,b,H\nb,a,D\na,b,A\n", "a>b; b=a; b>a"),
        ("Rd.,White,Res.,Black\n1,ann,1-0,bob\n1,bob,0-1,cyd\n", "ann>bob; cyd>bob"),
        *((f"{sides},result\n{RESULTS}", ROUND) for sides in SIDES),
        *((f"{header}\n{SCORES}", ROUND) for header in SIDES_AND_SCORES),
        # Scores under such names are columns like any other if there is a result.
        ("home,away,result,home_points,away_points\na,b,0-1,9,1\n", "b>a"),
        ("HomeTeam;AwayTeam;FTHG;FTAG;FTR\na;b;2;1;H\nb;a;0;0;D\n", "a>b; b=a"),
        # Ids such as 0 are no results, and the scores of tennis decide nothing.
        ("winner,loser,score\n0,1,6-4 6-2\n2,0,W/O\n", "0>1; 2>0"),
        ("Winner_Name,Loser_Name\n0,1\n2,0\n", "0>1; 2>0"),
        ("white,black,winner,loser\na,b,b,a\n", "b>a"),
    ],
)
def test_names_of_sides_results_and_scores(text: str, results: str) -> None:
    """FTHG and FTAG are those of football-data.co.uk, hgoal and vgoal of engsoccerdata."""
    reading = of_text(text)
    assert results_of(reading.history) == results
    assert results_of_games(eq.read_games(text.encode(), format="csv")) == results


@pytest.mark.parametrize(
    ("sides", "coloured"),
    [
        *(("white,black", True), ("WhiteName,BlackName", True), ("home_team,away_team", True)),
        *(("player1,player2", False), ("Player A,Player B", False)),
    ],
)
def test_only_white_and_home_have_an_advantage(sides: str, coloured: bool) -> None:
    games = eq.read_games(f"{sides},result\na,b,1-0\n".encode(), format="csv")
    assert games.coloured is coloured


def test_white_and_black_home_and_away_are_matches_with_a_side() -> None:
    reading = of_text("round,white,black,result\n1,ann,ben,1-0\n2,ben,ann,½-½\n")
    assert rows_of(reading.history) == [(1, "ann", 0), (1, "ben", 1), (2, "ben", 0), (2, "ann", 0)]
    assert reading.history.attributes["side"].tolist() == ["white", "black"] * 2
    assert reading.history.order.tolist() == [1, 2]
    assert reading.notes == (
        "read 2 games of white and black as matches; side says who has white",
        "round is the order of the matches, and no days are counted",
    )
    reading = of_text(
        "date,home_team,away_team,home_score,away_score,neutral,cup\n"
        "2020-02-01,b,a,0,0,TRUE,x\n2020-01-01,a,b,10,9,NA,y\n2030-01-01,a,b,NA,NA,FALSE,y\n"
    )
    history = reading.history
    assert rows_of(history) == [(2, "a", 0), (2, "b", 1), (1, "b", 0), (1, "a", 0)]
    assert history.attributes["side"].tolist() == ["home", "away", "neutral", "neutral"]
    assert history.attributes["score"].tolist() == [10, 9, 0, 0]
    assert history.attributes["cup"].tolist() == ["y", "y", "x", "x"]
    assert history.time_kind == "date"
    assert reading.notes[:2] == (
        "read 2 games of home_team and away_team as matches; side says who is at home "
        "(1 on neutral ground)",
        "rows that are no games are left out: 1 unfinished",
    )


@pytest.mark.parametrize("time", ["tstamp", "Played At", "match_date", "start_time", "utcDate"])
def test_battles_of_models_have_no_side_and_times_with_fractions(time: str) -> None:
    reading = of_text(
        f"model_a,model_b,winner,{time}\ngpt,claude,model_b,1682351593\n"
        "llama,gpt,tie (bothbad),1682351591.1322\ngpt,llama,gpt,1682351592.5\n"
    )
    assert results_of(reading.history) == "llama=gpt; gpt>llama; claude>gpt"
    assert reading.history.time.tolist()[:2] == [1_682_351_591_132_200, 1_682_351_592_500_000]
    assert "side" not in reading.history.attributes
    assert reading.notes == (
        "read 3 games of model_a and model_b as matches",
        "tie (bothbad) counts as a tie: 1 row",
    )


@pytest.mark.parametrize(
    "sides", [("left", "right"), ("player_1", "player_2"), ("Model A", "Model B")]
)
def test_renamed_sides_are_valid_results(sides: tuple[str, str]) -> None:
    """The names that `columns` gives the sides win, as do those of their columns."""
    first, second = sides
    votes = f"ann,ben,{first}\nben,cid,tie\ncid,ann,{second.upper()}\nann,cid,one\nann,ben,two\n"
    columns = {first: "one", second: "two", "winner": "vote"}
    reading = of_text(f"one,two,vote\n{votes}", columns=columns)
    assert results_of(reading.history) == "ann>ben; ben=cid; ann>cid; ann>cid; ben>ann"


@pytest.mark.parametrize(
    "scores",
    [
        ("2-1", "3:0", "0 - 0"),
        ("02:01:00", "3:2", "1:1"),
        ("1-0", "2\u20131", "1-1"),
        ("2.5-1.5", "3.5-0.5", "2-2"),
    ],
)
def test_scores_in_one_column_decide(scores: tuple[str, str, str]) -> None:
    text = "home,away,score\nann,bob,{}\nbob,cyd,{}\ncyd,ann,{}\n".format(*scores)
    reading = of_text(text)
    assert results_of(reading.history) == ROUND
    assert reading.notes[-1] == "score has the scores of both sides: the higher one wins"
    # A value that is no score is the only fault.
    assert problems_of(text.replace(scores[2], "later")) == [(4, "score", "'later'")]


def test_scores_decide_before_results_and_results_of_chess_stay_results() -> None:
    text = "player 1,player 2,score\nann,bob,3:2\nbob,cyd,1:0\ncyd,ann,w/o\ncyd,ann,1:1\n"
    reading = of_text(text)
    assert results_of(reading.history) == ROUND
    # A slip among results of chess does not make them scores.
    slip = "player 1,player 2,score\na,b,1-0\nb,a,1-0\na,b,0-1\nb,a,=\nb,a,2-1\n"
    assert problems_of(slip) == [(6, "score", "'2-1'")]
    text = "white,black,white_score,black_score,result\nann ,bob,2,1,0-1\nbob, ann,1,1,1-0\n"
    table = pl.read_csv(text.encode()).cast({"white": pl.Categorical, "black": pl.Categorical})
    reading = eq.scan_history(table)
    assert results_of(reading.history) == "ann>bob; bob=ann"
    assert "white_score and black_score decide the places, not result" in reading.notes
    text = "home,away,result\nann,bob,1-0\nbob,cyd,0-1\ncyd,ann,0-0\n"
    assert eq.scan_games(text.encode(), format="csv").left_out == {"forfeit": 1}
    assert problems_of("white,black,result\na,b,1-0\nb,a,2-1\n") == [(3, "result", "'2-1'")]


def test_a_winner_can_be_a_player_of_the_row_and_a_long_table_stays_one() -> None:
    text = "player1,player2,winner\nann,ben,ben\nann,cid,dan\n"
    reading = of_text(text, skip_bad="matches")
    assert results_of(reading.history) == "ben>ann"
    assert [(one.line, one.field, one.rule) for one in reading.problems] == [(3, "winner", RESULT)]
    assert reading.dropped_matches == ("2",)
    text = "match,player,rank,white,black,result\n7,ann,1,x,y,0-1\n7,ben,2,x,y,0-1\n"
    reading = of_text(text)
    assert rows_of(reading.history) == [(7, "ann", 0), (7, "ben", 1)]
    assert reading.notes == (
        "read by match and player, as a history; the columns white, black decide nothing",
    )
    long = "match,player,winner,loser\n1,a,b,a\n1,b,b,a\n"
    assert of_text(long).kind == eq.scan_games(long.encode(), format="csv").kind == "history"
    assert [field for _, field, _ in problems_of("match,winner\n1,a\n")] == ["player"]


def test_problems_name_line_and_column_once_and_options_of_reading_count() -> None:
    text = (
        "white,black,result,date,weight\nann,ben,1-0,2020-01-01,1\nann,ann,1-0,2020-01-01,1\n"
        "ann,,1-0,2020-01-01,1\nann,ben,7,2020-01-01,1\nann,ben,1-0,soon,1\n"
        "ann,ben,1-0,2020-01-01,-1\nann,ben\n"
    )
    fields = ["black", "black", "result", "date", "weight", ""]
    assert [one[:2] for one in problems_of(text)] == list(enumerate(fields, start=3))
    for skip in ("matches", "rows"):
        skipped = of_text(text, skip_bad=skip)
        assert rows_of(skipped.history) == [(1, "ann", 0), (1, "ben", 1)]
        assert skipped.dropped_matches == ("2", "3", "4", "5", "6", "7")
    text = "p,q,r,day\nann,ben,1-0,2020-01-01\nAnn,cid,0-1,2021-01-01\ncid,ben,1-0,2022-01-01\n"
    columns = {"white": "p", "black": "q", "result": "r", "time": "day"}
    reading = of_text(text, columns=columns, synonyms={"Ann": "ann"}, until="2022-01-01")
    assert results_of(reading.history) == "ann>ben; cid>ann"
    wanted = of_text(text, columns=columns, where={"q": "ben"})
    assert (wanted.history.matches, wanted.filtered) == (2, 1)


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("home,away,home_goals,away_goals\na,b,x,1\na,b,1,2\n", [(2, "home_goals", "'x'")]),
        ("home,away,home_goals,away_goals\na,b,1,\na,b,1,2\n", [(2, "away_goals", "nothing")]),
        ("white,black,points\na,b,2\na,b,1\n", [(2, "points", "'2'")]),
        ("white,black,points,games\na,b,1,3\na,b,1,1\n", [(2, "games", "'3'")]),
        ("white,black,result\nann,ben,A\n", [(2, "result", "'A'")]),
        ("white,black,result\n", [(None, "", "none")]),
        ("white,black,result\nann,ben,*\n", [(None, "", "1 unfinished")]),
        ("white,black,points\nann,ben,inf\n", [(2, "points", "'inf'")]),
        ("home,away,home_score,away_score\na,b,1e999,1\n", [(2, "home_score", "'1e999'")]),
        ("home,away,result,neutral\na,b,1-0,perhaps\n", [(2, "neutral", "'perhaps'")]),
    ],
)
def test_what_cannot_be_read_is_a_problem(text: str, problems: list[Any]) -> None:
    assert problems_of(text) == problems
    of_text(text, skip_bad="rows")


@pytest.mark.parametrize(
    ("text", "kind", "columns"),
    [
        (
            "Home,Away,HG,AG,Date\nann,bob,2,1,2024-05-04\n",
            "games",
            "time=Date white=Home black=Away white_score=HG black_score=AG",
        ),
        (
            "player,opponent,score\nann,bob,1\n",
            "pairs",
            "player=player opponent=opponent points=score",
        ),
        (
            "match,player,place\n1,ann,1\n1,bob,2\n",
            "history",
            "match=match player=player rank=place",
        ),
        ("player,ann,bob\nann,X,1\nbob,0,X\n", "crosstable", ""),
    ],
)
def test_a_reading_says_what_it_is_and_which_column_is_which(text, kind, columns):
    for reading in (of_text(text), eq.scan_games(text.encode(), format="csv")):
        assert (reading.format, reading.kind) == ("csv", kind)
        assert " ".join(f"{meaning}={name}" for meaning, name in reading.columns.items()) == columns


@pytest.mark.parametrize("skip_bad", [None, "matches", "rows"])
def test_a_rule_that_all_rows_break_is_listed_once(skip_bad: str | None) -> None:
    reading = of_text("white,black,result\n" + "ann,ben,what\n" * 200, skip_bad=skip_bad)
    assert reading.history is None
    assert "the same on all 200 rows" in reading.problems[0].got


@pytest.mark.parametrize(
    ("header", "missing"),
    [
        ("foo,bar", "no match, no player"),
        ("white,black", "no result"),
        ("home,away,home_score", "no result"),
        ("model_a,winner", "no modelb"),
    ],
)
def test_a_table_of_no_kind_gets_one_sentence(header: str, missing: str) -> None:
    (problem,) = of_text(f"{header}\n{','.join('x' * len(header.split(',')))}\n").problems
    assert problem.rule.startswith("must have the columns of a history (match, player, rank)")
    assert problem.got.startswith(missing)


def test_football_by_home_and_away_has_the_bits_of_the_long_table() -> None:
    long = pl.read_parquet(real_data("football.parquet")).head(8_000)
    home, away = long.gather_every(2), long.gather_every(2, 1)
    assert home["match"].equals(away["match"])
    sides = pl.DataFrame(
        {
            "date": home["time"],
            "home_team": home["player"],
            "away_team": away["player"],
            "home_score": home["goals"],
            "away_score": away["goals"],
            "neutral": ~home["at_home"],
        }
    )
    system = eq.Elo(home_advantage=100)
    one, other = (eq.replay(system, eq.read_history(table)).ratings for table in (long, sides))
    assert one.to_polars().equals(other.to_polars())


# --- times ---


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
def test_dates_and_clock_times_are_one_time(text, options, ids, note):
    reading = of_text(text, **options)
    assert reading.history.match_ids.tolist() == ids
    assert not note or note in reading.notes


def test_dates_and_clock_times_are_taken_but_not_clock_times_alone() -> None:
    games = eq.read_games(GAMES.encode(), format="csv", since="2024-08-16T13:00")
    assert len(games.points) == 1
    assert of_text(GAMES, columns={"time": "Time"}).history is None
    text = GAMES.replace("2024-08-16", "16/08/2024").replace("2024-08-15", "15/08/2024")
    assert "--time-format '%d/%m/%Y %H:%M'" in of_text(text).problems[0].rule
    for time_format, ids in (("%d/%m/%Y %H:%M", [3, 2, 1]), ("%d/%m/%Y", [3, 1, 2])):
        assert of_text(text, time_format=time_format).history.match_ids.tolist() == ids
    goals = "home_team_id,home_goals,away_team_id,away_goals\n1,2,2,3\n"
    assert results_of(of_text(goals).history) == "2>1"
    full = "Date,Team 1,FT,Team 2\nFri Aug 10 2018,a,2-1,b\n"
    assert results_of(of_text(full, time_format="%a %b %d %Y").history) == "a>b"
    (problem,) = of_text(full).problems
    assert "--time-format '%a %b %d %Y'" in problem.rule
    games = GAMES.replace("Date", "Round").replace("2024-08-16,2", "2,2")
    games = games.replace("2024-08-16,1", "1,1").replace("2024-08-15", "1")
    rounds = of_text(games)
    assert "Time has times of day without dates, so it is left out" in rounds.notes
    assert rounds.history.order.tolist() == [1, 1, 2]
    alone = of_text("\n".join(line.partition(",")[2] for line in games.splitlines()))
    assert alone.history.time is alone.history.order is None
    assert "Time" not in alone.history.attributes
    assert of_text(games, columns={"time": "Time"}).problems[0].field == "Time"


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
    rounds = ["Q1", "1st Round", "2nd round", "RR", "R64", "R16"]
    rounds += ["Quarterfinals", "SF", "BR", "The Final"]
    rows = "".join(f"2020-01-01,a,b,{word}\n" for word in rounds[::-1])
    history = of_text(f"date,winner,loser,round\n{rows}").history
    assert history.match_ids.tolist() == list(range(len(rounds), 0, -1))


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


@pytest.mark.parametrize("word", ["group A", ""])
def test_unknown_rounds_change_nothing(word: str) -> None:
    history = of_text(TENNIS.replace("R16", word)).history
    assert history.match_ids.tolist() == [1, 2, 3, 4, 5, 6]
    assert history.time is None
