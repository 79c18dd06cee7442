"""The tables and sentences of a search for parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.cli.backtest_tables import Table

if TYPE_CHECKING:
    from equipoise.messages.tune import TrialMessage, TuneMessage

#: Trials that are printed, the best first; --trials-output has all.
SHOWN = 10
#: Digits behind the point of a metric.
DIGITS = {
    "pair_inversion": 3,
    "rank_deviation": 3,
    "pair_inversion_top100": 3,
    "rank_deviation_top100": 3,
}
_OTHERS = 5


def trials_table(told: TuneMessage) -> Table:
    """Return the best trials and the parameters given, a row each."""
    names = [choice.parameter for choice in told.search.choices]
    metric = told.search.metric
    done = [trial for trial in told.trials if trial.value is not None]
    sign = -1 if told.search.higher_is_better else 1
    done.sort(key=lambda trial: (sign * (trial.value or 0.0), trial.number))
    rows = [
        [
            "given" if trial.number is None else str(trial.number),
            *(_written(trial.parameters[name]) for name in names),
            _value(trial, metric),
        ]
        for trial in (*done[:SHOWN], told.given)
    ]
    columns = ["trial", *names, metric]
    return columns, rows, set(columns) - {"trial"}


def tune_lines(told: TuneMessage) -> list[str]:
    """Return what was tried, what came of it, and how sure that is."""
    lines = [*_counts(told), _found(told)]
    edges = [choice.parameter for choice in told.search.choices if choice.at_edge]
    if edges and told.improved:
        lines.append(
            f"at the end of what was tried: {', '.join(edges)}; better values may lie beyond"
        )
    return [*lines, _held_out(told)]


def _counts(told: TuneMessage) -> list[str]:
    search, trials = told.search, told.trials
    lines = [
        f"{len(trials):,} trials in {search.seconds:.1f} s, each scored on {search.matches:,} of "
        f"the first {search.first:,} matches"
    ]
    if search.recorded:
        lines.append(f"{search.recorded:,} trials were in the study already")
    for status, word in (("refused", "refused by the system"), ("failed", "failed")):
        some = [trial for trial in trials if trial.status == status]
        if some:
            lines.append(f"{len(some):,} trials were {word}; the first: {some[0].reason}")
    return lines


def _found(told: TuneMessage) -> str:
    """Return what is the best on the matches that were searched on."""
    metric = told.search.metric
    best, given = _value(told.best, metric), _value(told.given, metric)
    if not told.improved:
        return f"no trial beats the parameters given, whose {metric} is {given} (best trial {best})"
    settings = ", ".join(f"{name}={_written(one)}" for name, one in told.best.parameters.items())
    return f"found {settings}: {metric} {best}, with the parameters given {given}"


def _held_out(told: TuneMessage) -> str:
    """Return what the matches say that were not searched on."""
    metric, scored = told.search.metric, told.held_out.systems[0].matches
    verdict = told.held_out.verdict
    if verdict == "same":
        return "so there is nothing to compare on the others"
    digits = DIGITS.get(metric, _OTHERS)
    apart = told.held_out.difference.metrics[metric]
    lower, upper = told.held_out.difference.intervals[metric]
    if apart is None or lower is None or upper is None:
        return f"on the others {metric} cannot be computed"
    share = 100 * told.held_out.scoring.confidence
    said = {
        "better": "better, and hardly by chance",
        "worse": "worse, and hardly by chance: the first matches misled. Keep those given, or "
        "search on more",
        "open": "which may be chance",
    }[verdict]
    return (
        f"on {scored:,} other matches {metric} changes by {apart:+.{digits}f} "
        f"({share:g} %: {lower:+.{digits}f} to {upper:+.{digits}f}): {said}"
    )


def _value(trial: TrialMessage, metric: str) -> str:
    return "" if trial.value is None else f"{trial.value:.{DIGITS.get(metric, _OTHERS)}f}"


def _written(value: object) -> str:
    """Return a value in few letters; None is what the system takes by itself."""
    if value is None:
        return "default"
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.6g}" if isinstance(value, float) else str(value)
