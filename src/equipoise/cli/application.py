"""The application `equipoise`: its commands, of which the one that runs is loaded, and its end."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated, NamedTuple

import typer

from equipoise.cli.helping import (
    SHORT_HELP,
    CommandGroup,
    explain_usage,
    with_new_command,
)
from equipoise.cli.options import add_command
from equipoise.cli.report import (
    print_lines,
    report_error,
    report_foreign_error,
    say,
)
from equipoise.errors import EquipoiseError, exit_status
from equipoise.wording import options_named

#: Exit status after Ctrl-C.
_STOPPED = 130


class _Place(NamedTuple):
    """The place of a command, so that only the command that runs is loaded.

    module : below `equipoise`; function : its name there, or that of a group of commands
    """

    module: str
    function: str


#: Heading of the help -> its commands in order.
_COMMANDS = {
    "First steps": {
        "demo": _Place("analysis.simulate.command", "demo"),
        "systems": _Place("analysis.doctor.command", "systems"),
        "doctor": _Place("analysis.doctor.command", "doctor"),
    },
    "From files to answers": {
        "inspect": _Place("analysis.inspect.command", "inspect"),
        "convert": _Place("analysis.inspect.command", "convert"),
        "rate": _Place("analysis.rate.command", "rate"),
        "explain": _Place("analysis.explain.command", "explain"),
        "compare": _Place("analysis.rate.command", "compare"),
        "predict": _Place("analysis.predict.command", "predict"),
        "plot": _Place("analysis.plot.command", "plot"),
        "performance": _Place("analysis.performance.command", "performance"),
        "strengths": _Place("analysis.performance.command", "strengths"),
        "balance": _Place("analysis.balance.command", "balance"),
        "rebalance": _Place("analysis.balance.command", "rebalance"),
        "matchmaking": _Place("analysis.matchmaking.command", "application"),
        "simulate": _Place("analysis.simulate.command", "simulate"),
    },
    "Studies of a whole history": {
        "backtest": _Place("analysis.backtest.command", "backtest"),
        "leaderboard": _Place("analysis.leaderboard.command", "leaderboard"),
        "tune": _Place("analysis.tune.command", "tune"),
        "audit": _Place("analysis.audit.command", "application"),
    },
    "The service and its database": {
        "serve": _Place("cli.service.serve", "serve"),
        "db": _Place("cli.service.db", "application"),
    },
}
_PLACES = {name: place for section in _COMMANDS.values() for name, place in section.items()}


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
        "COMMAND --help` all of them.",
        no_args_is_help=True,
        # The options that install completion are for the command line as a whole.
        add_completion=command not in _PLACES,
        # Plain help needs no Rich, which takes longer to load than everything else here.
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )
    application.callback()(_root)
    chosen = {command} & _PLACES.keys()
    for name, place in _PLACES.items():
        if chosen and name not in chosen:
            continue
        module = importlib.import_module(f"equipoise.{place.module}")
        function = getattr(module, place.function)
        if isinstance(function, typer.Typer):
            application.add_typer(function, name=name)
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


def _leave_pipe() -> None:
    """Write nothing more: the program that reads the output has ended (head, less)."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
