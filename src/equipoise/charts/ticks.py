"""Round numbers and round moments for the axes of text charts."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from equipoise.arrays import Floats, Ids

_Unit: TypeAlias = Literal["Y", "M", "D", "h", "m", "s"]


class _Step(NamedTuple):
    """Every so many years, months, ..., and the letters of such a moment."""

    unit: _Unit
    every: int
    letters: int


#: From the finest to the coarsest.
_STEPS = (
    *(_Step("s", every, 8) for every in (1, 5, 15, 30)),
    *(_Step("m", every, 5) for every in (1, 5, 15, 30)),
    *(_Step("h", every, 5) for every in (1, 3, 6, 12)),
    *(_Step("D", every, 10) for every in (1, 2, 7, 14)),
    *(_Step("M", every, 7) for every in (1, 2, 3, 6)),
    *(_Step("Y", every, 4) for every in (1, 2, 5, 10, 20, 50, 100)),
)


def round_numbers(low: float, high: float, most: int) -> Floats:
    """Return whole multiples of 1, 2 or 5 times a power of ten in [low, high], about `most`."""
    least = max((high - low) / max(most, 1), 1.0)
    power = 10.0 ** np.floor(np.log10(least))
    step = next(power * one for one in (1, 2, 5, 10, 20) if power * one >= least)
    first, last = np.ceil(low / step), np.floor(high / step)
    found = np.asarray(step * np.arange(first, last + 1), dtype=np.float64)
    return found[(found >= low) & (found <= high)]  # where low/step underflows


def round_moments(low: int, high: int, columns: int) -> tuple[Ids, list[str]]:
    """Return round moments in [low, high], microseconds since 1970, and their names.

    columns : letters that the axis has; names are kept apart by at least three
    """
    ends = np.array([low, high]).astype("datetime64[us]")
    for step in _STEPS:
        first, last = ends.astype(f"datetime64[{step.unit}]").astype(np.int64)
        if (last - first) / step.every * (step.letters + 3) > columns:
            continue
        counts = np.arange(first // step.every, last // step.every + 1) * step.every
        moments = counts.astype(f"datetime64[{step.unit}]")
        within = (moments.astype("datetime64[us]") >= ends[0]) & (moments <= ends[1])
        if within.sum() >= 2:
            found = moments[within]
            return found.astype("datetime64[us]").astype(np.int64), _names(found, step.unit)
    # Nothing round twice: the ends to the minute, or the one minute there is.
    ends_by_name = {str(one)[:16].replace("T", " "): one for one in ends[::-1]}
    found = np.array(list(ends_by_name.values())[::-1])
    return found.astype(np.int64), list(ends_by_name)[::-1]


def _names(moments: Ids, unit: str) -> list[str]:
    """Return years, months or days, or times of the day, midnight named by its day."""
    seconds = np.datetime_as_string(moments.astype("datetime64[s]"))
    texts = [str(text) for text in seconds]
    if unit in "hms":
        end = 19 if unit == "s" else 16
        return [text[5:10] if text[11:] == "00:00:00" else text[11:end] for text in texts]
    return [text[: {"Y": 4, "M": 7, "D": 10}[unit]] for text in texts]
