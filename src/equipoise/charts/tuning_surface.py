"""What a chart of a search shows: where trials lie, how good they were, which was the best."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeGuard

import numpy as np

from equipoise.arrays import Floats, Ints
from equipoise.data.tuning import Choice, Range, Trial, Tuning, Value

#: Values of a grid that span at least this factor are shown on a logarithmic axis.
_LOG_FROM = 8.0
#: Values worse than the best by more than so many times the median are all shown as equally bad.
_SPREAD = 3.0


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Axis:
    """One parameter along an axis.

    values : shape (k,), what was tried of a grid in ascending order; empty for a range
    named : whether values stand side by side instead of to scale: some are no finite numbers
    log : whether the scale is logarithmic
    low, high : ends of the scale
    """

    name: str
    values: tuple[Value, ...]
    named: bool
    log: bool
    low: float
    high: float

    @classmethod
    def of(cls, name: str, choice: Choice) -> Axis:
        """Return the axis of a parameter."""
        if isinstance(choice, Range):
            return cls(
                name=name, values=(), named=False, log=choice.log, low=choice.low, high=choice.high
            )
        values = tuple(sorted(choice, key=_order))
        numbers = [one for one in values if _is_number(one)]
        if len(numbers) < len(values):
            high = float(len(values) - 1)
            return cls(name=name, values=values, named=True, log=False, low=0.0, high=high)
        low, high = min(numbers), max(numbers)
        log = low > 0 and high / low >= _LOG_FROM
        return cls(name=name, values=values, named=False, log=log, low=low, high=high)

    def place(self, value: Value) -> float:
        """Return where a value stands on the scale; NaN where it has no place."""
        if self.named:
            return float(self.values.index(value)) if value in self.values else math.nan
        if not _is_number(value) or (self.log and value <= 0):
            return math.nan
        return float(value)

    def share(self, value: Value) -> float:
        """Return where a value stands, 0 at the low and 1 at the high end of the scale."""
        place, ends = self.place(value), (self.low, self.high)
        if self.log:
            place, ends = math.log(place), (math.log(self.low), math.log(self.high))
        return (place - ends[0]) / (ends[1] - ends[0]) if ends[1] > ends[0] else 0.5


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Surface:
    """Trials that are done, along one axis for each parameter.

    done : in the order of their numbers; value : shape (n,), their metric
    best : which of them is the best
    worst, ideal : the values between which colours and heights differ
    """

    axes: tuple[Axis, ...]
    done: tuple[Trial, ...]
    value: Floats
    best: int
    worst: float
    ideal: float

    @classmethod
    def of(cls, found: Tuning) -> Surface:
        """Return what there is to show of a search."""
        done = tuple(trial for trial in found.trials if trial.status == "done")
        value = np.array([trial.value(found.metric) for trial in done])
        best = next(at for at, trial in enumerate(done) if trial is found.best)
        ideal, sign = float(value[best]), 1.0 if found.higher_is_better else -1.0
        behind = sign * (ideal - value)
        seen = behind[behind <= _SPREAD * np.median(behind)]
        shown = float(seen.max(initial=0.0)) or float(behind.max()) or 1e-3 * max(abs(ideal), 1e-9)
        return cls(
            axes=tuple(Axis.of(name, choice) for name, choice in found.choices.items()),
            done=done,
            value=value,
            best=best,
            worst=ideal - sign * shown,
            ideal=ideal,
        )

    def places(self, axis: Axis) -> Floats:
        """Return where the trials stand along an axis, shape (n,)."""
        return np.array([axis.place(trial.parameters[axis.name]) for trial in self.done])

    def shares(self, axis: Axis) -> Floats:
        """Return the same from 0 to 1."""
        return np.array([axis.share(trial.parameters[axis.name]) for trial in self.done])

    def envelope(self, axis: Axis) -> tuple[Floats, Floats]:
        """Return (places, best values there): what a parameter can reach, whatever the others."""
        places = self.places(axis)
        order = np.unique(places)
        pick = max if self.ideal >= self.worst else min
        best = [pick(self.value[places == place].tolist()) for place in order]
        return order, np.array(best)

    def cells(self) -> tuple[Floats, Ints]:
        """Return (metric of a grid of two, its best cell), rows along the second axis.

        NaN where a trial was refused or failed.
        """
        across, up = self.axes
        table = np.full((len(up.values), len(across.values)), np.nan)
        at = np.array([_cell(trial.parameters, across, up) for trial in self.done])
        table[at[:, 1], at[:, 0]] = self.value
        return table, at[self.best]


def _cell(parameters: Mapping[str, Value], across: Axis, up: Axis) -> Sequence[int]:
    return (
        across.values.index(parameters[across.name]),
        up.values.index(parameters[up.name]),
    )


def _is_number(value: Value) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _order(value: Value) -> tuple[bool, float]:
    """Order numbers by size, and None after them."""
    return (True, 0.0) if value is None else (False, float(value))
