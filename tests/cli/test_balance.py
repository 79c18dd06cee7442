"""equipoise balance as its users run it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import equipoise as eq
from cli.command_line import EXAMPLES, LEAGUE, SAMPLE, Cli, Write
from equipoise.rating.replay import known_pool

EXAMPLE = str(EXAMPLES / "lobby.csv")
TEN = "player,rating,deviation\n" + "".join(f"{i},{2000 - 37 * i},80\n" for i in range(10))


def test_a_lobby_comes_out_as_two_teams_in_words_in_json_and_as_a_table(cli, tmp_path):
    out, err = cli("balance", EXAMPLE)
    assert err == ""
    assert out.startswith("Team 1: 5 players, mean ")
    assert "The mean effective ratings of the teams differ by" in out
    assert "Kept: party blue-moon together; without it the teams could be" in out
    assert "Kept: dune-lynx and grove-wren in different teams" in out
    assert "Kept at no cost: the top two in different teams." in out
    assert "splits were compared: none is fairer." in out
    after = out.partition("Next best\n")[2].splitlines()
    assert len(after) == 6
    assert after[0].endswith("team 2")
    found = cli.json("balance", EXAMPLE)
    assert found["objective_kind"] == "mean"
    assert found["expected"] == found["win_probability"]
    assert (found["by"], found["win"], found["draw"], found["at"]) == (
        "team mean",
        None,
        None,
        None,
    )
    assert found["objective"] == pytest.approx(
        found["rating_difference"] + 0.8 * found["deviation_difference"], abs=1e-12
    )
    assert sum(found["win_probability"]) == pytest.approx(1, abs=1e-15)
    assert found["gap"] == 0
    assert found["bound"] == found["objective"]
    assert len(found["alternatives"]) == 5
    target = tmp_path / "teams.csv"
    cli("balance", EXAMPLE, "--output", str(target))
    table = pl.read_csv(target)
    assert table.columns[:5] == ["team", "player", "rating", "deviation", "effective_rating"]
    assert table["team"].to_list() == [1] * 5 + [2] * 5


def test_constraints_are_switched_off(write: Write, cli: Cli) -> None:
    path = write("l.csv", TEN.rsplit("\n", 2)[0] + "\n")
    for more, names in (
        ((), ["top-two", "uneven"]),
        (("--no-top-two",), ["uneven"]),
        (("--no-uneven",), ["top-two"]),
        (("--no-top-two", "--no-uneven"), []),
    ):
        found = cli.json("balance", path, *more)["constraints"]
        assert [one["name"] for one in found] == names


def test_rules_that_are_waived_and_searches_that_end_are_told(write: Write, cli: Cli) -> None:
    rows = "a,1900,80,p,\nb,1800,80,p,\nc,1700,80,,red\nd,1,80,,\n"
    path = write("l.csv", f"player,rating,deviation,party,team\n{rows}")
    out = cli("balance", path).out
    waived = "Not kept, because parties, locks and avoid pairs make it impossible: the top two in"
    for said in (waived, "Team 2 (red): 2 players", "c in team red"):
        assert said in out
    found = {one["name"]: one["status"] for one in cli.json("balance", path)["constraints"]}
    assert found == {"top-two": "waived", "party:p": "held", "lock:c": "held"}
    rows = "".join(f"{i},{1000 + (i * 7919) % 1000}.5,{50 + i}\n" for i in range(40))
    path = write("l.csv", f"player,rating,deviation\n{rows}")
    out, err = cli("balance", path, "--teams", "8", "--time-limit", "0")
    assert "There are too many splits to compare them all. No split can be below" in out
    assert "--time-limit ended the search" in err


def test_more_teams_and_sizes(write: Write, cli: Cli) -> None:
    path = write("l.csv", TEN)
    five = cli.json("balance", path, "--teams", "5")
    assert [len(team) for team in five["teams"]] == [2] * 5
    assert len(five["win_probability"]) == 5
    assert sum(five["win_probability"]) == pytest.approx(2.5)
    assert cli.json("balance", path, "--size", "2") == five
    assert len(cli.json("balance", path, "--size", "3")["teams"]) == 4
    out = cli("balance", path, "--teams", "5", "--objective", "sum").out
    assert "The sums of effective ratings of the two teams that differ most differ by" in out
    assert "beats another team in" in out
    found = cli.json("balance", path, "--avoid", "1,2,3", "--teams", "3")
    assert sorted(len(set(team) & {1, 2, 3}) for team in found["teams"]) == [1, 1, 1]


def test_players_are_taken_from_a_table_of_ratings(tmp_path: Path, write: Write, cli: Cli) -> None:
    ratings = str(tmp_path / "ratings.parquet")
    cli("rate", SAMPLE, "--output", ratings)
    names = "jade-kite, cedar-bear,amber-deer,dune-crane"
    found = cli.json("balance", "--ratings", ratings, "--players", names)["teams"]
    assert sorted(found[0] + found[1]) == sorted(names.replace(" ", "").split(","))
    shown = cli("balance", "--ratings", ratings, "--players", "jade-kite,nobody", status=1)
    assert "rated players of" in shown.err
    asked = ("balance", "--ratings", EXAMPLE, "--players", "iris-mole,cedar-elk")
    system, time = cli.json(*asked)["notes"]
    assert system.startswith("the table does not name the system of its ratings")
    assert time == "deviations are as of each player's last match"
    assert time in cli(*asked).err
    bare = write("bare.csv", "player,rating\na,1500\nb,1400\n")
    note, last = cli.json("balance", "--ratings", bare, "--players", "a,b")["notes"]
    assert (note.startswith("The lobby has no deviations"), last) == (True, system)


def test_a_state_gives_deviations_of_its_last_time_or_of_another(tmp_path, write, cli):
    """And the chances are those of `predict`; newcomers are marked."""
    text = "match,time,player,rank\n" + "".join(
        f"{number},2024-01-{1 + number:02d},{name},{place}\n"
        for number, pair in enumerate(("ab", "cd", "ac", "bc"))
        for place, name in enumerate(pair)
    )
    path, state = write("h.csv", text), str(tmp_path / "s.npz")
    drifts = ["--system", "glicko", "--set", "drift_per_day=2000", "--set", "drift=0"]
    outputs = ["--save", state, "--output", str(tmp_path / "r.csv")]
    cli("rate", path, *drifts, *outputs)
    found = {}
    for name, more in {"last": [], "then": ["--at", "2024-03-01"]}.items():
        asked = ["--state", state, "--players", "a,b,d,new", *more]
        found[name] = cli.json("balance", *asked)
        teams = [word for team in found[name]["teams"] for word in ("--team", ",".join(team))]
        same = cli.json("predict", "--state", state, *teams, *more)
        assert [team["expected"] for team in same["teams"]] == found[name]["expected"]
        assert same["newcomers"] == found[name]["newcomers"] == ["new"]
        out, err = cli("balance", *asked, "--output", str(tmp_path / f"{name}.csv"))
        assert "new (new)" in out
        assert "not among the 4 rated players, so a newcomer: new" in err
    assert (found["last"]["at"], found["then"]["at"]) == ("2024-01-04", "2024-03-01")
    rated, last, then = (
        dict(pl.read_csv(tmp_path / f"{name}.csv")["player", "deviation"].iter_rows())
        for name in ("r", "last", "then")
    )
    # b played on the last day, a a day before, d two: 2000 points^2 a day.
    for player, days in (("b", 0), ("a", 1), ("d", 2)):
        assert last[player] ** 2 == pytest.approx(rated[player] ** 2 + 2000 * days, rel=1e-12)
        assert then[player] > last[player]


def test_teams_of_a_state_have_the_closest_chances_of_its_system(tmp_path: Path, cli: Cli) -> None:
    """Five players by TrueSkill, whose ratings add up: the two best against the others."""
    state = str(tmp_path / "s.npz")
    known = eq.InitialRatings(
        player_ids=np.array(list("abcde"), dtype=object),
        rating=np.array([2100.0, 1900.0, 1500.0, 1300.0, 1250.0]),
        deviation=np.full(5, 60.0),
    )
    known_pool(eq.TrueSkill(), known).save(state)
    asked = ["--state", state, "--players", "a,b,c,d,e"]
    found = cli.json("balance", *asked)
    assert (found["objective_kind"], found["by"], found["gap"]) == ("chance", "trueskill", 0)
    assert found["teams"] == [["a", "b"], ["c", "d", "e"]]
    assert found["objective"] == pytest.approx(abs(found["win"][0] - found["win"][1]), abs=1e-9)
    assert found["constraints"] == []
    out = cli("balance", *asked).out
    assert "The win probabilities of the teams differ by" in out
    assert "percentage points." in out
    assert "All 10 splits were compared: none is fairer." in out
    shown = cli.json("balance", *asked, "--top-two", "--uneven")
    assert [one["name"] for one in shown["constraints"]] == ["top-two", "uneven"]
    out, err = cli("balance", *asked, "--objective", "mean")
    assert "The mean effective ratings of the teams differ by" in out
    assert "a comparison of mean ratings ignores this" in err


def test_a_time_that_changes_no_rating_is_told(write: Write, tmp_path: Path, cli: Cli) -> None:
    path = write("h.csv", "match,time,player,rank\n1,2024-01-01,a,0\n1,2024-01-01,b,1\n")
    state = str(tmp_path / "s.npz")
    asked = ["--state", state, "--players", "a,b"]
    for settings, needs in (
        (["--system", "elo"], "elo does not use --at"),
        (["--system", "elo-mmr"], "elo-mmr does not use --at (needs drift_per_day)"),
        (["--system", "elo-mmr", "--set", "drift_per_day=1"], ""),
    ):
        told = [f"{needs}: no rating depends on it"] if needs else []
        cli("rate", path, *settings, "--save", state)
        shown = cli.json("balance", *asked, "--at", "2024-02-01")
        assert [one for one in shown["notes"] if "--at" in one] == told
        assert not [one for one in cli.json("balance", *asked)["notes"] if "--at" in one]
        assert all(line in cli("balance", *asked, "--at", "2024-02-01").err for line in told)


def together(found: Any, *players: str) -> bool:
    return any(set(players) <= set(team) for team in found["teams"])


def test_parties_and_avoid_pairs_are_added_to_those_of_the_lobby(cli: Cli) -> None:
    before = cli.json("balance", EXAMPLE)
    assert not together(before, "cedar-elk", "flint-hare")
    assert together(before, "amber-fox", "iris-mole")
    added = ["--party", "cedar-elk, flint-hare", "--avoid", "amber-fox,iris-mole"]
    found = cli.json("balance", EXAMPLE, *added)
    for pair in (("cedar-elk", "flint-hare"), ("basil-owl", "ember-jay")):
        assert together(found, *pair)
    for pair in (("amber-fox", "iris-mole"), ("dune-lynx", "grove-wren")):
        assert not together(found, *pair)
    names = {one["name"] for one in found["constraints"]}
    assert {"party:cedar-elk + flint-hare", "avoid:amber-fox;iris-mole"} <= names


def test_names_with_commas_are_quoted(write: Write, cli: Cli) -> None:
    rows = '"Li, Bo",1500\n"Ma, Jo",1400\nann,1450\nben,1350\n'
    path = write("lobby.csv", f"player,rating\n{rows}")
    assert together(cli.json("balance", path, "--party", '"Li, Bo","Ma, Jo"'), "Li, Bo", "Ma, Jo")
    shown = cli("balance", path, "--party", "Li, Bo,ann", status=1)
    assert "--party, player: must be a player of the lobby (4 players); got 'Li'" in shown.err
    added = ["--newcomer", "Xu, An", "--default-rating", "1425"]
    found = cli.json("balance", path, *added, "--avoid", '"Xu, An",ann')
    assert found["newcomers"] == ["Xu, An"]
    assert not together(found, "Xu, An", "ann")


def test_newcomers_have_the_default_rating_or_that_of_the_state(write, tmp_path, cli):
    path = write("lobby.csv", "player,rating,deviation\n1,1700,60\n2,1600,\n3,1500,80\n")
    added = ["--newcomer", "7", "--default-rating", "1400", "--default-deviation", "350"]
    assert "7 (new)" in cli("balance", path, *added, "--output", tmp_path / "teams.csv").out
    table = pl.read_csv(tmp_path / "teams.csv").sort("player")
    assert table.select("player", "rating", "deviation").rows() == [
        *((1, 1700, 60), (2, 1600, 350), (3, 1500, 80), (7, 1400, 350))
    ]
    state = str(tmp_path / "s.npz")
    known_pool(eq.Elo(), eq.read_initial_ratings({"player": [*"abc"], "rating": [1500] * 3})).save(
        state
    )
    named = ["--state", state, "--players", "a,b,c"]
    found = cli.json("balance", *named, "--newcomer", "d", "--party", "c,d")
    assert found["newcomers"] == ["d"]
    assert together(found, "c", "d")
    assert not [one for one in found["notes"] if "newcomer" in one]
    shown = cli("balance", *named, "--newcomer", "a", status=1)
    assert "--newcomer, player: must not have a rating already; got 'a'" in shown.err
    shown = cli("balance", *named, "--newcomer", "d", "--default-deviation", "9", status=2)
    assert "--default-deviation cannot be combined with --state" in shown.err


def test_a_misspelt_name_is_told_before_the_teams(write, tmp_path, cli, monkeypatch):
    """A table of ratings refuses it, with the same question."""
    history = write("h.csv", "match,player,rank\n1,Eva Fischer,0\n1,Ben Cole,1\n")
    state, ratings = tmp_path / "s.npz", tmp_path / "r.csv"
    cli("rate", history, "--system", "elo", "--save", state, "--output", ratings)
    players = ["--players", "Eva Fisher,Ben Cole"]
    hint = "Eva Fisher; did you mean Eva Fischer?"
    refused = cli("balance", "--ratings", ratings, *players, status=1).err
    assert f"{hint} A table of ratings does not say" in refused
    assert hint in cli.json("balance", "--state", state, *players)["notes"][0]
    with monkeypatch.context() as one_stream:
        one_stream.setattr(sys, "stdout", sys.stderr)
        shown = cli("balance", "--state", state, *players).err
    assert shown.startswith(f"not among the 2 rated players, so a newcomer: {hint}\nTeam 1")


def test_calibrate_corrects_the_chances(tmp_path: Path, cli: Cli) -> None:
    state = str(tmp_path / "s.npz")
    cli("rate", LEAGUE, "--system", "trueskill", "--save", state)
    asked = ["balance", "--state", state, "--players", "ada,ben,cem,dia"]
    plain = cli.json(*asked)
    found = cli.json(*asked, "--calibrate", LEAGUE)
    assert (plain["uncalibrated"], found["uncalibrated"]) == (None, plain["expected"])
    assert found["teams"] == plain["teams"]
    assert found["expected"] != plain["expected"]
    words = f"uncalibrated expected scores: {100 * plain['expected'][0]:.1f} %, "
    assert words in cli(*asked, "--calibrate", LEAGUE).out
    shown = cli("balance", EXAMPLE, "--calibrate", LEAGUE, status=2)
    assert "--calibrate needs --state" in shown.err
