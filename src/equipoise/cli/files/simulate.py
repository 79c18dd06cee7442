"""equipoise simulate: simulated histories whose true skills are known."""

from __future__ import annotations

from equipoise.analysis.requests.simulating import SimulateRequest
from equipoise.cli import options
from equipoise.cli.report import print_json, progress, say
from equipoise.errors import require
from equipoise.wording import counted

EXAMPLE = """\b
Example:
  equipoise simulate --players 200 --contests 20 --seed 7 --output made.csv --skills skills.csv
  equipoise rate made.csv --output ratings.csv
  equipoise simulate --kind teams --sizes 5v5,4v4 --roles --output teams.csv
  equipoise simulate examples/population.toml --players 1000 --output made.parquet"""


def simulate(*, request: SimulateRequest, as_json: options.Json) -> None:
    """Simulate contests, or matches of two teams, between players whose true skills are known.

    Skills are normally distributed, performances are normally distributed around the skill, and
    performances decide the ranks and, for teams, the statistics. Matches are written one by one, so
    only the disk limits the size of the file. Players are numbered from 0, matches from 1.
    """
    from equipoise.analysis.files import simulate as work

    to_file = isinstance(request.output, str)
    require(not as_json or to_file, "--output", "given with --json", None)
    with progress("simulating") as show:
        made = work.simulate(request, show)
    if as_json:
        print_json(made)
    size = (
        counted(made.matches, "contest")
        if made.kind == "contests"
        else counted(made.matches, "match", "matches")
    )
    say(
        f"{size}, {counted(made.participations, 'participation')}, "
        f"{counted(made.players, 'player')}, seed {made.seed}, {made.seconds:.2f} s"
    )
