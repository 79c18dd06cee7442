"""What the command line says of wrong usage, and how it ends when it is stopped."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from cli.command_line import Cli
from equipoise.cli.application import create_application
from equipoise.cli.options import HEADINGS, LETTERS, OFTEN

NO_COMMAND = "No such command "


@pytest.mark.parametrize(
    ("words", "message", "page"),
    [
        ("rate", "`equipoise rate` needs HISTORY (the matches)", "rate"),
        (
            "explain x.csv",
            "`equipoise explain` needs --player PLAYER (the player whose rating change is "
            "explained)",
            "explain",
        ),
        ("rate --systm elo", "No such option: --systm. Did you mean --system?", "rate"),
        ("rate x.csv --zzz", "No such option: --zzz", "rate"),
        ("tune x.csv --workers 0", "--workers must be at least 1; got '0'", "tune"),
        ("compare a b --top two", "--top must be a whole number; got 'two'", "compare"),
        ("simulate --attendance wide", "--attendance must be a number; got 'wide'", "simulate"),
        (
            "convert x.csv y.csv --as table",
            "--as must be one of history, games, trf; got 'table'",
            "convert",
        ),
        ("--system elo", "No such option: --system. Options of a command come after its name.", ""),
        ("rat", f"{NO_COMMAND}'rat'. Did you mean 'rate'?", ""),
        ("verfy", f"{NO_COMMAND}'verfy'. Did you mean `equipoise db verify`?", ""),
        ("audit drif", f"{NO_COMMAND}'drif'. Did you mean 'drift'?", "audit"),
        ("version", f"{NO_COMMAND}'version'. Did you mean `equipoise --version`?", ""),
        (
            "reproduce elo-mmr --cases 50",
            f"{NO_COMMAND}'reproduce'. The comparison with the papers is in the repository: "
            "`make papers`, or `python -m papers.reproduce`.",
            "",
        ),
        (
            "'my matches.csv'",
            "'my matches.csv' is a file, not a command. Did you mean `equipoise rate 'my "
            "matches.csv'`?",
            "",
        ),
    ],
)
def test_wrong_usage_says_what_to_type(
    words: str, message: str, page: str, cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """And what lacks is shown in an example."""
    monkeypatch.chdir(tmp_path)
    Path("my matches.csv").touch()
    out, err = cli(*shlex.split(words), status=2)
    first, *examples, last = err.splitlines()
    assert (out, first, last) == (
        "",
        f"equipoise: {message}",
        f"See `{' '.join(['equipoise', *page.split()])} --help`.",
    )
    example = {
        "rate": [
            "Example: equipoise rate examples/contests.csv --system elo-mmr --output ratings.csv",
            "No file yet? `equipoise demo --keep sample` writes sample/contests.csv.",
        ],
        "explain": ["Example: equipoise explain examples/contests.csv --player jade-kite"],
    }
    assert examples == (example[page] if "needs" in message else [])


def commands(group: Any = None, above: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every command with its name, of groups those below."""
    group = group or typer.main.get_command(create_application())
    for name, one in group.commands.items():
        if hasattr(one, "commands"):
            yield from commands(one, f"{above}{name} ")
        else:
            yield f"{above}{name}", one


def test_a_letter_means_the_same_in_every_command() -> None:
    meant = {letter: spelled for spelled, letter in LETTERS.items()}
    for name, command in commands():
        for one in command.params:
            for letter in (text for text in one.opts if len(text) == 2 and not one.hidden):
                assert meant[letter] in one.opts, (name, letter)
            for spelled, letter in LETTERS.items():
                assert (spelled in one.opts) == (letter in one.opts), (name, spelled)


@pytest.mark.parametrize("words", [[], ["audit"], ["db", "keys"], ["systems"], ["db", "verify"]])
def test_h_is_help_of_groups_and_of_commands_with_few_options(words: list[str], cli: Cli) -> None:
    short = cli(*words, "-h").out
    assert short == cli(*words, "--help").out
    assert "-h, --help" in short


def test_h_of_a_command_with_many_options_fits_a_screen(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    short = cli("rate", "-h").out
    assert len(short.splitlines()) <= 40
    assert "--output FILE" in short
    assert "--synonyms FILE" in short
    assert "--time-format FORMAT" in short
    assert "--unplaced" not in short
    assert short.endswith(" options. `equipoise rate --help` shows all.\n")
    whole = cli("rate", "--help").out
    assert re.findall(r"^[A-Z].*:$", whole, re.MULTILINE) == [
        "Arguments:",
        "Options:",
        "Rating:",
        "Output:",
        "Known ratings and saved states:",
        "Speed:",
        "Many pools:",
        "Reading:",
    ]


def test_help_of_every_command_has_every_option(cli: Cli) -> None:
    for name, command in commands():
        shown = cli(*name.split(), "--help").out
        for one in command.params:
            assert one.hidden or one.param_type_name == "argument" or one.opts[0] in shown, name


def test_names_in_the_tables_of_help_are_those_of_options() -> None:
    known = {text for _, command in commands() for one in command.params for text in one.opts}
    listed = f"{OFTEN} {' '.join(HEADINGS.values())}".split()
    assert [name for name in listed if f"--{name}" not in known] == []


def test_help_has_every_command_once_under_a_heading(cli: Cli) -> None:
    shown = cli("--help").out
    listed = [line.split()[0] for line in shown.splitlines() if line[:2] == "  " and line[2] > " "]
    names = [name.split()[0] for name, _ in commands()]
    for name in set(names):
        assert listed.count(name) == 1
    assert len(set(names)) <= 22
    order = [listed.index(name) for name in ("demo", "rate", "backtest", "audit", "serve", "db")]
    assert order == sorted(order)
    assert "..." not in shown.partition("First steps")[2]


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_ctrl_c_says_one_line() -> None:
    """A history on standard input that never comes keeps the command waiting."""
    words = [sys.executable, "-m", "equipoise", "rate", "-", "--format", "csv"]
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as waiting:
        time.sleep(3)
        waiting.send_signal(signal.SIGINT)
        out, err = waiting.communicate(timeout=60)
    assert (waiting.returncode, out, err) == (130, "", "stopped\n")


@pytest.mark.skipif(os.name != "posix", reason="needs a shell")
@pytest.mark.parametrize("words", ["systems", "simulate --players 2000 --contests 50"])
def test_a_reader_that_ends_early_is_no_error(words: str) -> None:
    """Output that fits into the pipe, and output that does not."""
    line = f'{{ "{sys.executable}" -m equipoise {words}; echo $? >&2; }} | true'
    done = subprocess.run(
        ["sh", "-c", line], check=False, capture_output=True, text=True, timeout=120
    )
    for word in ("Traceback", "Exception", "Broken"):
        assert word not in done.stderr
    assert done.stderr.splitlines()[-1] in ("0", "1")
