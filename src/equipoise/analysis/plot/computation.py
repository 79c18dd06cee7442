"""Plotting a history: read, rate, and show ratings over time or their distribution.

`CHARTS` has what `plot()` of a value draws, with the titles that the command line has too.

`plot` returns the content of the chart. `figure_of`, `text_of` and `plot_json` show it as a figure
of matplotlib, as text, and as the numbers in JSON.
"""

from __future__ import annotations

import dataclasses
import math
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from equipoise.analysis.backtest.presentation import backtest_chart, calibration_chart
from equipoise.analysis.performance.chart import places_chart, tournament_chart
from equipoise.analysis.plot import PlotRequest
from equipoise.analysis.plot.chart import (
    Along,
    RatingSeries,
    rating_figure,
    rating_rows,
    rating_series,
    rating_subtitle,
    rating_title,
)
from equipoise.analysis.plot.distribution import (
    Distribution,
    distribution,
    distribution_figure,
    distribution_rows,
    distribution_subtitle,
)
from equipoise.analysis.rate.compare import comparison_figure
from equipoise.analysis.rate.computation import check_conservative
from equipoise.analysis.reading import check_outputs, history_message, read, without_dates
from equipoise.analysis.requests import all_cores
from equipoise.analysis.systems import DEFAULT_SYSTEM
from equipoise.analysis.tune.chart import tuning_figure
from equipoise.charts import theme
from equipoise.charts.canvas import Row, Sheet, Span
from equipoise.charts.theme import Size
from equipoise.data.backtest import Backtest, Calibration, Tuning
from equipoise.data.comparison import RatingComparison
from equipoise.data.history import History
from equipoise.data.outlook import PlaceDistribution
from equipoise.data.ratings import Ratings, Trace
from equipoise.data.tournament import TournamentPerformance
from equipoise.display import HALF_WIDTH
from equipoise.errors import InvalidParameterError, NotFoundError, require
from equipoise.messages.conversion import plain
from equipoise.messages.histories import HistoryMessage
from equipoise.rating.looking_back import look_back
from equipoise.rating.registry import make_system
from equipoise.rating.replay import check_fit, replay
from equipoise.rating.system import RatingSystem
from equipoise.wording import printable

if TYPE_CHECKING:
    from matplotlib.figure import Figure


#: What a conservative rating is.
CONSERVATIVE_WORDS = "conservative ratings: the rating minus three deviations"
#: Players whose ratings are drawn if none is named.
_BEST = 3
#: Smallest and largest side of a figure, in inches.
_SIZES = (3.0, 40.0)


@dataclass(frozen=True, slots=True, eq=False)
class Plot:
    """The content of a chart, which can become a figure, text or JSON.

    history : what was read and what was left out
    along : unit of the horizontal axis
    series : one for each player, empty for a distribution; spread : None for lines
    """

    request: PlotRequest
    system: str
    history: HistoryMessage
    along: Along
    series: tuple[RatingSeries, ...]
    spread: Distribution | None

    @property
    def ratings_of(self) -> str:
        """Return the system, and which of its ratings the chart has, in words."""
        if self.request.look_back:
            return f"in hindsight: {self.system}"
        conservative = f", {CONSERVATIVE_WORDS}" if self.request.conservative else ""
        return self.system + conservative


def plot(
    system: RatingSystem | None,
    request: PlotRequest,
    progress: Callable[[int, int], None] | None = None,
) -> Plot:
    """Read, rate, and write the chart if the request names a file.

    Raises : EquipoiseError, and then nothing was written
    """
    size = _checked(request)
    system = make_system(DEFAULT_SYSTEM) if system is None else system
    if request.conservative:
        check_conservative(system)
    history, reading = read(request.history, {system.name: system})
    check_fit(system, history)
    rows = list(dict.fromkeys(history.player_row(player) for player in request.players))
    along = _along(request.along, history)
    spread: Distribution | None = None
    series: tuple[RatingSeries, ...] = ()
    if request.spread:
        ratings = replay(system, history, threads=all_cores(), progress=progress).ratings
        if request.conservative:
            ratings = dataclasses.replace(ratings, rating=ratings.conservative)
        spread = distribution(ratings, min_matches=request.min_matches or 1, rows=rows)
    else:
        trace = _trace(system, history, request.look_back, progress)
        rows = rows or _best(trace)
        series = tuple(rating_series(trace, row, along) for row in rows)
        for line in series:
            if not len(line.rating):
                raise NotFoundError(f"{line.player} has no match that {system.name} rates")
    shown = Plot(request, system.name, history_message(history, reading), along, series, spread)
    if request.output is not None:
        theme.write(figure_of(shown, size), request.output)
    return shown


def _trace(
    system: RatingSystem,
    history: History,
    hindsight: bool,
    progress: Callable[[int, int], None] | None,
) -> Trace:
    if hindsight:
        return look_back(system, history)
    trace = replay(system, history, trace=True, threads=all_cores(), progress=progress).trace
    assert trace is not None
    return trace


def _best(trace: Trace) -> list[int]:
    """Return the rows of the three players whose 95 % range was the highest at some time."""
    least = trace.columns["rating"] - HALF_WIDTH * trace.columns["deviation"]
    best = np.full(trace.history.players, -np.inf)
    np.fmax.at(best, trace.history.player, least)
    rows: list[int] = np.argsort(-best, kind="stable")[:_BEST].tolist()
    return rows


def _checked(request: PlotRequest) -> theme.Size:
    """Refuse what cannot be drawn, before reading; return the size of the file."""
    if request.spread:
        require(request.along is None, "--by", "left out with --distribution", request.along)
        rule = "left out with --distribution"
        require(not request.look_back, "--look-back", rule, request.look_back)
    elif not request.players and not request.look_back:
        raise InvalidParameterError("name players with --player, or use --distribution")
    elif request.min_matches is not None:
        raise InvalidParameterError("--min-matches is for --distribution")
    elif request.conservative:
        raise InvalidParameterError(
            "--conservative is for --distribution; over time the band shows the deviations"
        )
    if request.output is not None:
        check_outputs(request.history, {"--output": request.output})
        theme.check_file(request.output)
    return _size(request.size)


def _size(text: str | None) -> theme.Size:
    """Return WIDTHxHEIGHT as a size."""
    if text is None:
        return theme.WIDE
    low, high = _SIZES
    rule = f"WIDTHxHEIGHT in inches from {low:g} to {high:g}, such as 7.5x4.8"
    try:
        width, height = map(float, text.lower().split("x"))
    except ValueError:
        width = height = math.nan
    require(low <= width <= high and low <= height <= high, "--size", rule, text)
    return theme.Size(width, height)


def _along(wanted: Along | None, history: History) -> Along:
    if wanted is None:
        return "match" if history.time is None else "time"
    if wanted == "time" and history.time is None:
        raise InvalidParameterError(
            f"--by time needs a history with times; this one {without_dates(history)}"
        )
    return wanted


def figure_of(shown: Plot, size: Size) -> Figure:
    """Return the chart as a figure of matplotlib."""
    request = shown.request
    if shown.spread is not None:
        subtitle = distribution_subtitle(shown.ratings_of, request.min_matches or 1)
        return distribution_figure(shown.spread, subtitle=subtitle, size=size)
    return rating_figure(
        shown.series,
        system=shown.ratings_of,
        along=shown.along,
        band=request.band,
        performances=request.performances,
        size=size,
    )


def text_of(shown: Plot, sheet: Sheet) -> list[Row]:
    """Return the chart as lines of text, below its titles."""
    request, options = shown.request, sheet._asdict()
    if shown.spread is not None:
        del options["coloured"]
        title = shown.spread.title
        subtitle = distribution_subtitle(shown.ratings_of, request.min_matches or 1)
        chart = distribution_rows(shown.spread, **options)
    else:
        first, *others = shown.series
        # In text, bands of several players, or more dots than columns, hide the lines.
        drawn: dict[str, Any] = {
            "band": request.band and first.has_band and not others,
            "performances": request.performances
            and first.has_performances
            and not others
            and len(first.rating) <= sheet.columns,
        }
        title = rating_title(shown.series)
        subtitle = rating_subtitle(shown.ratings_of, **drawn)
        chart = rating_rows(shown.series, along=shown.along, **drawn, **options)
    heads = ((title, "bold"), (subtitle, "dim"))
    return [*(row for head in heads for row in _head(*head, sheet.columns)), [], *chart]


def _head(words: str, colour: str, columns: int) -> list[Row]:
    """Return a title, wrapped to the width of the chart."""
    return [[Span(line, colour)] for line in textwrap.wrap(printable(words), columns)]


def plot_json(shown: Plot) -> dict[str, Any]:
    """Return what `equipoise plot --json` prints: the numbers of the chart."""
    return {
        "system": shown.system,
        "look_back": shown.request.look_back,
        "series": [
            {
                "player": plain(line.player),
                "points": _rows(
                    match=line.matches,
                    time=[None] * len(line.matches) if line.times is None else line.times,
                    rating=line.rating,
                    deviation=line.deviation,
                    performance=line.performance,
                ),
            }
            for line in shown.series
        ],
        "distribution": None if shown.spread is None else _distribution_json(shown.spread),
        "history": shown.history,
    }


def _distribution_json(distribution: Distribution) -> dict[str, Any]:
    edges, counts = distribution.edges, distribution.counts
    return {
        **plain(distribution, "edges", "counts"),
        "percentiles": {str(percent): at for percent, at in distribution.percentiles.items()},
        "bars": _rows(**{"from": edges[:-1], "to": edges[1:], "players": counts}),
    }


def _rows(**columns: Any) -> list[dict[str, Any]]:
    """Return a row for each element of columns of one length."""
    return [
        dict(zip(columns, row, strict=True))
        for row in zip(*map(plain, columns.values()), strict=True)
    ]


def trace_chart(
    trace: Trace,
    players: Sequence[object],
    *,
    by: Along | None = None,
    title: str | None = None,
    system: str = "",
) -> Figure:
    """Return the chart of players' ratings over time.

    players : ids; none means the three with the best last rating
    Raises : NotFoundError, InvalidParameterError; EquipoiseError without matplotlib
    """
    history = trace.history
    if by == "time" and history.time is None:
        raise InvalidParameterError("by must be match or played in a history without dates")
    along: Along = by or ("match" if history.time is None else "time")
    rows = [history.player_row(player) for player in players] or _best_last(trace)
    series = [rating_series(trace, row, along) for row in dict.fromkeys(rows)]
    for line in series:
        if not len(line.rating):
            raise NotFoundError(f"{line.player} has no rated match in this trace")
    return rating_figure(series, title=title, system=system, along=along)


def _best_last(trace: Trace) -> list[int]:
    """Return the rows of the players with the best last rating in a trace."""
    rated = np.flatnonzero(np.isfinite(trace.columns["rating"]))
    last = np.full(trace.history.players, -np.inf)
    # Of a player's rows the last one is kept.
    last[trace.history.player[rated]] = trace.columns["rating"][rated]
    best = np.argsort(-last, kind="stable")[:_BEST]
    rows: list[int] = best[np.isfinite(last[best])].tolist()
    require(bool(rows), "trace", "one with a rated match", "none")
    return rows


def ratings_chart(
    ratings: Ratings,
    players: Sequence[object],
    *,
    min_matches: int = 1,
    title: str | None = None,
    system: str = "",
) -> Figure:
    """Return the chart of the distribution of ratings; players are marked.

    Raises : NotFoundError, InvalidDataError; EquipoiseError without matplotlib
    """
    row_of = {str(player): row for row, player in enumerate(ratings.player_ids.tolist())}
    for player in players:
        if str(player) not in row_of:
            raise NotFoundError(f"no rating for player {str(player)!r}")
    rows = [row_of[str(player)] for player in dict.fromkeys(players)]
    shown = distribution(ratings, min_matches=min_matches, rows=rows)
    subtitle = distribution_subtitle(system, min_matches)
    return distribution_figure(shown, title=title, subtitle=subtitle)


#: What `plot()` of a value draws, by its type; `draw` of `equipoise.display` looks here.
CHARTS: dict[type, Callable[..., Figure]] = {
    Backtest: backtest_chart,
    Calibration: calibration_chart,
    PlaceDistribution: places_chart,
    RatingComparison: comparison_figure,
    Ratings: ratings_chart,
    TournamentPerformance: tournament_chart,
    Trace: trace_chart,
    Tuning: tuning_figure,
}
