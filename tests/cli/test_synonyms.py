"""Synonyms in every command that reads a history: an option, or a setting of the project."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.command_line import Cli

COMMANDS = {
    "rate": [],
    "explain": ["--player", "ann"],
    "plot": ["--player", "ann"],
    "backtest": ["--min-history", "0", "--resamples", "0"],
    "tune": ["--grid", "k=16,32", "--first", "50%", "--min-history", "0", "--resamples", "10"],
    "leaderboard": ["--rounds", "20"],
    "audit drift": [],
    "audit incentives": ["--player", "ann"],
    "import": ["--pool", "p", "--create", "--database", "sqlite:///{folder}/pool.db"],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_names_are_pointed_out_and_merged_on_request(
    command: str, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Doubles are told on standard error, and nothing is told where they are known."""
    history = tmp_path / "history.csv"
    names = ["ann", "bob", "Ann", "cid"]
    rows = [f"{at},{names[at % 4]},0\n{at},{names[(at + 1) % 4]},1" for at in range(12)]
    history.write_text("match,player,rank\n" + "\n".join(rows) + "\n")
    synonyms = tmp_path / "synonyms.csv"
    synonyms.write_text("name,same_as\nAnn,ann\n")
    more = [word.format(folder=tmp_path) for word in COMMANDS[command]]
    more += ["--system", "elo"]
    told = cli(*command.split(), str(history), *more).err
    assert "'Ann' and 'ann' may be one player: they differ only in case" in told
    (tmp_path / "pool.db").unlink(missing_ok=True)
    if command == "rate":
        more += ["--synonyms", str(synonyms)]
    else:
        (tmp_path / "equipoise.toml").write_text(f'[reading]\nsynonyms = "{synonyms}"\n')
        monkeypatch.chdir(tmp_path)
    assert "may be one player" not in cli(*command.split(), str(history), *more).err


@pytest.mark.parametrize(
    ("content", "problem"),
    [(None, "no such file or directory"), ("name,same_as\na,a\n", "line 2, name: must differ")],
)
def test_problems_of_synonyms_name_their_file_and_option(
    content: str | None, problem: str, tmp_path: Path, cli: Cli
) -> None:
    history, synonyms = tmp_path / "history.csv", tmp_path / "names.csv"
    history.write_text("match,player,rank\n1,a,0\n1,b,1\n")
    if content is not None:
        synonyms.write_text(content)
    told = cli("rate", str(history), "--synonyms", str(synonyms), status=1).err
    assert f"1 problem in {synonyms} (--synonyms):\n" in told
    assert problem in told


@pytest.mark.parametrize("dry_run", [[], ["--dry-run"]])
def test_new_names_are_compared_with_a_saved_state(
    dry_run: list[str], tmp_path: Path, cli: Cli
) -> None:
    may, june, state = (tmp_path / name for name in ("may.csv", "june.csv", "club.npz"))
    may.write_text("match,player,rank\n1,Eva Fischer,0\n1,Ben Cole,1\n")
    june.write_text("match,player,rank\n2,Eva Fisher,0\n2,ben cole,1\n3,Eva Fisher,0\n3,Al,1\n")
    cli("rate", str(may), "--system", "elo", "--save", str(state))
    told = cli("rate", str(june), "--state", str(state), *dry_run).err
    assert "'Eva Fisher' is new, and may be 'Eva Fischer' of the saved state\n" in told
    assert "'ben cole' is new, and may be 'Ben Cole' of the saved state: they differ only" in told
