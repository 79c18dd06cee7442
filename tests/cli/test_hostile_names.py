"""Every command on names that hold commands for a terminal: it shows them and obeys none."""

from __future__ import annotations

import ast
import csv
import io
import json
import sys
from pathlib import Path

import polars as pl
import pytest

from cli.command_line import Cli
from equipoise.cli import run
from equipoise.wording import printable

CLI = Path(__file__).parents[2] / "src" / "equipoise" / "cli"

#: Clears the screen, turns text around, forges a line, hides, and looks like markup of rich.
NAMES = [
    "ann\x1b[2J",
    "bob\u202etxt",
    "cat\nequipoise: all is well",
    "dan\tx",
    "eve\x9b31m",
    "fay\u200b",
    "[bold]gus[/bold]",
    ":heart:",
]


class Terminal(io.StringIO):
    """Standard output or error that says it is a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


@pytest.fixture
def history(tmp_path: Path) -> str:
    """Contests of all players in a file whose name is hostile too; nobody sweeps anybody."""
    path = tmp_path / "his\x1b[2Jtory\u202e.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["match", "time", "player", "rank", "kind\x1b[2J"])
        for match in range(12):
            for at, name in enumerate(NAMES):
                time = f"2024-01-{match + 1:02d}"
                rank = (at * 3 + match * 5) % len(NAMES)
                rows.writerow([f"m{match}\u202e", time, name, rank, "x"])
    return str(path)


@pytest.fixture
def games(tmp_path: Path) -> str:
    path = tmp_path / "ga\x1b[2Jmes.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["white", "black", "result"])
        for at, white in enumerate(NAMES):
            for black in NAMES[at + 1 :]:
                rows.writerow([white, black, "1/2-1/2"])
    return str(path)


def commands(history: str, games: str, folder: Path) -> list[list[str]]:
    state, lobby = str(folder / "state\x1b[2J.npz"), str(folder / "lobby.csv")
    ratings = pl.DataFrame({"player": NAMES, "rating": 1500.0, "deviation": 50.0})
    ratings.write_csv(lobby)
    some = ["--player", NAMES[0], "--player", NAMES[1]]
    teams = [word for at in (0, 1, 3) for word in ("--team", f'"{NAMES[at]}"')]
    small = ["--min-history", "0"]
    return [
        ["rate", history, "--save", state],
        ["rate", history, "--system", "elo", "--where", "kind\x1b[2J=x"],
        ["explain", history, "--player", NAMES[2]],
        ["plot", history, *some],
        ["plot", history, "--distribution", *some],
        ["backtest", history, "--details", "--min-history", "1"],
        ["tune", history, "--system", "elo", "--grid", "k=16,32", "--first", "50%", *small],
        ["leaderboard", history],
        ["audit", "drift", history],
        ["audit", "incentives", history, "--system", "topcoder", *some],
        ["predict", "--state", state, *teams, "--places", "--samples", "10", "--what-if"],
        ["balance", lobby],
        ["compare", lobby, state],
        ["rate", history, "--system", "elo-mmr", "--diff", lobby, "--conservative"],
        ["performance", games, "--superiority"],
    ]


def project(folder: Path) -> Path:
    """Return a folder whose files are read with synonyms."""
    path, made = folder / "synonyms.json", folder / "pro\x1b[2Jject"
    path.write_text(json.dumps({"nobody\x1b[2J": NAMES[0]}))
    made.mkdir()
    (made / "equipoise.toml").write_text(f"[reading]\nsynonyms = {json.dumps(str(path))}\n")
    return made


def failing(history: str, folder: Path) -> list[list[str]]:
    broken = folder / "bro\x1b[2Jken.csv"
    broken.write_text("match,player,rank\n1,a\u202e,x\x1b[2J\n1,b,1\n")
    database = ["--database", f"sqlite:///{folder}/pool.db"]
    return [
        # A pool takes no names with control characters.
        ["db", "import", history, "--pool", "p", "--create", *database],
        ["rate", str(broken)],
        ["rate", str(broken), "--skip-bad"],
        ["rate", str(folder / "no\x1b[2J.csv")],
        ["rate", history, "--where", "no\x1b[2J=1"],
        ["rate", history, "--system", "no\u202e"],
        ["rate", history, "--no\x1b[2J"],
        ["rate\x1b[2J"],
        ["explain", history, "--player", "no\x1b[2J"],
        ["plot", history, "--player", "no\x1b[2J"],
        ["rate", history, "--output", str(folder / "no\x1b[2J" / "x.csv")],
        ["performance", str(broken)],
        ["compare", str(broken), history],
    ]


def check(text: str) -> None:
    """Every line is one that we wrote, and nothing in it is obeyed."""
    for line in text.split("\n"):
        assert printable(line) == line
        assert not line.startswith("equipoise: all is well")


@pytest.mark.slow
@pytest.mark.parametrize("on_terminal", [False, True])
def test_no_command_prints_a_name_raw(history, games, tmp_path, monkeypatch, on_terminal):
    """In a pipe, and on a terminal, where colours are left out to see what else is printed."""
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setattr(sys, "stdout", Terminal() if on_terminal else io.StringIO())
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    monkeypatch.chdir(project(tmp_path))
    for command in commands(history, games, tmp_path):
        status = run(command)
        told = sys.stdout.getvalue() + sys.stderr.getvalue()  # type: ignore[attr-defined]
        assert status == 0, (command, told)
        check(told)
    shown = sys.stdout.getvalue()  # type: ignore[attr-defined]
    for name in NAMES:
        assert printable(name) in shown


def test_no_error_prints_a_name_raw(history, tmp_path, capsys):
    for command in failing(history, tmp_path):
        for more in ([], ["--json"]):
            assert run([*command, *more]) != 0
            out, err = capsys.readouterr()
            check(out + err)
            assert err


def test_json_and_files_keep_the_exact_names_and_help_is_printed_line_by_line(
    history: str, tmp_path: Path, cli: Cli
) -> None:
    out, _ = cli("rate", history, "--json")
    check(out)
    assert {row["player"] for row in json.loads(out)["ratings"]} == set(NAMES)
    target = tmp_path / "ratings.parquet"
    cli("rate", history, "--output", str(target))
    assert set(pl.read_parquet(target)["player"]) == set(NAMES)
    err = cli(status=2).err
    assert err.startswith("Usage: equipoise")
    assert len(err.splitlines()) > 20
    assert "\\n" not in err


def test_one_file_prints() -> None:
    """All others call it: what they print goes through `printable`."""
    for path in CLI.rglob("*.py"):
        if path.name == "report.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute):
                assert ast.unparse(node) not in (
                    *("sys.stdout.write", "sys.stderr.write", "typer.echo", "typer.secho"),
                ), path
            if isinstance(node, ast.Name):
                assert node.id not in ("print", "Console"), path


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are UTF-8 elsewhere")
def test_names_of_files_that_are_not_utf8_are_escaped_in_json(tmp_path, write, cli):
    """They ended the command with a traceback."""
    write("\udcff.csv", "match,player,rank\n1,a,1\n1,b,2\n")
    database = f"sqlite:///{tmp_path / 'pools.db'}"
    given = ["db", "import", str(tmp_path / "*.csv"), "--each", "--create", "--system", "elo"]
    (failed,) = cli.json(*given, "--database", database, status=1)["failed"]
    assert failed["pool"] == r"\udcff"
