"""Comparing two tables of ratings: read both, compare, write the table and the chart.

In the chart every dot is a player. Those above the line rose, those below fell; who moved most is
named.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from equipoise.analysis.rate import CompareRequest
from equipoise.analysis.requests import shared
from equipoise.arrays import Floats
from equipoise.charts import theme
from equipoise.charts.theme import around, shortened, signed
from equipoise.data.comparison import MovedBy, RatingComparison
from equipoise.data.files import check_distinct
from equipoise.evaluate.rating_comparison import compare_ratings
from equipoise.formats import write_table
from equipoise.formats.writing import check_target
from equipoise.messages.conversion import plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def compare(request: CompareRequest) -> RatingComparison:
    """Read both tables, compare, write. Raises : EquipoiseError, and then nothing was written."""
    sources = {"OLD": request.old, "NEW": request.new}
    inputs = {name: source for name, source in sources.items() if isinstance(source, str)}
    # Both may be the same file; only outputs must be others.
    for name, source in inputs.items():
        check_distinct({name: source, "--output": request.output, "--chart": request.chart})
    check_distinct({"--synonyms": request.synonyms, "--output": request.output})
    if request.output is not None:
        check_target(request.output)
    if request.chart is not None:
        theme.check_file(request.chart)
    comparison = compare_ratings(request.old, request.new, **shared(request, compare_ratings))
    if request.output is not None:
        write_table(comparison, request.output)
    if request.chart is not None:
        theme.write(comparison_figure(comparison), request.chart)
    return comparison


def mapping_of(comparison: RatingComparison) -> str | None:
    """Return the line between the scales as `--initial-mapping` takes it; None without a line."""
    if comparison.line is None:
        return None
    ratings = comparison.old_rating[comparison.in_both]
    middle, spread = float(ratings.mean()), float(ratings.std())
    # Two round ratings of the old scale: digits that matter on scales of 50 points and of 3000.
    digits = 1 - int(np.floor(np.log10(spread)))
    ends = [round(middle - spread, digits), round(middle + spread, digits)]
    return ",".join(f"{end:.10g}={comparison.line.at(end):.6g}" for end in ends)


#: Fields and properties of a comparison that its JSON has under their names.
_FIELDS = (
    *("old", "new", "players", "scale", "reason", "as_they_are", "on_line"),
    *("pearson", "spearman", "kendall", "pairs", "same_order", "reverse_order", "tied"),
    *("with_deviations", "large", "notes"),
)
#: Columns of the table of all players that its lists leave out.
_LEFT_OUT = ("found_in", "old_on_scale")


def comparison_json(
    comparison: RatingComparison, top: int = 10, by: MovedBy = "rating"
) -> dict[str, Any]:
    """Return what `equipoise compare --json` prints. top : most players in each list."""
    line = comparison.line
    return {
        **{name: plain(getattr(comparison, name)) for name in _FIELDS},
        "only_old": len(comparison.only_old),
        "only_new": len(comparison.only_new),
        "only_old_players": comparison.only_old[:top],
        "only_new_players": comparison.only_new[:top],
        "line": None if line is None else {**plain(line), "mapping": mapping_of(comparison)},
        "risen": comparison.risen(top, by=by).drop(_LEFT_OUT, strict=False).to_dicts(),
        "fallen": comparison.fallen(top, by=by).drop(_LEFT_OUT, strict=False).to_dicts(),
    }


#: Players that are named on either side of the line.
_NAMED = 4
#: With more dots than this, a figure shows how many players share a place.
_DOTS = 2_000
#: Cells of a figure with many players, from side to side.
_CELLS = 70
_LETTERS = 22
#: Letters of the name of a table.
_TABLE = 32
#: Points from the edge of the axes to the names.
_LEAD = 14.0
#: Points between a line and its name.
_GAP = 4.0
#: Colours of the named players: of those who rose, and of those who fell.
_COLOURS = (2, 1)


def _name(name: str) -> str:
    """Return the name of a table; of a path, that of the file."""
    return shortened(Path(name).name or name, _TABLE)


def _ends(comparison: RatingComparison, low: float, high: float) -> Floats:
    """Return the new ratings at two old ratings on the line."""
    ends = np.array([low, high])
    if comparison.scale == "line" and comparison.line is not None:
        return np.asarray(comparison.line.intercept + comparison.line.slope * ends)
    return ends


SIZE = theme.Size(7.5, 6.0)


def comparison_figure(
    comparison: RatingComparison, *, title: str | None = None, size: theme.Size = SIZE
) -> Figure:
    """Return the figure of old ratings against new ones."""
    title = title or f"{_name(comparison.new)} against {_name(comparison.old)}"
    what = "between the two scales" if comparison.scale == "line" else "of equal ratings"
    subtitle = f"players above the line {what} rose, those below it fell"
    if comparison.players > _DOTS:
        subtitle += "; darker cells have more players"
    both = comparison.in_both
    x, y = comparison.old_rating[both], comparison.new_rating[both]
    across, up = around(x.tolist(), 0, 1, ()), around(y.tolist(), 0, 1, ())
    with theme.style():
        figure, axes = theme.new_figure(title, subtitle, size)
        axes.set_xlim(across.low, across.high)
        axes.set_ylim(up.low, up.high)
        axes.grid(axis="x")
        axes.set_xlabel(f"rating in {_name(comparison.old)}")
        axes.set_ylabel(f"rating in {_name(comparison.new)}")
        _draw_players(axes, x, y, (across.low, across.high, up.low, up.high))
        ends = (across.low, across.high)
        axes.plot(
            ends, _ends(comparison, *ends), color=theme.MUTED, lw=1.2, ls=(0, (4, 3)), zorder=3
        )
        _name_movers(figure, axes, comparison)
    return figure


def _draw_players(
    axes: Axes, x: Floats, y: Floats, extent: tuple[float, float, float, float]
) -> None:
    """Draw a dot for every player; of many, how many share a cell."""
    if len(x) <= _DOTS:
        area = float(np.clip(4000 / len(x), 8, 40))
        axes.scatter(x, y, s=area, color=theme.PALETTE[0], alpha=0.55, linewidths=0, zorder=2)
        return
    from matplotlib.colors import LinearSegmentedColormap

    shades = LinearSegmentedColormap.from_list("players", ["#c9dbf3", theme.PALETTE[0], theme.INK])
    axes.hexbin(
        *(x, y),
        gridsize=_CELLS,
        bins="log",
        mincnt=1,
        cmap=shades,
        extent=extent,
        linewidths=0.1,
        zorder=2,
    )


def _name_movers(figure: Figure, axes: Axes, comparison: RatingComparison) -> None:
    """Write who moved most beside the axes at the height of their dots, without overlap."""
    movers = [
        (*row, colour)
        for colour, table in zip(
            _COLOURS, (comparison.risen(_NAMED), comparison.fallen(_NAMED)), strict=True
        )
        for row in table.select("player", "old_rating", "new_rating", "change").iter_rows()
    ]
    # A scale may have 25 points or 3000.
    largest = max((abs(change) for *_, change, _ in movers), default=0.0)
    digits = 0 if largest >= 20 else 1 if largest >= 2 else 2
    texts = [
        axes.text(
            1.0,
            0.0,
            f"{shortened(name, _LETTERS)} {signed(f'{change:+,.{digits}f}')}",
            transform=axes.get_yaxis_transform(),
            color=theme.WORDS[colour],
            va="center",
        )
        for name, _, _, change, colour in movers
    ]
    widest = max(map(theme.text_width, texts), default=0.0)
    theme.fit_axes(figure, axes, right=(_LEAD + _GAP + widest) if texts else theme.MARGIN)
    places = theme.place_labels(axes, texts, [new for _, _, new, *_ in movers], _LEAD + _GAP)
    start, stop = axes.get_xlim()
    for (_, old, new, _, colour), (right, height) in zip(movers, places, strict=True):
        across = (old - start) / (stop - start)
        beside = 1.0 + (right - 1.0) * _LEAD / (_LEAD + _GAP)
        shared: dict[str, Any] = {
            "transform": axes.get_yaxis_transform(),
            "color": theme.PALETTE[colour],
            "clip_on": False,
        }
        points = [across, 1.0, beside], [new, height, height]
        axes.plot(*points, lw=0.8, alpha=0.6, zorder=4, **shared)
        axes.plot([across], [new], "o", ms=5.5, mec=theme.PAGE, mew=0.8, zorder=5, **shared)
