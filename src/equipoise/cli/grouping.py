"""Groups of commands: what their help lists, and what they say of a word that is no command."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup

from equipoise.cli.renamed import GONE_COMMANDS

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
