"""In which row, and in which order, the classes of a graph stand: a drawing in layers.

Source: the method of Sugiyama, Tagawa and Toda (1981): layers by longest path, a place kept free
in every layer that an arrow passes, and layers sorted by the mean place of neighbours.
Departures: arrows of one class that pass a row share one place, so that they branch like a tree;
layers of many classes take several rows.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from typing import NamedTuple, TypeAlias

import numpy as np

from equipoise.arrays import Ints
from equipoise.data.performance_series import ClassGraph
from equipoise.numeric.graph import components as connected

#: Boxes that stand in one row at most; a level of more goes on in a row beneath.
MOST_ABREAST = 5
_PASSES = 8


class Slot(NamedTuple):
    """A place in a row: of a class, or free for the arrows of a class above to pass.

    owner : row of the class in the graph; passes : number of the row that is passed, -1 for a box
    """

    owner: int
    passes: int


Link: TypeAlias = tuple[Slot, Slot]


class Rows(NamedTuple):
    """The drawing of a component.

    rows : slots from left to right, row by row from the top; begins : whether a row begins a level
    links : all lines between slots of neighbouring rows, each once, with the arc that ends there
        or -1 where it goes on
    """

    rows: list[list[Slot]]
    begins: list[bool]
    links: dict[Link, int]


def components(graph: ClassGraph) -> list[Ints]:
    """Return the rows of the classes of each component, the component with most of them first."""
    number = connected(graph.above, graph.below, len(graph.classes), plain=True)
    groups = [np.flatnonzero(number == one) for one in range(number.max() + 1)]
    return sorted(groups, key=lambda rows: -len(rows))


def arranged(graph: ClassGraph, component: Ints) -> Rows:
    """Return the rows of a component, with few crossings of lines."""
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
    """Return classes row by row, levels of many in several, and which rows begin a level."""
    level = graph.levels()
    rows: list[list[int]] = []
    begins: list[bool] = []
    for depth in range(int(level[component].max()) + 1):
        rank = component[level[component] == depth].tolist()
        # Who swept somebody else stands lowest, so that those arrows have no row to pass.
        rank.sort(key=lambda owner: bool((graph.above == owner).any()))
        parts = -(-len(rank) // MOST_ABREAST)
        ends = np.linspace(0, len(rank), parts + 1).round().astype(int).tolist()
        rows += [rank[start:end] for start, end in itertools.pairwise(ends)]
        begins += [part == 0 for part in range(parts)]
    return rows, begins


def _sort(rows: list[list[Slot]], links: dict[Link, int]) -> None:
    """Sort every row by the mean place of its neighbours above, then below, a few times over."""
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
