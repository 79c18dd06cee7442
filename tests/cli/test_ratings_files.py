"""Tables of ratings and saved states in the commands that take either."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import equipoise as eq
from cli.command_line import Cli

LEAGUE = str(Path(__file__).parents[2] / "examples" / "league.csv")


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    """Return a saved state and a list with columns of other names."""
    done = eq.replay(eq.Glicko2(), eq.read_history(LEAGUE))
    state, listed = str(tmp_path / "pool.npz"), str(tmp_path / "list.csv")
    done.state.save(state)
    frame = done.ratings.to_polars().select("player", "rating", "deviation")
    frame.rename({"player": "Name", "rating": "Elo", "deviation": "RD"}).write_csv(listed)
    return state, listed


def test_balance_takes_a_state_as_ratings(files: tuple[str, str], cli: Cli) -> None:
    players = ["--players", "ada,ben,cem,dia", "--json"]
    found = json.loads(cli("balance", "--ratings", files[0], *players).out)
    assert json.loads(cli("balance", "--state", files[0], *players).out) == found
    listed = json.loads(cli("balance", "--ratings", files[1], *players).out)
    assert listed["teams"] == found["teams"]
    assert f"{files[1]}: RD was read as deviation" in listed["notes"]


def test_a_table_in_the_place_of_a_state_names_the_option(files: tuple[str, str], cli: Cli) -> None:
    shown = cli("balance", "--state", files[1], "--players", "ada,ben", status=2)
    assert f"use --ratings {files[1]}" in shown.err
    shown = cli("predict", "--state", files[1], "--team", "ada", "--team", "ben", status=2)
    assert f"use --initial {files[1]}" in shown.err


def test_known_ratings_of_a_list_say_how_they_were_read(files: tuple[str, str], cli: Cli) -> None:
    known = ["--initial", files[1], "--system", "glicko2", "--json"]
    notes = json.loads(cli("predict", *known, "--team", "ada", "--team", "ben").out)["notes"]
    assert f"{files[1]}: Elo was read as rating" in notes
    notes = json.loads(cli("rate", LEAGUE, *known, "--initial-mapping", "1000=1100,2000=1900").out)[
        "summary"
    ]["notes"]
    assert f"{files[1]}: Name was read as player" in notes


def test_a_column_of_its_own_name_comes_first(tmp_path: Path) -> None:
    """An export of a pool has places and names beside player and rating."""
    known = eq.read_initial_ratings(
        {"id": [1, 2], "name": ["x", "y"], "player": ["a", "b"], "elo": [1, 2], "rating": [3, 4]}
    )
    assert known.player_ids.tolist() == ["a", "b"]
    assert known.rating.tolist() == [3.0, 4.0]
    assert known.notes == ()


#: The commands that begin with known ratings, each without --system.
BEGIN = (
    ("rate", LEAGUE),
    ("explain", LEAGUE, "--player", "ada"),
    ("predict", "--team", "ada", "--team", "ben"),
)


@pytest.mark.parametrize("arguments", BEGIN, ids=lambda one: one[0])
def test_a_saved_state_of_known_ratings_names_its_system(
    arguments: tuple[str, ...], files: tuple[str, str], cli: Cli
) -> None:
    unnamed = cli(*arguments, "--initial", files[0])
    assert f"glicko2 is the system of {files[0]}" in unnamed.err
    assert cli(*arguments, "--initial", files[0], "--system", "glicko2").out == unnamed.out


@pytest.mark.parametrize("arguments", BEGIN, ids=lambda one: one[0])
def test_a_list_with_volatility_is_not_taken_for_one_of_the_default_system(
    arguments: tuple[str, ...], tmp_path: Path, cli: Cli
) -> None:
    known = str(tmp_path / "glicko2.csv")
    cli("rate", LEAGUE, "--system", "glicko2", "--output", known)
    shown = cli(*arguments, "--initial", known, status=2)
    assert "add --system glicko2, or the system that made them" in shown.err
    for named in (["--system", "glicko2"], ["--initial-mapping", "1000=1100,2000=1900"]):
        cli(*arguments, "--initial", known, *named)


@pytest.mark.parametrize("arguments", BEGIN, ids=lambda one: one[0])
def test_a_list_of_an_unknown_system_begins_the_default_one_and_a_note_says_so(
    arguments: tuple[str, ...], files: tuple[str, str], cli: Cli
) -> None:
    note = f"{files[1]} does not name the system of its ratings: elo-mmr, the default system"
    for named in ([], ["--system", "elo"]):
        assert (note in cli(*arguments, "--initial", files[1], *named).err) == (not named)
