"""The package of `examples/plugin` in use: rated, studied, explained, and in pools."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import equipoise as eq
from equipoise import _jit
from equipoise.cli import run
from equipoise.rating.registry import make_system
from plugged import EXAMPLE, Install

needs_jit = pytest.mark.skipif(not _jit.compiles_kernels(), reason="nothing is compiled")


def season(rounds: int = 6) -> dict[str, Any]:
    """Return a season of four clubs as a table: Ayr and Bute score more than Cove and Dyce."""
    clubs, strong = ("Ayr", "Bute", "Cove", "Dyce"), {"Ayr": 2, "Bute": 1, "Cove": 0, "Dyce": 0}
    rows = []
    for day in range(rounds):
        for home, away in ((0, 1 + day % 3), (1, 2 + day % 2), (3, 2), (2, 0)):
            one, two = clubs[home], clubs[away]
            if one == two:
                continue
            goals = strong[one] + day % 2, strong[two] + (home * day) % 3 % 2
            for club, side, own, other in (
                (one, "home", *goals),
                (two, "away", goals[1], goals[0]),
            ):
                rank = 1 if own >= other else 2
                rows.append((f"{day}-{home}", 1_700_000_000 + 86_400 * day, club, rank, own, side))
    names = ("match", "time", "player", "rank", "performance", "side")
    return {name: [row[i] for row in rows] for i, name in enumerate(names)}


@pytest.fixture
def csv(tmp_path: Path) -> Path:
    """Write the season to a file."""
    table = season(20)
    lines = [",".join(table), *(",".join(map(str, row)) for row in zip(*table.values()))]  # noqa: B905
    path = tmp_path / "season.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_its_own_tests_pass(football: Path, tmp_path: Path) -> None:
    """As its author runs them: pytest in the folder of the package."""
    tests = tmp_path / "tests"
    tests.mkdir()
    for path in (EXAMPLE / "tests").glob("*.py"):
        (tests / path.name).write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    done = python("-m", "pytest", "-q", "-p", "no:cacheprovider", str(tests), site=football.parent)
    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout


def python(*arguments: str, site: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """Run Python with packages in `site`."""
    environment = {**os.environ, "PYTHONPATH": str(site), **more}
    return subprocess.run(
        [sys.executable, *arguments],
        env=environment,
        cwd=site,
        capture_output=True,
        text=True,
        check=False,
    )


def test_more_goals_change_more(football: Path) -> None:
    table = season()
    history = eq.read_history(table)
    done = eq.replay(make_system("football-elo"), history, trace=True)
    without = eq.replay(
        make_system("football-elo"),
        eq.read_history({name: table[name] for name in table if name != "performance"}),
    )
    assert done.ratings.rating.sum() == pytest.approx(4 * 1500)
    assert done.ratings.rating.tolist() != without.ratings.rating.tolist()


def test_the_command_line_rates_and_studies_with_it(
    football: Path, csv: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, state = tmp_path / "ratings.csv", tmp_path / "state.npz"
    rate = ["rate", str(csv), "--system", "football-elo", "--set", "k=32"]
    assert run([*rate, "--output", str(out), "--save", str(state)]) == 0
    assert out.read_text().count("\n") == 5
    capsys.readouterr()
    systems = ["--system", "football-elo", "--system", "elo"]
    assert run(["backtest", str(csv), *systems, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert "football-elo" in json.dumps(found)
    assert run(["explain", str(csv), "--player", "Ayr", "--system", "football-elo", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["rating"] - told["rating_before"] == pytest.approx(
        sum(part["change"] for part in told["contributions"])
    )
    assert told["expected"] == pytest.approx(told["opponents"][0]["expected"])
    assert run(["predict", "--state", str(state), "--team", "Ayr", "--team", "Bute"]) == 0
    grid = ["--system", "football-elo", "--grid", "k=10,20,40", "--first", "50%"]
    assert run(["tune", str(csv), *grid]) == 0


def test_the_list_has_it_with_its_package(
    football: Path, install: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    install("mine", "3.1", {"elo": "mine:Elo"}, {"mine.py": "raise SystemExit"})
    assert run(["systems"]) == 0
    shown = capsys.readouterr()
    assert "equipoise-football==0.1.0" in shown.out.splitlines()[-1]
    assert "the package mine 3.1 offers a system 'elo'" in shown.err
    assert "equipoise_football" not in sys.modules
    assert run(["systems", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[-1]["package"] == "equipoise-football==0.1.0"
    assert run(["systems", "football-elo"]) == 0
    shown = capsys.readouterr()
    assert "home_advantage" in shown.out
    assert "weight, performance, side, at_home" in shown.err


def test_a_history_that_it_cannot_rate_names_systems_that_can(football: Path) -> None:
    three = {"match": [1, 1, 1], "player": ["a", "b", "c"], "rank": [1, 2, 3]}
    with pytest.raises(eq.InvalidDataError, match=r"football-elo cannot rate matches of 3 .*elo"):
        eq.replay(make_system("football-elo"), eq.read_history(three))


@needs_jit
def test_a_kernel_that_was_typed_in_is_not_kept() -> None:
    """A cell of a notebook: no other process can find the types of its arguments."""
    names = {"__name__": "__main__", "_jit": _jit}
    exec("@_jit.kernel\ndef typed(x):\n    return x\n", names)
    assert _jit._kernel_folder(names["typed"]) is None
    assert names["typed"](3) == 3


def test_one_match_in_one_call_is_what_a_replay_gives(football: Path) -> None:
    system = make_system("football-elo", {"home_advantage": 0})
    winner, loser = system.rate([system.rating(), system.rating(1600)])  # type: ignore[attr-defined]
    pool = eq.Pool(system, initial={"ayr": 1500, "bute": 1600})  # type: ignore[arg-type]
    after = pool.rate(["ayr", "bute"])
    assert (after["ayr"], after["bute"]) == (winner, loser)
    assert winner.rating + loser.rating == 3100.0
    assert eq.Rating.from_json(winner.to_json()) == winner
