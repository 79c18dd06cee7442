"""A player's ratings as played and with thrown matches, as a figure of systems side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from equipoise.arrays import Floats
from equipoise.charts import theme
from equipoise.charts.axes import shortened
from equipoise.charts.theme import set_horizontal_axis
from equipoise.data.audits import Incentive
from equipoise.errors import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: More systems than this leave no room for lines.
MOST_SYSTEMS = 6
#: Panels in a row; in inches, the total width, the height above the panels, and the height of a
#: row.
_IN_A_ROW, _WIDTH, _TITLE, _ROW = 2, 7.5, 1.0, 2.9
#: Points: height of the text above a panel, and distances between rows and between panels.
_HEADING, _BETWEEN, _BESIDE = 42.0, 20.0, 24.0
_LETTERS = 24
#: Largest number of thrown matches that are marked on the line.
_MARKED = 25
_MINUS = "\N{MINUS SIGN}"
#: Smallest height of the axis, in rating points, so that tiny changes look tiny.
_LEAST_RANGE = 50.0


def incentives_figure(found: Mapping[str, Incentive], *, title: str, subtitle: str) -> Figure:
    """Return the figure of one player in one system, or in several by label.

    All panels have the same range of rating points, so that gains can be compared.
    Raises : InvalidParameterError   more systems than fit
    """
    require(1 <= len(found) <= MOST_SYSTEMS, "systems", f"1 to {MOST_SYSTEMS}", len(found))
    in_a_row = min(len(found), _IN_A_ROW)
    rows = -(-len(found) // in_a_row)
    height = _TITLE + _ROW * rows + (0.6 if len(found) == 1 else 0.0)
    with theme.style():
        figure, first = theme.new_figure(title, subtitle, theme.Size(_WIDTH, height))
        others = [figure.add_axes((0.1, 0.1, 0.3, 0.3)) for _ in range(len(found) - 1)]
        panels = [first, *others]
        ranges = [float(np.ptp(_values(one))) for one in found.values()]
        span = max(1.1 * max(ranges), _LEAST_RANGE)
        for axes, (label, one) in zip(panels, found.items(), strict=True):
            _draw(axes, one, span, _WIDTH / in_a_row)
            _say(axes, label, one)
        _arrange(figure, panels, in_a_row, first.get_position().y1)
    return figure


def _values(one: Incentive) -> Floats:
    """Return all ratings that a panel shows."""
    return np.concatenate([[one.before], one.honest, one.planned])


def _draw(axes: Axes, one: Incentive, span: float, inches: float) -> None:
    """Draw both lines, and mark the thrown matches."""
    values = _values(one)
    middle = (values.min() + values.max()) / 2
    axes.set_ylim(middle - span / 2, middle + span / 2)
    place = np.arange(len(one.honest) + 1)
    colours = theme.PALETTE
    for number, line in ((0, one.honest), (1, one.planned)):
        if number == 0 or one.thrown.any():
            axes.plot(place, [one.before, *line], color=colours[number], lw=2.0, zorder=3)
    _mark(axes, one)
    set_horizontal_axis(axes, place, "matches", inches)


def _mark(axes: Axes, one: Incentive) -> None:
    """Mark the thrown matches on the line, or at the bottom if there are many."""
    thrown, colour = np.flatnonzero(one.thrown), theme.PALETTE[1]
    if len(thrown) > _MARKED:
        bottom = axes.get_xaxis_transform()
        axes.vlines(thrown + 1, 0.0, 0.045, colour, lw=0.8, transform=bottom, zorder=4)
        return
    look: dict[str, Any] = {"ms": 5.5, "mec": theme.PAGE, "mew": 0.8, "zorder": 4}
    axes.plot(thrown + 1, one.planned[thrown], "v", color=colour, **look)


def _say(axes: Axes, label: str, one: Incentive) -> None:
    """Write the heading of a panel: the system, and the last rating of both lines."""
    words = (
        (shortened(label, _LETTERS), theme.INK, "bold", 24.0, 0.0, "left"),
        (f"as it was {points(one.honest[-1])}", theme.WORDS[0], "bold", 6.0, 0.0, "left"),
        (_planned(one), theme.WORDS[1], "bold", 6.0, 1.0, "right"),
        (_gain(one), theme.MUTED, "normal", 24.0, 1.0, "right"),
    )
    for text, colour, weight, up, at, side in words:
        axes.annotate(
            text,
            (at, 1.0),
            xycoords="axes fraction",
            xytext=(0, up),
            textcoords="offset points",
            color=colour,
            fontweight=weight,
            ha=side,
            va="bottom",
        )


def _planned(one: Incentive) -> str:
    return f"by plan {points(one.planned[-1])}" if one.thrown.any() else ""


def _gain(one: Incentive) -> str:
    if not one.thrown.any():
        return "nothing gained"
    return f"gain {points(one.gain, sign=True)}"


def points(value: float, *, sign: bool = False) -> str:
    """Return rating points as text for charts; very large ones are written with a power of ten."""
    kind = "+" if sign else ""
    text = format(value, f"{kind},.0f" if abs(value) < 1e6 else f"{kind}.1e")
    return text.replace("-", _MINUS)


def _arrange(figure: Figure, panels: list[Axes], in_a_row: int, top: float) -> None:
    """Arrange panels of equal size in rows, below the titles and their own headings."""
    width, height = (72 * inches for inches in figure.get_size_inches())
    figure.draw_without_rendering()
    renderer_boxes = [(axes, axes.get_tightbbox(), axes.get_window_extent()) for axes in panels]
    scale = 72 / figure.dpi
    left = max((inner.x0 - box.x0) * scale for _, box, inner in renderer_boxes if box is not None)
    below = max((inner.y0 - box.y0) * scale for _, box, inner in renderer_boxes if box is not None)
    rows = -(-len(panels) // in_a_row)
    wide = (width - 2 * theme.MARGIN - left * in_a_row - _BESIDE * (in_a_row - 1)) / in_a_row
    free = top * height - theme.MARGIN - rows * (below + _HEADING) - _BETWEEN * (rows - 1)
    high = free / rows
    for number, axes in enumerate(panels):
        row, column = divmod(number, in_a_row)
        x = theme.MARGIN + left + column * (wide + left + _BESIDE)
        y = top * height - _HEADING - high - row * (high + below + _HEADING + _BETWEEN)
        axes.set_position((x / width, y / height, wide / width, high / height))
