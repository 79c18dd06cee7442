"""The mean rating of those who play, over time, with the middle half of them as a band."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from equipoise.charts.scale import Scale, around
from equipoise.messages.overview import MeanPoint
from equipoise.web.page.drawing.axes import Frame, moments

HEIGHT = 200


def drift_chart(name: str, points: Sequence[MeanPoint]) -> Markup:
    """Return mean and band; at least two points."""
    up = around(
        [value for one in points for value in (one.lower, one.upper, one.mean)],
        HEIGHT - 6.0,
        6.0,
        [],
    )
    at = [float(one.match if one.start is None else one.start) for one in points]
    wide = Scale(at[0], at[-1], 0.0, 1000.0)
    if points[0].start is None:
        below = [(wide.at(value) / 1000, text) for value, text in wide.ticks(5)]
    else:
        below = moments(at[0], at[-1])
    frame = Frame(HEIGHT, up)
    curve = frame.curve(
        [wide.at(x) for x in at],
        [one.mean for one in points],
        [one.lower for one in points],
        [one.upper for one in points],
    )
    return frame.svg(name, [], below, curve)
