"""Searching for parameters on the first matches of a history, and comparing them on the others.

The functions at the end read the values and ranges to try from text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from equipoise.analysis.clock import working_time
from equipoise.analysis.files.reading import check_outputs, history_message, read
from equipoise.analysis.files.systems import (
    check_parameter_file,
    plain_parameters,
    plain_value,
    write_parameters,
)
from equipoise.analysis.requests.studies import TuneRequest
from equipoise.analysis.requests.texts import assignments
from equipoise.analysis.requests.typed import shared
from equipoise.analysis.studies.backtest import (
    BacktestAnswer,
    backtest_json,
    check_times,
    first_scored,
    least_differences,
    scored,
)
from equipoise.analysis.studies.small_histories import USUAL_FEWEST, SearchPart, split_for_search
from equipoise.analysis.studies.trials import Study, fingerprint, question_of
from equipoise.charts import theme
from equipoise.data.backtest import GROUP_METRICS, HIGHER_IS_BETTER, METRICS, Group, judge
from equipoise.data.history import History
from equipoise.data.reading import HistoryReading
from equipoise.data.tuning import Choice, Range, Trial, Tuning
from equipoise.errors import InvalidParameterError, require
from equipoise.evaluate.proposals import default_grid, default_ranges
from equipoise.evaluate.tuning import GIVEN_TRIAL, UNDER_WAY, checked_choices, tune
from equipoise.formats import write_table
from equipoise.formats.writing import check_target
from equipoise.messages.conversion import plain
from equipoise.rating.registry import kind_of, make_system, parameters_of, setting_of
from equipoise.rating.system import RatingSystem
from equipoise.wording import counted

#: Labels of the two sets of parameters in the comparison.
TUNED, GIVEN = "tuned", "given"


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneAnswer:
    """Result of a search.

    found : by the search on the first `first` matches; recorded : number of trials of earlier runs
    under_way : sampled trials that were under way at the same time
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
    under_way: int
    seconds: float
    held_out: BacktestAnswer


def search(
    system: RatingSystem,
    request: TuneRequest,
    progress: Callable[[int, int], None] | None = None,
    resumed: Callable[[int], None] | None = None,
) -> TuneAnswer:
    """Read the history, search on its first matches, compare on the others, write the files.

    system : with the given parameters
    progress : called with (trials done, total)
    resumed : called with the number of trials that a study already has, if any
    Raises : EquipoiseError, and then nothing was written but trials in the study
    """
    named = choices_of(system.name, request.grid, request.ranges, request.trials)
    least = least_differences(request.least_difference, request.metric)
    _check(request)
    choices = _choices(system, request, named)
    history, reading = read(request.history, {system.name: system}, choices)
    check_times(system, history)
    split = _split(request, history)
    first = split.first
    request = replace(request, first=split.share, min_history=split.fewest)
    reading = replace(reading, notes=(*reading.notes, *split.notes))
    head = history.slice(0, first)
    study = None if request.study is None else _study(system, choices, request, head)
    recorded = 0 if study is None else len(study.trials)
    if recorded and resumed is not None:
        resumed(recorded)
    under_way = _under_way(request, study)
    start = working_time()
    found = tune(
        system,
        head,
        choices,
        **{
            **shared(request, tune),
            "workers": request.workers or 1,
            "under_way": under_way,
        },
        record=study,
        progress=progress,
    )
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
        under_way=under_way,
        seconds=seconds,
        held_out=scored(
            {TUNED: tuned, GIVEN: system}, request, history, reading, first, least=least
        ),
    )
    _write(answer)
    return answer


def _choices(
    system: RatingSystem, request: TuneRequest, named: Mapping[str, Choice] | None
) -> dict[str, Choice]:
    """Return the values or ranges to try.

    named : by the request
    Raises : InvalidParameterError
    """
    if not request.entry:
        return checked_choices(system, named, request.trials)
    if named is not None:
        raise InvalidParameterError(
            "--entry cannot be combined with --grid and --range: it chooses the parameters itself"
        )
    if request.trials is None:
        return {**default_grid(system, entry=True)}
    return {**default_ranges(system, entry=True)}


def _check(request: TuneRequest) -> None:
    """Refuse wrong options and outputs that cannot be written, before reading."""
    require(request.metric in METRICS, "--metric", f"one of {', '.join(METRICS)}", request.metric)
    require(request.resamples >= 1, "--resamples", "at least 1", request.resamples)
    given = request.under_way
    require(given is None or given >= 1, "--under-way", "at least 1", given)
    if given is not None and request.trials is None:
        raise InvalidParameterError(
            "--under-way needs --trials, the number of samples: a grid does not depend on it"
        )
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


def _split(request: TuneRequest, history: History) -> SearchPart:
    """Return the matches to search on; both parts have matches to score."""
    time_format = request.history.time_format
    return split_for_search(
        history,
        request.first,
        request.min_history,
        lambda share: first_scored(share, history, "--first", time_format=time_format),
    )


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
        min_history=USUAL_FEWEST if request.min_history is None else request.min_history,
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


def _under_way(request: TuneRequest, study: Study | None) -> int:
    """Return how many sampled trials are under way. Raises : ConflictError."""
    if study is None or request.trials is None:
        return request.under_way or UNDER_WAY
    return study.settle_under_way(
        request.under_way, earlier=request.workers or 1, default=UNDER_WAY
    )


#: Verdicts of the held-out matches on the tuned parameters.
Verdict: TypeAlias = Literal[
    "better", "worse", "open", "no difference that matters", "not known", "same"
]


def verdict(answer: TuneAnswer, group: Group | None = None) -> Verdict:
    """Return the verdict of the held-out matches on the tuned parameters.

    group : of players in the held-out backtest; None for those that the search scored
    """
    if answer.tuned == answer.given:
        return "same"
    metric, found = answer.found.metric, answer.held_out.found
    difference = (found if group is None else group).differences[0]
    change, (lower, upper) = difference.metrics[metric], difference.intervals[metric]
    judged = judge(change, (lower, upper), found.least_differences[metric])
    if judged in ("level", "no difference that matters"):
        return "no difference that matters"
    if judged == "not known":
        return judged
    if judged != "beyond noise":
        return "open"
    return "better" if (change > 0) == (metric in HIGHER_IS_BETTER) else "worse"


def _write(answer: TuneAnswer) -> None:
    request, found = answer.request, answer.found
    if request.trials_output is not None:
        write_table(found.to_polars(), request.trials_output)
    if request.chart is not None:
        from equipoise.charts.tuning import tuning_figure

        theme.write(tuning_figure(found, title=request.title), request.chart)
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
                f"{counted(len(found.trials), 'trial')} and of the given parameters.",
            ],
        )


def tune_json(answer: TuneAnswer) -> dict[str, Any]:
    """Return what `equipoise tune --json` prints."""
    found, request = answer.found, answer.request
    held_out, edges = backtest_json(answer.held_out), found.at_edges()
    sampled = request.trials is not None
    return {
        "system": found.system,
        "parameters": plain_parameters(answer.tuned),
        "improved": found.chosen is not found.given,
        "best": _trial(found.best, found.metric),
        "given": _trial(found.given, found.metric),
        "held_out": {
            **{name: held_out[name] for name in ("systems", "scoring", "groups")},
            "difference": held_out["differences"][0],
            "verdict": verdict(answer),
            "verdicts": [
                verdict(answer, group) if found.metric in GROUP_METRICS else None
                for group in answer.held_out.found.groups
            ],
        },
        "search": {
            "metric": found.metric,
            "higher_is_better": found.higher_is_better,
            "choices": [_choice(name, one, name in edges) for name, one in found.choices.items()],
            "first": answer.first,
            "matches": found.matches,
            "participations": found.participations,
            "min_history": request.min_history,
            "ties_as_authors": request.ties_as_authors,
            "seed": request.seed if sampled else None,
            "workers": request.workers or 1,
            "under_way": answer.under_way if sampled else None,
            "study": request.study,
            "recorded": answer.recorded,
            "seconds": answer.seconds,
        },
        "trials": [_trial(trial, found.metric) for trial in found.trials],
        "history": history_message(answer.history, answer.reading),
    }


def _choice(name: str, choice: Choice, at_edge: bool) -> dict[str, Any]:
    """Return what was tried: values of a grid, or samples of a range."""
    ends = choice if isinstance(choice, Range) else None
    return {
        "parameter": name,
        "values": None if isinstance(choice, Range) else [plain_value(one) for one in choice],
        **{end: None if ends is None else getattr(ends, end) for end in ("low", "high", "log")},
        "at_edge": at_edge,
    }


def _trial(trial: Trial, metric: str) -> dict[str, Any]:
    return {
        **plain(trial),
        "number": None if trial.number == GIVEN_TRIAL else trial.number,
        "parameters": {name: plain_value(value) for name, value in trial.parameters.items()},
        "value": plain(trial.value(metric)),
        # Metrics without a value are left out: there may be no match with a top 100.
        "metrics": {name: value for name, value in trial.metrics.items() if value == value},
    }


def choices_of(
    system: str, grid: Sequence[str], ranges: Sequence[str], trials: int | None
) -> dict[str, Choice] | None:
    """Return the values or ranges to try; None for the defaults. Raises : InvalidParameterError."""
    if grid and (ranges or trials is not None):
        raise InvalidParameterError(
            "--grid cannot be combined with --trials and --range: it tries all of its values"
        )
    if ranges and trials is None:
        raise InvalidParameterError("--range needs --trials, the number of samples")
    if grid:
        return grid_of(system, grid)
    return ranges_of(system, ranges) if ranges else None


def grid_of(system: str, texts: Sequence[str]) -> dict[str, Choice]:
    """Return the values of NAME=V1,V2,... texts, with the types of the parameters.

    Raises : InvalidParameterError
    """
    found: dict[str, Choice] = {}
    for name, written in assignments(texts, "--grid").items():
        values = [value.strip() for value in written.split(",")]
        if "" in values:
            raise InvalidParameterError(f"--grid takes NAME=V1,V2,...; got {name}={written}")
        typed = [setting_of(system, name, value) for value in values]
        twice = next((one for one in typed if typed.count(one) > 1), None)
        if twice is not None:
            raise InvalidParameterError(f"--grid names the value {twice} of {name} twice")
        found[name] = tuple(typed)
    return found


def ranges_of(system: str, texts: Sequence[str]) -> dict[str, Choice]:
    """Return the ranges of NAME=LOW:HIGH[:log] texts. Raises : InvalidParameterError."""
    found: dict[str, Choice] = {}
    for name, written in assignments(texts, "--range").items():
        low, _, rest = written.partition(":")
        high, colon, scale = (part.strip() for part in rest.partition(":"))
        if not high or (colon and scale not in ("log", "linear")):
            raise InvalidParameterError(f"--range takes NAME=LOW:HIGH[:log]; got {name}={written}")
        kind = kind_of(system, name)
        if kind == "flag":
            raise InvalidParameterError(f"{system}.{name} is true or false: use --grid {name}=...")
        if kind == "word":
            raise InvalidParameterError(f"{system}.{name} takes words: use --grid {name}=...")
        try:
            found[name] = Range(
                low=setting_of(system, name, low.strip()),
                high=setting_of(system, name, high),
                log=scale == "log",
                whole=kind == "whole",
            )
        except (InvalidParameterError, TypeError) as error:
            raise InvalidParameterError(f"--range {name}={written}: {error}") from None
    return found
