"""What to say of a command line that cannot be understood, or is one of an earlier version."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from difflib import get_close_matches
from typing import Any

import typer

from equipoise.analysis.inspect import NO_LONGER
from equipoise.analysis.requests import reading_options
from equipoise.cli.project_file import settings_alone
from equipoise.cli.report import say
from equipoise.wording import NO_STANDBY, SEVERAL_SERVICES, printable

#: Old name of an option -> its name today, in every command that has the latter.
_OPTIONS = {
    "--resume": "--state",
    "--memory": "--memory-limit",
    "--raw": "--no-escape-formulas",
    "--if-ranked": "--what-if",
}

#: Old name of a command -> the words for it today.
NEW_COMMANDS = {"compile": "doctor --compile"} | {
    name: f"db {name}"
    for name in ("keys", "import", "export", "verify", "check", "backup", "restore", "erase")
}
#: Commands that are gone -> where to look instead.
GONE_COMMANDS = {
    "reproduce": "The papers are compared with our numbers in the repository: `make papers`, or "
    "`python -m papers.reproduce`.",
    "data": "Public histories, and the commands that read them, are a guide of the documentation: "
    "docs/guides/public-histories.md.",
    "completion": "Type `equipoise --install-completion` in the shell that is to complete, or "
    "`equipoise --show-completion` to see the script.",
}
#: What `equipoise simulate` takes from the file of a population.
_POPULATION = (
    "newcomers newcomer-gap activity-deviation matchmade mean-skill skill-deviation "
    "performance-deviation drift-deviation score-step draw-margin leavers mean-kills mean-deaths "
    "mean-damage statistics-scale first-time interval"
)
_STUDY = "The study of new accounts is in the repository: `benchmarks/new_accounts.py`."
_STANDBY = f"{NO_STANDBY[:1].upper()}{NO_STANDBY[1:]}."
#: Options that are gone, by command: where to look instead.
_GONE = {
    "audit incentives": {"--accounts": _STUDY, "--accounts-in": _STUDY},
    "serve": {
        "--workers": f"The service is one process: {SEVERAL_SERVICES}.",
        "--replica": _STANDBY,
        "--replica-lag": _STANDBY,
    },
    "simulate": {
        f"--{name}": f"It is the key `{name.replace('-', '_')}` of the file of a population, as in "
        "examples/population.toml."
        for name in _POPULATION.split()
    },
}
_CERTIFICATES = "The certificates for --cluster are those of Dask's configuration"
#: Options that are gone from all commands that had them.
_GONE_EVERYWHERE = {
    "--cluster-ca": f"{_CERTIFICATES}: set DASK_DISTRIBUTED__COMM__TLS__CA_FILE.",
    "--cluster-cert": f"{_CERTIFICATES}: set DASK_DISTRIBUTED__COMM__TLS__CLIENT__CERT.",
    "--cluster-key": f"{_CERTIFICATES}: set DASK_DISTRIBUTED__COMM__TLS__CLIENT__KEY.",
    "--again": "Every pool is rated each time.",
    "--insecure-cluster": "Set DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION=False instead.",
}


def with_new_command(words: Sequence[str]) -> list[str]:
    """Return a command line with the command's new name."""
    if not words or words[0] not in NEW_COMMANDS:
        return list(words)
    name = NEW_COMMANDS[words[0]]
    say(f"`equipoise {words[0]}` is now called `equipoise {name}`.")
    return [*name.split(), *words[1:]]


def with_new_options(words: Sequence[str], known: Collection[str]) -> list[str]:
    """Return the words of a command with the options' new names.

    known : options of the command
    """
    renamed = {old: new for old, new in _OPTIONS.items() if new in known and old not in known}
    found: list[str] = []
    for number, word in enumerate(words):
        if word == "--":
            return [*found, *words[number:]]
        old, equals, value = word.partition("=")
        if old in renamed:
            say(f"{old} is now called {renamed[old]}.")
            found.append(f"{renamed[old]}{equals}{value}")
        else:
            found.append(word)
    return found


def why_gone(command: str, option: str) -> str | None:
    """Return where to look instead of an option that is gone; None if there was none."""
    name = command.partition(" ")[2]
    found = _GONE.get(name, {}).get(option) or _GONE_EVERYWHERE.get(option)
    return found or (_setting(name, option) if name in _READING else None)


#: Commands that read, and have some of the options of reading.
_READING = (
    *("explain", "plot", "performance", "strengths", "backtest", "leaderboard", "tune"),
    *("audit drift", "audit incentives", "db import", "convert", "inspect"),
)


def _setting(command: str, option: str) -> str | None:
    """Return where an option of reading belongs that the command does not have."""
    if option.removeprefix("--") not in settings_alone(command):
        return None
    known = reading_options()[option]
    words = (f"`equipoise {'db ' if one == 'import' else ''}{one}`" for one in known[0].commands)
    return (
        f"It is an option of {', '.join(words)}; for other commands set "
        f"`{option[2:].replace('-', '_')}` below [reading] in the file equipoise.toml."
    )


#: How like an option a word must be to be taken for a slip, from 0 to 1.
_LIKE = 0.7
#: Texts in quotes.
_TEXTS = re.compile(r"'([^']*)'")


def help_wanted(error: typer.TyperException) -> bool:
    """Return whether the message is the help, as after a group of commands without a command."""
    return type(error).__name__ == "NoArgsIsHelpError"


def explain_usage(error: typer.TyperException) -> tuple[str, list[str]]:
    """Return the message of an error of usage, and lines on what to type instead.

    Typer has no public names for its errors, so they are told apart by what they carry.
    """
    context = getattr(error, "ctx", None)
    message = error.format_message()
    advice: list[str] = []
    if option := getattr(error, "option_name", ""):
        message = _of_option(error, option, context)
    elif rule := _of_value(error):
        message = rule
    elif type(error).__name__ == "MissingParameter" and context is not None:
        parameter = getattr(error, "param", None)
        message = _of_missing(parameter, context)
        advice = _example(context, parameter)
    return message, [*advice, _see(context)]


def _of_option(error: typer.TyperException, option: str, context: Any) -> str:
    """Return the message on an option, with the one that is probably meant."""
    if type(error).__name__ != "NoSuchOption":
        return error.format_message()
    close: Sequence[str] = ()
    if context is not None:
        gone = why_gone(context.command_path, option)
        if gone is not None:
            return f"No such option: {option}. {gone}"
        known = [name for one in context.command.get_params(context) for name in one.opts]
        close = get_close_matches(option, known, n=1, cutoff=_LIKE)
    if close:
        return f"No such option: {option}. Did you mean {close[0]}?"
    if context is not None and context.parent is None:
        return f"No such option: {option}. Options of a command come after its name."
    return f"No such option: {option}"


#: What a value must be, by the library's name of the error and with its limits.
_RULES = {
    "greater_than_equal": "at least {ge}",
    "less_than_equal": "at most {le}",
    "greater_than": "greater than {gt}",
    "less_than": "less than {lt}",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "bool_parsing": "true or false",
}


def _of_value(error: typer.TyperException) -> str | None:
    """Return the message on a value that is refused; None if the library does not say why.

    Typer's own words name the library's types, and not the value.
    """
    found = getattr(error.__cause__, "errors", None)
    parameter: Any = getattr(error, "param", None)
    if found is None or parameter is None:
        return None
    problem = found()[0]
    kind, value = problem["type"], problem["input"]
    choices = _TEXTS.findall(problem["msg"].partition(" is not one of ")[2])
    if kind == "value_error" and choices:
        rule = f"one of {', '.join(choices)}"
    elif kind in _RULES:
        rule = _RULES[kind].format(**problem.get("ctx", {}))
    else:
        return None
    if parameter.param_type_name == "option":
        name = max(parameter.opts, key=len)
    else:
        name = parameter.metavar or parameter.name.upper()
    gone = f". {NO_LONGER}" if name == "--as" and value in ("contests", "pgn") else ""
    return f"{name} must be {rule}; got {printable(repr(value))}{gone}"


def _of_missing(parameter: Any, context: Any) -> str:
    """Return the message on an argument or option that is required."""
    name = parameter.metavar or parameter.name.upper()
    if parameter.param_type_name == "option":
        name = f"{parameter.opts[0]} {name}"
    about = re.split(r"[:.](?: |$)", parameter.help or "", maxsplit=1)[0]
    meaning = f" ({about[:1].lower()}{about[1:]})" if about else ""
    return f"`{context.command_path}` needs {name}{meaning}"


def _example(context: Any, parameter: Any) -> list[str]:
    """Return the first example of the command, and where a file to try comes from."""
    lines = (line.strip() for line in (context.command.epilog or "").splitlines())
    shown = [line for line in lines if line.startswith(f"{context.command_path} ")][:1]
    advice = [f"Example: {line}" for line in shown]
    if parameter.metavar == "HISTORY":
        advice.append("No file yet? `equipoise demo --keep sample` writes sample/contests.csv.")
    return advice


def _see(context: Any) -> str:
    """Return where to read more: the help of the command, or of all."""
    if context is None or context.parent is None:
        return "See `equipoise --help`."
    return f"See `{context.command_path} --help`."
