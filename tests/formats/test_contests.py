"""Contest JSON, and what Codeforces, DMOJ and AtCoder answer."""

from __future__ import annotations

import io
import json
import zipfile

import pytest

from equipoise.formats import read_history, scan_history
from formats.comparing import assert_same_history, told

FIRST = {"name": "First", "time_seconds": 100, "standings": [["a", 0, 0], ["b", 1, 2], ["c", 1, 2]]}
SECOND = {
    "name": "Second",
    "time_seconds": 50,
    "standings": [["c", 0, 0], ["a", 1, 1]],
    "weight": 0.5,
    "perf_ceiling": 1900,
}


@pytest.fixture
def saved(tmp_path):
    """Save documents under names and give the directory."""

    def save(**documents):
        for name, document in documents.items():
            content = document if isinstance(document, str) else json.dumps(document)
            (tmp_path / f"{name}.json").write_text(content)
        return tmp_path

    return save


def places(history):
    """Return the standings of every match as {match: {player: rank}}."""
    return {
        str(match): {
            str(history.player_ids[history.player[row]]): int(history.rank[row])
            for row in range(history.offsets[at], history.offsets[at + 1])
        }
        for at, match in enumerate(history.match_ids)
    }


def test_contests_are_matches_in_order_of_time(saved):
    """The name is the id; the lowest rank counts; weights and ceilings may be absent."""
    history = read_history(saved(x=FIRST, y=SECOND))
    assert places(history) == {"Second": {"c": 0, "a": 1}, "First": {"a": 0, "b": 1, "c": 1}}
    assert history.times().tolist() == [50, 100]
    assert history.weight.tolist() == [0.5, 1.0]
    assert history.performance_ceiling[0] == 1900


def test_directory_archive_and_lines_are_read_alike(saved, tmp_path):
    """Three ways to keep the same contests."""
    expected = read_history(saved(x=FIRST, y=SECOND))
    archive = tmp_path / "contests.zip"
    answer = tmp_path / "answer.zip"
    with zipfile.ZipFile(answer, "w") as packed:
        packed.writestr("1.json", json.dumps(CHANGES))
    assert places(read_history(answer)) == {"4": {"tourist": 0, "petr": 1, "x": 1}}
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("set/x.json", json.dumps(FIRST))
        packed.writestr("set/y.json", json.dumps(SECOND))
        packed.writestr("__MACOSX/set/x.json", "junk")
        packed.writestr("readme.txt", "junk")
    lines = tmp_path / "contests.jsonl"
    lines.write_text(f"{json.dumps(FIRST)}\n\n{json.dumps(SECOND)}\n")
    for source in (archive, lines):
        assert_same_history(read_history(source), expected)
    for source in (archive, lines):
        stream = io.BytesIO(source.read_bytes())
        assert_same_history(read_history(stream, format="contests"), expected)


def test_a_single_contest_is_a_history(saved):
    """One file, told by its content."""
    path = saved(x=FIRST) / "x.json"
    assert read_history(path).matches == 1
    assert read_history(path, format="contests").matches == 1


def test_contests_of_one_name_are_told_apart(saved):
    """By the names of their files."""
    history = read_history(saved(x=FIRST, y=FIRST | {"time_seconds": 200}))
    assert history.match_ids.tolist() == ["First (x)", "First (y)"]


def test_entries_that_are_not_as_they_must_are_told(saved):
    """With the file and the number of the standing."""
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


def test_problems_of_lines_have_their_line(tmp_path):
    """A contest is one line."""
    path = tmp_path / "t.jsonl"
    bad = SECOND | {"standings": [["a", -1, 0]]}
    path.write_text(f"{json.dumps(FIRST)}\n\n{json.dumps(bad)}\n")
    (problem,) = scan_history(path).problems
    assert (problem.line, problem.field) == (3, "rank")


def test_a_list_of_contests_is_read_and_problems_have_their_place(saved):
    """As one document, also in UTF-16, and with the number of the contest."""
    expected = read_history(saved(x=FIRST, y=SECOND))
    for encoding in ("utf-8", "utf-16"):
        data = json.dumps([FIRST, SECOND]).encode(encoding)
        assert_same_history(read_history(data), expected)
    bad = SECOND | {"standings": [["a", -1, 0]]}
    (problem,) = scan_history(json.dumps([FIRST, bad]).encode()).problems
    assert (problem.line, problem.field) == (2, "rank")


def test_bad_documents_are_told_together(saved):
    """Cut off, no JSON, no contest, no list."""
    path = saved(
        a=FIRST,
        b=json.dumps(FIRST)[:-5],
        c="hello",
        d={"x": 1},
        e={"name": "E", "standings": 5},
    )
    problems = scan_history(path).problems
    assert [one.file[-6:] for one in problems] == ["b.json", "c.json", "d.json", "e.json"]
    assert [one.rule for one in problems] == [
        "must be complete JSON",
        "must be JSON",
        "must be a list of rows, a contest, or a response of Codeforces, DMOJ or AtCoder",
        "must be a list",
    ]


def test_a_time_is_on_all_contests_or_on_none(saved):
    """As in any long table."""
    timeless = {"name": "Third", "standings": [["a", 0, 0]]}
    (problem,) = scan_history(saved(x=FIRST, y=timeless)).problems
    assert (problem.field, problem.rule) == ("time", "must be on all rows or on none")
    (tmp,) = (saved(x=timeless, y=timeless | {"name": "Fourth"}),)
    assert read_history(tmp).time is None


def test_a_contest_without_participants_is_left_out_with_a_note(saved):
    """It is no match."""
    reading = scan_history(saved(x=FIRST, y=SECOND | {"standings": []}), time_format="s")
    assert reading.history.matches == 1
    assert reading.notes == ("1 contest without participants is left out: Second",)


def test_a_directory_without_contests_is_told(tmp_path):
    """And so is an archive."""
    (problem,) = scan_history(tmp_path).problems
    assert problem.rule == "must hold tables, contests or games"
    archive = tmp_path / "t.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("readme.txt", "")
    (problem,) = scan_history(archive).problems
    assert problem.rule == "must hold at least one row"


def test_an_archive_must_be_whole(saved, tmp_path):
    """Cut off, or no archive at all."""
    archive = tmp_path / "t.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("x.json", json.dumps(FIRST))
    for content in (archive.read_bytes()[:-30], b"hello", b"PK\x03\x04"):
        archive.write_bytes(content)
        (problem,) = scan_history(archive).problems
        assert problem.rule == "must be a complete, readable zip archive"


CHANGES = {
    "status": "OK",
    "result": [
        {
            "contestId": 4,
            "contestName": "Round 4",
            "handle": handle,
            "rank": rank,
            "ratingUpdateTimeSeconds": 900,
            "oldRating": 1500,
            "newRating": new,
        }
        for handle, rank, new in (("tourist", 1, 1602), ("petr", 2, 1540), ("x", 2, 1400))
    ],
}


def party(handles, rank, kind="CONTESTANT", **more):
    """Return a row of Codeforces standings."""
    members = [{"handle": handle} for handle in handles]
    about = {"contestId": 7, "members": members, "participantType": kind, "ghost": False} | more
    return {"party": about, "rank": rank, "points": 5.0, "penalty": 0}


STANDINGS = {
    "status": "OK",
    "result": {
        "contest": {"id": 7, "startTimeSeconds": 1000, "durationSeconds": 500},
        "problems": [],
        "rows": [
            party(["a", "b"], 1, teamName="Twins", teamId=1),
            party(["z"], 1, kind="VIRTUAL"),
            party(["c"], 2),
            party(["d"], 3, kind="OUT_OF_COMPETITION"),
            party(["e", "f"], 3, teamName="Twins", teamId=2),
        ],
    },
}


def test_codeforces_rating_changes(saved):
    """The contest's id is a number; old and new ratings are kept."""
    history = read_history(saved(x=CHANGES) / "x.json")
    assert history.match_ids.tolist() == [4]
    assert places(history) == {"4": {"tourist": 0, "petr": 1, "x": 1}}
    assert history.times().tolist() == [900]
    assert history.attributes["new_rating"].tolist() == [1602, 1540, 1400]


def test_codeforces_standings(saved):
    """Contestants only; a party of several is a team; the time is the contest's end."""
    history = read_history(saved(x=STANDINGS))
    assert places(history) == {"7": {"a": 0, "b": 0, "c": 1, "e": 2, "f": 2}}
    assert history.team.tolist() == [0, 0, 1, 2, 2]
    assert history.team_labels.tolist() == [
        "Twins (row 1)",
        "Twins (row 1)",
        "row 3",
        "Twins (row 5)",
        "Twins (row 5)",
    ]
    assert history.times().tolist() == [1500]


def test_codeforces_parties_of_one_are_no_teams(saved):
    """A contest of individuals has no team labels."""
    result = STANDINGS["result"] | {"rows": [party(["a"], 1), party(["b"], 2)]}
    history = read_history(saved(x=STANDINGS | {"result": result}))
    assert history.team_labels is None
    assert history.team.tolist() == [0, 1]


def test_codeforces_answers_of_several_contests_in_a_directory(saved):
    """Ids of both methods are numbers of contests."""
    history = read_history(saved(x=STANDINGS, y=CHANGES))
    assert history.match_ids.tolist() == [4, 7]
    assert_same_history(read_history(saved(), format="codeforces"), history)


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
    """A failure saved to a file is told with its comment."""
    (problem,) = scan_history(saved(x=answer)).problems
    assert (problem.field, problem.got) == (field, got)


def entrant(user, score, time, **more):
    """Return an entry of a DMOJ ranking."""
    return {
        "user": user,
        "score": score,
        "cumulative_time": time,
        "tiebreaker": 0.0,
        "old_rating": None,
        "new_rating": 1500,
        "is_disqualified": False,
    } | more


DMOJ = {
    "api_version": "2.0",
    "data": {
        "object": {
            "key": "dmopc20",
            "name": "DMOPC",
            "start_time": "2020-01-01T00:00:00+00:00",
            "end_time": "2020-01-01T03:00:00+00:00",
            "is_rated": True,
            "has_rating": True,
            "rankings": [
                entrant("late", 100, 60),
                entrant("first", 100, 50),
                entrant("tie", 100, 60),
                entrant("broken tie", 100, 60, tiebreaker=1),
                entrant("cheat", 200, 1, is_disqualified=True),
                entrant("guest", 150, 1, new_rating=None),
                entrant("zero", 0, 0),
            ],
        }
    },
}
DMOJ_PLACES = {"first": 0, "late": 1, "tie": 1, "broken tie": 2, "zero": 3}


def dmoj(**more):
    """Return the DMOJ answer with some of the contest's keys changed."""
    return DMOJ | {"data": {"object": DMOJ["data"]["object"] | more}}


def test_dmoj_contests(saved):
    """By score, time and tiebreaker; without the disqualified and the unrated."""
    history = read_history(saved(x=DMOJ))
    assert places(history) == {"dmopc20": DMOJ_PLACES}
    assert history.times().astype(str).tolist() == ["2020-01-01T03:00:00.000000"]


def test_dmoj_contests_of_the_first_api(saved):
    """It calls score points and answers without an envelope."""
    rankings = [entrant("a", 0, 0), entrant("b", 0, 0)]
    old = {"name": "DMOPC", "has_rating": True, "rankings": rankings}
    for at, entry in enumerate(rankings):
        entry["points"], entry["cumtime"] = entry.pop("score") + at, entry.pop("cumulative_time")
    assert places(read_history(saved(dmopc=old))) == {"dmopc": {"b": 0, "a": 1}}


def test_dmoj_contests_that_are_not_rated_are_counted(saved):
    """Nobody's rating changes by them."""
    reading = scan_history(saved(x=DMOJ, y=dmoj(key="fun", is_rated=False, has_rating=False)))
    assert reading.history.match_ids.tolist() == ["dmopc20"]
    assert reading.unrated == 1


def test_dmoj_scores_must_be_numbers(saved):
    """The entry is told, and can be skipped."""
    path = saved(x=dmoj(rankings=[entrant("a", 1, 1), entrant("b", None, 1)]))
    (problem,) = scan_history(path).problems
    assert (problem.line, problem.field, problem.rule) == (2, "score", "must be a number")
    assert places(scan_history(path, skip_bad="rows").history) == {"dmopc20": {"a": 0}}


def contestant(name, rank, rated=True, count=3):
    """Return an entry of AtCoder standings."""
    return {
        "Rank": rank,
        "UserScreenName": name,
        "UserName": name.upper(),
        "IsRated": rated,
        "OldRating": 1000,
        "TotalResult": {"Count": count, "Score": 100},
    }


def test_atcoder_standings(saved):
    """Without the unrated and those who submitted nothing; the file's name is the id."""
    entries = [
        contestant("a", 1),
        contestant("b", 2, rated=False),
        contestant("c", 2),
        contestant("d", 2),
        contestant("e", 9, count=0),
    ]
    history = read_history(saved(abc300={"Fixed": True, "StandingsData": entries}))
    assert places(history) == {"abc300": {"a": 0, "c": 1, "d": 1}}
    assert history.time is None


def test_atcoder_results(saved):
    """They name contest and time."""
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
    assert places(history) == {"agc001": {"a": 0, "c": 1}}
    assert history.times().astype(str).tolist() == ["2016-07-16T13:50:00.000000"]
    assert history.attributes["new_rating"].tolist() == [2, 2]


def test_standings_without_anybody_rated_are_told(saved):
    """There is nothing to rate."""
    entries = [contestant("a", 1, rated=False)]
    (problem,) = scan_history(saved(x={"StandingsData": entries})).problems
    assert problem.rule == "must have at least one rated participant"


def test_rows_within_a_document_are_read_if_it_has_one_list(tmp_path):
    path = tmp_path / "page 1.json"
    rows = [{"match": 1, "player": name, "rank": place} for name, place in (("a", 1), ("b", 2))]
    path.write_text(json.dumps({"results": rows, "next": None}))
    assert scan_history(path).history.players == 2
    path.write_text(json.dumps({"results": rows, "others": [{"x": 1}]}))
    (problem,) = scan_history(path).problems
    assert problem.got.startswith("keys results, others")
