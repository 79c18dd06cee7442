"""The application `equipoise`: its commands and groups, of which the one that runs is loaded."""

from __future__ import annotations

import importlib
import os
import shlex
import sys
from collections.abc import Sequence
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from equipoise.cli.options import add_command
from equipoise.cli.report import print_lines, report_error, report_foreign_error, say
from equipoise.cli.suggestions import GONE_COMMANDS, NEW_COMMANDS, explain_usage
from equipoise.errors import EquipoiseError, exit_status
from equipoise.wording import options_named

#: Exit status after Ctrl-C.
_STOPPED = 130


#: Heading of the help -> its commands in order, with their modules below `equipoise`. A command is
#: the function of its name there, or the group `application`.
_COMMANDS = {
    "First steps": {
        "demo": "analysis.simulate.command",
        "systems": "analysis.doctor.command",
        "doctor": "analysis.doctor.command",
    },
    "Ratings, predictions and teams": {
        "inspect": "analysis.inspect.command",
        "convert": "analysis.inspect.command",
        "rate": "analysis.rate.command",
        "explain": "analysis.explain.command",
        "compare": "analysis.rate.command",
        "predict": "analysis.predict.command",
        "plot": "analysis.plot.command",
        "performance": "analysis.performance.command",
        "strengths": "analysis.performance.command",
        "balance": "analysis.balance.command",
        "rebalance": "analysis.balance.command",
        "matchmaking": "analysis.matchmaking.command",
        "simulate": "analysis.simulate.command",
    },
    "Evaluation of systems": {
        "backtest": "analysis.backtest.command",
        "leaderboard": "analysis.leaderboard.command",
        "tune": "analysis.tune.command",
        "audit": "analysis.audit.command",
    },
    "The service and its database": {
        "serve": "cli.service",
        "db": "cli.service.db",
    },
}
_MODULES = {name: module for section in _COMMANDS.values() for name, module in section.items()}


#: For groups -h is --help. For a single command it is the short help of `Command`.
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


class _Commands(CommandGroup):
    """All commands, under headings that say what they are for."""

    def sections(self) -> dict[str, list[str]]:
        """Return the names of the commands under each heading."""
        return {title: list(section) for title, section in _COMMANDS.items()}


def create_application(command: str | None = None) -> typer.Typer:
    """Return the application.

    command : the only one that it has. If there is no such command, it has all, for help and for
        messages that list them. Building all takes longer than running one.
    """
    application = typer.Typer(
        name="equipoise",
        cls=_Commands,
        context_settings=SHORT_HELP,
        help="Ratings, tournament performance and fair teams.",
        epilog="`equipoise COMMAND -h` shows the most used options of a command, `equipoise "
        "COMMAND --help` shows all.",
        no_args_is_help=True,
        # The options that install completion are for the command line as a whole.
        add_completion=command not in _MODULES,
        # Plain help needs no Rich, which takes longer to load than everything else here.
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )
    application.callback()(_root)
    for name in [command] if command in _MODULES else _MODULES:
        module = importlib.import_module(f"equipoise.{_MODULES[name]}")
        function = getattr(module, name, None)
        if function is None:
            application.add_typer(module.application, name=name)
        else:
            add_command(application, name, function)
    return application


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print_lines(f"equipoise {version('equipoise')}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Ratings, tournament performance and fair teams."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with status 0 (done), 1 (failed) or 2 (wrong usage)."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    status = run(words)
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _leave_pipe()
    sys.exit(status)


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit status; errors are printed to standard error."""
    arguments = with_new_command(arguments)
    as_json = "--json" in arguments
    try:
        with options_named():
            status = create_application(arguments[0] if arguments else None)(
                # The parser would take the next word for the value of `--skip-bad`.
                args=["--skip-bad=matches" if word == "--skip-bad" else word for word in arguments],
                prog_name="equipoise",
                standalone_mode=False,
                obj=run,  # for `demo`, which runs other commands
            )
    except EquipoiseError as error:
        report_error(error, as_json)
        return exit_status(error)
    except (typer.Abort, KeyboardInterrupt):
        status = _STOPPED
    except typer.TyperException as error:
        # The message is the help, as after a group of commands without a command.
        if type(error).__name__ == "NoArgsIsHelpError" and not as_json:
            say(*error.format_message().split("\n"))
        else:
            message, advice = explain_usage(error)
            report_foreign_error("wrong-usage", message, as_json, *advice)
        return error.exit_code
    except BrokenPipeError:
        _leave_pipe()
        return 0
    except OSError as error:
        # For instance a full disk. This is no error in the package, so there is no traceback.
        place = "" if error.filename is None else f"{error.filename}: "
        report_foreign_error("system", f"{place}{error.strerror or error}", as_json)
        return 1
    if status == _STOPPED:
        # Typer makes a status of Ctrl-C.
        say("stopped")
    return status if isinstance(status, int) else 0


def with_new_command(words: Sequence[str]) -> list[str]:
    """Return a command line with the command's new name."""
    if not words or words[0] not in NEW_COMMANDS:
        return list(words)
    name = NEW_COMMANDS[words[0]]
    say(f"`equipoise {words[0]}` is now called `equipoise {name}`.")
    return [*name.split(), *words[1:]]


def _leave_pipe() -> None:
    """Write nothing more: the program that reads the output has ended (head, less)."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
