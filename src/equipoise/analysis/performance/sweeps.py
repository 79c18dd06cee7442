"""Sweeps as a figure: classes of players in boxes, with arrows from winners to losers.

The graph has layers, with winners above losers and components side by side.

Source: the method of Sugiyama, Tagawa and Toda (1981): layers by longest path, a free place in
every layer that an arrow crosses, and layers sorted by the mean place of neighbours. Departures:
arrows of one class that cross a row share one place, so that they branch like a tree; a layer of
many classes takes several rows.
"""

from __future__ import annotations

import itertools
import textwrap
from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from equipoise.arrays import Ints
from equipoise.charts import theme
from equipoise.charts.theme import shortened
from equipoise.data.tournament import ClassGraph
from equipoise.numeric.graph import components as connected
from equipoise.wording import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


#: Largest number of boxes in a row; a level with more continues in the next row.
MOST_ABREAST = 5
_PASSES = 8


class Slot(NamedTuple):
    """A place in a row: of a class, or free for the arrows of a class above.

    owner : row of the class in the graph; passes : number of the row that is crossed, -1 for a box
    """

    owner: int
    passes: int


Link: TypeAlias = tuple[Slot, Slot]


class Rows(NamedTuple):
    """The places of a component.

    rows : slots from left to right, row by row from the top; begins : whether a row begins a level
    links : all lines between slots of neighbouring rows, each once, with the arc that ends there,
      or -1 if it continues
    """

    rows: list[list[Slot]]
    begins: list[bool]
    links: dict[Link, int]


def components(graph: ClassGraph) -> list[Ints]:
    """Return the rows of the classes of each component, largest component first."""
    number = connected(graph.above, graph.below, len(graph.classes), plain=True)
    groups = [np.flatnonzero(number == one) for one in range(number.max() + 1)]
    return sorted(groups, key=lambda rows: -len(rows))


def arranged(graph: ClassGraph, component: Ints) -> Rows:
    """Return the rows of a component, arranged so that few lines cross."""
    boxes, begins = _box_rows(graph, component)
    number = {owner: at for at, row in enumerate(boxes) for owner in row}
    rows = [[Slot(owner, -1) for owner in row] for row in boxes]
    links: dict[Link, int] = {}
    for arc, (above, below) in enumerate(zip(graph.above, graph.below, strict=True)):
        if above not in number:
            continue
        here = Slot(int(above), -1)
        for passed in range(number[above] + 1, number[below]):
            lane = Slot(int(above), passed)
            if (here, lane) not in links:
                links[here, lane] = -1
                rows[passed].append(lane)
            here = lane
        links[here, Slot(int(below), -1)] = arc
    _sort(rows, links)
    return Rows(rows, begins, links)


def _box_rows(graph: ClassGraph, component: Ints) -> tuple[list[list[int]], list[bool]]:
    """Return classes row by row (large levels in several), and which rows begin a level."""
    level = graph.levels()
    rows: list[list[int]] = []
    begins: list[bool] = []
    for depth in range(int(level[component].max()) + 1):
        rank = component[level[component] == depth].tolist()
        # Classes with arrows come last, so that their arrows cross no other row of the level.
        rank.sort(key=lambda owner: bool((graph.above == owner).any()))
        parts = -(-len(rank) // MOST_ABREAST)
        ends = np.linspace(0, len(rank), parts + 1).round().astype(int).tolist()
        rows += [rank[start:end] for start, end in itertools.pairwise(ends)]
        begins += [part == 0 for part in range(parts)]
    return rows, begins


def _sort(rows: list[list[Slot]], links: dict[Link, int]) -> None:
    """Sort every row by the mean place of its neighbours above, then below, several times."""
    upper: defaultdict[Slot, list[Slot]] = defaultdict(list)
    lower: defaultdict[Slot, list[Slot]] = defaultdict(list)
    for above, below in links:
        upper[below].append(above)
        lower[above].append(below)
    place: dict[Slot, float] = {}
    for row in rows:
        _spread(row, place)
    for turn in range(_PASSES):
        down = turn % 2 == 0
        for row in rows if down else rows[::-1]:
            neighbours = upper if down else lower
            wanted = {slot: _mean(place, neighbours[slot], place[slot]) for slot in row}
            row.sort(key=wanted.__getitem__)
            _spread(row, place)


def _spread(row: list[Slot], place: dict[Slot, float]) -> None:
    for at, slot in enumerate(row):
        place[slot] = at - (len(row) - 1) / 2


def _mean(place: dict[Slot, float], slots: list[Slot], default: float) -> float:
    return sum(place[slot] for slot in slots) / len(slots) if slots else default


#: Letters in a line of a box, and lines of names in the box of a large class.
LETTERS, _NAME_LINES = 18, 3
#: A class of up to this number of members is listed with one member on each line.
_LISTED = 3
#: In points: width of a box, height of a line of text, padding, and width of a place for arrows.
BOX_WIDTH, LINE, PADDING, _LANE = 144.0, 16.0, 6.0, 8.0
#: Distances in points: between places of a row, rows of a level, levels, and components.
_ACROSS, _WITHIN, _DOWN, _BETWEEN = 16.0, 38.0, 48.0, 30.0
#: Share of the width of a box over which the ends of lines are spread.
_PORTS = 0.7

Point: TypeAlias = tuple[float, float]


class Box(NamedTuple):
    """A class on the page. In points, y downwards.

    heading : text above the names, "" for a small class; lines : names
    x, y : of the middle of its upper edge; height : of the box
    """

    heading: str
    lines: tuple[str, ...]
    x: float
    y: float
    height: float


class Line(NamedTuple):
    """A line on the page, from a box or another line downwards.

    arc : of the graph that ends at the last point, -1 if only the line ends
    """

    points: tuple[Point, ...]
    arc: int


class Layout(NamedTuple):
    """Boxes in the order of the classes, lines, and the size of the page, in points."""

    boxes: tuple[Box, ...]
    lines: tuple[Line, ...]
    width: float
    height: float


def class_layout(graph: ClassGraph, most_wide: float, noun: str) -> Layout:
    """Return the layout of all classes.

    most_wide : in points; components that do not fit side by side begin a new row of components
    noun : the word for members, in the plural
    """
    words = [box_words(members, noun) for members in graph.classes]
    boxes: dict[int, Box] = {}
    lines: list[Line] = []
    left = top = bottom = widest = 0.0
    for component in components(graph):
        page = _Page(arranged(graph, component), words)
        if left and left + page.width > most_wide:
            left, top = 0.0, bottom + _BETWEEN
        boxes |= page.boxes(left, top)
        lines += page.lines(left, top)
        left += page.width + _BETWEEN
        bottom, widest = max(bottom, top + page.height), max(widest, left - _BETWEEN)
    return Layout(tuple(boxes[row] for row in range(len(words))), tuple(lines), widest, bottom)


def box_words(members: tuple[str, ...], noun: str) -> tuple[str, tuple[str, ...]]:
    """Return heading and lines of the box of a class: all names, or a count and the first."""
    if len(members) <= _LISTED:
        return "", tuple(shortened(name, LETTERS) for name in members)
    names = ", ".join(shortened(name, LETTERS - 1) for name in members)
    dots = " \N{HORIZONTAL ELLIPSIS}"
    lines = textwrap.wrap(
        names, LETTERS, max_lines=_NAME_LINES, placeholder=dots, break_on_hyphens=False
    )
    return f"{len(members)} {noun}", tuple(lines)


class _Page:
    """A component with positions in points; its upper left corner is (0, 0)."""

    def __init__(self, rows: Rows, words: list[tuple[str, tuple[str, ...]]]) -> None:
        self._rows, self._words = rows, words
        self._x: dict[Slot, float] = {}
        self._top: dict[Slot, float] = {}
        self._bottom: dict[Slot, float] = {}
        self.width = max(self._wide(row) for row in rows.rows)
        self.height = 0.0
        for row, begins in zip(rows.rows, rows.begins, strict=True):
            if self.height:
                self.height += _DOWN if begins else _WITHIN
            self._place(row)

    def _place(self, row: list[Slot]) -> None:
        """Place a row below the earlier ones, in the middle of the page."""
        x = (self.width - self._wide(row)) / 2
        high = max(self._high(slot) for slot in row)
        for slot in row:
            wide = _width(slot)
            self._x[slot] = x + wide / 2
            self._top[slot], self._bottom[slot] = self.height, self.height + high
            x += wide + _ACROSS
        self.height += high

    def _wide(self, row: list[Slot]) -> float:
        return sum(_width(slot) + _ACROSS for slot in row) - _ACROSS

    def _high(self, slot: Slot) -> float:
        if slot.passes >= 0:
            return 0.0
        heading, lines = self._words[slot.owner]
        return 2 * PADDING + LINE * (len(lines) + bool(heading))

    def boxes(self, left: float, top: float) -> dict[int, Box]:
        """Return the boxes by number of the class, moved by (left, top)."""
        return {
            slot.owner: Box(
                *self._words[slot.owner], left + x, top + self._top[slot], self._high(slot)
            )
            for slot, x in self._x.items()
            if slot.passes < 0
        }

    def lines(self, left: float, top: float) -> list[Line]:
        """Return the lines, moved by (left, top).

        They slant only between rows, if there are no boxes.
        """
        leaves, reaches = self._ports(0), self._ports(1)
        found = []
        for (above, below), arc in self._rows.links.items():
            x = leaves[above, below]
            start = self._top[above] + (self._high(above) if above.passes < 0 else 0.0)
            points = [
                (x, start),
                (x, self._bottom[above]),
                (reaches[above, below], self._top[below]),
            ]
            moved = tuple((left + x, top + y) for x, y in dict.fromkeys(points))
            found.append(Line(moved, arc))
        return found

    def _ports(self, end: int) -> dict[tuple[Slot, Slot], float]:
        """Return x of one end of every line, spread over the edge of its box in order."""
        by_slot: dict[Slot, list[tuple[Slot, Slot]]] = {}
        for link in self._rows.links:
            by_slot.setdefault(link[end], []).append(link)
        ports = {}
        for slot, links in by_slot.items():
            links.sort(key=lambda link: self._x[link[1 - end]])
            wide = _PORTS * _width(slot) if slot.passes < 0 else 0.0
            for at, link in enumerate(links):
                ports[link] = self._x[slot] + wide * ((at + 0.5) / len(links) - 0.5)
        return ports


def _width(slot: Slot) -> float:
    return BOX_WIDTH if slot.passes < 0 else _LANE


#: Largest number of classes; of more, only the first ones are drawn.
MOST_CLASSES = 60
#: With more arrows than this, only those of several games are numbered.
_NUMBERED = 40
#: Points: margin around the graph, and height of the note at the foot.
_SIDE, _FOOT = theme.MARGIN, 26.0
#: Smallest and largest size of the figure in inches; it grows with the graph.
_LEAST_WIDTH, _MOST_WIDTH = 5.0, 12.0
_FILL, _EDGE, _ARROW = "#eef3fb", "#9db6dd", "#6b7482"


def sweeps_figure(graph: ClassGraph, *, title: str, subtitle: str, noun: str = "players") -> Figure:
    """Return the figure of the classes of a tournament without an equilibrium.

    A class is below all classes that swept it. An arrow has the number of games of its sweep. Of
    more than sixty classes, only the first are drawn, and the figure says so.

    noun : the word for members of classes, in the plural
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
    """Return the height of the titles at this width of a figure, and the space below, in points."""
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
    """Yield the notes at the foot of the figure."""
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
    """Draw the lines; one that ends at a box has an arrow head and the number of games."""
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
    """Write the number of games on an arrow, near the losers, where arrows are separate."""
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
