"""equipoise simulate: made-up histories whose true skills are known."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass

from equipoise.cli import options
from equipoise.cli.declaring import option

EXAMPLE = """\b
Example:
  equipoise simulate --players 200 --contests 20 --seed 7 --output made.csv --skills skills.csv
  equipoise rate made.csv --output ratings.csv
  equipoise simulate --kind teams --sizes 5v5,4v4 --roles --output teams.csv"""


@dataclass(frozen=True, kw_only=True)
class Model:
    """Parameters of the models of both kinds; the models know their defaults."""

    players: int | None = option(None, "How many there are. [default: 2500; teams: 500]")
    contests: int | None = option(None, "Contests: how many are held. [default: 50]")
    matches: int | None = option(None, "Teams: how many are played. [default: 2000]")
    attendance: float | None = option(
        None, "Contests: chance that a player takes part in one. [default: 1]"
    )
    sizes: str | None = option(
        None,
        "Teams: players a side; several sizes, also uneven, are drawn alike. [default: 5v5]",
        "5v5,4v4,...",
    )
    newcomers: float | None = option(
        None, "Teams: share of the players who arrive during the history, evenly. [default: 0.3]"
    )
    newcomer_gap: float | None = option(
        None,
        "Teams: how far the mean skill of newcomers is below that of the others, rating points. "
        "[default: 0]",
    )
    activity_deviation: float | None = option(
        None, "Teams: of the logarithm of how often players play. [default: 1]"
    )
    matchmade: bool = option(
        False, "Teams: players near in skill meet, in teams that are about equal."
    )
    mean_skill: float | None = option(None, "Of the skills at first. [default: 1500; teams: 1400]")
    skill_deviation: float | None = option(
        None, "Of the skills at first, rating points. [default: 300; teams: 200]"
    )
    performance_deviation: float | None = option(
        None, "Of a performance around the skill, rating points. [default: 200]"
    )
    drift_deviation: float | None = option(
        None,
        "Of every skill's change after a contest (teams: in a day), rating points. [default: 35; "
        "teams: 2]",
    )
    score_step: float | None = option(
        None,
        "Contests: performances within one step of this width tie; 0 has no ties. [default: 0]",
    )
    draw_margin: float | None = option(
        None,
        "Teams: mean performances that differ by at most this draw; 0 has no draws. [default: 0]",
    )
    leavers: float | None = option(
        None,
        "Teams: chance that a player leaves a match early; adds the column share. [default: 0]",
    )
    roles: bool = option(
        False, "Teams: players have a role, with statistics of its own, as a column."
    )
    mean_kills: float | None = option(None, "Teams: kills of a player. [default: 15]")
    mean_deaths: float | None = option(None, "Teams: deaths of a player. [default: 15]")
    mean_damage: float | None = option(None, "Teams: damage of a player. [default: 3300]")
    statistics_scale: float | None = option(
        None,
        "Teams: performance above the others' that makes e times the kills, rating points. "
        "[default: 600]",
    )
    first_time: str | None = option(None, "When the first match is. [default: 2020-01-01]", "TIME")
    interval: int | None = option(
        None, "Seconds from a match to the next. [default: 604800; teams: 14400]"
    )

    def given(self) -> dict[str, object]:
        """Return the parameters that were given."""
        given = asdict(self).items()
        return {name: one for name, one in given if one is not None and one is not False}


def simulate(
    *,
    output: str | None = option(
        None,
        "The history: .csv, .csv.gz, .tsv, .parquet or .jsonl. [default: CSV to standard output]",
        "FILE",
    ),
    kind: str = option("contests", "What to simulate.", "contests|teams"),
    seed: int = option(0, "The same seed and numbers give the same history.", min=0),
    model: Model,
    skills: str | None = option(
        None,
        "Every player's true skill at the last match and at the first: .csv, .parquet, .json, "
        ".jsonl or .tsv.",
        "FILE",
    ),
    with_skill: bool = option(False, "Add each player's skill at each match as a column."),
    as_json: options.Json,
) -> None:
    """Make up contests, or matches of two teams, between players whose true skills are known.

    Skills are normal, performances are normal around them, and ranks follow the performances; so
    do the statistics of teams. Matches are written one by one, so the size of the file is bounded
    by the disk alone. Players are numbered from 0, matches from 1.
    """
    from equipoise.analysis.files import simulate as workflow
    from equipoise.cli.report import print_json, progress, say
    from equipoise.errors import require
    from equipoise.wording import counted

    require(not as_json or output is not None, "--output", "given with --json", output)
    request = workflow.SimulateRequest(
        kind=kind,
        parameters=model.given(),
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
