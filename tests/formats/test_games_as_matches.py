"""Tests of histories read from tables of games: white and black, home and away, two models."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import equipoise as eq
from formats.comparing import rows_of

DATA = Path(__file__).parents[2] / ".." / "shared" / "data"


def scan(text: str, tmp_path: Path, **options: object) -> eq.HistoryReading:
    path = tmp_path / "games.csv"
    path.write_text(text)
    return eq.scan_history(path, **options)  # type: ignore[arg-type]


def read(text: str, tmp_path: Path, **options: object) -> eq.History:
    history = scan(text, tmp_path, **options).history
    assert history is not None
    return history


def problems_of(reading: eq.HistoryReading) -> list[tuple[int | None, str, str]]:
    return [(one.line, one.field, one.got) for one in reading.problems]


def test_white_and_black_are_matches_with_a_side(tmp_path: Path) -> None:
    reading = scan("round,white,black,result\n1,ann,ben,1-0\n2,ben,ann,½-½\n", tmp_path)
    assert reading.history is not None
    assert rows_of(reading.history) == [(1, "ann", 0), (1, "ben", 1), (2, "ben", 0), (2, "ann", 0)]
    assert reading.history.attributes["side"].tolist() == ["white", "black"] * 2
    assert reading.history.order is not None
    assert reading.history.order.tolist() == [1, 2]
    assert reading.notes == (
        "read 2 games of white and black as matches; side says who has white",
        "round is the order of the matches, and no days are counted",
    )


def test_points_of_white_decide_single_games_only(tmp_path: Path) -> None:
    text = "White,Black,points\n1,2,0\n2,3,0.5\n"
    assert rows_of(read(text, tmp_path)) == [(1, 1, 1), (1, 2, 0), (2, 2, 0), (2, 3, 0)]
    several = scan("white,black,points,games\nann,ben,2,3\nann,ben,1,1\n", tmp_path)
    assert problems_of(several) == [(2, "points", "'2'"), (2, "games", "'3'")]


def test_home_and_away_with_scores(tmp_path: Path) -> None:
    text = (
        "date,home_team,away_team,home_score,away_score,neutral,cup\n"
        "2020-02-01,b,a,0,0,TRUE,x\n2020-01-01,a,b,10,9,FALSE,y\n2030-01-01,a,b,NA,NA,FALSE,y\n"
    )
    reading = scan(text, tmp_path)
    history = reading.history
    assert history is not None
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


def test_battles_of_models_have_no_side(tmp_path: Path) -> None:
    text = "model_a,model_b,winner\ngpt,claude,model_b\nllama,gpt,tie (bothbad)\ngpt,llama,gpt\n"
    reading = scan(text, tmp_path)
    assert reading.history is not None
    assert [rank for _, _, rank in rows_of(reading.history)] == [1, 0, 0, 0, 0, 1]
    assert "side" not in reading.history.attributes
    assert reading.notes == (
        "read 3 games of model_a and model_b as matches",
        "tie (bothbad) counts as a tie: 1 row",
    )


def test_battles_have_times_with_fractions(tmp_path: Path) -> None:
    """The column `tstamp` of published battles has seconds since 1970 with decimals."""
    text = "model_a,model_b,winner,tstamp\na,b,tie,1682351591.1322\nb,a,model_a,1682351592.5\n"
    reading = scan(text, tmp_path)
    assert reading.history is not None
    assert reading.history.time is not None
    assert reading.history.time.tolist() == [1_682_351_591_132_200, 1_682_351_592_500_000]


@pytest.mark.parametrize(
    "header", ["HomeTeam;AwayTeam;FTHG;FTAG;FTR", "home;visitor;hgoal;vgoal;result"]
)
def test_collections_of_football_have_short_names_of_scores(header: str, tmp_path: Path) -> None:
    """FTHG and FTAG are those of football-data.co.uk, hgoal and vgoal of engsoccerdata."""
    reading = scan(f"{header}\nOslo;Bergen;2;1;H\nBergen;Oslo;0;0;D\n", tmp_path)
    assert reading.history is not None
    assert [rank for _, _, rank in rows_of(reading.history)] == [0, 1, 0, 0]
    assert set(reading.history.attributes["side"]) == {"home", "away"}
    assert eq.read_games(tmp_path / "games.csv").points.tolist() == [1.0, 0.5]


def test_home_draw_and_away_are_results_of_home_and_away_only(tmp_path: Path) -> None:
    """Between models or white and black, A could be the first."""
    reading = scan("home,away,result\nOslo,Bergen,H\nBergen,Oslo,D\nOslo,Bergen,A\n", tmp_path)
    assert reading.history is not None
    assert [rank for _, _, rank in rows_of(reading.history)] == [0, 1, 0, 0, 1, 0]
    assert scan("white,black,result\nann,ben,A\n", tmp_path).history is None


@pytest.mark.parametrize("names", [("winner", "loser"), ("Winner_Name", "Loser_Name")])
def test_rows_of_winners_and_losers(names: tuple[str, str], tmp_path: Path) -> None:
    """As tables of tennis have them; ids such as 0 are no results, and scores decide nothing."""
    text = f"{','.join(names)},score\n0,1,6-4 6-2\n2,0,7-5 6-0\n"
    reading = scan(text, tmp_path)
    assert reading.history is not None
    assert rows_of(reading.history) == [(1, 0, 0), (1, 1, 1), (2, 2, 0), (2, 0, 1)]
    assert "side" not in reading.history.attributes
    games = eq.read_games(tmp_path / "games.csv")
    assert games.points.tolist() == [1.0, 1.0]


def test_a_winner_can_be_a_player_of_the_row(tmp_path: Path) -> None:
    text = "player1,player2,winner\nann,ben,ben\nann,cid,dan\n"
    reading = scan(text, tmp_path, skip_bad="matches")
    assert reading.history is not None
    assert rows_of(reading.history) == [(1, "ann", 1), (1, "ben", 0)]
    assert [(one.line, one.field) for one in reading.problems] == [(3, "winner")]
    assert reading.dropped_matches == ("2",)


def test_a_long_table_stays_one_and_says_so(tmp_path: Path) -> None:
    text = "match,player,rank,white,black,result\n7,ann,1,x,y,0-1\n7,ben,2,x,y,0-1\n"
    reading = scan(text, tmp_path)
    assert reading.history is not None
    assert rows_of(reading.history) == [(7, "ann", 0), (7, "ben", 1)]
    assert reading.notes == (
        "read by match and player, as a history; the columns white, black decide nothing",
    )


def test_problems_name_line_and_column_of_the_file_once(tmp_path: Path) -> None:
    text = (
        "white,black,result,date,weight\nann,ben,1-0,2020-01-01,1\nann,ann,1-0,2020-01-01,1\n"
        "ann,,1-0,2020-01-01,1\nann,ben,7,2020-01-01,1\nann,ben,1-0,soon,1\n"
        "ann,ben,1-0,2020-01-01,-1\nann,ben\n"
    )
    reading = scan(text, tmp_path)
    assert reading.history is None
    assert [(one.line, one.field) for one in reading.problems] == [
        (3, "black"),
        (4, "black"),
        (5, "result"),
        (6, "date"),
        (7, "weight"),
        (8, ""),
    ]
    for skip in ("matches", "rows"):
        skipped = scan(text, tmp_path, skip_bad=skip)
        assert skipped.history is not None
        assert rows_of(skipped.history) == [(1, "ann", 0), (1, "ben", 1)]
        assert skipped.dropped_matches == ("2", "3", "4", "5", "6", "7")


def test_scores_name_their_columns(tmp_path: Path) -> None:
    text = "home,away,home_goals,away_goals\na,b,x,1\na,b,1,\na,b,1,2\n"
    assert problems_of(scan(text, tmp_path)) == [
        (2, "home_goals", "'x'"),
        (3, "away_goals", "nothing"),
    ]


def test_a_rule_that_all_rows_break_is_listed_once(tmp_path: Path) -> None:
    text = "white,black,result\n" + "ann,ben,what\n" * 200
    for skip in (None, "matches", "rows"):
        reading = scan(text, tmp_path, skip_bad=skip)
        assert reading.history is None
        assert "the same on all 200 rows" in reading.problems[0].got


def test_synonyms_filters_and_names_of_columns_count(tmp_path: Path) -> None:
    text = "p,q,r,day\nann,ben,1-0,2020-01-01\nAnn,cid,0-1,2021-01-01\ncid,ben,1-0,2022-01-01\n"
    columns = {"white": "p", "black": "q", "result": "r", "time": "day"}
    history = read(text, tmp_path, columns=columns, synonyms={"Ann": "ann"}, until="2022-01-01")
    assert rows_of(history) == [(1, "ann", 0), (1, "ben", 1), (2, "ann", 1), (2, "cid", 0)]
    wanted = scan(text, tmp_path, columns=columns, where={"q": "ben"})
    assert wanted.history is not None
    assert (wanted.history.matches, wanted.filtered) == (2, 1)


def test_a_table_of_no_kind_gets_one_sentence(tmp_path: Path) -> None:
    for header, missing in (
        ("foo,bar", "no match, no player"),
        ("white,black", "no result"),
        ("home,away,home_score", "no result"),
        ("model_a,winner", "no modelb"),
    ):
        reading = scan(header + "\n" + ",".join("x" for _ in header.split(",")) + "\n", tmp_path)
        (problem,) = reading.problems
        assert problem.rule.startswith("must have the columns of a history (match, player, rank)")
        assert problem.got.startswith(missing)


@pytest.mark.parametrize(
    "text",
    [
        "white,black,result\n",
        "white,black,result\nann,ben,*\n",
        "white,black,result,points\nann,ben,1-0,1\n",
        "white,White,black,result\nann,ann,ben,1-0\n",
        "white,black,points\nann,ben,inf\n",
        "home,away,home_score,away_score\na,b,1e999,nan\n",
        "home,away,home_score,away_score,neutral\na,b,1,0,perhaps\n",
    ],
)
def test_what_cannot_be_read_is_a_problem(text: str, tmp_path: Path) -> None:
    reading = scan(text, tmp_path)
    assert reading.history is None
    assert reading.problems
    scan(text, tmp_path, skip_bad="rows")


def test_rows_in_memory_are_read_alike() -> None:
    frame = pl.DataFrame({"model_a": [1, 2], "model_b": [2, 3], "winner": ["model_a", "tie"]})
    history = eq.read_history(frame)
    assert rows_of(history) == [(1, 1, 0), (1, 2, 1), (2, 2, 0), (2, 3, 0)]


@pytest.mark.skipif(not DATA.exists(), reason="needs ../shared/data")
@pytest.mark.parametrize("name", ["elo", "glicko2"])
def test_football_by_home_and_away_has_the_bits_of_the_long_table(
    name: str, tmp_path: Path
) -> None:
    long = pl.read_parquet(DATA / "football.parquet")
    home, away = long.gather_every(2), long.gather_every(2, 1)
    assert home["match"].equals(away["match"])
    pl.DataFrame(
        {
            "date": home["time"],
            "home_team": home["player"],
            "away_team": away["player"],
            "home_score": home["goals"],
            "away_score": away["goals"],
            "neutral": ~home["at_home"],
        }
    ).write_csv(tmp_path / "football.csv")
    system = eq.Elo if name == "elo" else eq.Glicko2
    one, other = (
        eq.replay(system(home_advantage=100), eq.read_history(source)).ratings.to_polars()
        for source in (long, tmp_path / "football.csv")
    )
    assert one.equals(other)
    assert len(one) == 337


@pytest.mark.skipif(not DATA.exists(), reason="needs ../shared/data")
def test_tournaments_of_palma_are_histories() -> None:
    for name, matches in (("chess_palma1970_interzonal", 276), ("chess_palma2017_grandprix", 81)):
        history = eq.read_history(DATA / f"{name}.csv")
        assert history.matches == matches
        assert history.order is not None


@pytest.mark.parametrize("name", ["timestamp", "Played At", "match_date", "start_time", "utcDate"])
def test_times_have_the_same_names_in_tables_of_games_as_in_histories(name, tmp_path):
    path = tmp_path / "games.csv"
    path.write_text(f"model_a,model_b,winner,{name}\na,b,tie,2024-05-05\nb,a,model_a,2024-05-04\n")
    history = eq.read_history(path)
    assert [str(day) for day in history.times()] == ["2024-05-04", "2024-05-05"]
