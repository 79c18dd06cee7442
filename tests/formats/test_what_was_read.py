"""What a reader says of a source as data: how it is stored, its kind, which column is which."""

from __future__ import annotations

from pathlib import Path

import pytest

import equipoise as eq

LONG = "match,player,place\n1,ann,1\n1,bob,2\n"
GAMES = "Home Team,Away Team,home_goals,away_goals,Date\nann,bob,2,1,2024-05-04\n"


def written(text: str, tmp_path: Path, name: str = "table.csv") -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_history_says_which_column_is_which(tmp_path: Path) -> None:
    """Columns that kept their names are listed too; the names are those of the file."""
    reading = eq.scan_history(written(LONG, tmp_path), columns={"rank": "place"})
    assert reading.format == "csv"
    assert reading.kind == "history"
    assert reading.columns == {"match": "match", "player": "player", "rank": "place"}


def test_games_as_matches_say_which_column_is_which(tmp_path: Path) -> None:
    reading = eq.scan_history(written(GAMES, tmp_path))
    assert (reading.format, reading.kind) == ("csv", "games")
    assert dict(reading.columns) == {
        "white": "Home Team",
        "black": "Away Team",
        "white_score": "home_goals",
        "black_score": "away_goals",
        "time": "Date",
    }


@pytest.mark.parametrize(
    ("text", "kind", "columns"),
    [
        (
            "White,Black,Result\nann,bob,1-0\n",
            "games",
            {"white": "White", "black": "Black", "result": "Result"},
        ),
        (
            "player,opponent,score\nann,bob,1\n",
            "pairs",
            {"player": "player", "opponent": "opponent", "points": "score"},
        ),
        (
            "match,player,rank\n1,ann,1\n1,bob,2\n",
            "history",
            {"match": "match", "player": "player", "rank": "rank"},
        ),
        ("player,ann,bob\nann,X,1\nbob,0,X\n", "crosstable", {}),
    ],
)
def test_games_say_what_they_came_from(
    text: str, kind: str, columns: dict[str, str], tmp_path: Path
) -> None:
    reading = eq.scan_games(written(text, tmp_path))
    assert (reading.format, reading.kind, dict(reading.columns)) == ("csv", kind, columns)


def test_every_kind_of_storage_has_its_name(tmp_path: Path) -> None:
    frame = eq.read_history(written(LONG, tmp_path), columns={"rank": "place"})
    for name in ("tsv", "jsonl", "parquet"):
        path = tmp_path / f"history.{name}"
        eq.write_history(frame, path)
        assert eq.scan_history(path).format == name
    assert eq.scan_history({"match": [1, 1], "player": ["a", "b"], "rank": [1, 2]}).format == (
        "memory"
    )
    contest = '{"name": "x", "time_seconds": 1, "standings": [["a", 0, 0], ["b", 1, 1]]}'
    assert eq.scan_history(written(contest, tmp_path, "one.json")).format == "contests"
    tags = '[White "ann"]\n[Black "bob"]\n[Result "1-0"]\n\n1. e4 1-0\n'
    assert eq.scan_games(written(tags, tmp_path, "one.pgn")).format == "pgn"


def test_a_source_that_cannot_be_opened_has_no_format(tmp_path: Path) -> None:
    reading = eq.scan_history(tmp_path / "nothing.csv")
    assert (reading.history, reading.format, reading.kind, reading.columns) == (None, "", "", {})
