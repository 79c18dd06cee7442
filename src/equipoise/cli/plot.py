"""equipoise plot: ratings over time, or of a whole pool, as a chart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from equipoise.cli import options

if TYPE_CHECKING:
    from equipoise.workflows.drawing import Plot

EXAMPLE = """\b
Example:
  equipoise plot examples/contests.csv --player jade-kite
  equipoise plot examples/contests.csv --player jade-kite --player birch-fox --output chart.svg
  equipoise plot examples/contests.csv --distribution --min-matches 10 --output ratings.png"""


def plot(
    history: options.History,
    player: Annotated[
        list[str] | None,
        typer.Option(metavar="ID", help="Whose ratings to draw, or mark; repeatable."),
    ] = None,
    distribution: Annotated[
        bool, typer.Option("--distribution", help="Draw how the ratings of all are spread.")
    ] = False,
    min_matches: Annotated[
        int | None,
        typer.Option(min=1, help="Rated matches of those in --distribution. [default: 1]"),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="The chart: .svg, .png or .pdf. [default: drawn in the terminal]"
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="time|match|played",
            help="What runs to the right: time, the number of the match in the history, or how "
            "many matches the player has had. [default: time where there are times, else match]",
        ),
    ] = None,
    no_band: Annotated[
        bool, typer.Option("--no-band", help="Leave out the two deviations either way.")
    ] = False,
    no_performances: Annotated[
        bool, typer.Option("--no-performances", help="Leave out the performances.")
    ] = False,
    title: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Instead of the players' names.")
    ] = None,
    size: Annotated[
        str | None,
        typer.Option(metavar="WIDTHxHEIGHT", help="Of the file, in inches. [default: 7.5x4.8]"),
    ] = None,
    system: options.System = None,
    set_: options.Set = None,
    parameters: options.Parameters = None,
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
    """Draw players' ratings through a history, or how the ratings of all are spread.

    A line is the rating after each match, its band two deviations either way, and dots are
    performances, where the system has them. With --json the numbers behind the chart.
    """
    from equipoise._jit import watch_compilation
    from equipoise.cli.reading import history_request, reading_lines
    from equipoise.cli.report import print_json, progress, say
    from equipoise.numeric.workers import available_cores
    from equipoise.workflows import plot as workflow
    from equipoise.workflows.drawing import message_of
    from equipoise.workflows.settings import chosen_system, read_settings

    settings = read_settings(parameters)
    request = workflow.PlotRequest(
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
        players=tuple(player or ()),
        spread=distribution,
        min_matches=min_matches,
        along=by,
        band=not no_band,
        performances=not no_performances,
        output=output,
        size=size,
        title=title,
        threads=threads or available_cores(),
    )
    with (
        watch_compilation(lambda: say("Compiling for this machine, once ...")),
        progress("rating") as show,
    ):
        shown = workflow.plot(chosen_system(system, settings, set_ or []), request, show)
    if as_json:
        print_json(message_of(shown))
        return
    if output is None:
        _print_chart(shown)
    else:
        say(f"drew {output}")
    for line in reading_lines(shown.history):
        say(line)


def _print_chart(shown: Plot) -> None:
    """Print a chart as wide as the terminal, in colours on one and plain in a pipe."""
    from equipoise.cli.report import print_chart
    from equipoise.cli.terminal import sheet
    from equipoise.workflows.drawing import text_of

    print_chart(text_of(shown, **sheet()._asdict()))
