"""equipoise tune: which parameters predict a history best."""

from __future__ import annotations

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
from equipoise.cli.studies.backtest_tables import (
    BY_EXPERIENCE,
    METRICS,
    difference_table,
    groups_table,
    main_table,
)
from equipoise.cli.tables import Table, cell, table
from equipoise.wording import counted

if TYPE_CHECKING:
    from equipoise.analysis.studies.tune import TuneAnswer
    from equipoise.messages.studies import DifferenceMessage, TrialMessage, TuneMessage

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
    from equipoise.analysis.studies.tune import choices_of, message_of
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
        print_json(message_of(answer))
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
    from equipoise.analysis.studies import backtest
    from equipoise.analysis.studies.tune import message_of

    message = message_of(answer)
    held_out = backtest.backtest_message(answer.held_out)
    print_lines(f"On the first {counted(message.search.first, 'match', 'matches')}")
    print_table(trials_table(message))
    print_lines("", "On the others")
    print_table(main_table(held_out))
    print_lines("", BY_EXPERIENCE)
    print_table(groups_table(held_out))
    print_lines("", f"Tuned minus given parameters, for {held_out.scoring.for_whom}")
    print_table(difference_table(held_out))
    say(*tune_lines(message), *reading_lines(message.history))
    paths = (answer.request.output, answer.request.trials_output, answer.request.chart)
    say(*(f"wrote {path}" for path in paths if path is not None))


#: Trials that are printed, the best first; --trials-output has all.
_SHOWN = 10


def trials_table(message: TuneMessage) -> Table:
    """Return one row for each of the best trials, and one for the given parameters."""
    names = [choice.parameter for choice in message.search.choices]
    metric = message.search.metric
    done = [trial for trial in message.trials if trial.value is not None]
    sign = -1 if message.search.higher_is_better else 1
    done.sort(key=lambda trial: (sign * (trial.value or 0.0), trial.number))
    rows = (
        (
            "given" if trial.number is None else trial.number,
            *(_written(trial.parameters[name]) for name in names),
            trial.value,
        )
        for trial in (*done[:_SHOWN], message.given)
    )
    return table({"trial": "", **dict.fromkeys(names, ">"), metric: METRICS[metric][1]}, rows)


def tune_lines(message: TuneMessage) -> list[str]:
    """Return lines on what was tried, what was found, and how certain that is."""
    lines = [*_counts(message), _found(message)]
    edges = [choice.parameter for choice in message.search.choices if choice.at_edge]
    if edges and message.improved:
        lines.append(
            f"at the edge of the values tried: {', '.join(edges)}; better values may lie beyond"
        )
    return [*lines, *_held_out(message)]


def _counts(message: TuneMessage) -> list[str]:
    search, trials = message.search, message.trials
    lines = [
        f"{counted(len(trials), 'trial')} in {search.seconds:.1f} s, each scored on "
        f"{search.matches:,} of the first {counted(search.first, 'match', 'matches')}"
    ]
    if search.recorded:
        recorded = counted(search.recorded, "trial was", "trials were")
        lines.append(f"{recorded} already in the study")
    for status, word in (("refused", "refused by the system"), ("failed", "failed")):
        some = [trial for trial in trials if trial.status == status]
        if some:
            several = counted(len(some), "trial was", "trials were")
            lines.append(f"{several} {word}; the first: {some[0].reason}")
    return lines


def _found(message: TuneMessage) -> str:
    """Return the best parameters on the matches of the search."""
    metric = message.search.metric
    best, given = _value(message.best, metric), _value(message.given, metric)
    if not message.improved:
        return (
            f"no trial is better than the given parameters: their {metric} is {given}, that of "
            f"the best trial {best}"
        )
    settings = ", ".join(f"{name}={_written(one)}" for name, one in message.best.parameters.items())
    return f"found {settings}: {metric} is {best}; with the given parameters it is {given}"


def _held_out(message: TuneMessage) -> list[str]:
    """Return what the held-out matches show, and for which players."""
    from equipoise.data.backtest import players_with

    metric, scored = message.search.metric, message.held_out.systems[0].matches
    verdict = message.held_out.verdict
    if verdict == "same":
        return ["there is nothing to compare on the other matches"]
    found = message.held_out
    if found.difference.metrics[metric] is None:
        return [f"on the other matches {metric} cannot be computed"]
    lines = [
        f"on {counted(scored, 'other match', 'other matches')} {metric} changes by "
        f"{_change(message, found.difference)}: {_judged(message, verdict, found.difference)}",
        f"this holds for {found.scoring.for_whom}",
    ]
    for group, of_group in zip(found.groups, found.verdicts, strict=True):
        name = players_with(group.first, group.last)
        if of_group is None or name == found.scoring.for_whom:
            continue
        difference = group.differences[0]
        lines.append(f"for {name}: {_change(message, difference)}: {_SHORT[of_group]}")
    return lines


#: Verdicts on groups of players that the search did not score.
_SHORT = {
    "better": "better",
    "worse": "worse",
    "open": "which may be chance",
    "no difference that matters": "no difference that matters",
    "not known": "no verdict, because there are fewer than 20 matches",
}


def _judged(message: TuneMessage, verdict: str, difference: DifferenceMessage) -> str:
    """Return a verdict in words."""
    if verdict != "no difference that matters":
        return {
            "better": "better, and unlikely to be chance",
            "worse": "worse, and unlikely to be chance: the first matches are not typical. Keep "
            "the given parameters, or search on more matches",
            "open": _SHORT["open"],
            "not known": _SHORT["not known"],
        }[verdict]
    least = message.held_out.scoring.least_differences[message.search.metric]
    bounds = [abs(one) for one in difference.intervals[message.search.metric] if one is not None]
    wide = any(one >= least for one in bounds)
    more = ", though the interval does not rule out a larger one" if wide else ""
    return f"no difference that matters (less than {least:g}){more}"


def _change(message: TuneMessage, difference: DifferenceMessage) -> str:
    """Return a change of the metric with its interval; a change that rounds to 0 has no sign."""
    metric = message.search.metric
    form = METRICS[metric][1]
    share = 100 * message.held_out.scoring.confidence

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
    """Return the value of a parameter; None means that the system chooses it."""
    if value is None:
        return "default"
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.6g}" if isinstance(value, float) else str(value)
