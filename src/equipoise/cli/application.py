"""The application `equipoise` with all of its commands, or with the one that runs."""

from __future__ import annotations

import importlib
from typing import Annotated, NamedTuple

import typer

from equipoise.cli.declaring import add_command


class _Place(NamedTuple):
    """The place of a command, so that only the command that runs is loaded.

    module : below `equipoise.cli`; function : its name there
    example : name of the text that ends the help; empty for a group of commands
    """

    module: str
    function: str
    example: str = "EXAMPLE"


_COMMANDS = {
    "audit": _Place("studies.audit", "application", ""),
    "backtest": _Place("studies.backtest", "backtest"),
    "backup": _Place("service.backups", "backup", "BACKUP_EXAMPLE"),
    "balance": _Place("files.balance", "balance"),
    "check": _Place("service.backups", "check", "CHECK_EXAMPLE"),
    "compile": _Place("compile", "compile_"),
    "convert": _Place("files.convert", "convert"),
    "demo": _Place("demo", "demo"),
    "doctor": _Place("doctor", "doctor"),
    "erase": _Place("service.erase", "erase"),
    "explain": _Place("files.explain", "explain"),
    "export": _Place("service.exchange", "export"),
    "import": _Place("service.exchange", "import_", "IMPORT_EXAMPLE"),
    "inspect": _Place("files.inspect", "inspect"),
    "keys": _Place("service.keys", "application", ""),
    "performance": _Place("files.performance", "performance"),
    "plot": _Place("files.plot", "plot"),
    "predict": _Place("files.predict", "predict"),
    "rate": _Place("files.rate", "rate"),
    "rebalance": _Place("files.rebalance", "rebalance"),
    "restore": _Place("service.backups", "restore", "RESTORE_EXAMPLE"),
    "serve": _Place("service.serve", "serve"),
    "simulate": _Place("files.simulate", "simulate"),
    "strengths": _Place("files.strengths", "strengths"),
    "systems": _Place("systems", "systems"),
    "tune": _Place("studies.tune", "tune"),
    "verify": _Place("service.verify", "verify"),
}


def create_application(command: str | None = None) -> typer.Typer:
    """Return the application.

    command : the only one that it has. If there is no such command, it has all, for help and for
        messages that list them. Building all takes longer than running one.
    """
    application = typer.Typer(
        name="equipoise",
        help="Ratings, tournament performance and fair teams.",
        no_args_is_help=True,
        add_completion=False,
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
            add_command(application, name, function, getattr(module, place.example))
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
