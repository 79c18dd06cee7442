"""Options that many commands share are heeded by each of them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from cli.command_line import Cli

ROWS = (
    "contest,who,rank,cup\n1,a,0,yes\n1,b,1,yes\n2,a,1,no\n2,b,0,no\n"
    "3,a,x,yes\n3,b,0,yes\n4,a,0,yes\n4,b,1,yes\n"
)
NAMED = ["--column", "match=contest", "--column", "player=who", "--skip-bad"]

#: Commands that rate a history, with what each of them needs beside it.
RATING = {
    "rate": ["--system", "elo"],
    "plot": ["--system", "elo", "--player", "a"],
    "explain": ["--system", "elo", "--player", "a"],
    "backtest": ["--system", "elo", "--min-history", "0", "--details"],
    "audit drift": ["--system", "elo"],
    "leaderboard": ["--system", "elo", "--errors", "none"],
}
every_command = pytest.mark.parametrize("command", RATING)


def words(command: str, source: str, *more: str) -> list[str]:
    return [*command.split(), source, *RATING[command], *more]


@every_command
def test_histories_are_read_as_asked(command: str, tmp_path: Path, cli: Cli) -> None:
    """Names of columns, matches of one cup, and what was left out is told with its line."""
    (tmp_path / "h.csv").write_text(ROWS)
    printed = []
    for more in ([], ["--where", "cup=yes"], ["--where", "cup=yes", "--set", "k=20"]):
        out, err = cli(*words(command, str(tmp_path / "h.csv"), *NAMED, *more))
        assert "1 bad match was dropped" in err
        assert "line 6, rank" in err
        printed.append(out + "".join(line for line in err.splitlines() if " in 0." not in line))
    assert printed[0] != printed[1]
    assert printed[1] != printed[2]


@every_command
@pytest.mark.parametrize(
    ("options", "status", "told"),
    [
        (["--system", "glicko-3"], 1, "no system 'glicko-3'"),
        (["--set", "rhoo=1"], 2, "no parameter 'rhoo'"),
        (["--set", "k"], 2, "--set takes"),
        (["--where", "cup"], 2, "--where takes"),
        (["--until", "soon"], 2, "equipoise: --until must be"),
    ],
)
def test_wrong_use_of_a_shared_option_is_told(
    command: str, options: list[str], status: int, told: str, tmp_path: Path, cli: Cli
) -> None:
    (tmp_path / "h.csv").write_text("match,time,player,rank\n1,2024-01-01,a,0\n1,2024-01-01,b,1\n")
    given = words(command, str(tmp_path / "h.csv"))
    if options[0] == "--system":
        at = given.index("--system")
        del given[at : at + 2]
    out, err = cli(*given, *options, status=status)
    assert told in err
    assert out == ""


@pytest.mark.parametrize(("command", "option"), [("plot", "--output"), ("leaderboard", "--chart")])
def test_a_chart_names_its_library_and_its_folder_before_anything_is_read(
    command: str, option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    nowhere = words(command, "no-such-file.csv", option, str(tmp_path / "nowhere" / "c.svg"))
    assert "directory of an output" in cli(*nowhere, status=2).err
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    shown = cli(*words(command, "no-such-file.csv", option, str(tmp_path / "c.svg")), status=1)
    assert "pip install '.[charts]'" in shown.err
    assert list(tmp_path.iterdir()) == []
