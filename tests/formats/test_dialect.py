"""How text files of tables are written: separators, encodings, titles above the header."""

from __future__ import annotations

from pathlib import Path

import pytest

import equipoise as eq
from equipoise.formats.tables.delimited import read_delimited

ROWS = [["Match", "Player", "Place"], ["1", "ann", "1"], ["1", "bob", "2"], ["2", "ann", "9"]]
WANTED = eq.read_history({"match": [1, 1, 2], "player": ["ann", "bob", "ann"], "rank": [1, 2, 9]})


def text_of(separator: str) -> str:
    return "".join(separator.join(row) + "\n" for row in ROWS)


def scan(content: bytes | str, tmp_path: Path, name: str = "table.csv") -> eq.HistoryReading:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return eq.scan_history(path)


def check(reading: eq.HistoryReading, *notes: str) -> None:
    """Check that the usual history was read, and the notes before those on names."""
    history = reading.history
    assert history.match_ids.tolist() == WANTED.match_ids.tolist()
    assert history.player_ids.tolist() == WANTED.player_ids.tolist()
    assert history.rank.tolist() == WANTED.rank.tolist()
    assert reading.notes == (*notes, "read Match as match, Player as player, Place as rank")


@pytest.mark.parametrize(
    ("separator", "name", "said"),
    [
        (";", "table.csv", "columns are separated by ';', not by a comma"),
        ("\t", "table.csv", "columns are separated by '\\t', not by a comma"),
        ("|", "table.csv", "columns are separated by '|', not by a comma"),
        (",", "table.tsv", "columns are separated by ',', not by a tab"),
        (";", "table.tsv", "columns are separated by ';', not by a tab"),
    ],
)
def test_the_header_shows_the_separator(
    separator: str, name: str, said: str, tmp_path: Path
) -> None:
    check(scan(text_of(separator), tmp_path, name), said)


@pytest.mark.parametrize("mark", [";", ",", "|", "\t"])
@pytest.mark.parametrize("line", ["sep={}\n", "SEP={}\r\n", '"sep={}"\n', "\n\nsep={}\n\n"])
def test_the_first_line_of_a_spreadsheet_says_the_separator(
    mark: str, line: str, tmp_path: Path
) -> None:
    notes = () if mark == "," else (f"columns are separated by {mark!r}, as line 1 says",)
    check(scan(line.format(mark) + text_of(mark), tmp_path), *notes)


def test_lines_count_the_one_with_the_separator(tmp_path: Path) -> None:
    reading = scan("sep=;\nmatch;player;rank\n1;ann;1\n1;bob;x\n", tmp_path)
    (problem,) = reading.problems
    assert (problem.line, problem.field) == (4, "rank")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig"])
@pytest.mark.parametrize("marked", [True, False])
def test_unicode_text_of_spreadsheets_is_read(encoding: str, marked: bool, tmp_path: Path) -> None:
    mark = "" if encoding in ("utf-16", "utf-8-sig") or not marked else "\ufeff"
    notes = ["the file is text in UTF-16"]
    if encoding == "utf-8-sig":
        notes = []
    content = (mark + text_of("\t").replace("\n", "\r\n")).encode(encoding)
    check(scan(content, tmp_path, "table.tsv"), *notes)


@pytest.mark.parametrize(
    ("above", "line"),
    [
        ("Spring League\n", 2),
        ("Spring League,,\n,,\n", 3),
        ("Spring League\nfrom 2024, all rounds\n\n", 4),
        ("\nSpring League\n", 3),
    ],
)
def test_titles_above_the_header_are_left_out(above: str, line: int, tmp_path: Path) -> None:
    note = f"the header is line {line}; what is above it is left out"
    check(scan(above + text_of(","), tmp_path), note)
    separated = "columns are separated by ';', not by a comma"
    if "," not in above:
        check(scan(above + text_of(";"), tmp_path), note, separated)
    (problem,) = scan(f"{above}match,player,rank\n1,ann,1\n1,bob,x\n", tmp_path).problems
    assert (problem.line, problem.field) == (line + 2, "rank")


@pytest.mark.parametrize(
    "text",
    [
        "name,same_as\nann,anna\n",
        "player,rating\nann,1500\n",
        "a,b\n1,2\n",
        "player,ann,bob\nann,X,1\nbob,0,X\n",
        "x\n1\n2\n",
    ],
)
def test_tables_of_other_kinds_are_left_as_they_are(text: str) -> None:
    table = read_delimited(text.encode(), "table.csv", ",")
    assert ",".join(table.frame.columns) == text.partition("\n")[0]
    assert len(table.frame) == text.count("\n") - 1
    assert table.notes == ()


def test_a_row_that_looks_like_a_header_is_a_row_below_one(tmp_path: Path) -> None:
    reading = scan("match,player,rank\n1,ann,1\nMatch,Player,Rank\n", tmp_path)
    assert [problem.line for problem in reading.problems] == [3]


def test_empty_fields_beyond_the_header_are_nothing(tmp_path: Path) -> None:
    ragged = "".join(",".join(row) + ("," * at) + "\n" for at, row in enumerate(ROWS))
    check(scan(ragged, tmp_path), "empty fields beyond the header are left out of 3 rows")
    reading = scan(ragged.replace("ann,1,", "ann,1,x"), tmp_path)
    (problem,) = reading.problems
    assert problem.rule == "must have 3 fields like the header"
