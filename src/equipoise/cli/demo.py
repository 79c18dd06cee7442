"""equipoise demo: a guided tour."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from equipoise.cli import options
from equipoise.cli.declaring import option

if TYPE_CHECKING:
    from equipoise.analysis.files.demo import Step

EXAMPLE = """\b
Example:
  equipoise demo"""


def demo(
    context: typer.Context,
    *,
    keep: str | None = option(
        None, "A new or empty folder for the files of the tour, to go on from.", "FOLDER"
    ),
    as_json: options.Json,
) -> None:
    """Show what Equipoise does, on a sample that comes with it.

    Each step shows a command, runs it and prints what comes. It takes some seconds; the first
    run on a machine also compiles, up to a minute, once.
    """
    from equipoise.analysis.files.demo import STEPS, tour
    from equipoise.cli.report import print_json, print_styled

    run = context.obj
    if as_json:
        print_json(tour(run, keep=keep))
        return
    print_styled(
        f"A tour of Equipoise in {len(STEPS)} steps, some seconds in all. If this is the first run "
        "on this machine, the numerical kernels are compiled on the way, once: up to a minute more."
    )
    done = tour(run, keep=keep, announce=_announce, show=_show)
    print_styled("")
    print_styled(f"That took {done.seconds:.1f} s. `equipoise COMMAND --help` says more about it.")
    if keep is None:
        print_styled(
            "`equipoise demo --keep FOLDER` keeps the files of the tour there for later use."
        )
    else:
        print_styled(f"The files of the tour are in {keep}.")


def _announce(number: int, step: Step) -> None:
    """Print what a step is about and its command."""
    from equipoise.cli.report import print_styled

    print_styled("")
    print_styled(f"{number}. {step.words}", "bold")
    print_styled("")
    print_styled(f"   $ {step.command}", "cyan")
    print_styled("")


def _show(text: str) -> None:
    """Print what a step printed."""
    from equipoise.cli.report import print_lines

    print_lines(*text.removesuffix("\n").split("\n"))
