"""A player's rating over time with its band, before any script makes it one to explore."""

from __future__ import annotations

from itertools import pairwise

from markupsafe import Markup

from equipoise.charts.scale import Scale, around
from equipoise.messages.overview import RatingTimeline
from equipoise.web.page.drawing.axes import Frame, moments
from equipoise.web.page.drawing.intervals import WIDTH

HEIGHT = 280
#: Points of a line; more would not be seen.
_MOST = 400


def timeline_chart(timeline: RatingTimeline, name: str) -> Markup:
    """Return rating and band, thinned so that highs and lows stay."""
    kept = thinned(timeline.ratings, _MOST)
    spreads = [timeline.deviations[at] or 0.0 for at in kept]
    values = [timeline.ratings[at] for at in kept]
    lows = [mid - WIDTH * spread for mid, spread in zip(values, spreads, strict=True)]
    highs = [mid + WIDTH * spread for mid, spread in zip(values, spreads, strict=True)]
    up = around([*lows, *highs], HEIGHT - 8.0, 8.0, [])
    across, names = _across(timeline, kept)
    frame = Frame(HEIGHT, up)
    return frame.svg(name, [], names, frame.curve(across, values, lows, highs))


def _across(
    timeline: RatingTimeline, kept: list[int]
) -> tuple[list[float], list[tuple[float, str]]]:
    """Return places from 0 to 1000, and names below: moments, or counts of matches."""
    if timeline.times is not None:
        low, high = timeline.times[kept[0]], timeline.times[kept[-1]]
        wide = (high - low) or 1.0
        return [1000 * (timeline.times[at] - low) / wide for at in kept], moments(low, high)
    count = len(timeline.ratings)
    scale = Scale(1.0, max(count, 2), 0.0, 1.0)
    names = [(scale.at(value), text) for value, text in scale.ticks(6) if value >= 1]
    return [1000 * scale.at(at + 1) for at in kept], names


def thinned(values: list[float], most: int) -> list[int]:
    """Return which values to draw: the ends, and of every stretch its lowest and highest."""
    count = len(values)
    if count <= most:
        return list(range(count))
    edges = [round(at * count / (most // 2)) for at in range(most // 2 + 1)]
    kept = {0, count - 1}
    for low, high in pairwise(edges):
        stretch = range(low, high)
        kept |= {min(stretch, key=values.__getitem__), max(stretch, key=values.__getitem__)}
    return sorted(kept)
