"""Searches for parameters: against a plain loop of backtests, and against themselves stopped."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pytest

from equipoise import Elo, EloMMR, Glicko2
from equipoise.data.backtest import Range, Trial, Tuning, Value
from equipoise.errors import (
    ConvergenceError,
    EquipoiseError,
    InvalidDataError,
    InvalidParameterError,
)
from equipoise.evaluate import tuning
from equipoise.evaluate.backtest import ALL_PAIRS, Scoring, backtest
from equipoise.evaluate.scoring.tally import Scored
from equipoise.evaluate.tuning import Sampler, _carry_out, default_grid, default_ranges, tune
from equipoise.parallel.tasks import run_tasks
from equipoise.rating.one_match import OneMatch, history_of
from equipoise.rating.registry import SYSTEMS, make_system, setting_of
from equipoise.rating.system import RatingSystem
from evaluate.histories import contests

#: A study of many replays: `make test` has the tests of its parts.
pytestmark = pytest.mark.slow

GRID: dict[str, tuple[Value, ...]] = {"k": (4.0, 16.0, 64.0), "scale": (200.0, 400.0)}


def exactly(trials: Iterable[Trial]) -> list[str]:
    """Return trials as texts: the NaN of another process differs from itself, its text does not."""
    return [repr(asdict(one)) for one in trials]


def tuned(**metrics: float) -> Trial:
    """Return a trial of nothing in particular."""
    return Trial(number=0, parameters={"k": 1.0}, metrics=metrics)


@dataclass
class Memory:
    """A record in memory."""

    trials: list[Trial] = field(default_factory=list)
    kept: list[Trial] = field(default_factory=list)

    def keep(self, trial: Trial) -> None:
        self.kept.append(trial)


@pytest.mark.parametrize("as_authors", [False, True])
def test_a_grid_is_a_loop_of_backtests(as_authors: bool) -> None:
    """To the last bit: the metrics of every point are those of a backtest of that point alone."""
    history = contests()
    found = tune(Elo(), history, GRID, min_history=2, ties_as_authors=as_authors)
    points = list(itertools.product(*GRID.values()))
    assert [tuple(trial.parameters.values()) for trial in found.trials] == points
    assert [trial.number for trial in found.trials] == list(range(6))
    for trial, (k, scale) in zip(found.trials, points, strict=True):
        alone = backtest(
            {"elo": Elo(k=k, scale=scale)},  # type: ignore[arg-type]
            history,
            rng=np.random.default_rng(0),
            min_history=2,
            ties_as_authors=as_authors,
            resamples=0,
        )
        assert trial.metrics == alone.of("elo").metrics
        assert (found.matches, found.participations) == (alone.matches, alone.participations)
    assert found.given.parameters == {"k": 32.0, "scale": 400.0}


@pytest.mark.parametrize(
    ("metric", "pick"), [("pair_inversion", max), ("rank_deviation", min), ("log_loss", min)]
)
def test_the_best_is_the_best_in_the_direction_of_the_metric(
    metric: str, pick: Callable[[list[float]], float]
) -> None:
    """Pair inversion is better high, distances and losses low [EM] sec. 6.2."""
    found = tune(Elo(), contests(), GRID, metric=metric, min_history=2)
    values = [trial.value(metric) for trial in found.trials]
    assert found.best.value(metric) == pick(values)
    assert found.ranked()[0] is found.best
    assert found.ranked()[-1].value(metric) == {max: min, min: max}[pick](values)  # type: ignore[index]


def test_of_equal_trials_the_first_is_best_and_of_equal_parameters_those_given() -> None:
    """A search that finds nothing better changes nothing."""
    one, other = tuned(ndcg=0.9), replace(tuned(ndcg=0.9), number=1)
    found = Tuning(
        system="elo",
        metric="ndcg",
        choices={"k": (1.0, 2.0)},
        given=replace(tuned(ndcg=0.9), number=-1),
        trials=(replace(tuned(ndcg=0.5), number=2), other, one),
        matches=1,
        participations=2,
    )
    assert found.best is one
    assert found.chosen is found.given
    assert replace(found, given=replace(found.given, metrics={"ndcg": 0.8})).chosen is one


def test_what_a_system_refuses_is_a_refused_trial_that_says_why() -> None:
    found = tune(Elo(), contests(), {"k": (-1.0, 20.0)}, min_history=2)
    assert [trial.status for trial in found.trials] == ["refused", "done"]
    assert found.trials[0].reason == "k must be positive; got -1.0"
    assert math.isnan(found.trials[0].value("ndcg"))
    assert found.best.number == 1


def test_parameters_that_need_times_are_refused_where_there_are_none() -> None:
    history = replace(contests(), time=None)
    found = tune(EloMMR(), history, {"drift_per_day": (0.0, 1.0)}, min_history=2)
    assert [trial.status for trial in found.trials] == ["done", "refused"]
    assert "without times" in found.trials[1].reason


def test_a_solver_that_does_not_converge_is_a_failed_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    real = tuning.SystemPredictor

    def failing(system: Elo, *others: object) -> object:
        if system.k == 7:
            raise ConvergenceError("the equation", 100, 0.5)
        return real(system, *others)  # type: ignore[arg-type]

    monkeypatch.setattr(tuning, "SystemPredictor", failing)
    found = tune(Elo(), contests(), {"k": (7.0, 20.0)}, min_history=2)
    assert [trial.status for trial in found.trials] == ["failed", "done"]
    assert "did not converge in 100 iterations" in found.trials[0].reason
    with pytest.raises(EquipoiseError, match=r"none of 1 trial succeeded.*the equation"):
        tune(Elo(), contests(), {"k": (7.0,)}, min_history=2)


def test_what_cannot_be_searched_on_is_refused_before_any_trial() -> None:
    with pytest.raises(InvalidDataError, match="nothing to score"):
        tune(Elo(), contests(3), GRID, min_history=50)
    with pytest.raises(InvalidDataError, match="glicko2 cannot rate"):
        tune(Glicko2(), contests(), {"tau": (0.5,)}, min_history=2)
    duel = history_of([OneMatch((1, 1), (0, 0))])
    with pytest.raises(InvalidDataError, match="has a value of pair_inversion"):
        tune(Elo(), duel, GRID, min_history=0)
    assert tune(Elo(), duel, GRID, metric="brier", min_history=0).matches == 1


@pytest.mark.parametrize(
    ("choices", "trials", "why"),
    [
        ({"q": (1,)}, None, "no parameter 'q'"),
        ({"k": ()}, None, "at least one value"),
        ({"k": (1, 2, 1)}, None, "every value once"),
        ({"k": ("fast",)}, None, "must be a number"),
        ({"k": Range(low=1, high=2)}, None, "give a number of trials"),
        ({"k": (1, 2)}, 5, "k has none"),
        ({"k": Range(low=1, high=2)}, 0, "trials"),
        ({}, None, "at least one parameter"),
        (
            dict.fromkeys(("k", "scale", "initial_rating"), tuple(range(1, 102))),
            None,
            "at most 1,000,000",
        ),
    ],
)
def test_choices_that_make_no_sense_are_refused(
    choices: Mapping[str, object], trials: int | None, why: str
) -> None:
    with pytest.raises(InvalidParameterError, match=why):
        tune(Elo(), contests(), choices, trials=trials, min_history=2)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("bounds", "why"),
    [
        ({"low": 0.5, "high": 2, "whole": True}, "whole number"),
        ({"low": 0, "high": math.inf}, "finite"),
    ],
)
def test_a_range_has_finite_bounds_of_its_kind(bounds: dict[str, float], why: str) -> None:
    with pytest.raises(InvalidParameterError, match=why):
        Range(**bounds)  # type: ignore[arg-type]


def test_processes_find_what_one_does() -> None:
    """On a grid: the trials are the same, in the same order, refused ones included."""
    choices: dict[str, tuple[Value, ...]] = {"k": (-1.0, 8.0, 32.0, 99.0)}
    seen: list[tuple[int, int]] = []
    record = Memory()
    alone = tune(Elo(), contests(), choices, min_history=2)
    shared = tune(
        Elo(),
        contests(),
        choices,
        min_history=2,
        workers=2,
        record=record,
        progress=lambda done, total: seen.append((done, total)),
    )
    assert exactly(shared.trials) == exactly(alone.trials)
    assert exactly(record.kept) == exactly(alone.trials)
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_trials_of_an_earlier_run_are_not_carried_out_again() -> None:
    """A grid that has grown takes those that it has, by their parameters."""
    record = Memory()
    tune(Elo(), contests(), {"k": (8.0, 32.0)}, min_history=2, record=record)
    again = Memory(trials=record.kept)
    grown = tune(Elo(), contests(), {"k": (4.0, 8.0, 16.0, 32.0)}, min_history=2, record=again)
    assert [trial.parameters["k"] for trial in again.kept] == [4.0, 16.0]
    assert grown == tune(Elo(), contests(), {"k": (4.0, 8.0, 16.0, 32.0)}, min_history=2)


def made_up(number: int, parameters: Mapping[str, Value]) -> Trial:
    """Return a trial whose metric is best at (0.3, 7); some are refused, some fail."""
    one, other = parameters["one"], parameters["other"]
    assert isinstance(one, float)
    assert isinstance(other, int)
    if number % 7 == 3:
        return Trial(number=number, parameters=parameters, status="refused", metrics={})
    if number % 7 == 5:
        return Trial(number=number, parameters=parameters, status="failed", metrics={})
    value = abs(math.log(one / 0.3)) + 0.1 * abs(other - 7)
    return Trial(number=number, parameters=parameters, metrics={"brier": value})


def sampled(
    recorded: Sequence[Trial], *, trials: int = 24, under_way: int = 1, seed: int = 5
) -> list[Trial]:
    """Return the trials of a search for the best of `made_up`, some of which an earlier run made.

    With several under way they finish as late as they may.
    """
    ranges = {
        "one": Range(low=0.01, high=10.0, log=True),
        "other": Range(low=1, high=40, whole=True),
    }
    sampler = Sampler(ranges, trials, recorded, metric="brier", seed=seed, under_way=under_way)

    def carry_out(asked: Iterable[tuple[int, Mapping[str, Value]]]) -> Iterator[Trial]:
        return run_tasks(lambda _, one: made_up(*one), None, asked, under_way=under_way)

    return _carry_out(sampler, carry_out, None, None)


@pytest.mark.parametrize("under_way", [1, 3])
def test_a_sampled_search_that_was_stopped_goes_on_as_if_it_had_not_been(under_way: int) -> None:
    """Stopped before, among and after the first even draws, it makes the same trials."""
    pytest.importorskip("optuna")
    straight = sampled([], under_way=under_way)
    assert straight[0] == made_up(0, straight[0].parameters)
    for stopped in (1, 9, 15, 23):
        assert sampled(straight[:stopped], under_way=under_way) == straight
    # More trials go on where fewer ended, and fewer are the first of them.
    assert sampled(straight[:15], trials=15, under_way=under_way) == straight[:15]


def test_samples_do_not_depend_on_what_carries_them_out() -> None:
    """Here, in processes, or by threads of an executor: the same trials in the same order."""
    pytest.importorskip("optuna")
    search = partial(tune, EloMMR(), contests(), trials=14, min_history=2, under_way=3)
    alone = search()
    assert exactly(search(workers=2).trials) == exactly(alone.trials)
    with ThreadPoolExecutor(4) as threads:
        assert search(executor=threads).trials == alone.trials
    assert search(under_way=4).trials[:10] == alone.trials[:10]


def test_best_values_at_the_end_of_what_was_tried_are_told() -> None:
    def edges(choice: tuple[Value, ...] | Range, best: Value) -> dict[str, Value]:
        trial = Trial(number=0, parameters={"k": best}, metrics={"ndcg": 1.0})
        return Tuning(
            system="elo",
            metric="ndcg",
            choices={"k": choice},
            given=trial,
            trials=(trial,),
            matches=1,
            participations=1,
        ).at_edges()

    assert edges((1.0, 2.0, 3.0), 3.0) == {"k": 3.0}
    assert edges((3.0, 1.0, 2.0), 1.0) == {"k": 1.0}
    assert edges((1.0, 2.0, 3.0), 2.0) == {}
    # Two values have no middle; nothing lies beyond nothing, or beyond infinity.
    assert edges((1.0, 2.0), 2.0) == {}
    assert edges((0.0, 1.0, math.inf), math.inf) == {}
    assert edges((0.0, 1.0, 2.0), 0.0) == {}
    assert edges((None, 5, 10, 20), None) == {}
    assert edges((True, False), True) == {}
    assert edges(Range(low=1.0, high=100.0, log=True), 1.05) == {"k": 1.05}
    assert edges(Range(low=1.0, high=100.0, log=True), 2.0) == {}
    assert edges(Range(low=1, high=9, whole=True), 9) == {"k": 9}
    assert edges(Range(low=1, high=9, whole=True), 8) == {}


def test_the_grids_of_the_authors() -> None:
    """By hand: 20 x 8^(i/9) to the nearest 5, and 0.01 x 200^(i/14) to the nearest hundredth."""
    grid = default_grid(EloMMR())
    assert grid["sigma_limit"] == (20, 25, 30, 40, 50, 65, 80, 100, 125, 160)
    assert grid["weight_limit"] == (
        *(0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.14, 0.21, 0.3, 0.44, 0.64, 0.94, 1.37, 2.0),
    )
    assert len(make_system("trueskill-spb").search_space()["beta"].grid()) == 15


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_system_has_a_space_that_it_accepts(name: str) -> None:
    """Both ends of every parameter, each with the defaults of the others."""
    system = make_system(name)
    grid, ranges = default_grid(system), default_ranges(system)
    assert list(grid) == list(ranges) == list(system.search_space())
    for parameter, span in ranges.items():
        for value in (*grid[parameter], span.low, span.high):
            made = make_system(name, {parameter: value})
            assert getattr(made, parameter) == setting_of(name, parameter, value)


def test_elo_mmr_is_searched_in_the_spelling_it_is_given_in() -> None:
    assert list(default_grid(EloMMR(beta=200, gamma=35))) == ["beta", "gamma"]
    found = tune(EloMMR(), contests(), {"weight_limit": (0.1,)}, min_history=2)
    # What None stands for (READINGS B4).
    assert found.given.parameters == {"weight_limit": 0.2}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Halved(Elo):
    """Elo with half of k, under a name that no registry has."""

    name: ClassVar[str] = "halved"

    def settings(self) -> Any:
        """Return the parameters as the kernel takes them."""
        return replace(Elo(), k=self.k / 2).settings()


class SameName(Halved):
    """As `Halved`, under the name of a built-in system."""

    name: ClassVar[str] = "elo"


@pytest.mark.parametrize(
    ("workers", "kind"),
    # Processes take either class the same way: the other one is for the night.
    [(1, Halved), (1, SameName), (2, SameName), pytest.param(2, Halved, marks=pytest.mark.nightly)],
)
def test_a_class_of_ones_own_is_tuned(kind: type[Halved], workers: int) -> None:
    found = tune(kind(), contests(), {"k": [16, 32.0]}, metric="brier", workers=workers)
    expected = tune(Elo(), contests(), {"k": [8, 16]}, metric="brier")
    assert found.system == kind.name
    assert [one.parameters for one in found.trials] == [{"k": 16.0}, {"k": 32.0}]
    scores = [[str(dict(one.metrics)) for one in each.trials] for each in (found, expected)]
    assert scores[0] == scores[1]
    with pytest.raises(InvalidParameterError, match=f"{kind.name} has no parameter 'kk'"):
        tune(kind(), contests(), {"kk": [1]})
    assert tune(kind(), contests(), {"margin_rule": ["off"]}).trials[0].status == "done"


@pytest.mark.parametrize("system", [Elo(), Glicko2(), EloMMR()])
def test_a_trial_is_the_same_in_pieces_of_any_length(system: RatingSystem) -> None:
    """Workers have only a piece of the history in memory of their own."""
    scoring = Scoring(Scored.of(contests(), min_history=2, first=0), False, ALL_PAIRS, 1)
    objective = tuning.Objective(system=system, scoring=scoring, metric="log_loss")
    found = []
    for piece in (1, 33, 10**9):
        metrics = replace(objective, scoring=replace(scoring, piece=piece)).trial(0, {}).metrics
        found.append({name: one.hex() for name, one in metrics.items()})
    assert found[0] == found[1] == found[2]
