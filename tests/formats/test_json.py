"""JSON Lines, a JSON list of rows, and objects with one list."""

from __future__ import annotations

import json

import polars as pl
import pytest

from equipoise.errors import InvalidDataError
from equipoise.formats import read_history, scan_history
from equipoise.formats.games import read_games
from formats.comparing import assert_same_history, results_of, told
from formats.test_opening import binary

#: Hints are checked as they are typed on the command line.
pytestmark = pytest.mark.usefixtures("options_in_messages")

ROWS = [
    {"match": 1, "player": "a", "rank": 0, "side": "home", "goals": 1.5},
    {"match": 1, "player": "b", "rank": 1, "side": None, "goals": None},
]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS)


def scan(content, format="jsonl", **options):
    """Return what is read from text or bytes."""
    data = content.encode() if isinstance(content, str) else content
    return scan_history(data, format=format, **options)


@pytest.mark.parametrize(
    "content",
    [
        LINES.rstrip("\n"),
        "\ufeff" + LINES,
        LINES.replace("\n", "\r\n"),
        "\n" + LINES.replace("\n", "\n\n"),
        LINES.replace(', "side": null, "goals": null', ""),
    ],
)
def test_harmless_variety_is_read_alike(content):
    reading = scan(content)
    assert reading.problems == ()
    assert_same_history(reading.history, scan(json.dumps(ROWS), "json").history)
    assert reading.history.attributes["side"].tolist() == ["home", None]


def test_ids_keep_their_type():
    text = '{"match": "1", "player": 7, "rank": 0}\n{"match": "1", "player": "x", "rank": 1}\n'
    history = scan(text).history
    assert history.match_ids.tolist() == ["1"]
    assert history.player_ids.tolist() == ["7", "x"]


def test_lines_that_are_no_objects_are_told():
    problems = scan(LINES + "\n[1]\nhello\n" + '{"match":2,"player":"c","rank":-1}\n').problems
    assert told(problems) == [
        (4, "", "must be one JSON object", "'[1]'"),
        (5, "", "must be one JSON object", "'hello'"),
        (6, "rank", "must be a whole number from 0", "-1"),
    ]


def test_bad_lines_can_be_skipped():
    reading = scan(LINES + "[1]\n", skip_bad="rows")
    assert reading.history.matches == 1
    assert reading.dropped_rows == 1


def test_a_file_that_is_cut_off_is_told():
    for content, format in ((LINES[:-20], "jsonl"), (json.dumps(ROWS)[:-20], "json")):
        (problem,) = scan(content, format).problems
        assert problem.rule.startswith("must be complete")
    assert scan(LINES[:-20], skip_bad="rows").history is None
    # Before other lines, or with a line end, a line is a bad row.
    assert scan(f"{LINES[:-20]}\n", skip_bad="rows").history is not None


@pytest.mark.parametrize(
    ("content", "format", "rule", "got"),
    [
        ("", "jsonl", "must hold at least one row", "an empty file"),
        (" \n", "jsonl", "must hold at least one row", "an empty file"),
        ("[1, 2]", "json", "must be one JSON object", "1"),
    ],
)
def test_files_without_objects_are_refused(content, format, rule, got):
    (problem,) = scan(content, format).problems
    assert (problem.rule, problem.got) == (rule, got)


def test_undecodable_text_is_told():
    (problem,) = scan(LINES.encode() + b'{"match":1,"player":"\xff","rank":1}\n').problems
    assert (problem.line, problem.rule) == (3, "must be text in UTF-8")


def test_values_of_mixed_types_are_told():
    rows = [
        {"match": 1, "player": "a", "rank": True},
        {"match": 1, "player": "b", "rank": 1},
        {"match": 1, "player": "c", "rank": [2]},
    ]
    problems = scan("".join(json.dumps(row) + "\n" for row in rows)).problems
    assert [(one.line, one.field) for one in problems] == [(1, "rank"), (3, "rank")]


@pytest.mark.parametrize("other", [1, 1.5])
def test_numbers_beyond_double_precision_are_told(other):
    rows = [
        {"match": 1, "player": "a", "score": other},
        {"match": 1, "player": "b", "score": 10**400},
    ]
    (problem,) = scan(json.dumps(rows), "json").problems
    assert (problem.line, problem.field, problem.rule) == (2, "score", "must be a finite number")


@pytest.mark.parametrize("format", ["jsonl", "json", "parquet"])
def test_nested_columns_are_left_out(format):
    rows = [
        {"match": 1, "player": name, "rank": rank, "talk": [{"role": "user"}], "tags": {"a": rank}}
        for rank, name in enumerate("ab")
    ]

    def stored(rows):
        if format == "parquet":
            return binary("write_parquet", pl.DataFrame(rows))
        return "\n".join(map(json.dumps, rows)) if format == "jsonl" else json.dumps(rows)

    reading = scan(stored(rows), format)
    assert list(reading.history.attributes) == []
    assert reading.notes == tuple(
        f"column {name!r} is left out: its values are nested" for name in ("talk", "tags")
    )
    if format == "parquet":
        return
    renamed = {"player": "players", "talk": "player"}
    rows = [{renamed.get(key, key): value for key, value in row.items()} for row in rows]
    (problem,) = scan(stored(rows), format).problems
    assert "did you mean --column player=players" in problem.got


MATCHES = [
    {"round": "1", "team1": "ann", "team2": "ben", "score": {"ht": [0, 0], "ft": [4, 1]}},
    {"round": "1", "team1": "cid", "team2": "ann", "score": {"ht": [0, 1], "ft": [1, 1]}},
]
#: As football-data.org answers.
NESTED = {
    "homeTeam": {"id": 1, "name": "ann"},
    "awayTeam": {"id": 2, "name": "ben"},
    "score": {"winner": "AWAY_TEAM", "fullTime": {"home": 0, "away": 2}},
    "utcDate": "2024-08-16T19:00:00Z",
}


@pytest.mark.parametrize(
    ("document", "results", "note"),
    [
        ({"name": "League", "matches": MATCHES}, "ann>ben; cid=ann", "without name"),
        ({"filters": {}, "matches": [NESTED]}, "ben>ann", "without filters"),
        ({"name": "x", "clubs": MATCHES}, None, ""),
        ({"matches": []}, None, ""),
        ({"a": MATCHES, "b": MATCHES}, None, ""),
    ],
)
def test_the_only_list_of_an_object_is_read_if_it_is_called_like_matches(document, results, note):
    reading = scan(json.dumps(document), "json")
    if results is None:
        assert "must be a list of rows, a contest" in reading.problems[0].rule
        return
    assert results_of(reading.history) == results
    assert f"read the rows of matches, {note}" in reading.notes


DEEP = {
    "arrays": b"[" * 100_000 + b"]" * 100_000,
    "arrays left open": b"[" * 100_000,
    "objects": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "objects left open": b'{"a":' * 100_000,
    "in a row": b'{"white":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "in the second row": b'{"white":"a"}\n{"white":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
}


@pytest.mark.parametrize("name", DEEP)
@pytest.mark.parametrize("format", ["jsonl", "json", "games", "pairs", "crosstable", "history"])
def test_deep_json_is_refused(name, format):
    with pytest.raises(InvalidDataError):
        read_games(DEEP[name], format=format)
    with pytest.raises(InvalidDataError):
        read_history(DEEP[name], format=format)
