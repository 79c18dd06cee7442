"""Who swept whom as a figure: classes of players in boxes, arrows from winners to losers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from equipoise.charts import theme
from equipoise.charts.class_layout import (
    BOX_WIDTH,
    LINE,
    PADDING,
    Box,
    Layout,
    Point,
    class_layout,
)
from equipoise.data.performance_series import ClassGraph
from equipoise.wording import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: More classes than this are no picture any more: then only the first ones are drawn.
MOST_CLASSES = 60
#: With more arrows only those of several games are numbered.
_NUMBERED = 40
#: Points: around the graph, and for the note at the foot.
_SIDE, _FOOT = theme.MARGIN, 26.0
#: The figure grows with the graph, from and up to so many inches.
_LEAST_WIDTH, _MOST_WIDTH = 5.0, 12.0
_FILL, _EDGE, _ARROW = "#eef3fb", "#9db6dd", "#6b7482"


def sweeps_figure(graph: ClassGraph, *, title: str, subtitle: str, noun: str = "players") -> Figure:
    """Return the figure of classes between which there is no equilibrium.

    A class stands beneath all that swept it; an arrow carries the number of games of its sweep.
    Of more than sixty classes only the first are drawn, and the figure says so.

    noun : what members of classes are called, in the plural
    """
    shown = _first(graph, MOST_CLASSES)
    layout = class_layout(shown, 72 * _MOST_WIDTH - 2 * _SIDE, noun)
    notes = list(_notes(graph, shown))
    foot = _FOOT * bool(notes)
    width = max(layout.width + 2 * _SIDE, 72 * _LEAST_WIDTH)
    with theme.style():
        head = _heading_height(title, subtitle, width)
        height = head + layout.height + foot + _SIDE
        figure, axes = theme.new_figure(title, subtitle, theme.Size(width / 72, height / 72))
        left = (width - layout.width) / 2
        axes.set_position(
            (left / width, (foot + _SIDE) / height, layout.width / width, layout.height / height)
        )
        axes.set_axis_off()
        axes.set_xlim(0, layout.width)
        axes.set_ylim(layout.height, 0)
        _draw_lines(axes, shown, layout)
        for box in layout.boxes:
            _draw_box(axes, box)
        if notes:
            place = _SIDE / width, _SIDE / height
            figure.text(*place, "; ".join(notes), color=theme.MUTED, fontsize=theme.SMALL)
    return figure


def _heading_height(title: str, subtitle: str, width: float) -> float:
    """Return what titles take of a figure of some width, and the room beneath them, in points."""
    tall = 300.0
    _, axes = theme.new_figure(title, subtitle, theme.Size(width / 72, tall / 72))
    return float(tall * (1.0 - axes.get_position().y1) + _SIDE)


def _first(graph: ClassGraph, most: int) -> ClassGraph:
    """Return the graph of the first classes and the arrows between them."""
    kept = (graph.above < most) & (graph.below < most)
    return ClassGraph(
        classes=graph.classes[:most],
        above=graph.above[kept],
        below=graph.below[kept],
        games=graph.games[kept],
    )


def _notes(graph: ClassGraph, shown: ClassGraph) -> Iterable[str]:
    """Yield what the foot of the figure has to say."""
    if len(shown.games) > _NUMBERED and (shown.games == 1).any():
        yield "arrows without a number: one game"
    left_out = len(graph.classes) - len(shown.classes)
    if left_out:
        yield f"and {counted(left_out, 'more class', 'more classes')}"


def _draw_box(axes: Axes, box: Box) -> None:
    from matplotlib.patches import FancyBboxPatch

    patch = FancyBboxPatch(
        (box.x - BOX_WIDTH / 2, box.y),
        BOX_WIDTH,
        box.height,
        boxstyle="round,pad=0,rounding_size=5",
        facecolor=_FILL,
        edgecolor=_EDGE,
        linewidth=1.0,
        zorder=3,
        clip_on=False,
    )
    axes.add_patch(patch)
    texts = [(box.heading, "bold", theme.WORDS[0])] if box.heading else []
    texts += [(line, "normal", theme.INK) for line in box.lines]
    for number, (text, weight, colour) in enumerate(texts):
        axes.text(
            box.x,
            box.y + PADDING + LINE * (number + 0.5),
            text,
            ha="center",
            va="center_baseline",
            color=colour,
            fontweight=weight,
            fontsize=theme.SMALL,
            zorder=4,
        )


def _draw_lines(axes: Axes, graph: ClassGraph, layout: Layout) -> None:
    """Draw the lines; where one ends at a box it has a head, and the number of games."""
    few = len(graph.games) <= _NUMBERED
    for line in layout.lines:
        x, y = zip(*line.points, strict=True)
        look: dict[str, Any] = {"color": _ARROW, "lw": 1.1, "zorder": 1, "clip_on": False}
        axes.plot(x, y, solid_joinstyle="round", **look)
        if line.arc < 0:
            continue
        head = {"arrowstyle": "-|>,head_length=0.5,head_width=0.22", "shrinkA": 0, "shrinkB": 0}
        axes.annotate(
            "",
            xy=line.points[-1],
            xytext=line.points[-2],
            arrowprops={**head, "color": _ARROW, "lw": 1.1},
            annotation_clip=False,
            zorder=1,
        )
        games = float(graph.games[line.arc])
        if few or games != 1:
            _number(axes, line.points[-2], line.points[-1], games)


def _number(axes: Axes, start: Point, end: Point, games: float) -> None:
    """Write the number of games on an arrow, nearer to the losers, where arrows are apart."""
    axes.text(
        start[0] + 0.58 * (end[0] - start[0]),
        start[1] + 0.58 * (end[1] - start[1]),
        f"{games:g}",
        ha="center",
        va="center",
        color=theme.MUTED,
        fontsize=theme.SMALL - 1,
        bbox={"facecolor": theme.PAGE, "edgecolor": "none", "pad": 1.0},
        zorder=2,
    )
