"""equipoise tune: which parameters predict a history best."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from equipoise.cli import options

if TYPE_CHECKING:
    from equipoise.workflows.tune import TuneAnswer

EXAMPLE = """\b
Example:
  equipoise tune examples/contests.csv --system elo-mmr --first 50% --grid weight_limit=0.1,0.2,0.4,0.8 --grid sigma_limit=40,80,160
  equipoise tune examples/contests.csv --system elo --first 50% --trials 20 --range k=4:160:log --study tuning.db"""  # noqa: E501  # commands to be copied


def tune(
    history: options.History,
    system: options.System = None,
    set_: options.Set = None,
    parameters: options.Parameters = None,
    metric: Annotated[
        str,
        typer.Option(
            show_default=False,
            metavar="METRIC",
            help="What is to be best: pair_inversion, rank_deviation, pair_inversion_top100, "
            "rank_deviation_top100, ndcg, log_loss or brier. [default: pair_inversion]",
        ),
    ] = "pair_inversion",
    first: Annotated[
        str,
        typer.Option(
            show_default=False,
            metavar="SHARE|TIME",
            help="Search on the matches before: a share of them (10%) or a time. The others are "
            "kept for the comparison. [default: 10%]",
        ),
    ] = "10%",
    grid: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=V1,V2,...",
            help="Values of a parameter to try, each with each of the others; repeatable. "
            "[default: the usual ones of the system]",
        ),
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option(min=1, help="Draw so many samples from ranges, instead of a grid."),
    ] = None,
    range_: Annotated[
        list[str] | None,
        typer.Option(
            "--range",
            metavar="NAME=LOW:HIGH[:log]",
            help="Where to draw a parameter from, with --trials; repeatable. [default: the usual "
            "ones of the system]",
        ),
    ] = None,
    seed: Annotated[
        int,
        typer.Option(
            min=0, show_default=False, help="Random seed of samples and resamples. [default: 0]"
        ),
    ] = 0,
    study: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Keep the trials in a database (sqlite:///file.db, or just a file): the same "
            "command then goes on where it was stopped.",
        ),
    ] = None,
    study_name: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Of the study in the database. [default: system and metric]"
        ),
    ] = None,
    workers: Annotated[
        int,
        typer.Option(
            min=1, show_default=False, help="Processes that carry out trials. [default: 1]"
        ),
    ] = 1,
    min_history: Annotated[
        int,
        typer.Option(
            min=0,
            show_default=False,
            help="Score only players with so many earlier matches. [default: 5]",
        ),
    ] = 5,
    ties_as_authors: Annotated[
        bool,
        typer.Option(
            "--ties-as-authors",
            help="Count pairs predicted equal as correct, as the authors of Elo-MMR do.",
        ),
    ] = False,
    least_difference: options.LeastDifference = None,
    resamples: Annotated[
        int,
        typer.Option(
            min=1,
            show_default=False,
            help="Resamples of the held-out matches, for intervals. [default: 1000]",
        ),
    ] = 1000,
    confidence: Annotated[
        float,
        typer.Option(show_default=False, help="Confidence of the intervals. [default: 0.95]"),
    ] = 0.95,
    output: Annotated[
        str | None,
        typer.Option(metavar="FILE.toml", help="The best parameters, for --parameters."),
    ] = None,
    trials_output: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="All trials: .csv, .parquet, .json, .jsonl or .tsv."),
    ] = None,
    chart: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="All trials as a chart: .svg, .png or .pdf."),
    ] = None,
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="Chart title.")] = None,
    threads: Annotated[
        int | None,
        typer.Option(
            min=1, help="Threads of a single worker; never changes a number. [default: all]"
        ),
    ] = None,
    column: options.Column = None,
    stat: options.Stat = None,
    lower_score_is_better: options.LowerScore = False,
    skip_bad: options.SkipBad = None,
    until: options.Until = None,
    time_format: options.TimeFormat = None,
    where: options.Where = None,
    synonyms: options.Synonyms = None,
    format_: options.Format = None,
    strict: options.Strict = False,
    as_json: options.Json = False,
) -> None:
    """Search for the parameters with which a system predicts best.

    Parameters are tried on the first matches of the history. The best ones are then compared with
    those given, by --set or by default, on the matches that come after.
    """
    from equipoise._jit import watch_compilation
    from equipoise.cli.reading import history_request
    from equipoise.cli.report import print_json, progress, say, say_compiled
    from equipoise.numeric.workers import available_cores
    from equipoise.wording import counted
    from equipoise.workflows import tune as work
    from equipoise.workflows.backtest import least_differences
    from equipoise.workflows.searches import choices_of
    from equipoise.workflows.settings import DEFAULT_SYSTEM, chosen_system, read_settings
    from equipoise.workflows.tune_message import message_of

    settings = read_settings(parameters)
    given = chosen_system(system or settings.system or DEFAULT_SYSTEM, settings, set_ or [])
    assert given is not None
    request = work.TuneRequest(
        history=history_request(
            history,
            settings,
            format_=format_,
            column=column,
            stat=stat,
            lower_score_is_better=lower_score_is_better,
            strict=strict,
            skip_bad=skip_bad,
            where=where,
            synonyms=synonyms,
            until=until,
            time_format=time_format,
        ),
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
    with (
        watch_compilation(lambda: say("Compiling for this machine, once ...")) as compilation,
        progress("trials") as show,
        _told_how_to_go_on(study),
    ):
        answer = work.search(
            given,
            request,
            show,
            lambda count: say(f"the study has {counted(count, 'trial')} already"),
        )
    if as_json:
        print_json(message_of(answer))
    else:
        _print(answer)
        say_compiled(compilation)


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
    from equipoise.cli.backtest_tables import (
        BY_EXPERIENCE,
        difference_table,
        groups_table,
        main_table,
    )
    from equipoise.cli.reading import reading_lines
    from equipoise.cli.report import print_lines, print_table, say
    from equipoise.cli.tune_tables import trials_table, tune_lines
    from equipoise.wording import counted
    from equipoise.workflows import backtest
    from equipoise.workflows.tune_message import message_of

    told = message_of(answer)
    held_out = backtest.message_of(answer.held_out)
    print_lines(f"On the first {counted(told.search.first, 'match', 'matches')}")
    print_table(*trials_table(told))
    print_lines("", "On the others")
    print_table(*main_table(held_out))
    print_lines("", BY_EXPERIENCE)
    print_table(*groups_table(held_out))
    print_lines("", f"Tuned less given, for {held_out.scoring.for_whom}")
    print_table(*difference_table(held_out))
    for line in (*tune_lines(told), *reading_lines(told.history)):
        say(line)
    for path in (answer.request.output, answer.request.trials_output, answer.request.chart):
        if path is not None:
            say(f"wrote {path}")
