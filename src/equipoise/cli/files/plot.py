"""equipoise plot: ratings over time, or of a whole pool, as a chart."""

from __future__ import annotations

from equipoise.cli import options
from equipoise.cli.declaring import option

EXAMPLE = """\b
Example:
  equipoise plot examples/contests.csv --player jade-kite
  equipoise plot examples/contests.csv --player jade-kite --player birch-fox --output chart.svg
  equipoise plot examples/contests.csv --distribution --min-matches 10 --output ratings.png"""


def plot(
    *,
    history: options.History,
    player: list[str] | None = option(None, "Whose ratings to draw, or mark; repeatable.", "ID"),
    distribution: bool = option(False, "Draw how the ratings of all are spread."),
    min_matches: int | None = option(
        None, "Rated matches of those in --distribution. [default: 1]", min=1
    ),
    output: str | None = option(
        None, "The chart: .svg, .png or .pdf. [default: drawn in the terminal]", "FILE"
    ),
    by: str | None = option(
        None,
        "What runs to the right: time, the number of the match in the history, or how many "
        "matches the player has had. [default: time where there are times, else match]",
        "time|match|played",
    ),
    no_band: bool = option(False, "Leave out the two deviations either way."),
    no_performances: bool = option(False, "Leave out the performances."),
    title: str | None = option(None, "Instead of the players' names.", "TEXT"),
    size: str | None = option(None, "Of the file, in inches. [default: 7.5x4.8]", "WIDTHxHEIGHT"),
    system: options.System,
    threads: options.Threads,
    reading: options.Reading,
    as_json: options.Json,
) -> None:
    """Draw players' ratings through a history, or how the ratings of all are spread.

    A line is the rating after each match, its band two deviations either way, and dots are
    performances, where the system has them. With --json the numbers behind the chart.
    """
    from equipoise.analysis.files import plot as workflow
    from equipoise.analysis.files.plot import message_of, text_of
    from equipoise.cli.options import reading_lines
    from equipoise.cli.report import print_chart, print_json, say, sheet, working
    from equipoise.numeric.workers import available_cores

    settings = system.settings()
    request = workflow.PlotRequest(
        history=reading.request(history, settings),
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
    with working("rating") as job:
        shown = workflow.plot(system.chosen(settings), request, job.progress)
    if as_json:
        print_json(message_of(shown))
        return
    if output is None:
        # As wide as the terminal, in colours on one and plain in a pipe.
        print_chart(text_of(shown, sheet()))
    else:
        say(f"drew {output}")
    say(*reading_lines(shown.history))
