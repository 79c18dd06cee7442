"""Every format in every compression from every kind of source, and what is no source."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import sys
import threading
import zipfile
from types import SimpleNamespace

import polars as pl
import pytest

from equipoise.errors import InvalidDataError
from equipoise.formats import contents, read_history, scan_history, sources
from equipoise.formats.games import read_games
from equipoise.formats.players import read_initial_ratings, read_lobby
from equipoise.formats.table import LONG_FIELD
from formats.comparing import assert_same_history
from formats.test_pgn import pgn
from formats.test_pgn_files import zipped, zstd

ROWS = [
    {"match": "m1", "time": 100, "player": "a", "rank": 0, "weight": 1.0},
    {"match": "m1", "time": 100, "player": "b", "rank": 1, "weight": 1.0},
    {"match": "m1", "time": 100, "player": "c", "rank": 1, "weight": 1.0},
    {"match": "m2", "time": 200, "player": "c", "rank": 0, "weight": 0.5},
    {"match": "m2", "time": 200, "player": "d", "rank": 1, "weight": 0.5},
]
FRAME = pl.DataFrame(ROWS)
CSV = FRAME.write_csv()
TSV = FRAME.write_csv(separator="\t")
JSONL = "".join(json.dumps(row) + "\n" for row in ROWS)
CONTESTS = "".join(
    json.dumps(
        {
            "name": match,
            "time_seconds": rows["time"][0],
            "weight": rows["weight"][0],
            "standings": [[row["player"], row["rank"], row["rank"]] for row in rows.to_dicts()],
        }
    )
    + "\n"
    for (match,), rows in FRAME.group_by("match", maintain_order=True)
)


def binary(write, frame=FRAME):
    """Return what a Polars writer writes."""
    buffer = io.BytesIO()
    getattr(frame, write)(buffer)
    return buffer.getvalue()


FILES = {
    "csv": CSV.encode(),
    "csv.gz": gzip.compress(CSV.encode()),
    "tsv": TSV.encode(),
    "tsv.gz": gzip.compress(TSV.encode()),
    "jsonl": JSONL.encode(),
    "jsonl.gz": gzip.compress(JSONL.encode()),
    "json": json.dumps(ROWS).encode(),
    "parquet": binary("write_parquet"),
    "arrow": binary("write_ipc"),
    "contests": CONTESTS.encode(),
}


@pytest.mark.parametrize("format", ["csv", "tsv", "jsonl", "json", "contests"])
def test_text_streams_give_the_same_history(format):
    expected = read_history(FRAME, time_format="s")
    for name in (None, format):
        stream = io.StringIO(FILES[format].decode())
        assert_same_history(read_history(stream, format=name, time_format="s"), expected)


LONG = "x" * 2_000_000
LONG_NAME = FRAME.with_columns(pl.col("player").replace("d", LONG))


@pytest.mark.parametrize(
    ("format", "data"),
    [
        ("json", LONG_NAME.write_json().encode()),
        ("jsonl", LONG_NAME.write_ndjson().encode()),
        ("parquet", binary("write_parquet", LONG_NAME.cast({"player": pl.Categorical}))),
        ("parquet", binary("write_parquet", LONG_NAME.cast({"player": pl.Binary}))),
        ("json", FRAME.rename({"weight": LONG}).write_json().encode()),
        ("contests", CONTESTS.replace('"d"', f'"{LONG}"').encode()),
    ],
    ids=["json", "jsonl", "categorical", "bytes", "column", "contests"],
)
def test_a_field_that_is_far_too_long_is_refused(format, data):
    """Inspecting 50 MB of it took 14 s of processor time and 0.9 GB, of Parquet of 3 kB too."""
    with pytest.raises(InvalidDataError) as caught:
        read_history(io.BytesIO(data), format=format, time_format="s")
    (problem,) = caught.value.problems
    assert problem.rule == LONG_FIELD
    assert len(str(caught.value)) < 1_000


def test_a_nested_field_may_be_long_and_a_folder_with_one_file_needs_no_ending(tmp_path):
    rows = [{**row, "moves": [LONG]} for row in ROWS]
    read = read_history(io.BytesIO(json.dumps(rows).encode()), format="json", time_format="s")
    assert_same_history(read, read_history(FRAME, time_format="s"))
    (tmp_path / "matches").write_bytes(FILES["csv"])
    found = read_history(tmp_path, time_format="s")
    assert_same_history(found, read_history(FRAME, time_format="s"))
    (problem,) = scan_history(tmp_path / "maches").problems
    assert problem.rule.startswith("no such file or directory: did you mean")


SUFFIXES = {"csv": ".csv", "tsv": ".tsv", "jsonl": ".jsonl", "json": ".json", "contests": ".jsonl"}
BINARY = {"parquet": ".parquet", "arrow": ".arrow"}
PACKINGS = {
    "": lambda data, name: data,
    ".gz": lambda data, name: gzip.compress(data),
    ".bz2": lambda data, name: bz2.compress(data),
    ".xz": lambda data, name: lzma.compress(data),
    ".zst": lambda data, name: zstd().compress(data),
    ".zip": lambda data, name: zipped({name: data}),
}


@pytest.mark.parametrize("packed", list(PACKINGS))
@pytest.mark.parametrize("format", [*SUFFIXES, *BINARY])
def test_every_format_in_every_compression(format, packed, tmp_path, monkeypatch):
    """By its name, by its content alone, as bytes, as a stream and from standard input."""
    expected = read_history(FRAME, time_format="s")
    suffix = (SUFFIXES | BINARY)[format]
    data = PACKINGS[packed](FILES[format], f"history{suffix}")
    named, nameless = tmp_path / f"history{suffix}{packed}", tmp_path / "history"
    for path in (named, nameless):
        path.write_bytes(data)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))
    assert scan_history(named, time_format="s").notes == ()
    for source in (named, str(nameless), data, io.BytesIO(data), "-"):
        assert_same_history(read_history(source, time_format="s"), expected)
    assert_same_history(read_history(io.BytesIO(data), format=format, time_format="s"), expected)


@pytest.mark.parametrize("packed", list(PACKINGS))
def test_games_and_players_in_every_compression(packed, tmp_path):
    tables = {
        "games.csv": (b"white,black,result\nann,bob,1-0\n", read_games),
        "games.pgn": (pgn().encode(), read_games),
        "ratings.csv": (b"player,rating\nann,1500\nbob,1600\n", read_initial_ratings),
        "lobby.csv": (b"player,rating\nann,1500\nbob,1600\n", read_lobby),
    }
    for name, (text, read) in tables.items():
        path = tmp_path / f"{name}{packed}"
        path.write_bytes(PACKINGS[packed](text, name))
        for source in (path, path.read_bytes()):
            assert read(source).player_ids.tolist() == ["ann", "bob"]


REPORT = (
    "012 Cup, 2024\n"
    "001    1      ann                                                                1.0    1"
    "     2 w 1\n"
    "001    2      bob                                                                0.0    2"
    "     1 b 0\n"
)
GAMES_AS_ROWS = '''white,black,result,pgn
ann,bob,1-0,"[Event ""Cup, 2024""]
[Site ""?""]
[Annotator """"]
1. e4 1-0"
'''


@pytest.mark.parametrize(
    ("name", "text", "format"),
    [
        ("t.trf", REPORT, "trf"),
        ("t.csv", REPORT, "trf"),
        ("t", f"### by, x\n{REPORT}", "trf"),
        ("t", "012 Cup\n022 Oslo\n", "trf"),
        ("t.txt", pgn(), "pgn"),
        ("t", f"{{ a comment, that\nhas two lines }}\n; and, another\n{pgn()}", "pgn"),
        ("t.csv", f"Games of, a club\n\n{pgn()}", "pgn"),
        ("t.pgn", "{" + " a very long, comment" * 500 + "}\n" + pgn(), "pgn"),
        ("t.csv", GAMES_AS_ROWS, "csv"),
        ("t", GAMES_AS_ROWS, "csv"),
        ("t", "{a},b\n[white],[black]\n", "csv"),
        ("t.pgn", "white,black,result\nann,bob,1-0\n", "csv"),
        ("t.csv", '[{"white": "ann", "black": "bob", "result": "1-0"}]', "json"),
        ("t.xlsx", FILES["csv"].decode(), "csv"),
    ],
)
def test_evidence_has_an_order(name, text, format, tmp_path):
    """The name, if the text looks like it, then what the text shows, and CSV last."""
    path = tmp_path / name
    for end in ("\n", "\r\n", "\r"):
        path.write_bytes(text.replace("\n", end).encode())
        (found,) = sources.contents_of(path, None)
        assert found.format == format


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"<!DOCTYPE html><html></html>", "web page"),
        (b"%PDF-1.7", "a PDF"),
        (b"SQLite format 3\0", "SQLite"),
        (b"Rar!\x1a\x07", "unpack it"),
        (b"\0\1\2\3", "a binary file"),
        (b"hello\n", "text"),
    ],
)
def test_what_no_reader_reads_is_named_with_a_way_out(content, words, tmp_path):
    path = tmp_path / ("t.zip" if words == "text" else "t.dat")
    path.write_bytes(content)
    (problem,) = scan_history(path).problems
    assert words in problem.got


# Archives -------------------------------------------------------------------------------------


def rule_of(source) -> str:
    """Return the rule that a source breaks."""
    (problem,) = scan_history(source).problems
    return problem.rule


def test_archives_within_archives_damaged_cut_or_encrypted_are_problems():
    table = FILES["csv"]
    for inner in (gzip.compress(table), bz2.compress(table), zipped({"a.csv": table})):
        assert rule_of(gzip.compress(inner)) == contents.NESTED
        assert rule_of(zipped({"a.csv": inner})) == contents.NESTED
    assert rule_of(zipped({"a.zip": table, "b.zip": table})) == contents.NESTED
    data = bytearray(zipped({"a.csv": FILES["csv"] * 100}))
    at = data.rindex(b"PK\x01\x02") + 24
    data[at : at + 4] = (10).to_bytes(4, "little")
    assert rule_of(bytes(data)) == contents.ARCHIVE
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.mkdir("data")
        archive.writestr("data/history.csv", FILES["csv"])
    complete = buffer.getvalue()
    assert read_history(complete, time_format="s").matches == 2
    for at in range(5, len(complete), 9):
        reading = scan_history(complete[:at])
        assert reading.history is None
        assert reading.problems
    flagged = bytearray(zipped({"a.csv": FILES["csv"]}))
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        flagged[flagged.index(mark) + offset] |= 1
    (problem,) = scan_history(bytes(flagged)).problems
    assert "encrypted" in problem.got


def zeros(count: int) -> bytes:
    """Return the header of a table and many zeros, which shrink to a thousandth."""
    return b"match,player,rank\n" + b"0" * count


@pytest.mark.parametrize("packed", [".gz", ".bz2", ".xz", ".zst", ".zip"])
def test_what_unpacks_to_far_more_is_refused(packed, monkeypatch):
    monkeypatch.setattr(contents, "RATIO_FROM", 2**21)
    bomb = PACKINGS[packed](zeros(2**24), "a.csv")
    taken: list[int] = []
    take = contents.Budget.take
    monkeypatch.setattr(
        contents.Budget, "take", lambda self, size: (taken.append(size), take(self, size))[1]
    )
    assert rule_of(bomb) == contents.UNPACKED_RATIO
    assert sum(taken) < 2**23


@pytest.mark.parametrize(
    ("limit", "value", "make", "rule"),
    [
        ("MOST_UNPACKED", 1000, lambda: gzip.compress(bytes(range(32, 127)) * 20), "UNPACKED_SIZE"),
        # The files of an archive count together.
        (
            *("RATIO_FROM", 2**21),
            lambda: zipped({f"{at}.csv": zeros(2**19) for at in range(32)}),
            "UNPACKED_RATIO",
        ),
        ("MOST_MEMBERS", 3, lambda: zipped({f"{at}.csv": "x" for at in range(4)}), "MEMBERS"),
    ],
)
def test_what_is_too_much_is_refused(limit, value, make, rule, monkeypatch):
    monkeypatch.setattr(contents, limit, value)
    assert rule_of(make()) == getattr(contents, rule)


def test_folders_patterns_and_archives_of_files(tmp_path):
    part = tmp_path / "mode=ranked" / "region=eu"
    part.mkdir(parents=True)
    (part / "part-0.csv").write_bytes(FILES["csv"])
    with pytest.raises(InvalidDataError, match="equipoise rate --by mode,region"):
        read_history(tmp_path)
    with pytest.raises(InvalidDataError, match=r"data/a\.csv"):
        read_history(zipped({"data/a.csv": "match,player,rank\n1,,1\n"}))
    folder = tmp_path / "links"
    (folder / "a" / ".hidden").mkdir(parents=True)
    (folder / "a" / "t.csv").write_bytes(FILES["csv"])
    (folder / "a" / ".hidden" / "u.csv").write_bytes(b"x")
    for name in ("one", "two", "three"):
        (folder / "a" / name).symlink_to(folder)
    found = read_history(f"{folder}/**/*.csv", time_format="s")
    assert_same_history(found, read_history(FRAME, time_format="s"))


def test_a_pipe_is_read_and_one_that_nothing_writes_to_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(contents, "LONGEST_WAIT", 0.2)
    path = tmp_path / "pipe.csv"
    os.mkfifo(path)
    (problem,) = scan_history(path).problems
    assert problem.rule == contents.WRITTEN
    writer = threading.Thread(target=path.write_bytes, args=(FILES["csv"],))
    writer.start()
    assert_same_history(read_history(path, time_format="s"), read_history(FRAME, time_format="s"))
    writer.join()


def test_devices_and_streams_that_never_end_are_refused(tmp_path, monkeypatch):
    (tmp_path / "zero.csv").symlink_to("/dev/zero")
    for path in ("/dev/zero", tmp_path / "zero.csv"):
        (problem,) = scan_history(path).problems
        assert problem.rule == sources.A_FILE
    monkeypatch.setattr(contents, "MOST_STREAMED", 2**22)

    class Endless(io.RawIOBase):
        def readinto(self, into):
            into[:] = b"1" * len(into)
            return len(into)

    (problem,) = scan_history(Endless(), format="csv").problems
    assert problem.rule == contents.STREAMED
