"""equipoise backtest: which system predicts a history best.

A command as it can be typed again, for what it made to say how it was made.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from equipoise.cli import options
from equipoise.cli.declaring import option

if TYPE_CHECKING:
    from equipoise.messages.studies import BacktestMessage

EXAMPLE = """\b
Example:
  equipoise backtest examples/contests.csv --system elo-mmr --system elo --from 10%
  equipoise backtest examples/contests.csv --system elo-mmr --system elo --report report.html"""


def backtest(
    *,
    context: typer.Context,
    history: options.History,
    systems: options.Systems,
    first: str = option(
        "0%",
        "Where scoring starts: a share of the matches (10%) or a time; earlier matches are "
        "learned from.",
        "SHARE|TIME",
        name="--from",
    ),
    min_history: int | None = option(
        None,
        "Score only players with at least this many earlier matches. [default: 5]",
        min=0,
    ),
    min_total: int | None = option(
        None,
        "Instead of --min-history: score only players with at least this many matches in the "
        "whole history, later ones included, which is another reading of the Elo-MMR paper.",
        min=0,
    ),
    ties_as_authors: options.TiesAsAuthors,
    least_difference: options.LeastDifference,
    details: bool = option(
        False,
        "Also print scores by experience, intervals, differences, slices and calibration on "
        "standard output; always so on a terminal.",
    ),
    resamples: int = option(1000, "Resamples of the matches, for intervals.", min=0),
    confidence: options.Confidence,
    seed: int = option(0, "Seed of the resamples.", min=0),
    output: str | None = option(None, "The table: .csv, .parquet, .json, .jsonl or .tsv.", "FILE"),
    report: str | None = option(
        None,
        "A page with charts and tables of everything, which needs nothing beside itself.",
        "FILE.html",
    ),
    threads: int | None = option(
        None, "Threads to use; never changes a number. [default: all]", min=1
    ),
    reading: options.ReadingWhole,
    as_json: options.Json,
) -> None:
    """Compare how well rating systems predict a history.

    Each match is predicted from the ratings before it, scored, and only then learned from. The
    last row shows what is reached without ratings. The first table is about players with five or
    more earlier matches (--min-history), the second about newcomers, players with few matches, and
    all; without --details the second goes to standard error.
    """
    from equipoise.analysis.studies import backtest as work
    from equipoise.cli.report import print_json, say, say_compiled, working
    from equipoise.numeric.workers import available_cores

    settings = systems.settings()
    request = work.BacktestRequest(
        history=reading.request(history, settings),
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
    chosen = systems.chosen(settings)
    with working("backtest") as job:
        answer = work.backtest_message(work.compare(chosen, request, job.progress))
    if as_json:
        print_json(answer)
        return
    table = output is None
    _print(answer, table=table, details=details or (table and sys.stdout.isatty()))
    if report is not None:
        say(f"wrote {report}")
    say_compiled(job.compilation)


def _print(answer: BacktestMessage, table: bool, details: bool) -> None:
    """Print the tables that are wanted, and on standard error what was scored."""
    from equipoise.cli.options import reading_lines
    from equipoise.cli.report import print_lines, print_table, say
    from equipoise.cli.studies.backtest_tables import (
        BY_EXPERIENCE,
        detail_tables,
        groups_table,
        main_table,
        scoring_lines,
    )

    by_experience = groups_table(answer)
    if table:
        print_table(main_table(answer))
    if details:
        print_lines("", BY_EXPERIENCE)
        print_table(by_experience)
        for title, detail in detail_tables(answer):
            print_lines("", title)
            print_table(detail)
    say(*scoring_lines(answer))
    if not details:
        # Standard output is one table where it goes to another program.
        say(f"{BY_EXPERIENCE}:", *by_experience.lines())
    say(*reading_lines(answer.history))


def command_line(context: typer.Context, files: Collection[str]) -> str:
    """Return the command that is running with what was given to it, in the order of its options.

    files : names of the parameters that are paths; of these only the name of the file is kept,
        as the folders of one machine mean nothing on another
    """
    words = context.command_path.split()
    parameters: list[Any] = list(context.command.params)
    for parameter in sorted(parameters, key=lambda one: one.param_type_name != "argument"):
        source = context.get_parameter_source(parameter.name)
        if source is None or source.name != "COMMANDLINE":
            continue
        given = context.params[parameter.name]
        for value in given if isinstance(given, list | tuple) else [given]:
            shown = Path(value).name if parameter.name in files and value != "-" else value
            words += _words(parameter, shown)
    return shlex.join(words)


def _words(parameter: Any, value: object) -> Iterator[str]:
    """Yield an argument, or an option with its value, as they are typed."""
    if parameter.param_type_name == "argument":
        yield str(value)
        return
    option = parameter.opts[0]
    # `--skip-bad` may stand alone, and takes its value behind an equals sign.
    if str(parameter.metavar).startswith("[="):
        yield option if value == "matches" else f"{option}={value}"
        return
    yield option
    if not parameter.is_flag:
        yield str(value)
