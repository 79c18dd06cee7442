"""equipoise backtest: which system predicts a history best."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import typer

from equipoise.analysis.backtest import BacktestRequest
from equipoise.analysis.inspect.command import inspected
from equipoise.analysis.requests import settings_as_typed, typed
from equipoise.cli import options
from equipoise.cli.options import command_line
from equipoise.cli.report import (
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
    from equipoise.analysis.backtest.computation import BacktestAnswer


def backtest(
    *,
    context: typer.Context,
    systems: options.Systems,
    request: BacktestRequest,
    details: bool = typed(
        False,
        "Print scores by experience, intervals, differences and calibration to standard output "
        "too. A terminal always shows them.",
    ),
    cluster: options.Cluster,
    dry_run: options.DryRun,
    as_json: options.Json,
) -> int | None:
    """Compare how well rating systems predict a history.

    Each match is predicted from the ratings before it, the prediction is scored, and then the match
    is rated. The last row is a prediction without ratings. The first table covers players with five
    or more earlier matches (--min-history). The second covers newcomers, players with few matches,
    and all players; it goes to standard error unless --details is given. `--system all` compares
    every system that can rate the history, except those whose ratings run away in matches of many
    teams; notes name the systems left out. The best at pair_inv comes first.

    Metrics of the predictions, and the better direction:
      pair_inv      pairs of a match predicted in the right order, in percent: higher
      rank_dev      distance between predicted and actual places, in percent: lower
      log_loss      surprise at the results; confident mistakes cost most, and
                    predictions of 50 % cost 0.693: lower
      brier         squared distance between probabilities and results: lower
      ndcg          quality of the first predicted places; 1 is perfect: higher
      outcome_loss  log loss of win, draw and loss: lower
      rps           squared distance of the probabilities of win, draw and loss: lower
      calibration   distance between expected and observed scores: lower
    A system with no better values than the baseline predicts nothing.

    Example:
      equipoise backtest examples/contests.csv --system elo-mmr --system elo --from 10%
      equipoise backtest examples/contests.csv --system elo-mmr --system elo --report report.html
      equipoise backtest examples/contests.csv --system all
    """
    from equipoise.analysis.backtest import computation as work

    settings = systems.settings()
    request = options.weighed(request, settings)
    chosen, added = systems.chosen_or_every(settings)
    if dry_run:
        needed = [system for label, system in chosen.items() if label not in added]
        return inspected(context, request.history, as_json, systems=needed)
    paths = ("source", "parameters", "initial", "output", "report", "predictions_output")
    typed = shlex.split(command_line(context, paths))
    words, others = settings_as_typed(request.history, "backtest")
    if "--system" not in typed:  # that of equipoise.toml, if any
        typed += [word for name in systems.system for word in ("--system", name)]
    shown = shlex.join([*typed, *words])
    if others:
        # A comment, because the command does not have these options.
        shown += f"  # with {others} below [reading] in equipoise.toml"
    with cluster.executor(request.workers) as executor, working("backtest") as job:
        asked = replace(request, if_able=added, command=shown, executor=executor)
        answer = work.compare(chosen, asked, job.progress)
    if as_json:
        print_json(work.backtest_json(answer))
        return None
    first_table = request.output is None
    _print(answer, first_table, details or (first_table and sys.stdout.isatty()))
    written = (request.predictions_output, request.report)
    say(*(f"wrote {path}" for path in written if path is not None))
    return None


def _print(answer: BacktestAnswer, first_table: bool, details: bool) -> None:
    """Print the tables, and what was scored on standard error."""
    from equipoise.analysis.backtest import presentation as tables
    from equipoise.analysis.backtest.report import verdict_in_words

    backtest = answer.found
    by_experience = tables.groups_table(backtest)
    if first_table:
        shown_table = tables.metrics_table(backtest, answer.seconds)
        print_table(table(shown_table.columns, shown_table.rows))
    if details:
        for shown_table in (by_experience, *tables.detail_tables(backtest)):
            print_lines("", shown_table.title)
            print_table(table(shown_table.columns, shown_table.rows))
    say(*_scoring_lines(answer), verdict_in_words(backtest))
    if not details:
        # A program that reads standard output gets one table.
        say(f"{by_experience.title}:", *table(by_experience.columns, by_experience.rows).lines())
    say(*reading_lines(answer.reading))


def _scoring_lines(answer: BacktestAnswer) -> Iterator[str]:
    """Yield lines on what was scored and what was not."""
    from equipoise.data.backtest import LEAST_MATCHES

    backtest, history = answer.found, answer.history
    yield (
        f"scored {backtest.matches:,} of {counted(history.matches, 'match', 'matches')}, "
        f"{backtest.participations:,} of {counted(history.participations, 'participation')}"
    )
    if backtest.learned:
        learned = counted(backtest.learned, "match was", "matches were")
        yield f"the first {learned} used only for learning"
    if backtest.min_history:
        yield (
            "players with fewer than "
            f"{counted(backtest.min_history, 'earlier match', 'earlier matches')} are scored only "
            "in the table by earlier matches"
        )
    if backtest.matches < LEAST_MATCHES:
        yield f"fewer than {LEAST_MATCHES} matches are scored, too few for a verdict on differences"
    if backtest.undecided:
        yield (
            f"{counted(backtest.undecided, 'match is', 'matches are')} left with a single tied "
            "pair: only metrics of probabilities, such as log_loss and calibration, count them"
        )
