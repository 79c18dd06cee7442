"""From values to places in a drawing, and round values for its axes."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

#: A value from outside, such as the baseline, may make a range so many times as wide.
_STRETCH = 3.0
#: Share of a range that is kept free at both ends.
_EDGE = 0.06


class Scale(NamedTuple):
    """A straight scale: `low` lies at `start`, `high` at `stop`."""

    low: float
    high: float
    start: float
    stop: float

    def at(self, value: float) -> float:
        """Return the place of a value."""
        share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.stop - self.start)

    def holds(self, value: float) -> bool:
        """Return whether a value lies within the scale."""
        return self.low <= value <= self.high

    def ticks(self, most: int) -> list[tuple[float, str]]:
        """Return round values within the scale, at most `most` if that is at least 2, as text too.

        They are multiples of 1, 2 or 5 times a power of ten.
        """
        wide = self.high - self.low
        power = math.floor(math.log10(wide / most))
        for step, exponent in ((1, power), (2, power), (5, power), (1, power + 1), (2, power + 1)):
            # Numbers of steps are whole, so that 0.3 is not 0.30000000000000004.
            size = step * 10.0**exponent
            first, last = math.ceil(self.low / size - 1e-9), math.floor(self.high / size + 1e-9)
            if last - first + 1 <= most:
                break
        digits = max(-exponent, 0)
        values = [round(number * size, digits) for number in range(first, last + 1)]
        return [(value, signed(f"{value:.{digits}f}")) for value in values]


def around(values: Iterable[float], start: float, stop: float, outside: Iterable[float]) -> Scale:
    """Return a scale that shows all values, and those `outside` where none of them is far off.

    values, outside : NaN is left out; without any values the scale runs from 0 to 1
    """
    seen = [value for value in values if math.isfinite(value)]
    low, high = (min(seen), max(seen)) if seen else (0.0, 1.0)
    if low == high:
        # One value stands in the middle of a range of its own size.
        half = 0.05 * abs(low) or 0.5
        low, high = low - half, high + half
    others = [value for value in outside if math.isfinite(value)]
    lowest, highest = min([low, *others]), max([high, *others])
    if highest - lowest <= _STRETCH * (high - low):
        low, high = lowest, highest
    edge = _EDGE * (high - low)
    return Scale(low - edge, high + edge, start, stop)


def signed(text: str) -> str:
    """Return a number as text with a minus sign instead of a hyphen."""
    return text.replace("-", "\N{MINUS SIGN}")
