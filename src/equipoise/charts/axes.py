"""Scales, round ticks for numbers and times, and labels that do not overlap."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from equipoise.arrays import Floats, Ids
from equipoise.wording import printable

#: An outside value, such as the baseline, may widen a range at most by this factor.
_STRETCH = 3.0
#: Share of a range that stays empty at both ends.
_EDGE = 0.06

_Unit: TypeAlias = Literal["Y", "M", "D", "h", "m", "s"]


class _TimeStep(NamedTuple):
    """A step of a number of years, months, ..., and the number of letters in a label."""

    unit: _Unit
    every: int
    letters: int


#: From the finest to the coarsest.
_TIME_STEPS = (
    *(_TimeStep("s", every, 8) for every in (1, 5, 15, 30)),
    *(_TimeStep("m", every, 5) for every in (1, 5, 15, 30)),
    *(_TimeStep("h", every, 5) for every in (1, 3, 6, 12)),
    *(_TimeStep("D", every, 10) for every in (1, 2, 7, 14)),
    *(_TimeStep("M", every, 7) for every in (1, 2, 3, 6)),
    *(_TimeStep("Y", every, 4) for every in (1, 2, 5, 10, 20, 50, 100)),
)


class Scale(NamedTuple):
    """A linear scale: `low` is at `start`, `high` at `stop`."""

    low: float
    high: float
    start: float
    stop: float

    def at(self, value: float) -> float:
        """Return the position of a value."""
        share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.stop - self.start)

    def holds(self, value: float) -> bool:
        """Return whether the scale contains a value."""
        return self.low <= value <= self.high

    def ticks(self, most: int) -> list[tuple[float, str]]:
        """Return at most `most` (but at least 2) round values within the scale, with labels.

        They are multiples of 1, 2 or 5 times a power of ten.
        """
        for step, exponent in _round_steps((self.high - self.low) / most):
            # Multiplies whole numbers of steps, so that 0.3 does not become 0.30000000000000004.
            size = step * 10.0**exponent
            first, last = math.ceil(self.low / size - 1e-9), math.floor(self.high / size + 1e-9)
            if last - first + 1 <= most:
                break
        digits = max(-exponent, 0)
        values = [round(number * size, digits) for number in range(first, last + 1)]
        return [(value, signed(f"{value:.{digits}f}")) for value in values]


def around(values: Iterable[float], start: float, stop: float, outside: Iterable[float]) -> Scale:
    """Return a scale that shows all values, and those `outside` if none of them is far away.

    values, outside : NaN is ignored; without values the scale runs from 0 to 1
    """
    seen = [value for value in values if math.isfinite(value)]
    low, high = (min(seen), max(seen)) if seen else (0.0, 1.0)
    if low == high:
        # A single value is in the middle of a range as large as the value.
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


def _round_steps(least: float) -> Iterator[tuple[int, int]]:
    """Yield steps from about `least` up as (1, 2 or 5, power of ten)."""
    power = math.floor(math.log10(least))
    yield from ((1, power), (2, power), (5, power), (1, power + 1), (2, power + 1))


def round_numbers(low: float, high: float, most: int) -> Floats:
    """Return about `most` multiples of 1, 2 or 5 times a power of ten in [low, high]."""
    least = max((high - low) / max(most, 1), 1.0)
    step = next(size for one, power in _round_steps(least) if (size := one * 10.0**power) >= least)
    first, last = np.ceil(low / step), np.floor(high / step)
    found = np.asarray(step * np.arange(first, last + 1), dtype=np.float64)
    return found[(found >= low) & (found <= high)]  # where low/step underflows


def round_moments(low: int, high: int, columns: int) -> tuple[Ids, list[str]]:
    """Return round times in [low, high], microseconds since 1970, and their labels.

    columns : width of the axis in letters; labels are at least three letters apart
    """
    ends = np.array([low, high]).astype("datetime64[us]")
    for step in _TIME_STEPS:
        first, last = ends.astype(f"datetime64[{step.unit}]").astype(np.int64)
        if (last - first) / step.every * (step.letters + 3) > columns:
            continue
        counts = np.arange(first // step.every, last // step.every + 1) * step.every
        moments = counts.astype(f"datetime64[{step.unit}]")
        within = (moments.astype("datetime64[us]") >= ends[0]) & (moments <= ends[1])
        if within.sum() >= 2:
            found = moments[within]
            return found.astype("datetime64[us]").astype(np.int64), _names(found, step.unit)
    # There are no two round times: use both ends to the minute, or the only minute.
    ends_by_name = {str(one)[:16].replace("T", " "): one for one in ends[::-1]}
    found = np.array(list(ends_by_name.values())[::-1])
    return found.astype(np.int64), list(ends_by_name)[::-1]


def _names(moments: Ids, unit: str) -> list[str]:
    """Return labels: years, months or days, or times of day with midnight shown as the date."""
    seconds = np.datetime_as_string(moments.astype("datetime64[s]"))
    texts = [str(text) for text in seconds]
    if unit in "hms":
        end = 19 if unit == "s" else 16
        return [text[5:10] if text[11:] == "00:00:00" else text[11:end] for text in texts]
    return [text[: {"Y": 4, "M": 7, "D": 10}[unit]] for text in texts]


def spread_out(wanted: Floats, gap: float, low: float, high: float) -> Floats:
    """Return positions in [low, high], at least `gap` apart, as near as possible to those wanted.

    wanted : shape (n,), in any order, which the result keeps (of equal ones the first is highest).
      The result minimises the sum of squared moves. After subtracting the gaps this is an isotonic
      regression, solved by pooling neighbours that are out of order. If there is too little room,
      the gap shrinks.
    """
    count = len(wanted)
    if count == 0:
        return np.zeros(0)
    gap = min(gap, (high - low) / max(count - 1, 1))
    order = np.lexsort((-np.arange(count), wanted))
    blocks: list[tuple[float, int]] = []
    for place in (wanted[order] - gap * np.arange(count)).tolist():
        mean, size = place, 1
        while blocks and blocks[-1][0] > mean:
            before, others = blocks.pop()
            mean = (before * others + mean * size) / (others + size)
            size += others
        blocks.append((mean, size))
    pooled = np.concatenate([np.full(size, mean) for mean, size in blocks])
    places = np.empty(count)
    places[order] = np.clip(pooled, low, high - gap * (count - 1)) + gap * np.arange(count)
    return places


def shortened(name: str, letters: int) -> str:
    """Return a name shortened to at most `letters` letters, without control characters.

    Some of them reverse the rest of a line, also in a picture.
    """
    name = printable(name)
    return name if len(name) <= letters else f"{name[: max(letters - 1, 1)]}\N{HORIZONTAL ELLIPSIS}"
