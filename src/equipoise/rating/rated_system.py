"""The base class of systems that `rating.loop` rates: what a system declares, and what follows.

A system is a class with the decorator `rating_system`, on top of `RatedSystem` and, for a home
advantage, `HomeSystem`. It declares its parameters (`rating.parameters`), its columns, what it can
rate and which columns of a history it uses, its kernel `loop` and its `outlook`. Its file has
the mathematics, then this class, then `explain`; `systems/glicko2.py` is a complete example.
"""

from __future__ import annotations

import math
import sys
from collections import namedtuple
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache, lru_cache, wraps
from typing import Any, ClassVar, NamedTuple, dataclass_transform

import numpy as np

from equipoise._jit import Option, option
from equipoise.arguments import check_fields
from equipoise.arrays import Floats, Ints
from equipoise.data.history import History
from equipoise.numeric.workers import Workers
from equipoise.rating.base_system import HomeSystem, Rate, System, matches_of
from equipoise.rating.head_start import Home
from equipoise.rating.loop import ABSENT, Inputs, Job, Trace
from equipoise.rating.newcomers import LEVEL_ADJUSTMENT
from equipoise.rating.state import State, sums_of
from equipoise.rating.system import (
    Capabilities,
    RatingColumns,
    TraceColumns,
    refuse_removed,
    zeroed,
)

#: Values of a parameter that turn off what it is for.
_OFF = (None, "off", 0, False)


class RatedSystem(System):
    """The base class of systems that `rating.loop` rates.

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
    """

    __slots__ = ()

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
    in_loop: ClassVar[bool] = True
    loop: ClassVar[Any]
    read_players: ClassVar[Any] = None

    def __post_init__(self) -> None:
        """Check every parameter."""
        if self.takes_entry:
            check_fields(self)
        else:
            System.__post_init__(self)
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
        more = (name for column in self.shown[2:] for name in (f"{column}_before", column))
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
        prepared, home, contexts = _prepared(self), None, None
        if isinstance(self, HomeSystem):
            home = self.home_of(state, history, start, stop)
            contexts = self.contexts_of(state, history, start, stop, trace)
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
            entry=self.entry_of(state, zeroed(trace, LEVEL_ADJUSTMENT, low, high)),
            home=home,
            contexts=contexts,
        )

    def _normal(self) -> Option:
        """Return whether the outlook of two teams is a normal curve."""
        usual = np.full(2, self.usual_deviation)
        return option(self.outlook(np.zeros(2), usual).curve == "normal")

    def _inputs(
        self, able: Capabilities, home: Home | None, history: History, low: int, high: int
    ) -> Inputs:
        """Return what participations low:high say beside ranks, in memory that can be written."""
        inputs: dict[str, Floats] = {}
        if home is not None and not home.moves:
            inputs["head_start"] = home.head_start
        for name, absent in ABSENT.items():
            if name in able.uses:
                column = getattr(history, name, None)
                values = column if column is None else column[low:high]
                if name == "score":
                    values = history.scores(low, high)
                # A copy, because what a history holds is read-only, and `workspaces` write here.
                inputs[name] = (
                    np.full(high - low, absent) if values is None else values.astype(float)
                )
        return Inputs(**inputs)

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
        loop: Rate = type(self).loop
        return loop

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
        plain = by_loop and kind.run is System.run and kind.job is RatedSystem.job
        # The memory of a workspace has no room for new contexts.
        return plain and not self.counts_contexts

    @property
    def shows_columns(self) -> bool:
        """Whether tables show columns of the state as they are."""
        return type(self).at is RatedSystem.at and self.read_players is None

    def at(self, state: State, rows: Ints, time: float | None) -> RatingColumns:
        """Return players' ratings as of a time in days (None: as of their last match)."""
        if self.read_players is None or self.shows_columns:
            columns = {
                name: state.column(name)[rows] for name in self.shown if name in state.initial
            }
        elif not len(rows):
            # The kernel learns the number of columns from the first player.
            columns = {name: np.empty(0) for name in self.shown}
        else:
            day = math.nan if time is None else time
            settings = _prepared(self).settings
            read = type(self).read_players(state.table, rows, day, settings)
            columns = dict(zip(self.shown, read, strict=False))
        if "deviation" not in columns:
            same = self.initial_deviation if "deviation" in self.shown else math.nan
            columns["deviation"] = np.full(len(rows), float(same))
        return {
            "rating": self.entered(state, rows, columns.pop("rating")),
            "deviation": columns.pop("deviation"),
            "matches": state.column("matches")[rows],
            "last_time": state.column("last_time")[rows],
            **columns,
        }


class PeriodSystem(RatedSystem, HomeSystem):
    """The base class of systems with rating periods in which a held level waits for their end.

    settle : the kernel (player, period, settings) that moves a player to the beginning of a period
    """

    __slots__ = ()

    period_days: float | None
    settle: ClassVar[Any]

    @property
    def _pends(self) -> bool:
        """Whether what holds the level waits for the end of a rating period."""
        return self.holds_level and self.period_days is not None

    def begin_period(self, state: State, rows: Ints, day: float) -> None:
        """Move players to the beginning of the rating period of a day."""
        if self.period_days is not None:
            period, settings = float(math.floor(day / self.period_days)), self.settings()
            for row in rows.tolist():
                type(self).settle(state.table[row], period, settings)


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
def _prepared(system: RatedSystem) -> _Prepared:
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
    shared = {parameter.name for parameter in fields(HomeSystem)} | set(kind.columns.values())
    return tuple(parameter.name for parameter in fields(kind) if parameter.name not in shared)


@cache
def _field(kind: type[Any], name: str) -> tuple[Mapping[str, int], bool]:
    """Return (word -> number of a parameter, whether its numbers need not be whole)."""
    parameter = next(parameter for parameter in fields(kind) if parameter.name == name)
    return parameter.metadata.get("words", {}), "float" in str(parameter.type)


def _as_number(system: RatedSystem, name: str) -> float | bool:
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
    settings = namedtuple(f"{kind.__name__}Settings", names)  # type: ignore[misc]
    settings.__module__ = kind.__module__
    setattr(sys.modules[kind.__module__], settings.__name__, settings)
    return settings


@dataclass_transform(frozen_default=True, kw_only_default=True)
def rating_system(kind: type[Any]) -> Any:
    """Return a class as a frozen dataclass of parameters, ready for kernels.

    The type of its numbers is made here, because compiled code on disk names it by its module.
    """
    found: Any = dataclass(frozen=True, slots=True, kw_only=True, repr=False)(kind)
    original = found.__init__

    @wraps(original)
    def init(self: Any, **parameters: Any) -> None:
        refuse_removed(found, parameters)
        original(self, **parameters)

    if found.removed:
        found.__init__ = init
    found().settings()
    return found
