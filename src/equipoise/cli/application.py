"""The application `equipoise` with all of its commands, or with the one that runs."""

from __future__ import annotations

import importlib
from typing import Annotated, NamedTuple

import typer

from equipoise.cli.declaring import add_command
from equipoise.cli.grouping import SHORT_HELP, CommandGroup


class _Place(NamedTuple):
    """The place of a command, so that only the command that runs is loaded.

    module : below `equipoise.cli`; function : its name there
    example : name of the text that ends the help; empty for a group of commands
    """

    module: str
    function: str
    example: str = "EXAMPLE"


#: In the order of the help. The folder of the module is the group, see `_TITLES`.
_COMMANDS = {
    "demo": _Place("demo", "demo"),
    "systems": _Place("systems", "systems"),
    "doctor": _Place("doctor", "doctor"),
    "inspect": _Place("files.inspect", "inspect"),
    "convert": _Place("files.convert", "convert"),
    "rate": _Place("files.rate", "rate"),
    "explain": _Place("files.explain", "explain"),
    "compare": _Place("files.compare", "compare"),
    "predict": _Place("files.predict", "predict"),
    "plot": _Place("files.plot", "plot"),
    "performance": _Place("files.performance", "performance"),
    "strengths": _Place("files.strengths", "strengths"),
    "balance": _Place("files.balance", "balance"),
    "rebalance": _Place("files.rebalance", "rebalance"),
    "simulate": _Place("files.simulate", "simulate"),
    "backtest": _Place("studies.backtest", "backtest"),
    "leaderboard": _Place("studies.leaderboard", "leaderboard"),
    "tune": _Place("studies.tune", "tune"),
    "audit": _Place("studies.audit", "application", ""),
    "serve": _Place("service.serve", "serve"),
    "db": _Place("service.db", "application", ""),
}
#: Folder below `equipoise.cli` -> heading of its commands.
_TITLES = {
    "": "First steps",
    "files": "From files to answers",
    "studies": "Studies of a whole history",
    "service": "The service and its database",
}


class _Commands(CommandGroup):
    """All commands, under headings that say what they are for."""

    def sections(self) -> dict[str, list[str]]:
        """Return the names of the commands under each heading."""
        found: dict[str, list[str]] = {title: [] for title in _TITLES.values()}
        for name, place in _COMMANDS.items():
            folder, dot, _ = place.module.partition(".")
            found[_TITLES[folder if dot else ""]].append(name)
        return found


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
        add_completion=command not in _COMMANDS,
        # Plain help needs no Rich, which takes longer to load than everything else here.
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )
    application.callback()(_root)
    chosen = {command} & _COMMANDS.keys()
    for name, place in _COMMANDS.items():
        if chosen and name not in chosen:
            continue
        module = importlib.import_module(f"equipoise.cli.{place.module}")
        function = getattr(module, place.function)
        if place.example:
            example = getattr(module, place.example)
            add_command(application, name, function, example)
        else:
            application.add_typer(function, name=name)
    return application


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        from equipoise.cli.report import print_lines

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
