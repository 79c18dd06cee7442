"""Parameters of systems, each declared once: its default, bounds, words and a note for users."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

import numpy as np

from equipoise.errors import InvalidParameterError, require


@dataclass(frozen=True, slots=True)
class Bounds:
    """The numbers that a parameter may be; `rule` says so in messages.

    above, below : whether `low` and `high` themselves are refused
    """

    low: float
    high: float
    rule: str
    above: bool = False
    below: bool = False

    def allow(self, value: float) -> bool:
        """Return whether a value is within the bounds."""
        fits = value > self.low if self.above else value >= self.low
        return fits and (value < self.high if self.below else value <= self.high)


class Span(NamedTuple):
    """Values from `low` to `high`: in a grid of `steps` values, rounded to multiples of `unit`.

    log : spaced by equal factors instead of equal steps
    """

    low: float
    high: float
    steps: int
    unit: float
    log: bool = True

    def grid(self) -> tuple[float, ...]:
        """Return the values of the grid; values equal after rounding are listed once."""
        space = np.geomspace if self.log else np.linspace
        units = np.rint(space(self.low, self.high, self.steps) / self.unit)
        # Fifteen digits: 3 x 0.1 is written, and read again, as 0.3.
        return tuple(dict.fromkeys(float(f"{count * self.unit:.15g}") for count in units))


def param(
    default: Any,
    low: float = -math.inf,
    high: float = math.inf,
    *,
    rule: str = "",
    above: bool = False,
    below: bool = False,
    words: Mapping[str, int] | None = None,
    later: bool = False,
    note: str = "",
) -> Any:
    """Return a parameter of a system, a field of its dataclass.

    low, high : bounds of numbers; above, below : whether they themselves are refused
    rule : what messages say of the bounds; "" makes it of the numbers
    words : word -> the number that kernels have for it
    later : whether it was added later, so that files leave it out where it has its default
    note : what `equipoise systems` says of a parameter that is off by default
    """
    bounds = None
    if rule or low > -math.inf or high < math.inf:
        text = rule or f"from {_number(low)} to {_number(high)}"
        bounds = Bounds(low, high, text, above, below)
    more = {"bounds": bounds, "words": words, "later": later, "note": note}
    return field(default=default, metadata={name: one for name, one in more.items() if one})


def positive(default: float | None, *, later: bool = False, note: str = "") -> Any:
    """Return a parameter above 0 and below infinity."""
    return param(
        default, 0.0, math.inf, rule="positive", above=True, below=True, later=later, note=note
    )


def initial_rating(default: float = 1500.0) -> Any:
    """Return the rating of newcomers."""
    return param(default, -1e9, 1e9)


def initial_deviation(default: float = 350.0) -> Any:
    """Return the deviation of newcomers; its square stays within the digits of float64."""
    return param(default, 1e-6, 1e9)


def check_bounds(system: Any, names: Iterable[str] | None = None) -> None:
    """Check the numbers of these parameters, or of all. Raises : InvalidParameterError."""
    for one in fields(system):
        bounds: Bounds | None = one.metadata.get("bounds")
        if bounds is None or (names is not None and one.name not in names):
            continue
        value = getattr(system, one.name)
        if value is not None:
            require(bounds.allow(value), one.name, bounds.rule, value)


def refuse_removed(kind: Any, names: Iterable[str]) -> None:
    """Refuse parameters that a system had in earlier versions. Raises : InvalidParameterError."""
    removed: Mapping[str, str] = getattr(kind, "removed", {})
    for name in names:
        if name in removed:
            raise InvalidParameterError(f"{kind.name}.{name} was removed: {removed[name]}")


def _number(value: float) -> str:
    """Return a bound as messages have it: 1e-6, 1e9, 0, 1.5."""
    return f"{value:g}".replace("e-0", "e-").replace("e+0", "e").replace("e+", "e")
