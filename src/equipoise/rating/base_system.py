"""The base class of systems that `rating.loop` rates: what a system declares, and what follows.

A system is a class with the decorator `rating_system`, on top of `System` or, for a home advantage
and contexts, `home_system.HomeSystem`. It declares its parameters (`rating.parameters`), its
columns, what it can rate and which columns of a history it uses, its kernel `loop` and its
`outlook`. Its file has the mathematics, then this class, then `explain`; `systems/glicko2.py` is a
complete example. The parameters of `rating.newcomers` are parameters of every system.
"""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache, lru_cache, wraps
from typing import Any, ClassVar, NamedTuple, TypeAlias, dataclass_transform

import numpy as np

from equipoise._jit import Option, option
from equipoise.arguments import check_fields
from equipoise.arrays import Floats, Ints
from equipoise.data.history import History
from equipoise.data.outlook import Outlook
from equipoise.errors import ConvergenceError, InvalidParameterError, require
from equipoise.numeric.functions import MAX_ITERATIONS
from equipoise.numeric.workers import Workers
from equipoise.rating.contexts import CONTEXT_DEVIATION, TRACED, Contexts
from equipoise.rating.head_start import ADVANTAGE_PARAMETERS, HEAD_START, Home
from equipoise.rating.loop import ABSENT, Inputs, Job, Trace
from equipoise.rating.newcomers import (
    ENTRY,
    ENTRY_DEFAULTS,
    ENTRY_PARAMETERS,
    LARGEST_SHARE,
    LEAST_SHARE,
    LEVEL_ADJUSTMENT,
    MU,
    SEEDED,
    Entry,
    EntryParameters,
)
from equipoise.rating.one_call.methods import OneCall
from equipoise.rating.state import State, sums_of
from equipoise.rating.system import Capabilities, RatingColumns, TraceColumns, refuse_removed

#: Values of a parameter that turn off what it is for.
_OFF = (None, "off", 0, False)

#: Columns of the state of a system that adds none.
RATING, DEVIATION, MATCHES, LAST_TIME = range(4)

#: A kernel that rates matches first:last of a job in order. It returns (match, residual) of the
#: first match that cannot be rated, or (-1, -1).
Rate: TypeAlias = Callable[[Any, int, int], tuple[int, float]]


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
    """The base class of all systems, whose matches `rating.loop` rates.

    columns : column of a player -> its value for newcomers, a number or the name of a parameter
    uses : column of a history -> the parameter that turns it on; "" if it always counts
    max_team_size, max_teams, adds_players : as of `Capabilities`
    needs_time : the parameter that makes times necessary; "" for none
    shown : what tables show of a player, in the order of the kernel `read`; only "rating" where
        there are no deviations. A deviation that is no column is the initial one for all players
    removed : parameter that earlier versions had -> why it was removed and what to do
    tried : what a search for parameters tries by default, in this order
    more_traced : further columns of a trace, which the update writes to `job.trace.more`
    takes_entry : whether its kernels support a learned entry and a held level
    loop : the kernel that rates matches first:last of a job, by `rate_duels` or `rate_teams`
    read_players : the kernel (table, rows, day, settings) that returns what tables show, by
        `read_rows`; None where that is columns of the state

    A method `own` may return memory for kernels, or statistics of the pool: `job.own`. It is called
    once for many single matches, and what a match says is in `job.inputs`.

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

    columns: ClassVar[Mapping[str, float | str]] = {
        "rating": "initial_rating",
        "deviation": "initial_deviation",
        "matches": 0.0,
        "last_time": math.nan,
    }
    uses: ClassVar[Mapping[str, str]] = {"weight": ""}
    max_team_size: ClassVar[int | None] = None
    max_teams: ClassVar[int | None] = None
    adds_players: ClassVar[bool] = False
    needs_time: ClassVar[str] = ""
    shown: ClassVar[Sequence[str]] = ("rating", "deviation")
    removed: ClassVar[Mapping[str, str]] = {}
    more_traced: ClassVar[Sequence[str]] = ()
    takes_entry: ClassVar[bool] = True
    loop: ClassVar[Any]
    read_players: ClassVar[Any] = None

    def __post_init__(self) -> None:
        """Check every parameter; refuse a learned entry that the kernels do not support."""
        check_fields(self)
        if not self.takes_entry:
            rule = f"{{!r}}, because {self.name} does not support a learned entry or a held level"
            for name, usual in ENTRY_DEFAULTS.items():
                require(getattr(self, name) == usual, name, rule.format(usual), getattr(self, name))
        self.check_entry()
        self.check()

    def check(self) -> None:
        """Check what bounds of single parameters do not say. Raises : InvalidParameterError."""

    @property
    def capabilities(self) -> Capabilities:
        """Which matches the system can rate with these parameters, and what it uses of them."""
        return _prepared(self).able

    def _capabilities(self) -> Capabilities:
        """Return the capabilities of these parameters."""
        needed = {name: by for name, by in self.uses.items() if by and self._is_off(by)}
        able = Capabilities(
            max_team_size=self.max_team_size,
            max_teams=self.max_teams,
            adds_players=self.adds_players,
            needs_time=bool(self.needs_time) and not self._is_off(self.needs_time),
            uses=frozenset(self.uses) - frozenset(needed),
            needed=needed,
            idle=(self.idle_entry if self.takes_entry else frozenset()) | self.idle(),
        )
        return self.with_home(self.able(able))

    def _is_off(self, name: str) -> bool:
        """Return whether a parameter turns off what it is for."""
        return getattr(self, name) in _OFF

    def able(self, able: Capabilities) -> Capabilities:
        """Return capabilities, changed where they depend on parameters in a way of their own."""
        return able

    def idle(self) -> frozenset[str]:
        """Return the parameters of the system itself that change nothing."""
        return frozenset()

    @property
    def trace_columns(self) -> Sequence[str]:
        """The further columns that the system adds to a trace."""
        more = (name for one in self.shown[2:] for name in (f"{one}_before", one))
        return (*more, *self.more_traced, *self.context_columns)

    def newcomer(self) -> Mapping[str, float]:
        """Return the columns of the state with their values for players who have not played."""
        return {
            name: float(_as_number(self, value) if isinstance(value, str) else value)
            for name, value in self.columns.items()
        }

    def derived(self) -> Mapping[str, Any]:
        """Return further numbers for kernels, or others in place of those of a parameter."""
        return {}

    def settings(self) -> Any:
        """Return the parameters in the form that kernels use: numbers by name.

        A word is its number, and None is infinity. Jobs get what this returns.
        """
        numbers = {name: _as_number(self, name) for name in _own_parameters(type(self))}
        numbers |= self.derived()
        return _settings_type(type(self), tuple(numbers))(**numbers)

    def job(
        self,
        state: State,
        history: History,
        start: int,
        stop: int,
        trace: TraceColumns | None = None,
    ) -> Any:
        """Return matches start:stop in the form that kernels use."""
        low, high = int(history.offsets[start]), int(history.offsets[stop])
        prepared, home = _prepared(self), self.home_of(state, history, start, stop)
        return Job(
            table=state.table,
            matches=matches_of(history, start, stop),
            settings=prepared.settings,
            trace=self._trace(trace, low, high) if trace else prepared.untraced,
            draws=sums_of(state),
            normal=prepared.normal,
            skips_ties=prepared.able.skips_all_tied,
            inputs=self._inputs(prepared.able, home, history, low, high),
            matches_at=prepared.matches_at,
            time_at=prepared.time_at,
            own=self.own(state, history, start, stop),
            entry=self.entry_of(state, handed_out(trace, low, high)),
            home=home,
            contexts=self.contexts_of(state, history, start, stop, trace),
        )

    def _normal(self) -> Option:
        """Return whether the outlook of two teams is a normal curve."""
        usual = np.full(2, self.usual_deviation)
        return option(self.outlook(np.zeros(2), usual).curve == "normal")

    def _inputs(
        self, able: Capabilities, home: Home | None, history: History, low: int, high: int
    ) -> Inputs:
        """Return what participations low:high say beside ranks, in memory that can be written."""
        found: dict[str, Floats] = {}
        if home is not None and not home.moves:
            found["head_start"] = home.head_start
        for name, absent in ABSENT.items():
            if name in able.uses:
                column = getattr(history, name, None)
                given = column if column is None else column[low:high]
                if name == "score":
                    given = history.scores(low, high)
                # A copy, because what a history holds is read-only, and `workspaces` write here.
                found[name] = np.full(high - low, absent) if given is None else given.astype(float)
        return Inputs(**found)

    def _trace(self, wanted: TraceColumns, low: int, high: int) -> Trace:
        """Return rows low:high of a trace's columns as kernels take them."""

        def columns(names: Sequence[str]) -> tuple[Floats, ...]:
            # One that is not wanted beside others is filled and dropped.
            rows = 0 if wanted.keys().isdisjoint(names) else high - low
            return tuple(
                [wanted[name][low:high] if name in wanted else np.empty(rows) for name in names]
            )

        # Systems without deviations read 0, which is dropped.
        shown = self.shown if len(self.shown) > 1 else ("rating", "")
        expected = wanted["expected"][low:high] if "expected" in wanted else np.empty(0)
        before = columns([f"{name}_before" for name in shown])
        return Trace(expected, before, columns(shown), columns(self.more_traced))

    def own(self, state: State, history: History, start: int, stop: int) -> Any:
        """Return memory or numbers of the pool that kernels use for matches start:stop."""
        return None

    def kernel(self, job: Any) -> Rate:
        """Return the kernel that rates matches of a job on one thread."""
        found: Rate = type(self).loop
        return found

    def update(self, job: Any, workers: Workers) -> tuple[int, float]:
        """Rate all matches of a job in order."""
        return self.kernel(job)(job, 0, len(job.matches.time))

    @property
    def fits_workspaces(self) -> bool:
        """Whether its kernel is given no more of a match than `workspaces` write."""
        # What its `own` returns is memory; what a match says is in `Job.inputs`. Whoever overrides
        # the update of a system also means single matches, and `loop` does not know of it.
        kind = type(self)
        by_loop = _place(kind, "loop") <= _place(kind, "update")
        plain = by_loop and kind.run is System.run and kind.job is System.job
        # The memory of a workspace has no room for new contexts.
        return plain and not self.counts_contexts

    @property
    def shows_columns(self) -> bool:
        """Whether tables show columns of the state as they are."""
        return type(self).at is System.at and self.read_players is None

    def at(self, state: State, rows: Ints, time: float | None) -> RatingColumns:
        """Return players' ratings as of a time in days (None: as of their last match)."""
        if self.read_players is None or self.shows_columns:
            found = {name: state.column(name)[rows] for name in self.shown if name in state.initial}
        elif not len(rows):
            # The kernel learns the number of columns from the first player.
            found = {name: np.empty(0) for name in self.shown}
        else:
            day = math.nan if time is None else time
            settings = _prepared(self).settings
            read = type(self).read_players(state.table, rows, day, settings)
            found = dict(zip(self.shown, read, strict=False))
        if "deviation" not in found:
            same = self.initial_deviation if "deviation" in self.shown else math.nan
            found["deviation"] = np.full(len(rows), float(same))
        return {
            "rating": self.entered(state, rows, found.pop("rating")),
            "deviation": found.pop("deviation"),
            "matches": state.column("matches")[rows],
            "last_time": state.column("last_time")[rows],
            **found,
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

    @abstractmethod
    def outlook(self, rating: Floats, deviation: Floats, history: History | None = None) -> Outlook:
        """Return how players with these ratings perform; see `RatingSystem`."""

    def with_home(self, able: Capabilities) -> Capabilities:
        """Return capabilities with the columns of a home advantage; see `HomeSystem`."""
        return able

    @property
    def learns_advantage(self) -> bool:
        """Whether the pool learns what playing at home is worth; see `HomeSystem`."""
        return False

    @property
    def counts_contexts(self) -> bool:
        """Whether players have an offset in each context; see `HomeSystem`."""
        return False

    @property
    def context_columns(self) -> Sequence[str]:
        """The columns of a trace that say what the context was worth; see `rating.contexts`."""
        return TRACED if self.counts_contexts else ()

    def home_of(self, state: State, history: History, start: int, stop: int) -> Home | None:
        """Return the home advantage for kernels, None where there is none; see `HomeSystem`."""
        return None

    def contexts_of(
        self,
        state: State,
        history: History,
        start: int,
        stop: int,
        trace: TraceColumns | None = None,
    ) -> Contexts | None:
        """Return the contexts of matches for kernels, None where none count; see `HomeSystem`."""
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
        if job.home is not None and HEAD_START in trace:
            trace[HEAD_START][low:high] = job.home.head_start
        if LEVEL_ADJUSTMENT in trace and "rating" in trace:
            _without_unrated(trace, low, high)

    def entered(self, state: State, rows: Ints, rating: Floats) -> Floats:
        """Return these ratings of players, where newcomers have the entry of today."""
        if not self.learns_entry:
            return rating
        new = (state.column("matches")[rows] == 0) & (state.column(SEEDED)[rows] == 0)
        return np.where(new, state.shared[ENTRY][MU], rating)

    def begin_period(self, state: State, rows: Ints, day: float) -> None:
        """Close what ends before a day for players of a match, in systems with rating periods."""


def _place(kind: type[Any], name: str) -> int:
    """Return which of a class and its bases, the class first, defines an attribute."""
    return next(place for place, base in enumerate(kind.__mro__) if name in vars(base))


class _Prepared(NamedTuple):
    """What every job of a system has, from the capabilities to the columns the loop writes."""

    able: Capabilities
    settings: Any
    normal: Option
    untraced: Trace
    matches_at: int
    time_at: int


@lru_cache(maxsize=1024)
def _prepared(system: System) -> _Prepared:
    """Return what all jobs of a system share; making it takes longer than rating a duel."""
    columns = list(system.newcomer())
    return _Prepared(
        able=system._capabilities(),
        settings=system.settings(),
        normal=system._normal(),
        untraced=system._trace({}, 0, 0),
        matches_at=columns.index("matches"),
        time_at=columns.index("last_time"),
    )


@cache
def _own_parameters(kind: type[Any]) -> tuple[str, ...]:
    """Return the parameters of a system but those of newcomers, the entry and the advantage."""
    home = {*ADVANTAGE_PARAMETERS, CONTEXT_DEVIATION}
    shared = home | set(ENTRY_PARAMETERS) | set(kind.columns.values())
    return tuple(one.name for one in fields(kind) if one.name not in shared)


@cache
def _field(kind: type[Any], name: str) -> tuple[Mapping[str, int], bool]:
    """Return (word -> number of a parameter, whether its numbers need not be whole)."""
    one = next(one for one in fields(kind) if one.name == name)
    return one.metadata.get("words", {}), "float" in str(one.type)


def _as_number(system: System, name: str) -> float | bool:
    """Return a parameter as kernels use it."""
    value = getattr(system, name)
    words, real = _field(type(system), name)
    if words:
        return words[value]
    if value is None:
        return math.inf
    return float(value) if real else value


@cache
def _settings_type(kind: type[Any], names: tuple[str, ...]) -> type[Any]:
    """Return the NamedTuple of a system's numbers, by whose place compiled code is kept."""
    for base in kind.__mro__:
        known: type[Any] | None = getattr(
            sys.modules[base.__module__], f"{base.__name__}Settings", None
        )
        if known is not None and known._fields == names:
            return known
    found = namedtuple(f"{kind.__name__}Settings", names)  # type: ignore[misc]
    found.__module__ = kind.__module__
    setattr(sys.modules[kind.__module__], found.__name__, found)
    return found


@dataclass_transform(frozen_default=True, kw_only_default=True)
def rating_system(kind: type[Any]) -> Any:
    """Return a class as a frozen dataclass of parameters, ready for kernels.

    The type of its numbers is made here, because compiled code on disk names it by its module.
    """
    found: Any = dataclass(frozen=True, slots=True, kw_only=True, repr=False)(kind)
    made = found.__init__

    @wraps(made)
    def init(self: Any, **parameters: Any) -> None:
        refuse_removed(found, parameters)
        made(self, **parameters)

    if found.removed:
        found.__init__ = init
    found().settings()
    return found
