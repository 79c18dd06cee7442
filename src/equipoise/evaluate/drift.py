"""Drift audit: how the level of a system's ratings changes through a history, and why.

The history is replayed once, in pieces. At evenly spread points the audit records three sums:

- The *points created*: the sum of all changes of rating. A system whose matches only transfer
  points creates none.
- The parts of the change of the active players' mean rating. A change in a match moves the mean by
  that change over the number of active players. A player who becomes active or ceases to be active
  moves it by being counted or not. The three parts add up to the total change. Matches are booked
  one after the other, so every part belongs to the time at which it happened.
- The part due to scaling by performance (READINGS A11): of each change, the difference from the
  change in the same match with factor 1. A system that scales changes reports the latter in the
  column `rating_unscaled` of its trace, so bounds and shares need no special treatment. Later
  effects of a rating moved by performance count as results; a replay without scaling shows both
  together.

It also follows where newcomers enter (docs/guides/entry.md): the ratings with which they enter, how
they perform in their first match, and what matches hand out to hold the level. A first
performance is that of the trace, in systems that infer one; else it is the entry plus c/w, the
change of the rating over the share of the variance that the match removed. The mean over newcomers
weights c/w by w, because a match that says little takes c/w far from the entry.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from equipoise._jit import inner_kernel, kernel
from equipoise.arguments import checks_arguments
from equipoise.arrays import Flags, Floats, Ids, Ints
from equipoise.data.audits import ActivityWindow, Drift, quotient
from equipoise.data.history import MICROSECONDS_PER_DAY, History
from equipoise.data.times import table_times
from equipoise.errors import InvalidDataError, InvalidParameterError, require
from equipoise.numeric.workers import Workers
from equipoise.rating.base_system import System
from equipoise.rating.newcomers import ENTRY, LEVEL, LEVEL_ADJUSTMENT, MU, TARGET, WEIGHT
from equipoise.rating.replay import PIECE, TRACE_COLUMNS, check_fit, days, pieces
from equipoise.rating.system import RatingSystem

#: Indices of the sums of a pool: number of active players, sum and mean of their ratings, the parts
#: of the change of that mean, players so far, rated matches, points created, points created by
#: performance, points handed out to hold the level, ratings with which newcomers entered, their
#: first performances times weights, these weights, and the mean before the first match.
(
    ACTIVE,
    TOTAL,
    MEAN,
    BY_MATCHES,
    BY_ENTERING,
    BY_LEAVING,
    BY_PERFORMANCE,
    BY_LEVEL,
    PLAYERS,
    RATED,
    CREATED,
    CREATED_BY_PERFORMANCE,
    HANDED,
    ENTRIES,
    FIRST_PULL,
    FIRST_SHARE,
    START,
) = range(17)


class Pool(NamedTuple):
    """The players, arrays of shape (P,), and the sums over all of them.

    last : place of the last rated match; below 0 before the first
    active : whether the player is active now
    rating : after the last rated match
    sums : shape (17,)
    """

    last: Ints
    active: Flags
    rating: Floats
    sums: Floats


class Played(NamedTuple):
    """The matches of a history.

    offsets : shape (M + 1,); player : shape (N,)
    place : shape (M,), position of each match: microseconds since the first match, or its number
    reach : a player is active while the last match is at most this far away
    """

    offsets: Ints
    player: Ints
    place: Ints
    reach: int


class Changes(NamedTuple):
    """Ratings of a piece of matches, shape (n,) each; NaN if a participation is not rated.

    handed : part of the change that holds the level
    pull, share : of a newcomer, the first performance times its weight, and this weight
    """

    before: Floats
    after: Floats
    unscaled: Floats
    handed: Floats
    pull: Floats
    share: Floats


@inner_kernel
def _settle(pool: Pool, part: int) -> None:
    """Update the mean, and add its change to one of the three parts."""
    if pool.sums[ACTIVE] > 0.0:
        mean = pool.sums[TOTAL] / pool.sums[ACTIVE]
        pool.sums[part] += mean - pool.sums[MEAN]
        pool.sums[MEAN] = mean


@inner_kernel
def _retire(pool: Pool, played: Played, first: int, now: int) -> int:
    """Deactivate the players whose last match is too long ago at the position `now`.

    first : first match that may have such players; returns the next such match
    """
    while first < len(played.place) and played.place[first] + played.reach < now:
        for i in range(played.offsets[first], played.offsets[first + 1]):
            p = played.player[i]
            if pool.active[p] and pool.last[p] == played.place[first]:
                pool.active[p] = False
                pool.sums[ACTIVE] -= 1.0
                pool.sums[TOTAL] -= pool.rating[p]
        first += 1
    if pool.sums[ACTIVE] == 0.0:
        # No player is left, so the rounding error is removed too.
        pool.sums[TOTAL] = 0.0
    _settle(pool, BY_LEAVING)
    return first


@inner_kernel
def _enter(pool: Pool, changes: Changes, k: int, p: int) -> None:
    """Activate a player of a match, with the rating before it."""
    if not pool.active[p]:
        pool.active[p] = True
        pool.sums[ACTIVE] += 1.0
        pool.sums[TOTAL] += changes.before[k]
        pool.rating[p] = changes.before[k]
    if pool.last[p] < 0:
        pool.sums[PLAYERS] += 1.0
        pool.sums[ENTRIES] += changes.before[k]
        pool.sums[FIRST_PULL] += changes.pull[k]
        pool.sums[FIRST_SHARE] += changes.share[k]


@inner_kernel
def _change(pool: Pool, changes: Changes, k: int, p: int) -> None:
    """Book the change of a player's rating in a match."""
    pool.sums[TOTAL] += changes.after[k] - pool.rating[p]
    pool.rating[p] = changes.after[k]
    pool.sums[CREATED] += changes.after[k] - changes.before[k]
    by_performance = changes.after[k] - changes.unscaled[k]
    pool.sums[CREATED_BY_PERFORMANCE] += by_performance
    # All players of the match are active by now.
    pool.sums[BY_PERFORMANCE] += by_performance / pool.sums[ACTIVE]
    handed = changes.handed[k]
    if handed > 0.0:
        pool.sums[HANDED] += handed
        pool.sums[BY_LEVEL] += handed / pool.sums[ACTIVE]


@kernel
def follow(
    pool: Pool, played: Played, changes: Changes, start: int, stop: int, retired: int
) -> int:
    """Book matches start:stop in order, whose ratings are in `changes`; return matches retired."""
    low = played.offsets[start]
    for m in range(start, stop):
        retired = _retire(pool, played, retired, played.place[m])
        begin, end = played.offsets[m], played.offsets[m + 1]
        rated = 0
        for i in range(begin, end):
            if not np.isnan(changes.after[i - low]):
                rated += 1
                _enter(pool, changes, i - low, played.player[i])
        if rated == 0:
            continue
        if np.isnan(pool.sums[MEAN]):
            pool.sums[MEAN] = pool.sums[START] = pool.sums[TOTAL] / pool.sums[ACTIVE]
        _settle(pool, BY_ENTERING)
        for i in range(begin, end):
            if not np.isnan(changes.after[i - low]):
                _change(pool, changes, i - low, played.player[i])
                pool.last[played.player[i]] = played.place[m]
        _settle(pool, BY_MATCHES)
        pool.sums[RATED] += 1.0
    return retired


@kernel
def retire_until(pool: Pool, played: Played, retired: int, now: int) -> int:
    """Deactivate the players who are not active at a place; return matches retired."""
    return _retire(pool, played, retired, now)


def empty_pool(players: int) -> Pool:
    """Return a pool before the first match."""
    sums = np.zeros(START + 1)
    sums[[MEAN, START]] = np.nan
    return Pool(
        last=np.full(players, -1, np.int64),
        active=np.zeros(players, np.bool_),
        rating=np.full(players, np.nan),
        sums=sums,
    )


#: Length of the window in days, if a history has times.
ACTIVE_DAYS = 90.0
#: Length of the window as a fraction of the matches, if a history has no times.
ACTIVE_SHARE = 0.1
#: Default number of points.
POINTS = 25

#: Column of a trace: the rating after the match without scaling by performance.
UNSCALED = "rating_unscaled"


#: Largest number of points; each computes the mean of all active players.
MOST_POINTS = 10_000


@checks_arguments()
def drift(
    system: RatingSystem,
    history: History,
    *,
    window: ActivityWindow | None = None,
    points: int = POINTS,
    threads: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Drift:
    """Return how a system's ratings change through a history, and why.

    window : active players have a rated match in it. None: 90 days, or without times a tenth of
        the matches
    points : number of points, evenly spread from the first match to the last: in time where the
        window is in days, else over the matches. Equal points count once
    threads : to use for large matches; never changes a number
    progress : called with (participations done, total)
    Raises : InvalidParameterError, InvalidDataError if the system cannot rate this history or
        there is no match, ConvergenceError

    Examples
    --------
    >>> league = eq.read_history("examples/league.csv")
    >>> found = eq.drift(eq.Glicko2(), league, points=5)
    >>> found.rating.round().tolist()
    [1477.0, 1491.0, 1496.0, 1491.0, 1491.0]
    """
    require(2 <= points <= MOST_POINTS, "points", f"from 2 to {MOST_POINTS:,}", points)
    window = default_window(history) if window is None else window
    check_window(window, history)
    check_fit(system, history)
    if not history.matches:
        raise InvalidDataError([], "the history has no matches")
    played = _played(history, window)
    moments = _moments(played, history, window, points)
    instants = _instants(played, history, window, moments)
    read_at = [None] * len(moments) if instants is None else [days(at) for at in instants.tolist()]
    with Workers(threads) as workers:
        replay = _DriftReplay(system, history, played, workers, progress)
        rows = [
            replay.to(moment, day) for moment, day in zip(moments.tolist(), read_at, strict=True)
        ]
    times = None if history.order is None else history.order[moments]
    if instants is not None:
        times = table_times(instants, history.time_kind)
    return _drift(system, window, times, rows)


def default_window(history: History) -> ActivityWindow:
    """Return 90 days, or if there are no times a tenth of the matches."""
    if history.time is not None:
        return ActivityWindow("days", ACTIVE_DAYS)
    return ActivityWindow("matches", max(round(ACTIVE_SHARE * history.matches), 1))


def check_window(window: ActivityWindow, history: History) -> None:
    """Refuse a window that does not fit this history. Raises : InvalidParameterError."""
    if window.unit == "days":
        require(0 < window.length < np.inf, "active days", "positive", window.length)
        if history.time is None:
            raise InvalidParameterError(
                "active days need a history with times; this one has no time column. Count "
                "matches instead"
            )
        return
    whole = window.length >= 1 and window.length == int(window.length)
    require(whole, "active matches", "a whole number from 1", window.length)


class _Row(NamedTuple):
    """The audit at one point: sums of the pool, and means over active players and over all.

    matches : number of matches so far
    entry, entry_weight, level, target : numbers of the pool, NaN if the system has none
    """

    matches: int
    sums: Floats
    rating: float
    deviation: float
    spread: float
    rating_all: float
    entry: float
    entry_weight: float
    level: float
    target: float


class _DriftReplay:
    """A replay of a history, in memory bounded by the length of a piece."""

    def __init__(
        self,
        system: RatingSystem,
        history: History,
        played: Played,
        workers: Workers,
        progress: Callable[[int, int], None] | None,
    ) -> None:
        self._system, self._history, self._played = system, history, played
        self._workers, self._progress = workers, progress
        self._state = system.initial(history.players)
        self.pool = empty_pool(history.players)
        self._learns = bool(getattr(system, "learns_entry", False))
        self._holds = bool(getattr(system, "holds_level", False))
        self._done = self._retired = 0

    def to(self, moment: int, day: float | None) -> _Row:
        """Rate all matches up to a place, and return the audit there.

        day : date for which deviations are read
        """
        stop = int(np.searchsorted(self._played.place, moment, side="right"))
        for low, high in pieces(self._history, self._done, stop, PIECE):
            changes = self._rate(low, high)
            self._retired = follow(self.pool, self._played, changes, low, high, self._retired)
            if self._progress is not None:
                self._progress(int(self._history.offsets[high]), self._history.participations)
        self._done = stop
        self._retired = retire_until(self.pool, self._played, self._retired, moment)
        return self._row(day)

    def _rate(self, low: int, high: int) -> Changes:
        """Rate a piece and return its changes; a complete trace might not fit into memory."""
        piece = self._history.slice(low, high)
        names = (*TRACE_COLUMNS, *self._system.trace_columns)
        names += (LEVEL_ADJUSTMENT,) if self._holds else ()
        trace = {name: np.full(piece.participations, np.nan) for name in names}
        self._system.run(self._state, piece, 0, piece.matches, trace, self._workers)
        unscaled = trace.get(UNSCALED, np.full(piece.participations, np.nan))
        handed = trace.get(LEVEL_ADJUSTMENT, np.zeros(piece.participations))
        pull, share = _first_performances(self._system, piece, trace, handed)
        return Changes(trace["rating_before"], trace["rating"], unscaled, handed, pull, share)

    def _row(self, day: float | None) -> _Row:
        """Return the audit of the pool in its present state."""
        pool, rows = self.pool, np.flatnonzero(self.pool.active)
        numbers = self._state.shared.get(ENTRY, np.full(4, np.nan))
        learned, held = numbers if self._learns else _NOTHING, numbers if self._holds else _NOTHING
        fixed = float(self._system.initial(1).column("rating")[0])
        return _Row(
            matches=self._done,
            sums=pool.sums.copy(),
            rating=_mean(pool.rating[rows]),
            deviation=_mean(self._system.at(self._state, rows, day)["deviation"]),
            spread=float(np.std(pool.rating[rows])) if len(rows) else np.nan,
            rating_all=_mean(pool.rating[pool.last >= 0]),
            entry=float(learned[MU]) if self._learns else fixed,
            entry_weight=float(learned[WEIGHT]),
            level=float(held[LEVEL]),
            target=float(held[TARGET]),
        )


#: Numbers of an entry or a level that a system does not have.
_NOTHING = np.full(4, np.nan)


def _first_performances(
    system: RatingSystem, piece: History, trace: Mapping[str, Floats], handed: Floats
) -> tuple[Floats, Floats]:
    """Return (performance times weight, weight) of all participations, as if of newcomers.

    handed : part of the changes that holds the level, which says nothing about a performance
    """
    performance = trace.get("performance")
    if performance is not None:
        return performance, np.ones(len(performance))
    if not isinstance(system, System):
        nothing = np.full(piece.participations, np.nan)
        return nothing, nothing
    weight = np.repeat(piece.weights(), piece.sizes())
    share = system.first_share(trace["deviation_before"], trace["deviation"], weight)
    change = trace["rating"] - trace["rating_before"] - handed
    return trace["rating_before"] * share + change, share


def _mean(values: Floats) -> float:
    """Return the mean; NaN of nothing."""
    return float(np.mean(values)) if len(values) else np.nan


def _played(history: History, window: ActivityWindow) -> Played:
    """Return the matches on the axis along which the window is measured."""
    if window.unit == "days" and history.time is not None:
        place = history.time - history.time[0] if history.matches else history.time.copy()
        reach = round(window.length * MICROSECONDS_PER_DAY)
    else:
        # A player of a match stays active in the n - 1 matches after it, too.
        place, reach = np.arange(history.matches), int(window.length) - 1
    return Played(history.offsets, history.player, place, reach)


def _moments(played: Played, history: History, window: ActivityWindow, points: int) -> Ints:
    """Return the points: the first match, the last, and places evenly spread between them."""
    last = int(played.place[-1])
    inner = np.linspace(0.0, last, points)[1:-1].astype(np.int64)
    if window.unit == "days" and history.time is not None:
        # A point is written like the times of the history, so it must be representable.
        step = MICROSECONDS_PER_DAY if history.time_kind == "date" else 1_000_000
        inner = (inner + history.time[0]) // step * step - history.time[0]
    return np.unique(np.concatenate([[0], np.clip(inner, 0, last), [last]]))


def _instants(
    played: Played, history: History, window: ActivityWindow, moments: Ints
) -> Ints | None:
    """Return the time of every point in microseconds since 1970."""
    if history.time is None:
        return None
    return moments + history.time[0] if window.unit == "days" else history.time[moments]


def _drift(
    system: RatingSystem, window: ActivityWindow, times: Ids | None, rows: Sequence[_Row]
) -> Drift:
    """Return the audit of all points as columns."""
    sums = np.array([row.sums for row in rows]).T
    # What was added since the point before.
    added = np.diff(sums, axis=1, prepend=0.0)
    scales = UNSCALED in system.trace_columns
    holds = bool(getattr(system, "holds_level", False))
    nothing = np.full(len(rows), np.nan)
    start, players = float(sums[START, -1]), sums[PLAYERS]
    of_rows = {
        name: np.array([getattr(row, name) for row in rows], dtype=np.float64)
        for name in _Row._fields[2:]
    }
    return Drift(
        system=system.name,
        window=window,
        start=start,
        matches=np.array([row.matches for row in rows], dtype=np.int64),
        times=times,
        active=sums[ACTIVE].astype(np.int64),
        players=players.astype(np.int64),
        rated=sums[RATED].astype(np.int64),
        created=sums[CREATED],
        created_by_performance=sums[CREATED_BY_PERFORMANCE] if scales else nothing,
        by_matches=added[BY_MATCHES],
        by_entering=added[BY_ENTERING],
        by_leaving=added[BY_LEAVING],
        by_performance=added[BY_PERFORMANCE] if scales else nothing,
        by_level=added[BY_LEVEL] if holds else nothing,
        newcomers=added[PLAYERS].astype(np.int64),
        entered=quotient(added[ENTRIES], added[PLAYERS]),
        performed=quotient(added[FIRST_PULL], added[FIRST_SHARE]),
        performed_all=float(quotient(sums[FIRST_PULL, -1:], sums[FIRST_SHARE, -1:])[0]),
        brought=sums[ENTRIES] - start * players,
        handed=sums[HANDED] if holds else nothing,
        **of_rows,
    )
