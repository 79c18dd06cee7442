"""equipoise simulate and demo: histories with known skills, and a tour on a sample season."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import typer

from equipoise.analysis.requests import outside_projects, typed
from equipoise.analysis.simulate import SimulateRequest
from equipoise.cli import options
from equipoise.cli.report import print_json, print_styled, progress, say
from equipoise.errors import require
from equipoise.wording import counted

if TYPE_CHECKING:
    from equipoise.analysis.simulate.computation import Step


def simulate(*, request: SimulateRequest, as_json: options.Json) -> None:
    """Simulate contests or matches of two teams between players with known true skills.

    Skills are normally distributed, performances are normally distributed around the skill, and
    performances decide the ranks and, for teams, the statistics. Matches are written one by one, so
    only disk space limits the size of the file. Players are numbered from 0, matches from 1.

    Example:
      equipoise simulate --players 200 --contests 20 --seed 7 --output made.csv --skills skills.csv
      equipoise rate made.csv --output ratings.csv
      equipoise simulate --kind teams --sizes 5v5,4v4 --roles --output teams.csv
      equipoise simulate examples/population.toml --players 1000 --output made.parquet
    """
    from equipoise.analysis.simulate import computation as work

    to_file = isinstance(request.output, str)
    require(not as_json or to_file, "--output", "given with --json", None)
    with progress("simulating") as show:
        simulated = work.simulate(request, show)
    if as_json:
        print_json(simulated)
    size = (
        counted(simulated.matches, "contest")
        if simulated.kind == "contests"
        else counted(simulated.matches, "match", "matches")
    )
    say(
        f"{size}, {counted(simulated.participations, 'participation')}, "
        f"{counted(simulated.players, 'player')}, seed {simulated.seed}, {simulated.seconds:.2f} s"
    )


def demo(
    context: typer.Context,
    *,
    keep: str | None = typed(
        None, "Keep the files of the tour in a new or empty folder.", "FOLDER"
    ),
) -> None:
    """Take a tour of Equipoise with the sample season.

    Each step shows a command, runs it and prints its output. The tour takes a few seconds. The
    first run on a machine also compiles the kernels, which takes up to a minute.

    Example:
      equipoise demo
    """
    from equipoise.analysis.simulate.computation import STEPS, tour

    print_styled(
        f"A tour of Equipoise in {len(STEPS)} steps, which takes a few seconds. On the first run "
        "on this machine, the numerical kernels are compiled first, which takes up to a minute."
    )
    start = time.perf_counter()
    with outside_projects():
        tour(context.obj, _announce, keep=keep)
    seconds = time.perf_counter() - start
    print_styled("")
    print_styled(f"The tour took {seconds:.1f} s. `equipoise COMMAND --help` explains a command.")
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
