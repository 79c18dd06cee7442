"""equipoise tune: which parameters predict a history best."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from equipoise.cli import options
from equipoise.cli.declaring import option

if TYPE_CHECKING:
    from equipoise.analysis.studies.tune import TuneAnswer

EXAMPLE = """\b
Example:
  equipoise tune examples/contests.csv --system elo-mmr --first 50% --grid weight_limit=0.1,0.2,0.4,0.8 --grid sigma_limit=40,80,160
  equipoise tune examples/contests.csv --system elo --first 50% --trials 20 --range k=4:160:log --study tuning.db"""  # noqa: E501  # commands to be copied


def tune(
    *,
    history: options.History,
    system: options.System,
    metric: str = option(
        "pair_inversion",
        "What is to be best: pair_inversion, rank_deviation, pair_inversion_top100, "
        "rank_deviation_top100, ndcg, log_loss or brier.",
        "METRIC",
    ),
    first: str = option(
        "10%",
        "Search on the matches before: a share of them (10%) or a time. The others are kept for "
        "the comparison.",
        "SHARE|TIME",
    ),
    grid: list[str] | None = option(
        None,
        "Values of a parameter to try, each with each of the others; repeatable. [default: the "
        "usual ones of the system]",
        "NAME=V1,V2,...",
    ),
    trials: int | None = option(
        None, "Draw so many samples from ranges, instead of a grid.", min=1
    ),
    range_: list[str] | None = option(
        None,
        "Where to draw a parameter from, with --trials; repeatable. [default: the usual ones of "
        "the system]",
        "NAME=LOW:HIGH[:log]",
    ),
    seed: int = option(0, "Random seed of samples and resamples.", min=0),
    study: str | None = option(
        None,
        "Keep the trials in a database (sqlite:///file.db, or just a file): the same command then "
        "goes on where it was stopped.",
        "URL",
    ),
    study_name: str | None = option(
        None, "Of the study in the database. [default: system and metric]", "NAME"
    ),
    workers: int = option(1, "Processes that carry out trials.", min=1),
    min_history: int = option(5, "Score only players with so many earlier matches.", min=0),
    ties_as_authors: options.TiesAsAuthors,
    least_difference: options.LeastDifference,
    resamples: int = option(1000, "Resamples of the held-out matches, for intervals.", min=1),
    confidence: options.Confidence,
    output: str | None = option(None, "The best parameters, for --parameters.", "FILE.toml"),
    trials_output: str | None = option(
        None, "All trials: .csv, .parquet, .json, .jsonl or .tsv.", "FILE"
    ),
    chart: str | None = option(None, "All trials as a chart: .svg, .png or .pdf.", "FILE"),
    title: options.Title,
    threads: int | None = option(
        None, "Threads of a single worker; never changes a number. [default: all]", min=1
    ),
    reading: options.ReadingWhole,
    as_json: options.Json,
) -> None:
    """Search for the parameters with which a system predicts best.

    Parameters are tried on the first matches of the history. The best ones are then compared with
    those given, by --set or by default, on the matches that come after.
    """
    from equipoise.analysis.files.systems import DEFAULT_SYSTEM
    from equipoise.analysis.studies import tune as work
    from equipoise.analysis.studies.backtest import least_differences
    from equipoise.analysis.studies.tune import choices_of, message_of
    from equipoise.cli.report import print_json, say, say_compiled, working
    from equipoise.numeric.workers import available_cores
    from equipoise.rating.registry import make_system
    from equipoise.wording import counted

    settings = system.settings()
    given = system.chosen(settings) or make_system(DEFAULT_SYSTEM)
    request = work.TuneRequest(
        history=reading.request(history, settings),
        choices=choices_of(given.name, grid or [], range_ or [], trials),
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
        workers=workers,
        threads=threads or available_cores(),
    )
    with working("trials") as job, _told_how_to_go_on(study):
        answer = work.search(
            given,
            request,
            job.progress,
            lambda count: say(f"the study has {counted(count, 'trial')} already"),
        )
    if as_json:
        print_json(message_of(answer))
    else:
        _print(answer)
        say_compiled(job.compilation)


@contextmanager
def _told_how_to_go_on(study: str | None) -> Iterator[None]:
    """Say what is left of a search that is stopped from the keyboard."""
    from equipoise.cli.report import say

    try:
        yield
    except KeyboardInterrupt:
        if study is None:
            say("nothing of this search is kept; with --study it could be gone on with")
        else:
            say(f"the trials so far are kept in {study}: the same command goes on from there")
        raise


def _print(answer: TuneAnswer) -> None:
    """Print the best trials and the comparison, and on standard error what to make of them."""
    from equipoise.analysis.studies import backtest
    from equipoise.analysis.studies.tune import message_of
    from equipoise.cli.options import reading_lines
    from equipoise.cli.report import print_lines, print_table, say
    from equipoise.cli.studies.backtest_tables import (
        BY_EXPERIENCE,
        difference_table,
        groups_table,
        main_table,
    )
    from equipoise.cli.studies.tune_tables import trials_table, tune_lines
    from equipoise.wording import counted

    told = message_of(answer)
    held_out = backtest.backtest_message(answer.held_out)
    print_lines(f"On the first {counted(told.search.first, 'match', 'matches')}")
    print_table(trials_table(told))
    print_lines("", "On the others")
    print_table(main_table(held_out))
    print_lines("", BY_EXPERIENCE)
    print_table(groups_table(held_out))
    print_lines("", f"Tuned less given, for {held_out.scoring.for_whom}")
    print_table(difference_table(held_out))
    say(*tune_lines(told), *reading_lines(told.history))
    paths = (answer.request.output, answer.request.trials_output, answer.request.chart)
    say(*(f"wrote {path}" for path in paths if path is not None))
