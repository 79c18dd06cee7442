"""What all systems share, whoever rates their matches: entry, home advantage, runs and traces.

A system is a frozen dataclass of parameters on top of `RatedSystem`, whose matches `rating.loop`
rates; `rating.plugins.own_loop` is the base class of earlier versions. The parameters of
`rating.newcomers` are parameters of every system; those of a home advantage are parameters of
systems whose base class is also `HomeSystem`.

A system with `HomeSystem` adds the columns that it reads to its capabilities (`with_home`), and
moves the centres of its `outlook` (`at_home`); see docs/guides/home-advantage.md.
"""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np

from equipoise.arguments import check_fields
from equipoise.arrays import Floats, Ints
from equipoise.data.history import History
from equipoise.data.outlook import Outlook
from equipoise.errors import ConvergenceError, InvalidParameterError, require
from equipoise.numeric.functions import MAX_ITERATIONS
from equipoise.numeric.workers import ONE_THREAD, Workers
from equipoise.rating.contexts import (
    CONTEXT,
    CONTEXT_DEVIATION,
    FIELDS,
    NEW_SHARE,
    SHARE,
    TRACED,
    Contexts,
    Share,
    memory_of,
)
from equipoise.rating.contexts import NOTE as _CONTEXT_NOTE
from equipoise.rating.head_start import (
    ADVANTAGE,
    HEAD_START,
    MEAN,
    VARIANCE,
    Home,
    Working,
    no_home_side,
)
from equipoise.rating.newcomers import (
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
from equipoise.rating.one_call.methods import OneCall
from equipoise.rating.state import Runs, State
from equipoise.rating.system import Capabilities, RatingColumns, TraceColumns, models_draws, param

#: Columns of the state of a system that adds none.
RATING, DEVIATION, MATCHES, LAST_TIME = range(4)

#: A kernel that rates matches first:last of a job in order. It returns (match, residual) of the
#: first match that cannot be rated, or (-1, -1).
Rate: TypeAlias = Callable[[Any, int, int], tuple[int, float]]

#: Deviation of the belief about the advantage at first, in deviations of a newcomer.
_USUAL_DEVIATION = 0.25

#: What `equipoise systems` says of the parameters that turn the advantage on.
_FIXED_NOTE = (
    "rating points by which a team at home (or white) plays stronger; with learn_home_advantage, "
    "the value before learning"
)
_LEARN_NOTE = (
    "learn the pool's advantage from matches of two teams, with home_advantage_deviation and "
    "home_advantage_drift"
)


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
        ceilings = history.performance_ceiling[start:stop]
        ceiling = np.where(np.isnan(ceilings), np.inf, ceilings)
    return Matches(
        offsets=history.offsets[start : stop + 1] - low,
        player=history.player[low:high],
        team=history.team[low:high],
        rank=history.rank[low:high],
        time=history.days(start, stop),
        weight=history.weights(start, stop),
        ceiling=ceiling,
    )


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
            f"{parameter.name}={getattr(self, parameter.name)!r}"
            for parameter in fields(self)
            if getattr(self, parameter.name) != parameter.default
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
        """Check the types of all parameters, and refuse those of `rating.newcomers`.

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

    @property
    def counts_contexts(self) -> bool:
        """Whether players have an offset in each context; see `HomeSystem`."""
        return False

    @property
    def context_columns(self) -> Sequence[str]:
        """The columns of a trace that say what the context was worth; see `rating.contexts`."""
        return TRACED if self.counts_contexts else ()

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
        failed, residual = self.update(job, workers or ONE_THREAD)
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


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class HomeSystem(System):
    """The base class of systems with a home advantage and with contexts.

    home_advantage : rating points by which a team at home plays stronger: its players' `at_home` is
        true, or their `side` is "home" or "white"
    learn_home_advantage : learn the advantage from the matches of the pool, from `home_advantage`
        on
    home_advantage_deviation : of the advantage before the first match, rating points; None: a
        quarter of a newcomer's deviation
    home_advantage_drift : standard deviation that a match with a side at home adds to what is known
        of the advantage, rating points
    context_deviation : standard deviation of a player's offset in a context before it is learned
        (`rating.contexts`), rating points; 0 counts no contexts

    Examples
    --------
    >>> system = eq.Glicko2(home_advantage=60)
    >>> isinstance(system, eq.HomeSystem)
    True
    >>> even = [system.rating(1500, 80), system.rating(1500, 80)]
    >>> [round(one, 3) for one in system.predict(even, home=0).expected]
    [0.581, 0.419]
    """

    #: Whether the kernel of the system itself adds the head starts.
    adds_head_starts: ClassVar[bool] = False

    #: What a match adds to a deviation before it is rated: a parameter, or the column "volatility".
    added: ClassVar[str] = ""

    #: Whether `rating.loop` rates its matches, and can learn offsets in contexts.
    in_loop: ClassVar[bool] = False

    home_advantage: float = param(0.0, -1e9, 1e9, later=True, note=_FIXED_NOTE)
    learn_home_advantage: bool = param(False, later=True, note=_LEARN_NOTE)
    home_advantage_deviation: float | None = param(
        None, 1e-6, 1e9, rule="from 1e-6 to 1e9, or None", later=True
    )
    home_advantage_drift: float = param(0.0, 0.0, 1e9, later=True)
    context_deviation: float = param(0.0, 0.0, 1e9, later=True, note=_CONTEXT_NOTE)

    def check_entry(self) -> None:
        """Check the numbers of all parameters. Raises : InvalidParameterError."""
        System.check_entry(self)
        if self.learn_home_advantage and getattr(self, "shares", "off") == "play":
            # The learning would take each player as whole, and the match only the share.
            raise InvalidParameterError(
                "learn_home_advantage cannot be combined with shares=play: set home_advantage to "
                "a number of points, or shares=off"
            )
        if self.counts_contexts:
            self._check_contexts()

    def _check_contexts(self) -> None:
        """Refuse contexts where offsets cannot be learned. Raises : InvalidParameterError."""
        rule = f"0 for {self.name}, whose own loop knows no contexts"
        require(self.in_loop, CONTEXT_DEVIATION, rule, self.context_deviation)
        periods = next(
            (parameter for parameter in fields(self) if parameter.name == "period_days"), None
        )
        if periods is not None and periods.default is None and self.period_days is not None:  # type: ignore[attr-defined]
            raise InvalidParameterError(
                "context_deviation cannot be combined with period_days, because a rating period "
                "sums matches of several contexts: leave out one of them"
            )

    @property
    def learns_advantage(self) -> bool:
        """Whether the pool learns what playing at home is worth."""
        return self.learn_home_advantage

    @property
    def counts_home(self) -> bool:
        """Whether it matters who plays at home."""
        return self.learn_home_advantage or self.home_advantage != 0.0

    @property
    def counts_contexts(self) -> bool:
        """Whether players have an offset in each context."""
        return self.context_deviation > 0

    def with_home(self, able: Capabilities) -> Capabilities:
        """Return capabilities with the columns of the advantage and of contexts."""
        columns, needed, uses = ("side", "at_home"), dict(able.needed), able.uses
        if self.counts_home:
            uses |= frozenset(columns)
        else:
            needed |= dict.fromkeys(columns, "home_advantage")
        if self.counts_contexts:
            uses |= {CONTEXT}
        elif self.in_loop:
            needed[CONTEXT] = CONTEXT_DEVIATION
        idle = able.idle
        if not self.learn_home_advantage:
            idle |= {"home_advantage_deviation", "home_advantage_drift"}
        return dataclasses.replace(able, uses=uses, needed=needed, idle=idle)

    def initial(self, players: int) -> State:
        """Return the state of players who have not played."""
        state = System.initial(self, players)
        if self.learn_home_advantage:
            width = self.home_advantage_deviation
            width = _USUAL_DEVIATION * self.usual_deviation if width is None else float(width)
            state.shared[ADVANTAGE] = np.array([float(self.home_advantage), width * width])
        if self.counts_contexts:
            state.runs = Runs.empty(players, FIELDS)
            state.shared[SHARE] = np.array(NEW_SHARE)
        return state

    def contexts_of(
        self,
        state: State,
        history: History,
        start: int,
        stop: int,
        trace: TraceColumns | None = None,
    ) -> Contexts | None:
        """Return contexts and offsets in the form that kernels use, None where none count."""
        if not self.counts_contexts:
            return None
        columns, unit, fixed = list(state.initial), np.ones(1), 0.0
        deviation = float(self.context_deviation)
        if "deviation" not in columns:
            usual = self.usual_deviation
            fixed = usual * usual * float(self.first_share(usual * unit, usual * unit, unit)[0])
        volatile = self.added == "volatility"
        outlook_fixed, own, slope, normal = self._scales()
        return Contexts(
            **memory_of(state, history, start, stop, trace),
            fresh=deviation * deviation,
            fixed=fixed,
            deviation_at=columns.index("deviation") if "deviation" in columns else -1,
            volatility_at=columns.index(self.added) if volatile else -1,
            added=0.0 if volatile or not self.added else float(getattr(self, self.added)) ** 2,
            share=Share(
                belief=state.shared[SHARE],
                least=deviation,
                fixed=outlook_fixed,
                own=own,
                slope=slope,
                normal=normal,
                adds=self.capabilities.adds_players,
                members=np.empty(2),
            ),
        )

    def home_of(self, state: State, history: History, start: int, stop: int) -> Home | None:
        """Return the advantage in the form that kernels use, None where home is worth nothing."""
        if not self.counts_home:
            return None
        low, high = int(history.offsets[start]), int(history.offsets[stop])
        at_home = self.flags(history, low, high).astype(np.float64)
        pool = np.array([float(self.home_advantage), 0.0])
        fixed = own = slope = 0.0
        normal = False
        if self.learn_home_advantage:
            pool = state.shared[ADVANTAGE]
            fixed, own, slope, normal = self._scales()
        return Home(
            pool=pool,
            learns=self.learn_home_advantage,
            drift=float(self.home_advantage_drift),
            fixed=fixed,
            own=own,
            slope=slope,
            normal=normal,
            adds=self.capabilities.adds_players,
            moves=not self.adds_head_starts,
            matches=list(state.initial).index("matches"),
            at_home=at_home,
            head_start=np.zeros(high - low),
            # Memory that is never written costs nothing, and a match has at most all rows.
            working=Working(*(np.empty(len(at_home)) for _ in Working._fields)),
        )

    def _scales(self) -> tuple[float, float, float, bool]:
        """Return (fixed, own, slope, normal) of `Home` from the system's own outlook.

        Two teams draw within a margin. The expected score of half a draw is that of a curve whose
        squared scale is larger by about the square of the margin.
        """
        width = self.usual_deviation
        outlook = self.outlook(np.zeros(2), np.array([0.0, width]))
        certain, usual = (outlook.scale**2).tolist()
        fixed, own = float(outlook.shared), certain - float(outlook.shared)
        slope = (usual - certain) / (width * width)
        if models_draws(self):
            two, four = self.draw_margin(2) ** 2, self.draw_margin(4) ** 2
            each = 0.5 * (four - two) if outlook.team == "sum" else 0.0
            own += each
            fixed += 0.5 * (two - 2.0 * each)
        return fixed, own, slope, outlook.curve == "normal"

    def at_home(self, rating: Floats, history: History | None) -> Floats:
        """Return ratings with the head starts of `home_advantage`.

        rating : of the participations of the history; None: nobody is at home
        Raises : InvalidDataError if nobody says who is at home
        """
        if history is None or self.home_advantage == 0.0:
            return rating
        return rating + self.head_starts(history, float(self.home_advantage))

    def head_starts(self, history: History, advantage: float) -> Floats:
        """Return the points that an advantage is worth to each participation, shape (N,)."""
        rows = history.participations
        head_start: Floats = np.where(self.flags(history, 0, rows), advantage, 0.0)
        if self.capabilities.adds_players:
            teams = np.concatenate([[0], np.cumsum(history.teams())[:-1]])
            number = teams[history.match_rows()] + history.team
            head_start = head_start / np.bincount(number)[number]
        return head_start

    def settled(self, state: State) -> HomeSystem:
        """Return the system whose fixed advantage is what the pool has learned so far."""
        if not self.learn_home_advantage:
            return self
        mean = float(state.shared[ADVANTAGE][MEAN]) if ADVANTAGE in state.shared else 0.0
        changed: Any = {"home_advantage": mean, "learn_home_advantage": False}
        return dataclasses.replace(self, **changed)

    def learned_advantage(self, state: State) -> tuple[float, float]:
        """Return (advantage, its deviation) as a pool has learned it, rating points.

        A fixed advantage has deviation 0.
        """
        return belief_of(state.shared) or (float(self.home_advantage), 0.0)

    def flags(self, history: History, low: int, high: int) -> Any:
        """Return who of participations low:high is at home. Raises : InvalidDataError."""
        at_home = history.at_home(low, high)
        if at_home is None:
            raise no_home_side()
        return at_home


def belief_of(shared: Mapping[str, Floats]) -> tuple[float, float] | None:
    """Return (advantage, its deviation) as a pool has learned it, None if it learns none.

    shared : of the state of the pool
    """
    numbers = shared.get(ADVANTAGE)
    if numbers is None:
        return None
    return float(numbers[MEAN]), math.sqrt(float(numbers[VARIANCE]))


def advantage_notes(system: Any, shared: Mapping[str, Floats]) -> list[str]:
    """Return a note on the home advantage that a pool has learned; none where it learns none.

    shared : of the state of the pool
    """
    belief = belief_of(shared) if getattr(system, "learns_advantage", False) else None
    if belief is None:
        return []
    return [f"learned home advantage: {belief[0]:.1f} points, deviation {belief[1]:.1f}"]
