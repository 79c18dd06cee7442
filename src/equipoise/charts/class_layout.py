"""Where boxes and lines of a graph of classes stand: winners above, components side by side."""

from __future__ import annotations

import textwrap
from typing import NamedTuple, TypeAlias

from equipoise.charts.class_rows import Rows, Slot, arranged, components
from equipoise.charts.labels import shortened
from equipoise.data.performance_series import ClassGraph

#: Letters of a line in a box, and lines of names in the box of a large class.
LETTERS, _NAME_LINES = 18, 3
#: A class of up to so many members is listed, one a line.
_LISTED = 3
#: In points: a box, a line of words, the room around them, and a place for arrows to pass.
BOX_WIDTH, LINE, PADDING, _LANE = 144.0, 16.0, 6.0, 8.0
#: In points: between places of a row, rows of a level, levels, and components.
_ACROSS, _WITHIN, _DOWN, _BETWEEN = 16.0, 38.0, 48.0, 30.0
#: Share of the width of a box over which lines begin and end.
_PORTS = 0.7

Point: TypeAlias = tuple[float, float]


class Box(NamedTuple):
    """A class on the page. In points, y downwards.

    heading : set apart above the names, "" for a class of few; lines : names
    x, y : of the middle of its upper edge; height : of the whole box
    """

    heading: str
    lines: tuple[str, ...]
    x: float
    y: float
    height: float


class Line(NamedTuple):
    """A line on the page, from a box or another line downwards.

    arc : of the graph that ends at the last point, -1 where only the line ends
    """

    points: tuple[Point, ...]
    arc: int


class Layout(NamedTuple):
    """Boxes in the order of the classes, lines, and the page they take, in points."""

    boxes: tuple[Box, ...]
    lines: tuple[Line, ...]
    width: float
    height: float


def class_layout(graph: ClassGraph, most_wide: float, noun: str) -> Layout:
    """Return a place for every class.

    most_wide : points; components that do not fit side by side begin a new row of components
    noun : what members are called, in the plural
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
    """Return heading and lines of the box of a class: all names, or their number and the first."""
    if len(members) <= _LISTED:
        return "", tuple(shortened(name, LETTERS) for name in members)
    names = ", ".join(shortened(name, LETTERS - 1) for name in members)
    dots = " \N{HORIZONTAL ELLIPSIS}"
    lines = textwrap.wrap(
        names, LETTERS, max_lines=_NAME_LINES, placeholder=dots, break_on_hyphens=False
    )
    return f"{len(members)} {noun}", tuple(lines)


class _Page:
    """A component with places in points, its upper left corner at (0, 0)."""

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
        """Give places to a row beneath those above, in the middle of the page."""
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
        """Return the boxes by the number of their class, moved by (left, top)."""
        return {
            slot.owner: Box(
                *self._words[slot.owner], left + x, top + self._top[slot], self._high(slot)
            )
            for slot, x in self._x.items()
            if slot.passes < 0
        }

    def lines(self, left: float, top: float) -> list[Line]:
        """Return the lines, moved by (left, top).

        They slant only between rows, where no box can be in their way.
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
        """Return x of one end of every line: spread over the edge of its box in their own order."""
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
