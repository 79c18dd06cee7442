"""equipoise simulate: made-up histories whose true skills are known."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from equipoise.cli import options

EXAMPLE = """\b
Example:
  equipoise simulate --players 200 --contests 20 --seed 7 --output made.csv --skills skills.csv
  equipoise rate made.csv --output ratings.csv
  equipoise simulate --kind teams --sizes 5v5,4v4 --roles --output teams.csv"""

_CONTESTS, _TEAMS = "Contests: ", "Teams: "


def _option(help_text: str, metavar: str | None = None) -> Any:
    """Return an option of a model, which knows the default; the help repeats it."""
    return typer.Option(help=help_text, metavar=metavar, show_default=False)


def simulate(
    output: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="The history: .csv, .csv.gz, .tsv, .parquet or .jsonl. "
            "[default: CSV to standard output]",
        ),
    ] = None,
    kind: Annotated[
        str, typer.Option(metavar="contests|teams", help="What to simulate.")
    ] = "contests",
    seed: Annotated[
        int, typer.Option(min=0, help="The same seed and numbers give the same history.")
    ] = 0,
    players: Annotated[
        int | None, _option("How many there are. [default: 2500; teams: 500]")
    ] = None,
    contests: Annotated[int | None, _option(f"{_CONTESTS}how many are held. [default: 50]")] = None,
    matches: Annotated[int | None, _option(f"{_TEAMS}how many are played. [default: 2000]")] = None,
    attendance: Annotated[
        float | None,
        _option(f"{_CONTESTS}chance that a player takes part in one. [default: 1]"),
    ] = None,
    sizes: Annotated[
        str | None,
        _option(
            f"{_TEAMS}players a side; several sizes, also uneven, are drawn alike. [default: 5v5]",
            "5v5,4v4,...",
        ),
    ] = None,
    newcomers: Annotated[
        float | None,
        _option(
            f"{_TEAMS}share of the players who arrive during the history, evenly. [default: 0.3]"
        ),
    ] = None,
    newcomer_gap: Annotated[
        float | None,
        _option(
            f"{_TEAMS}how far the mean skill of newcomers is below that of the others, rating "
            "points. [default: 0]"
        ),
    ] = None,
    activity_deviation: Annotated[
        float | None,
        _option(f"{_TEAMS}of the logarithm of how often players play. [default: 1]"),
    ] = None,
    matchmade: Annotated[
        bool,
        typer.Option(
            "--matchmade",
            help=f"{_TEAMS}players near in skill meet, in teams that are about equal.",
        ),
    ] = False,
    mean_skill: Annotated[
        float | None, _option("Of the skills at first. [default: 1500; teams: 1400]")
    ] = None,
    skill_deviation: Annotated[
        float | None,
        _option("Of the skills at first, rating points. [default: 300; teams: 200]"),
    ] = None,
    performance_deviation: Annotated[
        float | None,
        _option("Of a performance around the skill, rating points. [default: 200]"),
    ] = None,
    drift_deviation: Annotated[
        float | None,
        _option(
            "Of every skill's change after a contest (teams: in a day), rating points. "
            "[default: 35; teams: 2]"
        ),
    ] = None,
    score_step: Annotated[
        float | None,
        _option(
            f"{_CONTESTS}performances within one step of this width tie; 0 has no ties. "
            "[default: 0]"
        ),
    ] = None,
    draw_margin: Annotated[
        float | None,
        _option(
            f"{_TEAMS}mean performances that differ by at most this draw; 0 has no draws. "
            "[default: 0]"
        ),
    ] = None,
    leavers: Annotated[
        float | None,
        _option(
            f"{_TEAMS}chance that a player leaves a match early; adds the column share. "
            "[default: 0]"
        ),
    ] = None,
    roles: Annotated[
        bool,
        typer.Option(
            "--roles", help=f"{_TEAMS}players have a role, with statistics of its own, as a column."
        ),
    ] = False,
    mean_kills: Annotated[
        float | None, _option(f"{_TEAMS}kills of a player. [default: 15]")
    ] = None,
    mean_deaths: Annotated[
        float | None, _option(f"{_TEAMS}deaths of a player. [default: 15]")
    ] = None,
    mean_damage: Annotated[
        float | None, _option(f"{_TEAMS}damage of a player. [default: 3300]")
    ] = None,
    statistics_scale: Annotated[
        float | None,
        _option(
            f"{_TEAMS}performance above the others' that makes e times the kills, rating points. "
            "[default: 600]"
        ),
    ] = None,
    first_time: Annotated[
        str | None, _option("When the first match is. [default: 2020-01-01]", "TIME")
    ] = None,
    interval: Annotated[
        int | None,
        _option("Seconds from a match to the next. [default: 604800; teams: 14400]"),
    ] = None,
    skills: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Every player's true skill at the last match and at the first: .csv, .parquet, "
            ".json, .jsonl or .tsv.",
        ),
    ] = None,
    with_skill: Annotated[
        bool,
        typer.Option("--with-skill", help="Add each player's skill at each match as a column."),
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Make up contests, or matches of two teams, between players whose true skills are known.

    Skills are normal, performances are normal around them, and ranks follow the performances; so
    do the statistics of teams. Matches are written one by one, so the size of the file is bounded
    by the disk alone. Players are numbered from 0, matches from 1.
    """
    from equipoise.cli.report import print_json, progress, say
    from equipoise.errors import require
    from equipoise.wording import counted
    from equipoise.workflows import simulate as workflow

    require(not as_json or output is not None, "--output", "given with --json", output)
    given = {
        "players": players,
        "contests": contests,
        "matches": matches,
        "attendance": attendance,
        "sizes": sizes,
        "newcomers": newcomers,
        "newcomer_gap": newcomer_gap,
        "activity_deviation": activity_deviation,
        "matchmade": matchmade or None,
        "mean_skill": mean_skill,
        "skill_deviation": skill_deviation,
        "performance_deviation": performance_deviation,
        "drift_deviation": drift_deviation,
        "score_step": score_step,
        "draw_margin": draw_margin,
        "leavers": leavers,
        "roles": roles or None,
        "mean_kills": mean_kills,
        "mean_deaths": mean_deaths,
        "mean_damage": mean_damage,
        "statistics_scale": statistics_scale,
        "first_time": first_time,
        "interval": interval,
    }
    request = workflow.SimulateRequest(
        kind=kind,
        parameters={name: value for name, value in given.items() if value is not None},
        seed=seed,
        output=sys.stdout.buffer if output is None else output,
        skills=skills,
        with_skill=with_skill,
    )
    with progress("simulating") as show:
        made = workflow.simulate(request, show)
    if as_json:
        print_json(made)
    size = (
        counted(made.matches, "contest")
        if kind == "contests"
        else counted(made.matches, "match", "matches")
    )
    say(
        f"{size}, {counted(made.participations, 'participation')}, "
        f"{counted(made.players, 'player')}, seed {made.seed}, {made.seconds:.2f} s"
    )
