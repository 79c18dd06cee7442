"""equipoise tune: which parameters predict a history best."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import typer

from equipoise.cli import options
from equipoise.cli.declaring import option
from equipoise.cli.files.inspect import inspected
from equipoise.cli.report import (
    print_json,
    print_lines,
    print_table,
    reading_lines,
    say,
    say_compiled,
    working,
)
from equipoise.cli.tables import Table, table
from equipoise.wording import counted

if TYPE_CHECKING:
    from equipoise.analysis.studies.tune import TuneAnswer
    from equipoise.data.backtest import Difference

EXAMPLE = """\b
Example:
  equipoise tune examples/contests.csv --system elo-mmr --first 50% --grid weight_limit=0.1,0.2,0.4,0.8 --grid sigma_limit=40,80,160
  equipoise tune examples/contests.csv --system elo --first 50% --trials 20 --range k=4:160:log --study tuning.db"""  # noqa: E501  # commands to be copied


def tune(
    *,
    context: typer.Context,
    history: options.History,
    system: options.System,
    metric: str = option(
        "pair_inversion",
        "Metric to optimise: pair_inversion, rank_deviation, pair_inversion_top100, "
        "rank_deviation_top100, ndcg, log_loss or brier.",
        "METRIC",
    ),
    first: str | None = option(
        None,
        "Search on the first matches: a share of them (10%), or those before a time. The others "
        "are held out for the comparison. [default: 10%, or 25% or 50% if that leaves nothing to "
        "score]",
        "SHARE|TIME",
    ),
    grid: list[str] | None = option(
        None,
        "Values of a parameter to try. All combinations are tried. Repeatable. [default: values "
        "that suit the system]",
        "NAME=V1,V2,...",
    ),
    trials: int | None = option(
        None, "Number of samples to draw from ranges, instead of a grid.", min=1
    ),
    range_: list[str] | None = option(
        None,
        "Range from which --trials draws a parameter. Repeatable. [default: ranges that suit the "
        "system]",
        "NAME=LOW:HIGH[:log]",
    ),
    entry: bool = option(
        False,
        "Search the constants of a learned entry and of a held level, instead of those of the "
        "system. Needs --set entry=learned or --set hold_level=0.05.",
    ),
    seed: int = option(0, "Random seed of samples and resamples.", min=0),
    study: str | None = option(
        None,
        "Keep the trials in a database: sqlite:///file.db, or a file name. The same command "
        "continues an earlier search.",
        "URL",
    ),
    study_name: str | None = option(
        None, "Name of the study in the database. [default: system and metric]", "NAME"
    ),
    workers: options.Workers,
    cluster: options.Cluster,
    under_way: int | None = option(
        None,
        "Number of sampled trials that run while the next one is proposed. It belongs to the study "
        "and changes what is sampled; more --workers than this are never busy. [default: 8]",
        min=1,
    ),
    min_history: int | None = option(
        None,
        "Score only players with at least this many earlier matches. [default: 5, or fewer if that "
        "leaves nothing to score]",
        min=0,
    ),
    ties_as_authors: options.TiesAsAuthors,
    least_difference: options.LeastDifference,
    resamples: int = option(
        1000, "Number of resamples of the held-out matches, for intervals.", min=1
    ),
    confidence: options.Confidence,
    output: str | None = option(
        None, "Write the best parameters to this file, for use with --parameters.", "FILE.toml"
    ),
    trials_output: str | None = option(
        None, "Write a table of all trials: .csv, .parquet, .json, .jsonl or .tsv.", "FILE"
    ),
    chart: str | None = option(None, "Draw a chart of all trials: .svg, .png or .pdf.", "FILE"),
    title: options.Title,
    threads: int | None = option(
        None,
        "Number of threads of a single worker. It does not change results. [default: all cores]",
        min=1,
    ),
    reading: options.ReadingWhole,
    dry_run: options.DryRun,
    as_json: options.Json,
) -> int | None:
    """Search for the parameters with which a system predicts best.

    Parameters are tried on the first matches of the history. The best ones are then compared with
    the given ones (--set, or the defaults) on the later matches.
    """
    from equipoise.analysis.files.systems import DEFAULT_SYSTEM
    from equipoise.analysis.studies import tune as work
    from equipoise.analysis.studies.backtest import least_differences
    from equipoise.analysis.studies.tune import choices_of, tune_json
    from equipoise.rating.registry import make_system

    settings = system.settings()
    given = system.chosen(settings) or make_system(DEFAULT_SYSTEM)
    if dry_run:
        return inspected(context, reading.request(history, settings), as_json, systems=[given])
    request = work.TuneRequest(
        history=reading.request(history, settings),
        choices=choices_of(given.name, grid or [], range_ or [], trials),
        entry=entry,
        trials=trials,
        metric=metric,
        first=first,
        seed=seed,
        min_history=min_history,
        ties_as_authors=ties_as_authors,
        least_differences=least_differences(least_difference or [], metric),
        resamples=resamples,
        confidence=confidence,
        study=study,
        study_name=study_name,
        output=output,
        trials_output=trials_output,
        chart=chart,
        title=title,
        workers=workers or 1,
        under_way=under_way,
        threads=options.thread_count(threads),
    )
    with (
        cluster.executor(workers) as executor,
        working("trials") as job,
        _resume_hint(study),
    ):
        answer = work.search(
            given,
            replace(request, executor=executor),
            job.progress,
            lambda count: say(f"the study already has {counted(count, 'trial')}"),
        )
    if as_json:
        print_json(tune_json(answer))
    else:
        _print(answer)
        say_compiled(job.compilation)
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
    from equipoise.analysis.files.reading import history_message
    from equipoise.report import backtest_tables as tables

    held_out = answer.held_out.found
    differences = tables.unfolded_differences(tables.differences_table(held_out))
    print_lines(f"On the first {counted(answer.first, 'match', 'matches')}")
    print_table(trials_table(answer))
    for title, one in (
        ("On the others", tables.metrics_table(held_out, answer.held_out.seconds)),
        (tables.BY_EXPERIENCE, tables.groups_table(held_out)),
        (f"Tuned minus given parameters, for {held_out.for_whom}", differences),
    ):
        print_lines("", title)
        print_table(table(one.columns, one.rows))
    say(*tune_lines(answer), *reading_lines(history_message(answer.history, answer.reading)))
    paths = (answer.request.output, answer.request.trials_output, answer.request.chart)
    say(*(f"wrote {path}" for path in paths if path is not None))


#: Trials that are printed, the best first; --trials-output has all.
_SHOWN = 10


def trials_table(answer: TuneAnswer) -> Table:
    """Return one row for each of the best trials, and one for the given parameters."""
    from equipoise.report.backtest_tables import METRIC, Measure

    found = answer.found
    done = [trial for trial in found.ranked() if not math.isnan(trial.value(found.metric))]
    rows = (
        (
            "given" if trial is found.given else trial.number,
            *(_written(trial.parameters[name]) for name in found.choices),
            Measure(trial.value(found.metric)),
        )
        for trial in (*done[:_SHOWN], found.given)
    )
    columns = {"trial": "", **dict.fromkeys(found.choices, ">")}
    return table({**columns, found.metric: METRIC[found.metric].form}, rows)


def tune_lines(answer: TuneAnswer) -> list[str]:
    """Return lines on what was tried, what was found, and how certain that is."""
    lines = [*_counts(answer), _found(answer)]
    edges = answer.found.at_edges()
    if edges and _improved(answer):
        lines.append(
            f"at the edge of the values tried: {', '.join(edges)}; better values may lie beyond"
        )
    return [*lines, *_held_out(answer)]


def _improved(answer: TuneAnswer) -> bool:
    return answer.found.chosen is not answer.found.given


def _counts(answer: TuneAnswer) -> list[str]:
    found, trials = answer.found, answer.found.trials
    lines = [
        f"{counted(len(trials), 'trial')} in {answer.seconds:.1f} s, each scored on "
        f"{found.matches:,} of the first {counted(answer.first, 'match', 'matches')}"
    ]
    if answer.recorded:
        recorded = counted(answer.recorded, "trial was", "trials were")
        lines.append(f"{recorded} already in the study")
    for status, word in (("refused", "refused by the system"), ("failed", "failed")):
        some = [trial for trial in trials if trial.status == status]
        if some:
            several = counted(len(some), "trial was", "trials were")
            lines.append(f"{several} {word}; the first: {some[0].reason}")
    return lines


def _found(answer: TuneAnswer) -> str:
    """Return the best parameters on the matches of the search."""
    from equipoise.report.backtest_tables import METRIC, Measure

    found, metric = answer.found, answer.found.metric
    best, given = (
        format(Measure(trial.value(metric)), METRIC[metric].form)
        for trial in (found.best, found.given)
    )
    if not _improved(answer):
        return (
            f"no trial is better than the given parameters: their {metric} is {given}, that of "
            f"the best trial {best}"
        )
    settings = ", ".join(f"{name}={_written(one)}" for name, one in found.best.parameters.items())
    return f"found {settings}: {metric} is {best}; with the given parameters it is {given}"


def _held_out(answer: TuneAnswer) -> list[str]:
    """Return what the held-out matches show, and for which players."""
    from equipoise.analysis.studies.tune import verdict
    from equipoise.data.backtest import GROUP_METRICS, players_with

    metric, found = answer.found.metric, answer.held_out.found
    of_all = verdict(answer)
    if of_all == "same":
        return ["there is nothing to compare on the other matches"]
    difference = found.differences[0]
    if math.isnan(difference.metrics[metric]):
        return [f"on the other matches {metric} cannot be computed"]
    lines = [
        f"on {counted(found.matches, 'other match', 'other matches')} {metric} changes by "
        f"{_change(answer, difference)}: {_judged(answer, of_all, difference)}",
        f"this holds for {found.for_whom}",
    ]
    for group in found.groups if metric in GROUP_METRICS else ():
        name = players_with(group.first, group.last)
        if name != found.for_whom:
            change = _change(answer, group.differences[0])
            lines.append(f"for {name}: {change}: {_SHORT[verdict(answer, group)]}")
    return lines


#: Verdicts on groups of players that the search did not score.
_SHORT = {
    "better": "better",
    "worse": "worse",
    "open": "which may be chance",
    "no difference that matters": "no difference that matters",
    "not known": "no verdict, because there are fewer than 20 matches",
}


def _judged(answer: TuneAnswer, verdict: str, difference: Difference) -> str:
    """Return a verdict in words."""
    if verdict != "no difference that matters":
        return {
            "better": "better, and unlikely to be chance",
            "worse": "worse, and unlikely to be chance: the first matches are not typical. Keep "
            "the given parameters, or search on more matches",
            "open": _SHORT["open"],
            "not known": _SHORT["not known"],
        }[verdict]
    metric = answer.found.metric
    least = answer.held_out.found.least_differences[metric]
    wide = any(abs(bound) >= least for bound in difference.intervals[metric])
    more = ", though the interval does not rule out a larger one" if wide else ""
    return f"no difference that matters (less than {least:g}){more}"


def _change(answer: TuneAnswer, difference: Difference) -> str:
    """Return a change of the metric with its interval; a change that rounds to 0 has no sign."""
    from equipoise.report.backtest_tables import METRIC

    metric = answer.found.metric
    share = 100 * answer.held_out.found.confidence

    def signed(value: float) -> str:
        if math.isnan(value):
            return "unknown"
        text = format(value, f"+z{METRIC[metric].form}")
        return text if float(text) else text.removeprefix("+")

    lower, upper = difference.intervals[metric]
    change = signed(difference.metrics[metric])
    return f"{change} ({share:g} %: {signed(lower)} to {signed(upper)})"


def _written(value: object) -> str:
    """Return the value of a parameter; None means that the system chooses it."""
    if value is None:
        return "default"
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.6g}" if isinstance(value, float) else str(value)
