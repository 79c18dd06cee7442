"""equipoise rate: a history in, ratings out."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from equipoise.cli import options
from equipoise.wording import counted

if TYPE_CHECKING:
    from equipoise.messages.rating import RateSummary
    from equipoise.workflows.rating import RateAnswer

EXAMPLE = """\b
Example:
  equipoise rate examples/contests.csv --system elo-mmr --output ratings.csv"""

#: Rows shown on a terminal; a file or a pipe gets all of them.
SHOWN = 20

#: Seconds of rating below which a rate per second would be noise.
_TELLING = 0.01


def rate(
    history: options.History,
    system: options.System = None,
    set_: options.Set = None,
    parameters: options.Parameters = None,
    output: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Ratings: .csv, .parquet, .json, .jsonl or .tsv."),
    ] = None,
    trace: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="What every match did to every player in it."),
    ] = None,
    save: Annotated[
        str | None, typer.Option(metavar="FILE.npz", help="The state, to go on from later.")
    ] = None,
    resume: Annotated[
        str | None,
        typer.Option(
            metavar="FILE.npz",
            help="Go on from a saved state, with its system; HISTORY is the whole or the "
            "continued history.",
        ),
    ] = None,
    restart: options.Restart = False,
    at: Annotated[
        str | None, typer.Option(metavar="TIME", help="Ratings as of this time, decay included.")
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option(min=1, help="For large matches; never changes a number. [default: all]"),
    ] = None,
    column: options.Column = None,
    stat: options.Stat = None,
    lower_score_is_better: options.LowerScore = False,
    skip_bad: options.SkipBad = None,
    since: options.Since = None,
    until: options.Until = None,
    time_format: options.TimeFormat = None,
    where: options.Where = None,
    synonyms: options.Synonyms = None,
    format_: options.Format = None,
    strict: options.Strict = False,
    as_json: options.Json = False,
) -> None:
    """Rate a history of matches.

    Prints the rating table, or writes it with --output. Nothing is written when anything is wrong.
    """
    from equipoise._jit import watch_compilation
    from equipoise.cli.reading import history_request
    from equipoise.cli.report import print_json, progress, say, say_compiled
    from equipoise.messages.rating import RateMessage
    from equipoise.numeric.workers import available_cores
    from equipoise.workflows import rating
    from equipoise.workflows.settings import chosen_system, read_settings

    settings = read_settings(parameters)
    request = rating.RateRequest(
        history=history_request(
            history,
            settings,
            format_=format_,
            column=column,
            stat=stat,
            lower_score_is_better=lower_score_is_better,
            strict=strict,
            skip_bad=skip_bad,
            where=where,
            synonyms=synonyms,
            since=since,
            until=until,
            time_format=time_format,
        ),
        output=output,
        trace=trace,
        save=save,
        resume=resume,
        restart=restart,
        at=at,
        threads=threads or available_cores(),
    )
    with (
        watch_compilation(lambda: say("Compiling for this machine, once ...")) as compilation,
        progress("rating") as show,
    ):
        answer = rating.rate(chosen_system(system, settings, set_ or []), request, show)
    summary = rating.summary_of(answer, compilation.kernels)
    if as_json:
        rows = [] if output else answer.replay.ratings.to_polars().to_dicts()
        print_json(RateMessage(summary, rows))
        return
    if output is None:
        _print_ratings(answer)
    say_compiled(compilation)
    for line in _summary_lines(summary):
        say(line)


def _print_ratings(answer: RateAnswer) -> None:
    """Print the table: its head on a terminal, all of it to a pipe."""
    from equipoise.cli.report import print_table, say

    table = answer.replay.ratings.to_polars()
    shown = table.head(SHOWN) if sys.stdout.isatty() else table
    floats = {name for name, kind in table.schema.items() if kind.is_float()}
    rows = [
        [
            "" if value is None else f"{value:.2f}" if name in floats else str(value)
            for name, value in zip(table.columns, row, strict=True)
        ]
        for row in shown.iter_rows()
    ]
    numeric = {name for name, kind in table.schema.items() if kind.is_numeric()}
    print_table(table.columns, rows, numeric)
    if len(shown) < len(table):
        more = counted(len(table) - len(shown), "more player")
        say(f"... and {more}; --output FILE keeps them all.")


def _summary_lines(summary: RateSummary) -> list[str]:
    """Return what was rated, in how long, and everything that was left out."""
    from equipoise.cli.reading import reading_lines

    seconds = summary.seconds
    speed = ""
    if summary.participations and seconds["rate"] >= _TELLING:
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
