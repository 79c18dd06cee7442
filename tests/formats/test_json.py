"""JSON Lines, a JSON list of rows, and objects with one list."""

from __future__ import annotations

import io
import json
import zipfile

import polars as pl
import pytest

from equipoise.errors import InvalidDataError
from equipoise.formats import read_history, scan_history
from equipoise.formats.games import read_games
from formats.comparing import assert_same_history, results_of, told
from formats.contest_documents import (
    CHANGES,
    DMOJ,
    FIRST,
    SECOND,
    STANDINGS,
    contestant,
    dmoj,
    entrant,
    party,
)
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


def test_ids_keep_their_type_and_a_file_that_is_cut_off_is_told():
    text = '{"match": "1", "player": 7, "rank": 0}\n{"match": "1", "player": "x", "rank": 1}\n'
    history = scan(text).history
    assert history.match_ids.tolist() == ["1"]
    assert history.player_ids.tolist() == ["7", "x"]
    for content, format in ((LINES[:-20], "jsonl"), (json.dumps(ROWS)[:-20], "json")):
        (problem,) = scan(content, format).problems
        assert problem.rule.startswith("must be complete")
    assert scan(LINES[:-20], skip_bad="rows").history is None
    # Before other lines, or with a line end, a line is a bad row.
    assert scan(f"{LINES[:-20]}\n", skip_bad="rows").history is not None


def test_bad_lines_are_told_or_skipped():
    problems = scan(LINES + "\n[1]\nhello\n" + '{"match":2,"player":"c","rank":-1}\n').problems
    assert told(problems) == [
        (4, "", "must be one JSON object", "'[1]'"),
        (5, "", "must be one JSON object", "'hello'"),
        (6, "rank", "must be a whole number from 0", "-1"),
    ]
    (problem,) = scan(LINES.encode() + b'{"match":1,"player":"\xff","rank":1}\n').problems
    assert (problem.line, problem.rule) == (3, "must be text in UTF-8")
    rows = [
        {"match": 1, "player": "a", "rank": True},
        {"match": 1, "player": "b", "rank": 1},
        {"match": 1, "player": "c", "rank": [2]},
    ]
    problems = scan("".join(json.dumps(row) + "\n" for row in rows)).problems
    assert [(one.line, one.field) for one in problems] == [(1, "rank"), (3, "rank")]
    reading = scan(LINES + "[1]\n", skip_bad="rows")
    assert reading.history.matches == 1
    assert reading.dropped_rows == 1


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


# Contest JSON, and what Codeforces, DMOJ and AtCoder answer.


@pytest.fixture
def saved(tmp_path):
    """Save documents under names and give the directory."""

    def save(**documents):
        for name, document in documents.items():
            content = document if isinstance(document, str) else json.dumps(document)
            (tmp_path / f"{name}.json").write_text(content)
        return tmp_path

    return save


def test_contests_are_matches_in_order_of_time_however_they_are_stored(saved, tmp_path):
    """The name is the id; the lowest rank counts; weights and ceilings may be absent."""
    history = read_history(saved(x=FIRST, y=SECOND))
    assert history.match_ids.tolist() == ["Second", "First"]
    assert results_of(history) == "c>a; a>b=c"
    assert history.times().tolist() == [50, 100]
    assert history.weight.tolist() == [0.5, 1.0]
    assert history.performance_ceiling[0] == 1900
    expected = read_history(saved(x=FIRST, y=SECOND))
    archive, lines = tmp_path / "contests.zip", tmp_path / "contests.jsonl"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("set/x.json", json.dumps(FIRST))
        packed.writestr("set/y.json", json.dumps(SECOND))
    lines.write_text(f"{json.dumps(FIRST)}\n\n{json.dumps(SECOND)}\n")
    for source in (archive, lines):
        assert_same_history(read_history(source), expected)
        stream = io.BytesIO(source.read_bytes())
        assert_same_history(read_history(stream, format="contests"), expected)
    for encoding in ("utf-8", "utf-16"):
        assert_same_history(read_history(json.dumps([FIRST, SECOND]).encode(encoding)), expected)
    bad = SECOND | {"standings": [["a", -1, 0]]}
    for text, line in (
        (f"{json.dumps(FIRST)}\n\n{json.dumps(bad)}\n", 3),
        (json.dumps([FIRST, bad]), 2),
    ):
        (problem,) = scan_history(text.encode()).problems
        assert (problem.line, problem.field) == (line, "rank")


def test_entries_that_are_not_as_they_must_are_told(saved):
    standings = [["a", 0, 0], ["b", 2, 1], ["c", 1], 7, ["d", "x", 1], ["", 5, 5], ["e", -1, 0]]
    path = saved(x=FIRST, y=SECOND | {"standings": standings})
    problems = scan_history(path).problems
    assert {one.file for one in problems} == {str(path / "y.json")}
    triple = "must be a list of player, lowest and highest rank"
    whole = "must be a whole number from 0"
    assert told(problems) == [
        (2, "rank", "must have a lowest rank that is not above the highest", "2 and 1"),
        (3, "standings", triple, "['c', 1]"),
        (4, "standings", triple, "7"),
        (5, "rank", whole, "'x'"),
        (6, "player", "must not be empty", "nothing"),
        (7, "rank", whole, "'-1'"),
    ]


def test_bad_documents_are_told_together(saved):
    path = saved(
        a=FIRST, b=json.dumps(FIRST)[:-5], c="hello", d={"x": 1}, e={"name": "E", "standings": 5}
    )
    problems = scan_history(path).problems
    assert [one.file[-6:] for one in problems] == ["b.json", "c.json", "d.json", "e.json"]
    assert [one.rule for one in problems] == [
        "must be complete JSON",
        "must be JSON",
        "must be a list of rows, a contest, or a response of Codeforces, DMOJ or AtCoder",
        "must be a list",
    ]


def test_participants_names_and_times_of_contests(saved):
    reading = scan_history(saved(x=FIRST, y=SECOND | {"standings": []}), time_format="s")
    assert reading.history.matches == 1
    assert reading.notes == ("1 contest without participants is left out: Second",)
    entries = [contestant("a", 1, rated=False)]
    (problem,) = scan_history(saved(x={"StandingsData": entries})).problems
    assert problem.rule == "must have at least one rated participant"
    timeless = {"name": "Third", "standings": [["a", 0, 0]]}
    (problem,) = scan_history(saved(x=FIRST, y=timeless)).problems
    assert (problem.field, problem.rule) == ("time", "must be on all rows or on none")
    assert read_history(saved(x=timeless, y=timeless | {"name": "Fourth"})).time is None
    history = read_history(saved(x=FIRST, y=FIRST | {"time_seconds": 200}))
    assert history.match_ids.tolist() == ["First (x)", "First (y)"]


def test_codeforces_answers_of_several_contests_in_a_directory(saved):
    history = read_history(saved(x=STANDINGS, y=CHANGES))
    assert history.match_ids.tolist() == [4, 7]
    assert_same_history(read_history(saved(), format="codeforces"), history)


def test_codeforces_parties_of_several_are_teams(saved):
    history = read_history(saved(x=STANDINGS))
    assert history.team.tolist() == [0, 0, 1, 2, 2]
    labels = ["Twins (row 1)", "row 3", "Twins (row 5)"]
    assert history.team_labels.tolist() == [labels[team] for team in history.team]
    result = STANDINGS["result"] | {"rows": [party(["a"], 1), party(["b"], 2)]}
    history = read_history(saved(x=STANDINGS | {"result": result}))
    assert history.team_labels is None
    assert history.team.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("answer", "field", "got"),
    [
        ({"status": "FAILED", "comment": "contestId: no"}, "status", "'contestId: no'"),
        ({"status": "OK", "result": 5}, "result", "5"),
        ({"status": "OK", "result": [5]}, "result", "5"),
        ({"status": "OK", "result": {"rows": [{"rank": 1}]}}, "rows", "{'rank': 1}"),
        ({"status": "OK", "result": {"rows": 1}}, "rows", "1"),
    ],
)
def test_codeforces_answers_that_are_none(saved, answer, field, got):
    (problem,) = scan_history(saved(x=answer)).problems
    assert (problem.field, problem.got) == (field, got)


def test_dmoj_contests_are_rated_and_scores_are_numbers(saved):
    reading = scan_history(saved(x=DMOJ, y=dmoj(key="fun", is_rated=False, has_rating=False)))
    assert reading.history.match_ids.tolist() == ["dmopc20"]
    assert reading.unrated == 1
    path = saved(x=dmoj(rankings=[entrant("a", 1, 1), entrant("b", None, 1)]))
    (problem,) = scan_history(path).problems
    assert (problem.line, problem.field, problem.rule) == (2, "score", "must be a number")
    assert results_of(scan_history(path, skip_bad="rows").history) == "a"


def first_api(user, points):
    """Return an entry of a DMOJ ranking as its first API has them."""
    entry = entrant(user, 0, 0)
    del entry["score"], entry["cumulative_time"]
    return entry | {"points": points, "cumtime": 0}


@pytest.mark.parametrize(
    ("document", "id", "results", "time"),
    [
        (CHANGES, 4, "tourist>petr=x", 900),
        # Contestants only; a party of several is a team; the time is the contest's end.
        (STANDINGS, 7, "a=b>c>e=f", 1500),
        # By score, time and tiebreaker; without the disqualified and the unrated.
        (DMOJ, "dmopc20", "first>late=tie>broken tie>zero", "2020-01-01T03:00:00.000000"),
        (
            {
                "name": "DMOPC",
                "has_rating": True,
                "rankings": [first_api("a", 0), first_api("b", 1)],
            },
            "abc300",
            "b>a",
            None,
        ),
        # Whole numbers of any size.
        (
            dmoj(
                rankings=[
                    entrant("a", 10**400, 1),
                    entrant("b", 10**400 + 1, 1),
                    entrant("c", 0.5, 1),
                ]
            ),
            "dmopc20",
            "b>a>c",
            "2020-01-01T03:00:00.000000",
        ),
        # Without the unrated and those who submitted nothing; the file's name is the id.
        (
            {
                "Fixed": True,
                "StandingsData": [
                    contestant("a", 1),
                    contestant("b", 2, rated=False),
                    *(contestant(name, 2) for name in "cd"),
                    contestant("e", 9, count=0),
                ],
            },
            "abc300",
            "a>c=d",
            None,
        ),
    ],
)
def test_responses_are_matches(saved, document, id, results, time):
    history = read_history(saved(abc300=document))
    assert history.match_ids.tolist() == [id]
    assert results_of(history) == results
    times = history.times()
    assert (times if time is None else times.astype(type(time)).tolist()) == (time and [time])
    if document is CHANGES:
        assert history.attributes["new_rating"].tolist() == [1602, 1540, 1400]


def test_atcoder_results(saved):
    results = [
        {
            "IsRated": rated,
            "Place": place,
            "OldRating": 1,
            "NewRating": 2,
            "ContestScreenName": "agc001.contest.atcoder.jp",
            "EndTime": "2016-07-16T22:50:00+09:00",
            "UserScreenName": name,
        }
        for name, place, rated in (("a", 1, True), ("b", 2, False), ("c", 3, True))
    ]
    history = read_history(saved(x=results) / "x.json")
    assert history.match_ids.tolist() == ["agc001"]
    assert results_of(history) == "a>c"
    assert history.times().astype(str).tolist() == ["2016-07-16T13:50:00.000000"]
    assert history.attributes["new_rating"].tolist() == [2, 2]


def test_rows_within_a_document_are_read_if_it_has_one_list(tmp_path):
    path = tmp_path / "page 1.json"
    rows = [{"match": 1, "player": name, "rank": place} for name, place in (("a", 1), ("b", 2))]
    path.write_text(json.dumps({"results": rows, "next": None}))
    assert scan_history(path).history.players == 2
    path.write_text(json.dumps({"results": rows, "others": [{"x": 1}]}))
    (problem,) = scan_history(path).problems
    assert problem.got.startswith("keys results, others")
