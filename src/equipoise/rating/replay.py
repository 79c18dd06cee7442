"""Rating a history by a system, from the start or from the state of a pool; predicting matches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from equipoise.arguments import checks_arguments
from equipoise.arrays import Floats, Ids, Ints
from equipoise.data.history import (
    FARTHEST_CEILING,
    LARGEST_PERFORMANCE,
    MICROSECONDS_PER_DAY,
    MOST_WEIGHT,
    OWN_DEVIATIONS,
    SIDE,
    TOO_FAR,
    TOO_HEAVY,
    TOO_LARGE,
    TRUTH,
    History,
)
from equipoise.data.prediction import Prediction
from equipoise.data.ratings import InitialRatings, Ratings, Trace
from equipoise.data.times import days_of
from equipoise.display import Tabular, draw
from equipoise.errors import InvalidDataError, InvalidParameterError, Problem, require
from equipoise.numeric.workers import Workers
from equipoise.rating.draws import start_counting
from equipoise.rating.entry.entering import LEVEL_ADJUSTMENT
from equipoise.rating.federations.facts import stones_on_both_sides
from equipoise.rating.player_state import known_state
from equipoise.rating.pool_state import PoolState, other_system
from equipoise.rating.predicting.lineup import lineup, team_prediction
from equipoise.rating.registry import SYSTEMS, make_system, unsuited
from equipoise.rating.resuming import resume, state_after
from equipoise.rating.system import TRACE_COLUMNS as TRACE_COLUMNS
from equipoise.rating.system import RatingSystem
from equipoise.wording import counted

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

#: Participations rated between two reports of progress.
PIECE = 100_000


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Replay(Tabular):
    """The result of a replay.

    ratings : of all players of the pool
    state : from which a later replay can continue
    trace : the changes of every match, on request
    rated_matches, rated_participations : numbers rated by this replay
    known_matches : number of matches that the pool had rated or skipped before
    unchecked_matches : number of these that could not be compared with the pool
    later_matches : number of matches of the pool after the end of the history
    all_tied : ids of matches skipped because all tied (READINGS B7)
    single : number of matches of one player or one team, which change nothing
    unused : columns of the history that the system does not use

    Examples
    --------
    >>> league = eq.read_history("examples/league.csv")
    >>> done = eq.replay(eq.Elo(), league, trace=True)
    >>> done
    <Replay: 1,080 matches rated by elo; 6 players, the best ada with 1,835.5>
    >>> done.ratings.head(1)["player"].item()
    'ada'
    """

    ratings: Ratings
    state: PoolState
    trace: Trace | None
    rated_matches: int
    rated_participations: int
    known_matches: int
    all_tied: Ids
    single: int
    unchecked_matches: int = 0
    later_matches: int = 0
    unused: tuple[str, ...] = ()

    def to_polars(self) -> pl.DataFrame:
        """Return the table of the ratings, best first; `ratings` has the same."""
        return self.ratings.to_polars()

    def file_table(self) -> pl.DataFrame:
        """Return the same table for a file, with times of the kind that came in."""
        return self.ratings.file_table()

    def plot(self, *players: object, title: str | None = None) -> Figure:
        """Return a figure of matplotlib: ratings over time, or their distribution without a trace.

        players : ids of those whose ratings are drawn; without any the three with the best last
            rating. In a distribution they are marked
        Raises : NotFoundError; EquipoiseError without matplotlib
        """
        value = self.ratings if self.trace is None else self.trace
        return draw(value, players, title=title, system=self.state.system.name)

    def _in_words(self) -> str:
        matches = counted(self.rated_matches, "match", "matches")
        known = f" after {self.known_matches:,} known ones" if self.known_matches else ""
        return f"{matches} rated by {self.state.system.name}{known}; {self.ratings._in_words()}"


@checks_arguments()
def replay(
    system: RatingSystem,
    history: History,
    *,
    state: PoolState | None = None,
    restart: bool = False,
    initial: InitialRatings | Ratings | None = None,
    trace: bool = False,
    at: float | date | None = None,
    threads: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Replay:
    """Rate a history.

    state : the state to continue from, which is not changed; the history has all matches or only
        the new ones
    restart : rate from the start although there is a state; the history must have all matches
        that the state has rated
    initial : known ratings with which players begin; all others are newcomers
    trace : whether to keep the changes of every match for each of its players
    at : time for which ratings are read, a date or a date-time (UTC without a zone) or days since
        1970; None: as of the last matches
    threads : number of threads for large matches; it never changes a result
    progress : called with (participations done, total)
    Raises : InvalidDataError if the system cannot rate this history; ConflictError if a match
        that the state has rated has changed or is missing, or if a new match is older than those;
        ConvergenceError

    Examples
    --------
    >>> league = eq.read_history("examples/league.csv")
    >>> half = eq.replay(eq.Glicko2(), league.slice(0, 540))
    >>> done = eq.replay(eq.Glicko2(), league, state=half.state)
    >>> done.known_matches, done.rated_matches
    (540, 540)
    """
    check_fit(system, history)
    known = starting_pool(system, initial, history, None if restart else state)
    pool = (None if restart else known) or state or known or PoolState.new(system)
    check_system(pool, system)
    resumed = resume(pool, history, restart=restart, start=known)
    pool, history, start = resumed.pool, resumed.history, resumed.start
    going_on = pool.state.copy() if len(pool.player_ids) else system.initial(0)
    going_on.grow(len(resumed.player_ids))
    start_counting(going_on)
    columns = _empty_trace(system, history) if trace else None
    with Workers(threads) as workers:
        for low, high in pieces(history, start, history.matches):
            system.run(going_on, history, low, high, columns, workers)
            if hasattr(system, "check_ratings"):
                system.check_ratings(going_on.column("rating"), history)
            if progress is not None:
                done = int(history.offsets[high] - history.offsets[start])
                progress(done, int(history.participations - history.offsets[start]))
    after = state_after(resumed)
    after.state = going_on
    tied, single = unrated_matches(system, history, start)
    after.player_order = _player_order(pool, history, len(resumed.player_ids), start, tied)
    rated = history.matches - start - len(tied) - single
    gone = int(np.isin(history.match_rows()[history.offsets[start] :], tied).sum())
    return Replay(
        ratings=ratings_of(after, days_of(at)),
        state=after,
        trace=None if columns is None else Trace(history, columns),
        rated_matches=rated,
        rated_participations=int(history.participations - history.offsets[start]) - gone,
        known_matches=start,
        all_tied=history.match_ids[tied],
        single=single,
        unchecked_matches=resumed.unchecked,
        later_matches=resumed.later,
        unused=tuple(system.capabilities.unused(history)),
    )


def starting_pool(
    system: RatingSystem,
    initial: InitialRatings | Ratings | None,
    history: History | None = None,
    state: PoolState | None = None,
) -> PoolState | None:
    """Return the pool before its first match, with players of known ratings; None without any.

    history : that will be rated; the ids get the type of its ids
    state : that would be continued, which must not have rated a match
    Raises : InvalidParameterError
    """
    if initial is None:
        return None
    if state is not None and (len(state.rated) or len(state.player_ids)):
        raise InvalidParameterError(
            "initial ratings come before the first match, and the state to resume has rated "
            f"{counted(len(state.rated), 'match', 'matches')}: leave out --initial (in Python "
            "initial=), or rate from the beginning"
        )
    return known_pool(system, initial, history)


def known_pool(
    system: RatingSystem, initial: InitialRatings | Ratings, history: History | None = None
) -> PoolState:
    """Return the pool before its first match, of players with known ratings.

    history : that will be rated; the ids get the type of its ids
    Raises : InvalidParameterError
    """
    ids = initial.player_ids
    if history is not None and history.player_ids.dtype == object:
        ids = np.array([str(one) for one in ids.tolist()], dtype=object)
    elif history is not None and ids.dtype == object:
        wrong = [one for one in ids.tolist() if not str(one).lstrip("-").isdecimal()]
        if wrong:
            rule = "whole numbers, as the players of the history are"
            require(False, "the players of the initial ratings", rule, wrong[0])
        ids = np.array([int(one) for one in ids.tolist()], dtype=np.int64)
    return PoolState(
        system=system,
        player_ids=ids,
        state=known_state(system, initial),
        rated=np.zeros(0, np.int64 if history is None else history.match_ids.dtype),
        time_kind="seconds" if history is None else history.time_kind,
        known_ratings=len(ids),
    )


def check_system(pool: PoolState, system: RatingSystem) -> None:
    """Refuse a system that did not make the state. Raises : InvalidParameterError."""
    if pool.system != system:
        raise InvalidParameterError(other_system(pool.system, system))


def _check_home(system: RatingSystem, history: History) -> None:
    """Refuse unknown words for who is at home, if the system uses it. Raises : InvalidDataError.

    Logs of pools are rated without this check, so that their ratings do not change.
    """
    unknown = history.unknown_home() if "side" in system.capabilities.uses else None
    if unknown is not None:
        row, name = unknown
        match = history.match_ids[int(np.searchsorted(history.offsets, row, "right")) - 1]
        got = f"{history.attributes[name][row]!r} in match {match}"
        rule = SIDE if name == "side" else TRUTH
        raise InvalidDataError([Problem("", None, name, rule, got)])


def _check_handicap(system: RatingSystem, history: History) -> None:
    """Refuse handicap stones for both players of a match, if the system uses them.

    Logs of pools are rated without this check, so that their ratings do not change.
    Raises : InvalidDataError
    """
    if "handicap" not in system.capabilities.uses:
        return
    match = stones_on_both_sides(history)
    if match is not None:
        rule = "must be 0 or empty for one of the two players of a match"
        got = f"stones for both in match {history.match_ids[match]}"
        raise InvalidDataError([Problem("", None, "handicap", rule, got)])


def check_fit(system: RatingSystem, history: History) -> None:
    """Refuse a history that the system cannot rate; the message names systems that can.

    Raises : InvalidDataError
    """
    bounds = {
        "weight": (-MOST_WEIGHT, MOST_WEIGHT, TOO_HEAVY),
        "performance_ceiling": (-FARTHEST_CEILING, FARTHEST_CEILING, TOO_FAR),
        "performance": (-LARGEST_PERFORMANCE, LARGEST_PERFORMANCE, TOO_LARGE),
        **OWN_DEVIATIONS,
    }
    for name, (least, most, rule) in bounds.items():
        values: Floats | None = getattr(history, name)
        if values is None:
            continue
        beyond = (values < least) | (values > most)
        if beyond.any():
            first = int(np.argmax(beyond))
            match = first if name != "performance" else int(history.match_rows()[first])
            got = f"{values[first]:g} in match {history.match_ids[match]}"
            raise InvalidDataError([Problem("", None, name, rule, got)])
    _check_home(system, history)
    _check_handicap(system, history)
    misfits = system.capabilities.misfits(history)
    if not misfits:
        return
    others = {
        name: make_system(name).capabilities.misfits(history)
        for name in SYSTEMS
        if name != system.name
    }
    sentence = unsuited({system.name: misfits, **others})
    raise InvalidDataError([], sentence)


def ratings_of(pool: PoolState, at: float | None = None) -> Ratings:
    """Return the ratings of all players of a pool, as of a time in days or of their last match."""
    rows = np.arange(len(pool.player_ids))
    columns = pool.system.at(pool.state, rows, at)
    fixed = ("rating", "deviation", "matches", "last_time")
    return Ratings(
        player_ids=pool.player_ids,
        rating=columns["rating"],
        deviation=columns["deviation"],
        matches=columns["matches"].astype(np.int64),
        last_time=columns["last_time"],
        extra={name: column for name, column in columns.items() if name not in fixed},
        time_kind=pool.time_kind,
        last_order=pool.player_order,
    )


@checks_arguments()
def predict(
    system: RatingSystem,
    state: PoolState,
    teams: Sequence[Sequence[object]],
    *,
    at: float | date | None = None,
    home: int | None = None,
    initial: InitialRatings | Ratings | None = None,
    draw_rate: float | None = None,
    beta: float | None = None,
    gamma: float | None = None,
) -> Prediction:
    """Return the prediction for a match between teams of player ids.

    Players who are not in the pool are newcomers, and the prediction names them. Teams that the
    system cannot rate are compared by their mean ratings.

    initial : known ratings with which players begin, before the first match of the pool
    at : time of the match, a date or a date-time (UTC without a zone) or days since 1970; None:
        that of the pool's last match
    home : number of the team that plays at home, for systems with `home_advantage`
    draw_rate : how likely equal teams draw, for two teams in a system that does not model draws;
        None: as often as in the pool, if that has at least 50 matches of two teams
    beta, gamma : deviations of a performance and of the change of skill in this match (elo-mmr,
        elo-mmx)
    Raises : InvalidParameterError, also if the system is not the one that made the state

    Examples
    --------
    >>> league = eq.read_history("examples/league.csv")
    >>> pool = eq.replay(eq.Glicko2(), league).state
    >>> found = eq.predict(eq.Glicko2(), pool, [["ada"], ["ben"]])
    >>> [round(one, 3) for one in found.expected]
    [0.972, 0.028]
    """
    check_system(state, system)
    state = starting_pool(system, initial, state=state) or state
    field = lineup(
        system, state, teams, at=days_of(at), home=home, any_teams=True, beta=beta, gamma=gamma
    )
    now = system.at(field.state, np.arange(len(field.team)), field.day)
    match = field.match(np.arange(field.teams))
    found = team_prediction(
        system,
        field.state,
        now["rating"],
        now["deviation"],
        field.team,
        match=match,
        draw_rate=draw_rate,
    )
    return replace(found, newcomers=field.newcomers)


def _empty_trace(system: RatingSystem, history: History) -> dict[str, Floats]:
    names = (*TRACE_COLUMNS, *system.trace_columns)
    if getattr(system, "holds_level", False):
        names += (LEVEL_ADJUSTMENT,)
    return {name: np.full(history.participations, np.nan) for name in names}


def pieces(history: History, start: int, stop: int, size: int = PIECE) -> list[tuple[int, int]]:
    """Return slices of matches start:stop, of about `size` participations each."""
    if start >= stop:
        return []
    marks = np.arange(history.offsets[start], history.offsets[stop], size)
    edges = np.unique(np.searchsorted(history.offsets[start:stop], marks) + start)
    bounds = [start, *edges[(edges > start) & (edges < stop)].tolist(), stop]
    return list(pairwise(bounds))


def unrated_matches(system: RatingSystem, history: History, start: int = 0) -> tuple[Ints, int]:
    """Return (matches from `start` on that are skipped as all tied, number with a single team)."""
    later, several = np.arange(history.matches) >= start, history.teams() > 1
    tied = np.flatnonzero(later & several & ~system.capabilities.rated(history))
    return tied.astype(np.int64), int(np.sum(later & ~several))


def _player_order(
    pool: PoolState, history: History, players: int, start: int, tied: Ints
) -> Ints | None:
    """Return the number of each player's last match that counted; None without an order.

    players : number in the pool after the history; start : first match that is rated now
    tied : matches that are skipped as all tied
    """
    if history.order is None and pool.player_order is None:
        return None
    found = np.full(players, -1, np.int64)
    if pool.player_order is not None:
        found[: len(pool.player_order)] = pool.player_order
    if history.order is not None:
        counted = (np.arange(history.matches) >= start) & (history.teams() > 1)
        counted[tied] = False
        rows = np.flatnonzero(counted[history.match_rows()])
        np.maximum.at(found, history.player[rows], history.order[history.match_rows()[rows]])
    return found


def days(microseconds: int) -> float:
    """Return a time in the unit of systems: days since 1970."""
    return microseconds / MICROSECONDS_PER_DAY
