"""JSON objects with one list of matches, as collections of football results have them."""

from __future__ import annotations

import json
from pathlib import Path

import equipoise as eq

MATCHES = [
    {"round": "1", "team1": "ann", "team2": "ben", "score": {"ht": [0, 0], "ft": [4, 1]}},
    {"round": "1", "team1": "cid", "team2": "ann", "score": {"ht": [0, 1], "ft": [1, 1]}},
]


def scan(document: object, folder: Path) -> eq.HistoryReading:
    path = folder / "league.json"
    path.write_text(json.dumps(document))
    return eq.scan_history(path)


def test_a_list_of_matches_is_read(tmp_path: Path) -> None:
    reading = scan({"name": "League", "matches": MATCHES}, tmp_path)
    assert reading.history is not None
    assert reading.history.matches == 2
    assert reading.history.rank.tolist() == [0, 1, 0, 0]
    assert "read the rows of matches, without name" in reading.notes


def test_nested_teams_and_scores_are_columns(tmp_path: Path) -> None:
    one = {
        "homeTeam": {"id": 1, "name": "ann"},
        "awayTeam": {"id": 2, "name": "ben"},
        "score": {"winner": "AWAY_TEAM", "fullTime": {"home": 0, "away": 2}},
        "utcDate": "2024-08-16T19:00:00Z",
    }
    reading = scan({"filters": {}, "matches": [one]}, tmp_path)
    assert reading.history is not None
    assert reading.history.player_ids.tolist() == ["ann", "ben"]
    assert reading.history.rank.tolist() == [1, 0]


def test_other_objects_are_refused(tmp_path: Path) -> None:
    for document in (
        {"name": "x", "clubs": MATCHES},
        {"matches": []},
        {"a": MATCHES, "b": MATCHES},
    ):
        (problem,) = scan(document, tmp_path).problems
        assert "must be a list of rows, a contest" in problem.rule
