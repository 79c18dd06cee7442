"""JSON Lines, and a JSON list of rows."""

from __future__ import annotations

import json

import pytest

from equipoise.formats import read_history, scan_history
from formats.comparing import assert_same_history, told

#: Hints are checked as they are typed on the command line.
pytestmark = pytest.mark.usefixtures("options_in_messages")

ROWS = [
    {"match": 1, "player": "a", "rank": 0, "side": "home", "goals": 1.5},
    {"match": 1, "player": "b", "rank": 1, "side": None, "goals": None},
]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS)


@pytest.fixture
def scan(tmp_path):
    """Write a file and give what is read from it."""

    def write(content, name="t.jsonl", **options):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return scan_history(path, **options)

    return write


@pytest.mark.parametrize(
    "content",
    [
        LINES,
        LINES.rstrip("\n"),
        "\ufeff" + LINES,
        LINES.replace("\n", "\r\n"),
        "\n" + LINES + "\n\n",
        LINES.replace("\n", "\n\n"),
    ],
)
def test_harmless_variety_is_read_alike(scan, content):
    """Blank lines, line ends and byte order marks."""
    reading = scan(content)
    assert reading.problems == ()
    assert_same_history(reading.history, scan(json.dumps(ROWS), "t.json").history)
    assert reading.history.attributes["side"].tolist() == ["home", None]


def test_missing_keys_are_empty(scan):
    """Rows need not have all columns."""
    text = '{"match": 1, "player": 1, "rank": 0}\n{"match": 1, "player": 2, "rank": 1, "x": 5}\n'
    assert scan(text).history.attributes["x"].tolist() == [None, 5]


def test_ids_keep_their_type(scan):
    """Text that looks like a number stays text; mixed ids are text."""
    text = '{"match": "1", "player": 7, "rank": 0}\n{"match": "1", "player": "x", "rank": 1}\n'
    history = scan(text).history
    assert history.match_ids.tolist() == ["1"]
    assert history.player_ids.tolist() == ["7", "x"]


def test_lines_that_are_no_objects_are_told(scan):
    """All of them, with their lines; blank lines count."""
    problems = scan(LINES + "\n[1]\nhello\n" + '{"match":2,"player":"c","rank":-1}\n').problems
    assert told(problems) == [
        (4, "", "must be one JSON object", "'[1]'"),
        (5, "", "must be one JSON object", "'hello'"),
        (6, "rank", "must be a whole number from 0", "-1"),
    ]


def test_bad_lines_can_be_skipped(scan):
    """They are bad rows like others."""
    reading = scan(LINES + "[1]\n", skip_bad="rows")
    assert reading.history.matches == 1
    assert reading.dropped_rows == 1


def test_a_file_that_is_cut_off_is_told(scan):
    """The last line ends within an object."""
    for content, name in ((LINES[:-20], "t.jsonl"), (json.dumps(ROWS)[:-20], "t.json")):
        (problem,) = scan(content, name).problems
        assert problem.rule.startswith("must be complete")
    assert scan(LINES[:-20], skip_bad="rows").history is None


def test_undecodable_text_is_told(scan):
    """Also in a line that is read one by one."""
    (problem,) = scan(LINES.encode() + b'{"match":1,"player":"\xff","rank":1}\n').problems
    assert (problem.line, problem.rule) == (3, "must be text in UTF-8")


@pytest.mark.parametrize("content", ["", "\n \n"])
def test_an_empty_file_is_told(scan, content):
    """There is no row to read."""
    (problem,) = scan(content).problems
    assert problem.got == "an empty file"


def test_values_of_mixed_types_are_told(scan):
    """A truth value is no rank, a list is no id."""
    rows = [
        {"match": 1, "player": "a", "rank": True},
        {"match": 1, "player": "b", "rank": 1},
        {"match": 1, "player": "c", "rank": [2]},
    ]
    problems = scan("".join(json.dumps(row) + "\n" for row in rows)).problems
    assert [(one.line, one.field) for one in problems] == [(1, "rank"), (3, "rank")]


def test_nested_columns_are_left_out_with_a_note(tmp_path):
    """An attribute is a number, a truth value or text."""
    path = tmp_path / "t.parquet"
    import polars as pl

    pl.DataFrame({"match": [1], "player": [1], "rank": [0], "x": [[1, 2]]}).write_parquet(path)
    reading = scan_history(path)
    assert list(reading.history.attributes) == []
    assert reading.notes == ("column 'x' is left out: its values are nested",)
    assert read_history(path).matches == 1


@pytest.mark.parametrize("suffix", ["jsonl", "json"])
def test_nested_columns_of_json_are_left_out_as_those_of_parquet_are(tmp_path, suffix):
    """A list of players is no player, so it is not offered as one either."""
    rows = [
        {"match": 1, "player": name, "rank": rank, "talk": [{"role": "user"}], "tags": {"a": rank}}
        for rank, name in enumerate("ab")
    ]
    path = tmp_path / f"t.{suffix}"
    text = "\n".join(json.dumps(row) for row in rows) if suffix == "jsonl" else json.dumps(rows)
    path.write_text(text)
    reading = scan_history(path)
    assert list(reading.history.attributes) == []
    assert reading.notes == tuple(
        f"column {name!r} is left out: its values are nested" for name in ("talk", "tags")
    )
    path.write_text(text.replace('"player"', '"players"').replace('"talk"', '"player"'))
    (problem,) = scan_history(path).problems
    assert "did you mean --column player=players" in problem.got
