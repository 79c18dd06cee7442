"""The package of `examples/plugin` in use: rated, studied, explained, and in pools."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
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


def test_rating_continues_from_a_saved_state_bit_for_bit(football: Path, tmp_path: Path) -> None:
    history, system = eq.read_history(season()), make_system("football-elo", {"k": 32})
    done = eq.replay(system, history)
    half = eq.replay(system, history.slice(0, 10))
    half.state.save(tmp_path / "half.npz")
    rest = eq.replay(system, history, state=eq.PoolState.load(tmp_path / "half.npz"))
    assert rest.ratings.rating.tobytes() == done.ratings.rating.tobytes()


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


def test_an_explanation_in_general_adds_up_for_teams_too(install: Install) -> None:
    """A system that says nothing about its equations: Elo under another name, four teams of two."""
    install(
        "plain",
        "1.0",
        {"plain": "plain:Plain"},
        {
            "plain.py": "from dataclasses import dataclass\n"
            "from typing import ClassVar\n"
            "from equipoise.rating.systems.elo import Elo\n\n"
            "@dataclass(frozen=True, slots=True, kw_only=True)\n"
            "class Plain(Elo):\n"
            "    name: ClassVar[str] = 'plain'\n"
        },
    )
    table = {
        "match": [1] * 8 + [2] * 8,
        "player": list("abcdefgh") * 2,
        "team": [0, 0, 1, 1, 2, 2, 3, 3] * 2,
        "rank": [1, 1, 2, 2, 2, 2, 3, 3, 4, 4, 1, 1, 2, 2, 3, 3],
    }
    history = eq.read_history(table)
    general = eq.explain(make_system("plain"), history, "a")
    own = eq.explain(eq.Elo(), history, "a")
    change = own.rating - own.rating_before
    assert general.rating - general.rating_before == change
    assert [part.change for part in general.contributions] == [change]
    assert (general.expected, general.score) == (own.expected, own.score)
    assert {one.player: one.expected for one in general.opponents} == pytest.approx(
        {one.player: one.expected for one in own.opponents}
    )
    # Elo's change is a mean over the opponents. Without one of them it is the mean over the others.
    effects = {one.player: one.effect for one in own.opponents}
    without = {name: (change - effect) * 3 / 2 for name, effect in effects.items()}
    assert {one.player: one.effect for one in general.opponents} == pytest.approx(
        {name: change - value for name, value in without.items()}
    )


@needs_jit
@pytest.mark.recompiles
def test_an_edited_package_is_compiled_again(football: Path, tmp_path: Path) -> None:
    """Its kernels are kept on disk, by a hash of its sources and of those that it imports."""
    site = football.parent
    source = site / "equipoise_football" / "__init__.py"
    (site / "goal_weights.py").write_text("TWO = 1.5\n")
    source.write_text(
        source.read_text()
        .replace("import math\n", "import math\nfrom goal_weights import TWO\n", 1)
        .replace("return 1.5 if margin", "return TWO if margin")
    )
    code = (
        "import json, equipoise as eq\n"
        "from equipoise import _jit\n"
        "table = {'match': [1, 1], 'player': ['a', 'b'], 'rank': [1, 2], 'performance': [2., 0.]}\n"
        "history = eq.read_history(table)\n"
        "with _jit.watch_compilation() as seen:\n"
        "    done = eq.replay(eq.make_system('football-elo', {'home_advantage': 0}), history)\n"
        "print(json.dumps([done.ratings.rating.tolist(), seen.kernels > 0]))\n"
    )

    def rated() -> list[Any]:
        done = python("-c", code, site=site, NUMBA_CACHE_DIR=str(tmp_path / "cache"))
        assert done.returncode == 0, done.stderr
        found: list[Any] = json.loads(done.stdout)
        return found

    assert rated() == [[1515.0, 1485.0], True]
    assert rated() == [[1515.0, 1485.0], False]
    (site / "goal_weights.py").write_text("TWO = 1.8\n")
    assert rated() == [[1518.0, 1482.0], True]
    source.write_text(source.read_text().replace("return TWO", "return 2.0 * TWO"))
    assert rated() == [[1536.0, 1464.0], True]
    assert rated() == [[1536.0, 1464.0], False]


@needs_jit
def test_a_kernel_that_was_typed_in_is_not_kept() -> None:
    """A cell of a notebook: no other process can find the types of its arguments."""
    names = {"__name__": "__main__", "_jit": _jit}
    exec("@_jit.kernel\ndef typed(x):\n    return x\n", names)
    assert _jit._kernel_folder(names["typed"]) is None
    assert names["typed"](3) == 3


def test_trace_and_prediction_agree(football: Path) -> None:
    """The expected score of the trace is that of the outlook."""
    history, system = eq.read_history(season()), make_system("football-elo")
    done = eq.replay(system, history, trace=True)
    assert done.trace is not None
    columns = done.trace.columns
    outlook = system.outlook(columns["rating_before"], columns["deviation_before"], history)
    first = np.arange(0, history.participations, 2)
    assert columns["expected"][first] == pytest.approx(outlook.beats(first, first + 1))
