"""What the command line says of wrong usage, and how it ends when it is stopped."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
import typer.main

from cli.command_line import Cli
from equipoise.analysis.requests import Typed, assignments, typed
from equipoise.cli.application import create_application
from equipoise.cli.options import HEADINGS, LETTERS, OFTEN, add_command
from equipoise.cli.report import cell, cut, dates, minutes, table

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
        # Completion has an option of its own now.
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
def test_wrong_usage_says_what_to_type(words, message, page, cli, monkeypatch, tmp_path):
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


@pytest.mark.parametrize("words", [[], ["audit"], ["db", "keys"], ["systems"], ["db", "verify"]])
def test_h_is_help_of_groups_and_of_commands_with_few_options(words: list[str], cli: Cli) -> None:
    short = cli(*words, "-h").out
    assert short == cli(*words, "--help").out
    assert "-h, --help" in short


def test_h_of_a_command_with_many_options_fits_a_screen(cli, monkeypatch):
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


def test_names_and_letters_mean_the_same_in_every_command_and_in_its_help(cli: Cli) -> None:
    known = {text for _, command in commands() for one in command.params for text in one.opts}
    listed = f"{OFTEN} {' '.join(HEADINGS.values())}".split()
    assert [name for name in listed if f"--{name}" not in known] == []
    meant = {letter: spelled for spelled, letter in LETTERS.items()}
    for name, command in commands():
        for one in command.params:
            for letter in (text for text in one.opts if len(text) == 2 and not one.hidden):
                assert meant[letter] in one.opts, (name, letter)
            for spelled, letter in LETTERS.items():
                assert (spelled in one.opts) == (letter in one.opts), (name, spelled)
    for name, command in commands():
        shown = cli(*name.split(), "--help").out
        for one in command.params:
            assert one.hidden or one.param_type_name == "argument" or one.opts[0] in shown, name


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


# Completion by bash: the script of the library, asked as bash asks it, and in a terminal.


BASH = shutil.which("bash")

ASK = """
source <(equipoise --show-completion bash)
for line in "$@"; do
    COMP_WORDS=(equipoise $line)
    [[ -z $line || $line == *" " ]] && COMP_WORDS+=("")
    COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ))
    COMPREPLY=()
    _equipoise_completion equipoise
    echo "${COMPREPLY[@]}"
done
"""


@pytest.fixture
def path(tmp_path: Path) -> dict[str, str]:
    """Give an environment in which `equipoise` is the one of this checkout."""
    command = tmp_path / "bin" / "equipoise"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m equipoise "$@"\n')
    command.chmod(0o755)
    return {**os.environ, "PATH": f"{command.parent}:{os.environ['PATH']}"}


def ask(path: dict[str, str], folder: Path, *lines: tuple[str, ...]) -> list[list[str]]:
    """Return what bash is offered for the last word of each line; it splits words at equals."""
    done = subprocess.run(
        [str(BASH), "--norc", "-c", ASK, "bash", *map(" ".join, lines)],
        env=path,
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert done.stderr == ""
    return [line.split() for line in done.stdout.splitlines()]


@pytest.mark.slow
@pytest.mark.skipif(BASH is None, reason="needs bash")
def test_bash_completes_commands_options_systems_and_parameters(path, tmp_path):
    """The script of the library, asked as bash asks it."""
    lines = (
        ("",),
        ("audit", ""),
        ("rate", "--sys"),
        ("rate", "--system", "elo"),
        ("rate", "x.csv", "-s", "elo", "--set", "home_advantage_d"),
        ("rate", "x.csv", "--set", "bet"),
        ("rate", "--format", "parq"),
    )
    commands, *others = ask(path, tmp_path, *lines)
    assert commands[0] == "demo"
    assert {"rate", "audit", "db", "serve"} <= set(commands)
    assert others == [
        ["drift", "incentives"],
        ["--system"],
        ["elo", "elo-mmr", "elo-mmx"],
        ["home_advantage_deviation=", "home_advantage_drift="],
        ["beta="],
        ["parquet"],
    ]


# How commands declare options, and what tables make of values.


Loud: Any = Annotated[bool, Typed("Louder.")]


def letters(texts: list[str], name: str) -> str:
    return f"{name} {''.join(texts)}"


@dataclass(frozen=True, kw_only=True)
class Pitch:
    """A request within another one."""

    high: bool = typed(False, "Higher.")


@dataclass(frozen=True, kw_only=True)
class Sound:
    """What is heard."""

    word: str = typed(..., "What is said.", "WORD", argument=True)
    loud: bool = typed(False, "Louder.", without=("now",))
    times_: int = typed(2, "How often.", least=1)
    since: str | None = typed(
        None, "From when. [default: now]", "TIME", name="--from", commands=("say",)
    )
    spelled: str = typed("", "Letters.", many=True, read=letters)
    breath: bool = typed(True, "No breath.", name="--no-breath", off=True)
    tune: tuple[str, ...] = typed((), "Tones.")
    ears: int = typed(1, "Listeners. [default: all]", otherwise=lambda: 9)
    pitch: Pitch = field(default_factory=Pitch)
    unheard: int = 5


def command(*, sound: Sound, last: Loud) -> int:
    """Say it."""
    assert (sound, last) == (Sound(word="ho", loud=True, times_=3, ears=9), False)
    return 7


def now(*, sound: Sound) -> int:
    """Say it at once."""
    assert sound == Sound(
        word="ho",
        spelled="--spelled ab",
        breath=False,
        tune=("c", "d"),
        ears=1,
        pitch=Pitch(high=True),
    )
    return sound.times_


def made(function: Any, name: str = "say") -> Any:
    application = typer.Typer(rich_markup_mode=None, add_completion=False)
    add_command(application, name, function)
    return typer.main.get_command(application)


def test_a_command_gets_its_groups_whole_and_the_values_and_defaults_of_their_fields() -> None:
    """Options without a name are called like their parameter."""
    words = ["ho", "--loud", "--times", "3"]
    assert made(command).main(words, standalone_mode=False) == 7

    def told(
        *, set_: dict[str, str] = typed(dict, "Settings.", many=True, read=assignments)
    ) -> int:
        return len(set_)

    for words, settings in (([], 0), (["--set", "a=b"], 1)):
        assert made(told).main(words, standalone_mode=False) == settings
    one = made(now, "now")
    names = [name for parameter in one.params for name in parameter.opts]
    assert not {"--loud", "--from", "--unheard"} & {*names}
    given = ["--spelled", "a", "--spelled", "b", "--no-breath", "--tune", "c", "--tune", "d"]
    words = ["ho", *given, "--ears", "1", "--high"]
    assert one.main(words, standalone_mode=False) == 2


def test_options_stand_where_their_field_does_and_say_their_defaults() -> None:
    *parameters, short_help = made(command).params
    assert (short_help.opts, short_help.hidden) == (["-h"], True)
    names = "word --loud --times --from --spelled --no-breath --tune --ears --high --last"
    assert [one.opts for one in parameters] == [[name] for name in names.split()]
    assert [one.secondary_opts for one in parameters] == [[]] * 10
    helps = ["Louder.", "How often. [default: 2]", "From when. [default: now]", "Letters."]
    assert [one.help for one in parameters[1:5]] == helps


def test_a_table_writes_numbers_by_their_column_and_leaves_unknown_ones_blank() -> None:
    found = table(
        {"name": "", "rating": "+z.1f", "share": ">"}, [("ann", -0.01, "5 %"), (1, None, 2)]
    )
    assert found.rows == [["ann", "+0.0", "5 %"], ["1", "", "2"]]
    assert found.numbers == {"rating", "share"}
    assert found.lines() == ["name  rating  share", "ann     +0.0    5 %", "1                 2"]


def test_cells_are_cut_and_times_are_days_or_minutes() -> None:
    assert cell("unknown", ".2f") == "unknown"
    assert [cut("abcdef", 6), cut("abcdefg", 6)] == ["abcdef", "abc..."]
    assert [minutes(None), minutes(12), minutes(1_600_000_000)] == [None, "12", "2020-09-13 12:26"]
    assert dates([1600214400, None, 1601424000]) == ["2020-09-16", None, "2020-09-30"]
    assert dates([1600214400, 1601424060]) == ["2020-09-16 00:00", "2020-09-30 00:01"]
    assert dates([date(2020, 9, 16), None]) == ["2020-09-16", None]
    assert dates([7, 23]) == ["7", "23"]
