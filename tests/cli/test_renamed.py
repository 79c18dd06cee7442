"""Names of earlier versions: they work as before, and a line says the new name or what is left."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.command_line import Cli
from cli.test_usage import commands
from equipoise.cli import run
from equipoise.cli.suggestions import why_gone

EXAMPLES = Path(__file__).parents[2] / "examples"
HISTORY = str(EXAMPLES / "league.csv")


@pytest.fixture
def state(tmp_path: Path) -> str:
    """Give a saved state of the league."""
    path = str(tmp_path / "state.npz")
    assert run(["rate", HISTORY, "--system", "elo", "--save", path]) == 0
    return path


@pytest.mark.parametrize(
    ("command", "old", "new"),
    [
        (["predict", "--team", "ada", "--team", "ben"], "--resume STATE", "--state STATE"),
        (["predict", "--team", "ada", "--team", "ben"], "--resume=STATE", "--state=STATE"),
        (
            ["predict", "--state", "STATE", "--team", "ada", "--team", "ben"],
            "--if-ranked",
            "--what-if",
        ),
        (["explain", HISTORY, "--player", "ada", "--restart"], "--resume STATE", "--state STATE"),
        (["balance", "--state", "STATE", "--players", "ada,ben"], "--raw", "--no-escape-formulas"),
        (["rate", HISTORY], "--memory 2GB", "--memory-limit 2GB"),
    ],
)
def test_an_old_option_does_what_the_new_one_does(command, old, new, state, capsys):
    def printed(option: str) -> tuple[int, str, list[str]]:
        words = [*command, *option.split()]
        capsys.readouterr()
        status = run([word.replace("STATE", state) for word in words])
        out, err = capsys.readouterr()
        return status, out, err.splitlines()

    status, out, err = printed(new)
    names = [option.replace("=", " ").split()[0] for option in (old, new)]
    assert printed(old) == (status, out, [f"{names[0]} is now called {names[1]}.", *err])


def test_help_has_the_new_names_alone_and_other_words_stay(cli: Cli) -> None:
    shown = cli("rate", "--help")
    shown = shown.out
    assert "--state FILE.npz" in shown
    assert not {"--resume", "--memory", "--raw"} & set(shown.split())
    assert "is now called" not in cli("rate", "--", "--raw", status=1).err
    assert "No such option: --raw" in cli("inspect", HISTORY, "--raw", status=2).err
    shown = cli("--help")
    shown = {line.split()[0] for line in shown.out.splitlines() if line.strip()}
    assert "db" in shown
    assert not {"keys", "import", "verify", "restore"} & shown


@pytest.mark.parametrize(
    "words",
    [
        "keys create --name a --expires soon",
        "keys list --database sqlite:///none.db",
        "keys --help",
        "import --help",
        "export pool",
        "verify --database nonsense",
        "check --database sqlite:///none.db --json",
        "backup",
        "restore none.db --frob",
        "erase --help",
    ],
)
def test_an_old_command_does_what_the_new_one_does(words, tmp_path, monkeypatch, capsys, cli):
    pytest.importorskip("sqlalchemy")
    monkeypatch.chdir(tmp_path)
    name = words.split()[0]
    status = run(["db", *words.split()])
    new = capsys.readouterr()
    old = cli(*words.split(), status=status)
    assert old.out == new.out
    assert old.err == f"`equipoise {name}` is now called `equipoise db {name}`.\n{new.err}"


#: Removed options by command, and a part of the sentence on what to do instead.
GONE = {
    "audit incentives": {
        "--accounts --accounts-in": "benchmarks/new_accounts.py",
        "--others --replays": "papers/elo_mmr/theorems.py",
        "--details": "--output FILE writes all matches",
        "--chart --title": "draw no charts",
    },
    "audit drift": {"--chart --title --no-band": "draw no charts", "--threads": "All cores"},
    "backtest": {
        "--min-total": "--min-history N",
        "--resamples": "1,000 resamples",
        "--sheet --strict --stat": "[reading]",
    },
    "balance": {"--alternatives": "five next best splits"},
    "compare": {
        "--raw --no-escape-formulas": "other than .csv and .tsv",
        "--title": "plot() of a result",
    },
    "demo": {"--json": "--json"},
    "leaderboard": {
        "--threads": "All cores",
        "--raw": "other than .csv and .tsv",
        "--title": "plot() of a result",
        "--errors --rounds": "100 histories",
    },
    "explain": {"--threads": "All cores", "--sheet": "[reading]"},
    "performance": {
        "--ratings --initial": "white_rating",
        "--synonyms": "[reading]",
        "--title": "plot() of a result",
    },
    "plot": {"--threads": "All cores", "--sheet": "[reading]", "--title": "plot() of a result"},
    "rate": {
        "--threads": "All cores",
        "--cluster-ca --cluster-cert --cluster-key": "TLS",
        "--again": "each time",
    },
    "rebalance": {"--time-limit": "--nodes N"},
    "serve": {"--workers": "one process", "--replica --replica-lag": "standby"},
    "simulate": {"--newcomer-gap": "the key `newcomer_gap` in a population file"},
    "tune": {
        "--threads": "All cores",
        "--resamples": "1,000 resamples",
        "--under-way": "8 sampled trials",
        "--title": "plot() of a result",
    },
    "strengths": {"--scale": "odds of ten to one", "--raw": "other than .csv and .tsv"},
}


def test_removed_options_say_what_to_do(cli: Cli) -> None:
    known = {name: {text for one in each.params for text in one.opts} for name, each in commands()}
    for command, hints in GONE.items():
        for options, hint in hints.items():
            for option in options.split():
                assert option not in known[command]
                assert hint in str(why_gone(f"equipoise {command}", option)), (command, option)
    shown = cli("balance", "x.csv", "--alternatives", "3", status=2)
    message = "No such option: --alternatives. The five next best splits are shown.\n"
    assert message in shown.err


def test_no_option_is_called_removed_where_it_is_left() -> None:
    for name, command in commands():
        for one in command.params:
            for option in one.opts:
                assert why_gone(f"equipoise {name}", option) is None, (name, option)
