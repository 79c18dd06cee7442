"""Which reader a source of games needs, real tournaments, and files that are damaged."""

from __future__ import annotations

import gzip
import io
import json
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from equipoise.errors import InvalidDataError, InvalidParameterError
from equipoise.formats import scan_history
from equipoise.formats.games.reading import read_games, scan_games
from formats.comparing import real_data
from formats.reading_games import rows_of, scan

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


def report_line(number: int, name: str, rating: int, points: float, rounds: list[str]) -> str:
    """Return the line of a player in TRF16: columns 5, 15, 49, 81, 86 and from 92 on."""
    start = f"001 {number:4}      {name:33} {rating:4}"
    return f"{start:80}{points:4.1f} {number:4}  " + "  ".join(f"{one:8}" for one in rounds)


TRF = "\n".join(
    [
        "012 Club",
        report_line(1, "ann", 1500, 2.0, ["   2 w 1", "0000 - -", "   3 b 1"]),
        report_line(2, "bob", 1400, 0.5, ["   1 b 0", "   3 w =", "0000 - -"]),
        report_line(3, "cyd", 0, 0.5, ["0000 - -", "   2 b =", "   1 w 0"]),
        "",
    ]
).encode()


def totals(games: Any) -> dict[Any, tuple[float, float]]:
    sums = zip(games.scored().tolist(), games.played().tolist(), strict=True)
    return dict(zip(games.player_ids.tolist(), sums, strict=True))


TOTALS = {"ann": (2.0, 2.0), "bob": (0.5, 2.0), "cyd": (0.5, 2.0)}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("club.csv", LIST),
        ("club.csv.gz", gzip.compress(LIST, mtime=0)),
        ("club.tsv", LIST.replace(b",", b"\t")),
        ("club.csv", LIST.replace(b",", b";")),
        ("club.jsonl", FRAME.write_ndjson().encode()),
        ("club.json", FRAME.write_json().encode()),
        ("pairs.csv", PAIRS),
        ("pairs.tsv.gz", gzip.compress(PAIRS.replace(b",", b"\t"), mtime=0)),
        ("history.csv", HISTORY),
        ("cross.csv", CROSS),
        ("cross.tsv", CROSS.replace(b",", b"\t")),
        ("club.pgn", PGN),
        ("CLUB.PGN", PGN),
        ("club.pgn.gz", gzip.compress(PGN, mtime=0)),
        ("club.txt", PGN),
        ("club.trf", TRF),
        ("club.trfx", TRF),
        ("club.trf.gz", gzip.compress(TRF, mtime=0)),
        ("club.txt", TRF),
        ("report", TRF),
    ],
)
def test_the_name_or_the_content_tells_what_a_file_is(
    tmp_path: Path, name: str, content: bytes
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    assert totals(read_games(path)) == TOTALS
    assert totals(read_games(str(path))) == TOTALS


@pytest.mark.parametrize(
    ("format", "content"),
    [
        ("games", LIST),
        ("games", LIST.replace(b",", b"\t")),
        ("games", gzip.compress(LIST, mtime=0)),
        ("games", FRAME.write_ndjson().encode()),
        ("games", FRAME.write_json().encode()),
        ("csv", LIST),
        ("pairs", PAIRS),
        ("csv", PAIRS),
        ("history", HISTORY),
        ("csv", HISTORY),
        ("crosstable", CROSS),
        ("csv", CROSS),
        ("pgn", PGN),
        ("trf", TRF),
    ],
)
def test_a_stream_is_what_format_says_in_whatever_it_is_stored(format: str, content: bytes) -> None:
    assert totals(read_games(io.BytesIO(content), format=format)) == TOTALS


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_binary_tables_are_known_by_name_and_by_content(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"club.{suffix}"
    (FRAME.write_parquet if suffix == "parquet" else FRAME.write_ipc)(path)
    assert rows_of(read_games(path)) == ROWS
    for format in ("games", suffix):
        assert rows_of(read_games(io.BytesIO(path.read_bytes()), format=format)) == ROWS


@pytest.mark.parametrize(
    "source",
    [
        FRAME,
        FRAME.lazy(),
        FRAME.to_pandas(),
        FRAME.to_arrow(),
        FRAME.to_dict(as_series=False),
        {name: FRAME[name].to_numpy() for name in FRAME.columns},
        FRAME.with_columns(
            pl.col("white").cast(pl.Categorical), pl.col("result").cast(pl.Categorical)
        ),
    ],
    ids=["polars", "lazy", "pandas", "arrow", "lists", "arrays", "categorical"],
)
def test_tables_in_memory_are_games(source: Any) -> None:
    games = read_games(source)
    assert rows_of(games) == ROWS
    np.testing.assert_array_equal(games.initial, [1500.0, 1400.0, np.nan])


def test_a_cross_table_may_lie_in_memory(tmp_path: Path) -> None:
    frame = pl.read_csv(io.BytesIO(CROSS))
    assert totals(read_games(frame)) == TOTALS
    frame.write_parquet(tmp_path / "cross.parquet")
    assert totals(read_games(tmp_path / "cross.parquet")) == TOTALS
    wrong = scan_games(frame.with_columns(bob=pl.Series(["x", "X", "="])), format="crosstable")
    assert [problem.line for problem in wrong.problems] == [1]


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(LIST)))
    assert rows_of(read_games("-", format="games")) == ROWS
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"white,black,result\n,b,1\n")))
    assert scan_games("-", format="csv").problems[0].file == "standard input"


def test_a_directory_or_an_archive_is_of_pgn_or_of_contests(tmp_path: Path) -> None:
    contest = {"name": "one", "time_seconds": 1, "standings": [["ann", 0, 0], ["bob", 1, 1]]}
    contests = tmp_path / "contests"
    contests.mkdir()
    (contests / "one.json").write_text(json.dumps(contest))
    assert rows_of(read_games(contests)) == [("ann", "bob", 1.0, 1.0)]
    club = tmp_path / "club"
    (club / "spring").mkdir(parents=True)
    (club / "spring" / "one.pgn").write_bytes(PGN)
    (club / "notes.json").write_text("{}")
    assert rows_of(read_games(club)) == ROWS
    for name, content in (("one.pgn", PGN), ("one.json", json.dumps(contest).encode())):
        with zipfile.ZipFile(tmp_path / f"{name}.zip", "w") as archive:
            archive.writestr(name, content)
    (tmp_path / "one.json.zip").rename(tmp_path / "contests.zip")
    assert rows_of(read_games(tmp_path / "one.pgn.zip")) == ROWS
    (tmp_path / "one.pgn.zip").rename(tmp_path / "club.zip")
    assert rows_of(read_games(tmp_path / "club.zip")) == ROWS
    assert rows_of(read_games(tmp_path / "contests.zip")) == [("ann", "bob", 1.0, 1.0)]
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(InvalidDataError, match="must hold tables, contests or games"):
        read_games(empty)


def test_where_chooses_by_tags_of_pgn() -> None:
    reading = scan_games(io.BytesIO(PGN), format="pgn", where={"White": "ann"})
    assert reading.games is not None
    assert rows_of(reading.games) == ROWS[:1]
    assert reading.left_out == {"filtered": 2}


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


def test_a_name_and_content_that_tell_nothing_need_a_format(tmp_path: Path) -> None:
    path = tmp_path / "club.txt"
    path.write_bytes(b"ann beat bob")
    with pytest.raises(InvalidParameterError, match=r"neither the name nor the first line of"):
        scan_games(path)
    path.write_bytes(LIST)
    assert rows_of(read_games(path)) == ROWS
    assert rows_of(read_games(path, format="csv")) == ROWS
    assert rows_of(read_games(path, format="games")) == ROWS


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
        (b"\n\n", "must have a header and at least one row"),
        (b"white,black,result\na,b,*\n", "must hold at least one game"),
        (b"white,black,result\na,b,\x81\n", "must be text in UTF-8"),
        (b"PAR1xx", "must be text in the format csv"),
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

PALMA_2017 = {
    "Aronian": 5.5,
    "Jakovenko": 5.5,
    "Nakamura": 5,
    "Svidler": 5,
    "Tomashevsky": 5,
    "Harikrishna": 5,
    "Ding Liren": 5,
    "Rapport": 5,
    "Radjabov": 5,
    "Vachier Lagrave": 4.5,
    "Eljanov": 4.5,
    "Inarkiev": 4.5,
    "Giri": 4,
    "Vallejo Pons": 4,
    "Li Chao": 4,
    "Riazantsev": 3.5,
    "Hammer": 3,
    "Gelfand": 3,
}
PALMA_1970 = {
    "Fischer": 18.5,
    "Larsen": 15,
    "Geller": 15,
    "Huebner": 15,
    "Taimanov": 14,
    "Uhlmann": 14,
    "Portisch": 13.5,
    "Smyslov": 13.5,
    "Polugaevsky": 13,
    "Gligoric": 13,
    "Panno": 12.5,
    "Mecking": 12.5,
    "Hort": 11.5,
    "Ivkov": 10.5,
    "Suttles": 10,
    "Minic": 10,
    "Reshevsky": 9.5,
    "Matulovic": 9,
    "Addison": 9,
    "Filip": 8.5,
    "Naranja": 8.5,
    "Ujtumen": 8.5,
    "Rubinetti": 6,
    "Jimenez": 5.5,
}


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
    assert games is not None
    assert (games.rows, games.players, games.coloured, games.rating) == (276, 24, True, None)
    assert games.played().tolist() == [23.0] * 24
    assert dict(zip(games.player_ids.tolist(), games.scored().tolist(), strict=True)) == PALMA_1970
    printed = read_games(_without_rubinetti_jimenez(path))
    assert printed.rows == 275
    points = dict(zip(printed.player_ids.tolist(), printed.scored().tolist(), strict=True))
    assert (points["Rubinetti"], points["Jimenez"]) == (5.0, 5.5)


def _without_rubinetti_jimenez(path: Path) -> pl.DataFrame:
    frame = pl.read_csv(path)
    return frame.filter((pl.col("white") != "Rubinetti") | (pl.col("black") != "Jimenez"))


def test_bundled_synonyms_turn_full_names_into_those_of_the_example() -> None:
    full = real_data("chess_palma1970_interzonal.csv")
    games = read_games(full, synonyms=ROOT / "examples" / "synonyms.csv")
    points = dict(zip(games.player_ids.tolist(), games.scored().tolist(), strict=True))
    assert points == PALMA_1970


def test_reports_of_tournaments_are_read() -> None:
    """bbpPairings' report of 60 players, whose lines end in CR."""
    reading = scan_games(real_data("trf_autotest_60p.trf"))
    assert reading.problems == ()
    assert reading.games is not None
    assert reading.games.players == 60


# Damage ---------------------------------------------------------------------------------------

DAMAGED = {
    "csv": LIST,
    "pairs": PAIRS,
    "history": HISTORY,
    "crosstable": CROSS,
    "pgn": PGN,
    "trf": TRF,
}
DAMAGED |= {"jsonl": FRAME.write_ndjson().encode(), "json": FRAME.write_json().encode()}
DAMAGED |= {"csv.gz": gzip.compress(LIST), "games": LIST}
JUNK = b'x , "  \n \r \0 \xff -1 1e400 nan null [ {} true 1-0 1/2 +/- * bye 9999999999999999999 [E'
PIECES = st.sampled_from(JUNK.split(b" ")) | st.binary(max_size=3)


@pytest.mark.parametrize("format", list(DAMAGED))
@given(data=st.data())
@examples(60)
def test_damaged_files_are_problems_not_failures(format: str, data: st.DataObject) -> None:
    """Bytes are lost, added or changed anywhere; what cannot be read has a reason."""
    content = DAMAGED[format]
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(content)))
        stop = data.draw(st.sampled_from([start, start + 1, start + 9, len(content)]))
        content = content[:start] + data.draw(PIECES) + content[stop:]
    try:
        reading = scan_games(io.BytesIO(content), format=format)
    except InvalidParameterError:
        return
    assert (reading.games is None) == bool(reading.problems)
    assert all(str(problem) for problem in reading.problems)
    assert all(isinstance(note, str) for note in reading.notes)


@examples(60)
@given(
    content=st.binary(max_size=200),
    format=st.sampled_from(["games", "pairs", "csv", "tsv", "json"]),
)
def test_any_bytes_are_games_or_problems(content: bytes, format: str) -> None:
    try:
        reading = scan_games(io.BytesIO(content), format=format)
    except InvalidParameterError:
        return
    assert (reading.games is None) == bool(reading.problems)
