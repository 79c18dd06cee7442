"""Figures of performances, a row for each player, and of the places that teams may take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from equipoise.arrays import Flags, Floats, Ints
from equipoise.charts import theme
from equipoise.charts.theme import shortened
from equipoise.data.outlook import PlaceDistribution
from equipoise.data.tournament import PerformanceSeries, TournamentPerformance
from equipoise.errors import require
from equipoise.wording import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text


#: Largest number of rows; for more players, only the first ones are shown.
MOST_ROWS = 100
SHOWN_ROWS = 50
#: Intervals widen the range of the ratings by at most this share on each side; the second number is
#: the least range, in rating points, that the share is taken of.
_WIDEN, _USUAL_RANGE = 0.75, 400.0
#: Smallest width of the axis, in rating points, so that tiny differences look tiny.
_LEAST_RANGE = 100.0


def listed(series: PerformanceSeries, most: int = MOST_ROWS, shown: int = SHOWN_ROWS) -> Ints:
    """Return the rows of the players in order: all if there are at most `most`, else `shown`.

    They are ordered by PPR. A player without one is ordered by the bound or the middle of the
    bounds, and comes last without bounds. If PPRs are only comparable within a class, the classes
    follow one another.
    """
    place = _place(series)
    unknown = np.isnan(place)
    group = np.zeros(series.players, np.int64) if series.group is None else series.group
    # The last key counts most; equal players keep the order of the series.
    order = np.lexsort((-np.nan_to_num(series.tpr), -np.nan_to_num(place), unknown, group))
    return np.asarray(order if len(order) <= most else order[:shown], dtype=np.int64)


def _place(series: PerformanceSeries) -> Floats:
    bounds = np.stack([series.lower, series.upper])
    known = ~np.isnan(bounds)
    with np.errstate(invalid="ignore"):
        middle = np.where(known, bounds, 0.0).sum(axis=0) / known.sum(axis=0)
    return np.asarray(np.where(np.isnan(series.ppr), middle, series.ppr))


def new_groups(series: PerformanceSeries, rows: Ints) -> Flags:
    """Return which rows of a list begin a new class, in the shape of `rows`.

    None if there are no classes, or if they mostly have a single player.
    """
    if series.group is None:
        return np.zeros(len(rows), np.bool_)
    begins = np.concatenate([[False], np.diff(series.group[rows]) != 0])
    return begins if 2 * np.count_nonzero(begins) < len(rows) else np.zeros_like(begins)


def rating_range(series: PerformanceSeries, rows: Ints) -> tuple[float, float]:
    """Return a range that shows all ratings and bounds, and as much of the intervals as fits.

    With few games, intervals of a thousand points would compress everything else.
    """
    columns = (series.ppr, series.tpr, series.rating, series.lower, series.upper)
    marks = np.concatenate([column[rows] for column in columns])
    marks = marks[np.isfinite(marks)]
    if not len(marks):
        return -_LEAST_RANGE / 2, _LEAST_RANGE / 2
    low, high = float(marks.min()), float(marks.max())
    error = np.nan_to_num(series.error[rows])
    ends = np.concatenate([series.ppr[rows] - error, series.ppr[rows] + error, [low, high]])
    span = max(high - low, _USUAL_RANGE)
    low = max(float(np.nanmin(ends)), low - _WIDEN * span)
    high = min(float(np.nanmax(ends)), high + _WIDEN * span)
    edge = max(0.03 * (high - low), (_LEAST_RANGE - (high - low)) / 2)
    return low - edge, high + edge


def rating_text(series: PerformanceSeries, row: int) -> str:
    """Return a player's rating as text: "2857 \N{PLUS-MINUS SIGN} 120", or bounds."""
    if np.isfinite(series.ppr[row]):
        error = series.error[row]
        width = f" \N{PLUS-MINUS SIGN} {error:.0f}" if np.isfinite(error) else ""
        return f"{series.ppr[row]:.0f}{width}"
    lower, upper = series.lower[row], series.upper[row]
    if np.isfinite(lower) and np.isfinite(upper):
        return f"{lower:.0f} to {upper:.0f}"
    if np.isfinite(lower):
        return f"at least {lower:.0f}"
    return f"at most {upper:.0f}" if np.isfinite(upper) else ""


#: Points from one row to the next, and inches for titles, legend and axis.
_PITCH, _FRAME = 19.0, 1.75
#: Letters of a name, per inch of width.
_LETTERS_PER_INCH = 3.0
#: Points between the columns of text.
_GAP = 9.0
_PPR, _TPR = theme.PALETTE[0], theme.PALETTE[1]
#: Marks of the three ratings, which can be distinguished without colours.
_DOT: dict[str, Any] = {"marker": "o", "ms": 7.0, "color": _PPR, "mec": theme.PAGE, "mew": 1.0}
_DIAMOND: dict[str, Any] = {"marker": "D", "ms": 5.0, "mfc": "none", "mec": _TPR, "mew": 1.5}
_TICK: dict[str, Any] = {"marker": "|", "ms": 10.0, "mec": "#8a919e", "mew": 2.0}


def performance_figure(
    series: PerformanceSeries,
    *,
    title: str,
    subtitle: str,
    interval: str = "95 %",
    width: float = theme.WIDE.width,
) -> Figure:
    """Return the figure of the players of a tournament, with the best performance at the top.

    Up to a hundred players have one row each. Of more players, only the first fifty are shown, and
    the figure says so. One-sided bounds are bars with an arrow. Intervals that continue beyond the
    figure end in an arrow.

    interval : the meaning of the error bars, for the legend
    width : in inches; the height follows from the number of rows
    """
    rows = listed(series)
    size = theme.Size(width, _FRAME + len(rows) * _PITCH / 72)
    with theme.style():
        figure, axes = theme.new_figure(title, subtitle, size)
        low, high = rating_range(series, rows)
        axes.set_xlim(low, high)
        axes.set_ylim(len(rows) - 0.5, -0.5)
        _draw_rows(axes, series, rows)
        _draw_intervals(axes, series, rows)
        _draw_bounds(axes, series, rows)
        _draw_marks(axes, series, rows)
        _write_names(axes, series, rows, width)
        _set_axis(axes, series, len(rows), width)
        _write_numbers(figure, axes, series, rows)
        _write_legend(figure, axes, series, rows, interval)
    return figure


def _draw_rows(axes: Axes, series: PerformanceSeries, rows: Ints) -> None:
    """Draw a thin line along every row, and separate classes."""
    axes.grid(True, axis="x")
    axes.grid(False, axis="y")
    places = np.arange(len(rows))
    axes.hlines(places, 0, 1, theme.GRID, lw=0.8, transform=axes.get_yaxis_transform(), zorder=0.5)
    begins = np.flatnonzero(new_groups(series, rows)) - 0.5
    shared: dict[str, Any] = {"transform": axes.get_yaxis_transform(), "clip_on": False}
    axes.hlines(begins, 0, 1, "#8a919e", lw=1.0, zorder=0.6, **shared)


def _draw_intervals(axes: Axes, series: PerformanceSeries, rows: Ints) -> None:
    low, high = axes.get_xlim()
    for place, row in enumerate(rows.tolist()):
        ppr, error = float(series.ppr[row]), float(series.error[row])
        if not np.isfinite(ppr) or not np.isfinite(error):
            continue
        ends = max(ppr - error, low), min(ppr + error, high)
        axes.plot(ends, [place] * 2, color=_PPR, lw=2.2, alpha=0.55, zorder=2)
        for end, beyond, marker in zip(ends, (low, high), ("<", ">"), strict=True):
            if end == beyond:
                axes.plot(end, place, marker=marker, ms=6, color=_PPR, clip_on=False, zorder=2)


def _draw_bounds(axes: Axes, series: PerformanceSeries, rows: Ints) -> None:
    """Draw "at least" and "at most" as bars with arrows, and both as a span between two bars."""
    low, high = axes.get_xlim()
    arrow = 0.06 * (high - low)
    missing = np.isnan(series.ppr)
    for place, row in enumerate(rows.tolist()):
        lower, upper = float(series.lower[row]), float(series.upper[row])
        bounds = [bound for bound in (lower, upper) if np.isfinite(bound)]
        if not missing[row] or not bounds:
            continue
        look: dict[str, Any] = {"color": _PPR, "zorder": 2.5, "clip_on": False}
        axes.plot(bounds, [place] * len(bounds), ls="none", marker="|", ms=11, mew=2.4, **look)
        ends = bounds if len(bounds) == 2 else [bounds[0]] * 2
        if len(bounds) == 1:
            ends[1] += arrow if np.isfinite(lower) else -arrow
            axes.plot(ends[1], place, marker=">" if np.isfinite(lower) else "<", ms=6, **look)
        axes.plot(ends, [place] * 2, lw=2.2, alpha=0.55, **look)


def _draw_marks(axes: Axes, series: PerformanceSeries, rows: Ints) -> None:
    places = np.arange(len(rows))
    for values, look, order in (
        (series.rating, _TICK, 2.2),
        (series.ppr, _DOT, 3.0),
        (series.tpr, _DIAMOND, 3.2),
    ):
        axes.plot(values[rows], places, ls="none", zorder=order, **look)


def _write_names(axes: Axes, series: PerformanceSeries, rows: Ints, width: float) -> None:
    letters = max(int(_LETTERS_PER_INCH * width), 8)
    names = [shortened(series.names[row], letters) for row in rows.tolist()]
    axes.set_yticks(np.arange(len(rows)), names)
    axes.tick_params(axis="y", length=0, labelcolor=theme.INK, pad=9)


def _set_axis(axes: Axes, series: PerformanceSeries, shown: int, width: float) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(nbins=max(int(0.6 * width), 2), integer=True))
    left_out = series.players - shown
    more = f"  (and {counted(left_out, 'more player')})" if left_out else ""
    axes.set_xlabel(f"rating{more}")


def _write_numbers(figure: Figure, axes: Axes, series: PerformanceSeries, rows: Ints) -> None:
    """Write score and rating at the right of every row, in two columns."""
    columns: list[tuple[list[Text], float]] = []
    for texts, colour in (
        ([f"{series.points[row]:g}/{series.games[row]:g}" for row in rows], theme.MUTED),
        ([rating_text(series, row) for row in rows.tolist()], theme.WORDS[0]),
    ):
        written = [
            axes.text(1.0, place, text, color=colour, va="center_baseline", ha="right")
            for place, text in enumerate(texts)
        ]
        columns.append((written, max(map(theme.text_width, written))))
    room = sum(wide + _GAP for _, wide in columns)
    theme.fit_axes(figure, axes, right=room)
    box = axes.get_position()
    legend = 1.5 * theme.SMALL / (72 * figure.get_size_inches()[1])
    axes.set_position((box.x0, box.y0, box.width, box.height - legend))
    points = 72 * figure.get_size_inches()[0] * axes.get_position().width
    end = 0.0
    for written, wide in columns:
        end += wide + _GAP
        for text in written:
            text.set_transform(axes.get_yaxis_transform())
            text.set_x(1.0 + end / points)


def _write_legend(
    figure: Figure, axes: Axes, series: PerformanceSeries, rows: Ints, interval: str
) -> None:
    """Write the legend of the marks used, in one line between titles and rows."""
    entries: list[tuple[str, dict[str, Any], Floats]] = [
        (f"PPR and its {interval} interval", {**_DOT, "ls": "-", "lw": 2.2}, series.ppr),
        ("TPR", {**_DIAMOND, "ls": "none"}, series.tpr),
        ("rating before", {**_TICK, "ls": "none"}, series.rating),
    ]
    if not np.isfinite(series.error[rows]).any():
        entries[0] = ("PPR", {**_DOT, "ls": "none"}, series.ppr)
    seen = [entry for entry in entries if np.isfinite(entry[2][rows]).any()]
    theme.write_legend(
        figure,
        axes.get_position().y1,
        [(name, look) for name, look, _ in seen],
        borderaxespad=0.4,
        handlelength=1.5,
        handletextpad=0.5,
        columnspacing=1.6,
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


#: Teams that have a row; of more, only those with the best mean place are shown.
MOST_TEAMS = 50
#: Inches: the titles and the axis, and a row.
_AROUND_PLACES, _PLACE_ROW = 1.7, 0.3
_PLACE_LETTERS = 28


def places_figure(
    names: Sequence[str], mean: Floats, lower: Ints, upper: Ints, *, title: str, subtitle: str
) -> Figure:
    """Return the figure of teams, the best mean place at the top.

    names, mean, lower, upper : of every team: its mean place, and the range of its places
    Raises : InvalidParameterError   other than one name for each team
    """
    require(len(names) == len(mean), "names", f"one for each of {len(mean)} teams", len(names))
    rows = np.argsort(mean, kind="stable")[:MOST_TEAMS]
    if len(rows) < len(mean):
        subtitle = f"{subtitle}; the first {len(rows)} of {len(mean):,} teams"
    size = theme.Size(theme.WIDE.width, _AROUND_PLACES + _PLACE_ROW * len(rows))
    with theme.style():
        figure, axes = theme.new_figure(title, subtitle, size)
        at = np.arange(len(rows))
        axes.hlines(at, lower[rows], upper[rows], color=theme.PALETTE[0], lw=5.0, alpha=0.35)
        axes.plot(mean[rows], at, "o", color=theme.PALETTE[0], mec=theme.PAGE, ms=8.0)
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set_yticks(at, [shortened(names[row], _PLACE_LETTERS) for row in rows.tolist()])
        axes.grid(visible=True, axis="x")
        axes.grid(visible=False, axis="y")
        theme.set_horizontal_axis(
            axes, np.concatenate([lower[rows], upper[rows]]), "place", size.width
        )
        theme.fit_axes(figure, axes, right=theme.MARGIN)
    return figure


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
