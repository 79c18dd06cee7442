"""equipoise rate: a history in, ratings out."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import typer

from equipoise.analysis.requests.rating import RateRequest
from equipoise.cli import options
from equipoise.cli.declaring import option
from equipoise.cli.files.comparison_tables import print_comparison
from equipoise.cli.files.inspect import inspected
from equipoise.cli.report import (
    print_json,
    print_lines,
    print_table,
    reading_lines,
    say,
    say_compiled,
    working,
)
from equipoise.cli.stopping import stopped_by_signals
from equipoise.cli.tables import dates, table
from equipoise.errors import InvalidParameterError
from equipoise.wording import counted

if TYPE_CHECKING:
    from equipoise.analysis.files.rating import RateAnswer
    from equipoise.messages.histories import RateSummary

EXAMPLE = """\b
Example:
  equipoise rate examples/contests.csv --system elo-mmr --output ratings.csv
  equipoise rate examples/arena.csv --by category --output ratings/"""

#: Rows on a terminal; a file or a pipe gets all of them.
_SHOWN = 20

#: Players that --diff lists who rose most, and who fell most.
_MOVED = 10
#: The column of times of the rating table.
_LAST_TIME = "last_time"

#: Least seconds of rating for which participations per second are shown.
_MEASURABLE = 0.01


def rate(
    *,
    context: typer.Context,
    system: options.System,
    request: RateRequest,
    by: str | None = option(
        None,
        "Rate the matches with each combination of values of these columns alone, as a pool of "
        "its own. A value may also stand in the name of a folder, as in mode=ranked/region=eu. "
        "--output, --trace and --save then name a folder (DIR/), or a file in it, and every pool "
        "gets folders there.",
        "COLUMN[,COLUMN]",
    ),
    workers: int | None = option(None, "With --by: number of processes. [default: 1]", "N", min=1),
    cluster: options.Cluster,
    dry_run: options.DryRun,
    as_json: options.Json,
) -> int | None:
    """Rate a history of matches.

    Prints the rating table, or writes it with --output. Nothing is written if there is a problem.
    """
    from equipoise.analysis.files import rating
    from equipoise.messages.histories import RateMessage

    settings = system.settings()
    request = options.weighed(request, settings)
    if dry_run:
        if by is not None:
            raise InvalidParameterError("--dry-run cannot be combined with --by")
        chosen = system.chosen(settings)
        systems = [] if chosen is None else [chosen]
        return inspected(context, request.history, as_json, systems=systems)
    if by is not None:
        if request.memory_limit is not None:
            raise InvalidParameterError(
                "--memory-limit cannot be used with --by: each pool is read whole"
            )
        from equipoise.cli.files.rate_by import rate_by

        with cluster.executor(workers) as executor:
            return rate_by(
                *(system.chosen(settings), request, by, workers or 1, executor),
                as_json=as_json,
            )
    if cluster.cluster is not None or (workers or 1) > 1:
        needs = "--workers" if cluster.cluster is None else "--cluster"
        raise InvalidParameterError(f"{needs} needs --by")
    with stopped_by_signals(), working("rating") as job:
        answer = rating.rate(system.chosen(settings), request, job.progress, say)
    summary = rating.summary_of(answer, job.compilation.kernels)
    if as_json:
        from equipoise.analysis.files.compare import comparison_json

        rows = [] if request.output else answer.table.to_dicts()
        compared = None if answer.diff is None else comparison_json(answer.diff)
        print_json(RateMessage(summary, rows, compared))
        return None
    if request.output is None:
        _print_ratings(answer)
    if answer.diff is not None:
        if request.output is None:
            print_lines("")
        print_comparison(answer.diff, _MOVED, command="equipoise compare ")
    say_compiled(job.compilation)
    say(*_summary_lines(summary))
    return None


def _print_ratings(answer: RateAnswer) -> None:
    """Print the rating table: its first rows on a terminal, all of it to a pipe."""
    frame = answer.table
    if "conservative" in frame.columns:
        say("ordered by the conservative rating: the rating minus three deviations")
    shown = frame.head(_SHOWN) if sys.stdout.isatty() else frame
    columns = {
        name: ".2f" if kind.is_float() else ">" if kind.is_numeric() else ""
        for name, kind in frame.schema.items()
    }
    # A column of seconds is one of dates to people. Files keep the seconds.
    values = [
        dates(column.to_list()) if column.name == _LAST_TIME else column.to_list()
        for column in shown
    ]
    print_table(table(columns, zip(*values, strict=True)))
    if len(shown) < len(frame):
        more = counted(len(frame) - len(shown), "more player")
        say(f"... and {more}; --output FILE keeps them all.")


def _summary_lines(summary: RateSummary) -> list[str]:
    """Return lines on what was rated, how long it took, and what was left out."""
    seconds = summary.seconds
    speed = ""
    if summary.participations and seconds["rate"] >= _MEASURABLE:
        speed = f" ({summary.participations / seconds['rate']:,.0f} participations/s)"
    lines = [
        f"{summary.system}: {counted(summary.matches, 'match', 'matches')}, "
        f"{counted(summary.participations, 'participation')}, "
        f"{counted(summary.players, 'player')}",
        f"read {seconds['read']:.2f} s, rated {seconds['rate']:.2f} s{speed}, "
        f"wrote {seconds['write']:.2f} s",
    ]
    tied = summary.skipped_all_tied
    more = ", ..." if len(tied) > 5 else ""
    left_out = (
        (
            summary.known_matches,
            "match was rated before and skipped",
            "matches were rated before and skipped",
        ),
        (
            len(tied),
            f"match in which all tied was skipped ({', '.join(tied)})",
            f"matches in which all tied were skipped ({', '.join(tied[:5])}{more})",
        ),
        (
            summary.single,
            "match had a single player or team and changed nothing",
            "matches had a single player or team and changed nothing",
        ),
    )
    lines += [counted(count, *what) for count, *what in left_out if count]
    return [*lines, *reading_lines(summary)]
