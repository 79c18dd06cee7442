"""No text of an export is run by a spreadsheet, and every text is read back as it was."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from equipoise import read_history, write_history, write_table
from equipoise.analysis.predict.computation import field_of
from equipoise.formats.games.crosstable import read_cross_table
from equipoise.formats.tables.delimited import (
    escaped,
    escaped_text,
    read_delimited,
    unescaped,
    unescaped_text,
)
from equipoise.formats.writing import TableFormat, write_pieces

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


def test_results_in_a_cross_table_are_no_formulas() -> None:
    """`=`, `+` and `-` are results there, written with or without an apostrophe."""
    plain = b"player,ana,bo,cy\nana,,=,+\nbo,=,,-\ncy,-,-,\n"
    with_marks = plain.replace(b",=", b",'=").replace(b",+", b",'+").replace(b",-", b",'-")
    tables = [read_delimited(content, "x.csv", ",") for content in (plain, with_marks)]
    found = [read_cross_table(table) for table in tables]
    assert [[one.points.tolist(), one.problems] for one in found] == [[[0.5], ()]] * 2


def test_a_field_of_players_is_read_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "ratings.csv"
    write_table(pl.DataFrame({"player": NAMES, "rating": [1.0] * len(NAMES)}), path)
    assert field_of(str(path)) == NAMES
