"""equipoise audit drift: whether ratings rise or fall as a whole, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.cli import options
from equipoise.cli.declaring import option

if TYPE_CHECKING:
    from equipoise.workflows.drift import DriftAnswer

EXAMPLE = """\b
Example:
  equipoise audit drift examples/contests.csv --system elo-mmr --active-days 30
  equipoise audit drift examples/contests.csv --system elo-mmr --system elo --output drift.svg"""


def drift(
    *,
    history: options.History,
    systems: options.Systems,
    active_days: float | None = option(
        None,
        "Active is who has played in so many days. [default: 90, where there are times]",
        "DAYS",
    ),
    active_matches: int | None = option(
        None,
        "Active is who has played in so many matches of the history. [default: a tenth of them, "
        "where there are no times]",
        "N",
    ),
    points: int = option(
        25,
        "Moments to look at, evenly spread in time, or over the matches where these are counted.",
    ),
    output: str | None = option(
        None,
        "The table (.csv, .parquet, .json, .jsonl, .tsv) or the chart (.svg, .png, .pdf). "
        "[default: both, in the terminal]",
        "FILE",
    ),
    details: bool = option(False, "Print every moment of every system, not just the end of each."),
    no_band: bool = option(False, "Leave the spread of the ratings out of the chart in FILE."),
    title: options.Title,
    threads: options.Threads,
    reading: options.Reading,
    as_json: options.Json,
) -> None:
    """Show how the ratings of the active players rise or fall, and what moves them.

    Beside their mean rating and deviation over time: what changes in matches, newcomers and
    leavers moved it by, how many points each match created, and what of that comes from scaling
    changes by performance, where a system does so.
    """
    from equipoise.cli.report import print_json, say, say_compiled, working
    from equipoise.numeric.workers import available_cores
    from equipoise.workflows import drift as work

    settings = systems.settings()
    request = work.DriftRequest(
        history=reading.request(history, settings),
        active_days=active_days,
        active_matches=active_matches,
        points=points,
        output=output,
        band=not no_band,
        title=title,
        threads=threads or available_cores(),
    )
    chosen = systems.chosen(settings)
    with working("rating") as job:
        answer = work.audit_drift(chosen, request, job.progress)
    if as_json:
        print_json(work.message_of(answer))
        return
    _print(answer, title, details, to_file=output is not None)
    if output is not None:
        say(f"{'drew' if work.is_chart(output) else 'wrote'} {output}")
    say_compiled(job.compilation)


def _print(answer: DriftAnswer, title: str | None, details: bool, to_file: bool) -> None:
    """Print chart and table where no file was asked for, and on standard error the rest."""
    from equipoise.cli.drift_tables import drift_lines, ends_table, moments_table
    from equipoise.cli.reading import reading_lines
    from equipoise.cli.report import print_chart, print_lines, print_table, say
    from equipoise.cli.terminal import sheet
    from equipoise.workflows.drift import message_of, text_of

    told = message_of(answer)
    if not to_file:
        print_chart(text_of(answer, sheet(), title))
        print_lines("")
        every = details or len(told.systems) == 1
        print_table(moments_table(told) if every else ends_table(told))
    say(*drift_lines(told), *reading_lines(told.history))
