"""What all systems here share: what their kernels are given, and everything around the update.

A system is a frozen dataclass of parameters on top of `System`. It says

    settings()           its parameters as kernels take them, a NamedTuple of numbers
    update(job, workers) the update: calls its kernel, which goes through the matches of a `Job`
    capabilities, outlook

and, where they differ from what is usual, what a newcomer's columns are (`newcomer`), how a
deviation is read (`deviations`), which columns a trace has (`traces`) and what else the kernels
read or write (`own`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np

from equipoise.arrays import Floats, Ints
from equipoise.data.history import History
from equipoise.errors import ConvergenceError
from equipoise.numeric.roots import MAX_ITERATIONS
from equipoise.numeric.workers import Workers
from equipoise.rating.draws import sums_of
from equipoise.rating.state import State
from equipoise.rating.system import RatingColumns, TraceColumns

#: Columns of the state of a system that knows no more of a player.
RATING, DEVIATION, MATCHES, LAST_TIME = range(4)

_Settings = TypeVar("_Settings")
_Traces = TypeVar("_Traces")
_Own = TypeVar("_Own")


class Matches(NamedTuple):
    """The columns of M matches with N participations that kernels read.

    offsets : shape (M + 1,), from 0; participations of match m are offsets[m]:offsets[m + 1]
    player : shape (N,), rows of the state
    team, rank : shape (N,), from 0 without gaps
    time : shape (M,), days since 1970; NaN without times
    weight : shape (M,), 1 where there are none
    ceiling : shape (M,), of inferred performances (READINGS B8), inf for none
    """

    offsets: Ints
    player: Ints
    team: Ints
    rank: Ints
    time: Floats
    weight: Floats
    ceiling: Floats


class TraceArrays(NamedTuple):
    """Columns of a trace, of shape (N,), or all of shape (0,) where none is wanted.

    `expected` may be of shape (0,) alone: it costs as much as some of the rating itself. The trace
    of a system with columns of its own begins with these.
    """

    expected: Floats
    rating_before: Floats
    deviation_before: Floats
    rating: Floats
    deviation: Floats


class PerformanceTrace(NamedTuple):
    """The same for systems that infer a performance from the place."""

    expected: Floats
    rating_before: Floats
    deviation_before: Floats
    rating: Floats
    deviation: Floats
    performance: Floats


class Job(NamedTuple, Generic[_Settings, _Traces, _Own]):
    """Everything that rating a slice of a history reads and writes.

    table : of the state
    draws : sums of `rating.draws`, or shape (0,) where draws are not counted
    own : what else the system's kernels read or write; None for most
    """

    table: Floats
    matches: Matches
    settings: _Settings
    trace: _Traces
    draws: Floats
    own: _Own


def matches_of(history: History, start: int = 0, stop: int | None = None) -> Matches:
    """Return matches start:stop as kernels take them."""
    stop = history.matches if stop is None else stop
    low, high = int(history.offsets[start]), int(history.offsets[stop])
    ceiling = np.full(stop - start, np.inf)
    if history.performance_ceiling is not None:
        given = history.performance_ceiling[start:stop]
        ceiling = np.where(np.isnan(given), np.inf, given)
    return Matches(
        offsets=history.offsets[start : stop + 1] - low,
        player=history.player[low:high],
        team=history.team[low:high],
        rank=history.rank[low:high],
        time=history.days(start, stop),
        weight=history.weights(start, stop),
        ceiling=ceiling,
    )


def trace_arrays(kind: type[Any], trace: TraceColumns | None, low: int, high: int) -> Any:
    """Return rows low:high of a trace's columns as the NamedTuple that kernels take.

    kind : a NamedTuple whose fields are columns of the trace
    trace : columns that are wanted; None wants none, and all arrays are then empty. `expected` is
        empty where it is not wanted; any other that is not wanted is filled all the same and lost
    """
    names: Sequence[str] = kind._fields
    if not trace:
        return kind(*(np.empty(0) for _ in names))
    return kind(
        *(
            trace[name][low:high]
            if name in trace
            else np.empty(0 if name == "expected" else high - low)
            for name in names
        )
    )


class System(ABC):
    """What is the same in every system, on top of which each puts parameters and one update."""

    __slots__ = ()

    name: ClassVar[str]
    #: The NamedTuple of the columns of a trace; those after the first five are the system's own.
    traces: ClassVar[type[Any]] = TraceArrays
    #: Fields of each record that is kept of every match of a player; 0 for no records.
    record: ClassVar[int] = 0
    #: What an update that fails was searching for, as in "the volatility of ".
    sought: ClassVar[str] = ""
    #: Iterations after which it failed.
    iterations: ClassVar[int] = MAX_ITERATIONS

    initial_rating: float
    initial_deviation: float

    @property
    def trace_columns(self) -> Sequence[str]:
        """Columns of its own that it adds to a trace."""
        fields: Sequence[str] = self.traces._fields
        return fields[len(TraceArrays._fields) :]

    def newcomer(self) -> Mapping[str, float]:
        """Return the columns of the state, and their values for players who have not played."""
        return {
            "rating": self.initial_rating,
            "deviation": self.initial_deviation,
            "matches": 0.0,
            "last_time": math.nan,
        }

    def initial(self, players: int) -> State:
        """Return the state of players who have not played."""
        return State.of_new_players(players, self.newcomer(), self.record)

    @abstractmethod
    def settings(self) -> Any:
        """Return the parameters as kernels take them."""

    @abstractmethod
    def update(self, job: Job[Any, Any, Any], workers: Workers) -> tuple[int, float]:
        """Rate all matches of a job in order.

        Returns (match, residual) of the first that cannot be rated, or (-1, -1).
        """

    def own(self, state: State, history: History, start: int, stop: int) -> Any:
        """Return what else kernels read or write to rate matches start:stop."""
        return None

    def job(
        self,
        state: State,
        history: History,
        start: int,
        stop: int,
        trace: TraceColumns | None = None,
    ) -> Job[Any, Any, Any]:
        """Return matches start:stop as kernels take them."""
        low, high = int(history.offsets[start]), int(history.offsets[stop])
        return Job(
            table=state.table,
            matches=matches_of(history, start, stop),
            settings=self.settings(),
            trace=trace_arrays(self.traces, trace, low, high),
            draws=sums_of(state),
            own=self.own(state, history, start, stop),
        )

    def run(
        self,
        state: State,
        history: History,
        start: int,
        stop: int,
        trace: TraceColumns | None = None,
        workers: Workers | None = None,
    ) -> None:
        """Rate matches start:stop in order.

        Raises : ConvergenceError; InvalidDataError where a column is missing
        """
        job = self.job(state, history, start, stop, trace)
        failed, residual = self.update(job, workers or Workers())
        if failed >= 0:
            what = f"{self.sought}{self.name}, match {history.match_ids[start + failed]},"
            raise ConvergenceError(what, self.iterations, residual)

    def at(self, state: State, rows: Ints, time: float | None) -> RatingColumns:
        """Return these players' ratings as of a time in days (None: as of their last match)."""
        day = math.nan if time is None else time
        return {
            "rating": state.column("rating")[rows],
            "deviation": self.deviations(state, rows, day),
            "matches": state.column("matches")[rows],
            "last_time": state.column("last_time")[rows],
        }

    def deviations(self, state: State, rows: Ints, day: float) -> Floats:
        """Return these players' deviations as of a day (NaN: as of their last match)."""
        return state.column("deviation")[rows]
