"""Rulesets compared on the same days: replicates, paired intervals, and a careful verdict.

A day is the unit: waits of neighbouring tickets depend on each other, so an interval over tickets
as if they were independent would be several times too short, and is never given. Each ruleset sees
the same people. Differences to the first ruleset are paired by day, with Student's t; quantiles are
taken for each day and then averaged. In a verdict the p-values of all sentences are corrected
together (Holm 1979). Of a single day from a trace, hours are the unit: a bootstrap of moving blocks
of an hour by arrival, the same blocks for each ruleset (Kuensch 1989).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from equipoise.arrays import Floats
from equipoise.errors import require
from equipoise.matchmaking.arrivals import SECONDS_PER_HOUR, DayModel, People, draw_people
from equipoise.matchmaking.measures import (
    MEASURES,
    Matches,
    by_games,
    chances,
    groups,
    matches_of,
    measures,
    of_tickets,
    reasons_of,
    unfair_of,
)
from equipoise.matchmaking.simulation import Plan, SimulatedDay, check_plan, simulate_day
from equipoise.parallel.tasks import run_tasks

#: Measures of a verdict, in which less is better. Half of the tickets are looked at where some day
#: does not reach 95 %.
WAITS = ("to_match_p95", "to_match_p50")
VERDICT = ("gave_up", "unfair")
CONFIDENCE = 0.95
#: Days that are always simulated, because the intervals of fewer may be narrow by chance.
FEWEST_DAYS = 5
#: Blocks of a trace below which its intervals are not to be trusted.
FEW_BLOCKS = 10
_RESAMPLES = 2000


class Study(NamedTuple):
    """What all days have in common; people : of a trace, None draws them for each day."""

    plans: tuple[Plan, ...]
    model: DayModel
    seed: int
    people: People | None
    fast: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimated:
    """A mean over days with its interval, NaN with fewer than two days.

    p : of the difference from 0, by Student's t; NaN for a mean that is no difference
    """

    mean: float
    lower: float
    upper: float
    p: float = math.nan


class DayTables(NamedTuple):
    """Tables of a day with one ruleset.

    groups, games, chances : rows, see `measures`; reasons : why tickets waited
    """

    groups: list[dict[str, Any]]
    games: list[dict[str, float]]
    chances: list[dict[str, Any]]
    reasons: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The measures of rulesets over days.

    values : label -> measure -> shape (days,)
    estimates, differences : label -> measure -> mean; differences are to the first ruleset
    first : label -> the first day
    blocks : hours of a trace, 0 without one
    """

    labels: tuple[str, ...]
    days: int
    values: Mapping[str, Mapping[str, Floats]]
    estimates: Mapping[str, Mapping[str, Estimated]]
    differences: Mapping[str, Mapping[str, Estimated]]
    first: Mapping[str, DayTables]
    blocks: int


def compare(
    plans: Sequence[Plan],
    model: DayModel,
    *,
    days: int = 20,
    seed: int = 0,
    people: People | None = None,
    fast: bool = True,
    precision: float | None = None,
    workers: int = 1,
    executor: Executor | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Comparison:
    """Simulate days with every ruleset; the answer does not depend on the number of processes.

    people : of a trace, which is one day; fast : see `simulate_day`
    precision : after `FEWEST_DAYS` days or more, end once half of every interval of a verdict is
        at most this share of the mean of the first ruleset; None simulates all days
    Raises : InvalidParameterError
    """
    require(len(plans) >= 1, "rulesets", "at least one", 0)
    labels = tuple(plan.label for plan in plans)
    require(len(set(labels)) == len(labels), "rulesets", "with different labels", list(labels))
    require(days >= 1, "days", "at least 1", days)
    for plan in plans:
        check_plan(plan, model)
    count = days if people is None else 1
    results = run_tasks(
        _simulate,
        Study(tuple(plans), model, seed, people, fast),
        range(count),
        executor=executor,
        workers=workers,
        names=lambda day: f"day {day + 1}",
    )
    done: list[_Day] = []
    for day in results:
        done.append(day)
        if progress is not None:
            progress(len(done), count)
        if precision is not None and FEWEST_DAYS <= len(done) < count:
            comparison = _comparison(labels, done)
            if all(_is_precise(comparison, label, precision) for label in labels[1:] or labels):
                break
    return _comparison(labels, done)


def _comparison(labels: tuple[str, ...], done: Sequence[_Day]) -> Comparison:
    """Return the measures over days."""
    values = {
        label: {name: np.array([day.measures[at][name] for day in done]) for name in MEASURES}
        for at, label in enumerate(labels)
    }
    first = values[labels[0]]
    return Comparison(
        labels=labels,
        days=len(done),
        values=values,
        estimates={
            label: {name: interval(row[name]) for name in MEASURES} for label, row in values.items()
        },
        differences={
            label: {name: interval(values[label][name] - first[name], of=0.0) for name in MEASURES}
            | done[0].differences.get(label, {})
            for label in labels[1:]
        },
        first=dict(zip(labels, done[0].tables, strict=True)),
        blocks=done[0].blocks,
    )


def _is_precise(comparison: Comparison, label: str, precision: float) -> bool:
    """Return whether half of the intervals of a ruleset is at most a share of the first mean."""
    first = comparison.estimates[comparison.labels[0]]
    of = comparison.differences.get(label, first)
    known = _in_verdict(of)
    return bool(known) and all(
        of[name].upper - of[name].mean <= precision * abs(first[name].mean) for name in known
    )


class _Day(NamedTuple):
    """The measures and tables of a day with each plan; blocks, differences : of a trace."""

    measures: list[dict[str, float]]
    tables: list[DayTables]
    blocks: int
    differences: dict[str, dict[str, Estimated]]


def _simulate(study: Study, day: int) -> _Day:
    """Run one day with every ruleset; of a trace, also compare its blocks."""
    seed, people, model = study.seed + day, study.people, study.model
    if people is None:
        # The smallest team decides, so that all rulesets see the same parties.
        largest = min(plan.ruleset.player_max_number for plan in study.plans)
        people = draw_people(model, seed, largest=largest)
    results = []
    for plan in study.plans:
        played = simulate_day(plan, model, seed, people=people, fast=study.fast)
        results.append((played, matches_of(played)))
    tables = [
        DayTables(list(groups(*one)), by_games(one[0]), chances(one[1]), reasons_of(one[0]))
        for one in (results if day == 0 else ())
    ]
    blocks = (0, {}) if study.people is None else _by_blocks(study, results)
    return _Day([measures(*result) for result in results], tables, *blocks)


def interval(values: Floats, *, of: float = math.nan) -> Estimated:
    """Return the mean of days with the interval of Student's t; p : that it differs from `of`."""
    mean, count = float(values.mean()), len(values)
    if math.isnan(mean):
        # A day without the measure has no mean: leaving out days whose quantile is not reached
        # would flatter a ruleset.
        return Estimated(mean=math.nan, lower=math.nan, upper=math.nan)
    if count < 2:
        return Estimated(mean=mean, lower=math.nan, upper=math.nan)
    error = float(values.std(ddof=1)) / math.sqrt(count)
    half = student_quantile(CONFIDENCE, count - 1) * error
    p = math.nan
    if not math.isnan(of):
        p = 1.0 if error == 0 and mean == of else 0.0
        if error > 0:
            p = 1.0 - student_within(abs(mean - of) / error, count - 1)
    return Estimated(mean=mean, lower=mean - half, upper=mean + half, p=p)


def student_within(t: float, freedom: int) -> float:
    """Return the probability that Student's t is within -t..t.

    Finite sums: Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3 and 26.7.4.
    """
    angle = math.atan(t / math.sqrt(freedom))
    square = math.cos(angle) ** 2
    odd = freedom % 2
    term = total = math.cos(angle) if odd else 1.0
    if freedom == 1:
        total = 0.0
    for step in range(2 + odd, freedom - 1, 2):
        term *= (step - 1) / step * square
        total += term
    total *= math.sin(angle)
    return 2 / math.pi * (angle + total) if odd else total


@cache
def student_quantile(confidence: float, freedom: int) -> float:
    """Return t such that Student's t is within -t..t with a probability, by bisection."""
    low, high = 0.0, 1.0
    while student_within(high, freedom) < confidence and high < 1e9:
        high *= 2
    for _ in range(100):
        middle = 0.5 * (low + high)
        if student_within(middle, freedom) < confidence:
            low = middle
        else:
            high = middle
    return high


def _by_blocks(
    study: Study, results: Sequence[tuple[SimulatedDay, Matches]]
) -> tuple[int, dict[str, Any]]:
    """Return the number of blocks of an hour, and differences to the first ruleset by label."""
    first = results[0][0]
    created = first.people.created
    hours = max(math.ceil(first.end / SECONDS_PER_HOUR), 1)
    hour = np.minimum((created / SECONDS_PER_HOUR).astype(np.int64), hours - 1)
    tables = []
    for day, matches in results:
        unfair = unfair_of(day, matches)
        rows = {number: of_tickets(day, unfair, hour == number) for number in np.unique(hour)}
        # An hour without a match has no mean wait.
        sound = {
            number: [row[name] for name in (*WAITS, *VERDICT)]
            for number, row in rows.items()
            if row["tickets"] >= 2 and not math.isnan(row["wait_mean"])
        }
        tables.append(sound)
    rng = np.random.Generator(np.random.Philox(key=study.seed))
    by_label: dict[str, Any] = {}
    for plan, table in zip(study.plans[1:], tables[1:], strict=True):
        common = sorted(set(table) & set(tables[0]))
        difference = np.array([table[block] for block in common]) - [
            tables[0][block] for block in common
        ]
        drawn = rng.integers(len(common), size=(_RESAMPLES, len(common)))
        by_label[plan.label] = {
            name: _bootstrapped(difference[:, at], drawn)
            for at, name in enumerate((*WAITS, *VERDICT))
        }
    return hours, by_label


def _bootstrapped(values: Floats, drawn: Any) -> Estimated:
    if len(values) < 2 or np.isnan(values).any():
        return Estimated(mean=math.nan, lower=math.nan, upper=math.nan)
    means = values[drawn].mean(axis=1)
    lower, upper = np.quantile(means, (0.5 - CONFIDENCE / 2, 0.5 + CONFIDENCE / 2)).tolist()
    tail = min(float(np.mean(means <= 0)), float(np.mean(means >= 0)))
    p = min(1.0, 2 * max(tail, 1 / len(means)))
    return Estimated(mean=float(values.mean()), lower=lower, upper=upper, p=p)


def holm(p: Mapping[Any, float]) -> dict[Any, float]:
    """Return p-values corrected for their number (Holm 1979); NaN stays NaN."""
    known = sorted((key for key in p if not math.isnan(p[key])), key=lambda key: p[key])
    adjusted, least = dict(p), 0.0
    for at, key in enumerate(known):
        least = max(least, min(1.0, (len(known) - at) * p[key]))
        adjusted[key] = least
    return adjusted


#: Measure -> words for less and for more, factor, and unit.
_WORDS = {
    "to_match_p95": ("shorter waits", "longer waits", 1.0, "s to match 95 %"),
    "to_match_p50": ("shorter waits", "longer waits", 1.0, "s to match half"),
    "gave_up": ("fewer give up", "more give up", 100.0, "points of 100"),
    "unfair": ("fairer", "less fair", 100.0, "points of 100 in abs(p - 1/2)"),
}


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _in_verdict(estimates: Mapping[str, Estimated]) -> list[str]:
    """Return the measures of a verdict that are known: one of the waits, and the others."""
    waits = [name for name in WAITS if not math.isnan(estimates[name].upper)][:1]
    return waits + [name for name in VERDICT if not math.isnan(estimates[name].upper)]


def verdict(comparison: Comparison) -> Iterator[str]:
    """Yield a sentence for each ruleset after the first: only what intervals allow."""
    names = {label: _in_verdict(comparison.differences[label]) for label in comparison.labels[1:]}
    corrected = holm(
        {
            (label, name): comparison.differences[label][name].p
            for label, known in names.items()
            for name in known
        }
    )
    for label in comparison.labels[1:]:
        parts, unsure = [], []
        for name in names[label]:
            estimate = comparison.differences[label][name]
            less, more, factor, unit = _WORDS[name]
            if corrected[label, name] >= 1 - CONFIDENCE:
                unsure.append(MEASURES[name].words)
                continue
            low, high = sorted((abs(estimate.lower) * factor, abs(estimate.upper) * factor))
            by = f"{_short(abs(estimate.mean) * factor)} {unit} ({_short(low)} to {_short(high)})"
            parts.append(f"{less if estimate.mean < 0 else more} by {by}")
        if not parts and not unsure:
            yield f"{label} and {comparison.labels[0]}: nothing can be said; simulate more days."
            continue
        sentence = f"{label}, compared with {comparison.labels[0]}: {'; '.join(parts)}"
        if unsure:
            chance = f"chance may explain the difference in {' and '.join(unsure)}"
            sentence += f"{'; ' if parts else ''}{chance}"
        yield f"{sentence}."
