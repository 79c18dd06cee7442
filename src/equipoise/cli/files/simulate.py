"""equipoise simulate: simulated histories whose true skills are known."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass

from equipoise.cli import options
from equipoise.cli.declaring import option
from equipoise.cli.report import print_json, progress, say
from equipoise.errors import require
from equipoise.wording import counted

EXAMPLE = """\b
Example:
  equipoise simulate --players 200 --contests 20 --seed 7 --output made.csv --skills skills.csv
  equipoise rate made.csv --output ratings.csv
  equipoise simulate --kind teams --sizes 5v5,4v4 --roles --output teams.csv"""


@dataclass(frozen=True, kw_only=True)
class Model:
    """Parameters of both kinds of models. The models themselves have the defaults."""

    players: int | None = option(None, "Number of players. [default: 2500; teams: 500]")
    contests: int | None = option(None, "Contests: number of contests. [default: 50]")
    matches: int | None = option(None, "Teams: number of matches. [default: 2000]")
    attendance: float | None = option(
        None, "Contests: probability that a player takes part in a contest. [default: 1]"
    )
    sizes: str | None = option(
        None,
        "Teams: sizes of the two teams. Several sizes, including uneven ones, are equally likely. "
        "[default: 5v5]",
        "5v5,4v4,...",
    )
    newcomers: float | None = option(
        None,
        "Teams: share of the players who join during the history, evenly spread. [default: 0.3]",
    )
    newcomer_gap: float | None = option(
        None,
        "Teams: mean skill of the others minus that of newcomers, in rating points. [default: 0]",
    )
    activity_deviation: float | None = option(
        None,
        "Teams: standard deviation of the logarithm of how often players play; with 0, all play "
        "equally often. [default: 1]",
    )
    matchmade: bool = option(
        False, "Teams: make matches between players of similar skill, in roughly equal teams."
    )
    mean_skill: float | None = option(
        None, "Mean skill at the beginning. [default: 1500; teams: 1400]"
    )
    skill_deviation: float | None = option(
        None,
        "Standard deviation of skills at the beginning, in rating points. [default: 300; "
        "teams: 200]",
    )
    performance_deviation: float | None = option(
        None,
        "Standard deviation of a performance around the skill, in rating points. [default: 200]",
    )
    drift_deviation: float | None = option(
        None,
        "Standard deviation of the change of a skill after a contest (teams: per day), in rating "
        "points. [default: 35; teams: 2]",
    )
    score_step: float | None = option(
        None,
        "Contests: performances within one step of this width tie; 0 means no ties. [default: 0]",
    )
    draw_margin: float | None = option(
        None,
        "Teams: a match is a draw if mean performances differ by at most this; 0 means no draws. "
        "[default: 0]",
    )
    leavers: float | None = option(
        None,
        "Teams: probability that a player leaves a match early. Adds the column share. "
        "[default: 0]",
    )
    roles: bool = option(
        False, "Teams: give players roles with different statistics. Adds the column role."
    )
    mean_kills: float | None = option(
        None, "Teams: mean kills of a player in a match. [default: 15]"
    )
    mean_deaths: float | None = option(
        None, "Teams: mean deaths of a player in a match. [default: 15]"
    )
    mean_damage: float | None = option(
        None, "Teams: mean damage of a player in a match. [default: 3300]"
    )
    statistics_scale: float | None = option(
        None,
        "Teams: rise in performance that multiplies the kills by e, in rating points. "
        "[default: 600]",
    )
    first_time: str | None = option(None, "Time of the first match. [default: 2020-01-01]", "TIME")
    interval: int | None = option(None, "Seconds between matches. [default: 604800; teams: 14400]")

    def given(self) -> dict[str, object]:
        """Return the parameters that were given."""
        given = asdict(self).items()
        return {name: one for name, one in given if one is not None and one is not False}


def simulate(
    *,
    output: str | None = option(
        None,
        "Write the history: .csv, .csv.gz, .tsv, .parquet or .jsonl. [default: CSV to standard "
        "output]",
        "FILE",
    ),
    kind: str = option("contests", "What to simulate.", "contests|teams"),
    seed: int = option(
        0, "Random seed. The same seed and parameters give the same history.", min=0
    ),
    model: Model,
    skills: str | None = option(
        None,
        "Write a table of the true skills at the first and the last match: .csv, .parquet, .json, "
        ".jsonl or .tsv.",
        "FILE",
    ),
    with_skill: bool = option(
        False, "Add a column with the true skill of each player at each match."
    ),
    as_json: options.Json,
) -> None:
    """Simulate contests, or matches of two teams, between players whose true skills are known.

    Skills are normally distributed, performances are normally distributed around the skill, and
    performances decide the ranks and, for teams, the statistics. Matches are written one by one, so
    only the disk limits the size of the file. Players are numbered from 0, matches from 1.
    """
    from equipoise.analysis.files import simulate as work

    require(not as_json or output is not None, "--output", "given with --json", output)
    request = work.SimulateRequest(
        kind=kind,
        parameters=model.given(),
        seed=seed,
        output=sys.stdout.buffer if output is None else output,
        skills=skills,
        with_skill=with_skill,
    )
    with progress("simulating") as show:
        made = work.simulate(request, show)
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
