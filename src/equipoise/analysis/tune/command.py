"""equipoise tune: which parameters predict a history best."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import typer

from equipoise.analysis.inspect.command import inspected
from equipoise.analysis.tune import TuneRequest
from equipoise.cli import options
from equipoise.cli.report import (
    Table,
    print_json,
    print_lines,
    print_table,
    reading_lines,
    say,
    table,
    working,
)
from equipoise.wording import counted

if TYPE_CHECKING:
    from equipoise.analysis.tune.computation import TuneAnswer
    from equipoise.analysis.tune.gains import Verdict
    from equipoise.data.backtest import Difference


def tune(
    *,
    context: typer.Context,
    system: options.System,
    request: TuneRequest,
    cluster: options.Cluster,
    dry_run: options.DryRun,
    as_json: options.Json,
) -> int | None:
    """Find the parameters with which a system predicts best.

    Parameters are tried on the first matches of the history. The best ones are then compared with
    the given ones (--set, or the defaults) on the later matches.

    Example:
      equipoise tune examples/contests.csv --system elo-mmr --first 50% --grid weight_limit=0.1,0.2,0.4,0.8 --grid sigma_limit=40,80,160
      equipoise tune examples/contests.csv --system elo --first 50% --trials 20 --range k=4:160:log --study tuning.db
    """  # noqa: E501  # commands to be copied
    from equipoise.analysis.systems import DEFAULT_SYSTEM
    from equipoise.analysis.tune import computation as work
    from equipoise.rating.registry import make_system

    settings = system.settings()
    request = options.weighed(request, settings)
    start = system.chosen(settings) or make_system(DEFAULT_SYSTEM)
    if dry_run:
        return inspected(context, request.history, as_json, systems=[start])
    with (
        cluster.executor(request.workers) as executor,
        working("trials") as job,
        _resume_hint(request.study),
    ):
        answer = work.search(
            start,
            replace(request, executor=executor),
            job.progress,
            lambda count: say(f"the study already has {counted(count, 'trial')}"),
        )
    if as_json:
        print_json(work.tune_json(answer))
    else:
        _print(answer)
    return None


@contextmanager
def _resume_hint(study: str | None) -> Iterator[None]:
    """Say how to continue a search that is stopped from the keyboard."""
    try:
        yield
    except KeyboardInterrupt:
        if study is None:
            say("this search was not kept; use --study to keep a search and continue it")
        else:
            say(f"the trials so far are kept in {study}; the same command continues the search")
        raise


def _print(answer: TuneAnswer) -> None:
    """Print the best trials and the comparison, and conclusions on standard error."""
    from equipoise.analysis.backtest import presentation as tables

    held_out = answer.held_out.found
    differences = tables.unfolded_differences(tables.differences_table(held_out))
    print_lines(f"On the first {counted(answer.first, 'match', 'matches')}")
    print_table(trials_table(answer))
    for title, shown in (
        ("On the others", tables.metrics_table(held_out, answer.held_out.seconds)),
        (tables.BY_EXPERIENCE, tables.groups_table(held_out)),
        (f"Tuned minus given parameters, for {held_out.for_whom}", differences),
    ):
        print_lines("", title)
        print_table(table(shown.columns, shown.rows))
    say(*tune_lines(answer), *reading_lines(answer.reading))
    paths = (answer.request.output, answer.request.trials_output, answer.request.chart)
    say(*(f"wrote {path}" for path in paths if path is not None))


#: Trials that are printed, the best first; --trials-output has all.
_SHOWN = 10


def trials_table(answer: TuneAnswer) -> Table:
    """Return one row for each of the best trials, and one for the given parameters."""
    from equipoise.analysis.backtest.presentation import METRIC, Measure

    tuning = answer.found
    done = [trial for trial in tuning.ranked() if not math.isnan(trial.value(tuning.metric))]
    rows = (
        (
            "given" if trial is tuning.given else trial.number,
            *(_written(trial.parameters[name]) for name in tuning.choices),
            Measure(trial.value(tuning.metric)),
        )
        for trial in (*done[:_SHOWN], tuning.given)
    )
    columns = {"trial": "", **dict.fromkeys(tuning.choices, ">")}
    return table({**columns, tuning.metric: METRIC[tuning.metric].form}, rows)


def tune_lines(answer: TuneAnswer) -> Iterator[str]:
    """Yield lines on what was tried, what was found, and how certain that is."""
    from equipoise.analysis.tune.gains import gain_lines

    tuning, trials = answer.found, answer.found.trials
    yield (
        f"{counted(len(trials), 'trial')} in {answer.seconds:.1f} s, each scored on "
        f"{tuning.matches:,} of the first {counted(answer.first, 'match', 'matches')}"
    )
    if answer.recorded:
        yield f"{counted(answer.recorded, 'trial was', 'trials were')} already in the study"
    for status, word in (("refused", "refused by the system"), ("failed", "failed")):
        some = [trial for trial in trials if trial.status == status]
        if some:
            several = counted(len(some), "trial was", "trials were")
            yield f"{several} {word}; the first: {some[0].reason}"
    yield _found(answer)
    edges = tuning.at_edges()
    if edges and tuning.chosen is not tuning.given:
        yield f"at the edge of the values tried: {', '.join(edges)}; better values may lie beyond"
    yield from _held_out(answer)
    least, sure = answer.held_out.found.least_differences, answer.held_out.found.confidence
    yield from gain_lines(answer.gains, least, sure, chances="the tuned chances")


def _found(answer: TuneAnswer) -> str:
    """Return the best parameters on the matches of the search."""
    from equipoise.analysis.backtest.presentation import METRIC, Measure

    tuning, metric = answer.found, answer.found.metric
    best, start = (
        format(Measure(trial.value(metric)), METRIC[metric].form)
        for trial in (tuning.best, tuning.given)
    )
    if tuning.chosen is tuning.given:
        return (
            f"no trial is better than the given parameters: their {metric} is {start}, that of "
            f"the best trial {best}"
        )
    settings = (f"{name}={_written(value)}" for name, value in tuning.best.parameters.items())
    return (
        f"found {', '.join(settings)}: {metric} is {best}; with the given parameters it is {start}"
    )


def _held_out(answer: TuneAnswer) -> Iterator[str]:
    """Yield what the held-out matches show, and for which players."""
    from equipoise.analysis.tune.computation import verdict
    from equipoise.analysis.tune.gains import VERDICTS, change_in_words
    from equipoise.data.backtest import GROUP_METRICS, players_with

    metric, backtest = answer.found.metric, answer.held_out.found
    of_all, difference = verdict(answer), backtest.differences[0]
    if of_all == "same":
        yield "nothing to compare on the other matches"
        return
    if math.isnan(difference.metrics[metric]):
        yield f"on the other matches {metric} cannot be computed"
        return
    yield (
        f"on {counted(backtest.matches, 'other match', 'other matches')} {metric} changes by "
        f"{change_in_words(metric, difference, backtest.confidence)}: "
        f"{_judged(answer, of_all, difference)}"
    )
    yield f"this holds for {backtest.for_whom}"
    for group in backtest.groups if metric in GROUP_METRICS else ():
        name = players_with(group.first, group.last)
        if name != backtest.for_whom:
            change = change_in_words(metric, group.differences[0], backtest.confidence)
            yield f"for {name}: {change}: {VERDICTS[verdict(answer, group)]}"


def _judged(answer: TuneAnswer, verdict: Verdict, difference: Difference) -> str:
    """Return a verdict in words."""
    from equipoise.analysis.tune.gains import VERDICTS

    if verdict != "no difference that matters":
        return {
            "better": "better, and unlikely to be chance",
            "worse": "worse, and unlikely to be chance: the first matches are not typical. Keep "
            "the given parameters, or search on more matches",
        }.get(verdict, VERDICTS[verdict])
    metric = answer.found.metric
    least = answer.held_out.found.least_differences[metric]
    wide = any(abs(bound) >= least for bound in difference.intervals[metric])
    more = ", though the interval does not rule out a larger one" if wide else ""
    return f"no difference that matters (less than {least:g}){more}"


def _written(value: object) -> str:
    """Return the value of a parameter; None means that the system chooses it."""
    if value is None:
        return "default"
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.6g}" if isinstance(value, float) else str(value)
