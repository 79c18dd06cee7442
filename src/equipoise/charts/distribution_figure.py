"""The ratings of a pool as a histogram, with mean, median, percentiles and players marked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from equipoise.charts import theme
from equipoise.charts.distribution import Distribution, Place, share_above
from equipoise.charts.labels import shortened, spread_out
from equipoise.errors import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Each player who is marked has a line of words above the bars.
MOST_MARKED = len(theme.PALETTE)
_BARS = "#b9c9e2"
#: Height of a line of words in points.
_LINE = 1.45 * theme.SMALL
#: Width of the words above a mark in points.
_COLUMN = 4.5 * theme.SMALL
_LETTERS = 24


def distribution_figure(
    found: Distribution, *, title: str, subtitle: str, size: theme.Size = theme.WIDE
) -> Figure:
    """Return the figure of a pool's ratings; players in `found.places` are marked by name.

    Raises : InvalidParameterError   more players than there is room for
    """
    count = len(found.places)
    require(count <= MOST_MARKED, "players", f"at most {MOST_MARKED} in a distribution", count)
    with theme.style():
        figure, axes = theme.new_figure(title, subtitle, size)
        _draw_bars(axes, found)
        theme.fit_axes(figure, axes, right=theme.MARGIN)
        height = axes.get_position().height * size.height * 72
        width = axes.get_position().width * size.width * 72
        lines = 3.2 + len(found.places)
        _make_room(axes, found, min(lines * _LINE / height, 0.6))
        _draw_marks(axes, found, width, _LINE / height)
        # The outermost stands highest: then its words run across nobody else's line.
        middle = sum(axes.get_xlim()) / 2
        order = np.argsort([-abs(place.rating - middle) for place in found.places], kind="stable")
        for row, number in enumerate(order.tolist()):
            _mark_place(axes, found.places[number], number, 1 - (3.1 + row) * _LINE / height)
    return figure


def _draw_bars(axes: Axes, found: Distribution) -> None:
    axes.bar(
        found.edges[:-1],
        found.counts,
        width=np.diff(found.edges),
        align="edge",
        color=_BARS,
        edgecolor=theme.PAGE,
        linewidth=0.6 if len(found.counts) <= 60 else 0.3,
    )
    margin = 0.01 * (found.edges[-1] - found.edges[0])
    axes.set_xlim(found.edges[0] - margin, found.edges[-1] + margin)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set_xlabel("rating")


def _make_room(axes: Axes, found: Distribution, share: float) -> None:
    """Keep the upper `share` of the axes free of bars, and ticks of counts out of it."""
    from matplotlib.ticker import MaxNLocator

    most = float(found.counts.max())
    axes.set_ylim(0, most / (1 - share))
    ticks = MaxNLocator(nbins=4, integer=True).tick_values(0, most)
    axes.set_yticks([tick for tick in ticks if 0 <= tick <= most])


class _Mark(NamedTuple):
    """A number of the whole pool that is marked by a line."""

    name: str
    rating: float
    width: float
    dashes: Any = "solid"


def _marks(found: Distribution, width: float) -> list[_Mark]:
    """Return what is marked, from left to right: as much as `width` points have room for."""
    marks = [_Mark(f"{percent} %", at, 0.9) for percent, at in found.percentiles.items()]
    if width < (len(marks) + 2) * _COLUMN:
        marks = marks[1:-1]
    marks += [_Mark("median", found.median, 1.6), _Mark("mean", found.mean, 1.6, (0, (2.5, 1.5)))]
    return sorted(marks, key=lambda mark: mark.rating)


def _draw_marks(axes: Axes, found: Distribution, width: float, line: float) -> None:
    """Draw a line at each mark, with its name and rating at the top, kept apart."""
    marks = _marks(found, width)
    low, high = axes.get_xlim()
    shares = np.array([(mark.rating - low) / (high - low) for mark in marks])
    column = _COLUMN / width
    # Of equal marks the first would be placed last; they are in order from left to right.
    places = spread_out(shares[::-1], column, column / 2, 1 - column / 2)[::-1]
    words: dict[str, Any] = {"transform": axes.transAxes, "ha": "center", "va": "top"}
    for mark, share, place in zip(marks, shares.tolist(), places.tolist(), strict=True):
        axes.text(place, 1, mark.name, color=theme.MUTED, **words)
        weight = "bold" if mark.width > 1 else "normal"
        axes.text(place, 1 - 0.95 * line, f"{mark.rating:.0f}", fontweight=weight, **words)
        axes.plot(
            [share, share, place],
            [0, 1 - 2.7 * line, 1 - 2.0 * line],
            transform=axes.transAxes,
            color=theme.MUTED,
            lw=mark.width,
            ls=mark.dashes,
            alpha=0.8,
            zorder=1.5,
        )


def _mark_place(axes: Axes, place: Place, number: int, height: float) -> None:
    """Mark a player's rating and say how many are above, on the side with more room."""
    low, high = axes.get_xlim()
    shown = min(max(place.rating, low), high)
    left = shown > (low + high) / 2
    shared = axes.get_xaxis_transform()
    colour = theme.PALETTE[number]
    axes.plot([shown] * 2, [0, height], color=colour, lw=2.0, transform=shared, zorder=3)
    words = (
        f"{shortened(str(place.player), _LETTERS)} {place.rating:.0f}, {share_above(place.above)}"
    )
    axes.annotate(
        words,
        (shown, height),
        xycoords=shared,
        xytext=(-5 if left else 5, 2),
        textcoords="offset points",
        ha="right" if left else "left",
        va="top",
        color=theme.WORDS[number],
        fontweight="bold",
        zorder=4,
        bbox=_BEHIND,
    )


#: A patch of the page behind words, so that lines do not run through them.
_BEHIND = {"facecolor": theme.PAGE, "edgecolor": "none", "pad": 1.0, "alpha": 0.85}
