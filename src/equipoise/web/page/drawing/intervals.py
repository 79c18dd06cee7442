"""A rating and how sure it is, as a dot on a bar: one small picture a row of a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup

from equipoise.web.page.drawing.axes import bar, dot, picture

#: Deviations to each side: about nineteen of twenty.
WIDTH = 1.96
_HEIGHT = 18


class Interval(NamedTuple):
    """A picture, and the ends that it shows."""

    svg: Markup
    low: float
    high: float


def intervals(values: Sequence[tuple[float, float | None]]) -> list[Interval | None]:
    """Return a picture for each rating and deviation, all on one scale; None where unsure."""
    ends = [
        None if spread is None else (mid - WIDTH * spread, mid + WIDTH * spread)
        for mid, spread in values
    ]
    known = [one for one in ends if one is not None]
    if not known:
        return [None for _ in values]
    low, high = min(one[0] for one in known), max(one[1] for one in known)
    wide = (high - low) or 1.0
    return [
        None
        if one is None
        else Interval(
            interval(
                (one[0] - low) / wide,
                (mid - low) / wide,
                (one[1] - low) / wide,
            ),
            *one,
        )
        for one, (mid, _) in zip(ends, values, strict=True)
    ]


def interval(low: float, middle: float, high: float) -> Markup:
    """Return a dot on a bar; all from 0 to 1."""
    # The ends of the box are kept free for the dot.
    low, middle, high = (4 + 92 * one for one in (low, middle, high))
    marks = bar(low, max(high, low + 0.1), _HEIGHT), dot(middle, _HEIGHT)
    return picture("interval", _HEIGHT, marks)
