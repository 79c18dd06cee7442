"""equipoise demo: a guided tour."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from equipoise.cli import options
from equipoise.cli.declaring import option
from equipoise.cli.project_file import outside_projects
from equipoise.cli.report import print_json, print_lines, print_styled

if TYPE_CHECKING:
    from equipoise.analysis.files.demo import Step

EXAMPLE = """\b
Example:
  equipoise demo"""


def demo(
    context: typer.Context,
    *,
    keep: str | None = option(
        None, "Keep the files of the tour in a new or empty folder.", "FOLDER"
    ),
    as_json: options.Json,
) -> None:
    """Show what Equipoise does, on the sample season.

    Each step shows a command, runs it and prints its output. The tour takes a few seconds. The
    first run on a machine also compiles the kernels, which takes up to a minute.
    """
    from equipoise.analysis.files.demo import STEPS, tour

    run = context.obj
    if as_json:
        with outside_projects():
            print_json(tour(run, keep=keep))
        return
    print_styled(
        f"A tour of Equipoise in {len(STEPS)} steps, which takes a few seconds. On the first run "
        "on this machine, the numerical kernels are compiled first, which takes up to a minute."
    )
    with outside_projects():
        done = tour(run, keep=keep, announce=_announce, show=_show)
    print_styled("")
    print_styled(
        f"The tour took {done.seconds:.1f} s. `equipoise COMMAND --help` explains a command."
    )
    if keep is None:
        print_styled("`equipoise demo --keep FOLDER` keeps the files of the tour.")
    else:
        print_styled(f"The files of the tour are in {keep}.")


def _announce(number: int, step: Step) -> None:
    """Print the purpose of a step and its command."""
    print_styled("")
    print_styled(f"{number}. {step.words}", "bold")
    print_styled("")
    print_styled(f"   $ {step.command}", "cyan")
    print_styled("")


def _show(text: str) -> None:
    """Print the output of a step."""
    print_lines(*text.removesuffix("\n").split("\n"))
