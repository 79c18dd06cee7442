"""Help of commands and of groups, and words on a command line that cannot be understood.

Options stand under headings, and `-h` is short. Names of earlier versions lead to those of today.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from equipoise.analysis.inspect import NO_LONGER
from equipoise.analysis.requests import PROJECT_FILE, reading_options, settings_alone
from equipoise.cli.report import print_lines, say
from equipoise.wording import NO_STANDBY, SEVERAL_SERVICES, printable

#: Options of a command that are under no other heading.
_OWN = "Options"
#: Heading -> names of options below it.
HEADINGS = {
    "Rating": "system set parameters conservative",
    "Reading": "column format sheet where from until time-format skip-bad stat "
    "lower-score-is-better unplaced walkovers synonyms strict",
    "Known ratings and saved states": "state save restart initial initial-mapping",
    "Search": "metric first grid trials range entry study study-name under-way",
    "Scoring": "min-history ties-as-authors least-difference resamples calibrate scores",
    "Model": "anchor select scale curve draws colour-advantage prior ties",
    "Tie-breaks": "tie-breaks order unplayed pairing tie-break-rules",
    "Speed": "threads workers cluster memory-limit",
    "Output": "output predictions trace diff chart title size report details skills trials-output "
    "no-band no-performances no-escape-formulas json",
}
#: The same for options that mean something else in one command.
_ELSEWHERE = {
    "backtest --from": "Scoring",
    "performance --details": "Tie-breaks",
    "performance --strict": "Options",
    "rate --at": "Rating",
    "rate --by": "Many pools",
    "rate --workers": "Many pools",
    "rate --cluster": "Many pools",
}
_HEADING_OF = {f"--{name}": title for title, names in HEADINGS.items() for name in names.split()}
#: Options that most people need: the help of `-h` in commands with many options.
OFTEN = (
    "all anchor as attribute avoid by chart column compare contests create database details "
    "distribution dry-run each errors field first from grid json kind late match matches method "
    "metric newcomer objective order output overwrite party places player players pool "
    "posterior range ratings report save set size skip-bad state superiority synonyms system team "
    "teams ties tie-breaks time-format top trials what-if where"
)
#: What the help says below the options of reading.
_IN_FILE = (
    "These are also keys below [reading] in this file, found in the working directory or a folder "
    "above it. Other keys: "
)
#: The most options of a command that `-h` shows all.
_FEW = 10
_DEFAULT = re.compile(r"\[default: [^]]*\]")


class Command(TyperCommand):
    """A command whose options stand under headings, and also have their earlier names."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the words after the name of the command."""
        known = {name for parameter in self.params for name in parameter.opts}
        return super().parse_args(ctx, with_new_options(args, known))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write all arguments and options."""
        self._write(formatter, ctx, self.params, short=False)

    def print_short_help(self, ctx: Any) -> None:
        """Print what the command does, and the options that most people need."""
        parameters: list[Any] = self.params
        options = [
            parameter
            for parameter in parameters
            if parameter.param_type_name == "option" and not parameter.hidden
        ]
        if len(options) <= _FEW:
            print_lines(*self.get_help(ctx).split("\n"))
            return
        often = {f"--{name}" for name in OFTEN.split()}
        few = [
            parameter for parameter in options if parameter.required or often & {*parameter.opts}
        ]
        formatter = ctx.make_formatter()
        self.format_usage(ctx, formatter)
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text((self.help or "").partition("\n\n")[0])
        arguments = [
            parameter for parameter in parameters if parameter.param_type_name == "argument"
        ]
        self._write(formatter, ctx, [*arguments, *few], short=True)
        self.format_epilog(ctx, formatter)
        print_lines(
            *formatter.getvalue().rstrip("\n").split("\n"),
            "",
            f"{len(few)} of {len(options)} options. `{ctx.command_path} --help` shows all.",
        )

    def _write(self, formatter: Any, ctx: Any, parameters: Iterable[Any], *, short: bool) -> None:
        """Write parameters with their help under headings; only its beginning if short."""
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], _OWN: []}
        for parameter in parameters:
            record = parameter.get_help_record(ctx)
            if record is None:
                continue
            name, text = record
            # Typer adds the type of an argument to its name.
            if parameter.param_type_name == "argument":
                name, title = name.partition(" <")[0], "Arguments"
            else:
                option = max(parameter.opts, key=len)
                own = _ELSEWHERE.get(f"{ctx.info_name} {option}")
                title = _OWN if short else own or _HEADING_OF.get(option, _OWN)
            sections.setdefault(title, []).append((name, _first_sentence(text) if short else text))
        if (
            not short
            and "Reading" in sections
            and any("--where" in parameter.opts for parameter in self.params)
        ):
            keys = ", ".join(settings_alone(ctx.info_name))
            sections["Reading"].append((PROJECT_FILE, f"{_IN_FILE}{keys}."))
        sections[_OWN].append(("-h, --help", "Show the most used options, or all of them."))
        for title, rows in sections.items():
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


def print_short_help(context: typer.Context, wanted: bool) -> None:
    """Print the short help if `-h` is given, and end the command."""
    if wanted and not context.resilient_parsing:
        command: Any = context.command
        command.print_short_help(context)
        raise typer.Exit


def _first_sentence(text: str) -> str:
    """Return the first sentence of the help of an option, and its default."""
    first, stop, _ = text.removesuffix("  [required]").partition(". ")
    default = _DEFAULT.search(text) if stop else None
    repeated = stop and "epeatable" in text and "epeatable" not in first
    more = (" Repeatable." if repeated else "") + (f" {default[0]}" if default else "")
    return f"{first}{stop.strip()}{more}"


#: For groups -h is --help. For a single command it is the short help of `cli.helping`.
SHORT_HELP = {"help_option_names": ["-h", "--help"]}

#: Words that people type as commands -> what they look for.
_INSTEAD = {"help": "--help", "version": "--version"}

#: Longest sentence of a command in the list of commands.
_SENTENCE = 200


class CommandGroup(TyperGroup):
    """A group whose help has each command's whole first sentence."""

    def sections(self) -> dict[str, list[str]]:
        """Return the names of the commands under each heading."""
        return {"Commands": list(self.commands)}

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands under their headings."""
        for title, names in self.sections().items():
            rows = [
                (name, self.commands[name].get_short_help_str(_SENTENCE))
                for name in names
                if name in self.commands
            ]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands in the order of the help."""
        return [
            name for names in self.sections().values() for name in names if name in self.commands
        ]

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that is meant; others get a fitting answer."""
        word = args[0]
        if word not in self.commands and not ctx.resilient_parsing:
            if word in _INSTEAD:
                ctx.fail(
                    f"No such command {word!r}. Did you mean `{ctx.command_path} {_INSTEAD[word]}`?"
                )
            if ctx.parent is None and word in GONE_COMMANDS:
                ctx.fail(f"No such command {word!r}. {GONE_COMMANDS[word]}")
            if ctx.parent is None and _looks_like_a_file(word):
                ctx.fail(
                    f"{word!r} is a file, not a command. Did you mean "
                    f"`equipoise rate {shlex.quote(word)}`?"
                )
            near = get_close_matches(word, [*self.commands, *NEW_COMMANDS], 1)
            if ctx.parent is None and near and near[0] in NEW_COMMANDS:
                ctx.fail(
                    f"No such command {word!r}. Did you mean `equipoise {NEW_COMMANDS[near[0]]}`?"
                )
        return super().resolve_command(ctx, args)


def create_group(help_text: str) -> typer.Typer:
    """Return a group of commands."""
    return typer.Typer(
        cls=CommandGroup, help=help_text, no_args_is_help=True, rich_markup_mode=None
    )


def _looks_like_a_file(word: str) -> bool:
    """Return whether a word is the name of a file that exists."""
    try:
        return Path(word).is_file()
    except (OSError, ValueError):
        return False


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
_BEFORE = (
    "Ratings before the tournament are columns of the games: white_rating and black_rating. "
    "--anchor PLAYER=R fixes one."
)
_AUDIT_CHART = "Audits draw no charts; the file of --output has all columns for one of your own."
_CERTIFICATES = "The certificates for --cluster are those of Dask's configuration"
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
        "Python, backtest() has min_total.",
    ),
    ("balance", "alternatives", "The five next best splits are shown."),
    ("rebalance", "time-limit", "--nodes N limits the search, the same on every machine."),
    ("strengths", "scale", "400 points mean odds of ten to one."),
    (
        "rate, backtest, explain, plot, leaderboard, audit drift, audit incentives",
        "threads",
        "All cores are used, which does not change results.",
    ),
    (
        "compare, leaderboard, strengths",
        "raw no-escape-formulas",
        "A file of --output that is no .csv or .tsv has text as it is.",
    ),
    ("demo", "json", "Each command that the tour shows has --json."),
    ("serve", "workers", f"The service is one process: {SEVERAL_SERVICES}."),
    ("serve", "replica replica-lag", _STANDBY),
    ("", "cluster-ca", f"{_CERTIFICATES}: set DASK_DISTRIBUTED__COMM__TLS__CA_FILE."),
    ("", "cluster-cert", f"{_CERTIFICATES}: set DASK_DISTRIBUTED__COMM__TLS__CLIENT__CERT."),
    ("", "cluster-key", f"{_CERTIFICATES}: set DASK_DISTRIBUTED__COMM__TLS__CLIENT__KEY."),
    ("", "insecure-cluster", "Set DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION=False instead."),
    ("", "again", "Every pool is rated each time."),
)


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
    words_now: list[str] = []
    for number, word in enumerate(words):
        if word == "--":
            return [*words_now, *words[number:]]
        old, equals, value = word.partition("=")
        if old in renamed:
            say(f"{old} is now called {renamed[old]}.")
            words_now.append(f"{renamed[old]}{equals}{value}")
        else:
            words_now.append(word)
    return words_now


def why_gone(command: str, option: str) -> str | None:
    """Return where to look instead of an option that is gone; None if there was none."""
    name = command.partition(" ")[2]
    for commands, options, reason in _GONE:
        if option[2:] in options.split() and (not commands or name in commands.split(", ")):
            return reason
    if name == "simulate" and option[2:] in _POPULATION.split():
        return (
            f"It is the key `{option[2:].replace('-', '_')}` of the file of a population, as in "
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
        f"It is an option of {', '.join(words)}; for other commands set "
        f"`{option[2:].replace('-', '_')}` below [reading] in the file equipoise.toml."
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
