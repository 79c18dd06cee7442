"""Which reader a source of games needs, real tournaments, and files that are damaged."""

from __future__ import annotations

import gzip
import io
import json
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from equipoise.errors import InvalidDataError, InvalidParameterError
from equipoise.formats import scan_history
from equipoise.formats.games import read_games, scan_games
from formats.comparing import real_data
from formats.reading_games import rows_of, scan
from formats.trf_writing import player_line, report

ROOT = Path(__file__).parents[2]
FRAME = pl.DataFrame(
    {
        "white": ["ann", "bob", "cyd"],
        "black": ["bob", "cyd", "ann"],
        "result": ["1-0", "1/2-1/2", "0-1"],
        "white_elo": [1500, 1400, None],
    }
)
ROWS = [("ann", "bob", 1.0, 1.0), ("bob", "cyd", 0.5, 1.0), ("cyd", "ann", 0.0, 1.0)]
LIST = FRAME.write_csv().encode()
PAIRS = b"player,opponent,points,games\nann,bob,1,1\nbob,cyd,0.5,1\ncyd,ann,0,1\n"
HISTORY = b"match,player,rank\n1,ann,1\n1,bob,2\n2,bob,1\n2,cyd,1\n3,cyd,2\n3,ann,1\n"
CROSS = b",ann,bob,cyd\nann,X,1,1\nbob,0,X,=\ncyd,0,=,X\n"
PGN = b"".join(
    f'[White "{white}"]\n[Black "{black}"]\n[Result "{result}"]\n\n1. e4 {result}\n\n'.encode()
    for white, black, result in (
        ("ann", "bob", "1-0"),
        ("bob", "cyd", "1/2-1/2"),
        ("cyd", "ann", "0-1"),
    )
)


TRF = report(
    player_line(1, ["   2 w 1", "0000 - -", "   3 b 1"], name="ann", rating="1500", points="2.0"),
    player_line(2, ["   1 b 0", "   3 w =", "0000 - -"], name="bob", rating="1400", points="0.5"),
    player_line(3, ["0000 - -", "   2 b =", "   1 w 0"], name="cyd", points="0.5"),
).encode()


def totals(games: Any) -> dict[Any, tuple[float, float]]:
    sums = zip(games.scored().tolist(), games.played().tolist(), strict=True)
    return dict(zip(games.player_ids.tolist(), sums, strict=True))


TOTALS = {"ann": (2.0, 2.0), "bob": (0.5, 2.0), "cyd": (0.5, 2.0)}


@pytest.mark.parametrize(
    ("kind", "stored", "content"),
    [
        ("games", "csv", LIST),
        ("games", "tsv", LIST.replace(b",", b"\t")),
        ("games", "jsonl", FRAME.write_ndjson().encode()),
        ("games", "json", FRAME.write_json().encode()),
        ("pairs", "csv", PAIRS),
        ("history", "csv", HISTORY),
        ("crosstable", "csv", CROSS),
        ("pgn", "pgn", PGN),
        ("trf", "trf", TRF),
    ],
)
def test_every_kind_is_known_by_its_name_its_content_and_its_format(
    tmp_path: Path, kind: str, stored: str, content: bytes
) -> None:
    packed = gzip.compress(content, mtime=0)
    for name, data in (("club", content), ("club.txt", content), (f"CLUB.{stored}.gz", packed)):
        path = tmp_path / name
        path.write_bytes(data)
        assert totals(read_games(path)) == TOTALS
    for format in (kind, stored):
        assert totals(read_games(io.BytesIO(packed), format=format)) == TOTALS


def test_a_cross_table_may_lie_in_memory(tmp_path: Path) -> None:
    frame = pl.read_csv(io.BytesIO(CROSS))
    assert totals(read_games(frame)) == TOTALS
    frame.write_parquet(tmp_path / "cross.parquet")
    assert totals(read_games(tmp_path / "cross.parquet")) == TOTALS
    wrong = scan_games(frame.with_columns(bob=pl.Series(["x", "X", "="])), format="crosstable")
    assert [problem.line for problem in wrong.problems] == [1]


def test_problems_of_standard_input_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"white,black,result\n,b,1\n")))
    assert scan_games("-", format="csv").problems[0].file == "standard input"


def test_json_is_contests_and_beside_pgn_metadata(tmp_path: Path) -> None:
    contest = {"name": "one", "time_seconds": 1, "standings": [["ann", 0, 0], ["bob", 1, 1]]}
    (tmp_path / "one.json").write_text(json.dumps(contest))
    assert rows_of(read_games(tmp_path)) == [("ann", "bob", 1.0, 1.0)]
    (tmp_path / "one.pgn").write_bytes(PGN)
    assert rows_of(read_games(tmp_path)) == ROWS


@pytest.mark.parametrize(
    ("format", "content", "options", "message"),
    [
        ("pgn", PGN, {"columns": {"white": "White"}}, "columns must be left out for PGN"),
        ("pgn", PGN, {"since": "2020-01-01"}, "need games with complete dates"),
        ("pgn", PGN, {"where": [("Round", 1), ("Round", 2)]}, "a tag of PGN once; got 'Round'"),
        ("trf", TRF, {"where": {"Round": 1}}, "where must be left out for a report in TRF"),
        ("crosstable", CROSS, {"until": 5}, "since and until must be left out for a cross table"),
        ("csv", CROSS, {"where": {"ann": "1"}}, "where must be left out for a cross table"),
        ("chess", LIST, {}, "format must be one of pgn, trf, .*; got 'chess'"),
        ("games", LIST, {"where": {"place": 1}}, "where must name a column of the table"),
        ("games", LIST, {"columns": {"white": "x"}}, "columns must name a column of the table"),
        ("games", LIST, {"since": "2020"}, "need a column time"),
        ("games", LIST, {"since": "soon"}, "since must be"),
    ],
)
def test_wrong_usage_is_told_at_once(
    format: str | None, content: bytes, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        scan_games(io.BytesIO(content), format=format, **options)


def test_values_in_memory_are_no_documents() -> None:
    for format in ("pgn", "trf"):
        with pytest.raises(InvalidParameterError, match="must be a path or a stream if format"):
            scan_games(FRAME, format=format)
    with pytest.raises(InvalidParameterError, match="source must be a path, a pattern"):
        scan_games(7)


def test_columns_that_fit_two_kinds_need_a_format() -> None:
    text = "match,player,rank,opponent,points\n1,ann,1,bob,1\n1,bob,2,ann,0\n"
    with pytest.raises(InvalidParameterError, match="columns fit both pairs and history"):
        scan(text)
    for format in ("pairs", "history"):
        games = scan(text, format).games
        assert games is not None
        assert rows_of(games) == [("ann", "bob", 1.0, 1.0)]


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        (b"", "must hold at least one row"),
        (b"white,black,result\n", "must have at least one row"),
        (b"white,black,result\na,b,*\n", "must hold at least one game"),
    ],
)
def test_files_without_games_say_so(content: bytes, rule: str) -> None:
    reading = scan_games(io.BytesIO(content), format="csv")
    assert reading.games is None
    assert [problem.rule for problem in reading.problems] == [rule]


def test_a_file_that_is_not_there_is_a_problem() -> None:
    for name in ("none.csv", "none.pgn", "none.trf", "none"):
        for (problem,) in (scan_games(name).problems, scan_history(name).problems):
            assert (problem.file, problem.rule) == (name, "no such file or directory")
    with pytest.raises(InvalidDataError, match=r"1 problem in none.pgn"):
        read_games("none.pgn")


def test_problems_of_synonyms_are_problems_of_the_reading(tmp_path: Path) -> None:
    path = tmp_path / "synonyms.csv"
    path.write_text("name,same_as\na,b\nb,a\n")
    reading = scan_games(FRAME, synonyms=path)
    assert reading.games is None
    assert [(one.file, one.line) for one in reading.problems] == [(str(path), 2)]


# Real tournaments -----------------------------------------------------------------------------


def points_of(text: str) -> dict[str, float]:
    """Return the points of players from a table with several players on a line."""
    cells = (cell.rpartition(" ") for line in text.split("\n") for cell in line.split(", "))
    return {name.strip(): float(points) for name, _, points in cells}


PALMA_2017 = points_of(
    """Aronian 5.5, Jakovenko 5.5, Nakamura 5, Svidler 5, Tomashevsky 5, Harikrishna 5
    Ding Liren 5, Rapport 5, Radjabov 5, Vachier Lagrave 4.5, Eljanov 4.5, Inarkiev 4.5
    Giri 4, Vallejo Pons 4, Li Chao 4, Riazantsev 3.5, Hammer 3, Gelfand 3"""
)
PALMA_1970 = points_of(
    """Fischer 18.5, Larsen 15, Geller 15, Huebner 15, Taimanov 14, Uhlmann 14
    Portisch 13.5, Smyslov 13.5, Polugaevsky 13, Gligoric 13, Panno 12.5, Mecking 12.5
    Hort 11.5, Ivkov 10.5, Suttles 10, Minic 10, Reshevsky 9.5, Matulovic 9
    Addison 9, Filip 8.5, Naranja 8.5, Ujtumen 8.5, Rubinetti 6, Jimenez 5.5"""
)


def test_the_grand_prix_of_palma_has_the_points_of_its_table() -> None:
    """Table 2 of the document on performance ratings: 18 players, 9 rounds, ratings and points."""
    games = read_games(real_data("chess_palma2017_grandprix.csv"))
    assert (games.rows, games.players, games.coloured) == (81, 18, True)
    surname = [one.partition(",")[0].rstrip("2") for one in games.player_ids.tolist()]
    assert dict(zip(surname, games.scored().tolist(), strict=True)) == PALMA_2017
    assert games.played().tolist() == [9.0] * 18
    rating = dict(zip(surname, games.initial.tolist(), strict=True))
    assert (rating["Aronian"], rating["Jakovenko"], rating["Gelfand"]) == (2801.0, 2721.0, 2719.0)


def test_the_interzonal_of_1970_is_bundled_and_has_the_points_of_its_table() -> None:
    """Table 3 of the document, where Rubinetti has 5 as his win of round 11 is left out (C5)."""
    path = ROOT / "examples" / "interzonal1970.csv"
    reading = scan_games(path)
    assert reading.problems == reading.notes == ()
    games = reading.games
    assert (games.rows, games.players, games.coloured, games.rating) == (276, 24, True, None)
    assert games.played().tolist() == [23.0] * 24
    assert dict(zip(games.player_ids.tolist(), games.scored().tolist(), strict=True)) == PALMA_1970
    frame = pl.read_csv(path)
    printed = read_games(
        frame.filter((pl.col("white") != "Rubinetti") | (pl.col("black") != "Jimenez"))
    )
    assert printed.rows == 275
    points = dict(zip(printed.player_ids.tolist(), printed.scored().tolist(), strict=True))
    assert (points["Rubinetti"], points["Jimenez"]) == (5.0, 5.5)


def test_bundled_synonyms_turn_full_names_into_those_of_the_example() -> None:
    full = real_data("chess_palma1970_interzonal.csv")
    games = read_games(full, synonyms=ROOT / "examples" / "synonyms.csv")
    points = dict(zip(games.player_ids.tolist(), games.scored().tolist(), strict=True))
    assert points == PALMA_1970


@pytest.mark.parametrize(("third", "rounds"), [("2,cyd,ann,1", 2), ("1,cyd,ann,1", None)])
def test_rounds_have_one_game_of_each_player(third: str, rounds: int | None) -> None:
    games = read_games(io.BytesIO(f"round,white,black,score\n1,ann,bob,1\n{third}\n".encode()))
    assert (games.rounds and games.rounds.rounds) == rounds
