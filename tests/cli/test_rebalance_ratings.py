"""`equipoise rebalance --ratings`: attributes from tables of ratings and saved states."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import equipoise as eq
from cli.command_line import Cli

ROOT = Path(__file__).parents[2]
REQUEST = str(ROOT / "examples" / "rebalance.json")
LEAGUE = str(ROOT / "examples" / "league.csv")


def request(tmp_path: Path, attribute: str, players: list[str]) -> str:
    """Write a request for two teams of three single players, without attributes."""
    path = tmp_path / "request.json"
    names = ("min_number", "max_number", "player_min_number", "player_max_number")
    alliance = dict(zip(names, (2, 2, 3, 3), strict=True))
    rules = [{"attribute": attribute, "criteria": "distance"}]
    document = {
        "ruleset": {"alliance": alliance, "matching_rule": rules},
        "parties": [{"players": [{"player": one}]} for one in players],
    }
    path.write_text(json.dumps(document))
    return str(path)


def test_a_saved_state_and_its_table_give_the_same_teams(tmp_path: Path, cli: Cli) -> None:
    done = eq.replay(eq.Glicko2(), eq.read_history(LEAGUE))
    state, table = str(tmp_path / "pool.npz"), str(tmp_path / "ratings.csv")
    done.state.save(state)
    eq.write_table(done, table)
    names = [str(one) for one in done.ratings.player_ids.tolist()]
    assert len(names) == 6
    for attribute in ("rating", "effective_rating", "deviation"):
        asked = request(tmp_path, attribute, names)
        teams = tmp_path / "teams.csv"
        found = cli.json("rebalance", asked, "--ratings", state, "--output", str(teams))
        assert cli.json("rebalance", asked, "--ratings", table)["teams"] == found["teams"]
        column = "rating" if attribute == "effective_rating" else attribute
        rows = pl.read_csv(teams).select("player", attribute)
        assert dict(rows.iter_rows()) == {one: done.ratings.of(one)[column] for one in names}


def test_the_effective_rating_counts_form(tmp_path: Path, cli: Cli) -> None:
    """Deviation 80 and form 1 add 20 points, as in the example of `EffectiveRating`."""
    table = tmp_path / "ratings.csv"
    rows = "".join(f"{one},1500,80,{form}\n" for one, form in zip("ABCDEF", "111000", strict=True))
    table.write_text("player,rating,deviation,form\n" + rows)
    asked = request(tmp_path, "effective_rating", list("ABCDEF"))
    teams = tmp_path / "teams.csv"
    cli.json("rebalance", asked, "--ratings", str(table), "--output", str(teams))
    found = dict(pl.read_csv(teams).select("player", "effective_rating").iter_rows())
    assert found == dict.fromkeys("ABC", 1520.0) | dict.fromkeys("DEF", 1500.0)


def test_an_attribute_of_the_ruleset_is_one_of_the_numbers(tmp_path: Path, cli: Cli) -> None:
    table = tmp_path / "ratings.csv"
    table.write_text("Name,Elo\nA,1500\nB,1600\nC,1400\nD,1450\nE,1700\nF,1000\n")
    given = [REQUEST, "--ratings", str(table)]
    unused = cli.json("rebalance", *given)
    assert unused["distance"] == cli.json("rebalance", REQUEST)["distance"]
    assert any("--attribute mmr=effective_rating uses them" in one for one in unused["notes"])
    used = cli.json("rebalance", *given, "--attribute", "mmr=rating")
    assert used["distance"] == pytest.approx(100 / 3)
    assert any("mmr of 5 players in the request is replaced" in one for one in used["notes"])
    assert "the ratings: Elo was read as rating" not in used["notes"]
    assert f"{table}: Elo was read as rating" in used["notes"]


def test_players_without_ratings_are_named(tmp_path: Path, cli: Cli) -> None:
    table = tmp_path / "ratings.csv"
    table.write_text("player,rating,deviation\nA,1500,80\nB,1600,70\nC,1400,60\n")
    given = [REQUEST, "--ratings", str(table), "--attribute", "mmr=rating"]
    told = cli("rebalance", *given, status=1).err
    assert f"not among the 3 rated players of {table}: D, E. --default-rating" in told
    found = cli.json("rebalance", *given, "--default-rating", "1450")
    assert any("default rating 1450: D, E" in one for one in found["notes"])


def test_newcomers_of_a_state_enter_as_it_says(tmp_path: Path, cli: Cli) -> None:
    state = str(tmp_path / "pool.npz")
    eq.replay(eq.Elo(initial_rating=1234.0), eq.read_history(LEAGUE)).state.save(state)
    asked = request(tmp_path, "rating", ["ada", "ben", "cem", "dia", "eva", "new"])
    teams = tmp_path / "teams.csv"
    found = cli.json("rebalance", asked, "--ratings", state, "--output", str(teams))
    assert any("so a newcomer: new" in one for one in found["notes"])
    assert dict(pl.read_csv(teams).select("player", "rating").iter_rows())["new"] == 1234.0
    # Elo has no deviations.
    asked = request(tmp_path, "deviation", ["ada", "ben", "cem", "dia", "eva", "new"])
    shown = cli("rebalance", asked, "--ratings", state, status=1)
    assert "must be given for every player" in shown.err


def test_an_attribute_that_players_lack_names_the_option(tmp_path: Path, cli: Cli) -> None:
    table = tmp_path / "ratings.csv"
    table.write_text("player,rating\n" + "".join(f"{one},1500\n" for one in "ABCDEF"))
    asked = request(tmp_path, "skill", list("ABCDEF"))
    shown = cli("rebalance", asked, "--ratings", str(table), status=1)
    assert "--attribute skill=effective_rating" in shown.err


def test_attributes_replace_those_of_the_request() -> None:
    found = eq.read_rebalance_request(REQUEST, attributes={"B": {"mmr": 61.0}})
    by_name = {
        one.player: one.attributes["mmr"] for party in found.parties for one in party.players
    }
    assert by_name == {"B": 61.0, "C": 10, "D": 40, "E": 40}
