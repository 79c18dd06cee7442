"""Calibration as a drawing: observed over expected scores, and how many there are of each."""

from __future__ import annotations

from markupsafe import Markup

from equipoise.charts import svg
from equipoise.charts.markup import decimals
from equipoise.charts.scale import Scale
from equipoise.data.backtest import Calibration
from equipoise.wording import counted

#: Pixels: the square, and the strip of bars below it.
_LEFT, _TOP, _SIDE, _BARS = 46.0, 8.0, 292.0, 36.0
_TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)
_PERCENT = "\N{NO-BREAK SPACE}%"


def calibration_chart(
    name: str, found: Calibration, number: int, *, title: str, description: str
) -> Markup:
    """Return the drawing of one system's calibration.

    name : unique on the page; number : of the system's colour
    """
    x = Scale(0.0, 1.0, _LEFT, _LEFT + _SIDE)
    y = Scale(0.0, 1.0, _TOP + _SIDE, _TOP)
    bottom = y.start + _BARS + 10
    middle = _LEFT + _SIDE / 2
    return svg.drawing(
        name,
        (svg.WIDTH, bottom + 38),
        title,
        description,
        _grid(x, y, bottom),
        svg.line(x.start, y.start, x.stop, y.stop, "reference dashed"),
        _bars(found, x, bottom),
        svg.coloured(number, _curve(found, x, y)),
        svg.words(x.start + 8, y.stop + 14, "observed", "axis over"),
        svg.words(middle, bottom + 33, "expected score", "axis", "middle"),
    )


def _grid(x: Scale, y: Scale, bottom: float) -> list[Markup]:
    marks = []
    for value in _TICKS:
        across, up, text = x.at(value), y.at(value), f"{100 * value:g}{_PERCENT}"
        marks += [
            svg.line(across, y.start, across, y.stop, "grid"),
            svg.line(x.start, up, x.stop, up, "grid"),
            svg.words(across, bottom + svg.LINE, text, "axis", "middle"),
            svg.words(x.start - 6, up + 4, text, "axis", "end"),
        ]
    return [*marks, svg.line(x.start, bottom, x.stop, bottom, "rule")]


def _bars(found: Calibration, x: Scale, bottom: float) -> list[Markup]:
    """Return a bar a bin, as high as it holds many."""
    counts = found.participations.tolist()
    most, wide = max(counts), (x.stop - x.start) / len(counts)
    return [
        svg.bar(x.start + wide * number + 1, bottom, wide - 2, _BARS * count / most)
        for number, count in enumerate(counts)
        if count > 0
    ]


def _curve(found: Calibration, x: Scale, y: Scale) -> list[Markup]:
    """Return a dot for every bin that holds any, and a line through them."""
    filled = found.participations > 0
    rows = list(
        zip(
            found.expected[filled].tolist(),
            found.observed[filled].tolist(),
            found.participations[filled].tolist(),
            strict=True,
        )
    )
    points = [(x.at(expected), y.at(observed)) for expected, observed, _ in rows]
    dots = [
        svg.told(svg.dot(*point, "dot", size=4.5), _told(*row))
        for point, row in zip(points, rows, strict=True)
    ]
    return [svg.track(points, "curve"), *dots]


def _told(expected: float, observed: float, count: float) -> str:
    return (
        f"expected {decimals(100 * expected, 1)} %, observed {decimals(100 * observed, 1)} %, "
        f"{counted(round(count), 'participation')}"
    )
