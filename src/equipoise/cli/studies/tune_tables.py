"""The tables and sentences of a search for parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.cli.studies.backtest_tables import METRICS
from equipoise.cli.tables import Table, cell, table
from equipoise.data.backtest import players_with
from equipoise.wording import counted

if TYPE_CHECKING:
    from equipoise.messages.studies import DifferenceMessage, TrialMessage, TuneMessage

#: Trials that are printed, the best first; --trials-output has all.
SHOWN = 10


def trials_table(told: TuneMessage) -> Table:
    """Return the best trials and the parameters given, a row each."""
    names = [choice.parameter for choice in told.search.choices]
    metric = told.search.metric
    done = [trial for trial in told.trials if trial.value is not None]
    sign = -1 if told.search.higher_is_better else 1
    done.sort(key=lambda trial: (sign * (trial.value or 0.0), trial.number))
    rows = (
        (
            "given" if trial.number is None else trial.number,
            *(_written(trial.parameters[name]) for name in names),
            trial.value,
        )
        for trial in (*done[:SHOWN], told.given)
    )
    return table({"trial": "", **dict.fromkeys(names, ">"), metric: METRICS[metric][1]}, rows)


def tune_lines(told: TuneMessage) -> list[str]:
    """Return what was tried, what came of it, and how sure that is."""
    lines = [*_counts(told), _found(told)]
    edges = [choice.parameter for choice in told.search.choices if choice.at_edge]
    if edges and told.improved:
        lines.append(
            f"at the end of what was tried: {', '.join(edges)}; better values may lie beyond"
        )
    return [*lines, *_held_out(told)]


def _counts(told: TuneMessage) -> list[str]:
    search, trials = told.search, told.trials
    lines = [
        f"{counted(len(trials), 'trial')} in {search.seconds:.1f} s, each scored on "
        f"{search.matches:,} of the first {counted(search.first, 'match', 'matches')}"
    ]
    if search.recorded:
        recorded = counted(search.recorded, "trial was", "trials were")
        lines.append(f"{recorded} in the study already")
    for status, word in (("refused", "refused by the system"), ("failed", "failed")):
        some = [trial for trial in trials if trial.status == status]
        if some:
            several = counted(len(some), "trial was", "trials were")
            lines.append(f"{several} {word}; the first: {some[0].reason}")
    return lines


def _found(told: TuneMessage) -> str:
    """Return what is the best on the matches that were searched on."""
    metric = told.search.metric
    best, given = _value(told.best, metric), _value(told.given, metric)
    if not told.improved:
        return f"no trial beats the parameters given, whose {metric} is {given} (best trial {best})"
    settings = ", ".join(f"{name}={_written(one)}" for name, one in told.best.parameters.items())
    return f"found {settings}: {metric} {best}, with the parameters given {given}"


def _held_out(told: TuneMessage) -> list[str]:
    """Return what the matches say that were not searched on, and of whom."""
    metric, scored = told.search.metric, told.held_out.systems[0].matches
    verdict = told.held_out.verdict
    if verdict == "same":
        return ["so there is nothing to compare on the others"]
    found = told.held_out
    if found.difference.metrics[metric] is None:
        return [f"on the others {metric} cannot be computed"]
    lines = [
        f"on {counted(scored, 'other match', 'other matches')} {metric} changes by "
        f"{_change(told, found.difference)}: {_judged(told, verdict, found.difference)}",
        f"this holds for {found.scoring.for_whom}",
    ]
    for group, of_group in zip(found.groups, found.verdicts, strict=True):
        name = players_with(group.first, group.last)
        if of_group is None or name == found.scoring.for_whom:
            continue
        difference = group.differences[0]
        lines.append(f"for {name}: {_change(told, difference)}: {_SHORT[of_group]}")
    return lines


#: Verdicts on the players that the search did not look at.
_SHORT = {
    "better": "better",
    "worse": "worse",
    "open": "which may be chance",
    "no difference that matters": "no difference that matters",
}


def _judged(told: TuneMessage, verdict: str, difference: DifferenceMessage) -> str:
    """Return what is to be made of a change."""
    if verdict != "no difference that matters":
        return {
            "better": "better, and hardly by chance",
            "worse": "worse, and hardly by chance: the first matches misled. Keep those given, or "
            "search on more",
            "open": "which may be chance",
        }[verdict]
    least = told.held_out.scoring.least_differences[told.search.metric]
    bounds = [abs(one) for one in difference.intervals[told.search.metric] if one is not None]
    wide = any(one >= least for one in bounds)
    more = ", though the interval does not rule out a larger one" if wide else ""
    return f"no difference that matters (less than {least:g}){more}"


def _change(told: TuneMessage, difference: DifferenceMessage) -> str:
    """Return a change of the metric with its interval; one that rounds to 0 has no sign."""
    metric = told.search.metric
    form = METRICS[metric][1]
    share = 100 * told.held_out.scoring.confidence

    def signed(value: float | None) -> str:
        if value is None:
            return "unknown"
        text = cell(value, f"+z{form}")
        return text if float(text) else text.removeprefix("+")

    lower, upper = difference.intervals[metric]
    change = signed(difference.metrics[metric])
    return f"{change} ({share:g} %: {signed(lower)} to {signed(upper)})"


def _value(trial: TrialMessage, metric: str) -> str:
    return cell(trial.value, METRICS[metric][1])


def _written(value: object) -> str:
    """Return a value in few letters; None is what the system takes by itself."""
    if value is None:
        return "default"
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.6g}" if isinstance(value, float) else str(value)
