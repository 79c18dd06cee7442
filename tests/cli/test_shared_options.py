"""Options and settings that many commands share are heeded by each of them."""

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
    "leaderboard": ["--system", "elo"],
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
def test_wrong_use_of_a_shared_option_is_told(command, options, status, told, tmp_path, cli):
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


COMMANDS = {
    "rate": [],
    "explain": ["--player", "ann"],
    "plot": ["--player", "ann"],
    "backtest": ["--min-history", "0"],
    "tune": ["--grid", "k=16,32", "--first", "50%", "--min-history", "0"],
    "leaderboard": [],
    "audit drift": [],
    "audit incentives": ["--player", "ann"],
    "import": ["--pool", "p", "--create", "--database", "sqlite:///{folder}/pool.db"],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_names_are_pointed_out_and_merged_on_request(command, tmp_path, write, cli, monkeypatch):
    """Doubles are told on standard error, and nothing is told where they are known."""
    history = tmp_path / "history.csv"
    names = ["ann", "bob", "Ann", "cid"]
    rows = [f"{at},{names[at % 4]},0\n{at},{names[(at + 1) % 4]},1" for at in range(12)]
    history.write_text("match,player,rank\n" + "\n".join(rows) + "\n")
    synonyms = write("synonyms.csv", "name,same_as\nAnn,ann\n")
    more = [word.format(folder=tmp_path) for word in COMMANDS[command]]
    more += ["--system", "elo"]
    told = cli(*command.split(), str(history), *more).err
    assert "'Ann' and 'ann' may be one player: they differ only in case" in told
    (tmp_path / "pool.db").unlink(missing_ok=True)
    if command == "rate":
        more += ["--synonyms", synonyms]
    else:
        (tmp_path / "equipoise.toml").write_text(f'[reading]\nsynonyms = "{synonyms}"\n')
        monkeypatch.chdir(tmp_path)
    assert "may be one player" not in cli(*command.split(), str(history), *more).err


@pytest.mark.parametrize(
    ("content", "problem"),
    [(None, "no such file or directory"), ("name,same_as\na,a\n", "line 2, name: must differ")],
)
def test_problems_of_synonyms_name_their_file_and_option(content, problem, tmp_path, cli):
    history, synonyms = tmp_path / "history.csv", tmp_path / "names.csv"
    history.write_text("match,player,rank\n1,a,0\n1,b,1\n")
    if content is not None:
        synonyms.write_text(content)
    told = cli("rate", str(history), "--synonyms", str(synonyms), status=1).err
    assert f"1 problem in {synonyms} (--synonyms):\n" in told
    assert problem in told


@pytest.mark.parametrize("dry_run", [[], ["--dry-run"]])
def test_new_names_are_compared_with_a_saved_state(dry_run, tmp_path, cli):
    may, june, state = (tmp_path / name for name in ("may.csv", "june.csv", "club.npz"))
    may.write_text("match,player,rank\n1,Eva Fischer,0\n1,Ben Cole,1\n")
    june.write_text("match,player,rank\n2,Eva Fisher,0\n2,ben cole,1\n3,Eva Fisher,0\n3,Al,1\n")
    cli("rate", str(may), "--system", "elo", "--save", str(state))
    told = cli("rate", str(june), "--state", str(state), *dry_run).err
    assert "'Eva Fisher' is new, and may be 'Eva Fischer' of the saved state\n" in told
    assert "'ben cole' is new, and may be 'Ben Cole' of the saved state: they differ only" in told
