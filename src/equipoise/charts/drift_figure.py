"""Drift through a history as a figure: mean ratings above, the points that were added beneath."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from equipoise.charts import theme
from equipoise.charts.drift_panels import Line, Panel, drift_panels
from equipoise.charts.horizontal_axis import set_horizontal_axis
from equipoise.charts.labels import shortened, spread_out
from equipoise.data.drift import Drift
from equipoise.errors import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: More lines than this in one chart can no longer be told apart.
MOST_SYSTEMS = len(theme.PALETTE)
#: Share of the height that the upper panel gets, and points between the two.
_UPPER, _BETWEEN = 0.58, 34.0
#: Points from the edge of the axes to the labels.
_LEAD = 10.0
_LETTERS = 20
#: As on the axis.
_MINUS = "\N{MINUS SIGN}"

SIZE = theme.Size(7.5, 5.6)


def drift_figure(
    found: Mapping[str, Drift],
    *,
    title: str,
    subtitle: str,
    band: bool = True,
    size: theme.Size = SIZE,
) -> Figure:
    """Return the figure of one system's drift, or of several by label.

    band : a standard deviation of the active players' ratings either way, where there is one system
    Raises : InvalidParameterError   more systems than can be told apart
    """
    require(1 <= len(found) <= MOST_SYSTEMS, "systems", f"1 to {MOST_SYSTEMS}", len(found))
    panels = drift_panels(found, band=band)
    with theme.style():
        figure, upper = theme.new_figure(title, subtitle, size)
        lower = figure.add_axes((0.1, 0.12, 0.8, 0.3))
        places = np.concatenate([line.place for line in panels[0].lines])
        by_time = places.dtype.kind == "M"
        for axes, panel in ((upper, panels[0]), (lower, panels[1])):
            axes.set_ylim(*panel.visible())
            for line in panel.lines:
                _draw(axes, line)
            set_horizontal_axis(axes, places, None if by_time else "matches", size.width)
        texts = [_labels(axes, panel) for axes, panel in zip((upper, lower), panels, strict=True)]
        right = _LEAD + max(theme.text_width(text) for some in texts for text in some)
        _stack(figure, upper, lower, right)
        for axes, panel, some in zip((upper, lower), panels, texts, strict=True):
            _place_labels(axes, panel, some, size)
    return figure


def _draw(axes: Axes, line: Line) -> None:
    colour = theme.PALETTE[line.number]
    if len(line.spread):
        low, high = line.value - line.spread, line.value + line.spread
        axes.fill_between(line.place, low, high, color=colour, alpha=0.13, lw=0)
    mark: dict[str, Any] = {"marker": "o", "ms": 5.0} if len(line.value) == 1 else {}
    axes.plot(line.place, line.value, color=colour, lw=2.0, zorder=3, **mark)


def _stack(figure: Figure, upper: Axes, lower: Axes, right: float) -> None:
    """Give both axes the width that the wider ticks leave, and share the height out."""
    boxes = []
    for axes in (upper, lower):
        theme.fit_axes(figure, axes, right=right)
        boxes.append(axes.get_position())
    left, low, top = max(box.x0 for box in boxes), boxes[1].y0, boxes[0].y1
    width = min(box.x1 for box in boxes) - left
    height = 72 * figure.get_size_inches()[1]
    # A line above each panel says what it shows.
    heading, between = 1.4 * theme.SMALL / height, _BETWEEN / height
    free = top - heading - low - between
    lower.set_position((left, low, width, free * (1 - _UPPER)))
    upper.set_position((left, low + free * (1 - _UPPER) + between, width, free * _UPPER))
    upper.tick_params(labelbottom=False)
    upper.set_xlabel("")
    upper.xaxis.get_offset_text().set_visible(False)


def _labels(axes: Axes, panel: Panel) -> list[Any]:
    """Write the heading of a panel, and the labels of its lines somewhere at the right."""
    axes.annotate(
        panel.heading,
        (0.0, 1.0),
        xycoords="axes fraction",
        xytext=(0, 6),
        textcoords="offset points",
        color=theme.MUTED,
        va="bottom",
    )
    return [
        axes.text(
            1.0,
            0.0,
            f"{shortened(line.label, _LETTERS)}  {line.end.replace('-', _MINUS)}",
            transform=axes.get_yaxis_transform(),
            color=theme.WORDS[line.number],
            fontweight="bold",
            va="center",
        )
        for line in panel.lines
    ]


def _place_labels(axes: Axes, panel: Panel, texts: list[Any], size: theme.Size) -> None:
    """Put each label beside the end of its line, apart from the others."""
    box, (low, high) = axes.get_position(), axes.get_ylim()
    line = 1.35 * theme.TEXT * (high - low) / (box.height * size.height * 72)
    ends = np.array([float(one.value[-1]) for one in panel.lines])
    places = spread_out(ends, line, low + line / 2, high - line / 2)
    beside = 1.0 + _LEAD / (box.width * size.width * 72)
    for text, place in zip(texts, places.tolist(), strict=True):
        text.set_position((beside, place))
