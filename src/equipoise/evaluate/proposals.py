"""Which parameters a search tries next, and the ranges in which it searches by default.

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
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from equipoise.data.tuning import Range, Trial, Value
from equipoise.errors import EquipoiseError, InvalidParameterError, require
from equipoise.rating.base_system import System
from equipoise.rating.elo_mmr.elo_mmr import EloMMRParameters
from equipoise.rating.parameters import Span
from equipoise.rating.registry import kind_of, parameters_of
from equipoise.rating.system import RatingSystem
from equipoise.wording import how_to_install

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

#: Parameters, and their trial of an earlier run, if there is one.
Proposal: TypeAlias = tuple[Mapping[str, Value], Trial | None]

#: Largest number of trials; more are probably a typing error.
MOST_TRIALS = 1_000_000
#: Number of trials that a sampler draws evenly before it learns from them.
STARTING_TRIALS = 10


class Proposals(Protocol):
    """Proposes the trials of a search, one after the other.

    count : number of trials
    ahead : number of trials that are proposed before the result of the first is known; None if no
        proposal depends on results. Otherwise trials of an earlier run come before all others
    """

    count: int
    ahead: int | None

    def propose(self, number: int) -> Proposal:
        """Return the parameters of the trial with this number; called in the order of numbers."""
        ...

    def settle(self, trial: Trial) -> None:
        """Record a result; called in the order of numbers."""
        ...


class Grid:
    """Every combination of some values; the parameter named last changes fastest."""

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
        higher: bool,
        seed: int,
        under_way: int,
    ) -> None:
        """Prepare a study in memory. Raises : EquipoiseError without Optuna."""
        self._optuna = optuna = load_optuna()
        self.count = trials
        self.ahead: int | None = under_way
        self._metric, self._seed, self._recorded = metric, seed, recorded
        self._distributions = {name: distribution_of(one) for name, one in ranges.items()}
        self._study = optuna.create_study(direction="maximize" if higher else "minimize")

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
    """Return the status of a trial as a state of Optuna."""
    states = load_optuna().trial.TrialState
    return {"done": states.COMPLETE, "refused": states.PRUNED, "failed": states.FAIL}[trial.status]


def check_ranges(ranges: Mapping[str, object], trials: int) -> None:
    """Refuse samples of choices without a range. Raises : InvalidParameterError."""
    require(1 <= trials <= MOST_TRIALS, "trials", f"from 1 to {MOST_TRIALS:,}", trials)
    wrong = [name for name, choice in ranges.items() if not isinstance(choice, Range)]
    if wrong:
        raise InvalidParameterError(f"trials are sampled from ranges; {wrong[0]} has none")


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
    space = _entry_space(system) if entry else _space(system)
    return {
        name: Range(
            low=span.low,
            high=span.high,
            log=span.log,
            whole=kind_of(type(system), name) == "whole",
        )
        for name, span in space.items()
    }


def _entry_space(system: RatingSystem) -> dict[str, Span]:
    """Return the constants that have an effect. Raises : InvalidParameterError if there is none."""
    spaces = (("learns_entry", ENTRY_SPACE), ("holds_level", LEVEL_SPACE))
    found = {k: v for on, space in spaces if getattr(system, on, False) for k, v in space.items()}
    if not found:
        raise InvalidParameterError(
            f"{system.name} with these parameters has a fixed entry and holds no level, so their "
            "constants have no effect: use entry=learned or hold_level=0.05"
        )
    return found


def _space(system: RatingSystem) -> Mapping[str, Span]:
    space = system.search_space() if isinstance(system, System) else {}
    if not space:
        raise InvalidParameterError(
            f"{system.name} has no default choices: name parameters and their values or ranges"
        )
    return space
