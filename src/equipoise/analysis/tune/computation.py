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

from equipoise._jit import working_time
from equipoise.analysis.backtest.computation import (
    BacktestAnswer,
    backtest_json,
    check_times,
    first_scored,
    least_differences,
    scored,
    split_for_search,
)
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
from equipoise.data.history import COLUMNS, History
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
from equipoise.formats.table import HistoryReading
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
        self._study = self._optuna.create_study(
            storage=_open(self._optuna, url if "://" in url else f"sqlite:///{url}"),
            study_name=name,
            direction="maximize" if metric in HIGHER_IS_BETTER else "minimize",
            load_if_exists=True,
        )
        self._check(name, json.loads(json.dumps(question)))
        self._distributions = {name: distribution_of(choice) for name, choice in choices.items()}
        kept = self._study.get_trials(deepcopy=False)
        self._count = len(kept)
        answered = [trial for trial in kept if _ANSWER in trial.user_attrs]
        self.trials: Sequence[Trial] = [
            Trial(number=number, parameters=dict(trial.params), **trial.user_attrs[_ANSWER])
            for number, trial in enumerate(answered)
        ]

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

    def under_way(self) -> int:
        """Return how many trials are under way, which is the same in every run of the study."""
        kept: int = self._study.user_attrs.get(_UNDER_WAY, UNDER_WAY)
        self._study.set_user_attr(_UNDER_WAY, kept)
        return kept

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


def fingerprint(history: History) -> str:
    """Return a hash of everything in a history that ratings can depend on."""
    digest = hashlib.sha256()
    columns = {name: getattr(history, name) for name in COLUMNS if name not in _NAMES}
    columns |= {**history.statistics, **history.attributes}
    for name, column in columns.items():
        if column is None:
            continue
        digest.update(f"\n{name} {column.dtype.kind}\n".encode())
        if column.dtype == object:
            digest.update("\n".join(map(repr, column.tolist())).encode())
        else:
            digest.update(np.ascontiguousarray(column).tobytes())
    return digest.hexdigest()[:16]


#: Columns on which no rating depends: ids, and the numbers of an order without dates.
_NAMES = ("match_ids", "player_ids", "order", "team_labels")


#: Labels of the two sets of parameters in the comparison.
TUNED, GIVEN = "tuned", "given"


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneAnswer:
    """Result of a search.

    request : with the share of the matches and the fewest earlier matches that were used
    found : by the search on the first `first` matches; recorded : number of trials of earlier runs
    under_way : sampled trials that were under way at the same time
    held_out : the backtest of both sets of parameters on the other matches
    gains : what calibration, a context and rating periods are worth there beside the tuned ones
    """

    request: TuneRequest
    given: RatingSystem
    tuned: RatingSystem
    found: Tuning
    first: int
    recorded: int
    under_way: int
    seconds: float
    held_out: BacktestAnswer
    gains: list[Gain]

    @property
    def reading(self) -> HistoryReading:
        """How the history was read."""
        return self.held_out.reading


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
    time_format = request.history.time_format
    split = split_for_search(
        history,
        request.first,
        request.min_history,
        lambda share: first_scored(share, history, "--first", time_format=time_format),
    )
    first = split.first
    request = replace(request, first=split.share, min_history=split.fewest)
    reading = replace(reading, notes=(*reading.notes, *split.notes))
    head = history.slice(0, first)
    study = None if request.study is None else _study(system, choices, request, head)
    recorded = 0 if study is None else len(study.trials)
    if recorded and resumed is not None:
        resumed(recorded)
    under_way = UNDER_WAY if study is None or request.trials is None else study.under_way()
    workers = request.workers or 1
    options = {**shared(request, tune), "workers": workers, "under_way": under_way}
    start = working_time()
    tuning = tune(system, head, choices, **options, record=study, progress=progress)
    seconds = working_time() - start
    changed = {} if tuning.chosen is tuning.given else tuning.chosen.parameters
    tuned = make_system(system.name, {**parameters_of(system), **changed})
    compared = {TUNED: tuned, GIVEN: system}
    held_out = scored(compared, request, history, reading, first, least=least)
    others = {"first": first, "workers": workers, "least_differences": least}
    answer = TuneAnswer(
        request=request,
        given=system,
        tuned=tuned,
        found=tuning,
        first=first,
        recorded=recorded,
        under_way=under_way,
        seconds=seconds,
        held_out=held_out,
        gains=gains(tuned, history, request.metric, {**shared(request, backtest), **others}),
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
    require(0 < request.confidence < 1, "--confidence", "in (0, 1)", request.confidence)
    check_outputs(
        request.history,
        {"--output": request.output},
        tables={"--trials-output": request.trials_output},
        chart=request.chart,
    )
    if request.output is not None:
        check_parameter_file(request.output)


def _study(
    system: RatingSystem, choices: Mapping[str, Choice], request: TuneRequest, head: History
) -> Study:
    """Return the study of a search.

    The values of a grid and the number of trials may change, so that both can grow.
    """
    parameters = plain_parameters(system)
    if not parameters.get(CONTEXT_DEVIATION):
        # As studies have it from before there were contexts.
        parameters.pop(CONTEXT_DEVIATION, None)
    ranges = {
        name: [choice.low, choice.high, "log" if choice.log else "linear"]
        for name, choice in choices.items()
        if isinstance(choice, Range)
    }
    sampled: dict[str, object] = {"ranges": ranges, "seed": request.seed}
    question: dict[str, object] = {
        "system": system.name,
        "parameters": {
            name: str(value) for name, value in parameters.items() if name not in choices
        },
        **({"grid": list(choices)} if request.trials is None else sampled),
        "metric": request.metric,
        "min_history": request.min_history,
        "ties_as_authors": request.ties_as_authors,
        "history": fingerprint(head),
    }
    name = request.study_name or f"{system.name} {request.metric}"
    return Study(str(request.study), name, question, choices, request.metric)


def verdict(answer: TuneAnswer, group: Group | None = None) -> Verdict:
    """Return the verdict of the held-out matches on the tuned parameters.

    group : of players in the held-out backtest; None for those that the search scored
    """
    if answer.tuned == answer.given:
        return "same"
    backtest = answer.held_out.found
    difference = (backtest if group is None else group).differences[0]
    return judged(answer.found.metric, difference, backtest.least_differences)


def _write(answer: TuneAnswer) -> None:
    request, tuning = answer.request, answer.found
    if request.trials_output is not None:
        write_table(tuning.to_polars(), request.trials_output)
    if request.chart is not None:
        from equipoise.analysis.tune.chart import tuning_figure

        theme.write(tuning_figure(tuning), request.chart)
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
            "gains": plain(answer.gains),
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
        "history": history_message(answer.held_out.history, answer.reading),
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
    read, option, texts = (_values, "--grid", grid) if grid else (_range, "--range", ranges)
    named = assignments(texts, option)
    return {name: read(system, name, text) for name, text in named.items()} or None


def _values(system: str, name: str, written: str) -> Choice:
    """Return the values of NAME=V1,V2,..., with the type of the parameter."""
    values = [value.strip() for value in written.split(",")]
    if "" in values:
        raise InvalidParameterError(f"--grid takes NAME=V1,V2,...; got {name}={written}")
    typed = [setting_of(system, name, value) for value in values]
    twice = next((value for value in typed if typed.count(value) > 1), None)
    if twice is not None:
        raise InvalidParameterError(f"--grid names the value {twice} of {name} twice")
    return tuple(typed)


def _range(system: str, name: str, written: str) -> Choice:
    """Return the range of NAME=LOW:HIGH[:log]."""
    low, _, rest = written.partition(":")
    high, colon, scale = (part.strip() for part in rest.partition(":"))
    if not high or (colon and scale not in ("log", "linear")):
        raise InvalidParameterError(f"--range takes NAME=LOW:HIGH[:log]; got {name}={written}")
    kind = kind_of(system, name)
    if kind in _WITHOUT_RANGE:
        raise InvalidParameterError(
            f"{system}.{name} {_WITHOUT_RANGE[kind]}: use --grid {name}=..."
        )
    try:
        return Range(
            low=setting_of(system, name, low.strip()),
            high=setting_of(system, name, high),
            log=scale == "log",
            whole=kind == "whole",
        )
    except (InvalidParameterError, TypeError) as error:
        raise InvalidParameterError(f"--range {name}={written}: {error}") from None


#: Kinds of parameters that have no range -> what they are.
_WITHOUT_RANGE = {"flag": "is true or false", "word": "takes words"}
