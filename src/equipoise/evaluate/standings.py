"""The order of systems in a backtest: which is best, its lead, and how certain that is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from equipoise.data.backtest import (
    BASELINE,
    HIGHER_IS_BETTER,
    METRICS,
    Backtest,
    Difference,
    Group,
    Interval,
    Judgement,
    judge,
)

#: Bounds without resamples, or with too few matches.
UNKNOWN: Interval = (math.nan, math.nan)


class Rival(NamedTuple):
    """A system that is behind the best one on a metric, on the same matches.

    behind : distance from the best, at least 0, in units of the metric
    lower, upper : bounds of it; NaN without resamples, or with too few matches
    """

    label: str
    behind: float
    lower: float
    upper: float

    @property
    def beyond_noise(self) -> bool | None:
        """Whether the interval excludes 0; None without one."""
        return None if math.isnan(self.lower) else self.lower > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """The order of systems by one metric.

    best, value : label of the best system (the first of equal ones), and its metric
    rivals : the other systems without the baseline, nearest first
    least : smallest difference that matters
    """

    metric: str
    best: str
    value: float
    rivals: tuple[Rival, ...]
    least: float = 0.0

    def judged(self, rival: Rival) -> Judgement:
        """Return how certain it is that a rival is behind."""
        return judge(rival.behind, (rival.lower, rival.upper), self.least)

    @property
    def leaders(self) -> tuple[str, ...]:
        """Labels of the best system and of systems equal to it."""
        return (self.best, *(rival.label for rival in self.rivals if rival.behind == 0))

    @property
    def behind(self) -> tuple[Rival, ...]:
        """The rivals that are not equal to the best, nearest first."""
        return self.rivals[len(self.leaders) - 1 :]

    @property
    def not_told_apart(self) -> tuple[str, ...]:
        """Labels of the rivals that are behind, but within noise."""
        return tuple(rival.label for rival in self.behind if rival.beyond_noise is False)


def standings(backtest: Backtest, group: Group | None = None) -> tuple[Standing, ...]:
    """Return the order of systems by every metric that has values.

    group : of the backtest; None for the requested participations
    """
    part = backtest if group is None else group
    known = [metric for metric in METRICS if metric in part.systems[0].metrics]
    standing = (_standing(part, metric, backtest.least_differences[metric]) for metric in known)
    return tuple(row for row in standing if row is not None)


def _standing(part: Backtest | Group, metric: str, least: float) -> Standing | None:
    sign = 1.0 if metric in HIGHER_IS_BETTER else -1.0
    values = {scores.label: scores.metrics[metric] for scores in part.systems}
    labels = [label for label in values if label != BASELINE and not math.isnan(values[label])]
    if not labels:
        return None
    # Sorting is stable: of equal systems the first one named is best.
    best, *others = sorted(labels, key=lambda label: -sign * values[label])
    rivals = tuple(
        # No difference is 0, never -0.
        Rival(
            label,
            abs(values[best] - values[label]),
            *_bounds(part.differences, metric, best, label, sign),
        )
        for label in others
    )
    return Standing(metric=metric, best=best, value=values[best], rivals=rivals, least=least)


def _bounds(
    differences: Sequence[Difference], metric: str, best: str, other: str, sign: float
) -> Interval:
    """Return the interval of how far `other` is behind.

    sign : 1 where higher is better, -1 where lower is better
    """
    for difference in differences:
        if {difference.first, difference.second} == {best, other}:
            turn = sign if difference.first == best else -sign
            low, high = sorted(turn * bound for bound in difference.intervals.get(metric, UNKNOWN))
            return low + 0.0, high + 0.0
    return UNKNOWN
