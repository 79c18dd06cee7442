"""Results of a search for parameters: its ranges, its trials, and the best of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from equipoise.arguments import check_fields
from equipoise.data.backtest import HIGHER_IS_BETTER, METRICS
from equipoise.display import Displayed, Tabular, draw, number_in_words
from equipoise.errors import require
from equipoise.wording import counted

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

#: Value of a parameter; None if the system accepts it.
Value: TypeAlias = bool | int | float | str | None

#: A value within this fraction of a range from one end is at its edge.
_EDGE = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """Values of a parameter from `low` to `high`, both included.

    log : sample the logarithm evenly, instead of the value
    whole : only whole numbers

    Examples
    --------
    >>> round(eq.Range(low=1.0, high=100.0, log=True).place(10.0), 6)
    0.5
    """

    low: float
    high: float
    log: bool = False
    whole: bool = False

    def __post_init__(self) -> None:
        """Check the bounds."""
        check_fields(self)
        for name, bound in (("low", self.low), ("high", self.high)):
            require(math.isfinite(bound), name, "finite", bound)
            if self.whole:
                require(bound == int(bound), name, "a whole number", bound)
        require(self.low < self.high, "high", f"above low, which is {self.low:g}", self.high)
        require(not self.log or self.low > 0, "low", "positive in a logarithmic range", self.low)

    def place(self, value: float) -> float:
        """Return the position of a value, 0 at the low and 1 at the high end."""
        ends = (self.low, self.high)
        low, high = (math.log(end) for end in ends) if self.log else ends
        return ((math.log(value) if self.log else value) - low) / (high - low)


#: What to try for a parameter: a list of values, or samples of a range.
Choice: TypeAlias = tuple[Value, ...] | Range


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Trial(Displayed):
    """One set of parameters, and how well it predicted.

    number : from 0, in the order of proposal; -1 for the given parameters
    parameters : the parameters searched
    status : done, refused by the system, or failed while rating; `reason` explains it
    metrics : of `METRICS`; empty unless it is done

    Examples
    --------
    >>> club = eq.read_history("examples/contests.csv")
    >>> found = eq.tune(eq.Elo(), club, {"k": (16.0, 32.0)})
    >>> found.best.parameters
    {'k': 32.0}
    """

    number: int
    parameters: Mapping[str, Value]
    status: Literal["done", "refused", "failed"] = "done"
    reason: str = ""
    metrics: Mapping[str, float]

    def value(self, metric: str) -> float:
        """Return one metric; NaN unless the trial is done."""
        return self.metrics.get(metric, math.nan)

    def _in_words(self) -> str:
        values = ", ".join(f"{name} {value}" for name, value in self.parameters.items())
        return f"{self.number}, {self.status}: {values}"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Tuning(Tabular):
    """Result of a search for parameters.

    system : its name; metric : the metric to optimise
    choices : the values or ranges tried, by parameter
    given : the parameters that the search started from, as a trial of their own
    trials : in the order of their numbers, at least one of them done
    matches, participations : numbers of scored ones in each trial

    Examples
    --------
    >>> club = eq.read_history("examples/contests.csv")
    >>> found = eq.tune(eq.Elo(), club, {"k": (16.0, 32.0)})
    >>> [trial.status for trial in found.trials]
    ['done', 'done']
    >>> found.head(1).columns[:3]
    ['trial', 'k', 'status']
    """

    system: str
    metric: str
    choices: Mapping[str, Choice]
    given: Trial
    trials: tuple[Trial, ...]
    matches: int
    participations: int

    @property
    def best(self) -> Trial:
        """The best trial; of equal ones the first."""
        return self.ranked()[0]

    @property
    def chosen(self) -> Trial:
        """The best trial if it is better than the given parameters; else these."""
        best, given = self.best.value(self.metric), self.given.value(self.metric)
        better = best > given if self.higher_is_better else best < given
        return self.best if better else self.given

    @property
    def higher_is_better(self) -> bool:
        """Whether a higher metric is better."""
        return self.metric in HIGHER_IS_BETTER

    def _shown(self, rows: int) -> pl.DataFrame:
        """Return the best trials, with the metric searched for."""
        table = self.to_polars().select("trial", *self.choices, "status", self.metric)
        # Sorting is stable, so equal trials stay in the order of their numbers.
        return table.sort(
            self.metric,
            descending=self.higher_is_better,
            nulls_last=True,
            maintain_order=True,
        )[:rows]

    def plot(self, *, title: str | None = None) -> Figure:
        """Return a figure of matplotlib: the metric over the parameters searched.

        Raises : EquipoiseError without matplotlib
        """
        return draw(self, title=title)

    def _in_words(self) -> str:
        best = self.best
        values = ", ".join(f"{name} {_short(value)}" for name, value in best.parameters.items())
        return (
            f"{self.system}, {counted(len(self.trials), 'trial')}; the best has "
            f"{self.metric} {number_in_words(best.value(self.metric), 4)} with {values}"
        )

    def ranked(self) -> list[Trial]:
        """Return the trials that are done, the best first, equal ones by number."""
        sign = -1.0 if self.higher_is_better else 1.0
        done = [trial for trial in self.trials if trial.status == "done"]
        return sorted(done, key=lambda trial: (sign * trial.value(self.metric), trial.number))

    def at_edges(self) -> dict[str, Value]:
        """Return the best values that are at an end of the values tried, by parameter.

        Better values may exist beyond. Zero, infinity, and ends of fewer than three values do not
        count.
        """
        return {
            name: self.best.parameters[name]
            for name, choice in self.choices.items()
            if _is_at_edge(choice, self.best.parameters[name])
        }

    def to_polars(self) -> pl.DataFrame:
        """Return a table with one row for each trial: parameters, status, metrics."""
        import polars as pl

        frame = pl.DataFrame(
            {
                "trial": [trial.number for trial in self.trials],
                **{
                    name: pl.Series([trial.parameters[name] for trial in self.trials], strict=False)
                    for name in self.choices
                },
                "status": [trial.status for trial in self.trials],
                **{
                    name: pl.Series([trial.value(name) for trial in self.trials], dtype=pl.Float64)
                    for name in METRICS
                },
                "reason": [trial.reason for trial in self.trials],
            }
        )
        return frame.with_columns(pl.col(METRICS).fill_nan(None))


def _short(value: Value) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _is_at_edge(choice: Choice, best: Value) -> bool:
    if best is None or isinstance(best, bool | str) or best == 0 or math.isinf(best):
        return False
    if isinstance(choice, Range):
        if choice.whole:
            return best in (choice.low, choice.high)
        place = choice.place(best)
        return place < _EDGE or place > 1 - _EDGE
    numbers = [one for one in choice if one is not None and not isinstance(one, bool | str)]
    return len(numbers) > 2 and best in (min(numbers), max(numbers))
