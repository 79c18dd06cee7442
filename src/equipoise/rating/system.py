"""What a rating system declares: its parameters, its capabilities, and the protocol it follows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeGuard, runtime_checkable

import numpy as np

from equipoise.arguments import checked_number
from equipoise.arrays import Flags, Floats, Ints
from equipoise.data.explanation import Explanation
from equipoise.data.history import OWN_DEVIATIONS, History
from equipoise.data.outlook import Outlook
from equipoise.errors import InvalidParameterError, require
from equipoise.numeric.workers import Workers
from equipoise.rating.federation_columns import FACTS
from equipoise.rating.state import State
from equipoise.wording import counted

#: Columns that every trace has; those of a system follow.
TRACE_COLUMNS = ("expected", "rating_before", "deviation_before", "rating", "deviation")


@dataclass(frozen=True, slots=True)
class Bounds:
    """The numbers that a parameter may be; `rule` says so in messages.

    above, below : whether `low` and `high` themselves are refused
    """

    low: float
    high: float
    rule: str
    above: bool = False
    below: bool = False

    def allow(self, value: float) -> bool:
        """Return whether a value is within the bounds."""
        fits = value > self.low if self.above else value >= self.low
        return fits and (value < self.high if self.below else value <= self.high)


class Span(NamedTuple):
    """Values from `low` to `high`: in a grid of `steps` values, rounded to multiples of `unit`.

    log : spaced by equal factors instead of equal steps
    """

    low: float
    high: float
    steps: int
    unit: float
    log: bool = True

    def grid(self) -> tuple[float, ...]:
        """Return the values of the grid; values equal after rounding are listed once."""
        space = np.geomspace if self.log else np.linspace
        units = np.rint(space(self.low, self.high, self.steps) / self.unit)
        # Fifteen digits: 3 x 0.1 is written, and read again, as 0.3.
        return tuple(dict.fromkeys(float(f"{count * self.unit:.15g}") for count in units))


def param(
    default: Any,
    low: float = -math.inf,
    high: float = math.inf,
    *,
    rule: str = "",
    above: bool = False,
    below: bool = False,
    words: Mapping[str, int] | None = None,
    later: bool = False,
    note: str = "",
) -> Any:
    """Return a parameter of a system, a field of its dataclass.

    low, high : bounds of numbers; above, below : whether they themselves are refused
    rule : what messages say of the bounds; "" makes it of the numbers
    words : word -> the number that kernels have for it
    later : whether it was added later, so that files leave it out where it has its default
    note : what `equipoise systems` says of a parameter that is off by default
    """
    bounds = None
    if rule or low > -math.inf or high < math.inf:
        text = rule or f"from {_number(low)} to {_number(high)}"
        bounds = Bounds(low, high, text, above, below)
    more = {"bounds": bounds, "words": words, "later": later, "note": note}
    return field(default=default, metadata={name: value for name, value in more.items() if value})


def positive(default: float | None, *, later: bool = False, note: str = "") -> Any:
    """Return a parameter above 0 and below infinity."""
    return param(
        default, 0.0, math.inf, rule="positive", above=True, below=True, later=later, note=note
    )


def initial_rating(default: float = 1500.0) -> Any:
    """Return the rating of newcomers."""
    return param(default, -1e9, 1e9)


def initial_deviation(default: float = 350.0) -> Any:
    """Return the deviation of newcomers; its square stays within the digits of float64."""
    return param(default, 1e-6, 1e9)


def check_bounds(system: Any, names: Iterable[str] | None = None) -> None:
    """Check the numbers of these parameters, or of all. Raises : InvalidParameterError."""
    for parameter in fields(system):
        bounds: Bounds | None = parameter.metadata.get("bounds")
        if bounds is None or (names is not None and parameter.name not in names):
            continue
        value = getattr(system, parameter.name)
        if value is not None:
            require(bounds.allow(value), parameter.name, bounds.rule, value)


def refuse_removed(kind: Any, names: Iterable[str]) -> None:
    """Refuse parameters that a system had in earlier versions. Raises : InvalidParameterError."""
    removed: Mapping[str, str] = getattr(kind, "removed", {})
    for name in names:
        if name in removed:
            raise InvalidParameterError(f"{kind.name}.{name} was removed: {removed[name]}")


def _number(value: float) -> str:
    """Return a bound as messages have it: 1e-6, 1e9, 0, 1.5."""
    return f"{value:g}".replace("e-0", "e-").replace("e+0", "e").replace("e+", "e")


#: Columns of a rating table for some players: `rating`, `deviation`, `matches`, `last_time`
#: (days) and those of the system.
RatingColumns: TypeAlias = dict[str, Floats]

#: Columns that a system fills while it rates, each of shape (N,) for the complete history. Columns
#: that are not wanted may be left out.
TraceColumns: TypeAlias = Mapping[str, Floats]


def zeroed(trace: TraceColumns | None, name: str, low: int, high: int) -> Floats:
    """Return rows low:high of a column with 0 for all players so far; shape (0,) if not wanted."""
    if not trace or name not in trace:
        return np.empty(0)
    column = trace[name][low:high]
    column[:] = 0.0
    return column


#: Columns of a match's own deviations. A history that has one is refused by systems without them:
#: several have a parameter `beta`, which the column would seem to replace
#: (docs/equations/elo-mmr.md).
OF_ROUNDS = tuple(OWN_DEVIATIONS)

#: Optional columns of a history, in the order in which messages list them. `time` means the time
#: between matches: all systems rate in the order of times, some also count the days. `score` means
#: the difference of scores: they may have decided the ranks of a match for all systems. The last
#: few, which federations use, may be in a history for other reasons, so nobody is told that a
#: system does not use them.
USABLE = (
    "weight",
    "performance_ceiling",
    "performance",
    "share",
    "role",
    "side",
    "at_home",
    "context",
    "time",
    "score",
    *OF_ROUNDS,
    *FACTS,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """Which matches a system can rate, and which of their columns it uses.

    A column changes ratings if and only if it is declared in `uses`; tests/test_every_system.py
    checks that for every system.

    max_team_size, max_teams : None for any number
    draws : whether it can rate equal ranks
    ties_need : the parameter with which it can rate them, in words; "" if there is none
    adds_players : whether the ratings of a team's players add up; else a team plays at their mean
    needs_time : whether a history without times is refused
    skips_all_tied : whether a match of three or more in which all tie changes nothing
        (READINGS B7); it is then reported
    uses : names of `USABLE` that change a rating, or, of `time`, when ratings are read
    needed : name that is not used -> the parameter with which the system uses it
    idle : parameters that change nothing

    Examples
    --------
    >>> print(eq.Glicko2().capabilities)
    single players, two per match, ties
    >>> sorted(eq.Elo(home_advantage=60).capabilities.uses)
    ['at_home', 'side', 'weight']
    """

    max_team_size: int | None = None
    max_teams: int | None = None
    draws: bool = True
    ties_need: str = ""
    adds_players: bool = False
    needs_time: bool = False
    skips_all_tied: bool = False
    uses: frozenset[str] = frozenset()
    needed: Mapping[str, str] = field(default_factory=dict)
    idle: frozenset[str] = frozenset()

    def fits(self, sizes: Sequence[int]) -> bool:
        """Return whether a match of teams of these sizes can be rated."""
        return (self.max_teams is None or len(sizes) <= self.max_teams) and (
            self.max_team_size is None or max(sizes) <= self.max_team_size
        )

    def rated(self, history: History) -> Flags:
        """Return which matches change ratings, shape (M,): those of two teams or more.

        Matches of three or more that all tie are left out if the system skips them.
        """
        teams = history.teams()
        counts: Flags = teams > 1
        if self.skips_all_tied:
            counts &= (teams == 2) | (history.distinct_ranks() > 1)
        return counts

    def unused(self, history: History) -> list[str]:
        """Return the columns of a history that the system does not use."""
        present = {name: getattr(history, name) is not None for name in USABLE[:4]}
        present |= {name: name in history.attributes for name in USABLE[4:8]}
        unused = [name for name in USABLE[:8] if present[name] and name not in self.uses]
        if present["side"] and present["at_home"] and "side" in self.uses:
            unused.append("side")  # at_home is used instead
        return unused

    def misfits(self, history: History) -> list[str]:
        """Return what the system cannot rate in a history, as phrases; empty if it fits."""
        misfits = []
        if history.matches and (self.max_team_size is not None or self.max_teams is not None):
            teams = history.teams()
            largest = _largest_team(history, teams)
            if self.max_team_size is not None and largest > self.max_team_size:
                misfits.append(f"teams of {largest} (at most {self.max_team_size})")
            if self.max_teams is not None and teams.max() > self.max_teams:
                misfits.append(
                    f"matches of {teams.max()} players or teams (at most {self.max_teams})"
                )
        if not self.draws and history.matches:
            ties = int(np.sum(history.distinct_ranks() < history.teams()))
            if ties:
                many = counted(ties, "match", "matches")
                need = f"; they need {self.ties_need}" if self.ties_need else ""
                misfits.append(f"ties ({many}{need})")
        if self.needs_time and history.time is None:
            misfits.append("no times")
        for name in OF_ROUNDS:
            if name not in self.uses and getattr(history, name) is not None:
                misfits.append(f"a {name} for each match")
        return misfits

    def __str__(self) -> str:
        size = {None: "teams of any size", 1: "single players"}.get(
            self.max_team_size, f"teams of up to {self.max_team_size}"
        )
        teams = {None: "any number per match", 2: "two per match"}.get(
            self.max_teams, f"up to {self.max_teams} per match"
        )
        parts = [size, teams, "ties" if self.draws else "no ties"]
        return ", ".join([*parts, "needs times"] if self.needs_time else parts)


def _largest_team(history: History, teams: Ints) -> int:
    """Return the number of players of the largest team."""
    if np.array_equal(teams, history.sizes()):
        return 1
    first_team = np.cumsum(teams) - teams
    return int(np.bincount(np.repeat(first_team, history.sizes()) + history.team).max())


@runtime_checkable
class RatingSystem(Protocol):
    """Frozen parameters plus one update over a slice of a history.

    `base_system.System` implements most of it for systems with a row of numbers for each player.

    Examples
    --------
    >>> isinstance(eq.make_system("glicko2"), eq.RatingSystem)
    True
    >>> eq.make_system("glicko2").name
    'glicko2'
    """

    @property
    def name(self) -> str:
        """Name in the registry."""
        ...

    @property
    def capabilities(self) -> Capabilities:
        """Which matches this system can rate with these parameters, and what it uses of them."""
        ...

    @property
    def trace_columns(self) -> Sequence[str]:
        """Columns of its own that it adds to a trace."""
        ...

    def initial(self, players: int) -> State:
        """Return the state of players who have not played."""
        ...

    def run(
        self,
        state: State,
        history: History,
        start: int,
        stop: int,
        trace: TraceColumns | None = None,
        workers: Workers | None = None,
    ) -> None:
        """Rate matches start:stop in order; only the rows of their players change.

        Raises : ConvergenceError; the state cannot be used after that.
        """
        ...

    def at(self, state: State, rows: Ints, time: float | None) -> RatingColumns:
        """Return players' ratings as of a time in days (None: as of their last match)."""
        ...

    def outlook(self, rating: Floats, deviation: Floats, history: History | None = None) -> Outlook:
        """Return how players with these ratings perform in a match of weight 1.

        rating, deviation : shape (n,), as of the time of the match
        history : if given, the n players are its participations, so that a home advantage counts
        """
        ...


@runtime_checkable
class ModelsDraws(Protocol):
    """A system in which two teams draw if they perform about equally.

    One with a `draw_rule` other than "constant" is also given the mean rating of the players.
    """

    @property
    def name(self) -> str:
        """Name in the registry."""
        ...

    def draw_margin(self, players: int, /, *rating: float) -> float:
        """Return the largest difference of two performances that is a draw, rating points.

        players : number of players of both teams
        rating : the mean of their ratings, if the margin depends on it
        """
        ...


def models_draws(system: object) -> TypeGuard[ModelsDraws]:
    """Return whether a system models draws, as isinstance would, in a hundredth of the time."""
    return hasattr(type(system), "draw_margin")


@runtime_checkable
class ExplainsItself(Protocol):
    """A system with its own explainer; the registry names the explainers of the other systems."""

    def explain(self, before: State, history: History, match: int, row: int) -> Explanation:
        """Return why a participation changed its player's rating; see `explain_change`."""
        ...


def own_deviations(name: str, able: Capabilities, beta: object, gamma: object) -> dict[str, float]:
    """Return the deviations of a match's own, of those that are given.

    name, able : of the system
    Raises : InvalidParameterError
    """
    deviations = {}
    for field_name, value in (("beta", beta), ("gamma", gamma)):
        if value is None:
            continue
        least, most, _ = OWN_DEVIATIONS[field_name]
        deviations[field_name] = checked_number(field_name, value, least, most)
        rule = f"left out, because {name} has no {field_name} for each match"
        require(field_name in able.uses, field_name, rule, value)
    return deviations


def no_advantage(system: RatingSystem) -> InvalidParameterError:
    """Return the error for a team at home where the system does not count it."""
    if "at_home" not in system.capabilities.needed:
        return InvalidParameterError(f"{system.name} has no home advantage: leave out home")
    return InvalidParameterError(
        f"{system.name} has no home advantage with these parameters: leave out home, or rate the "
        "matches with home_advantage or learn_home_advantage"
    )
