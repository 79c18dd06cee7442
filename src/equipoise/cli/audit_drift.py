"""equipoise audit drift: whether ratings rise or fall as a whole, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from equipoise.cli import options

if TYPE_CHECKING:
    from equipoise.workflows.drift import DriftAnswer

EXAMPLE = """\b
Example:
  equipoise audit drift examples/contests.csv --system elo-mmr --active-days 30
  equipoise audit drift examples/contests.csv --system elo-mmr --system elo --output drift.svg"""


def drift(
    history: options.History,
    system: options.Systems = None,
    set_: options.SetOfLabel = None,
    parameters: options.Parameters = None,
    active_days: Annotated[
        float | None,
        typer.Option(
            metavar="DAYS",
            help="Active is who has played in so many days. [default: 90, where there are times]",
        ),
    ] = None,
    active_matches: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Active is who has played in so many matches of the history. [default: a tenth "
            "of them, where there are no times]",
        ),
    ] = None,
    points: Annotated[
        int,
        typer.Option(
            show_default=False,
            help="Moments to look at, evenly spread in time, or over the matches where these are "
            "counted. [default: 25]",
        ),
    ] = 25,
    output: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="The table (.csv, .parquet, .json, .jsonl, .tsv) or the chart (.svg, .png, .pdf). "
            "[default: both, in the terminal]",
        ),
    ] = None,
    details: Annotated[
        bool,
        typer.Option(
            "--details", help="Print every moment of every system, not just the end of each."
        ),
    ] = False,
    no_band: Annotated[
        bool,
        typer.Option("--no-band", help="Leave the spread of the ratings out of the chart in FILE."),
    ] = False,
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="Chart title.")] = None,
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
    """Show how the ratings of the active players rise or fall, and what moves them.

    Beside their mean rating and deviation over time: what changes in matches, newcomers and
    leavers moved it by, how many points each match created, and what of that comes from scaling
    changes by performance, where a system does so.
    """
    from equipoise._jit import watch_compilation
    from equipoise.cli.reading import history_request
    from equipoise.cli.report import print_json, progress, say, say_compiled
    from equipoise.numeric.workers import available_cores
    from equipoise.workflows import drift as work
    from equipoise.workflows.settings import read_settings
    from equipoise.workflows.systems_choice import chosen_systems

    settings = read_settings(parameters)
    request = work.DriftRequest(
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
        active_days=active_days,
        active_matches=active_matches,
        points=points,
        output=output,
        band=not no_band,
        title=title,
        threads=threads or available_cores(),
    )
    systems = chosen_systems(system or [], settings, set_ or [])
    with (
        watch_compilation(lambda: say("Compiling for this machine, once ...")) as compilation,
        progress("rating") as show,
    ):
        answer = work.audit_drift(systems, request, show)
    if as_json:
        print_json(work.message_of(answer))
        return
    _print(answer, title, details, to_file=output is not None)
    if output is not None:
        say(f"{'drew' if work.is_chart(output) else 'wrote'} {output}")
    say_compiled(compilation)


def _print(answer: DriftAnswer, title: str | None, details: bool, to_file: bool) -> None:
    """Print chart and table where no file was asked for, and on standard error the rest."""
    from equipoise.cli.drift_tables import drift_lines, ends_table, moments_table
    from equipoise.cli.reading import reading_lines
    from equipoise.cli.report import print_chart, print_lines, print_table, say
    from equipoise.cli.terminal import sheet
    from equipoise.workflows.drift import message_of, text_of

    told = message_of(answer)
    if not to_file:
        print_chart(text_of(answer, title=title, **sheet()._asdict()))
        print_lines("")
        print_table(
            *(moments_table(told) if details or len(told.systems) == 1 else ends_table(told))
        )
    for line in (*drift_lines(told), *reading_lines(told.history)):
        say(line)
