"""The base class of systems with a loop of their own, as plug-ins of earlier versions have one.

It stays for one version: a system is shorter on `RatedSystem`, and then can learn its entry and its
home advantage.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np

from equipoise.arrays import Floats, Ints
from equipoise.data.history import History
from equipoise.rating.base_system import Matches, System, matches_of
from equipoise.rating.state import State, sums_of
from equipoise.rating.system import RatingColumns, TraceColumns

_Settings = TypeVar("_Settings")
_Traces = TypeVar("_Traces")
_Own = TypeVar("_Own")


class TraceArrays(NamedTuple):
    """Columns of a trace, of shape (N,), or all of shape (0,) if no trace is wanted.

    `expected` alone may have shape (0,), because it takes a noticeable part of the time. The trace
    of a system with further columns begins with these.
    """

    expected: Floats
    rating_before: Floats
    deviation_before: Floats
    rating: Floats
    deviation: Floats


class Job(NamedTuple, Generic[_Settings, _Traces, _Own]):
    """Input and output of the kernels that rate a slice of a history.

    table : of the state
    draws : sums of `rating.draws`, or shape (0,) if draws are not counted
    own : other input or output of the system's kernels; None for most systems
    """

    table: Floats
    matches: Matches
    settings: _Settings
    trace: _Traces
    draws: Floats
    own: _Own


class OwnLoop(System):
    """The base class of systems whose `update` rates the matches of a `Job`."""

    __slots__ = ()

    #: The NamedTuple of the columns of a trace; columns after the first five belong to the system.
    traces: ClassVar[type[Any]] = TraceArrays

    @abstractmethod
    def settings(self) -> Any:
        """Return the parameters in the form that kernels use."""

    def own(self, state: State, history: History, start: int, stop: int) -> Any:
        """Return the further input or output of kernels for matches start:stop."""
        return None

    @property
    def trace_columns(self) -> Sequence[str]:
        """The further columns that the system adds to a trace."""
        fields: Sequence[str] = self.traces._fields
        return fields[len(TraceArrays._fields) :]

    def job(
        self,
        state: State,
        history: History,
        start: int,
        stop: int,
        trace: TraceColumns | None = None,
    ) -> Job[Any, Any, Any]:
        """Return matches start:stop in the form that kernels use."""
        low, high = int(history.offsets[start]), int(history.offsets[stop])
        return Job(
            table=state.table,
            matches=matches_of(history, start, stop),
            settings=self.settings(),
            trace=trace_arrays(self.traces, trace, low, high),
            draws=sums_of(state),
            own=self.own(state, history, start, stop),
        )

    @property
    def shows_columns(self) -> bool:
        """Whether tables show columns of the state as they are."""
        kind = type(self)
        return kind.at is OwnLoop.at and kind.deviations is OwnLoop.deviations

    def at(self, state: State, rows: Ints, time: float | None) -> RatingColumns:
        """Return players' ratings as of a time in days (None: as of their last match)."""
        day = math.nan if time is None else time
        return {
            "rating": state.column("rating")[rows],
            "deviation": self.deviations(state, rows, day),
            "matches": state.column("matches")[rows],
            "last_time": state.column("last_time")[rows],
        }

    def deviations(self, state: State, rows: Ints, day: float) -> Floats:
        """Return players' deviations as of a day (NaN: as of their last match)."""
        return state.column("deviation")[rows]


def trace_arrays(kind: type[Any], trace: TraceColumns | None, low: int, high: int) -> Any:
    """Return rows low:high of a trace's columns as the NamedTuple that kernels take.

    kind : a NamedTuple whose fields are columns of the trace
    trace : wanted columns; with None all arrays are empty. Without `expected` that array is empty;
        any other column that is not wanted is filled and dropped
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
