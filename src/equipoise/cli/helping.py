"""Help of commands and of groups: headings over their options, the short help of `-h`."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from equipoise.cli.project_file import NAME, settings_alone
from equipoise.cli.report import print_lines
from equipoise.cli.usage import GONE_COMMANDS, NEW_COMMANDS, with_new_options

#: Options of a command that are under no other heading.
_OWN = "Options"
#: Heading -> names of options below it.
HEADINGS = {
    "Rating": "system set parameters conservative",
    "Reading": "column format sheet where from until time-format skip-bad stat "
    "lower-score-is-better unplaced walkovers synonyms strict",
    "Known ratings and saved states": "state save restart initial initial-mapping",
    "Search": "metric first grid trials range entry study study-name under-way",
    "Scoring": "min-history min-total ties-as-authors least-difference resamples calibrate",
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
    "posterior range ratings report save set size skip-bad state superiority system team teams "
    "ties tie-breaks top trials what-if where"
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
        options = [one for one in parameters if one.param_type_name == "option" and not one.hidden]
        if len(options) <= _FEW:
            print_lines(*self.get_help(ctx).split("\n"))
            return
        often = {f"--{name}" for name in OFTEN.split()}
        few = [one for one in options if one.required or often & {*one.opts}]
        formatter = ctx.make_formatter()
        self.format_usage(ctx, formatter)
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text((self.help or "").partition("\n\n")[0])
        arguments = [one for one in parameters if one.param_type_name == "argument"]
        self._write(formatter, ctx, [*arguments, *few], short=True)
        self.format_epilog(ctx, formatter)
        print_lines(
            *formatter.getvalue().rstrip("\n").split("\n"),
            "",
            f"{len(few)} of {len(options)} options. `{ctx.command_path} --help` shows all.",
        )

    def _write(self, formatter: Any, ctx: Any, parameters: Iterable[Any], *, short: bool) -> None:
        """Write parameters with their help under headings; only its beginning if short."""
        found: dict[str, list[tuple[str, str]]] = {"Arguments": [], _OWN: []}
        for one in parameters:
            record = one.get_help_record(ctx)
            if record is None:
                continue
            name, text = record
            # Typer adds the type of an argument to its name.
            if one.param_type_name == "argument":
                name, title = name.partition(" <")[0], "Arguments"
            else:
                title = _OWN if short else _heading(ctx, one)
            found.setdefault(title, []).append((name, _first_sentence(text) if short else text))
        if not short and "Reading" in found and any("--where" in one.opts for one in self.params):
            keys = ", ".join(settings_alone(ctx.info_name))
            found["Reading"].append((NAME, f"{_IN_FILE}{keys}."))
        found[_OWN].append(("-h, --help", "Show the most used options, or all of them."))
        for title, rows in found.items():
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


def print_short_help(context: typer.Context, wanted: bool) -> None:
    """Print the short help if `-h` is given, and end the command."""
    if wanted and not context.resilient_parsing:
        command: Any = context.command
        command.print_short_help(context)
        raise typer.Exit


def _heading(context: Any, option: Any) -> str:
    """Return the heading of an option."""
    name = max(option.opts, key=len)
    own = _ELSEWHERE.get(f"{context.info_name} {name}")
    return own or _HEADING_OF.get(name, _OWN)


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
