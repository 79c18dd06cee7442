"""Counts as columns: matches per week, players per stretch of ratings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup

from equipoise.charts.markup import element
from equipoise.charts.scale import Scale
from equipoise.web.page.drawing.axes import Frame

HEIGHT = 170


class Column(NamedTuple):
    """A count, and what is said when somebody points at it."""

    value: float
    words: str


class Mark(NamedTuple):
    """A line at a place from 0 to 1, and its name."""

    place: float
    name: str


def columns_chart(
    name: str,
    columns: Sequence[Column],
    below: Sequence[tuple[float, str]],
    mark: Mark | None = None,
) -> Markup:
    """Return columns side by side from left to right, with places from 0 to 1 named below."""
    top = max((one.value for one in columns), default=0.0) or 1.0
    up = Scale(0.0, 1.08 * top, float(HEIGHT), 4.0)
    wide = 100 / max(len(columns), 1)
    marks = [_column(one, at * wide, wide, up) for at, one in enumerate(columns)]
    if mark is not None:
        marks += _mark(mark)
    return Frame(HEIGHT, up).svg(name, marks, below, digits_up=4)


def _column(one: Column, left: float, wide: float, up: Scale) -> Markup:
    y = up.at(one.value)
    return element(
        "rect",
        element("title", one.words),
        class_="column",
        x=f"{left + 0.06 * wide:.3f}%",
        y=y,
        width=f"{0.88 * wide:.3f}%",
        height=max(HEIGHT - y, 0.0),
    )


def _mark(mark: Mark) -> list[Markup]:
    x = f"{100 * mark.place:.2f}%"
    right = mark.place > 0.7
    return [
        element("line", class_="marker", x1=x, x2=x, y1=0, y2=HEIGHT),
        element(
            "text",
            mark.name,
            class_="marker-name",
            x=x,
            y=10,
            dx=-6 if right else 6,
            text_anchor="end" if right else "start",
        ),
    ]
