"""The charts that values draw of themselves: what `plot()` returns, with titles by default.

The command line draws the same charts of files, with these titles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from equipoise.analysis.backtest.chart import calibration_figure
from equipoise.analysis.performance.chart import performance_figure, places_figure
from equipoise.analysis.plot.chart import Along, rating_figure, rating_series
from equipoise.analysis.plot.distribution import (
    distribution,
    distribution_figure,
    distribution_subtitle,
)
from equipoise.analysis.rate.compare import comparison_figure
from equipoise.analysis.tune.chart import tuning_figure
from equipoise.data.backtest import BASELINE, Backtest, Calibration, Tuning
from equipoise.data.comparison import RatingComparison
from equipoise.data.outlook import PlaceDistribution
from equipoise.data.ratings import Ratings, Trace
from equipoise.data.tournament import PerformanceSeries, TournamentPerformance
from equipoise.errors import InvalidParameterError, NotFoundError, require
from equipoise.wording import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure


#: Players whose ratings are drawn if none is named.
_BEST = 3


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
    rows = [history.player_row(player) for player in players] or _best(trace)
    series = [rating_series(trace, row, along) for row in dict.fromkeys(rows)]
    for line in series:
        if not len(line.rating):
            raise NotFoundError(f"{line.player} has no rated match in this trace")
    return rating_figure(series, title=title, system=system, along=along)


def _best(trace: Trace) -> list[int]:
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


def calibration_chart(calibration: Calibration, *, title: str | None = None) -> Figure:
    """Return the chart of one calibration. Raises : EquipoiseError without matplotlib."""
    return calibration_figure(
        {"mean error": calibration}, title=title or "Calibration", subtitle=_CALIBRATION
    )


_CALIBRATION = "scores observed where they were expected; the number is the mean error"


def backtest_chart(backtest: Backtest, *, title: str | None = None) -> Figure:
    """Return the chart of the calibration of all systems, without the baseline.

    Raises : InvalidParameterError   more systems than can be distinguished; EquipoiseError
        without matplotlib
    """
    shown = {
        scores.label: scores.calibration for scores in backtest.systems if scores.label != BASELINE
    }
    return calibration_figure(
        shown,
        title=title or f"Calibration on {counted(backtest.matches, 'match', 'matches')}",
        subtitle=f"{backtest.for_whom}; {_CALIBRATION}",
    )


def tournament_chart(performance: TournamentPerformance, *, name: str) -> Figure:
    """Return a chart of the ratings with error bars; without an equilibrium, class by class.

    name : of the tournament, within the title
    Raises : EquipoiseError without matplotlib
    """
    if performance.prior > 0:
        kind = "regularised performance ratings"
    elif performance.exists:
        kind = "perfect performance ratings"
    else:
        kind = "no equilibrium: ratings within each class, and bounds between classes"
    return performance_figure(
        series_of(performance),
        title=f"Performance in {name}",
        subtitle=f"{kind}, with {100 * performance.confidence:g} % confidence",
    )


def places_chart(
    distribution: PlaceDistribution, names: Sequence[str] | None, *, title: str | None = None
) -> Figure:
    """Return the chart of the places of teams. Raises : EquipoiseError without matplotlib.

    names : of the teams; None numbers them from 1
    """
    numbers = range(1, len(distribution.mean) + 1)
    return places_figure(
        [f"team {number}" for number in numbers] if names is None else [*map(str, names)],
        distribution.mean,
        distribution.lower,
        distribution.upper,
        title=title or "Places",
        subtitle=f"mean and 90 % range in {counted(distribution.samples, 'sample')}",
    )


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


def series_of(performance: TournamentPerformance) -> PerformanceSeries:
    """Return the players with games, in the order of the table, as a series for charts."""
    standing = performance.standing
    rows = performance.order
    rows = rows[standing.games[rows] > 0]
    solved = performance.exists or performance.prior > 0
    return PerformanceSeries(
        names=tuple(str(name) for name in performance.player_ids[rows].tolist()),
        ppr=(standing.ppr if solved else standing.class_ppr)[rows],
        error=standing.error[rows],
        tpr=standing.tpr[rows],
        rating=standing.rating[rows],
        points=standing.points[rows],
        games=standing.games[rows],
        lower=standing.lower[rows],
        upper=standing.upper[rows],
        group=None if solved else standing.class_of[rows],
    )
