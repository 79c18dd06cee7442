"""Files are written whole or not at all, read back as written, and run by no spreadsheet."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from drawing import examples
from equipoise.analysis.predict.computation import field_of
from equipoise.data.files import check_distinct, check_place
from equipoise.data.games import Games
from equipoise.data.history import LEAST_BETA, MOST_BETA, MOST_GAMMA, OF_MATCHES, History
from equipoise.errors import InvalidDataError, InvalidParameterError
from equipoise.formats import read_history, write_history, write_table
from equipoise.formats.crosstable import read_cross_table
from equipoise.formats.delimited import (
    escaped,
    escaped_text,
    read_delimited,
    unescaped,
    unescaped_text,
)
from equipoise.formats.games import read_games
from equipoise.formats.writing import TableFormat, check_target, game_table, trf_text, write_pieces
from formats.comparing import assert_same, assert_same_history, of_text, results_of

SUFFIXES = ("csv", "csv.gz", "tsv", "parquet", "jsonl")
RESULTS = pl.DataFrame(
    {
        "player": ["é,1", 'q"', None],
        "rating": [1 / 3, 1e-300, float("nan")],
        "matches": [1, 2, 3],
        "last_time": [1, None, 3],
    }
)


@st.composite
def histories(draw):
    """Draw a history with any of the optional columns."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=6))
    letters = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=5)
    # A text id that looks like a number, or nothing but spaces, cannot be told in CSV.
    words = letters.map(lambda word: f"p{word}")
    ids = words if draw(st.booleans()) else st.integers(-(2**40), 2**40)
    pool = draw(st.lists(ids, min_size=4, max_size=8, unique=True))
    kind = draw(st.sampled_from(["none", "seconds", "datetime", "date", "order"]))
    times = sorted(draw(st.integers(0, 9_999) if kind == "order" else moments()) for _ in sizes)
    of_rows = {
        "share": st.floats(0, 1),
        "performance": st.none() | st.floats(-1e9, 1e9),
        "kills": st.none() | st.floats(-1e9, 1e9),
        "side": st.none() | words,
        "goals": st.none() | st.integers(0, 9),
        "home": st.booleans(),
        "part": st.none() | st.floats(-1e6, 1e6).map(lambda part: part + 0.5),
    }
    of_matches = {
        "weight": st.floats(0.01, 10),
        "performance_ceiling": st.none() | st.floats(-1e6, 1e6),
        "beta": st.none() | st.floats(LEAST_BETA, MOST_BETA),
        "gamma": st.none() | st.floats(0, MOST_GAMMA),
    }
    assert set(of_matches) == set(OF_MATCHES)
    chosen = {name for name in ("team", *of_rows, *of_matches) if draw(st.booleans())}
    rows = []
    for at, (size, time) in enumerate(zip(sizes, times, strict=True)):
        held = {name: draw(values) for name, values in of_matches.items() if name in chosen}
        if kind in ("seconds", "order"):
            held["time"] = time
        elif kind == "datetime":
            held["time"] = np.datetime64(time * 10**6 + at, "us").item()
        elif kind == "date":
            held["time"] = np.datetime64(time // 86_400, "D").item()
        for player in draw(st.permutations(pool))[:size]:
            row = {"match": at, "player": player, "rank": draw(st.integers(0, 3))}
            row |= {"team": f"t{row['rank']}"} if "team" in chosen else {}
            row |= {name: draw(values) for name, values in of_rows.items() if name in chosen}
            rows.append(row | held)
    statistics = ["kills"] if "kills" in chosen else []
    frame = pl.DataFrame(rows, infer_schema_length=None)
    time_format = "s" if kind == "seconds" else None
    return read_history(frame, statistics=statistics, time_format=time_format)


def moments():
    """Draw seconds since 1970 that are plain, and such that a reader takes for something else."""
    return st.one_of(
        st.integers(-(10**9), 10**10),
        st.integers(0, 9_999),
        st.sampled_from([18_000_101, 20_240_131, 22_001_231, 94_694_399, 94_694_400]),
        st.sampled_from([1_970_010_100, 2_024_013_112, 2_099_123_123, 10**11]),
    )


def read_back(history):
    """Return a history as it is read from its own table: as seconds only where that is plain.

    Where the first could be a date YYYYMMDDHH, all of them might, so they are not written so.
    """
    if history.time is None or history.time_kind != "seconds":
        return history
    seconds = history.time // 10**6
    plain = 94_694_400 <= seconds[0] < 1_970_010_100
    return history if plain else replace(history, time_kind="datetime")


@pytest.mark.parametrize(
    "suffix",
    [
        *("csv", "parquet", "jsonl"),
        # Written and read as CSV is: another delimiter, and compressed.
        *(pytest.param(one, marks=pytest.mark.slow) for one in ("csv.gz", "tsv")),
    ],
)
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(history=histories())
def test_reading_what_was_written_gives_the_same_history(tmp_path, suffix, history):
    path = tmp_path / f"history.{suffix}"
    write_history(history, path)
    again = read_history(path, statistics=list(history.statistics))
    assert_same_history(again, read_back(history))


@given(history=histories(), data=st.data())
@examples(40)
def test_the_order_of_matches_in_a_table_does_not_matter(history, data):
    """With different times, shuffled matches and scattered rows give the same history."""
    times = history.times()
    if times is None or len(set(times.tolist())) < history.matches:
        return
    frame = history.to_polars()
    order = data.draw(st.permutations(range(len(frame))))
    shuffled = read_history(frame[list(order)])
    assert shuffled.match_ids.tolist() == history.match_ids.tolist()
    assert shuffled.player_ids.tolist() == history.player_ids.tolist()
    for at in range(history.matches):
        low, high = history.offsets[at : at + 2]
        rows = slice(low, high)
        assert dict(zip(history.player[rows], history.rank[rows], strict=True)) == dict(
            zip(shuffled.player[rows], shuffled.rank[rows], strict=True)
        )


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "tsv", "parquet", "json", "jsonl"])
def test_tables_of_results_are_written_by_suffix(tmp_path, suffix):
    path = tmp_path / f"ratings.{suffix}"
    write_table(RESULTS, path)
    if suffix == "parquet":
        read = pl.read_parquet(path)
    elif suffix == "json":
        read = pl.DataFrame(json.loads(path.read_text()))
    elif suffix == "jsonl":
        read = pl.read_ndjson(path)
    else:
        read = pl.read_csv(path, separator="\t" if suffix == "tsv" else ",")
    assert read.equals(RESULTS.with_columns(pl.col("rating").fill_nan(None)))


def test_tables_are_written_to_streams():
    """As for standard output; a text stream takes text."""
    for stream in (io.StringIO(), io.BytesIO()):
        write_table(RESULTS, stream, format="csv")
        content = stream.getvalue()
        text = content if isinstance(content, str) else content.decode()
        assert text.splitlines()[1] == '"é,1",0.3333333333333333,1,1'
    with pytest.raises(InvalidParameterError, match="format"):
        write_table(RESULTS, io.BytesIO())
    with pytest.raises(InvalidParameterError, match="format"):
        write_table(RESULTS, io.StringIO(), format="parquet")
    stream = io.BytesIO()
    assert write_pieces(cut(3), stream) == 10
    assert stream.getvalue() == PIECED.write_csv().encode()


def test_the_same_table_gives_the_same_bytes(tmp_path):
    for suffix in SUFFIXES:
        one, other = tmp_path / f"one.{suffix}", tmp_path / f"other.{suffix}"
        write_table(RESULTS, one)
        write_table(RESULTS, other)
        assert one.read_bytes() == other.read_bytes()
    assert gzip.decompress((tmp_path / "one.csv.gz").read_bytes()).startswith(b"player,rating")


def test_no_piece_at_all_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameterError, match="at least one"):
        write_pieces(iter([]), tmp_path / "p.csv")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["ratings.xlsx", "ratings", "ratings.gz", "csv"])
def test_other_suffixes_are_refused_with_those_that_are_allowed(tmp_path, name):
    with pytest.raises(InvalidParameterError, match=r"\.csv, .*\.jsonl; got"):
        write_table(RESULTS, tmp_path / name)
    with pytest.raises(InvalidParameterError, match=r"\.csv, .*\.jsonl; got"):
        write_history(small_history(), tmp_path / "history.json")
    with pytest.raises(InvalidParameterError, match=r"\.csv, .*\.jsonl; got"):
        check_target(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def small_history() -> History:
    """Return a history of one match."""
    return read_history({"match": [1, 1], "player": [1, 2], "rank": [0, 1]})


def test_an_existing_file_is_replaced_unless_writing_fails(tmp_path, monkeypatch):
    path = tmp_path / "ratings.csv"
    path.write_text("old")

    def fail(*_, **__):
        raise OSError("disk full")

    with monkeypatch.context() as full:
        full.setattr(pl.DataFrame, "write_csv", fail)
        with pytest.raises(OSError, match="disk full"):
            write_table(RESULTS, path)
    assert path.read_text() == "old"
    assert [one.name for one in tmp_path.iterdir()] == ["ratings.csv"]
    path, link = tmp_path / "ratings.csv", tmp_path / "link.csv"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to(path)
    write_table(RESULTS, link)
    assert link.is_symlink()
    assert path.read_text().startswith("player,rating")
    assert path.stat().st_mode & 0o777 == 0o640


def test_wrong_targets_are_wrong_usage(tmp_path):
    (tmp_path / "d.csv").mkdir()
    for target in (tmp_path / "d.csv", tmp_path / "no" / "t.csv", 5):
        with pytest.raises(InvalidParameterError):
            write_table(RESULTS, target)
    with pytest.raises(InvalidParameterError):
        write_table({"a": [1]}, tmp_path / "t.csv")
    with pytest.raises(InvalidParameterError):
        write_table(RESULTS, tmp_path / "t.csv", format="excel")
    with pytest.raises(InvalidParameterError):
        write_history(RESULTS, tmp_path / "t.csv")
    one = str(tmp_path / "one.csv")
    check_distinct({"HISTORY": one, "--output": str(tmp_path / "two.csv"), "--trace": None})
    check_distinct({"--output": "/dev/null", "--trace": "/dev/null"})
    with pytest.raises(InvalidParameterError, match=r"HISTORY and --output name the same file"):
        check_distinct({"HISTORY": one, "--output": str(tmp_path / "." / "one.csv")})
    if not Path("/proc/self").exists():
        pytest.skip("there is no /proc here")
    with pytest.raises(InvalidParameterError, match="cannot write in /proc"):
        check_place("/proc/ratings.csv")


# Tables that are written piece by piece.

PIECED = pl.DataFrame({"match": range(10), "player": [f"p{i}" for i in range(10)], "x": [0.1] * 10})


def cut(rows: int) -> Iterator[pl.DataFrame]:
    return PIECED.iter_slices(rows)


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "tsv", "jsonl", "parquet"])
@pytest.mark.parametrize("rows", [1, 3, 10])
def test_pieces_give_the_table(tmp_path: Path, suffix: str, rows: int) -> None:
    target, whole = tmp_path / f"p.{suffix}", tmp_path / f"w.{suffix}"
    assert write_pieces(cut(rows), target, rows=4) == 10
    write_table(PIECED, whole)
    if suffix == "parquet":
        assert pl.read_parquet(target).equals(PIECED)
    elif suffix == "csv.gz":
        assert pl.read_csv(target).equals(pl.read_csv(whole))
    else:
        assert target.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "jsonl", "parquet"])
def test_what_goes_wrong_in_the_middle_leaves_nothing_and_is_told(tmp_path, suffix):

    def broken() -> Iterator[pl.DataFrame]:
        yield from PIECED.head(6).iter_slices(2)
        raise InvalidParameterError("nothing more")

    with pytest.raises(InvalidParameterError, match="nothing more"):
        write_pieces(broken(), tmp_path / f"p.{suffix}", rows=2)
    assert list(tmp_path.iterdir()) == []


# --- spreadsheets run no text ---


#: What OWASP lists for cells of CSV, and what is plain in spite of its first character.
FORMULAS = [
    '=HYPERLINK("http://x","y")',
    "=1+1",
    "+1+1",
    "-1+1",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "-",
    "=",
    "+a",
    "--1",
    "-1e",
]
PLAIN = ["-1.5", "+2", "-3e-07", "1.5", "a=b", "'", "'a", "", "O'Brien", "-.5", "-2."]
TEXTS = st.text(st.sampled_from("'=+-@\t\r19.ea, "), max_size=6) | st.text(max_size=6)


@pytest.mark.parametrize("text", FORMULAS)
def test_a_formula_becomes_text(text: str) -> None:
    assert escaped_text(text) == "'" + text


@pytest.mark.parametrize("text", PLAIN)
def test_numbers_and_plain_text_stay(text: str) -> None:
    assert escaped_text(text) == text
    assert unescaped_text(text) == text


@given(TEXTS)
@example("'=1")
@example("''-1")
@example("'-1")
def test_every_text_comes_back(text: str) -> None:
    """Alone and as a value of a column, also if it looks as if it had been escaped."""
    written = escaped_text(text)
    assert unescaped_text(written) == text
    assert not re.match(r"[=+\-@\t\r]", written) or float(written) is not None
    frame = pl.DataFrame({"a": [text, None, "b"], "n": [-1.5, 2.0, 3.0]})
    assert escaped(frame)["a"].to_list() == [written, None, "b"]
    assert escaped(frame)["n"].equals(frame["n"])
    assert unescaped(escaped(frame)).equals(frame)


NAMES = ["=1+1", "-7", "+x", "@a", "'=q", "''-z", "O'Brien", "plain", "-", "='"]


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "tsv", "parquet", "jsonl"])
@pytest.mark.parametrize("raw", [False, True])
def test_a_history_is_read_back_with_its_names(tmp_path: Path, ending: str, raw: bool) -> None:
    """Of players, of matches, and of columns; raw as well, as no name here seems escaped."""
    names = [name for name in NAMES if not (raw and name.startswith("'"))]
    rows = {"match": ["=m1"] * len(names), "player": names, "rank": range(len(names))}
    rows["=cost"] = [-1.5] * len(names)
    path = tmp_path / f"history.{ending}"
    write_history(read_history(rows, statistics=["=cost"]), path, raw=raw)
    found = read_history(path, statistics=["=cost"])
    assert sorted(map(str, found.player_ids.tolist())) == sorted(names)
    assert found.match_ids.tolist() == ["=m1"]
    assert found.to_polars()["=cost"].to_list() == rows["=cost"]


@pytest.mark.parametrize("separator", [",", "\t"])
def test_no_cell_of_a_table_is_run(separator: str) -> None:
    """As a spreadsheet takes the file apart: nothing but numbers begins with such a character."""
    kind: TableFormat = "csv" if separator == "," else "tsv"
    frame = pl.DataFrame({"player": FORMULAS, "=rating": [-1.5] * len(FORMULAS)})
    target = io.BytesIO()
    write_table(frame, target, format=kind)
    rows = list(
        csv.reader(io.StringIO(target.getvalue().decode(), newline=""), delimiter=separator)
    )
    cells = [cell for row in rows for cell in row if cell != "-1.5"]
    assert not [cell for cell in cells if cell[0] in "=+-@\t\r"]
    assert [row[1] for row in rows[1:]] == ["-1.5"] * len(FORMULAS)
    pieces = io.BytesIO()
    write_pieces([frame[:5], frame[5:]], pieces)
    if separator == ",":
        assert pieces.getvalue() == target.getvalue()
    raw = io.BytesIO()
    write_table(frame, raw, format=kind, raw=True)
    assert b"'" not in raw.getvalue()
    back = read_delimited(target.getvalue(), "", separator).frame
    assert back.columns == frame.columns
    assert (
        back["player"].to_list()
        == read_delimited(raw.getvalue(), "", separator).frame["player"].to_list()
    )


def test_results_and_fields_of_players_are_no_formulas(tmp_path: Path) -> None:
    """`=`, `+` and `-` are results there, written with or without an apostrophe."""
    plain = b"player,ana,bo,cy\nana,,=,+\nbo,=,,-\ncy,-,-,\n"
    with_marks = plain.replace(b",=", b",'=").replace(b",+", b",'+").replace(b",-", b",'-")
    tables = [read_delimited(content, "x.csv", ",") for content in (plain, with_marks)]
    found = [read_cross_table(table) for table in tables]
    assert [[one.points.tolist(), one.problems] for one in found] == [[[0.5], ()]] * 2
    path = tmp_path / "ratings.csv"
    write_table(pl.DataFrame({"player": NAMES, "rating": [1.0] * len(NAMES)}), path)
    assert field_of(str(path)) == NAMES


# What is converted says the same when it is read again; what a format cannot hold is named.


PLAYERS = ["ann", "Ben, B", 'c"d', "Ömer\\x", "eva", "李"]
PAIRS = st.lists(st.sampled_from(PLAYERS), min_size=2, max_size=2, unique=True)
START = date(2020, 2, 27)


@st.composite
def duels(draw: st.DrawFn, *, dated: bool | None = None) -> History:
    """Return a history of matches between two single players."""
    games = draw(st.lists(st.tuples(PAIRS, st.sampled_from([-1, 0, 1])), min_size=1, max_size=12))
    rows: dict[str, list[Any]] = {"match": [], "player": [], "rank": []}
    for at, ((first, second), result) in enumerate(games):
        rows["match"] += [f"m{at}", f"m{at}"]
        rows["player"] += [first, second]
        rows["rank"] += [1 + (result < 0), 1 + (result > 0)]
    if draw(st.booleans()) if dated is None else dated:
        days = sorted(draw(st.lists(st.integers(0, 900), min_size=len(games), max_size=len(games))))
        rows["time"] = [START + timedelta(days=day) for day in days for _ in range(2)]
    side = draw(st.sampled_from([None, ("white", "black"), ("home", "away"), ("black", "white")]))
    if side is not None:
        rows["side"] = [*side] * len(games)
    if draw(st.booleans()):
        rows["weight"] = [0.5 + at for at in range(len(games)) for _ in range(2)]
    if draw(st.booleans()):
        rows["cup"] = [f"cup {at}" for at in range(len(games)) for _ in range(2)]
    return read_history(rows)


def results(history: History) -> list[tuple[Any, str]]:
    """Return the time of every match, and who won; of a draw in order of name."""
    matches = ["=".join(sorted(text.split("="))) for text in results_of(history).split("; ")]
    times = history.datetimes()
    return list(
        zip([None] * len(matches) if times is None else times.tolist(), matches, strict=True)
    )


@given(duels())
def test_a_table_of_games_is_read_as_the_same_history(history: History) -> None:
    """Players, results, times, weights, sides, and columns with one value for each match."""
    frame, lost = game_table(history)
    again = read_history(frame)
    assert results(again) == results(history)
    assert_same(again.match_ids, history.match_ids, "match_ids")
    assert_same(again.weight, history.weight, "weight")
    assert lost == []
    home, home_again = history.at_home(), again.at_home()
    assert (home is None) == (home_again is None)
    if home is not None and home_again is not None:
        at_home = history.player_ids[history.player[home]]
        assert at_home.tolist() == again.player_ids[again.player[home_again]].tolist()
    if "cup" in history.attributes:
        assert sorted(again.attributes["cup"]) == sorted(history.attributes["cup"])


def test_scores_decide_in_a_table_of_home_and_away() -> None:
    rows = "a,b,3,1,false\nb,c,1,1,true\nc,a,2,4,false\n"
    history = of_text(f"home,away,home_score,away_score,neutral\n{rows}").history
    frame, lost = game_table(history)
    assert frame.columns == ["match", "home", "away", "home_score", "away_score", "neutral"]
    assert frame["home_score"].to_list() == [3, 1, 2]
    assert lost == []
    again = read_history(frame)
    assert again.attributes["side"].tolist() == history.attributes["side"].tolist()
    assert results(again) == results(history)


@pytest.mark.parametrize("names", [("white_elo", "black_elo"), ("WhiteRating", "BlackRating")])
def test_ratings_of_both_sides_survive_every_conversion(names: tuple[str, str]) -> None:
    text = f"white,black,result,{','.join(names)}\nann,ben,1-0,2000,1900\nben,cid,0-1,1910,\n"
    history = of_text(text).history
    frame, lost = game_table(history)
    assert not lost
    assert frame.select(names).rows() == [(2000.0, 1900.0), (1910.0, None)]
    games = read_games(history.file_table())
    assert [games.player_ids[row] for row in games.white] == ["ann", "ben"]
    # One rating differs between games, so ratings are those of the games.
    assert games.white_rating.tolist() == [2000.0, 1910.0]
    np.testing.assert_array_equal(games.black_rating, [1900.0, np.nan])


def test_what_a_table_of_games_cannot_hold_is_named_and_ratings_become_two_columns() -> None:
    rows = "1,a,,1,3\n1,b,,2,4\n2,a,,1,5\n2,b,,2,6\n2,c,,3,7\n"
    rows += "3,a,x,1,8\n3,b,x,1,9\n3,c,y,2,1\n3,d,y,2,2\n"
    history = of_text(f"match,player,team,rank,kills\n{rows}").history
    frame, lost = game_table(history)
    assert frame["match"].to_list() == [1]
    assert lost == [
        "2 matches that are not between two single players were left out",
        "left out, because this format has no such columns: kills",
        "the names of teams are left out",
    ]
    with pytest.raises(InvalidDataError, match="leave out --as"):
        game_table(history.slice(1, 3))
    rows = "1,ann,black,1,2400\n1,ben,white,2,2300.4\n"
    frame, lost = game_table(of_text(f"match,player,side,rank,rating\n{rows}").history)
    names = ["match", "white", "black", "result", "white_elo", "black_elo"]
    assert frame.select(names).rows() == [(1, "ben", "ann", "0-1", 2300.4, 2400.0)]
    assert lost == []


@st.composite
def tournaments(draw: st.DrawFn) -> Games:
    """Return games of some rounds, in which every player has at most one game."""
    white: list[str] = []
    black: list[str] = []
    rounds: list[int] = []
    for number in range(1, draw(st.integers(1, 4)) + 1):
        order = draw(st.permutations(PLAYERS[:5]))
        for at in range(draw(st.integers(number == 1, 2))):
            white.append(order[2 * at])
            black.append(order[2 * at + 1])
            rounds.append(number)
    points = draw(
        st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=len(white), max_size=len(white))
    )
    ratings = draw(st.dictionaries(st.sampled_from(PLAYERS[:5]), st.integers(1, 3000)))
    known = {name: float(rating) for name, rating in ratings.items() if name in {*white, *black}}
    coloured = draw(st.booleans())
    return Games.from_arrays(
        white, black, points, rating=known or None, coloured=coloured, round=rounds
    )


@examples(40)
@given(
    tournaments(),
    st.text(st.characters(codec="utf-8"), max_size=20) | st.sampled_from([*",;|\t[{<", "012 a, b"]),
    st.sampled_from(["\n", "\r\n", "\r"]),
)
def test_a_report_is_read_as_the_same_tournament(games: Games, title: str, end: str) -> None:
    text, _ = trf_text(games, title)
    again = read_games(io.BytesIO(text.replace("\n", end).encode()))

    def played(one: Games) -> set[tuple[Any, ...]]:
        return {
            (
                str(one.player_ids[row]),
                at,
                str(one.player_ids[one.rounds.opponent[row, at]]),
                float(one.rounds.points[row, at]),
                int(one.rounds.colour[row, at]),
            )
            for row in range(one.players)
            for at in range(one.rounds.rounds)
            if one.rounds.kind[row, at] == 0
        }

    assert played(again) == played(games)
    ratings = [
        {
            str(name): value
            for name, value in zip(one.player_ids, one.initial, strict=True)
            if value == value
        }
        for one in (games, again)
    ]
    assert ratings[0] == ratings[1]


def test_byes_and_forfeits_stay_in_a_report() -> None:
    report = (
        "012 Cup\n"
        "001    1      ann                               2000                             2.0    1"
        "     2 w 1  0000 - U\n"
        "001    2      ben                                                                1.0    2"
        "     1 b 0     3 - +\n"
        "001    3      cid                                                                0.5    3"
        "  0000 - H     2 - -\n"
    )
    games = read_games(io.BytesIO(report.encode()), format="trf")
    text, lost = trf_text(games, "Cup")
    again = read_games(io.BytesIO(text.encode()), format="trf")
    assert games.rounds is not None
    assert again.rounds is not None
    for name in ("opponent", "points", "kind", "colour"):
        assert_same(getattr(again.rounds, name), getattr(games.rounds, name), name)
    assert lost == []


def test_long_names_and_many_rounds_fit_a_report_and_games_without_rounds_do_not() -> None:
    long = "A very long name of a player which goes on and on"
    games = Games.from_arrays([f"{long} 1"], [f"{long} 2"], [1.0], coloured=True, round=[1])
    text, lost = trf_text(games, "Cup")
    again = read_games(io.BytesIO(text.encode()), format="trf")
    assert len(set(again.player_ids.tolist())) == 2
    assert all(len(name) <= 33 for name in again.player_ids.tolist())
    assert lost == ["2 names are cut, because a name has at most 33 letters"]
    for last in (1.0, 0.5):
        points = [1.0] * 100 + [last]
        rounds = list(range(1, 102))
        games = Games.from_arrays(["ann"] * 101, ["ben"] * 101, points, coloured=True, round=rounds)
        again = read_games(io.BytesIO(trf_text(games, "Match")[0].encode()))
        assert again.points.tolist() == points
    games = Games.from_arrays(["ann"], ["ben"], [1.0])
    with pytest.raises(InvalidDataError, match="needs the round of every game"):
        trf_text(games, "Cup")
