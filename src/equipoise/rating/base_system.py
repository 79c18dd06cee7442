"""What all systems share, whoever rates their matches: state, entry, runs and their traces.

A system is a frozen dataclass of parameters on top of `RatedSystem`, whose matches `rating.loop`
rates; `rating.plugins.own_loop` is the base class of earlier versions. The parameters of
`rating.entry` are parameters of every system; those of `rating.advantage` are parameters of systems
whose base class is also `HomeSystem`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any, ClassVar, NamedTuple, TypeAlias, TypeVar

import numpy as np

from equipoise.arguments import check_fields
from equipoise.arrays import Floats, Ints
from equipoise.data.history import History
from equipoise.data.outlook import Outlook
from equipoise.errors import ConvergenceError, InvalidParameterError, require
from equipoise.numeric.roots import MAX_ITERATIONS
from equipoise.numeric.workers import Workers
from equipoise.rating.advantage.head_start import HEAD_START, Home
from equipoise.rating.entry.entering import (
    ENTRY,
    ENTRY_DEFAULTS,
    LARGEST_SHARE,
    LEAST_SHARE,
    LEVEL_ADJUSTMENT,
    MU,
    SEEDED,
    Entry,
    EntryParameters,
)
from equipoise.rating.one_call.calls import OneCall
from equipoise.rating.state import State
from equipoise.rating.system import Capabilities, RatingColumns, TraceColumns

#: Columns of the state of a system that adds none.
RATING, DEVIATION, MATCHES, LAST_TIME = range(4)

#: A kernel that rates matches first:last of a job in order. It returns (match, residual) of the
#: first match that cannot be rated, or (-1, -1).
Rate: TypeAlias = Callable[[Any, int, int], tuple[int, float]]

_Settings = TypeVar("_Settings")
_Traces = TypeVar("_Traces")
_Own = TypeVar("_Own")


class Matches(NamedTuple):
    """The columns of M matches with N participations, as kernels read them.

    offsets : shape (M + 1,), from 0; participations of match m are offsets[m]:offsets[m + 1]
    player : shape (N,), rows of the state
    team, rank : shape (N,), from 0 without gaps
    time : shape (M,), days since 1970; NaN without times
    weight : shape (M,), 1 if there are no weights
    ceiling : shape (M,), of inferred performances (READINGS B8), inf for none
    """

    offsets: Ints
    player: Ints
    team: Ints
    rank: Ints
    time: Floats
    weight: Floats
    ceiling: Floats


def matches_of(history: History, start: int = 0, stop: int | None = None) -> Matches:
    """Return matches start:stop in the form that kernels use."""
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


def handed_out(trace: TraceColumns | None, low: int, high: int) -> Floats | None:
    """Return rows low:high of the level adjustments, with 0 for all players so far."""
    if not trace or LEVEL_ADJUSTMENT not in trace:
        return None
    handed = trace[LEVEL_ADJUSTMENT][low:high]
    handed[:] = 0.0
    return handed


def _without_unrated(trace: TraceColumns, low: int, high: int) -> None:
    """Let matches that were not rated hand out NaN, like all other columns of a trace."""
    unrated = np.isnan(trace["rating"][low:high])
    trace[LEVEL_ADJUSTMENT][low:high][unrated] = np.nan


class System(OneCall, EntryParameters, ABC):
    """The base class of all systems, which add parameters and one update.

    Examples
    --------
    >>> system = eq.make_system("glicko2", {"initial_deviation": 200.0})
    >>> isinstance(system, eq.System)
    True
    >>> system.rating()
    <Rating 1500.0, deviation 200.0, glicko2>
    """

    __slots__ = ()

    def __repr__(self) -> str:
        """Return the call that makes the system, with the parameters that are not the default."""
        changed = (
            f"{one.name}={getattr(self, one.name)!r}"
            for one in fields(self)
            if getattr(self, one.name) != one.default
        )
        return f"{type(self).__name__}({', '.join(changed)})"

    name: ClassVar[str]
    #: Number of fields of the record that is kept of every match of a player; 0 for no records.
    record: ClassVar[int] = 0
    #: Whether a prediction knows how much of the match each player takes part in.
    predicts_shares: ClassVar[bool] = False
    #: What the update solves for, such as "the volatility of "; the start of the message if it
    #: fails.
    sought: ClassVar[str] = ""
    #: Iterations after which the update fails.
    iterations: ClassVar[int] = MAX_ITERATIONS

    #: Parameter -> `Span` that a search tries by default, in this order.
    tried: ClassVar[Mapping[str, Any]] = {}

    initial_rating: float
    initial_deviation: float

    def __post_init__(self) -> None:
        """Check the types of all parameters, and refuse those of `rating.entry`.

        A system that has kernels for them, as docs/guides/learned-entry.md says, defines this
        method, and calls `check_fields(self)` and `self.check_entry()` in it.
        """
        check_fields(self)
        rule = f"{{!r}}, because {self.name} does not support a learned entry or a held level"
        for name, usual in ENTRY_DEFAULTS.items():
            require(getattr(self, name) == usual, name, rule.format(usual), getattr(self, name))

    @property
    def trace_columns(self) -> Sequence[str]:
        """The further columns that the system adds to a trace."""
        return ()

    def newcomer(self) -> Mapping[str, float]:
        """Return the columns of the state with their values for players who have not played."""
        return {
            "rating": self.initial_rating,
            "deviation": self.initial_deviation,
            "matches": 0.0,
            "last_time": math.nan,
        }

    def initial(self, players: int) -> State:
        """Return the state of players who have not played."""
        columns = dict(self.newcomer())
        if not self.changes_entry:
            return State.of_new_players(players, columns, self.record)
        columns[SEEDED] = 0.0
        state = State.of_new_players(players, columns, self.record)
        start = float(self.initial_rating)
        state.shared[ENTRY] = np.array([start, float(self.entry_weight), start, start])
        return state

    @property
    @abstractmethod
    def capabilities(self) -> Capabilities:
        """Which matches the system can rate with these parameters, and what it uses of them."""

    @abstractmethod
    def settings(self) -> Any:
        """Return the parameters in the form that kernels use."""

    @abstractmethod
    def update(self, job: Any, workers: Workers) -> tuple[int, float]:
        """Rate all matches of a job in order.

        Returns (match, residual) of the first match that cannot be rated, or (-1, -1).
        """

    @abstractmethod
    def outlook(self, rating: Floats, deviation: Floats, history: History | None = None) -> Outlook:
        """Return how players with these ratings perform; see `RatingSystem`."""

    @abstractmethod
    def job(
        self,
        state: State,
        history: History,
        start: int,
        stop: int,
        trace: TraceColumns | None = None,
    ) -> Any:
        """Return matches start:stop in the form that kernels use."""

    def with_home(self, able: Capabilities) -> Capabilities:
        """Return capabilities with the columns of a home advantage; see `HomeSystem`."""
        return able

    @property
    def learns_advantage(self) -> bool:
        """Whether the pool learns what playing at home is worth; see `HomeSystem`."""
        return False

    def home_of(self, state: State, history: History, start: int, stop: int) -> Home | None:
        """Return the home advantage for kernels, None where there is none; see `HomeSystem`."""
        return None

    def search_space(self) -> Mapping[str, Any]:
        """Return what a search tries of parameters near these; empty if none are known."""
        return self.tried

    @property
    def usual_deviation(self) -> float:
        """The deviation of a newcomer's rating, rating points, by which the entry is learned."""
        deviation: float | None = getattr(self, "initial_deviation", None)
        if deviation is None:
            raise InvalidParameterError(
                f"{type(self).__name__} needs a property usual_deviation, the deviation that a "
                "rating stands for, because it has no parameter initial_deviation"
            )
        return float(deviation)

    def first_share(self, before: Floats, after: Floats, weight: Floats) -> Floats:
        """Return the share w of a first performance that a rating takes over, shape (n,).

        before, after : deviations; weight : of the matches. All of shape (n,)
        """
        share: Floats = np.clip(1.0 - (after / before) ** 2, LEAST_SHARE, LARGEST_SHARE)
        return share

    def entry_of(self, state: State, handed: Floats | None = None) -> Entry | None:
        """Return how newcomers enter in the form that kernels use, None without any of it.

        handed : filled with what each participation gets to hold the level; None if not wanted
        """
        if not self.changes_entry:
            return None
        columns = list(state.initial)
        mean = "gaussian_mean" if "gaussian_mean" in columns else "rating"
        return Entry(
            pool=state.shared[ENTRY],
            learns=self.learns_entry,
            half_life=float(self.entry_half_life),
            weight=float(self.entry_weight),
            clip=float(self.entry_clip),
            kept=math.erf(self.entry_clip / math.sqrt(2.0)),
            holds=float(self.hold_level),
            young=float(self.hold_level_matches),
            experienced=float(self.level_experienced),
            memory=float(self.level_memory),
            most=float(self.level_step) * self.usual_deviation,
            adds=self.capabilities.adds_players,
            deviation=self.usual_deviation,
            matches=columns.index("matches"),
            mean=columns.index(mean),
            seeded=columns.index(SEEDED),
            handed=np.empty(0) if handed is None else handed,
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

        Raises : ConvergenceError; InvalidDataError if a column is missing
        """
        job = self.job(state, history, start, stop, trace)
        failed, residual = self.update(job, workers or Workers())
        if failed >= 0:
            what = f"{self.sought}{self.name}, match {history.match_ids[start + failed]},"
            raise ConvergenceError(what, self.iterations, residual)
        if trace:
            self.keep_trace(job, trace, int(history.offsets[start]), int(history.offsets[stop]))

    def keep_trace(self, job: Any, trace: TraceColumns, low: int, high: int) -> None:
        """Complete rows low:high of a trace, which the job's matches have filled."""
        home: Home | None = getattr(job, "home", None)
        if home is not None and HEAD_START in trace:
            trace[HEAD_START][low:high] = home.head_start
        if LEVEL_ADJUSTMENT in trace and "rating" in trace:
            _without_unrated(trace, low, high)

    @property
    def shows_columns(self) -> bool:
        """Whether tables show columns of the state as they are."""
        return False

    @property
    def fits_workspaces(self) -> bool:
        """Whether its kernel is given no more of a match than `workspaces` write."""
        return False

    @abstractmethod
    def at(self, state: State, rows: Ints, time: float | None) -> RatingColumns:
        """Return players' ratings as of a time in days (None: as of their last match)."""

    def entered(self, state: State, rows: Ints, rating: Floats) -> Floats:
        """Return these ratings of players, where newcomers have the entry of today."""
        if not self.learns_entry:
            return rating
        new = (state.column("matches")[rows] == 0) & (state.column(SEEDED)[rows] == 0)
        return np.where(new, state.shared[ENTRY][MU], rating)

    def begin_period(self, state: State, rows: Ints, day: float) -> None:
        """Close what ends before a day for players of a match, in systems with rating periods."""
