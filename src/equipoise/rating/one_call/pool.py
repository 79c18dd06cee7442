"""A pool of players by name, to which matches are added one at a time.

A pool is the state of a replay: the same matches give the same `PoolState`, bit for bit, with the
sums of draws, the ids and the digests. Each match is rated on copies of its players' states, so its
cost does not depend on the size of the pool, and a match that cannot be rated changes nothing.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING, Any, Self, TypeAlias, TypeVar, Unpack, overload

import numpy as np

from equipoise.arguments import checks_arguments, is_number
from equipoise.arrays import Ints
from equipoise.data.history import MICROSECONDS_PER_DAY, History
from equipoise.data.prediction import Prediction
from equipoise.data.ratings import InitialRatings, Ratings
from equipoise.errors import (
    ConflictError,
    InvalidParameterError,
    NotFoundError,
    require,
)
from equipoise.rating.base_system import System
from equipoise.rating.match_digest import digests_of
from equipoise.rating.one_call.call import (
    Teams,
    check_named_once,
    check_used,
    coming_match,
    flat_teams,
    match_of,
    no_time,
    refuse_in_pool,
    words_of,
)
from equipoise.rating.one_call.methods import (
    MatchArguments,
    PlayerValues,
    Result,
)
from equipoise.rating.one_call.rating import Rating, facts_of, microseconds_of, time_of
from equipoise.rating.one_match import OneMatch, Workspaces, history_of, ids_of, numbers_of
from equipoise.rating.pool_state import (
    PoolState,
    check_ids,
    other_system,
)
from equipoise.rating.predicting import predicted
from equipoise.rating.replay import Replay, known_pool, ratings_of
from equipoise.rating.state import State, start_counting
from equipoise.rating.state import draw_rate as draw_rate_of
from equipoise.wording import counted, did_you_mean

if TYPE_CHECKING:
    import polars as pl

_Name = TypeVar("_Name", str, int)

#: A known rating of a player: alone, with the deviation, or a `Rating`, of which those two are
#: taken.
Known: TypeAlias = float | tuple[float, float] | Rating

#: Matches that are noted before their digests are calculated.
MOST_NOTED = 500

#: Players for whom there is room at first; it doubles.
_ROOM = 64


class PoolMatch(MatchArguments, total=False):
    """What a call may say of a match of a pool; see `Pool.rate`."""

    match: str | int | None
    role: Sequence[Any] | Mapping[Any, Any] | None


class Pool:
    """The ratings of players by name, kept from match to match.

    A player who is not known yet is a newcomer. Names are all text or all whole numbers.

    Examples
    --------
    >>> import equipoise as eq
    >>> pool = eq.Pool(eq.Glicko2())
    >>> pool.rate(["ada", "bo"])["ada"]
    <Rating 1662.3, deviation 290.3, glicko2>
    >>> pool["bo"].matches, len(pool), "cy" in pool
    (1, 2, False)
    """

    @checks_arguments("initial")
    def __init__(self, system: System, *, initial: Mapping[_Name, Known] | None = None) -> None:
        """Make a pool without matches.

        system : the rating system with its parameters
        initial : known ratings with which players begin: a rating, (rating, deviation), or a
            `Rating` of this system, of which the rating and the deviation alone are taken
        Raises : InvalidParameterError
        """
        self._begin(PoolState.new(system) if initial is None else _seeded(system, initial))

    def _begin(self, start: PoolState) -> None:
        """Take over a state, which is copied."""
        if start.last_order is not None:
            raise InvalidParameterError(
                "the matches of this state are ordered by number, not by date, which a Pool does "
                "not support: continue it with equipoise.replay"
            )
        if not isinstance(start.system, System):
            raise InvalidParameterError(
                f"{start.system.name} cannot be used in a Pool: use equipoise.replay"
            )
        self._start = start
        self._system = start.system
        self._facts = facts_of(start.system)
        self._names: list[Any] = start.player_ids.tolist()
        self._rows = {name: row for row, name in enumerate(self._names)}
        self._state = start.state.copy() if self._names else start.system.initial(0)
        start_counting(self._state)
        self._rated: list[Any] = start.rated.tolist()
        self._ids = {str(player) for player in self._rated}
        self._digests = Digesting(start.digests.tolist(), self._facts.able.uses)
        self._workspaces = Workspaces(self._system, self._state.shared)
        #: Whether a match needs no history: no records of performances, and no statistics of roles.
        self._quick = (
            self._workspaces.usable
            and self._state.runs is None
            and "role" not in self._facts.able.uses
        )
        self._newcomer = self._system.initial(1).table[0]
        self._last = start.last_time
        self._kind = start.time_kind if start.last_time is not None else "seconds"

    @classmethod
    @checks_arguments()
    def of(cls, state: PoolState | Replay) -> Self:
        """Return a pool that goes on from a state or a replay, which do not change.

        Raises : InvalidParameterError for a state that was rated by an order without dates
        """
        pool = cls.__new__(cls)
        pool._begin(state.state if isinstance(state, Replay) else state)
        return pool

    @classmethod
    @checks_arguments()
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return a pool from the file of a state. Raises : InvalidDataError, NotFoundError."""
        return cls.of(PoolState.load(path))

    @checks_arguments()
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state to one .npz file, completely or not at all.

        `load` reads it, and so do `PoolState.load` and `equipoise rate --state`.
        """
        self.state.save(path)

    def __getstate__(self) -> dict[str, Any]:
        """Return the pool without what is made anew: the memory that compiled kernels write to."""
        return {
            name: value
            for name, value in self.__dict__.items()
            if name not in ("_workspaces", "_facts")
        }

    def __setstate__(self, saved: dict[str, Any]) -> None:
        self.__dict__.update(saved)
        self._facts = facts_of(self._system)
        self._workspaces = Workspaces(self._system, self._state.shared)

    def __copy__(self) -> Self:
        # Two pools that share a table would rate each other's matches.
        return deepcopy(self)

    @property
    def system(self) -> System:
        """The system with its parameters."""
        return self._system

    @property
    def state(self) -> PoolState:
        """A copy of the state, as a replay of the same matches returns it."""
        start = self._start
        return PoolState(
            system=self._system,
            player_ids=ids_of(self._names),
            state=self._state.take(np.arange(len(self._names))),
            rated=ids_of(self._rated),
            last_time=self._last,
            time_kind=self._kind,
            digests=np.array(self._digests.all(), np.uint64),
            comparable=start.comparable,
            known_ratings=start.known_ratings,
        )

    @property
    def ratings(self) -> Ratings:
        """The table of all ratings, as of each player's last match."""
        return ratings_of(self.state)

    @property
    def matches(self) -> int:
        """The number of matches, with those that changed nothing."""
        return len(self._rated)

    @property
    def draw_rate(self) -> float | None:
        """How likely equal teams draw, estimated from the draws of two teams in the pool.

        None with fewer than 50 matches of two teams. A system that models draws predicts without
        it.
        """
        return draw_rate_of(self._state)

    def __getitem__(self, player: object) -> Rating:
        """Return a player's rating. Raises : NotFoundError."""
        row = self._rows.get(player)
        if row is None:
            hint = did_you_mean([player], self._names)
            count = counted(len(self._names), "player")
            raise NotFoundError(f"no rated player {player!r} in this pool ({count}){hint}")
        return self._rating_of(np.array([row]))[0]

    def __contains__(self, player: object) -> bool:
        return player in self._rows

    def __iter__(self) -> Iterator[Any]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        players = counted(len(self._names), "player")
        matches = counted(len(self._rated), "match", "matches")
        return f"<Pool of {players}, {matches}, {self._system.name}>"

    def _repr_html_(self) -> str:
        """Return the table of ratings that a notebook shows."""
        return self.ratings._repr_html_()

    def head(self, rows: int = 5) -> pl.DataFrame:
        """Return the first rows of the table of ratings, the highest first, as a data frame.

        Raises : InvalidParameterError
        """
        return self.ratings.head(rows)

    @overload
    def rate(  # type: ignore[overload-overlap]  # a name is a sequence of names
        self,
        teams: Sequence[_Name],
        **match: Unpack[PoolMatch],
    ) -> dict[_Name, Rating]: ...

    @overload
    def rate(
        self,
        teams: Sequence[Sequence[_Name]],
        **match: Unpack[PoolMatch],
    ) -> list[dict[_Name, Rating]]: ...

    def rate(
        self,
        teams: Any,
        *,
        ranks: Result | None = None,
        scores: Result | None = None,
        match: str | int | None = None,
        weight: float = 1.0,
        time: date | float | None = None,
        performance: PlayerValues | None = None,
        share: PlayerValues | None = None,
        role: Sequence[Any] | Mapping[Any, Any] | None = None,
        performance_ceiling: float | None = None,
        beta: float | None = None,
        gamma: float | None = None,
        home: int | None = None,
        context: str | None = None,
        draw_probability: object = None,
    ) -> Any:
        """Rate a match, keep the new ratings, and return those of its players by name.

        Unknown players are newcomers. An error changes nothing.

        teams : names of single players, `["ada", "bo"]`, or of teams, `[["ada", "bo"], ["cy"]]`
        match : id of the match; None: the number of matches with it
        role : of each player, in the shape of the teams (team-glicko2 with roles)
        ranks, scores, weight, time, performance, share, performance_ceiling, beta, gamma, home,
            context : as for `System.rate`; times are given for all matches or for none, and never
            decrease
        draw_probability : refused, because a replay would not know it; a named rule of the system,
            `draw_rule`, serves pools
        Raises : InvalidParameterError; ConflictError for a match that has been rated or is older
            than the last; ConvergenceError

        Examples
        --------
        >>> import equipoise as eq
        >>> pool = eq.Pool(eq.TrueSkill())
        >>> red, blue = pool.rate([["ada", "bo"], ["cy", "di"]], scores=[3, 1], match="final")
        >>> red["ada"]
        <Rating 1630.5, deviation 326.5, trueskill>
        """
        lobby = self._teams(teams)
        refuse_in_pool(draw_probability)
        able, at, roles = self._facts.able, self._time(time), self._roles(lobby, role)
        told = ranks, scores, weight, performance, share, performance_ceiling, beta, gamma, home
        rated = match_of(self._system, able, lobby, at, *told, context, roles)
        number = self._match_id(match)
        if self._quick and not rated.has_own_deviations and "score" not in able.uses:
            return lobby.shaped(self._add_quickly(number, rated, lobby.players))
        return lobby.shaped(self._add(history_of([rated], [lobby.players], [number])))

    def predict(
        self,
        teams: Sequence[_Name] | Sequence[Sequence[_Name]],
        *,
        time: date | float | None = None,
        home: int | None = None,
        draw_rate: float | None = None,
        context: str | None = None,
    ) -> Prediction:
        """Return what the system expects of a match; unknown players are newcomers, and named.

        A system that does not model draws estimates their probability from the earlier draws of two
        teams, once there have been 50 such matches.

        time : of the match; None: the time of the last match of the pool
        home : number of the team at home, where home is worth something
        draw_rate : how likely equal teams draw, instead of `Pool.draw_rate`
        context : of the match, as for `rate`
        Raises : InvalidParameterError

        Examples
        --------
        >>> import equipoise as eq
        >>> pool = eq.Pool(eq.Elo(), initial={"ada": 1600, "bo": 1500})
        >>> pool.predict(["ada", "bo"]).expected
        (0.6400649998028851, 0.3599350001971149)
        """
        lobby = self._teams(teams)
        at = self._last
        if time is not None:
            at = microseconds_of(time)
            if self._last is not None and at < self._last:
                last, asked = (
                    time_of(moment / MICROSECONDS_PER_DAY) for moment in (self._last, at)
                )
                raise InvalidParameterError(
                    "time must not be before the last match of the pool, which was at "
                    f"{last.isoformat()}; got {asked.isoformat()}"
                )
        system, able, sizes = self._system, self._facts.able, lobby.sizes
        match = coming_match(system, able, sizes, at, home=home, context=context)
        state = self._players(lobby.players)
        new = tuple(name for name in lobby.players if name not in self._rows)
        prediction = predicted(system, state, match, draw_rate, able=able)
        return replace(prediction, newcomers=new)

    def _teams(self, teams: Any) -> Teams:
        """Return teams of names, checked. Raises : InvalidParameterError."""
        lobby = flat_teams(teams)
        if lobby.names is not None:
            raise InvalidParameterError(
                "teams must be names, such as [['ada', 'bo'], ['cy']]: a Pool knows their ratings"
            )
        check_ids("teams", lobby.players)
        _check_not_empty("teams", lobby.players)
        players = [
            player.item() if isinstance(player, np.integer) else player for player in lobby.players
        ]
        check_named_once(players)
        for name in players:
            if isinstance(name, str) != isinstance([*self._names[:1], *players][0], str):
                other = [*self._names[:1], *players][0]
                raise InvalidParameterError(
                    "names of players must be all text or all whole numbers in a pool; got "
                    f"{name!r} beside {other!r}"
                )
        return lobby._replace(players=players, names=players)

    def _match_id(self, match: object) -> str | int:
        """Return the id of the next match. Raises : InvalidParameterError, ConflictError."""
        if match is None:
            number = len(self._rated) + 1
            while str(number) in self._ids:
                number += 1
            return str(number) if self._rated and isinstance(self._rated[0], str) else number
        fits = isinstance(match, str | int | np.integer) and not isinstance(match, bool)
        require(fits, "match", "text or a whole number", match)
        if str(match) in self._ids:
            raise ConflictError(f"match {match} has been rated already")
        return match if isinstance(match, str) else int(str(match))

    def _time(self, time: date | float | None) -> int | None:
        """Return the time of the next match in microseconds since 1970.

        Raises : InvalidParameterError, ConflictError
        """
        if time is None:
            if self._facts.able.needs_time:
                raise no_time(self._system)
            if self._last is not None:
                raise InvalidParameterError(
                    "time must be given, because the earlier matches of the pool have times"
                )
            return None
        at = microseconds_of(time)
        if self._rated and self._last is None:
            raise InvalidParameterError(
                "time must be left out, because the earlier matches of the pool have none; got "
                f"{time!r}"
            )
        if self._last is not None and at < self._last:
            last = time_of(self._last / MICROSECONDS_PER_DAY).isoformat()
            raise ConflictError(
                f"the match is older than the last match of the pool, which was at {last}: rate "
                "the complete history again with equipoise.replay"
            )
        return at

    def _roles(self, lobby: Teams, role: Any) -> list[str]:
        """Return the role of each player, where it counts. Raises : InvalidParameterError."""
        system, able = self._system, self._facts.able
        if role is not None:
            check_used(system, able, "role", role)
            return words_of("role", role, lobby)
        if "role" in able.uses:
            raise InvalidParameterError(
                f"{system.name} needs the role of each player with these parameters: give role"
            )
        return []

    def _add_quickly(
        self, number: str | int, match: OneMatch, names: Sequence[Any]
    ) -> list[Rating]:
        """Rate a match in the memory of earlier ones, keep it, and return its players' ratings."""
        rows = [self._rows.get(name, -1) for name in names]
        sizes = tuple(match.sizes)
        workspace = self._workspaces.take(sizes)
        players = workspace.state.table
        # The last row of the pool's table, if it has one, stands for a newcomer at first.
        if self._state.players:
            np.take(self._state.table, rows, axis=0, out=players, mode="wrap")
        if -1 in rows:
            for i, row in enumerate(rows):
                if row < 0:
                    players[i] = self._newcomer
        shared = self._state.shared
        before = [(name, values.copy()) for name, values in shared.items()]
        try:
            after = list(workspace.rate_rows(match))
        except BaseException:
            for name, values in before:
                shared[name][:] = values
            raise
        # Nothing can fail from here on.
        if -1 in rows:
            self._enter(list(names))
            rows = [self._rows[name] for name in names]
        self._state.table[rows] = players
        self._workspaces.give_back(sizes, workspace)
        self._rated.append(number)
        self._ids.add(str(number))
        self._digests.note(match, names)
        if match.time is not None:
            self._last, self._kind = match.time, "datetime"
        return [Rating._of(self._facts, (row, ())) for row in after]

    def _add(self, history: History) -> list[Rating]:
        """Rate the match of a history on copies, keep it, and return its players' ratings."""
        names = history.player_ids.tolist()
        part = self._players(names)
        self._system.run(part, history, 0, 1)
        self._digests.add(history)
        # Nothing can fail from here on.
        self._enter(names)
        self._state.put(np.array([self._rows[name] for name in names], np.int64), part)
        self._rated += history.match_ids.tolist()
        self._ids.add(str(self._rated[-1]))
        if history.time is not None:
            self._last, self._kind = int(history.time[0]), history.time_kind
        return Rating._each(self._facts, numbers_of(part))

    def _players(self, names: Sequence[Any]) -> State:
        """Return a copy of the state of players, of whom some may be newcomers."""
        known = np.array([self._rows.get(name, -1) for name in names], np.int64)
        part, known_rows = self._system.initial(len(names)), np.flatnonzero(known >= 0)
        part.put(known_rows, self._state.take(known[known_rows]))
        return part

    def _enter(self, names: list[Any]) -> None:
        """Give new players a row, with room for later ones."""
        for name in names:
            if name not in self._rows:
                self._rows[name] = len(self._names)
                self._names.append(name)
        if len(self._names) > self._state.players:
            self._state.grow(max(_ROOM, 2 * len(self._names)))

    def _rating_of(self, rows: Ints) -> list[Rating]:
        """Return the ratings of players."""
        part = self._state.take(rows)
        return Rating._each(self._facts, numbers_of(part))


def _seeded(system: System, initial: Mapping[Any, Any]) -> PoolState:
    """Return the state of players with known ratings. Raises : InvalidParameterError."""
    if not isinstance(initial, Mapping):
        raise InvalidParameterError(
            f"initial must be a dict of names to ratings; got {type(initial).__name__}"
        )
    names = list(initial)
    check_ids("initial", names)
    _check_not_empty("initial", names)
    if len({isinstance(name, str) for name in names}) > 1:
        raise InvalidParameterError("the names in initial must be all text or all whole numbers")
    pairs = [_pair(system, rating) for rating in initial.values()]
    for (name, rating), pair in zip(initial.items(), pairs, strict=True):
        numbers = len(pair) == 2 and all(map(is_number, pair))
        known = numbers and (pair is not rating or not math.isnan(pair[1]))
        require(known, "initial", "ratings, or pairs of rating and deviation", {name: pair})
    seeds = InitialRatings(
        player_ids=ids_of(names),
        rating=np.array([float(rating) for rating, _ in pairs]),
        deviation=np.array([float(deviation) for _, deviation in pairs]),
    )
    return known_pool(system, seeds)


def _pair(system: System, known: Any) -> Any:
    """Return (rating, deviation) of a known rating; NaN is the deviation of newcomers.

    Raises : InvalidParameterError for a `Rating` of another system
    """
    if isinstance(known, Rating):
        if known.system != system:
            raise InvalidParameterError(other_system(known.system, system, "rating"))
        return known.rating, known.deviation
    return known if isinstance(known, tuple | list) else (known, math.nan)


def _check_not_empty(argument: str, names: Sequence[Any]) -> None:
    """Refuse an empty name, which a form left out. Raises : InvalidParameterError."""
    if "" in names:
        raise InvalidParameterError(f"{argument} must not name a player with empty text; got ''")


class Digesting:
    """The digests of matches in the order of rating, calculated for many when they are asked for.

    The digest of one match takes ten times as long as rating it, and that of a hundred matches
    together about as long as of one. So a pool notes its matches and leaves the digests for later.

    uses : columns that the system uses (`Capabilities.uses`)
    """

    __slots__ = ("_done", "_noted", "_players", "_uses")

    def __init__(self, done: list[int], uses: frozenset[str]) -> None:
        self._done, self._uses = done, uses
        self._noted: list[OneMatch] = []
        self._players: list[Sequence[Any]] = []

    def note(self, match: OneMatch, players: Sequence[Any]) -> None:
        """Note the next match, and the names of its players."""
        self._noted.append(match)
        self._players.append(players)
        if len(self._noted) >= MOST_NOTED:
            self.all()

    def add(self, history: History) -> None:
        """Calculate the digests of the next matches now."""
        self.all().extend(digests_of(history, self._uses).tolist())

    def all(self) -> list[int]:
        """Return the digests of all matches."""
        if self._noted:
            # Times, and the home side, are given for all matches of a pool or for none.
            history = history_of(self._noted, self._players)
            self._done += digests_of(history, self._uses).tolist()
            self._noted, self._players = [], []
        return self._done
