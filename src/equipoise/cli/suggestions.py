"""What users may have meant: values for the completion of shells, old names, and wrong words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, get_args

import typer

from equipoise.analysis.inspect import NO_LONGER
from equipoise.analysis.requests import reading_options, settings_alone
from equipoise.wording import NO_STANDBY, SEVERAL_SERVICES, printable

#: Old name of a command -> the words for it today.
NEW_COMMANDS = {"compile": "doctor --compile"} | {
    name: f"db {name}"
    for name in ("keys", "import", "export", "verify", "check", "backup", "restore", "erase")
}
#: Commands that are gone -> where to look instead.
GONE_COMMANDS = {
    "reproduce": "The comparison with the papers is in the repository: `make papers`, or `python "
    "-m papers.reproduce`.",
    "data": "The guide docs/guides/public-histories.md lists public histories and the commands "
    "that read them.",
    "completion": "Run `equipoise --install-completion` in your shell, or `equipoise "
    "--show-completion` to see the script.",
}
#: What `equipoise simulate` takes from the file of a population.
_POPULATION = (
    "newcomers newcomer-gap activity-deviation matchmade mean-skill skill-deviation "
    "performance-deviation drift-deviation score-step draw-margin leavers mean-kills mean-deaths "
    "mean-damage statistics-scale first-time interval"
)
_STUDY = "The study of new accounts is in the repository: `benchmarks/new_accounts.py`."
_STANDBY = f"{NO_STANDBY[:1].upper()}{NO_STANDBY[1:]}."
_BEFORE = (
    "Put ratings before the tournament in the columns white_rating and black_rating of the "
    "games, or fix one with --anchor PLAYER=R."
)
_AUDIT_CHART = "Audits draw no charts. --output FILE writes all columns for your own chart."
_CERTIFICATES = "Dask's configuration sets the certificates for --cluster"
#: Options that are gone: commands that had them (none named: all), names, and what to do instead.
_GONE = (
    ("performance", "ratings initial", _BEFORE),
    ("audit incentives", "accounts accounts-in", _STUDY),
    ("audit incentives", "details", "--output FILE writes all matches."),
    (
        "audit incentives",
        "others replays",
        "The other players keep their ratings; `papers/elo_mmr/theorems.py` in the repository "
        "rates everything again.",
    ),
    ("audit drift, audit incentives", "chart title no-band", _AUDIT_CHART),
    (
        "backtest",
        "min-total",
        "It selected players by later matches. --min-history N uses earlier matches alone; in "
        "Python, use the parameter min_total of backtest().",
    ),
    (
        "compare, performance, plot, tune, leaderboard",
        "title",
        "The chart has a fixed title. In Python, plot() of a result takes a title.",
    ),
    (
        "backtest, tune",
        "resamples",
        "Intervals use 1,000 resamples. In Python, backtest() takes another number.",
    ),
    ("tune", "under-way", "8 sampled trials run at a time, or as many as the study has."),
    (
        "leaderboard",
        "errors rounds",
        "The method for error bars depends on the system; resampling uses 100 histories.",
    ),
    ("balance", "alternatives", "The five next best splits are shown."),
    ("rebalance", "time-limit", "--nodes N limits the search, the same on every machine."),
    ("strengths", "scale", "400 points mean odds of ten to one."),
    (
        "rate, backtest, explain, plot, leaderboard, tune, audit drift, audit incentives",
        "threads",
        "All cores are used, which does not change results.",
    ),
    (
        "compare, leaderboard, strengths",
        "raw no-escape-formulas",
        "For unchanged text, write a format other than .csv and .tsv with --output.",
    ),
    ("demo", "json", "Use --json with the commands that the tour shows."),
    ("serve", "workers", f"The service is one process: {SEVERAL_SERVICES}."),
    ("serve", "replica replica-lag", _STANDBY),
    ("", "cluster-ca", f"{_CERTIFICATES}: set DASK_DISTRIBUTED__COMM__TLS__CA_FILE."),
    ("", "cluster-cert", f"{_CERTIFICATES}: set DASK_DISTRIBUTED__COMM__TLS__CLIENT__CERT."),
    ("", "cluster-key", f"{_CERTIFICATES}: set DASK_DISTRIBUTED__COMM__TLS__CLIENT__KEY."),
    ("", "insecure-cluster", "Set DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION=False instead."),
    ("", "again", "Every pool is rated each time."),
)


def why_gone(command: str, option: str) -> str | None:
    """Return where to look instead of an option that is gone; None if there was none."""
    name = command.partition(" ")[2]
    for commands, options, reason in _GONE:
        if option[2:] in options.split() and (not commands or name in commands.split(", ")):
            return reason
    if name == "simulate" and option[2:] in _POPULATION.split():
        return (
            f"Set the key `{option[2:].replace('-', '_')}` in a population file, such as "
            "examples/population.toml."
        )
    return _setting(name, option) if name in _READING else None


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
    if known[0].is_of(command.rpartition(" ")[2]):
        return None
    words = (
        f"`equipoise {'db ' if command == 'import' else ''}{command}`"
        for command in known[0].commands
    )
    return (
        f"It is an option of {', '.join(words)}; for other commands, set "
        f"`{option[2:].replace('-', '_')}` below [reading] in equipoise.toml."
    )


#: How like an option a word must be to be taken for a slip, from 0 to 1.
_LIKE = 0.7
#: Texts in quotes.
_TEXTS = re.compile(r"'([^']*)'")


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
        message, advice = _of_missing(getattr(error, "param", None), context)
    page = "equipoise" if context is None else context.command_path
    return message, [*advice, f"See `{page} --help`."]


def _of_option(error: typer.TyperException, option: str, context: Any) -> str:
    """Return the message on an option, with the one that is probably meant."""
    if type(error).__name__ != "NoSuchOption":
        return error.format_message()
    close: Sequence[str] = ()
    if context is not None:
        gone = why_gone(context.command_path, option)
        if gone is not None:
            return f"No such option: {option}. {gone}"
        known = [
            name for parameter in context.command.get_params(context) for name in parameter.opts
        ]
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
    errors_of = getattr(error.__cause__, "errors", None)
    parameter: Any = getattr(error, "param", None)
    if errors_of is None or parameter is None:
        return None
    problem = errors_of()[0]
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


def _of_missing(parameter: Any, context: Any) -> tuple[str, list[str]]:
    """Return the message on a required argument or option, and an example with a file to try."""
    name = parameter.metavar or parameter.name.upper()
    if parameter.param_type_name == "option":
        name = f"{parameter.opts[0]} {name}"
    about = re.split(r"[:.](?: |$)", parameter.help or "", maxsplit=1)[0]
    meaning = f" ({about[:1].lower()}{about[1:]})" if about else ""
    lines = (line.strip() for line in (context.command.epilog or "").splitlines())
    shown = [line for line in lines if line.startswith(f"{context.command_path} ")][:1]
    advice = [f"Example: {line}" for line in shown]
    if parameter.metavar == "HISTORY":
        advice.append("No file yet? `equipoise demo --keep sample` writes sample/contests.csv.")
    return f"`{context.command_path}` needs {name}{meaning}", advice


# Values of options for the completion of shells, which ask `equipoise` with the words typed so
# far. The answers may take longer than a command's help.


def complete_systems(incomplete: str) -> list[tuple[str, str]]:
    """Return the systems that begin so, each with its purpose; a label may stand before."""
    from equipoise.analysis.systems import list_systems

    label, equals, _ = incomplete.rpartition("=")
    return [(f"{label}{equals}{system.name}", system.summary) for system in list_systems()]


def complete_parameters(context: typer.Context) -> list[tuple[str, str]]:
    """Return NAME= for the parameters of the system that the words before name."""
    system = context.params.get("system")
    return _parameters_of(system or _default_system())


def complete_labelled_parameters(context: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Return NAME= for a single system, LABEL.NAME= for the parameters of several."""
    named = [text.partition("=") for text in context.params.get("system") or ()]
    labels = {label: name or label for label, _, name in named}
    if len(labels) < 2 and "." not in incomplete:
        return _parameters_of(next(iter(labels.values()), _default_system()))
    return [
        (f"{label}.{name}", about)
        for label, system in labels.items()
        for name, about in _parameters_of(system)
    ]


def _parameters_of(system: str) -> list[tuple[str, str]]:
    from equipoise.analysis.systems import described
    from equipoise.errors import EquipoiseError

    try:
        parameters = described(system).parameters
    except EquipoiseError:
        return []
    return [
        (f"{parameter.name}=", f"{parameter.type}, default {parameter.default}")
        for parameter in parameters
    ]


def _default_system() -> str:
    from equipoise.analysis.systems import DEFAULT_SYSTEM

    return DEFAULT_SYSTEM


def complete_formats() -> list[str]:
    """Return the formats of histories."""
    from equipoise.formats.table import Format

    return list(get_args(Format))


def complete_time_formats() -> list[str]:
    """Return the formats of times that have a name."""
    from equipoise.formats.times import NAMED_FORMATS

    return list(NAMED_FORMATS)
