"""equipoise demo: a guided tour."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from equipoise.cli import options

if TYPE_CHECKING:
    from equipoise.workflows.demo import Step

EXAMPLE = """\b
Example:
  equipoise demo"""


def demo(
    keep: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER", help="A new or empty folder for the files of the tour, to go on from."
        ),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Show what Equipoise does, on a sample that comes with it.

    Each step shows a command, runs it and prints what comes. It takes some seconds; the first
    run on a machine also compiles, up to a minute, once.
    """
    from equipoise.cli import run
    from equipoise.cli.report import print_json
    from equipoise.workflows.demo import STEPS, tour

    if as_json:
        print_json(tour(run, keep=keep))
        return
    _write(
        f"A tour of Equipoise in {len(STEPS)} steps, some seconds in all. If this is the first run "
        "on this machine, the numerical kernels are compiled on the way, once: up to a minute more."
    )
    done = tour(run, keep=keep, announce=_announce, show=_show)
    _write("")
    _write(f"That took {done.seconds:.1f} s. `equipoise COMMAND --help` says more of each command.")
    if keep is None:
        _write("`equipoise demo --keep FOLDER` leaves the files of the tour there, to go on from.")
    else:
        _write(f"The files of the tour are in {keep}.")


def _announce(number: int, step: Step) -> None:
    """Print what a step is about and its command."""
    _write("")
    _write(f"{number}. {step.words}", "bold")
    _write("")
    _write(f"   $ {step.command}", "cyan")
    _write("")


def _show(text: str) -> None:
    """Print what a step printed."""
    sys.stdout.write(text)


def _write(text: str, style: str = "") -> None:
    """Print words, wrapped, in a style where a terminal has it."""
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.text import Text

        Console(highlight=False, markup=False).print(Text(text, style))
        return
    import textwrap

    sys.stdout.write(textwrap.fill(text, 100) + "\n")
    sys.stdout.flush()
