"""Ratings over time as a figure: a line a player, its band, and performances as dots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from equipoise.charts import theme
from equipoise.charts.horizontal_axis import set_horizontal_axis
from equipoise.charts.labels import shortened, spread_out
from equipoise.charts.rating_series import (
    BAND,
    Along,
    RatingSeries,
    line_of,
    outside,
    visible_range,
)
from equipoise.errors import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: More lines than this in one chart can no longer be told apart.
MOST_PLAYERS = 2 * len(theme.PALETTE)
#: Up to so many matches each one is marked on the line.
_MARKED = 25
#: Points from the edge of the axes to the labels.
_LEAD = 22.0
#: What the numbers on the horizontal axis count; none where there are moments.
_COUNTED: dict[Along, str | None] = {"time": None, "match": "match", "played": "matches played"}
#: Letters of a name beside its line, per inch of width.
_LETTERS_PER_INCH = 3.2


def rating_figure(
    series: Sequence[RatingSeries],
    *,
    title: str,
    subtitle: str,
    along: Along = "time",
    band: bool = True,
    performances: bool = True,
    size: theme.Size = theme.WIDE,
) -> Figure:
    """Return the figure of some players' ratings, each with at least one match.

    band : two deviations either way, where there are deviations
    performances : dots, where there are performances; those beyond the range are carets at its edge
    Raises : InvalidParameterError   more players than can be told apart
    """
    require(len(series) >= 1, "players", "at least one", len(series))
    require(len(series) <= MOST_PLAYERS, "players", f"at most {MOST_PLAYERS}", len(series))
    with theme.style():
        figure, axes = theme.new_figure(title, subtitle, size)
        low, high = visible_range(series, band=band, performances=performances)
        axes.set_ylim(low, high)
        weight = _Weight.of(series)
        for number, one in enumerate(series):
            look = _look(number)
            if band and one.has_band:
                _draw_band(axes, one, look["color"], weight, along)
            if performances and one.has_performances:
                _draw_performances(axes, one, look["color"], weight, (low, high))
        for number, one in enumerate(series):
            _draw_line(axes, one, _look(number), weight, along)
        places = np.concatenate([one.place for one in series])
        set_horizontal_axis(axes, places, _COUNTED[along], size.width)
        _label_ends(figure, axes, series, size)
    return figure


class _Weight(NamedTuple):
    """How heavily things are drawn: lighter the more there are.

    line, dot : points; band, dots : opacity; mark : whether each match is marked on the line
    """

    line: float
    dot: float
    band: float
    dots: float
    mark: bool

    @classmethod
    def of(cls, series: Sequence[RatingSeries]) -> _Weight:
        longest = max(len(one.rating) for one in series)
        crowd = 0 if len(series) == 1 else 1 if len(series) <= 3 else 2
        return cls(
            line=2.2 if longest <= 150 else 1.7,
            dot=float(np.clip(48 / np.sqrt(longest), 2.6, 5.0)),
            band=(0.16, 0.11, 0.07)[crowd],
            dots=(0.45, 0.38, 0.26)[crowd],
            mark=longest <= _MARKED,
        )


def _look(number: int) -> dict[str, Any]:
    """Return colour and dashes of a line; after the last colour they begin again, dashed."""
    colours = len(theme.PALETTE)
    dashes = "solid" if number < colours else (0, (4, 1.6))
    return {"color": theme.PALETTE[number % colours], "linestyle": dashes}


def _draw_band(axes: Axes, one: RatingSeries, colour: str, weight: _Weight, along: Along) -> None:
    if len(one.rating) == 1:
        # An area over a single place has no width.
        low, high = one.rating - BAND * one.deviation, one.rating + BAND * one.deviation
        axes.vlines(one.place, low, high, colour, lw=8, alpha=2 * weight.band)
        return
    place, rating, deviation = line_of(one, along)
    spread = BAND * deviation
    axes.fill_between(
        place, rating - spread, rating + spread, color=colour, alpha=weight.band, lw=0
    )


def _draw_performances(
    axes: Axes, one: RatingSeries, colour: str, weight: _Weight, visible: tuple[float, float]
) -> None:
    shared: dict[str, Any] = {"color": colour, "ls": "none", "mew": 0, "zorder": 2}
    below, above = outside(one.performance, *visible)
    inside = ~below & ~above & np.isfinite(one.performance)
    places, shown = one.place[inside], one.performance[inside]
    axes.plot(places, shown, marker="o", ms=weight.dot, alpha=weight.dots, **shared)
    for beyond, marker, height in ((below, "v", 0.012), (above, "^", 0.988)):
        axes.plot(
            one.place[beyond],
            np.full(int(beyond.sum()), height),
            marker=marker,
            ms=max(weight.dot, 4.0),
            alpha=weight.dots + 0.15,
            transform=axes.get_xaxis_transform(),
            **shared,
        )


def _draw_line(
    axes: Axes, one: RatingSeries, look: dict[str, Any], weight: _Weight, along: Along
) -> None:
    place, rating, _ = line_of(one, along)
    axes.plot(place, rating, lw=weight.line, zorder=3, **look)
    if weight.mark or len(one.rating) == 1:
        dots: dict[str, Any] = {"ms": 6.5, "mec": theme.PAGE, "mew": 1.2, "ls": "none"}
        axes.plot(one.place, one.rating, "o", color=look["color"], zorder=3, **dots)


def _label_ends(
    figure: Figure, axes: Axes, series: Sequence[RatingSeries], size: theme.Size
) -> None:
    """Write each player's name and last rating at the right, apart, and lead the eye to it."""
    letters = max(int(_LETTERS_PER_INCH * size.width), 10)
    texts = [
        axes.text(
            1.0,
            0.0,
            f"{shortened(str(one.player), letters)}  {one.rating[-1]:.0f}",
            transform=axes.get_yaxis_transform(),
            color=theme.WORDS[number % len(theme.WORDS)],
            fontweight="bold",
            va="center",
        )
        for number, one in enumerate(series)
    ]
    theme.fit_axes(figure, axes, right=_LEAD + max(map(theme.text_width, texts)))
    box = axes.get_position()
    low, high = axes.get_ylim()
    line = 1.35 * theme.TEXT * (high - low) / (box.height * size.height * 72)
    ends = np.array([one.rating[-1] for one in series])
    places = spread_out(ends, line, low + line / 2, high - line / 2)
    beside = 1.0 + _LEAD / (box.width * size.width * 72)
    for number, (one, text, place) in enumerate(zip(series, texts, places, strict=True)):
        text.set_position((beside, float(place)))
        _lead_to(axes, one, (beside, float(place)), _look(number)["color"])


def _lead_to(axes: Axes, one: RatingSeries, label: tuple[float, float], colour: str) -> None:
    """Draw a thin line from the end of a rating to the edge of the axes, and on to its label."""
    left, right = axes.get_xlim()
    last = float(cast(Any, axes).convert_xunits(one.place[-1]))
    edge, end = 1.0 + 0.2 * (label[0] - 1.0), float(one.rating[-1])
    axes.plot(
        [(last - left) / (right - left), edge, 1.0 + 0.8 * (label[0] - 1.0)],
        [end, end, label[1]],
        transform=axes.get_yaxis_transform(),
        color=colour,
        lw=0.9,
        alpha=0.5,
        clip_on=False,
        zorder=2,
    )
