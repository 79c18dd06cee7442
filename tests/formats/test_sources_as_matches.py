"""Tests of histories read from PGN, FIDE reports, cross tables and pairs."""

from __future__ import annotations

import io
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import equipoise as eq
from equipoise.formats import pgn_values as values
from equipoise.formats.trf import read_dates
from formats.comparing import assert_same_history, of_text, real_data, results_of, rows_of
from formats.reading_games import player_line, report
from formats.reading_games import scan as scan_games

#: Hints are checked as they are typed on the command line.
pytestmark = pytest.mark.usefixtures("options_in_messages")


Tags = dict[str, str]


def pgn(*games: Tags, moves: str = "1. e4 e5 ") -> str:
    """Return PGN of games between Ann and Ben, if their tags do not say otherwise."""
    texts = []
    for given in games:
        tags = {"White": "Ann", "Black": "Ben", "Result": "1-0"} | given
        head = "".join(f'[{tag} "{value}"]\n' for tag, value in tags.items() if value)
        texts.append(f"{head}\n{moves}{tags['Result']}\n\n")
    return "".join(texts)


def scan(text: str, **options: Any) -> eq.HistoryReading:
    return of_text(text, "pgn", **options)


def read(text: str, **options: Any) -> eq.History:
    reading = scan(text, **options)
    assert reading.history is not None, reading.problems
    return reading.history


def days_of(history: eq.History) -> list[date]:
    days: list[date] = history.to_polars()["time"].dt.date().to_list()[::2]
    return days


GAMES: Sequence[Tags] = (
    {"Event": "Open", "Date": "2024.05.02", "Round": "2", "WhiteElo": "2000", "BlackElo": "1900"},
    {"Event": "Open", "Date": "2024.05.02", "Round": "1", "Black": "Cid", "Result": "1/2-1/2"},
    {"Event": "Open", "Date": "2024.05.01", "Round": "9", "White": "Cid", "Result": "0-1"},
    {"Event": "Open", "Date": "2024.05.03", "Result": "*"},
    {"Event": "Open", "Date": "2024.05.03", "Black": "bye"},
)


def test_pgn_is_the_history_of_its_games() -> None:
    reading = scan(pgn(*GAMES))
    history = eq.read_history(
        {
            "match": [3, 3, 2, 2, 1, 1],
            "time": [date(2024, 5, day) for day in (1, 1, 2, 2, 2, 2)],
            "player": ["Cid", "Ben", "Ann", "Cid", "Ann", "Ben"],
            "rank": [2, 1, 1, 1, 1, 2],
            "side": ["white", "black"] * 3,
            "event": ["Open"] * 6,
            "round": ["9", "9", "1", "1", "2", "2"],
            "rating": [None] * 4 + [2000.0, 1900.0],
        }
    )
    pl_columns = history.to_polars().columns
    assert reading.history.to_polars().select(pl_columns).equals(history.to_polars())
    assert reading.notes == (
        "read 3 games of PGN as matches; side says who has white",
        "results that are no games are left out: 1 bye, 1 unfinished",
        "WhiteElo and BlackElo are kept in the column rating, and no rating depends on them; "
        "--initial FILE begins with those of first games",
        "times come from Date; Round gives the order within a day",
    )


@pytest.mark.parametrize("name", ["games/below/one.pgn", "games/one.pgn", "games"])
def test_pgn_is_found_by_its_content_and_in_folders(name: str, tmp_path: Path) -> None:
    text = pgn(*GAMES)
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    found = eq.read_history(tmp_path / "games")
    assert_same_history(found, eq.read_history(io.StringIO(text), format="pgn"))


def test_times_of_day_or_rounds_of_one_event_are_the_order() -> None:
    games = [
        {"UTCDate": "2024.05.02", "UTCTime": "10:00:00", "Date": "2024.05.03", "Round": "1"},
        {"UTCDate": "2024.05.02", "UTCTime": "09:59:59", "Black": "Cid", "Round": "2"},
    ]
    history = read(pgn(*games))
    assert history.match_ids.tolist() == [2, 1]
    assert history.time_kind == "datetime"
    less = scan(pgn(*games, {"UTCDate": "2024.05.02"}))
    assert less.history.time_kind == "date"
    assert less.history.match_ids.tolist() == [1, 2, 3]
    assert "1 game has no UTCDate and UTCTime, so only the day of every game counts" in less.notes
    rounds = [{"Round": "2.1", "Event": "A"}, {"Round": "1.1", "Event": "A"}]
    history = read(pgn(*rounds))
    assert (history.order.tolist(), history.match_ids.tolist()) == ([1, 2], [2, 1])
    two = scan(pgn(*rounds, {"Round": "1", "Event": "B"}))
    assert two.history.order is None
    assert two.history.match_ids.tolist() == [1, 2, 3]
    assert two.notes[-1] == (
        "no game has a complete date, so they are rated in the order of the source"
    )


@pytest.mark.parametrize("partial", ["2024.??.??", "2024.05.??", "????.??.??", "", "2024.02.30"])
def test_some_games_without_a_date(partial: str) -> None:
    days = [{"Date": "2024.05.02"}, {"Date": partial}, {"Date": "2024.05.03"}]
    ordered = scan(pgn(*days))
    assert ordered.history.time is None
    assert ordered.history.match_ids.tolist() == [1, 2, 3]
    assert any(note.startswith("1 of 3 games have no complete date") for note in ordered.notes)
    skipped = scan(pgn(*days), skip_bad="matches")
    assert skipped.history is not None
    assert days_of(skipped.history) == [date(2024, 5, 2), date(2024, 5, 3)]
    assert skipped.dropped_matches == ("2",)
    for options in ({}, {"until": "2025-01-01"}):
        found = days if options else days[::-1]
        refused = scan(pgn(*found), **options)
        assert refused.history is None
        (problem,) = refused.problems
        assert problem.field == "Date"
        assert problem.line is not None
        assert "--skip-bad" in problem.rule


def test_pgn_problems_and_skipped_games() -> None:
    games = [{}, {"Result": "7-0"}, {"Black": "Ann"}, {"Black": "Cid"}]
    text = pgn(*games)
    reading = scan(text)
    assert reading.history is None
    assert [(one.line, one.field) for one in reading.problems] == [(9, "Result"), (13, "Black")]
    skipped = scan(text, skip_bad="matches")
    assert skipped.history is not None
    assert rows_of(skipped.history) == [(1, "Ann", 0), (1, "Ben", 1), (4, "Ann", 0), (4, "Cid", 1)]
    assert skipped.dropped_matches == ("2", "3")
    merged = scan(text, skip_bad="matches", synonyms={"Cid": "Ann"})
    assert merged.history.matches == 1
    for skip in (None, "matches"):
        reading = scan(pgn({"Result": "*"}), skip_bad=skip)
        assert reading.history is None
        assert [one.got for one in reading.problems] == ["none, but 1 unfinished"]


def test_tags_select_and_become_columns() -> None:
    games = [
        {"Site": "x/1", "Date": "2024.05.01", "TimeControl": "300"},
        {"Site": "x/2", "Date": "2024.05.02", "Black": "Cid", "TimeControl": "60"},
        {"Site": "x/3", "Date": "2024.05.03", "Black": "Cid", "TimeControl": "300"},
    ]
    chosen = scan(pgn(*games), where={"TimeControl": "300"}, until="2024-05-03")
    assert (chosen.history.match_ids.tolist(), chosen.filtered) == ([1], 2)
    named = read(pgn(*games), columns={"match": "Site", "control": "TimeControl"})
    assert named.match_ids.tolist() == ["x/1", "x/2", "x/3"]
    assert named.attributes["control"].tolist() == ["300", "300", "60", "60", "300", "300"]
    twice = scan(pgn(*games, games[0]), columns={"match": "Site"})
    assert [(one.field, one.got) for one in twice.problems] == [("Site", "'x/1'")]
    times = read(
        pgn({"EventDate": "1.5.2024"}), columns={"time": "EventDate"}, time_format="%d.%m.%Y"
    )
    assert days_of(times) == [date(2024, 5, 1)]
    with pytest.raises(eq.InvalidParameterError, match="cannot rename white"):
        read(pgn(*games), columns={"white": "Site"})


def test_events_dates_and_times_of_pgn() -> None:
    names = ["Rated Blitz game", "Live Chess", "?", "Titled Tuesday", "rated rapid game x"]
    history = read(pgn(*({"Event": name} for name in names)))
    events = history.attributes["event"].tolist()[::2]
    assert events == [None, None, None, "Titled Tuesday", "rated rapid game x"]
    unknown = [None, "", "????.??.??", "1970.01.??", "1970.13.01", "1970.02.30", "01.02.1970"]
    assert values.days_of(pl.Series(unknown, dtype=pl.String)).null_count() == len(unknown)
    assert values.days_of(pl.Series(["1970.01.02", " 1969-12-31 "])).to_list() == [1, -1]
    unknown = [None, "24:00:00", "1:00", "1:60:00", "", "?"]
    assert values.seconds_of(pl.Series(unknown)).null_count() == len(unknown)
    assert values.seconds_of(pl.Series(["01:00:01.5"])).to_list() == [3601]


REPORT = (
    player_line(1, ["   3 w 1", "   2 b ="], name="Doe, Jane", rating="2310"),
    player_line(2, ["   4 b 1", "   1 w ="], name="Smith, John", rating="2250"),
    player_line(3, ["   1 b 0", "0000 - Z"], name="Roe, Ann"),
    player_line(4, ["   2 w 0", "0000 - H"], name="Poe, Eve"),
)


def dated_report(start: str = "", *rounds: str) -> str:
    """Return the report with the first day of the tournament, and those of its rounds."""
    lines = [f"042 {start}"] if start else []
    if rounds:
        lines.append("132".ljust(91) + "".join(one.ljust(10) for one in rounds))
    return report(*lines, *REPORT)


def test_a_report_is_the_history_of_its_rounds_with_their_dates() -> None:
    reading = of_text(dated_report(), "trf")
    history = reading.history
    assert rows_of(history) == [
        *((1, "Doe, Jane", 0), (1, "Roe, Ann", 1)),
        *((2, "Poe, Eve", 1), (2, "Smith, John", 0)),
        *((3, "Smith, John", 0), (3, "Doe, Jane", 0)),
    ]
    assert history.order.tolist() == [1, 1, 2]
    np.testing.assert_array_equal(history.attributes["rating"][:2], [2310, np.nan])
    assert history.attributes["event"].tolist() == ["Test"] * 6
    assert reading.notes[-1] == (
        "no game has a complete date: round is the order of the matches, and no days are counted"
    )
    only = of_text(dated_report(), "trf", where={"round": 2}).history
    assert only.matches == 1
    dated = of_text(dated_report("2024/05/01", "24/05/01", "24/05/03"), "trf")
    assert dated.history is not None
    assert days_of(dated.history) == [date(2024, 5, 1), date(2024, 5, 1), date(2024, 5, 3)]
    assert dated.notes[-1] == "times come from the dates of the rounds (line 132)"
    for rounds in ((), ("24/05/01",), ("24/05/03", "24/05/01"), ("24/05/01", "soon")):
        first = of_text(dated_report("2024/05/01", *rounds), "trf")
        assert days_of(first.history) == [date(2024, 5, 1)] * 3
        assert first.notes[-1] == (
            "times come from the first day of the tournament (line 042); round gives the order "
            "within a day"
        )
        assert first.history.match_ids.tolist() == [1, 2, 3]
    line = " " * 91 + "99/12/31  "
    assert read_dates("1999/12/30", [line]).rounds == (date(1999, 12, 31),)
    assert read_dates("", [line]).rounds == (date(2099, 12, 31),)
    assert read_dates("30.12.1999", []).start is None
    assert read_dates("1999/02/30", []).start is None


def initial_ratings(text: str, format: str) -> eq.InitialRatings:
    return eq.read_initial_ratings(io.StringIO(text), format=format)


def test_initial_ratings_are_those_of_first_games() -> None:
    games = [
        {"Date": "2024.05.02", "WhiteElo": "2100", "BlackElo": "1900"},
        {"Date": "2024.05.01", "WhiteElo": "2000", "Black": "Cid"},
        {"Date": "2024.05.03", "White": "Cid", "WhiteElo": "1800", "Result": "7-0"},
        {"Date": "2024.05.04", "White": "Cid", "WhiteElo": "1801"},
    ]
    known = initial_ratings(pgn(*games), "pgn")
    assert dict(zip(known.player_ids, known.rating.tolist(), strict=True)) == {
        "Ann": 2000,
        "Ben": 1900,
    }
    assert len(initial_ratings(dated_report(), "trf").player_ids) == 2
    with pytest.raises(eq.InvalidDataError, match="must have ratings of players"):
        initial_ratings(pgn({}), "pgn")


CROSS = "player,rating,1,2,3\nann,2310,X,1,½ 1\nbob,2250,0,X,+\ncyd,,½ 0,-,X\n"


def test_cross_tables_and_pairs_of_single_games_are_histories() -> None:
    reading = of_text(CROSS)
    history = reading.history
    assert rows_of(history) == [
        *((1, "ann", 0), (1, "bob", 1)),
        *((2, "ann", 0), (2, "cyd", 0)),
        *((3, "ann", 0), (3, "cyd", 1)),
    ]
    assert history.time is None
    assert history.order is None
    assert "side" not in history.attributes
    assert any(note.startswith("a cross table has no order") for note in reading.notes)
    totals = of_text("name,1,2\na,X,1.5/2\nb,0.5/2,X\n")
    assert [(one.line, one.got) for one in totals.problems] == [(2, "1.5 of 2 games")]
    frame = pl.DataFrame({"player": ["a", "b"], "a": [None, "1"], "b": ["0", None]})
    assert rows_of(eq.read_history(frame)) == [(1, "a", 1), (1, "b", 0)]
    one_side = "player,opponent,points,date\nann,bob,1,2024-05-02\nann,bob,0.5,2024-05-01\n"
    history = of_text(one_side).history
    assert rows_of(history) == [(2, "ann", 0), (2, "bob", 0), (1, "ann", 0), (1, "bob", 1)]
    assert "side" not in history.attributes
    both = one_side + "bob,ann,0.5,2024-05-01\nbob,ann,0,2024-05-02\n"
    assert rows_of(of_text(both).history) == rows_of(history)
    results = "player,opponent,result\nann,bob,win\ncyd,bob,loss\ncyd,ann,*\n"
    assert results_of(of_text(results).history) == "ann>bob; bob>cyd"
    columns = {"white": "player", "black": "opponent"}
    text = b"player,opponent,points\na,b,1\nb,a,1\n"
    history = eq.read_history(text, format="games", columns=columns)
    assert rows_of(history) == [(1, "a", 0), (1, "b", 1), (2, "b", 0), (2, "a", 1)]


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("points,games\na,b,2.5,4\na,c,1,1\n", 2, "equipoise performance"),
        ("wins,losses\na,b,2,1\n", None, "equipoise performance"),
        ("points\na,b,1\nb,a,0\na,c,1\n", 4, "--column white=player"),
        ("points\na,b,1\nb,a,1\n", 3, "must mirror"),
        ("points\na,b,1\na,b,0\nb,a,0.5\nb,a,0.5\n", 2, "the same games"),
        ("points,round\na,b,1,1\nb,a,0,2\n", 2, "--column white=player"),
        ("points\na,a,1\n", 2, "different player"),
    ],
)
def test_pairs_that_are_no_single_games(text: str, line: int | None, words: str) -> None:
    reading = of_text(f"player,opponent,{text}")
    assert reading.history is None
    assert reading.problems[0].line == line
    assert words in reading.problems[0].rule


@pytest.mark.parametrize("name", ["chess_palma1970_interzonal", "chess_palma2017_grandprix"])
def test_palma_from_pgn_and_pairs_is_that_of_the_table(name: str) -> None:
    table = real_data(f"{name}.csv")
    expected = eq.read_history(table)
    frame = pl.read_csv(table).with_columns(pl.col("white_elo", "black_elo").cast(pl.String))
    played = frame.filter(pl.col("result").is_in(["1-0", "0-1", "1/2-1/2"]))
    tags = played.select(
        Round=pl.col("round").cast(pl.String),
        White="white",
        Black="black",
        Result="result",
        WhiteElo=pl.col("white_elo").fill_null(""),
        BlackElo=pl.col("black_elo").fill_null(""),
    )
    history = read(pgn(*tags.to_dicts()))
    assert [one[1:] for one in rows_of(history)] == [one[1:] for one in rows_of(expected)]
    assert history.order.tolist() == expected.order.tolist()
    assert history.attributes["side"].tolist() == expected.attributes["side"].tolist()
    pairs = played.rename({"white": "player", "black": "opponent"})
    again = of_text(pairs.write_csv()).history
    assert results_of(again) == results_of(expected)


def test_games_of_a_tournament_are_selected_by_date() -> None:
    days = [{"Date": "2024.05.01"}, {"Date": "2024.05.02", "Black": "Cid"}, {"Date": "2024.??.??"}]
    found = scan_games(pgn(*days[:2]), "pgn", since="2024-05-02")
    assert (found.games.player_ids.tolist(), found.left_out) == (["Ann", "Cid"], {"filtered": 1})
    (problem,) = scan_games(pgn(*days), "pgn", until="2024-05-02").problems
    assert problem.field == "Date"
    skipped = scan_games(pgn(*days), "pgn", until="2024-05-02", skip_bad=True)
    assert (skipped.games.rows, skipped.skipped) == (1, 1)
    report = dated_report("2024/05/01", "24/05/01", "24/05/03")
    rounds = scan_games(report, "trf", since="2024-05-03")
    assert (rounds.games.rows, rounds.left_out["filtered"]) == (1, 2)
    with pytest.raises(eq.InvalidParameterError, match="need games with complete dates"):
        scan_games(dated_report(), "trf", since="2024-05-03")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("player,rating\na,1500\n", "--initial FILE"),
        ("Name,Elo\na,1500\n", "equipoise balance"),
        ("player,points\na,3\n", "who met whom"),
    ],
)
def test_tables_of_players_say_what_they_are_for(text: str, words: str) -> None:
    for found in (of_text(text), scan_games(text, "csv")):
        (problem,) = found.problems
        assert words in problem.rule
