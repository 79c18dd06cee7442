"""equipoise plot: ratings over time, or their distribution, as a chart."""

from __future__ import annotations

from equipoise.cli import options
from equipoise.cli.declaring import option
from equipoise.cli.report import print_chart, print_json, reading_lines, say, sheet, working

EXAMPLE = """\b
Example:
  equipoise plot examples/contests.csv --player jade-kite
  equipoise plot examples/contests.csv --player jade-kite --player birch-fox --output chart.svg
  equipoise plot examples/contests.csv --distribution --min-matches 10 --output ratings.png"""


def plot(
    *,
    history: options.History,
    player: list[str] | None = option(
        None, "A player whose ratings are drawn, or marked in --distribution. Repeatable.", "ID"
    ),
    distribution: bool = option(False, "Draw the distribution of all ratings."),
    min_matches: int | None = option(
        None, "Least number of rated matches of players in --distribution. [default: 1]", min=1
    ),
    output: str | None = option(
        None, "Write the chart: .svg, .png or .pdf. [default: draw it in the terminal]", "FILE"
    ),
    conservative: bool = option(
        False, "With --distribution: of conservative ratings, the rating minus three deviations."
    ),
    by: str | None = option(
        None,
        "Horizontal axis. time: the time of the match. match: its number in the history. played: "
        "the number of matches that the player has played. [default: time, or match without times]",
        "time|match|played",
    ),
    no_band: bool = option(False, "Leave out the band of the 95 % range."),
    no_performances: bool = option(False, "Leave out the dots of performances."),
    title: str | None = option(None, "Chart title. [default: names of the players]", "TEXT"),
    size: str | None = option(
        None, "Size of the chart in the file, in inches. [default: 7.5x4.8]", "WIDTHxHEIGHT"
    ),
    system: options.System,
    threads: options.Threads,
    reading: options.Reading,
    as_json: options.Json,
) -> None:
    """Draw players' ratings over time, or the distribution of all ratings.

    The line shows the rating after each match, the band its 95 % range. Dots show
    performances, if the system has them. --json prints the numbers of the chart.
    """
    from equipoise.analysis.files import plot as work

    settings = system.settings()
    request = work.PlotRequest(
        history=reading.request(history, settings),
        players=tuple(player or ()),
        spread=distribution,
        min_matches=min_matches,
        conservative=conservative,
        along=by,
        band=not no_band,
        performances=not no_performances,
        output=output,
        size=size,
        title=title,
        threads=options.thread_count(threads),
    )
    with working("rating") as job:
        shown = work.plot(system.chosen(settings), request, job.progress)
    if as_json:
        print_json(work.plot_json(shown))
        return
    if output is None:
        print_chart(work.text_of(shown, sheet()))
    else:
        say(f"drew {output}")
    say(*reading_lines(shown.history))
