"""equipoise rebalance as its users run it, also with attributes from ratings and saved states."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import equipoise as eq
from cli.command_line import EXAMPLES, LEAGUE, Cli, Write

EXAMPLE = str(EXAMPLES / "rebalance.json")
DOCUMENT: dict[str, Any] = json.loads(Path(EXAMPLE).read_text())


def document(sizes: list[int], alliance: tuple[int, int, int, int]) -> dict[str, Any]:
    names = ("min_number", "max_number", "player_min_number", "player_max_number")
    ids = iter(range(1000))
    return {
        "ruleset": {
            "alliance": dict(zip(names, alliance, strict=True)),
            "matching_rule": DOCUMENT["ruleset"]["matching_rule"],
        },
        "parties": [
            {
                "players": [
                    {"player": (one := next(ids)), "attributes": {"mmr": one * 37 % 101}}
                    for _ in range(size)
                ]
            }
            for size in sizes
        ],
    }


def write(path: Path, value: object) -> str:
    path.write_text(json.dumps(value))
    return str(path)


def test_the_example_comes_out_in_words_and_all_lists_the_documents_rows(cli: Cli) -> None:
    out, err = cli("rebalance", EXAMPLE)
    assert err == ""
    assert out.splitlines()[:7] == [
        "Permutation: a session of 1 player is filled.",
        "",
        "Team 1: 3 players, mean mmr 46.67",
        "party    players    mmr",
        "Party 1  A        70.00  in session",
        "Party 2  B        60.00",
        "Party 3  C        10.00",
    ]
    even = "Team sizes differ by 1; the distance is 6.67.\nNo teams are more even."
    assert even in out
    assert "Chosen from 6 sequences." in out
    rows = cli("rebalance", EXAMPLE, "--all").out.partition("Sequences\n")[2].splitlines()
    assert len(rows) == 7
    assert rows[1].split() == [
        "1",
        "{B}",
        "{C}",
        "{D,E}",
        "{A}",
        "{C}",
        "{B}",
        "{D,E}",
        "1",
        "6.67",
    ]
    assert rows[6].startswith("6 *  {D,E} {B} {C}")
    found = cli.json("rebalance", EXAMPLE, "--all", "--max-sequences", "2")
    assert (len(found["candidates"]), found["truncated"]) == (2, True)


def test_methods_are_compared_and_greedy_prints_its_steps(tmp_path: Path, cli: Cli) -> None:
    out = cli("rebalance", EXAMPLE, "--compare").out
    assert [line.split()[0] for line in out.splitlines()[1:5]] == [
        "permutation",
        "combination",
        "greedy",
        "optimal",
    ]
    found = {one["method"]: one for one in cli.json("rebalance", EXAMPLE, "--compare")["methods"]}
    assert found["permutation"]["chosen"]
    assert found["optimal"]["gap_distance"] == found["combination"]["gap_distance"] == 0
    assert found["greedy"]["distance"] == 35
    assert found["greedy"]["gap_distance"] == pytest.approx(35 - 20 / 3)
    three = write(tmp_path / "r.json", document([1] * 9, (3, 3, 3, 3)))
    found = {one["method"]: one for one in cli.json("rebalance", three, "--compare")["methods"]}
    assert found["combination"]["chosen"]
    path = write(tmp_path / "r.json", document([2, 2, 2, 3, 3, 2], (2, 2, 7, 7)))
    found = {one["method"]: one for one in cli.json("rebalance", path, "--compare")["methods"]}
    gave_way = [one for one in found.values() if one["teams"] is None]
    assert all(
        "combination does" in one["note"] or "no sequence" in one["note"] for one in gave_way
    )
    assert found["combination"]["gap_member_count_difference"] == 0
    path = write(tmp_path / "r.json", document([3, 3, 2, 2, 1, 1, 1, 1], (2, 2, 7, 7)))
    out = cli("rebalance", path).out
    assert out.startswith("Greedy: the ruleset is strict, 2 x 7 players: 14 in all, more than 12.")
    assert len(out.partition("Steps\n")[2].splitlines()) == 9


def test_standard_input_is_read_and_a_table_written(tmp_path, monkeypatch, cli):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(Path(EXAMPLE).read_bytes())))
    target = tmp_path / "teams.csv"
    assert cli("rebalance", "-", "--output", str(target)).out
    table = pl.read_csv(target)
    assert table.columns == ["team", "player", "party", "mmr"]
    assert table["team"].to_list() == [1, 1, 1, 2, 2]
    assert table["player"].to_list() == ["A", "B", "C", "D", "E"]


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


def test_attributes_are_the_numbers_of_ratings_and_form_counts(tmp_path, cli, write):
    """Deviation 80 and form 1 add 20 points, as in the example of `EffectiveRating`."""
    table = tmp_path / "ratings.csv"
    rows = "".join(f"{one},1500,80,{form}\n" for one, form in zip("ABCDEF", "111000", strict=True))
    table.write_text("player,rating,deviation,form\n" + rows)
    asked = request(tmp_path, "effective_rating", list("ABCDEF"))
    teams = tmp_path / "teams.csv"
    cli.json("rebalance", asked, "--ratings", str(table), "--output", str(teams))
    found = dict(pl.read_csv(teams).select("player", "effective_rating").iter_rows())
    assert found == dict.fromkeys("ABC", 1520.0) | dict.fromkeys("DEF", 1500.0)
    table = write("ratings.csv", "Name,Elo\nA,1500\nB,1600\nC,1400\nD,1450\nE,1700\nF,1000\n")
    given = [EXAMPLE, "--ratings", table]
    unused = cli.json("rebalance", *given)
    assert unused["distance"] == cli.json("rebalance", EXAMPLE)["distance"]
    assert any("--attribute mmr=effective_rating uses them" in one for one in unused["notes"])
    used = cli.json("rebalance", *given, "--attribute", "mmr=rating")
    assert used["distance"] == pytest.approx(100 / 3)
    assert any("mmr of 5 players in the request is replaced" in one for one in used["notes"])
    assert "the ratings: Elo was read as rating" not in used["notes"]
    assert f"{table}: Elo was read as rating" in used["notes"]


def test_players_without_ratings_or_attributes_are_named(write: Write, cli: Cli, tmp_path) -> None:
    table = write("ratings.csv", "player,rating,deviation\nA,1500,80\nB,1600,70\nC,1400,60\n")
    given = [EXAMPLE, "--ratings", table, "--attribute", "mmr=rating"]
    told = cli("rebalance", *given, status=1).err
    assert f"not among the 3 rated players of {table}: D, E. --default-rating" in told
    found = cli.json("rebalance", *given, "--default-rating", "1450")
    assert any("rated 1450 by default: D, E" in one for one in found["notes"])
    table = write("ratings.csv", "player,rating\n" + "".join(f"{one},1500\n" for one in "ABCDEF"))
    asked = request(tmp_path, "skill", list("ABCDEF"))
    shown = cli("rebalance", asked, "--ratings", table, status=1)
    assert "--attribute skill=effective_rating" in shown.err
    found = eq.read_rebalance_request(EXAMPLE, attributes={"B": {"mmr": 61.0}})
    by_name = {
        one.player: one.attributes["mmr"] for party in found.parties for one in party.players
    }
    assert by_name == {"B": 61.0, "C": 10, "D": 40, "E": 40}


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
