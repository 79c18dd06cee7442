"""Searching for parameters: the same system with many, each scored by how well it predicts.

Source: [EM]_ section 6.3: a grid of parameters, the first tenth of the data to choose one, the
rest to compare. This file does the first half: it takes the matches to search on, and the caller
keeps the others. Departures (READINGS B9): in the search, as everywhere, every match is predicted
before it is learned from, and players with few earlier matches are not scored. Instead of a grid
ranges may be sampled.

How well one set of parameters predicts a history: what a search calls again and again.

Processes that carry out trials.

Each is started afresh (spawn), gets the history once, when it starts, and after that parameters
only. It ends with the process that started it, however that ends.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import signal
import threading
import warnings
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, replace
from multiprocessing.connection import wait
from typing import Any, Protocol, TypeAlias, runtime_checkable

from equipoise.arguments import checks_arguments
from equipoise.data.backtest import HIGHER_IS_BETTER, METRICS
from equipoise.data.history import History
from equipoise.data.tuning import Choice, Range, Trial, Tuning, Value
from equipoise.errors import (
    ApproximationWarning,
    ConvergenceError,
    EquipoiseError,
    InvalidDataError,
    InvalidParameterError,
    require,
)
from equipoise.evaluate.backtest import ALL_PAIRS, Replaying, Scoring
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
from equipoise.rating.registry import kind_of, make_system, parameters_of, setting_of
from equipoise.rating.replay import check_fit
from equipoise.rating.system import RatingSystem
from equipoise.wording import counted

#: Number of the trial of the parameters as given.
GIVEN_TRIAL = -1


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Objective:
    """A history to predict, and the system whose parameters are changed.

    name, fixed : of the system; `fixed` is all of its parameters as given
    metric : that must have a value
    """

    name: str
    fixed: Mapping[str, Any]
    scored: Scored
    metric: str
    ties_as_authors: bool = False
    all_pairs: int = ALL_PAIRS

    @classmethod
    def of(
        cls,
        system: RatingSystem,
        history: History,
        *,
        metric: str,
        min_history: int,
        ties_as_authors: bool,
    ) -> Objective:
        """Return the objective of changing a system.

        Raises : InvalidParameterError, InvalidDataError where nothing is left to score
        """
        return cls(
            name=system.name,
            fixed=parameters_of(system),
            scored=Scored.of(history, min_history=min_history, first=0),
            metric=metric,
            ties_as_authors=ties_as_authors,
        )

    def trial(self, number: int, parameters: Mapping[str, Value], threads: int = 1) -> Trial:
        """Return how well the system predicts with these parameters instead of those given.

        Parameters that the system refuses, and histories that it cannot rate with them, are told
        in the trial rather than raised.
        threads : to use; never changes a number
        """
        try:
            system = make_system(self.name, {**self.fixed, **parameters})
            self._check(system)
            metrics = self._metrics(system, threads)
        except InvalidParameterError as error:
            return _untold(number, parameters, "refused", error)
        except (ConvergenceError, InvalidDataError) as error:
            return _untold(number, parameters, "failed", error)
        if math.isnan(metrics[self.metric]):
            reason = InvalidDataError([], f"no match that is scored says anything of {self.metric}")
            return _untold(number, parameters, "failed", reason)
        return Trial(number=number, parameters=dict(parameters), metrics=metrics)

    def _metrics(self, system: RatingSystem, threads: int) -> dict[str, float]:
        scoring = Scoring(self.scored, self.ties_as_authors, self.all_pairs, threads)
        with Workers(threads) as workers:
            replaying = Replaying(system, self.scored.history, workers)
            (found,) = scoring.of_one(replaying, self.ties_as_authors)
            return found.metrics()

    def _check(self, system: RatingSystem) -> None:
        """Refuse parameters with which the system cannot rate the history."""
        history = self.scored.history
        misfits = system.capabilities.misfits(history)
        if history.time is None and system.capabilities.needs_time:
            misfits = [*misfits, "a history without times"]
        if misfits:
            raise InvalidParameterError(f"{system.name} so cannot rate {'; '.join(misfits)}")


def _untold(number: int, parameters: Mapping[str, Value], status: Any, why: Exception) -> Trial:
    return Trial(
        number=number,
        parameters=dict(parameters),
        status=status,
        reason=str(why),
        metrics={},
    )


#: Takes a number and parameters, and returns the trial that will come of them.
Submit: TypeAlias = Callable[[int, Mapping[str, Value]], "Future[Trial]"]

#: Of a worker process: what its trials are about.
_objective: Objective | None = None


@contextmanager
def trial_workers(objective: Objective, workers: int, threads: int) -> Iterator[Submit]:
    """Give a function that carries out trials, here or in so many processes.

    threads : that trials carried out here use; others use one
    Raises : EquipoiseError   a process ended before its time
    """
    if workers == 1:
        yield lambda number, parameters: _done(objective.trial(number, parameters, threads))
        return
    pool = ProcessPoolExecutor(
        workers, multiprocessing.get_context("spawn"), initializer=_start, initargs=(objective,)
    )
    try:
        yield lambda number, parameters: pool.submit(_trial, number, dict(parameters))
    except BrokenProcessPool as error:
        raise EquipoiseError(
            "a worker process ended before its trial did; there may be too little memory for "
            f"{workers} of them"
        ) from error
    finally:
        pool.shutdown(cancel_futures=True)


def _done(trial: Trial) -> Future[Trial]:
    future: Future[Trial] = Future()
    future.set_result(trial)
    return future


def _start(objective: Objective) -> None:
    """Keep what the trials are about; in a worker process."""
    global _objective  # noqa: PLW0603  # how a process of a pool keeps what it was started with
    # What a trial tries is not what anybody has chosen; the chosen system warns where it is made.
    warnings.simplefilter("ignore", ApproximationWarning)
    # Making the history anew freezes its columns, as they are where it came from: kernels that are
    # compiled for frozen columns would be compiled again for others.
    history = replace(objective.scored.history)
    _objective = replace(objective, scored=replace(objective.scored, history=history))
    # Ctrl-C goes to all processes of a terminal; the first of them decides what becomes of these.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End this process when the one that started it is gone, which nothing else would tell it."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _trial(number: int, parameters: Mapping[str, Value]) -> Trial:
    if _objective is None:
        raise RuntimeError("a worker process was not started")
    return _objective.trial(number, parameters)


@runtime_checkable
class Record(Protocol):
    """What keeps trials from one run to the next.

    trials : of earlier runs of the same search, in their order
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
    record: Record | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Tuning:
    """Return how well a system predicts a history with many different parameters.

    system : the parameters from which the search sets out
    history : to search on; keep later matches to see whether what was found holds for them
    choices : by parameter the values of a grid, or with `trials` a `Range`; None for the usual
        ones of this system
    metric : what is to be made best
    trials : to sample by Optuna; None tries the whole grid
    seed : of the samples
    min_history, ties_as_authors : as in `backtest`
    workers : processes; more than one changes what a sampler proposes, but nothing else. A script
        must then be importable (`if __name__ == "__main__"`)
    threads : to use where there is one worker; never changes a number
    record : keeps trials, and has those of an earlier run, which are not carried out again
    progress : called with (trials done, trials in all)
    Raises : InvalidParameterError, InvalidDataError where the system cannot rate this history or
        nothing is left to score, EquipoiseError where no trial succeeds or Optuna is absent
    """
    require(metric in METRICS, "metric", f"one of {', '.join(METRICS)}", metric)
    require(workers >= 1, "workers", "at least 1", workers)
    require(seed >= 0, "seed", "at least 0", seed)
    chosen = checked_choices(system, choices, trials)
    check_fit(system, history)
    objective = Objective.of(
        system, history, metric=metric, min_history=min_history, ties_as_authors=ties_as_authors
    )
    recorded = () if record is None else record.trials
    proposals = _proposals(chosen, trials, recorded, metric, seed, workers)
    given = _given(system, objective, chosen, threads)
    with trial_workers(objective, min(workers, proposals.count), threads) as submit:
        found = _carry_out(proposals, submit, record, progress)
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
        matches=int(objective.scored.scored.sum()),
        participations=objective.scored.participations(),
    )


def checked_choices(
    system: RatingSystem, choices: Mapping[str, Choice] | None, trials: int | None
) -> dict[str, Choice]:
    """Return what to try, with values as the types of their parameters.

    Raises : InvalidParameterError   an unknown parameter, values where ranges are needed, or
        ranges where values are
    """
    if choices is None:
        return {**(default_grid(system) if trials is None else default_ranges(system))}
    require(len(choices) > 0, "choices", "of at least one parameter", dict(choices))
    if trials is not None:
        check_ranges(choices, trials)
    return {name: _checked(system.name, name, choice) for name, choice in choices.items()}


def _checked(system: str, name: str, choice: Choice) -> Choice:
    kind = kind_of(system, name)
    if not isinstance(choice, Range):
        given: object = choice
        listed = isinstance(given, Collection) and not isinstance(given, str | Mapping)
        require(listed, f"choices[{name!r}]", "a list of values, or a Range", choice)
        return tuple(setting_of(system, name, value) for value in choice)
    if kind == "flag":
        raise InvalidParameterError(f"{system}.{name} is true or false and has no range")
    if kind == "word":
        raise InvalidParameterError(f"{system}.{name} takes words and has no range")
    return Range(low=choice.low, high=choice.high, log=choice.log, whole=kind == "whole")


def _proposals(
    choices: Mapping[str, Choice],
    trials: int | None,
    recorded: Sequence[Trial],
    metric: str,
    seed: int,
    workers: int,
) -> Proposals:
    ranges = {name: one for name, one in choices.items() if isinstance(one, Range)}
    if trials is None:
        if ranges:
            raise InvalidParameterError(
                f"a grid is made of values, and {next(iter(ranges))} has a range: say how many "
                "trials to sample"
            )
        values = {name: one for name, one in choices.items() if not isinstance(one, Range)}
        return Grid(values, recorded, workers)
    return Sampler(
        ranges,
        trials,
        recorded,
        metric=metric,
        higher=metric in HIGHER_IS_BETTER,
        seed=seed,
        workers=workers,
    )


def _given(
    system: RatingSystem, objective: Objective, choices: Mapping[str, Choice], threads: int
) -> Trial:
    """Return the trial of the parameters as given, which must succeed.

    It also compiles what has to be compiled before several processes would do so.
    """
    trial = objective.trial(GIVEN_TRIAL, {}, threads)
    if trial.status != "done":
        raise InvalidDataError([], f"with the parameters as given: {trial.reason}")
    starting = starting_values(system, choices)
    return Trial(number=GIVEN_TRIAL, parameters=starting, metrics=trial.metrics)


def _carry_out(
    proposals: Proposals,
    submit: Submit,
    record: Record | None,
    progress: Callable[[int, int], None] | None,
) -> list[Trial]:
    """Return all trials. Results count in the order of proposals, whichever comes first."""
    found: list[Trial] = []
    waiting: deque[Trial | Future[Trial]] = deque()

    def settle() -> None:
        first = waiting.popleft()
        if isinstance(first, Trial):
            # A grid that has grown since numbers its points anew.
            trial = replace(first, number=len(found))
        else:
            trial = first.result()
            if record is not None:
                record.keep(trial)
        proposals.settle(trial)
        found.append(trial)
        if progress is not None:
            progress(len(found), proposals.count)

    for number in range(proposals.count):
        if len(waiting) == proposals.ahead:
            settle()
        parameters, known = proposals.propose(number)
        waiting.append(submit(number, parameters) if known is None else known)
    while waiting:
        settle()
    return found
