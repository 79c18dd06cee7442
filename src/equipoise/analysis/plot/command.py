"""equipoise plot: ratings over time, or their distribution, as a chart."""

from __future__ import annotations

from equipoise.analysis.plot import PlotRequest
from equipoise.cli import options
from equipoise.cli.report import print_chart, print_json, reading_lines, say, sheet, working


def plot(*, request: PlotRequest, system: options.System, as_json: options.Json) -> None:
    """Draw players' ratings over time, or the distribution of all ratings.

    The line shows the rating after each match, the band its 95 % range. Dots show performances, if
    the system has them. --look-back shows who was best at each time, given all results. --json
    prints the numbers of the chart.

    Example:
      equipoise plot examples/contests.csv --player jade-kite
      equipoise plot examples/contests.csv --player jade-kite --player birch-fox --output chart.svg
      equipoise plot examples/league.csv --look-back --system glicko
      equipoise plot examples/contests.csv --distribution --min-matches 10 --output ratings.png
    """
    from equipoise.analysis.plot import computation as work

    settings = system.settings()
    request = options.weighed(request, settings)
    with working("rating") as job:
        shown = work.plot(system.chosen(settings), request, job.progress)
    if as_json:
        print_json(work.plot_json(shown))
        return
    if request.output is None:
        print_chart(work.text_of(shown, sheet()))
    else:
        say(f"drew {request.output}")
    say(*reading_lines(shown.history))
