"""Contexts on the command line: who finds them, what they are worth, and ratings in them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from cli.command_line import Cli


@pytest.fixture(scope="module")
def surfaces(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Write duels of players who are strong on one surface each; the referee means nothing."""
    rng = np.random.default_rng(7)
    names = ("Clay", "Grass", "Hard")
    lines = ["date,surface,referee,player_1,player_2,winner"]
    for number in range(2400):
        one, other = rng.choice(12, 2, replace=False).tolist()
        surface = int(rng.integers(3))
        lead = 250.0 * ((one % 3 == surface) - int(other % 3 == surface))
        won = rng.random() < 1.0 / (1.0 + 10.0 ** (-lead / 400.0))
        day = np.datetime64("2020-01-01") + number // 3
        referee = f"r{int(rng.integers(200))}"
        winner = f"p{one}" if won else f"p{other}"
        lines.append(f"{day},{names[surface]},{referee},p{one},p{other},{winner}")
    path = tmp_path_factory.mktemp("surfaces") / "duels.csv"
    path.write_text("\n".join(lines))
    return str(path)


def test_inspect_names_a_column_with_few_values(surfaces: str, cli: Cli) -> None:
    notes = cli.json("inspect", surfaces)["notes"]
    named = [note for note in notes if "may be a context" in note]
    assert len(named) == 1
    assert named[0].startswith("surface may be a context of matches (3 values: ")
    assert named[0].endswith("tune tells what --column context=surface is worth")
    shown = cli("inspect", surfaces, "--column", "context=surface", "--json")
    assert "may be a context" not in shown.out


def test_tune_tells_what_a_context_is_worth(surfaces: str, cli: Cli) -> None:
    """The same figures as those of a backtest, under either name of the column."""
    words = ["--system", "elo", "--metric", "log_loss", "--grid", "k=20,40", "--first", "50%"]
    found = cli.json("tune", surfaces, *words)
    (worth,) = [one for one in found["held_out"]["gains"] if one["kind"] == "context"]
    assert worth["column"] == "surface"
    assert worth["value"] == 100.0
    best = f"k={found['parameters']['k']}"
    pair = ["--system", "with=elo", "--system", "without=elo"]
    for setting in (f"with.{best}", f"without.{best}", "with.context_deviation=100"):
        pair += ["--set", setting]
    history = ["--column", "context=surface", "--from", "50%"]
    alone = cli.json("backtest", surfaces, *history, *pair)["differences"][0]
    assert worth["difference"]["metrics"] == alone["metrics"]
    assert alone["metrics"]["log_loss"] < -0.01
    shown = cli("tune", surfaces, "--column", "context=surface", *words)
    change = f"{alone['metrics']['log_loss']:+.5f}"
    said = f"context as a context (--set context_deviation=100) changes log_loss by {change} "
    err = shown.err
    assert said in err
    assert next(line for line in err.splitlines() if said in line).endswith(": better")


def test_leaderboards_tell_what_columns_are_worth(surfaces: str, cli: Cli) -> None:
    """The same figures as those of a backtest: calibration, a context and a rating period."""
    board = ["leaderboard", surfaces, "--system", "glicko2", "--system", "performance"]
    gains = cli.json(*board)["gains"]
    found = {one["kind"]: one for one in gains}
    assert [one["kind"] for one in gains] == ["calibration", "context", "periods"]
    assert {one["system"] for one in gains} == {"glicko2"}
    assert (found["context"]["column"], found["periods"]["column"]) == ("surface", "time")
    settings = {
        "context": f"with.context_deviation={found['context']['value']}",
        "periods": f"with.period_days={found['periods']['value']}",
    }
    for kind, setting in settings.items():
        pair = ["--system", "with=glicko2", "--system", "without=glicko2", "--set", setting]
        words = ["--column", "context=surface", "--from", "50%", *pair, "--json"]
        alone = json.loads(cli("backtest", surfaces, *words).out)["differences"][0]
        assert found[kind]["difference"]["metrics"] == alone["metrics"]
        assert found[kind]["difference"]["intervals"] == alone["intervals"]
    assert found["context"]["difference"]["intervals"]["log_loss"][1] < 0
    lines = cli(*board).err.splitlines()
    said = "glicko2: surface as a context (--column context=surface --set glicko2.{})".format(
        f"context_deviation={found['context']['value']:g}"
    )
    (line,) = [line for line in lines if line.startswith(said)]
    assert line.endswith(": better")
    assert sum(line.startswith("glicko2: ") for line in lines) == 3


def test_leaderboards_of_groups_or_of_few_matches_tell_nothing(surfaces: str, cli: Cli) -> None:
    board = ["leaderboard", surfaces, "--system", "elo", "--json"]
    for few in (["--by", "surface"], ["--until", "2020-01-10"]):
        assert json.loads(cli(*board, *few).out)["gains"] == []


def test_rate_shows_ratings_in_a_context(surfaces: str, cli: Cli) -> None:
    words = [surfaces, "--system", "elo", "--column", "context=surface"]
    deviation = ["--set", "context_deviation=100"]
    for number, surface in enumerate(("Clay", "Grass", "Hard")):
        rows = [
            line.split()
            for line in cli("rate", *words, *deviation, "--context", surface).out.splitlines()[1:]
        ]
        assert {int(row[0].removeprefix("p")) % 3 for row in rows[:3]} == {number}
        ratings = [float(row[1]) for row in rows]
        assert ratings == sorted(ratings, reverse=True)
    shown = cli("rate", *words, "--context", "Clay", status=2)
    assert "unless context_deviation is set" in shown.err
