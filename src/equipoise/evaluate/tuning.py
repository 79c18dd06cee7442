"""Search for parameters: ranges, what is tried next, and trials scored by how they predict.

`Grid` proposes every combination of values, `Sampler` draws from ranges where earlier trials did
well. Both depend only on their arguments and the trials before, so a search that was stopped
continues as if it had not been stopped. Trials of an earlier run are `recorded`.

The default ranges are those of the class of a system, `tried`. Source: [EM]_ section 6.3 says only
that a grid was searched. The grids of `codeforces`, `trueskill-spb`, `elo-mmr` and `elo-mmx` are
those of the authors' published search program (multi-skill 0.1, hparam_search), which spaces every
parameter by equal factors and rounds. Departures: for `elo-mmr` and `elo-mmx` that program also
tries every `rho` of 0, 0.04, 0.2, 1, 5 and infinity, and `split_ties`; here these keep their given
values unless they are named. For `topcoder` it scales both weights together; here they are two
parameters. The ranges of the other systems are ours: what their sources recommend, and a factor of
about four in both directions.

Source: [EM]_ section 6.3: a grid of parameters, with the first tenth of the data to choose one and
the rest to compare systems. This module does the first half: it gets the matches for the search,
and the caller keeps the others. Departures (READINGS B9): as everywhere, every match is predicted
before it is learned from, and players with few earlier matches are not scored. Ranges may be
sampled instead of a grid.

Trials are independent and run on any executor. A worker gets the history once, and only parameters
for each trial.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast, runtime_checkable

import numpy as np

from equipoise.arguments import checks_arguments
from equipoise.data.backtest import HIGHER_IS_BETTER, METRICS, Choice, Range, Trial, Tuning, Value
from equipoise.data.history import History
from equipoise.errors import (
    ConvergenceError,
    EquipoiseError,
    InvalidDataError,
    InvalidParameterError,
    require,
)
from equipoise.evaluate.backtest import ALL_PAIRS, Scoring, SystemPredictor
from equipoise.evaluate.scoring.tally import Scored
from equipoise.numeric.workers import Workers
from equipoise.parallel.tasks import run_tasks
from equipoise.rating.base_system import System
from equipoise.rating.elo_mmr.elo_mmr import EloMMRParameters
from equipoise.rating.registry import kind_of, parameters_of, setting_of
from equipoise.rating.replay import check_fit
from equipoise.rating.system import RatingSystem, Span
from equipoise.wording import counted, how_to_install

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution


#: Parameters, and their trial of an earlier run, if there is one.
Proposal: TypeAlias = tuple[Mapping[str, Value], Trial | None]

#: Largest number of trials; more are probably a typing error.
MOST_TRIALS = 1_000_000
#: Number of trials that a sampler draws evenly before it learns from them.
STARTING_TRIALS = 10

#: Number of the trial of the given parameters.
GIVEN_TRIAL = -1
#: Sampled trials that are under way at the same time.
UNDER_WAY = 8
#: Participations that a worker rates and scores together, about: they are what it has in memory of
#: its own beside ratings. A trial in this process takes longer pieces, which take less time.
_PIECE_OF_WORKERS = 50_000


class Grid:
    """Every combination of some values; the parameter named last changes fastest.

    Its methods and those of `Sampler` are called in the order of the numbers of trials.

    count : number of trials
    ahead : number of trials that are proposed before the result of the first is known; None if no
        proposal depends on results. Otherwise trials of an earlier run come before all others
    """

    def __init__(self, choices: Mapping[str, Sequence[Value]], recorded: Sequence[Trial]) -> None:
        """Check the grid. Raises : InvalidParameterError."""
        for name, values in choices.items():
            require(len(values) > 0, name, "given at least one value", list(values))
            require(len(set(values)) == len(values), name, "given every value once", list(values))
        self.count = math.prod(len(values) for values in choices.values())
        require(self.count <= MOST_TRIALS, "the grid", f"of at most {MOST_TRIALS:,}", self.count)
        self.ahead: int | None = None
        self._names = tuple(choices)
        self._points = itertools.product(*choices.values())
        self._recorded = {self._key(trial.parameters): trial for trial in recorded}

    def propose(self, number: int) -> Proposal:
        """Return the next point."""
        parameters = dict(zip(self._names, next(self._points), strict=True))
        return parameters, self._recorded.get(self._key(parameters))

    def settle(self, trial: Trial) -> None:
        """Learn nothing."""

    def _key(self, parameters: Mapping[str, Value]) -> tuple[Value, ...]:
        return tuple(parameters[name] for name in self._names)


class Sampler:
    """Draws from ranges where earlier trials did well (tree-structured Parzen estimator).

    Source: Bergstra, Bardenet, Bengio and Kegl, Algorithms for Hyper-Parameter Optimization (NIPS
    2011), as implemented by Optuna. The generator of every trial is seeded by the number of the
    trial. Trial n knows the results up to n - under_way and no others, in whatever order they come.
    So one seed, one number of trials under way and one version of Optuna give the same trials,
    whatever carries them out.
    """

    def __init__(
        self,
        ranges: Mapping[str, Range],
        trials: int,
        recorded: Sequence[Trial],
        *,
        metric: str,
        seed: int,
        under_way: int,
    ) -> None:
        """Prepare a study in memory. Raises : EquipoiseError without Optuna."""
        self._optuna = optuna = load_optuna()
        self.count = trials
        self.ahead: int | None = under_way
        self._metric, self._seed, self._recorded = metric, seed, recorded
        self._distributions = {name: distribution_of(choice) for name, choice in ranges.items()}
        direction = "maximize" if metric in HIGHER_IS_BETTER else "minimize"
        self._study = optuna.create_study(direction=direction)

    def propose(self, number: int) -> Proposal:
        """Return a new draw, or the draw of an earlier run."""
        if number < len(self._recorded):
            trial = self._recorded[number]
            self._study.add_trial(
                self._optuna.trial.create_trial(
                    state=self._optuna.trial.TrialState.RUNNING,
                    params=dict(trial.parameters),
                    distributions=self._distributions,
                )
            )
            return trial.parameters, trial
        self._study.sampler = self._optuna.samplers.TPESampler(
            n_startup_trials=STARTING_TRIALS,
            multivariate=True,
            constant_liar=True,
            seed=int(np.random.SeedSequence([self._seed, number]).generate_state(1)[0]),
        )
        return dict(self._study.ask(self._distributions).params), None

    def settle(self, trial: Trial) -> None:
        """Report a result; refused parameters count as the worst, failures not at all."""
        if trial.status == "done":
            self._study.tell(trial.number, trial.value(self._metric))
        else:
            self._study.tell(trial.number, state=state_of(trial))


def load_optuna() -> Any:
    """Return Optuna, with less logging. Raises : EquipoiseError without Optuna."""
    try:
        import optuna
    except ImportError as error:
        raise EquipoiseError(
            "sampling parameters and keeping a study need Optuna, which is not installed: "
            f"{how_to_install('tune')}. A grid does not need it"
        ) from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


def distribution_of(choice: Range | Sequence[Value]) -> BaseDistribution:
    """Return a range or the values of a grid as a distribution of Optuna.

    A grid of numbers becomes the range that it spans, so that it may be refined later.
    """
    kinds = load_optuna().distributions
    distribution: BaseDistribution
    if isinstance(choice, Range):
        kind = kinds.IntDistribution if choice.whole else kinds.FloatDistribution
        bound = int if choice.whole else float
        distribution = kind(bound(choice.low), bound(choice.high), log=choice.log)
        return distribution
    numbers = [
        value for value in choice if isinstance(value, int | float) and not isinstance(value, bool)
    ]
    if len(numbers) < len(choice) or not all(map(math.isfinite, numbers)):
        distribution = kinds.CategoricalDistribution(tuple(choice))
    else:
        kind = kinds.IntDistribution if isinstance(numbers[0], int) else kinds.FloatDistribution
        distribution = kind(min(numbers), max(numbers))
    return distribution


def state_of(trial: Trial) -> Any:
    """Return the status of a trial as a state of Optuna."""
    states = load_optuna().trial.TrialState
    return {"done": states.COMPLETE, "refused": states.PRUNED, "failed": states.FAIL}[trial.status]


#: Constants of a learned entry and of a held level (docs/guides/learned-entry.md), for all systems.
#: The middle values are near those of benchmarks/results/entry.md.
ENTRY_SPACE: dict[str, Span] = {
    "entry_half_life": Span(300, 9000, 4, 100),
    "entry_weight": Span(3, 30, 3, 0.5),
    "entry_clip": Span(0.5, 2, 3, 0.1),
}
LEVEL_SPACE: dict[str, Span] = {
    "hold_level": Span(0.02, 0.1, 3, 0.01),
    "level_step": Span(0.015, 0.06, 3, 0.005),
}


def starting_values(system: RatingSystem, names: Iterable[str]) -> dict[str, Value]:
    """Return the present values; limits are computed if other parameters define them."""
    values = parameters_of(system)
    if isinstance(system, EloMMRParameters):
        values["weight_limit"], values["sigma_limit"] = system.limits()
    return {name: values[name] for name in names}


def default_grid(system: RatingSystem, *, entry: bool = False) -> dict[str, tuple[Value, ...]]:
    """Return the values to try for a system.

    entry : those of the entry and of the level, instead of the system's own
    Raises : InvalidParameterError if none are known
    """
    space = _entry_space(system) if entry else _space(system)
    return {name: span.grid() for name, span in space.items()}


def default_ranges(system: RatingSystem, *, entry: bool = False) -> dict[str, Range]:
    """Return the ranges to sample for a system, as `default_grid` has values.

    Raises : InvalidParameterError
    """
    ranges = {}
    for name, span in (_entry_space(system) if entry else _space(system)).items():
        whole = kind_of(type(system), name) == "whole"
        ranges[name] = Range(low=span.low, high=span.high, log=span.log, whole=whole)
    return ranges


def _entry_space(system: RatingSystem) -> dict[str, Span]:
    """Return the constants that have an effect. Raises : InvalidParameterError if there is none."""
    spaces = (("learns_entry", ENTRY_SPACE), ("holds_level", LEVEL_SPACE))
    space = {k: v for on, space in spaces if getattr(system, on, False) for k, v in space.items()}
    if not space:
        raise InvalidParameterError(
            f"{system.name} with these parameters has a fixed entry and holds no level, so their "
            "constants have no effect: use entry=learned or hold_level=0.05"
        )
    return space


def _space(system: RatingSystem) -> Mapping[str, Span]:
    space = system.search_space() if isinstance(system, System) else {}
    if not space:
        raise InvalidParameterError(
            f"{system.name} has no default choices: name parameters and their values or ranges"
        )
    return space


Proposals: TypeAlias = Grid | Sampler


@dataclass(frozen=True, slots=True, eq=False)
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
        trial = Trial(number=number, parameters=dict(parameters), metrics={})
        try:
            # A class of one's own has no name in the registry.
            system = replace(cast(Any, self.system), **parameters)
            self._check(system)
            metrics = self._metrics(system, threads)
        except InvalidParameterError as error:
            return replace(trial, status="refused", reason=str(error))
        except (ConvergenceError, InvalidDataError) as error:
            return replace(trial, status="failed", reason=str(error))
        if math.isnan(metrics[self.metric]):
            reason = f"no scored match has a value of {self.metric}"
            return replace(trial, status="failed", reason=reason)
        return replace(trial, metrics=metrics)

    def _metrics(self, system: RatingSystem, threads: int) -> dict[str, float]:
        scoring = replace(self.scoring, threads=threads)
        with Workers(threads) as workers:
            predictor = SystemPredictor(system, scoring.scored.history, workers)
            (tally,) = scoring.of_one(predictor, scoring.ties_as_authors)
            return tally.metrics()

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
    objective = Objective(system, scoring, metric)
    recorded = () if record is None else record.trials
    proposals = _proposals(chosen, trials, recorded, metric, seed, under_way)
    # The given parameters must succeed. They also compile the kernels before processes would do so.
    given = objective.trial(GIVEN_TRIAL, {}, threads)
    if given.status != "done":
        raise InvalidDataError([], f"with the given parameters: {given.reason}")
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
    results = _carry_out(proposals, carry_out, record, progress)
    if not any(trial.status == "done" for trial in results):
        raise EquipoiseError(
            f"none of {counted(len(results), 'trial')} succeeded; the first: {results[0].reason}"
        )
    return Tuning(
        system=system.name,
        metric=metric,
        choices=chosen,
        given=replace(given, parameters=starting_values(system, chosen)),
        trials=tuple(results),
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
        require(1 <= trials <= MOST_TRIALS, "trials", f"from 1 to {MOST_TRIALS:,}", trials)
        for name, choice in choices.items():
            if not isinstance(choice, Range):
                raise InvalidParameterError(f"trials are sampled from ranges; {name} has none")
    return {name: _checked(type(system), name, choice) for name, choice in choices.items()}


def _checked(system: type[Any], name: str, choice: Choice) -> Choice:
    kind = kind_of(system, name)
    if not isinstance(choice, Range):
        value: object = choice
        listed = isinstance(value, Collection) and not isinstance(value, str | Mapping)
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
    if trials is not None:
        ranges = cast(Mapping[str, Range], choices)
        return Sampler(ranges, trials, recorded, metric=metric, seed=seed, under_way=under_way)
    for name, choice in choices.items():
        if isinstance(choice, Range):
            raise InvalidParameterError(
                f"a grid needs values, and {name} has a range: give a number of trials to sample "
                "ranges"
            )
    return Grid(cast(Mapping[str, Sequence[Value]], choices), recorded)


def _carry_out(
    proposals: Proposals,
    carry_out: Callable[[Iterable[Question]], Iterator[Trial]],
    record: Record | None,
    progress: Callable[[int, int], None] | None,
) -> list[Trial]:
    """Return all trials. Results count in the order of proposals, not of completion."""
    trials: list[Trial | None] = []
    done = 0

    def keep(trial: Trial) -> None:
        nonlocal done
        trials[trial.number] = trial
        done += 1
        if progress is not None:
            progress(done, proposals.count)

    def asked() -> Iterator[Question]:
        """Propose the trials; a trial is taken when the result of one so long before is known."""
        for number in range(proposals.count):
            if proposals.ahead is not None and number >= proposals.ahead:
                earlier = trials[number - proposals.ahead]
                if earlier is None:
                    raise RuntimeError(f"trial {number} was proposed too early")
                proposals.settle(earlier)
            parameters, known = proposals.propose(number)
            trials.append(None)
            if known is None:
                yield number, parameters
            else:
                # A grid that has grown since then numbers its points differently.
                keep(replace(known, number=number))

    for trial in carry_out(asked()):
        if record is not None:
            record.keep(trial)
        keep(trial)
    return [trial for trial in trials if trial is not None]
