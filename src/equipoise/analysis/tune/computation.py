"""Searching parameters on the first matches, and comparing the best with the given on the others.

Trials may be kept from one run to the next, as a study of Optuna in a database. Only finished
trials are written, each in one transaction. A run that is stopped in any way leaves no unfinished
trial, and the next run continues from there.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from equipoise.analysis.backtest.computation import (
    USUAL_FEWEST,
    BacktestAnswer,
    SearchPart,
    backtest_json,
    check_times,
    first_scored,
    least_differences,
    scored,
    split_for_search,
)
from equipoise.analysis.clock import working_time
from equipoise.analysis.reading import (
    check_outputs,
    history_message,
    read,
)
from equipoise.analysis.requests import assignments, shared
from equipoise.analysis.systems import (
    check_parameter_file,
    plain_parameters,
    plain_value,
    write_parameters,
)
from equipoise.analysis.tune import TuneRequest
from equipoise.analysis.tune.gains import Gain, Verdict, gains, judged
from equipoise.charts import theme
from equipoise.data.backtest import (
    GROUP_METRICS,
    HIGHER_IS_BETTER,
    METRICS,
    Choice,
    Group,
    Range,
    Trial,
    Tuning,
)
from equipoise.data.files import check_place
from equipoise.data.history import History
from equipoise.data.reading import HistoryReading
from equipoise.errors import ConflictError, EquipoiseError, InvalidParameterError, require
from equipoise.evaluate.backtest import backtest
from equipoise.evaluate.tuning import (
    GIVEN_TRIAL,
    UNDER_WAY,
    checked_choices,
    default_grid,
    default_ranges,
    distribution_of,
    load_optuna,
    state_of,
    tune,
)
from equipoise.formats import write_table
from equipoise.messages.conversion import plain
from equipoise.rating.contexts import CONTEXT_DEVIATION
from equipoise.rating.registry import kind_of, make_system, parameters_of, setting_of
from equipoise.rating.system import RatingSystem
from equipoise.wording import counted

#: Keys of the question in a study, and of the result in a trial.
_QUESTION, _ANSWER = "equipoise:question", "equipoise:trial"
#: Key of the number of trials under way.
_UNDER_WAY = "equipoise:under_way"


class Study:
    """The trials of one search, in a database.

    question : values for JSON that must be equal for trials to belong together
    """

    def __init__(
        self,
        url: str,
        name: str,
        *,
        question: Mapping[str, object],
        choices: Mapping[str, Choice],
        metric: str,
    ) -> None:
        """Open a study, or create one.

        Raises : InvalidParameterError   no such database
                 ConflictError   the study has another question
                 EquipoiseError   Optuna is not installed
        """
        self._optuna = load_optuna()
        self._metric = metric
        self._storage = _open(self._optuna, database_url(url))
        self._study = self._optuna.create_study(
            storage=self._storage,
            study_name=name,
            direction="maximize" if metric in HIGHER_IS_BETTER else "minimize",
            load_if_exists=True,
        )
        self._check(name, json.loads(json.dumps(question)))
        self._distributions = {name: distribution_of(choice) for name, choice in choices.items()}
        self.trials: Sequence[Trial] = self._read()
        self._count = len(self._study.get_trials(deepcopy=False))

    def _check(self, name: str, question: dict[str, object]) -> None:
        """Refuse a study with another question. Raises : ConflictError."""
        asked = self._study.user_attrs.get(_QUESTION)
        if asked is None:
            if self._study.get_trials(deepcopy=False):
                raise ConflictError(f"the study {name!r} was not made by equipoise tune")
            self._study.set_user_attr(_QUESTION, question)
            return
        different = [key for key in {**asked, **question} if asked.get(key) != question.get(key)]
        if different:
            key = different[0]
            raise ConflictError(
                f"the study {name!r} belongs to another search: it differs in "
                f"{', '.join(different)} "
                f"({key} was {json.dumps(asked.get(key))}, now {json.dumps(question.get(key))}). "
                "Use another --study-name"
            )

    def settle_under_way(self, number: int | None, default: int) -> int:
        """Return how many trials are under way, which is the same in every run of the study.

        number : what this run asks for, if anything
        Raises : ConflictError   the study has another number
        """
        kept: int | None = self._study.user_attrs.get(_UNDER_WAY)
        if kept is None:
            kept = number or default
            self._study.set_user_attr(_UNDER_WAY, kept)
        elif number not in (None, kept):
            raise ConflictError(
                f"this study has {kept} trials under way, which decides what is sampled; got "
                f"--under-way {number}. Leave the option out, or use another --study-name"
            )
        return kept

    def _read(self) -> list[Trial]:
        trials: list[Trial] = []
        for trial in self._study.get_trials(deepcopy=False):
            answer = trial.user_attrs.get(_ANSWER)
            if answer is not None:
                trials.append(Trial(number=len(trials), parameters=dict(trial.params), **answer))
        return trials

    def keep(self, trial: Trial) -> None:
        """Write a trial. Raises : ConflictError   another run writes to the study as well."""
        if len(self._study.get_trials(deepcopy=False)) != self._count:
            raise ConflictError("another search writes to this study at the same time")
        answer = {"status": trial.status, "reason": trial.reason, "metrics": dict(trial.metrics)}
        try:
            self._study.add_trial(
                self._optuna.trial.create_trial(
                    state=state_of(trial),
                    value=trial.value(self._metric) if trial.status == "done" else None,
                    params=dict(trial.parameters),
                    distributions=self._distributions,
                    user_attrs={_ANSWER: answer},
                )
            )
        except ValueError as error:
            raise ConflictError(
                "values that are not numbers cannot be changed within a study: use another "
                "--study-name"
            ) from error
        self._count += 1


def database_url(text: str) -> str:
    """Return the URL of a database; a plain path is an SQLite file."""
    return text if "://" in text else f"sqlite:///{text}"


def _open(optuna: Any, url: str) -> Any:
    import sqlalchemy.exc

    if url.startswith("sqlite:///"):
        check_place(Path(url.removeprefix("sqlite:///")))
    try:
        return optuna.storages.RDBStorage(url)
    except (sqlalchemy.exc.SQLAlchemyError, ImportError, RuntimeError) as error:
        reason = str(error).partition("\n")[0]
        raise InvalidParameterError(f"--study {url!r} cannot be opened: {reason}") from error
    except optuna.exceptions.OptunaError as error:
        raise EquipoiseError(f"--study {url!r}: {error}") from error


def question_of(
    *,
    system: str,
    parameters: Mapping[str, object],
    choices: Mapping[str, Choice],
    trials: int | None,
    seed: int,
    **others: object,
) -> dict[str, object]:
    """Return the values that must be equal for trials to belong to one study.

    The values of a grid and the number of trials may change, so that both can grow.
    """
    ranges = {
        name: [choice.low, choice.high, "log" if choice.log else "linear"]
        for name, choice in choices.items()
        if isinstance(choice, Range)
    }
    searched: dict[str, object] = {"ranges": ranges, "seed": seed}
    if trials is None:
        searched = {"grid": list(choices)}
    fixed = {name: str(value) for name, value in parameters.items() if name not in choices}
    return {"system": system, "parameters": fixed, **searched, **others}


def fingerprint(history: History) -> str:
    """Return a hash of everything in a history that ratings can depend on."""
    digest = hashlib.sha256()
    columns = {
        "offsets": history.offsets,
        "player": history.player,
        "team": history.team,
        "rank": history.rank,
        "time": history.time,
        "weight": history.weight,
        "performance_ceiling": history.performance_ceiling,
        "beta": history.beta,
        "gamma": history.gamma,
        "performance": history.performance,
        "share": history.share,
        **history.statistics,
        **history.attributes,
    }
    for name, column in columns.items():
        if column is None:
            continue
        digest.update(f"\n{name} {column.dtype.kind}\n".encode())
        if column.dtype == object:
            digest.update("\n".join(map(repr, column.tolist())).encode())
        else:
            digest.update(np.ascontiguousarray(column).tobytes())
    return digest.hexdigest()[:16]


#: Labels of the two sets of parameters in the comparison.
TUNED, GIVEN = "tuned", "given"


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneAnswer:
    """Result of a search.

    found : by the search on the first `first` matches; recorded : number of trials of earlier runs
    under_way : sampled trials that were under way at the same time
    held_out : the backtest of both sets of parameters on the other matches
    gains : what calibration, a context and rating periods are worth there beside the tuned ones
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
    gains: list[Gain]


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
    tuning = tune(
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
    improved = tuning.chosen is not tuning.given
    changed = tuning.chosen.parameters if improved else {}
    tuned = make_system(system.name, {**parameters_of(system), **changed})
    answer = TuneAnswer(
        request=request,
        history=history,
        reading=reading,
        given=system,
        tuned=tuned,
        found=tuning,
        first=first,
        recorded=recorded,
        under_way=under_way,
        seconds=seconds,
        held_out=scored(
            {TUNED: tuned, GIVEN: system}, request, history, reading, first, least=least
        ),
        gains=gains(
            tuned,
            history,
            request.metric,
            {
                **shared(request, backtest),
                "first": first,
                "workers": request.workers or 1,
                "least_differences": least,
            },
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
    under_way = request.under_way
    require(under_way is None or under_way >= 1, "--under-way", "at least 1", under_way)
    if under_way is not None and request.trials is None:
        raise InvalidParameterError(
            "--under-way needs --trials, the number of samples: a grid does not depend on it"
        )
    require(0 < request.confidence < 1, "--confidence", "in (0, 1)", request.confidence)
    check_outputs(
        request.history,
        {"--output": request.output},
        tables={"--trials-output": request.trials_output},
        chart=request.chart,
    )
    if request.output is not None:
        check_parameter_file(request.output)


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
    parameters = plain_parameters(system)
    if not parameters.get(CONTEXT_DEVIATION):
        # As studies have it from before there were contexts.
        parameters.pop(CONTEXT_DEVIATION, None)
    question = question_of(
        system=system.name,
        parameters=parameters,
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
    return study.settle_under_way(request.under_way, UNDER_WAY)


def verdict(answer: TuneAnswer, group: Group | None = None) -> Verdict:
    """Return the verdict of the held-out matches on the tuned parameters.

    group : of players in the held-out backtest; None for those that the search scored
    """
    if answer.tuned == answer.given:
        return "same"
    metric, backtest = answer.found.metric, answer.held_out.found
    difference = (backtest if group is None else group).differences[0]
    change, bounds = difference.metrics[metric], difference.intervals[metric]
    return judged(metric, change, bounds, backtest.least_differences[metric])


def _write(answer: TuneAnswer) -> None:
    request, tuning = answer.request, answer.found
    if request.trials_output is not None:
        write_table(tuning.to_polars(), request.trials_output)
    if request.chart is not None:
        from equipoise.analysis.tune.chart import tuning_figure

        theme.write(tuning_figure(tuning, title=request.title), request.chart)
    if request.output is not None:
        value = tuning.chosen.value(tuning.metric)
        write_parameters(
            request.output,
            tuning.system,
            parameters_of(answer.tuned),
            request.history.statistics,
            [
                f"{tuning.metric} {value:.6g} on the first "
                f"{counted(answer.first, 'match', 'matches')}, the best of "
                f"{counted(len(tuning.trials), 'trial')} and of the given parameters.",
            ],
        )


def tune_json(answer: TuneAnswer) -> dict[str, Any]:
    """Return what `equipoise tune --json` prints."""
    tuning, request = answer.found, answer.request
    held_out, edges = backtest_json(answer.held_out), tuning.at_edges()
    sampled = request.trials is not None
    return {
        "system": tuning.system,
        "parameters": plain_parameters(answer.tuned),
        "improved": tuning.chosen is not tuning.given,
        "best": _trial(tuning.best, tuning.metric),
        "given": _trial(tuning.given, tuning.metric),
        "held_out": {
            **{name: held_out[name] for name in ("systems", "scoring", "groups")},
            "difference": held_out["differences"][0],
            "verdict": verdict(answer),
            "gains": [plain(gain._asdict()) for gain in answer.gains],
            "verdicts": [
                verdict(answer, group) if tuning.metric in GROUP_METRICS else None
                for group in answer.held_out.found.groups
            ],
        },
        "search": {
            "metric": tuning.metric,
            "higher_is_better": tuning.higher_is_better,
            "choices": [
                _choice(name, choice, name in edges) for name, choice in tuning.choices.items()
            ],
            "first": answer.first,
            "matches": tuning.matches,
            "participations": tuning.participations,
            "min_history": request.min_history,
            "ties_as_authors": request.ties_as_authors,
            "seed": request.seed if sampled else None,
            "workers": request.workers or 1,
            "under_way": answer.under_way if sampled else None,
            "study": request.study,
            "recorded": answer.recorded,
            "seconds": answer.seconds,
        },
        "trials": [_trial(trial, tuning.metric) for trial in tuning.trials],
        "history": history_message(answer.history, answer.reading),
    }


def _choice(name: str, choice: Choice, at_edge: bool) -> dict[str, Any]:
    """Return what was tried: values of a grid, or samples of a range."""
    ends = choice if isinstance(choice, Range) else None
    return {
        "parameter": name,
        "values": None if isinstance(choice, Range) else [plain_value(value) for value in choice],
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
    choices: dict[str, Choice] = {}
    for name, written in assignments(texts, "--grid").items():
        values = [value.strip() for value in written.split(",")]
        if "" in values:
            raise InvalidParameterError(f"--grid takes NAME=V1,V2,...; got {name}={written}")
        typed = [setting_of(system, name, value) for value in values]
        twice = next((value for value in typed if typed.count(value) > 1), None)
        if twice is not None:
            raise InvalidParameterError(f"--grid names the value {twice} of {name} twice")
        choices[name] = tuple(typed)
    return choices


def ranges_of(system: str, texts: Sequence[str]) -> dict[str, Choice]:
    """Return the ranges of NAME=LOW:HIGH[:log] texts. Raises : InvalidParameterError."""
    ranges: dict[str, Choice] = {}
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
            ranges[name] = Range(
                low=setting_of(system, name, low.strip()),
                high=setting_of(system, name, high),
                log=scale == "log",
                whole=kind == "whole",
            )
        except (InvalidParameterError, TypeError) as error:
            raise InvalidParameterError(f"--range {name}={written}: {error}") from None
    return ranges
