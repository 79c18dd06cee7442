"""equipoise compare: two tables of ratings in, who moved out."""

from __future__ import annotations

import shlex

from equipoise.analysis.requests.comparing import CompareRequest
from equipoise.cli import options
from equipoise.cli.files.comparison_tables import print_comparison
from equipoise.cli.report import print_json, say

EXAMPLE = """\b
Example:
  equipoise rate examples/contests.csv --system elo-mmr --output elo-mmr.csv
  equipoise rate examples/contests.csv --system trueskill --output trueskill.csv
  equipoise compare elo-mmr.csv trueskill.csv"""


def compare(*, request: CompareRequest, as_json: options.Json) -> None:
    """Compare two tables of ratings: who moved, and how alike the tables are.

    Prints who is in one table only, the mean and standard deviation of the changes, correlations,
    the share of pairs of players in the same order, and who rose and fell most. Players are matched
    by their names, which must be equal.
    """
    from equipoise.analysis.files.compare import compare as compare_files
    from equipoise.analysis.files.compare import comparison_json, mapping_of

    found = compare_files(request)
    if as_json:
        print_json(comparison_json(found, request.top, request.by))
        return
    print_comparison(found, request.top, request.by)
    if request.chart is not None:
        say(f"drew {request.chart}")
    mapping = mapping_of(found)
    if found.scale == "line" and isinstance(request.old, str) and mapping is not None:
        begin = f"--initial {shlex.quote(request.old)} --initial-mapping {shlex.quote(mapping)}"
        say(f"to begin with the old ratings on the new scale: equipoise rate HISTORY {begin}")
