"""Contest JSON, and what Codeforces, DMOJ and AtCoder answer."""

from __future__ import annotations

import io
import json
import zipfile

import pytest

from equipoise.formats import read_history, scan_history
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


@pytest.fixture
def saved(tmp_path):
    """Save documents under names and give the directory."""

    def save(**documents):
        for name, document in documents.items():
            content = document if isinstance(document, str) else json.dumps(document)
            (tmp_path / f"{name}.json").write_text(content)
        return tmp_path

    return save


def test_contests_are_matches_in_order_of_time(saved):
    """The name is the id; the lowest rank counts; weights and ceilings may be absent."""
    history = read_history(saved(x=FIRST, y=SECOND))
    assert history.match_ids.tolist() == ["Second", "First"]
    assert results_of(history) == "c>a; a>b=c"
    assert history.times().tolist() == [50, 100]
    assert history.weight.tolist() == [0.5, 1.0]
    assert history.performance_ceiling[0] == 1900


def test_directory_archive_and_lines_are_read_alike(saved, tmp_path):
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
    bad = SECOND | {"standings": [["a", -1, 0]]}
    (problem,) = scan_history(f"{json.dumps(FIRST)}\n\n{json.dumps(bad)}\n".encode()).problems
    assert (problem.line, problem.field) == (3, "rank")


def test_contests_of_one_name_are_told_apart(saved):
    history = read_history(saved(x=FIRST, y=FIRST | {"time_seconds": 200}))
    assert history.match_ids.tolist() == ["First (x)", "First (y)"]


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


def test_a_list_of_contests_is_read_and_problems_have_their_place(saved):
    expected = read_history(saved(x=FIRST, y=SECOND))
    for encoding in ("utf-8", "utf-16"):
        data = json.dumps([FIRST, SECOND]).encode(encoding)
        assert_same_history(read_history(data), expected)
    bad = SECOND | {"standings": [["a", -1, 0]]}
    (problem,) = scan_history(json.dumps([FIRST, bad]).encode()).problems
    assert (problem.line, problem.field) == (2, "rank")


def test_bad_documents_are_told_together(saved):
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


def test_a_contest_without_participants_is_left_out_with_a_note(saved):
    reading = scan_history(saved(x=FIRST, y=SECOND | {"standings": []}), time_format="s")
    assert reading.history.matches == 1
    assert reading.notes == ("1 contest without participants is left out: Second",)


def test_a_time_is_on_all_contests_or_on_none(saved):
    timeless = {"name": "Third", "standings": [["a", 0, 0]]}
    (problem,) = scan_history(saved(x=FIRST, y=timeless)).problems
    assert (problem.field, problem.rule) == ("time", "must be on all rows or on none")
    assert read_history(saved(x=timeless, y=timeless | {"name": "Fourth"})).time is None


def test_codeforces_rating_changes(saved):
    history = read_history(saved(x=CHANGES) / "x.json")
    assert history.match_ids.tolist() == [4]
    assert results_of(history) == "tourist>petr=x"
    assert history.times().tolist() == [900]
    assert history.attributes["new_rating"].tolist() == [1602, 1540, 1400]


def test_codeforces_standings(saved):
    """Contestants only; a party of several is a team; the time is the contest's end."""
    history = read_history(saved(x=STANDINGS))
    assert results_of(history) == "a=b>c>e=f"
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
    result = STANDINGS["result"] | {"rows": [party(["a"], 1), party(["b"], 2)]}
    history = read_history(saved(x=STANDINGS | {"result": result}))
    assert history.team_labels is None
    assert history.team.tolist() == [0, 1]


def test_codeforces_answers_of_several_contests_in_a_directory(saved):
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
    (problem,) = scan_history(saved(x=answer)).problems
    assert (problem.field, problem.got) == (field, got)


def test_dmoj_contests(saved):
    """By score, time and tiebreaker; without the disqualified and the unrated."""
    history = read_history(saved(x=DMOJ))
    assert history.match_ids.tolist() == ["dmopc20"]
    assert results_of(history) == "first>late=tie>broken tie>zero"
    assert history.times().astype(str).tolist() == ["2020-01-01T03:00:00.000000"]


def test_dmoj_contests_of_the_first_api(saved):
    rankings = [entrant("a", 0, 0), entrant("b", 0, 0)]
    old = {"name": "DMOPC", "has_rating": True, "rankings": rankings}
    for at, entry in enumerate(rankings):
        entry["points"], entry["cumtime"] = entry.pop("score") + at, entry.pop("cumulative_time")
    assert results_of(read_history(saved(dmopc=old))) == "b>a"


def test_dmoj_contests_that_are_not_rated_are_counted(saved):
    reading = scan_history(saved(x=DMOJ, y=dmoj(key="fun", is_rated=False, has_rating=False)))
    assert reading.history.match_ids.tolist() == ["dmopc20"]
    assert reading.unrated == 1


def test_dmoj_scores_must_be_numbers(saved):
    path = saved(x=dmoj(rankings=[entrant("a", 1, 1), entrant("b", None, 1)]))
    (problem,) = scan_history(path).problems
    assert (problem.line, problem.field, problem.rule) == (2, "score", "must be a number")
    assert results_of(scan_history(path, skip_bad="rows").history) == "a"


def test_dmoj_scores_may_be_whole_numbers_of_any_size(saved):
    rankings = [entrant("a", 10**400, 1), entrant("b", 10**400 + 1, 1), entrant("c", 0.5, 1)]
    assert results_of(read_history(saved(x=dmoj(rankings=rankings)))) == "b>a>c"


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
    assert history.match_ids.tolist() == ["abc300"]
    assert results_of(history) == "a>c=d"
    assert history.time is None


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


def test_standings_without_anybody_rated_are_told(saved):
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
