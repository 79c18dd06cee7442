"""equipoise backtest: which system predicts a history best."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from equipoise.cli import options

if TYPE_CHECKING:
    from equipoise.messages.backtest import BacktestMessage

EXAMPLE = """\b
Example:
  equipoise backtest examples/contests.csv --system elo-mmr --system elo --from 10%
  equipoise backtest examples/contests.csv --system elo-mmr --system elo --report report.html"""


def backtest(
    context: typer.Context,
    history: options.History,
    system: options.Systems = None,
    set_: options.SetOfLabel = None,
    parameters: options.Parameters = None,
    first: Annotated[
        str,
        typer.Option(
            "--from",
            show_default=False,
            metavar="SHARE|TIME",
            help="Where scoring starts: a share of the matches (10%) or a time; earlier matches "
            "are learned from. [default: 0%]",
        ),
    ] = "0%",
    min_history: options.MinHistory = None,
    min_total: options.MinTotal = None,
    ties_as_authors: Annotated[
        bool,
        typer.Option(
            "--ties-as-authors",
            help="Count pairs predicted equal as correct, as the authors of Elo-MMR do.",
        ),
    ] = False,
    least_difference: options.LeastDifference = None,
    details: Annotated[
        bool,
        typer.Option(
            "--details",
            help="Also print scores by experience, intervals, differences, slices and "
            "calibration on standard output; always so on a terminal.",
        ),
    ] = False,
    resamples: Annotated[
        int,
        typer.Option(
            min=0,
            show_default=False,
            help="Resamples of the matches, for intervals. [default: 1000]",
        ),
    ] = 1000,
    confidence: Annotated[
        float,
        typer.Option(show_default=False, help="Confidence of the intervals. [default: 0.95]"),
    ] = 0.95,
    seed: Annotated[
        int, typer.Option(min=0, show_default=False, help="Seed of the resamples. [default: 0]")
    ] = 0,
    output: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="The table: .csv, .parquet, .json, .jsonl or .tsv."),
    ] = None,
    report: Annotated[
        str | None,
        typer.Option(
            metavar="FILE.html",
            help="A page with charts and tables of everything, which needs nothing beside itself.",
        ),
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option(min=1, help="Threads to use; never changes a number. [default: all]"),
    ] = None,
    column: options.Column = None,
    stat: options.Stat = None,
    lower_score_is_better: options.LowerScore = False,
    skip_bad: options.SkipBad = None,
    until: options.Until = None,
    time_format: options.TimeFormat = None,
    where: options.Where = None,
    synonyms: options.Synonyms = None,
    format_: options.Format = None,
    strict: options.Strict = False,
    as_json: options.Json = False,
) -> None:
    """Compare how well rating systems predict a history.

    Each match is predicted from the ratings before it, scored, and only then learned from. The
    last row shows what is reached without ratings. The first table is about players with five or
    more earlier matches (--min-history), the second about newcomers, players with few matches, and
    all; without --details the second goes to standard error.
    """
    from equipoise._jit import watch_compilation
    from equipoise.cli.command_line import command_line
    from equipoise.cli.reading import history_request
    from equipoise.cli.report import print_json, progress, say, say_compiled
    from equipoise.numeric.workers import available_cores
    from equipoise.workflows import backtest as work
    from equipoise.workflows.settings import read_settings
    from equipoise.workflows.systems_choice import chosen_systems

    settings = read_settings(parameters)
    request = work.BacktestRequest(
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
            until=until,
            time_format=time_format,
        ),
        first=first,
        min_history=work.chosen_history(min_history, min_total),
        min_total=min_total,
        ties_as_authors=ties_as_authors,
        least_differences=work.least_differences(least_difference or []),
        resamples=resamples,
        confidence=confidence,
        seed=seed,
        output=output,
        report=report,
        command=command_line(context, ("history", "parameters", "output", "report")),
        threads=threads or available_cores(),
    )
    systems = chosen_systems(system or [], settings, set_ or [])
    with (
        watch_compilation(lambda: say("Compiling for this machine, once ...")) as compilation,
        progress("backtest") as show,
    ):
        answer = work.message_of(work.compare(systems, request, show))
    if as_json:
        print_json(answer)
        return
    _print(answer, table=output is None, details=details or (output is None and _on_terminal()))
    if report is not None:
        say(f"wrote {report}")
    say_compiled(compilation)


def _on_terminal() -> bool:
    return sys.stdout.isatty()


def _print(answer: BacktestMessage, table: bool, details: bool) -> None:
    """Print the tables that are wanted, and on standard error what was scored."""
    from equipoise.cli.backtest_tables import (
        BY_EXPERIENCE,
        detail_tables,
        groups_table,
        main_table,
        scoring_lines,
    )
    from equipoise.cli.reading import reading_lines
    from equipoise.cli.report import plain_lines, print_lines, print_table, say

    if table:
        print_table(*main_table(answer))
    if details:
        print_lines("", BY_EXPERIENCE)
        print_table(*groups_table(answer))
        for title, columns, rows, numeric in detail_tables(answer):
            print_lines("", title)
            print_table(columns, rows, numeric)
    for line in scoring_lines(answer):
        say(line)
    if not details:
        # Standard output is one table where it goes to another program.
        for line in (f"{BY_EXPERIENCE}:", *plain_lines(*groups_table(answer))):
            say(line)
    for line in reading_lines(answer.history):
        say(line)
