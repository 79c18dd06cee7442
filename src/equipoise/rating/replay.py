"""Replaying a history through a system: from the start, or on from where a pool stands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from equipoise.arrays import Floats, Ids, Ints
from equipoise.data.history import MICROSECONDS_PER_DAY, History
from equipoise.data.prediction import Prediction
from equipoise.data.ratings import Ratings, Trace
from equipoise.errors import InvalidDataError, InvalidParameterError
from equipoise.numeric.workers import Workers
from equipoise.rating.lineup import lineup
from equipoise.rating.pool_state import PoolState, matches_to_rate, with_known_rows
from equipoise.rating.registry import SYSTEMS, make_system, parameters_of, unsuited
from equipoise.rating.system import RatingSystem

#: Columns that every trace has; a system's own come after.
TRACE_COLUMNS = ("expected", "rating_before", "deviation_before", "rating", "deviation")

#: Participations rated between two reports of progress.
_PIECE = 100_000


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Replay:
    """What came of a replay.

    ratings : of all players of the pool
    state : to go on from
    trace : what every match did, where it was asked for
    rated_matches, rated_participations : how much was rated now
    known_matches : matches that the pool had seen before
    all_tied : ids of matches skipped because all tied (READINGS B7)
    single : number of matches of one player or one team, which change nothing
    """

    ratings: Ratings
    state: PoolState
    trace: Trace | None
    rated_matches: int
    rated_participations: int
    known_matches: int
    all_tied: Ids
    single: int


def replay(
    system: RatingSystem,
    history: History,
    *,
    state: PoolState | None = None,
    trace: bool = False,
    at: float | None = None,
    threads: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Replay:
    """Rate a history.

    state : where to go on from; the history may be the whole or the continued one, and the
        state that is passed is left as it is
    trace : keep what every match did to every player in it
    at : time in days since 1970 for which ratings are read; None: as of the last matches
    threads : to use for large matches; never changes a number
    progress : called with (participations done, participations in all)
    Raises : InvalidDataError where the system cannot rate this history, ConflictError,
        ConvergenceError
    """
    check_fit(system, history)
    pool = PoolState.new(system) if state is None else state
    check_system(pool, system)
    history, ids = with_known_rows(history, pool.player_ids)
    start, known = matches_to_rate(pool, history)
    going_on = pool.state.copy() if len(pool.player_ids) else system.initial(0)
    going_on.grow(len(ids))
    columns = _empty_trace(system, history) if trace else None
    with Workers(threads) as workers:
        for low, high in pieces(history, start, history.matches):
            system.run(going_on, history, low, high, columns, workers)
            if progress is not None:
                done = int(history.offsets[high] - history.offsets[start])
                progress(done, int(history.participations - history.offsets[start]))
    after = _state_after(pool, history, ids, start)
    after.state = going_on
    tied, single = _unrated(system, history, start)
    rated = history.matches - start - len(tied) - single
    gone = int(np.isin(history.match_rows()[history.offsets[start] :], tied).sum())
    return Replay(
        ratings=ratings_of(after, at),
        state=after,
        trace=None if columns is None else Trace(history, columns),
        rated_matches=rated,
        rated_participations=int(history.participations - history.offsets[start]) - gone,
        known_matches=known,
        all_tied=history.match_ids[tied],
        single=single,
    )


def check_system(pool: PoolState, system: RatingSystem) -> None:
    """Refuse another system than the one that made the state. Raises : InvalidParameterError."""
    if pool.system != system:
        raise InvalidParameterError(_other_system(pool.system, system))


def _other_system(saved: RatingSystem, given: RatingSystem) -> str:
    """Return a sentence on how the system differs from the one that made the state."""
    if saved.name != given.name:
        return (
            f"to go on, the system must be the same: the state is of {saved.name}, not {given.name}"
        )
    before, now = parameters_of(saved), parameters_of(given)
    changed = [
        f"{name} was {before[name]}, not {now[name]}"
        for name in before
        if before[name] != now[name]
    ]
    return f"to go on, the parameters of {saved.name} must be the same: {', '.join(changed)}"


def check_fit(system: RatingSystem, history: History) -> None:
    """Refuse a history that the system cannot rate, naming those that can.

    Raises : InvalidDataError.
    """
    misfits = system.capabilities.misfits(history)
    if not misfits:
        return
    others = {name: make_system(name).capabilities.misfits(history) for name in SYSTEMS}
    del others[system.name]
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
    )


def predict(
    system: RatingSystem,
    state: PoolState,
    teams: Sequence[Sequence[object]],
    *,
    at: float | None = None,
    home: int | None = None,
) -> Prediction:
    """Return what the system expects of a match between teams of player ids.

    at : time in days since 1970; None: as of the last matches
    home : number of the team that plays at home, for systems with `home_advantage`
    Raises : NotFoundError for players that the pool does not know, InvalidParameterError for
        teams that the system cannot rate
    """
    field = lineup(system, state, teams, at=at, home=home)
    now = system.at(state.state, field.rows, at)
    match = field.match(np.arange(field.teams))
    players = system.outlook(now["rating"], now["deviation"], match)
    outlook = players.of_teams(field.team, field.teams)
    return Prediction(expected=outlook.expected(), outlook=outlook)


def _empty_trace(system: RatingSystem, history: History) -> dict[str, Floats]:
    names = (*TRACE_COLUMNS, *system.trace_columns)
    return {name: np.full(history.participations, np.nan) for name in names}


def pieces(history: History, start: int, stop: int, size: int = _PIECE) -> list[tuple[int, int]]:
    """Return slices of matches start:stop, of about `size` participations each."""
    if start >= stop:
        return []
    marks = np.arange(history.offsets[start], history.offsets[stop], size)
    edges = np.unique(np.searchsorted(history.offsets[start:stop], marks) + start)
    bounds = [start, *edges[(edges > start) & (edges < stop)].tolist(), stop]
    return list(pairwise(bounds))


def _unrated(system: RatingSystem, history: History, start: int) -> tuple[Ints, int]:
    """Return (matches from `start` on that are skipped as all tied, number of single ones)."""
    teams = history.teams()
    later = np.arange(history.matches) >= start
    single = int(np.sum(later & (teams < 2)))
    if not system.capabilities.skips_all_tied:
        return np.zeros(0, np.int64), single
    tied = later & (teams > 2) & (history.distinct_ranks() == 1)
    return np.flatnonzero(tied).astype(np.int64), single


def _state_after(pool: PoolState, history: History, ids: Ids, start: int) -> PoolState:
    """Return the pool's identity after the history: ids and times, not yet the state."""
    new = history.match_ids[start:]
    same_kind = not len(pool.rated) or pool.rated.dtype == new.dtype
    before, new = (
        (pool.rated, new) if same_kind else (pool.rated.astype(object), new.astype(object))
    )
    last = pool.last_time
    if history.time is not None and history.matches:
        last = max(int(history.time[-1]), last or 0) if last is not None else int(history.time[-1])
    return PoolState(
        system=pool.system,
        player_ids=ids,
        state=pool.state,
        rated=np.concatenate([before, new]) if len(before) else new,
        last_time=last,
        time_kind=history.time_kind if history.time is not None else pool.time_kind,
    )


def days(microseconds: int) -> float:
    """Return a time as systems take it: days since 1970."""
    return microseconds / MICROSECONDS_PER_DAY
