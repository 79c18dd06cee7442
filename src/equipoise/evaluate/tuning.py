"""Search for parameters: many trials of one system, each scored by how well it predicts.

Source: [EM]_ section 6.3: a grid of parameters, with the first tenth of the data to choose one and
the rest to compare systems. This module does the first half: it gets the matches for the search,
and the caller keeps the others. Departures (READINGS B9): as everywhere, every match is predicted
before it is learned from, and players with few earlier matches are not scored. Ranges may be
sampled instead of a grid.

Trials are independent and run on any executor. A worker gets the history once, and only parameters
for each trial.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol, TypeAlias, cast, runtime_checkable

from equipoise.arguments import checks_arguments
from equipoise.data.backtest import HIGHER_IS_BETTER, METRICS
from equipoise.data.history import History
from equipoise.data.tuning import Choice, Range, Trial, Tuning, Value
from equipoise.errors import (
    ConvergenceError,
    EquipoiseError,
    InvalidDataError,
    InvalidParameterError,
    require,
)
from equipoise.evaluate.backtest import ALL_PAIRS, Scoring
from equipoise.evaluate.predictors import SystemPredictor
from equipoise.evaluate.proposals import (
    Grid,
    Proposals,
    Sampler,
    check_ranges,
    default_grid,
    default_ranges,
    starting_values,
)
from equipoise.evaluate.scoring.scored import Scored
from equipoise.numeric.workers import Workers
from equipoise.parallel.tasks import run_tasks
from equipoise.rating.registry import kind_of, setting_of
from equipoise.rating.replay import check_fit
from equipoise.rating.system import RatingSystem
from equipoise.wording import counted

#: Number of the trial of the given parameters.
GIVEN_TRIAL = -1
#: Sampled trials that are under way at the same time.
UNDER_WAY = 8
#: Participations that a worker rates and scores together, about: they are what it has in memory of
#: its own beside ratings. A trial in this process takes longer pieces, which take less time.
_PIECE_OF_WORKERS = 50_000


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Objective:
    """A history to predict, and the system whose parameters vary.

    scoring : how trials are scored; its piece is as in a backtest, or smaller in a worker. No
        metric depends on it
    metric : the metric that must have a value
    """

    system: RatingSystem
    scoring: Scoring
    metric: str

    def trial(self, number: int, parameters: Mapping[str, Value], threads: int = 1) -> Trial:
        """Return how well the system predicts with these parameters instead of those given.

        Parameters that the system refuses, and failures to rate the history with them, are reported
        in the trial instead of raised.

        threads : to use; never changes a number
        """
        try:
            # A class of one's own has no name in the registry.
            system = replace(cast(Any, self.system), **parameters)
            self._check(system)
            metrics = self._metrics(system, threads)
        except InvalidParameterError as error:
            return _not_done(number, parameters, "refused", error)
        except (ConvergenceError, InvalidDataError) as error:
            return _not_done(number, parameters, "failed", error)
        if math.isnan(metrics[self.metric]):
            reason = InvalidDataError([], f"no scored match has a value of {self.metric}")
            return _not_done(number, parameters, "failed", reason)
        return Trial(number=number, parameters=dict(parameters), metrics=metrics)

    def _metrics(self, system: RatingSystem, threads: int) -> dict[str, float]:
        scoring = replace(self.scoring, threads=threads)
        with Workers(threads) as workers:
            predictor = SystemPredictor(system, scoring.scored.history, workers)
            (found,) = scoring.of_one(predictor, scoring.ties_as_authors)
            return found.metrics()

    def _check(self, system: RatingSystem) -> None:
        """Refuse parameters with which the system cannot rate the history."""
        history = self.scoring.scored.history
        misfits = system.capabilities.misfits(history)
        if history.time is None and system.capabilities.needs_time:
            misfits = [*misfits, "a history without times"]
        if misfits:
            raise InvalidParameterError(
                f"{system.name} cannot rate {'; '.join(misfits)} with these parameters"
            )


def _not_done(number: int, parameters: Mapping[str, Value], status: Any, why: Exception) -> Trial:
    return Trial(
        number=number,
        parameters=dict(parameters),
        status=status,
        reason=str(why),
        metrics={},
    )


#: The number and the parameters of a trial.
Question: TypeAlias = tuple[int, Mapping[str, Value]]


def _trial(threads: int, objective: Objective, asked: Question) -> Trial:
    """Carry out a trial, maybe in a worker."""
    return objective.trial(*asked, threads)


def _compile(objective: Objective) -> None:
    """Compile the kernels, by a trial of the given parameters."""
    objective.trial(GIVEN_TRIAL, {})


def _name(asked: Question) -> str:
    number, parameters = asked
    values = ", ".join(f"{name}={value}" for name, value in parameters.items())
    return f"trial {number} ({values})"


@runtime_checkable
class Record(Protocol):
    """Keeps trials from one run to the next.

    trials : of earlier runs of the same search, in their order

    Examples
    --------
    >>> class Kept(list):
    ...     @property
    ...     def trials(self):
    ...         return tuple(self)
    ...     def keep(self, trial):
    ...         self.append(trial)
    >>> league = eq.read_history("examples/league.csv")
    >>> kept = Kept()
    >>> found = eq.tune(eq.Elo(), league, {"k": [16, 32]}, record=kept)
    >>> len(kept)
    2
    """

    @property
    def trials(self) -> Sequence[Trial]: ...  # noqa: D102  # said above

    def keep(self, trial: Trial) -> None:
        """Keep a trial that was carried out; called in the order of numbers."""
        ...


@checks_arguments("choices")
def tune(
    system: RatingSystem,
    history: History,
    choices: Mapping[str, Choice] | None = None,
    *,
    metric: str = "pair_inversion",
    trials: int | None = None,
    seed: int = 0,
    min_history: int = 5,
    ties_as_authors: bool = False,
    workers: int = 1,
    threads: int = 1,
    under_way: int = UNDER_WAY,
    executor: Executor | None = None,
    record: Record | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Tuning:
    """Return how well a system predicts a history with many different parameters.

    system : the parameters that the search starts from
    history : the matches to search on; keep later matches to validate the result
    choices : by parameter the values of a grid, or with `trials` a `Range`; None for the default
        choices of this system
    metric : the metric to optimise
    trials : number of trials to sample with Optuna; None tries the complete grid
    seed : random seed of the samples
    min_history, ties_as_authors : as in `backtest`
    workers : number of processes; never changes a number. With more than one, a script must be
        importable (`if __name__ == "__main__"`)
    threads : used with one worker; never changes a number
    under_way : sampled trials of which the results are not known when the next one is proposed. It
        changes what is sampled, and more than this number of workers are never busy. A grid does
        not need it
    executor : carries out the trials instead of `workers` processes; never changes a number
    record : keeps trials, and has those of an earlier run, which are not repeated
    progress : called with (trials done, total)
    Raises : InvalidParameterError, InvalidDataError if the system cannot rate this history or
        nothing is left to score, EquipoiseError if no trial succeeds or Optuna is not installed

    Examples
    --------
    >>> league = eq.read_history("examples/league.csv")
    >>> found = eq.tune(eq.Elo(), league.slice(0, 540), {"k": [16, 32, 64]}, metric="brier")
    >>> found.best.parameters
    {'k': 32.0}
    """
    require(metric in METRICS, "metric", f"one of {', '.join(METRICS)}", metric)
    require(workers >= 1, "workers", "at least 1", workers)
    require(seed >= 0, "seed", "at least 0", seed)
    require(under_way >= 1, "under_way", "at least 1", under_way)
    chosen = checked_choices(system, choices, trials)
    check_fit(system, history)
    scored = Scored.of(history, min_history=min_history, first=0)
    scoring = Scoring(scored, ties_as_authors, ALL_PAIRS, 1)
    objective = Objective(system=system, scoring=scoring, metric=metric)
    recorded = () if record is None else record.trials
    proposals = _proposals(chosen, trials, recorded, metric, seed, under_way)
    given = _given(system, objective, chosen, threads)
    busy = min(workers, proposals.count)
    here = busy == 1 and executor is None
    small = replace(scoring, piece=_PIECE_OF_WORKERS)
    carry_out = partial(
        run_tasks,
        partial(_trial, threads if here else 1),
        objective if here else replace(objective, scoring=small),
        executor=executor,
        workers=busy,
        names=_name,
        under_way=proposals.ahead,
        # The parameters given compiled the kernels of this machine already; others have none.
        prepare=_compile if hasattr(executor, "prepare") else None,
    )
    found = _carry_out(proposals, carry_out, record, progress)
    if not any(trial.status == "done" for trial in found):
        raise EquipoiseError(
            f"none of {counted(len(found), 'trial')} succeeded; the first: {found[0].reason}"
        )
    return Tuning(
        system=system.name,
        metric=metric,
        choices=chosen,
        given=given,
        trials=tuple(found),
        matches=int(scored.scored.sum()),
        participations=scored.participations(),
    )


def checked_choices(
    system: RatingSystem, choices: Mapping[str, Choice] | None, trials: int | None
) -> dict[str, Choice]:
    """Return the choices, with values converted to the types of their parameters.

    Raises : InvalidParameterError   an unknown parameter, values where ranges are needed, or
        ranges where values are
    """
    if choices is None:
        return {**(default_grid(system) if trials is None else default_ranges(system))}
    require(len(choices) > 0, "choices", "of at least one parameter", dict(choices))
    if trials is not None:
        check_ranges(choices, trials)
    return {name: _checked(type(system), name, choice) for name, choice in choices.items()}


def _checked(system: type[Any], name: str, choice: Choice) -> Choice:
    kind = kind_of(system, name)
    if not isinstance(choice, Range):
        given: object = choice
        listed = isinstance(given, Collection) and not isinstance(given, str | Mapping)
        require(listed, f"choices[{name!r}]", "a list of values, or a Range", choice)
        return tuple(setting_of(system, name, value) for value in choice)
    if kind == "flag":
        raise InvalidParameterError(f"{system.name}.{name} is true or false and has no range")
    if kind == "word":
        raise InvalidParameterError(f"{system.name}.{name} takes words and has no range")
    return Range(low=choice.low, high=choice.high, log=choice.log, whole=kind == "whole")


def _proposals(
    choices: Mapping[str, Choice],
    trials: int | None,
    recorded: Sequence[Trial],
    metric: str,
    seed: int,
    under_way: int,
) -> Proposals:
    ranges = {name: one for name, one in choices.items() if isinstance(one, Range)}
    if trials is None:
        if ranges:
            raise InvalidParameterError(
                f"a grid needs values, and {next(iter(ranges))} has a range: give a number of "
                "trials to sample ranges"
            )
        values = {name: one for name, one in choices.items() if not isinstance(one, Range)}
        return Grid(values, recorded)
    return Sampler(
        ranges,
        trials,
        recorded,
        metric=metric,
        higher=metric in HIGHER_IS_BETTER,
        seed=seed,
        under_way=under_way,
    )


def _given(
    system: RatingSystem, objective: Objective, choices: Mapping[str, Choice], threads: int
) -> Trial:
    """Return the trial of the given parameters, which must succeed.

    It also compiles the kernels before several processes would do so.
    """
    trial = objective.trial(GIVEN_TRIAL, {}, threads)
    if trial.status != "done":
        raise InvalidDataError([], f"with the given parameters: {trial.reason}")
    starting = starting_values(system, choices)
    return Trial(number=GIVEN_TRIAL, parameters=starting, metrics=trial.metrics)


def _carry_out(
    proposals: Proposals,
    carry_out: Callable[[Iterable[Question]], Iterator[Trial]],
    record: Record | None,
    progress: Callable[[int, int], None] | None,
) -> list[Trial]:
    """Return all trials. Results count in the order of proposals, not of completion."""
    found: list[Trial | None] = []
    done = 0

    def keep(trial: Trial) -> None:
        nonlocal done
        found[trial.number] = trial
        done += 1
        if progress is not None:
            progress(done, proposals.count)

    def asked() -> Iterator[Question]:
        """Propose the trials; a trial is taken when the result of one so long before is known."""
        for number in range(proposals.count):
            if proposals.ahead is not None and number >= proposals.ahead:
                earlier = found[number - proposals.ahead]
                if earlier is None:
                    raise RuntimeError(f"trial {number} was proposed too early")
                proposals.settle(earlier)
            parameters, known = proposals.propose(number)
            found.append(None)
            if known is None:
                yield number, parameters
            else:
                # A grid that has grown since then numbers its points differently.
                keep(replace(known, number=number))

    for trial in carry_out(asked()):
        if record is not None:
            record.keep(trial)
        keep(trial)
    return [trial for trial in found if trial is not None]
