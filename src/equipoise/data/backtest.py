"""What a backtest found: how well systems predicted the matches of a history."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from equipoise.arrays import Floats
from equipoise.errors import NotFoundError

if TYPE_CHECKING:
    import polars as pl

#: Every metric, by name. Orders: the first four in percent [EM]_ sec. 6.2, the last from 0 to 1.
ORDER_METRICS = (
    "pair_inversion",
    "rank_deviation",
    "pair_inversion_top100",
    "rank_deviation_top100",
    "ndcg",
)
#: Expected scores: losses, lower is better.
SCORE_METRICS = ("log_loss", "brier")
METRICS = (*ORDER_METRICS, *SCORE_METRICS)

#: Of the others less is better.
HIGHER_IS_BETTER = frozenset({"pair_inversion", "pair_inversion_top100", "ndcg"})

#: Label of the row that says what is reached without ratings.
BASELINE = "baseline"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Calibration:
    """Expected scores held against observed ones, in bins of equal width from 0 to 1.

    participations : shape (bins,), how many fall into each, counted as parts of a participation
        where only some of its opponents do
    expected, observed : shape (bins,), mean scores; NaN in an empty bin
    """

    participations: Floats
    expected: Floats
    observed: Floats

    @property
    def error(self) -> float:
        """Mean distance of expected and observed score, over participations."""
        filled = self.participations > 0
        apart = np.abs(self.expected - self.observed)[filled]
        return float(np.average(apart, weights=self.participations[filled]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """Metrics of a part of what was scored.

    by : earlier matches of the player, or size (players or teams) of the match
    first, last : of the range, both included; last is None where it is open
    participations : how many are scored
    metrics : of `METRICS`, those that are no top 100 and no gain; NaN where nothing is scored
    """

    by: Literal["earlier", "size"]
    first: int
    last: int | None
    participations: int
    metrics: Mapping[str, float]


#: Lower and upper bound.
Interval: TypeAlias = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemScores:
    """How well one system predicted.

    label : unique within the backtest
    system, parameters : name in the registry, or "constant-rate" for the baseline
    metrics : of `METRICS`; NaN where nothing is scored
    intervals : metric -> bounds; empty without resampling
    """

    label: str
    system: str
    parameters: Mapping[str, Any]
    metrics: Mapping[str, float]
    intervals: Mapping[str, Interval]
    calibration: Calibration
    slices: tuple[Slice, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """How much more than `second` a system `first` has of each metric, on the same matches.

    metrics, intervals : as those of `SystemScores`
    """

    first: str
    second: str
    metrics: Mapping[str, float]
    intervals: Mapping[str, Interval]


@dataclass(frozen=True, slots=True, kw_only=True)
class Backtest:
    """What a backtest found.

    systems : in the order in which they were named, the baseline last
    differences : of all pairs of systems, without the baseline
    matches, participations : scored, the same for all
    undecided : matches among them that count for expected scores only, being left with one tie
    learned : matches before the first that could be scored
    min_history, ties_as_authors : how it was scored
    confidence, resamples : of the intervals
    """

    systems: tuple[SystemScores, ...]
    differences: tuple[Difference, ...]
    matches: int
    participations: int
    undecided: int
    learned: int
    min_history: int
    ties_as_authors: bool
    confidence: float
    resamples: int

    def of(self, label: str) -> SystemScores:
        """Return the scores of one system. Raises : NotFoundError."""
        for scores in self.systems:
            if scores.label == label:
                return scores
        known = ", ".join(scores.label for scores in self.systems)
        raise NotFoundError(f"no system labelled {label!r} in this backtest: there are {known}")

    def to_polars(self) -> pl.DataFrame:
        """Return a table with a row a system: metrics, their bounds and the calibration error."""
        import polars as pl

        rows = []
        for scores in self.systems:
            row: dict[str, object] = {"label": scores.label, "system": scores.system}
            for name in METRICS:
                row[name] = scores.metrics[name]
            row["calibration_error"] = scores.calibration.error
            for name in scores.intervals:
                row[f"{name}_lower"], row[f"{name}_upper"] = scores.intervals[name]
            rows.append({**row, "matches": self.matches, "participations": self.participations})
        return pl.DataFrame(rows, infer_schema_length=None).fill_nan(None)
