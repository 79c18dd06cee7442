"""Which parameters are tried next: every point of a grid, or what a sampler makes of the past.

Both are functions of what was asked and of the trials before, so that a search that was stopped
goes on as if it had not been. Trials of such an earlier run are `recorded`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from equipoise.data.tuning import Range, Trial, Value
from equipoise.errors import EquipoiseError, InvalidParameterError, require

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

#: Parameters, and the trial that an earlier run made of them, if one did.
Proposal: TypeAlias = tuple[Mapping[str, Value], Trial | None]

#: More points than this are a slip of the keyboard.
MOST_TRIALS = 1_000_000
#: Trials that a sampler draws evenly before it learns from them.
STARTING_TRIALS = 10


class Proposals(Protocol):
    """What is tried, one trial after the other.

    count : how many trials there will be
    ahead : trials that may be proposed before the result of the first of them is known
    """

    count: int
    ahead: int

    def propose(self, number: int) -> Proposal:
        """Return what to try as the trial of this number; called in the order of numbers."""
        ...

    def settle(self, trial: Trial) -> None:
        """Learn of a result; called in the order of numbers."""
        ...


class Grid:
    """Every combination of some values; the parameter named last changes fastest."""

    def __init__(
        self, choices: Mapping[str, Sequence[Value]], recorded: Sequence[Trial], workers: int
    ) -> None:
        """Check the grid. Raises : InvalidParameterError."""
        for name, values in choices.items():
            require(len(values) > 0, name, "given at least one value", list(values))
            require(len(set(values)) == len(values), name, "given every value once", list(values))
        self.count = math.prod(len(values) for values in choices.values())
        require(self.count <= MOST_TRIALS, "the grid", f"of at most {MOST_TRIALS:,}", self.count)
        # No point waits for another; a few in store keep every process busy.
        self.ahead = 1 if workers == 1 else 4 * workers
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
    2011), as Optuna carries it out. The generator of every trial is seeded by the number of the
    trial, and trial n knows the results up to n - workers and of no other, whichever came first.
    So one seed, one number of workers and one version of Optuna give the same trials.
    """

    def __init__(
        self,
        ranges: Mapping[str, Range],
        trials: int,
        recorded: Sequence[Trial],
        *,
        metric: str,
        higher: bool,
        seed: int,
        workers: int,
    ) -> None:
        """Prepare a study in memory. Raises : EquipoiseError where Optuna is not installed."""
        self._optuna = optuna = load_optuna()
        self.count, self.ahead = trials, workers
        self._metric, self._seed, self._recorded = metric, seed, recorded
        self._distributions = {name: distribution_of(one) for name, one in ranges.items()}
        self._study = optuna.create_study(direction="maximize" if higher else "minimize")

    def propose(self, number: int) -> Proposal:
        """Return a draw, or what an earlier run drew."""
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
        """Tell the sampler; refused parameters count as the worst, failures not at all."""
        if trial.status == "done":
            self._study.tell(trial.number, trial.value(self._metric))
        else:
            self._study.tell(trial.number, state=state_of(trial))


def load_optuna() -> Any:
    """Return Optuna, quiet about what it does. Raises : EquipoiseError where it is absent."""
    try:
        import optuna
    except ImportError as error:
        raise EquipoiseError(
            "sampling parameters and keeping a study are done by Optuna, which is not installed: "
            "pip install 'equipoise[tune]'. A grid needs neither"
        ) from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


def distribution_of(choice: Range | Sequence[Value]) -> BaseDistribution:
    """Return what Optuna calls a range or the values of a grid.

    A grid of numbers becomes the range that it spans, so that it may be refined later.
    """
    kinds = load_optuna().distributions
    if isinstance(choice, Range):
        kind = kinds.IntDistribution if choice.whole else kinds.FloatDistribution
        bound = int if choice.whole else float
        found: BaseDistribution = kind(bound(choice.low), bound(choice.high), log=choice.log)
        return found
    numbers = [one for one in choice if isinstance(one, int | float) and not isinstance(one, bool)]
    if len(numbers) < len(choice) or not all(map(math.isfinite, numbers)):
        named: BaseDistribution = kinds.CategoricalDistribution(tuple(choice))
        return named
    kind = kinds.IntDistribution if isinstance(numbers[0], int) else kinds.FloatDistribution
    spanned: BaseDistribution = kind(min(numbers), max(numbers))
    return spanned


def state_of(trial: Trial) -> Any:
    """Return what Optuna calls the status of a trial."""
    states = load_optuna().trial.TrialState
    return {"done": states.COMPLETE, "refused": states.PRUNED, "failed": states.FAIL}[trial.status]


def check_ranges(ranges: Mapping[str, object], trials: int) -> None:
    """Refuse a sampling of nothing. Raises : InvalidParameterError."""
    require(1 <= trials <= MOST_TRIALS, "trials", f"from 1 to {MOST_TRIALS:,}", trials)
    wrong = [name for name, choice in ranges.items() if not isinstance(choice, Range)]
    if wrong:
        raise InvalidParameterError(f"trials are sampled from ranges; {wrong[0]} has none")
