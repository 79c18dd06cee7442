"""Tables with a column of dates and one of clock times, as football has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

import equipoise as eq

#: Hints are checked as they are typed on the command line.
pytestmark = pytest.mark.usefixtures("options_in_messages")

GAMES = {
    "Date": ["2024-08-16", "2024-08-16", "2024-08-15"],
    "Time": ["20:00", "12:30", "12:30"],
    "HomeTeam": ["ann", "ben", "cid"],
    "AwayTeam": ["ben", "cid", "ann"],
    "FTHG": [1, 0, 2],
    "FTAG": [0, 0, 1],
}


def csv_of(table: Mapping[str, Sequence[object]], folder: Path) -> Path:
    path = folder / "games.csv"
    lines = [
        ",".join(table),
        *(",".join(map(str, row)) for row in zip(*table.values(), strict=True)),
    ]
    path.write_text("\n".join(lines))
    return path


def test_dates_and_clock_times_are_one_time(tmp_path: Path) -> None:
    reading = eq.scan_history(csv_of({**GAMES}, tmp_path))
    assert reading.history.match_ids.tolist() == [3, 2, 1]
    assert "Date and Time together are the times" in reading.notes
    games = eq.scan_games(csv_of({**GAMES}, tmp_path), since="2024-08-16T13:00")
    assert len(games.games.points) == 1


def test_dates_alone_are_the_time_if_a_clock_time_is_missing(tmp_path: Path) -> None:
    table = {**GAMES, "Time": ["20:00", "", "12:30"]}
    reading = eq.scan_history(csv_of(table, tmp_path))
    assert reading.history.match_ids.tolist() == [3, 1, 2]
    assert "the times are those of Date; Time, times of day, is left out" in reading.notes


def test_a_format_of_dates_and_one_of_both_are_taken(tmp_path: Path) -> None:
    dates = ["16/08/2024", "16/08/2024", "15/08/2024"]
    path = csv_of({**GAMES, "Date": dates}, tmp_path)
    problem = eq.scan_history(path).problems[0]
    assert "--time-format '%d/%m/%Y %H:%M'" in problem.rule
    both = eq.read_history(path, time_format="%d/%m/%Y %H:%M")
    assert both.match_ids.tolist() == [3, 2, 1]
    only = eq.read_history(path, time_format="%d/%m/%Y")
    assert only.match_ids.tolist() == [3, 1, 2]


def test_long_tables_have_them_as_well(tmp_path: Path) -> None:
    table = {
        "Date": ["2024-08-16"] * 2 + ["2024-08-15"] * 2,
        "Time": ["20:00"] * 2 + ["12:30"] * 2,
        "Match": [1, 1, 2, 2],
        "Player": ["ann", "ben", "ann", "ben"],
        "Rank": [1, 2, 2, 1],
    }
    history = eq.read_history(csv_of(table, tmp_path))
    assert history.match_ids.tolist() == [2, 1]


@pytest.mark.parametrize("column", ["Date", "Time"])
def test_a_named_column_of_times_is_used(column: str, tmp_path: Path) -> None:
    path = csv_of({**GAMES}, tmp_path)
    reading = eq.scan_history(path, columns={"time": column})
    assert (reading.history is None) == (column == "Time")
    if reading.history is not None:
        assert reading.history.match_ids.tolist() == [3, 1, 2]


def test_a_column_that_may_be_the_time_is_said(tmp_path: Path) -> None:
    games = {"tourney_date": [19800303, 19800303], "winner": ["a", "b"], "loser": ["b", "c"]}
    said = "tourney_date is kept but not read as time (--column time=tourney_date does it)"
    assert said in eq.scan_history(csv_of({**games}, tmp_path)).notes
    long = {"Match": [1, 1], "player": ["a", "b"], "rank": [1, 2], "created_at": [20240101] * 2}
    said = "created_at is kept but not read as time (--column time=created_at does it)"
    assert said in eq.scan_history(csv_of({**long}, tmp_path)).notes
    long["match"] = long.pop("Match")
    assert said in eq.scan_history(csv_of({**long}, tmp_path)).notes


def test_home_team_id_and_full_time_are_read(tmp_path: Path) -> None:
    goals = {"home_team_id": [1], "home_goals": [2], "away_team_id": [2], "away_goals": [3]}
    assert eq.read_history(csv_of({**goals}, tmp_path)).rank.tolist() == [1, 0]
    full = {"Date": ["Fri Aug 10 2018"], "Team 1": ["a"], "FT": ["2-1"], "Team 2": ["b"]}
    history = eq.read_history(csv_of({**full}, tmp_path), time_format="%a %b %d %Y")
    assert history.rank.tolist() == [0, 1]
    (problem,) = eq.scan_history(csv_of({**full}, tmp_path)).problems
    assert "--time-format '%a %b %d %Y'" in problem.rule


def test_clock_times_without_dates_are_no_times_of_games(tmp_path: Path) -> None:
    """Games stay readable: in the order of their rounds, or else in that of the file."""
    games = {name: values for name, values in GAMES.items() if name != "Date"}
    reading = eq.scan_history(csv_of(games, tmp_path))
    assert "Time has times of day without dates, so it is left out" in reading.notes
    assert reading.history.time is None
    assert "Time" not in reading.history.attributes
    rounds = eq.read_history(csv_of({**games, "Round": [2, 1, 1]}, tmp_path))
    assert rounds.order.tolist() == [1, 1, 2]
    named = eq.scan_history(csv_of(games, tmp_path), columns={"time": "Time"})
    assert {one.field for one in named.problems} == {"Time"}
