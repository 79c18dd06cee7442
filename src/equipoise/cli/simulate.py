"""equipoise simulate: made-up histories whose true skills are known."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from equipoise.cli import options

EXAMPLE = """\b
Example:
  equipoise simulate --players 200 --contests 20 --seed 7 --output made.csv --skills skills.csv
  equipoise rate made.csv --output ratings.csv"""


def simulate(
    output: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="The history: .csv, .csv.gz, .tsv, .parquet or .jsonl. "
            "[default: CSV to standard output]",
        ),
    ] = None,
    kind: Annotated[str, typer.Option(metavar="contests", help="What to simulate.")] = "contests",
    seed: Annotated[
        int, typer.Option(min=0, help="The same seed and numbers give the same history.")
    ] = 0,
    players: Annotated[int, typer.Option(help="How many there are.")] = 2500,
    contests: Annotated[int, typer.Option(help="How many are held.")] = 50,
    attendance: Annotated[
        float, typer.Option(help="Chance that a player takes part in a contest.")
    ] = 1.0,
    mean_skill: Annotated[float, typer.Option(help="Of the skills at first.")] = 1500.0,
    skill_deviation: Annotated[
        float, typer.Option(help="Of the skills at first, rating points.")
    ] = 300.0,
    performance_deviation: Annotated[
        float, typer.Option(help="Of a performance around the skill, rating points.")
    ] = 200.0,
    drift_deviation: Annotated[
        float, typer.Option(help="Of every skill's change after a contest, rating points.")
    ] = 35.0,
    score_step: Annotated[
        float,
        typer.Option(help="Performances within one step of this width tie; 0 has no ties."),
    ] = 0.0,
    first_time: Annotated[
        str, typer.Option(metavar="TIME", help="When the first contest is.")
    ] = "2020-01-01",
    interval: Annotated[int, typer.Option(help="Seconds from a contest to the next.")] = 604_800,
    skills: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Every player's true skill at the last contest and at the first: .csv, .parquet, "
            ".json, .jsonl or .tsv.",
        ),
    ] = None,
    with_skill: Annotated[
        bool,
        typer.Option("--with-skill", help="Add each player's skill at each contest as a column."),
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Make up contests between players whose true skills are known.

    Skills are normal, performances are normal around them, places follow the performances, and
    after each contest every skill drifts. Contests are written one by one, so the size of the
    file is bounded by the disk alone. Players are numbered from 0, contests from 1.
    """
    from equipoise.cli.report import print_json, progress, say
    from equipoise.errors import require
    from equipoise.workflows import simulate as workflow

    require(not as_json or output is not None, "--output", "given with --json", output)
    request = workflow.SimulateRequest(
        kind=kind,
        parameters={
            "players": players,
            "contests": contests,
            "attendance": attendance,
            "mean_skill": mean_skill,
            "skill_deviation": skill_deviation,
            "performance_deviation": performance_deviation,
            "drift_deviation": drift_deviation,
            "score_step": score_step,
            "first_time": first_time,
            "interval": interval,
        },
        seed=seed,
        output=sys.stdout.buffer if output is None else output,
        skills=skills,
        with_skill=with_skill,
    )
    with progress("simulating") as show:
        made = workflow.simulate(request, show)
    if as_json:
        print_json(made)
    say(
        f"{made.matches:,} contests, {made.participations:,} participations, "
        f"{made.players:,} players, seed {made.seed}, {made.seconds:.2f} s"
    )
