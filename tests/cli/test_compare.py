"""equipoise compare and `rate --diff` as their users run them."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import equipoise as eq
from cli.command_line import LEAGUE, SAMPLE, Cli, Write


@pytest.fixture
def tables(tmp_path: Path) -> tuple[str, str]:
    """Return the ratings of the sample by two systems."""
    club = eq.read_history(SAMPLE)
    paths = []
    for system in (eq.EloMMR(), eq.TrueSkill()):
        paths.append(str(tmp_path / f"{system.name}.csv"))
        eq.write_table(eq.replay(system, club), paths[-1])
    return paths[0], paths[1]


def test_the_text_says_who_moved_and_table_and_chart_are_written(tables, cli, tmp_path):
    told = cli("compare", *tables, "--top", "3")
    lines = told.out.splitlines()
    assert lines[0].startswith("120 players in both")
    assert "Changes are measured on the scale of the new ratings" in told.out
    assert "Of 7,140 pairs of players, 93.40 % are in the same order" in told.out
    at = lines.index("Fell most")
    assert lines[at + 2].split() == [
        *("grove-kite", "513.1", "827.5", "536.9", "-290.6", "-2.85", "120", "120", "0")
    ]
    assert "--initial-mapping 1200=" in told.err
    table, chart = tmp_path / "all.csv", tmp_path / "chart.svg"
    given = ["--output", str(table), "--chart", str(chart)]
    told = cli("compare", *tables, *given)
    assert "across:" not in told.out
    assert f"drew {chart}" in told.err
    assert chart.read_bytes().startswith(b"<?xml")
    found = pl.read_csv(table)
    assert len(found) == 120
    assert found["player"][0] == "iris-eagle"
    assert found["change"].is_sorted(descending=True)


def test_json_has_the_numbers_of_the_library(tables: tuple[str, str], cli: Cli) -> None:
    answer = cli.json("compare", *tables, "--top", "2", "--by", "place")
    found = eq.compare_ratings(*tables)
    assert answer["kendall"] == found.kendall
    assert answer["line"]["slope"] == found.line.slope if found.line else None
    assert [one["player"] for one in answer["risen"]] == (
        found.risen(2, by="place")["player"].to_list()
    )
    assert answer["only_old"] == 0
    assert answer["on_line"]["standard_deviation"] == found.line.residual if found.line else None
    mapping = cli.json("compare", *tables)["line"]["mapping"]
    found = eq.compare_ratings(*tables)
    assert len({pair.partition("=")[0] for pair in mapping.split(",")}) == 2
    for pair in mapping.split(","):
        there, here = map(float, pair.split("="))
        assert found.line is not None
        assert here == pytest.approx(found.line.at(there), rel=1e-5)
    shown = cli("compare", *tables, "--output", tables[1], status=2)
    assert "NEW and --output name the same file" in shown.err


def test_players_of_few_matches_are_left_out(tables, tmp_path, cli):
    answer = cli.json("compare", *tables, "--min-matches", "25")
    enough = (pl.read_csv(tables[0])["matches"] >= 25).sum()
    assert answer["players"] == enough
    assert 0 < enough < 120
    assert f"{120 - enough} players with fewer than 25 matches left out" in answer["notes"]
    shown = cli("compare", *tables, "--min-matches", "41", status=1)
    assert "no player of a table has at least 41 matches" in shown.err
    (tmp_path / "bare.csv").write_text("player,rating\namber-fox,1500\n")
    shown = cli("compare", *2 * [str(tmp_path / "bare.csv")], "--min-matches", "2", status=2)
    assert "needs numbers of matches" in shown.err
    # The numbers of one table are enough.
    shown = cli("compare", tmp_path / "bare.csv", tables[0], "--min-matches", "2")
    assert shown.out.startswith("1 player in both")
    assert "Nobody fell." in shown.out
    assert "too few for correlations and a line" in shown.err


def test_a_list_from_elsewhere(tables: tuple[str, str], write: Write, cli: Cli) -> None:
    listed = write(
        "list.tsv", "ID\tName\tElo\n1\tamber-fox\t1500\n2\tjade-kite\t1900\n3\tnew-ant\t\n"
    )
    shown = cli("compare", listed, tables[0], status=1)
    assert "--column player=ID or --column player=Name" in shown.err
    told = cli("compare", listed, tables[0], "--column", "player=Name")
    assert told.out.startswith("2 players in both")
    assert "Elo was read as rating" in told.err
    assert "1 player without a rating left out: new-ant" in told.err
    assert "only 2 players are in both tables" in told.err


def test_rate_compares_with_the_table_that_it_replaces(tmp_path: Path, cli: Cli) -> None:
    table = str(tmp_path / "ratings.csv")
    cli("rate", SAMPLE, "--system", "elo-mmr", "--output", table)
    before = Path(table).read_bytes()
    given = ["rate", SAMPLE, "--system", "elo-mmr", "--set", "weight_limit=0.3"]
    told = cli(*given, "--output", table, "--diff", table).out
    assert told.splitlines()[0].endswith("ratings.csv (old) and the ratings by elo-mmr (new)")
    assert "fjord-hare" in told
    assert Path(table).read_bytes() != before
    answer = cli.json(*given, "--diff", table)
    assert answer["diff"]["as_they_are"]["mean_absolute"] == 0.0
    assert len(answer["ratings"]) == 120


def test_conservative_ratings_order_the_table_and_need_deviations(tmp_path: Path, cli: Cli) -> None:
    table = tmp_path / "ratings.parquet"
    given = ["rate", SAMPLE, "--system", "trueskill", "--conservative"]
    cli(*given, "--output", str(table))
    found = pl.read_parquet(table)
    low = (found["rating"] - 3 * found["deviation"]).to_list()
    assert found["conservative"].to_list() == low
    assert found["conservative"].is_sorted(descending=True)
    assert not found["rating"].is_sorted(descending=True)
    told = cli(*given)
    assert told.out.split()[:4] == ["player", "rating", "deviation", "conservative"]
    assert "the rating minus three deviations" in told.err
    shown = cli("rate", LEAGUE, "--system", "elo", "--conservative", status=2)
    assert "--conservative needs a system with deviations, and elo has none" in shown.err
    shown = cli("rate", SAMPLE, "--system", "codeforces", "--conservative")
    assert "does not change their order" in shown.err


# Tables of ratings and saved states in the commands that take either.


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    """Return a saved state and a list with columns of other names."""
    done = eq.replay(eq.Glicko2(), eq.read_history(LEAGUE))
    state, listed = str(tmp_path / "pool.npz"), str(tmp_path / "list.csv")
    done.state.save(state)
    frame = done.ratings.to_polars().select("player", "rating", "deviation")
    frame.rename({"player": "Name", "rating": "Elo", "deviation": "RD"}).write_csv(listed)
    return state, listed


def test_states_and_lists_are_taken_in_their_places(files: tuple[str, str], cli: Cli) -> None:
    players = ["--players", "ada,ben,cem,dia", "--json"]
    found = json.loads(cli("balance", "--ratings", files[0], *players).out)
    assert json.loads(cli("balance", "--state", files[0], *players).out) == found
    listed = json.loads(cli("balance", "--ratings", files[1], *players).out)
    assert listed["teams"] == found["teams"]
    assert f"{files[1]}: RD was read as deviation" in listed["notes"]
    shown = cli("balance", "--state", files[1], "--players", "ada,ben", status=2)
    assert f"use --ratings {files[1]}" in shown.err
    shown = cli("predict", "--state", files[1], "--team", "ada", "--team", "ben", status=2)
    assert f"use --initial {files[1]}" in shown.err
    known = ["--initial", files[1], "--system", "glicko2", "--json"]
    notes = json.loads(cli("predict", *known, "--team", "ada", "--team", "ben").out)["notes"]
    assert f"{files[1]}: Elo was read as rating" in notes
    notes = json.loads(cli("rate", LEAGUE, *known, "--initial-mapping", "1000=1100,2000=1900").out)[
        "summary"
    ]["notes"]
    assert f"{files[1]}: Name was read as player" in notes


def test_a_column_of_its_own_name_comes_first() -> None:
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
def test_a_saved_state_of_known_ratings_names_its_system(arguments, files, cli):
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
