"""Results of backtests and of searches for parameters: how well systems predict a history."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

import numpy as np

from equipoise.arguments import check_fields
from equipoise.arrays import Floats
from equipoise.display import Displayed, Tabular, draw, number_in_words
from equipoise.errors import NotFoundError, require
from equipoise.wording import counted

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure


#: Every metric, by name. Metrics of order: the first four are in percent [EM]_ sec. 6.2, the last
#: is from 0 to 1.
ORDER_METRICS = (
    "pair_inversion",
    "rank_deviation",
    "pair_inversion_top100",
    "rank_deviation_top100",
    "ndcg",
)
#: Metrics of expected scores: losses, for which lower is better.
SCORE_METRICS = ("log_loss", "brier")
#: Metrics of win, draw and loss in matches of two teams: losses; NaN in histories without draws.
OUTCOME_METRICS = ("outcome_log_loss", "rps")
METRICS = (*ORDER_METRICS, *SCORE_METRICS, *OUTCOME_METRICS)

#: For these metrics higher is better, for the others lower.
HIGHER_IS_BETTER = frozenset({"pair_inversion", "pair_inversion_top100", "ndcg"})

#: Largest value of metrics that have one; the least value of all is 0.
LARGEST: Mapping[str, float] = MappingProxyType(
    {name: 100.0 if name in ORDER_METRICS[:4] else 1.0 for name in (*ORDER_METRICS, "brier")}
)

#: Metrics of groups by earlier matches: those that make sense for a part of a match.
GROUP_METRICS = ("pair_inversion", "rank_deviation", *SCORE_METRICS)

#: A smaller difference of a metric does not matter, whatever its interval: 0.05 points of metrics
#: in percent, 0.0005 of metrics from 0 to 1 and of log losses.
LEAST_DIFFERENCE: Mapping[str, float] = MappingProxyType(
    {
        name: 0.0005 if name in ("ndcg", *SCORE_METRICS, *OUTCOME_METRICS) else 0.05
        for name in METRICS
    }
)

#: Fewest scored matches for an interval of a difference, and so for a verdict on it.
LEAST_MATCHES = 20

#: Label of the prediction without ratings.
BASELINE = "baseline"
#: Ends the label of a system whose chances are calibrated.
CALIBRATED = " calibrated"

#: A value within this fraction of a range from one end is at its edge.
_EDGE = 0.02


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Calibration(Tabular):
    """Expected scores compared with observed ones, in bins of equal width from 0 to 1.

    participations : shape (bins,), number in each bin; a participation is divided among bins by its
        opponents
    expected, observed : shape (bins,), mean scores; NaN in an empty bin

    Examples
    --------
    >>> club = eq.read_history("examples/contests.csv")
    >>> found = eq.backtest({"elo": eq.Elo(), "glicko": eq.Glicko()}, club, resamples=0)
    >>> found.of("elo").calibration.head(2)["participations"].len()
    2
    """

    participations: Floats
    expected: Floats
    observed: Floats

    @property
    def error(self) -> float:
        """Mean distance of expected and observed score, over participations."""
        filled = self.participations > 0
        difference = np.abs(self.expected - self.observed)[filled]
        return float(np.average(difference, weights=self.participations[filled]))

    def to_polars(self) -> pl.DataFrame:
        """Return a table with one row for each bin; the scores of an empty bin are null."""
        import polars as pl

        edges = np.linspace(0.0, 1.0, len(self.expected) + 1)
        return pl.DataFrame(
            {
                "from": edges[:-1],
                "to": edges[1:],
                "participations": self.participations,
                "expected": self.expected,
                "observed": self.observed,
            }
        ).fill_nan(None)

    def plot(self, *, title: str | None = None) -> Figure:
        """Return a figure of matplotlib: observed beside expected scores.

        Raises : EquipoiseError without matplotlib
        """
        return draw(self, title=title)

    def _in_words(self) -> str:
        return f"{counted(len(self.expected), 'bin')}, mean error {self.error:.4f}"


#: Lower and upper bound.
Interval: TypeAlias = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SystemScores(Displayed):
    """How well one system predicted.

    label : unique within the backtest
    system, parameters : name in the registry, or "constant-rate" for the baseline
    metrics : of `METRICS`; NaN if nothing is scored
    intervals : metric -> bounds, by matches and players; empty without resampling

    Examples
    --------
    >>> club = eq.read_history("examples/contests.csv")
    >>> found = eq.backtest({"elo": eq.Elo(), "glicko": eq.Glicko()}, club, resamples=0)
    >>> found.of("glicko").system
    'glicko'
    >>> len(found.of("glicko").metrics)
    9
    """

    label: str
    system: str
    parameters: Mapping[str, Any]
    metrics: Mapping[str, float]
    intervals: Mapping[str, Interval]
    calibration: Calibration

    def _in_words(self) -> str:
        return f"{self.label}, {_metrics_in_words(self.metrics)}"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Difference(Displayed):
    """Each metric of the system `first` minus that of `second`, on the same matches.

    metrics, intervals : as those of `SystemScores`; intervals are NaN if fewer than
        `LEAST_MATCHES` matches are scored

    Examples
    --------
    >>> club = eq.read_history("examples/contests.csv")
    >>> found = eq.backtest({"elo": eq.Elo(), "glicko": eq.Glicko()}, club, resamples=0)
    >>> one = found.differences[0]
    >>> one.first, one.second
    ('elo', 'glicko')
    >>> elo, glicko = (found.of(name).metrics["brier"] for name in ("elo", "glicko"))
    >>> one.metrics["brier"] == elo - glicko
    True
    """

    first: str
    second: str
    metrics: Mapping[str, float]
    intervals: Mapping[str, Interval]

    def _in_words(self) -> str:
        return f"{self.first} minus {self.second}, {_metrics_in_words(self.metrics)}"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class GroupScores(Displayed):
    """How well one system predicted players of a group; fields as those of `SystemScores`.

    Examples
    --------
    >>> club = eq.read_history("examples/contests.csv")
    >>> found = eq.backtest({"elo": eq.Elo(), "glicko": eq.Glicko()}, club, resamples=0)
    >>> sorted(found.group(5, None).of("elo").metrics)
    ['brier', 'log_loss', 'pair_inversion', 'rank_deviation']
    """

    label: str
    metrics: Mapping[str, float]
    intervals: Mapping[str, Interval]

    def _in_words(self) -> str:
        return f"{self.label}, {_metrics_in_words(self.metrics)}"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Group(Displayed):
    """Metrics of players with a range of earlier matches.

    A pair belongs to the group of its less experienced player, a distance between places to the
    group of the player. Places are counted among all participants of the match; only in the group
    from 5 on they are counted among its members (READINGS B9).

    first, last : earlier matches, both included; last is None if the range is open
    participations : of players of the group in the scored matches
    systems : as in the backtest, with `GROUP_METRICS`
    differences : of all pairs of systems, without the baseline
    over_baseline : differences of every system from the baseline

    Examples
    --------
    >>> club = eq.read_history("examples/contests.csv")
    >>> found = eq.backtest({"elo": eq.Elo(), "glicko": eq.Glicko()}, club, resamples=0)
    >>> found.group(5, None).everybody
    False
    >>> [one.label for one in found.group(5, None).systems]
    ['elo', 'glicko', 'baseline']
    """

    first: int
    last: int | None
    participations: int
    systems: tuple[GroupScores, ...]
    differences: tuple[Difference, ...]
    over_baseline: tuple[Difference, ...]

    @property
    def everybody(self) -> bool:
        """Whether the group has all players."""
        return self.first == 0 and self.last is None

    def _in_words(self) -> str:
        who = players_with(self.first, self.last)
        systems = counted(len(self.systems), "system")
        return f"{who}, {systems}, {counted(self.participations, 'participation')}"

    def of(self, label: str) -> GroupScores:
        """Return the scores of one system. Raises : NotFoundError."""
        return _labelled(self.systems, label)


#: How certain a difference of a metric is.
Judgement: TypeAlias = Literal[
    "level", "no difference that matters", "beyond noise", "within noise", "not known"
]


def judge(change: float, bounds: Interval, least: float) -> Judgement:
    """Return how certain a difference of a metric is.

    change : of either sign; bounds : its interval, NaN without resamples or with fewer than
      `LEAST_MATCHES` scored matches, and then nothing is known
    least : a smaller change does not matter, whatever its interval
    """
    if change == 0:
        return "level"
    lower, upper = bounds
    if math.isnan(change) or math.isnan(lower) or math.isnan(upper):
        return "not known"
    if abs(change) < least:
        return "no difference that matters"
    return "beyond noise" if lower > 0 or upper < 0 else "within noise"


def players_with(first: int, last: int | None) -> str:
    """Return a phrase for players with `first` to `last` earlier matches."""
    if last is None:
        return f"players with {first} or more earlier matches" if first else "all players"
    if first == last == 0:
        return "players without an earlier match"
    if first == last:
        return f"players with {first} earlier match{'' if first == 1 else 'es'}"
    return f"players with {first} to {last} earlier matches"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Backtest(Tabular):
    """Result of a backtest.

    systems : in the order in which they were named, with the baseline last; those of `--system all`
        with the most pairs in the right order first
    differences : of all pairs of systems, without the baseline
    over_baseline : differences of every system from the baseline
    matches, participations : numbers of those that are scored, the same for all systems
    undecided : number of scored matches that count only for expected scores, because all scored
      participants tied
    learned : number of matches before the first that could be scored
    groups : metrics by how many earlier matches players had: none, 1 to 4, 5 or more, and all;
        a group of which nothing can be scored is left out
    min_history, ties_as_authors : rules of scoring; min_total : fewest total matches of a scored
      player, None if earlier matches were counted
    confidence, resamples : of the intervals
    least_differences : metric -> smallest difference that matters
    predictions : table with a row for each scored match of two teams and system: the players of
        both teams, the chances of the first (`win`, `draw`, `loss`, and `expected`, which is win +
        draw/2), also calibrated, and the outcome; None unless requested

    Examples
    --------
    >>> club = eq.read_history("examples/contests.csv")
    >>> found = eq.backtest({"elo": eq.Elo(), "glicko": eq.Glicko()}, club, resamples=0)
    >>> found
    <Backtest: elo, glicko, baseline; 34 scored matches>
    >>> found.head()["label"].to_list()
    ['elo', 'glicko', 'baseline']
    """

    systems: tuple[SystemScores, ...]
    differences: tuple[Difference, ...]
    over_baseline: tuple[Difference, ...]
    matches: int
    participations: int
    undecided: int
    learned: int
    min_history: int
    ties_as_authors: bool
    confidence: float
    resamples: int
    min_total: int | None = None
    groups: tuple[Group, ...] = ()
    least_differences: Mapping[str, float] = field(default_factory=lambda: LEAST_DIFFERENCE)
    predictions: pl.DataFrame | None = None

    def of(self, label: str) -> SystemScores:
        """Return the scores of one system. Raises : NotFoundError."""
        return _labelled(self.systems, label)

    @property
    def for_whom(self) -> str:
        """The players to whom metrics and differences apply, as a phrase."""
        if self.min_total is None:
            return players_with(self.min_history, None)
        return f"players with {self.min_total} or more matches in all"

    def group(self, first: int, last: int | None) -> Group:
        """Return the metrics of a group. Raises : NotFoundError."""
        for group in self.groups:
            if (group.first, group.last) == (first, last):
                return group
        raise NotFoundError(f"the backtest has no scores for {players_with(first, last)}")

    def to_polars(self) -> pl.DataFrame:
        """Return a table with one row for each system: metrics, bounds and calibration error."""
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

    def plot(self, *, title: str | None = None) -> Figure:
        """Return a figure of matplotlib: the calibration of all systems, without the baseline.

        Raises : InvalidParameterError for more than six systems; EquipoiseError without matplotlib
        """
        return draw(self, title=title)

    def _in_words(self) -> str:
        labels = ", ".join(scores.label for scores in self.systems)
        return f"{labels}; {counted(self.matches, 'scored match', 'scored matches')}"

    def _shown(self, rows: int) -> pl.DataFrame:
        # The bounds of intervals are in `to_polars`; here they would hide the metrics.
        import polars as pl

        return self.to_polars().select(
            pl.exclude(r"^.*_(lower|upper)$", "system", "matches", "participations")
        )[:rows]

    def _notes(self) -> tuple[str, ...]:
        return (
            f"{self.for_whom}, {counted(self.participations, 'participation')}; "
            "higher pair_inversion and ndcg are better, and lower values of the others",
        )


def _metrics_in_words(metrics: Mapping[str, float]) -> str:
    """Return the first metrics for a line of text."""
    first = [name for name in ("pair_inversion", "log_loss", "brier") if name in metrics]
    return ", ".join(f"{name} {number_in_words(metrics[name], 4)}" for name in first)


_Labelled = TypeVar("_Labelled", SystemScores, GroupScores)


def _labelled(systems: Sequence[_Labelled], label: str) -> _Labelled:
    for scores in systems:
        if scores.label == label:
            return scores
    known = ", ".join(scores.label for scores in systems)
    raise NotFoundError(f"no system labelled {label!r} in this backtest; the labels are {known}")


#: Value of a parameter; None if the system accepts it.
Value: TypeAlias = bool | int | float | str | None


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
        best, current = self.best.value(self.metric), self.given.value(self.metric)
        better = best > current if self.higher_is_better else best < current
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
    numbers = [value for value in choice if value is not None and not isinstance(value, bool | str)]
    return len(numbers) > 2 and best in (min(numbers), max(numbers))
