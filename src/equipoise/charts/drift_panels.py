"""What a chart of drift shows: above how high ratings stand, beneath the points that were added."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from equipoise.arrays import Floats, Ids
from equipoise.charts.rating_series import positions
from equipoise.data.drift import Drift
from equipoise.errors import NotFoundError

#: Rating points: within less, every trifle would look like a change.
_LEAST_RANGE = 20.0


class Line(NamedTuple):
    """A line of a panel.

    label, end : what stands beside its end, and its last value
    number : of its colour
    place : shape (k,), datetime64[us] or numbers of matches; value : shape (k,), no NaN
    spread : shape (k,), how far a band reaches either way, or shape (0,) for none
    """

    label: str
    end: str
    number: int
    place: Ids
    value: Floats
    spread: Floats

    def positions(self) -> Floats:
        """Return the places as numbers."""
        return positions(self.place)


class Panel(NamedTuple):
    """Lines over one axis, and what they are; at least one line with at least one place."""

    heading: str
    lines: tuple[Line, ...]

    def visible(self) -> tuple[float, float]:
        """Return the range of values that shows every line and band."""
        low = min(float((line.value - _band(line)).min()) for line in self.lines)
        high = max(float((line.value + _band(line)).max()) for line in self.lines)
        edge = max(0.05 * (high - low), (_LEAST_RANGE - (high - low)) / 2)
        return low - edge, high + edge


def drift_panels(found: Mapping[str, Drift], *, band: bool) -> tuple[Panel, Panel]:
    """Return what is shown of one system or several, by label.

    Above the mean ratings of active players, with a band of a standard deviation either way where
    there is one system. Beneath the points added a player: by scaling by performance where it
    belongs to what is compared, else by all changes, and both where there is one system.
    Raises : NotFoundError   a system rates no match
    """
    for label, one in found.items():
        if not one.rated[-1]:
            raise NotFoundError(f"there is no match that {label} rates")
    alone = len(found) == 1
    ratings = [
        _line(label, number, one, one.rating, ".0f", one.spread if band and alone else None)
        for number, (label, one) in enumerate(found.items())
    ]
    return Panel("mean rating of active players", tuple(ratings)), _added(found)


def _added(found: Mapping[str, Drift]) -> Panel:
    """Return the lower panel."""
    heading = "points added a player so far"
    several = len(found) > 1
    scaling = [
        _line(label if several else "performance", number, one, one.added_by_performance, "+.1f")
        for number, (label, one) in enumerate(found.items())
        if one.scales
    ]
    if several and scaling:
        return Panel(f"{heading}, by performance scaling", tuple(scaling))
    everything = [
        _line(label if several else "all", number, one, one.added, "+.1f")
        for number, (label, one) in enumerate(found.items())
    ]
    # Two lines of one system must differ in colour.
    return Panel(heading, (*everything, *(line._replace(number=1) for line in scaling)))


def _line(
    label: str, number: int, one: Drift, value: Floats, kind: str, spread: Floats | None = None
) -> Line:
    """Return a line through the values there are.

    kind : how its last value is written
    """
    seen = np.isfinite(value)
    shown = value[seen]
    # What is 0 but for rounding must not become -0.0.
    end = format(round(float(shown[-1]), 1) + 0.0, kind)
    return Line(
        label=label,
        end=end,
        number=number,
        place=one.places()[seen],
        value=shown,
        spread=np.zeros(0) if spread is None else spread[seen],
    )


def _band(line: Line) -> Floats:
    return line.spread if len(line.spread) else np.zeros(len(line.value))
