"""What calibrated chances, a context and rating periods gain, for a system on a history.

A deviation of contexts or a length of periods is chosen on the first matches of the history; the
system with it is then compared with the system without it, on the other matches.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from inspect import signature
from typing import Any, Literal, NamedTuple, TypeAlias, cast

from equipoise.analysis.backtest.presentation import METRIC
from equipoise.analysis.reading import candidate_contexts
from equipoise.data.backtest import (
    HIGHER_IS_BETTER,
    OUTCOME_METRICS,
    SCORE_METRICS,
    Difference,
    judge,
)
from equipoise.data.history import History
from equipoise.errors import InvalidParameterError
from equipoise.evaluate.backtest import backtest
from equipoise.evaluate.tuning import tune
from equipoise.rating.contexts import CONTEXT, CONTEXT_DEVIATION
from equipoise.rating.registry import make_system, parameters_of
from equipoise.rating.system import RatingSystem

Kind: TypeAlias = Literal["calibration", "context", "periods"]

_PERIOD_DAYS = "period_days"
#: Parameter and values that are tried, in rating points and in days, by the column that they need.
_TRIED: dict[str, tuple[Kind, str, tuple[float, ...]]] = {
    CONTEXT: ("context", CONTEXT_DEVIATION, (20.0, 40.0, 60.0, 80.0, 100.0)),
    "time": ("periods", _PERIOD_DAYS, (1.0, 7.0, 30.0, 90.0, 365.0)),
}


class Gain(NamedTuple):
    """What one addition is worth to a system.

    column : of the history that it needs; "" for calibration
    value : of its parameter, the best on the first matches; None for calibration, and if none of
        the values tried is better than the system without it
    metric : by which it is judged
    difference : on the other matches, with the addition less without it; None without a value
    """

    kind: Kind
    column: str
    value: float | None
    metric: str
    difference: Difference | None


def gains(
    system: RatingSystem, history: History, metric: str, options: Mapping[str, Any]
) -> list[Gain]:
    """Return what additions are worth, calibration first, then those with a column in the history.

    options : arguments of `backtest` by name; values are chosen on the matches before its `first`
    Raises : InvalidDataError if there is nothing to score, ConvergenceError
    """
    scored = backtest({"without": system}, history, calibrate=True, **options)
    of_chances = metric if metric in (*SCORE_METRICS, *OUTCOME_METRICS) else "log_loss"
    listed = [Gain("calibration", "", None, of_chances, _turned(scored.differences[0]))]
    parameters = parameters_of(system)
    more = {name: options[name] for name in signature(tune).parameters if name in options}
    for column, (kind, parameter, values) in _TRIED.items():
        prepared, read = _with_column(history, column)
        if not read or system.capabilities.needed.get(column) != parameter:
            continue
        try:
            make_system(system.name, {**parameters, parameter: values[0]})
        except InvalidParameterError:
            continue  # A rating period adds up matches of several contexts.
        head = prepared.slice(0, options["first"])
        searched = tune(system, head, {parameter: values}, metric=metric, **more)
        best = searched.chosen.parameters[parameter]
        if best == parameters[parameter]:
            listed.append(Gain(kind, read, None, metric, None))
            continue
        changed = make_system(system.name, {**parameters, parameter: best})
        pair = {"with": changed, "without": system}
        difference = backtest(pair, prepared, **options).differences[0]
        listed.append(Gain(kind, read, float(cast(float, best)), metric, difference))
    return listed


def _turned(difference: Difference) -> Difference:
    """Return the second system less the first."""
    return Difference(
        first=difference.second,
        second=difference.first,
        metrics={name: -value for name, value in difference.metrics.items()},
        intervals={name: (-upper, -lower) for name, (lower, upper) in difference.intervals.items()},
    )


def _with_column(history: History, column: str) -> tuple[History, str]:
    """Return the history with a column that is needed, and which one that is; "" if there is none.

    Without the column `context`, the likeliest one counts.
    """
    if column == "time":
        return history, "" if history.time is None else column
    if column in history.attributes:
        return history, column
    likely = next(iter(candidate_contexts(history)), "")
    if not likely:
        return history, ""
    return (
        replace(history, attributes={**history.attributes, column: history.attributes[likely]}),
        likely,
    )


def gain_lines(
    listed: Sequence[Gain],
    least: Mapping[str, float],
    confidence: float,
    *,
    chances: str = "the chances",
    label: str = "",
) -> Iterator[str]:
    """Yield a sentence on each gain that is known.

    least : metric -> differences below this do not matter; confidence : of the intervals
    chances : what is calibrated; label : of the system, if there are several
    """
    prefix, of = (f"{label}: ", f"{label}.") if label else ("", "")
    for gain in listed:
        name = "" if gain.column == CONTEXT else f"--column {CONTEXT}={gain.column} "
        value = "..." if gain.value is None else f"{gain.value:g}"
        how = {
            "calibration": f"calibrating {chances} (backtest --calibrate)",
            "context": f"{gain.column} as a context ({name}--set {of}{CONTEXT_DEVIATION}={value})",
            "periods": f"a rating period (--set {of}{_PERIOD_DAYS}={value})",
        }[gain.kind]
        if gain.difference is None:
            yield f"{prefix}{how} brings no gain"
        elif not math.isnan(gain.difference.metrics[gain.metric]):
            words = VERDICTS[judged(gain.metric, gain.difference, least)]
            amount = change_in_words(gain.metric, gain.difference, confidence)
            yield f"{prefix}{how} changes {gain.metric} by {amount}: {words}"


#: Verdicts of the matches that were held out.
Verdict: TypeAlias = Literal[
    "better", "worse", "open", "no difference that matters", "not known", "same"
]
#: The same in words, but for parameters that are the same.
VERDICTS: Mapping[Verdict, str] = {
    "better": "better",
    "worse": "worse",
    "open": "which may be chance",
    "no difference that matters": "no difference that matters",
    "not known": "no verdict, because there are fewer than 20 matches",
}


def judged(metric: str, difference: Difference, least: Mapping[str, float]) -> Verdict:
    """Return the verdict on the change of a metric; least : by metric, as in `gain_lines`."""
    change = difference.metrics[metric]
    certainty = judge(change, difference.intervals[metric], least[metric])
    if certainty in ("level", "no difference that matters"):
        return "no difference that matters"
    if certainty == "not known":
        return certainty
    if certainty != "beyond noise":
        return "open"
    return "better" if (change > 0) == (metric in HIGHER_IS_BETTER) else "worse"


def change_in_words(metric: str, difference: Difference, confidence: float) -> str:
    """Return the change of a metric with its interval; one that rounds to 0 has no sign."""

    def signed(value: float) -> str:
        if math.isnan(value):
            return "unknown"
        text = format(value, f"+z{METRIC[metric].form}")
        return text if float(text) else text.removeprefix("+")

    lower, upper = difference.intervals[metric]
    change = signed(difference.metrics[metric])
    return f"{change} ({100 * confidence:g} %: {signed(lower)} to {signed(upper)})"
