"""Searching for parameters: on the first matches of a history, and comparing on the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from equipoise.charts import theme
from equipoise.data.backtest import HIGHER_IS_BETTER, METRICS, Group, judge
from equipoise.data.history import History
from equipoise.data.reading import HistoryReading
from equipoise.data.tuning import Choice, Tuning
from equipoise.errors import InvalidDataError, InvalidParameterError, require
from equipoise.evaluate.scored import Scored
from equipoise.evaluate.tuning import checked_choices, tune
from equipoise.formats import write_table
from equipoise.formats.writing import check_target
from equipoise.rating.registry import make_system, parameters_of
from equipoise.rating.system import RatingSystem
from equipoise.wording import counted
from equipoise.workflows.backtest import (
    BacktestAnswer,
    ScoringRequest,
    check_times,
    first_scored,
    scored,
)
from equipoise.workflows.clock import working_time
from equipoise.workflows.parameter_file import check_parameter_file, write_parameters
from equipoise.workflows.reading import check_outputs, read
from equipoise.workflows.studies import Study, fingerprint, question_of
from equipoise.workflows.systems_choice import plain_parameters

#: Labels of the two sets of parameters where they are compared.
TUNED, GIVEN = "tuned", "given"


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneRequest(ScoringRequest):
    """What to search, on what, and where the answer goes.

    choices, trials, metric, workers : as `tune` has them; the seed is also that of its samples
    first : where the search ends: a share of the matches ("10%", "0.1") or a time, as text
    study : URL or path of a database that keeps the trials, and the study's name in it
    output : path of the parameters; trials_output of the table of trials; chart of the figure
    """

    choices: Mapping[str, Choice] | None = None
    trials: int | None = None
    metric: str = "pair_inversion"
    first: str = "10%"
    study: str | None = None
    study_name: str | None = None
    output: str | None = None
    trials_output: str | None = None
    chart: str | None = None
    title: str | None = None
    workers: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneAnswer:
    """What came of it.

    found : on the first `first` matches; recorded : trials of an earlier run
    held_out : the backtest of both sets of parameters on the other matches
    """

    request: TuneRequest
    history: History
    reading: HistoryReading
    given: RatingSystem
    tuned: RatingSystem
    found: Tuning
    first: int
    recorded: int
    seconds: float
    held_out: BacktestAnswer


def search(
    system: RatingSystem,
    request: TuneRequest,
    progress: Callable[[int, int], None] | None = None,
    resumed: Callable[[int], None] | None = None,
) -> TuneAnswer:
    """Read the history, search on its first matches, compare on the others, write what is wanted.

    system : the parameters from which the search sets out
    progress : called with (trials done, trials in all)
    resumed : called with the number of trials that a study has already, where it has some
    Raises : EquipoiseError, and then nothing was written but trials to the study
    """
    _check(request)
    choices = checked_choices(system, request.choices, request.trials)
    history, reading = read(request.history, {system.name: system}, choices)
    check_times(system, history)
    first = _first(request, history)
    head = history.slice(0, first)
    study = None if request.study is None else _study(system, choices, request, head)
    recorded = 0 if study is None else len(study.trials)
    if recorded and resumed is not None:
        resumed(recorded)
    start = working_time()
    found = _searched(system, head, choices, request, study, progress)
    seconds = working_time() - start
    improved = found.chosen is not found.given
    changed = found.chosen.parameters if improved else {}
    tuned = make_system(system.name, {**parameters_of(system), **changed})
    answer = TuneAnswer(
        request=request,
        history=history,
        reading=reading,
        given=system,
        tuned=tuned,
        found=found,
        first=first,
        recorded=recorded,
        seconds=seconds,
        held_out=scored({TUNED: tuned, GIVEN: system}, request, history, reading, first),
    )
    _write(answer)
    return answer


def _searched(
    system: RatingSystem,
    head: History,
    choices: Mapping[str, Choice],
    request: TuneRequest,
    study: Study | None,
    progress: Callable[[int, int], None] | None,
) -> Tuning:
    return tune(
        system,
        head,
        choices,
        metric=request.metric,
        trials=request.trials,
        seed=request.seed,
        min_history=request.min_history,
        ties_as_authors=request.ties_as_authors,
        workers=request.workers,
        threads=request.threads,
        record=study,
        progress=progress,
    )


def _check(request: TuneRequest) -> None:
    """Refuse what cannot be answered or written before anything is read."""
    require(request.metric in METRICS, "--metric", f"one of {', '.join(METRICS)}", request.metric)
    require(request.resamples >= 1, "--resamples", "at least 1", request.resamples)
    require(0 < request.confidence < 1, "--confidence", "in (0, 1)", request.confidence)
    outputs = {
        "--output": request.output,
        "--trials-output": request.trials_output,
        "--chart": request.chart,
    }
    check_outputs(request.history, outputs)
    if request.output is not None:
        check_parameter_file(request.output)
    if request.trials_output is not None:
        check_target(request.trials_output)
    if request.chart is not None:
        theme.check_file(request.chart)


def _first(request: TuneRequest, history: History) -> int:
    """Return how many matches to search on; there is something to score in them and after them."""
    first = first_scored(request.first, history, "--first", time_format=request.history.time_format)
    if not 0 < first < history.matches:
        raise InvalidParameterError(
            f"--first must leave matches to search on and others to compare on; {request.first} "
            f"is {first:,} of {history.matches:,}"
        )
    for part, begin, where in (
        (history.slice(0, first), 0, "the first"),
        (history, first, "after"),
    ):
        try:
            Scored.of(part, min_history=request.min_history, first=begin)
        except InvalidDataError as error:
            raise InvalidDataError(
                [],
                f"{where} {counted(first, 'match', 'matches')} ({request.first}; see --first): "
                f"{error}",
            ) from None
    return first


def _study(
    system: RatingSystem, choices: Mapping[str, Choice], request: TuneRequest, head: History
) -> Study:
    question = question_of(
        system=system.name,
        parameters=plain_parameters(system),
        choices=choices,
        trials=request.trials,
        seed=request.seed,
        metric=request.metric,
        min_history=request.min_history,
        ties_as_authors=request.ties_as_authors,
        history=fingerprint(head),
    )
    return Study(
        str(request.study),
        request.study_name or f"{system.name} {request.metric}",
        question=question,
        choices=choices,
        metric=request.metric,
    )


#: What the held-out matches say of the tuned parameters.
Verdict: TypeAlias = Literal["better", "worse", "open", "no difference that matters", "same"]


def verdict(answer: TuneAnswer, group: Group | None = None) -> Verdict:
    """Return what the held-out matches say of the tuned parameters.

    group : of players, of the held-out backtest; None for those that were scored in the search
    """
    if answer.tuned == answer.given:
        return "same"
    metric, found = answer.found.metric, answer.held_out.found
    difference = (found if group is None else group).differences[0]
    change, (lower, upper) = difference.metrics[metric], difference.intervals[metric]
    judged = judge(change, (lower, upper), found.least_differences[metric])
    if judged in ("level", "no difference that matters"):
        return "no difference that matters"
    if judged != "beyond noise":
        return "open"
    return "better" if (change > 0) == (metric in HIGHER_IS_BETTER) else "worse"


def _write(answer: TuneAnswer) -> None:
    request, found = answer.request, answer.found
    if request.trials_output is not None:
        write_table(found.to_polars(), request.trials_output)
    if request.chart is not None:
        from equipoise.charts.tuning_figure import tuning_figure

        figure = tuning_figure(found, title=request.title or title_of(found))
        theme.write(figure, request.chart)
    if request.output is not None:
        value = found.chosen.value(found.metric)
        write_parameters(
            request.output,
            found.system,
            parameters_of(answer.tuned),
            request.history.statistics,
            [
                f"{found.metric} {value:.6g} on the first "
                f"{counted(answer.first, 'match', 'matches')}, the best of "
                f"{counted(len(found.trials), 'trial')} and of the parameters given.",
            ],
        )


def title_of(found: Tuning) -> str:
    """Return what a chart is about."""
    return f"{found.system}: {' and '.join(found.choices)}"
