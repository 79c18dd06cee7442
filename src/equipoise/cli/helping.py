"""Help of commands: headings over their options, and the short help of `-h`.

An option means the same in every command, so its heading and whether `-h` shows it are declared
here once, by its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import typer
from typer.core import TyperCommand

from equipoise.cli.project_file import NAME, settings_alone
from equipoise.cli.renamed import with_new_options
from equipoise.cli.report import print_lines

#: Options of a command that are under no other heading.
_OWN = "Options"
#: Heading -> names of options below it.
HEADINGS = {
    "Rating": "system set parameters conservative",
    "Reading": "column format sheet where from until time-format skip-bad stat "
    "lower-score-is-better unplaced synonyms strict",
    "Known ratings and saved states": "state save restart initial initial-mapping",
    "Search": "metric first grid trials range entry study study-name under-way",
    "Scoring": "min-history min-total ties-as-authors least-difference resamples",
    "Model": "anchor select scale curve draws colour-advantage prior ties",
    "Tie-breaks": "tie-breaks order unplayed pairing tie-break-rules",
    "Speed": "threads workers cluster memory-limit",
    "Output": "output trace diff chart title size report details skills trials-output no-band "
    "no-performances no-escape-formulas json",
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
