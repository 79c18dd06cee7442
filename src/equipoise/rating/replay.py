"""Rating a history by a system: from the start, from the state of a pool, or in blocks.

The state keeps the ids and digests of all matches up to its last one, in order
(docs/decisions/0025). A history continues it if no match that the state has rated has changed or is
missing, and if every other match is newer.

A block is a history of its own with complete matches, and no match of it is older than one of the
block before. Ratings are those of `replay`, bit for bit. The ids and digests of matches, 16 bytes
a match, are kept on request alone: a state is saved with them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from equipoise.arguments import checks_arguments
from equipoise.arrays import Flags, Floats, Ids, Ints
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
from equipoise.data.times import TimeKind, day_in_words, days_of
from equipoise.display import Tabular, draw
from equipoise.errors import (
    ConflictError,
    InvalidDataError,
    InvalidParameterError,
    Problem,
    require,
)
from equipoise.numeric.workers import Workers
from equipoise.rating.calibration_curve import CALIBRATION, learn, start_calibrating
from equipoise.rating.federation_columns import stones_on_both_sides
from equipoise.rating.head_start import HEAD_START
from equipoise.rating.match_digest import NOT_KNOWN, Digests, digests_of
from equipoise.rating.newcomers import LEVEL_ADJUSTMENT
from equipoise.rating.one_call.call import require_context
from equipoise.rating.pool_state import PoolState, first_of, known_state, other_system
from equipoise.rating.predicting import lineup, of_match, predicted
from equipoise.rating.registry import SYSTEMS, make_system, unsuited
from equipoise.rating.state import State, start_counting
from equipoise.rating.system import TRACE_COLUMNS as TRACE_COLUMNS
from equipoise.rating.system import RatingSystem
from equipoise.wording import counted

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure


#: Matches named in an error; the others are counted.
_NAMED = 5

_RESTART = "--restart (in Python restart=True)"

#: Participations rated between two reports of progress.
PIECE = 100_000


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Resumption:
    """A history that continues a state.

    pool : the state to continue from; a new one without a saved state or after a restart
    history : with players numbered as in the pool, new players last
    player_ids : of the pool and of the history
    start : the first match to rate, which is also the number of matches that the pool knows
    digests : of all matches of the history
    unchecked : number of known matches that could not be compared
    later : for a history without new matches, number of matches of the pool after its last one
    """

    pool: PoolState
    history: History
    player_ids: Ids
    start: int
    digests: Digests
    unchecked: int = 0
    later: int = 0

    def begin(self) -> State:
        """Return a copy of the pool's state, to which the new players of the history are added."""
        pool = self.pool
        state = pool.state.copy() if len(pool.player_ids) else pool.system.initial(0)
        state.grow(len(self.player_ids))
        return state


def resume(
    system: RatingSystem,
    history: History,
    *,
    state: PoolState | None = None,
    restart: bool = False,
    initial: InitialRatings | Ratings | None = None,
) -> Resumption:
    """Return how a history continues a state, or begins a pool.

    restart : rate from the start instead
    initial : known ratings with which players begin, before the first match
    Raises : ConflictError if a match that the state has rated has changed or is missing, if another
        match is older than those, if player ids are numbers in one and text in the other, or if
        one has dates and the other an order without dates; with `restart` only if a match of the
        state is missing. InvalidParameterError if another system made the state
    """
    start = starting_pool(system, initial, history, None if restart else state)
    pool = (None if restart else start) or state or start or PoolState.new(system)
    check_system(pool, system)
    if not restart:
        _check_same_times(pool, history)
    digests = digests_of(history, system.capabilities.uses)
    if restart:
        _check_complete(pool, history, start)
        pool = PoolState.new(system) if start is None else start
    history, player_ids = with_known_rows(history, pool.player_ids)
    place = _places(pool.rated, history.match_ids)
    known = int(np.sum(place >= 0))
    _check_newer(pool, history, place, known)
    place = place[:known]
    _check_known_numbers(pool, history, place, digests[:known])
    _check_same_players(pool, history, known)
    _check_unchanged(pool, history, place, digests[:known])
    _check_none_missing(pool, history, place)
    return Resumption(
        pool=pool,
        history=history,
        player_ids=player_ids,
        start=known,
        digests=digests,
        unchecked=int(np.sum(pool.digests[place] == NOT_KNOWN)),
        later=len(pool.rated) - 1 - int(place.max()) if 0 < known == history.matches else 0,
    )


def state_after(resumed: Resumption) -> PoolState:
    """Return the pool after the history: ids, digests and times, but not yet the ratings."""
    pool, history = resumed.pool, resumed.history
    new = history.match_ids[resumed.start :]
    before = pool.rated
    if len(before) and before.dtype != new.dtype:
        before, new = before.astype(object), new.astype(object)
    last = pool.last_time
    if history.time is not None and history.matches:
        end = int(history.time[-1])
        last = end if last is None else max(end, last)
    last_order = pool.last_order
    if history.order is not None and history.matches:
        last_order = max(int(history.order[-1]), last_order or 0)
    return PoolState(
        system=pool.system,
        player_ids=resumed.player_ids,
        state=pool.state,
        rated=np.concatenate([before, new]) if len(before) else new,
        digests=np.concatenate([pool.digests, resumed.digests[resumed.start :]]),
        last_time=last,
        time_kind=history.time_kind if history.time is not None else pool.time_kind,
        last_order=last_order,
        known_ratings=pool.known_ratings,
    )


def with_known_rows(history: History, known: Ids) -> tuple[History, Ids]:
    """Return the history with players numbered as in `known`, new players last, and all ids.

    Raises : ConflictError if ids are numbers in one and text in the other
    """
    if not len(known):
        return history, history.player_ids
    if known.dtype != history.player_ids.dtype:
        raise ConflictError(
            "player ids of the saved state and of the history have different types: one has "
            "numbers, "
            f"the other text (for example {known[0]!r} and {history.player_ids[:1].tolist()})"
        )
    row_of = {player: row for row, player in enumerate(known.tolist())}
    new = [player for player in history.player_ids.tolist() if player not in row_of]
    row_of.update({player: len(known) + i for i, player in enumerate(new)})
    rows = np.array([row_of[player] for player in history.player_ids.tolist()], dtype=np.int64)
    ids = np.concatenate([known, np.array(new, dtype=known.dtype)])
    return history.with_players(ids, rows[history.player]), ids


def _check_same_times(pool: PoolState, history: History) -> None:
    """Refuse to continue dates with an order without dates, and the other way round.

    Raises : ConflictError
    """
    if pool.last_time is not None and history.order is not None:
        raise ConflictError(
            "the saved state was rated with dates, and the times of this history, "
            f"{history.order[0]} to {history.order[-1]}, are an order without dates: "
            "--time-format s reads them as seconds since 1970, as earlier versions did"
        )
    if pool.last_order is not None and history.time is not None:
        raise ConflictError(
            f"the saved state was rated by an order without dates, up to {pool.last_order}, and "
            "this history has dates: continue with the order, or rate the complete history again"
        )


def _places(rated: Ids, ids: Ids) -> Ints:
    """Return the index of each of these ids in `rated`, -1 for ids that are not there.

    A number and its text are the same id.
    """
    if not len(rated) or not len(ids):
        return np.full(len(ids), -1)
    if rated.dtype == object or ids.dtype == object:
        rated, ids = rated.astype(str), ids.astype(str)
    starts = np.flatnonzero(rated == ids[0])
    if len(starts) and np.array_equal(
        rated[starts[0] :][: len(ids)], ids[: len(rated) - starts[0]]
    ):
        # The usual case needs no sorting: the history begins with a slice of what was rated.
        overlap = min(len(ids), len(rated) - int(starts[0]))
        rest = _places(rated, ids[overlap:]) if overlap < len(ids) else ids[:0].astype(np.int64)
        return np.concatenate([starts[0] + np.arange(overlap), rest])
    names, first = np.unique(rated, return_index=True)
    near = np.minimum(np.searchsorted(names, ids), len(names) - 1)
    return np.where(names[near] == ids, first[near], -1)


def _check_newer(pool: PoolState, history: History, place: Ints, known: int) -> None:
    """Refuse matches that the state does not know and that are older than what it has rated.

    Raises : ConflictError
    """
    if not len(pool.rated):
        return
    unknown = place < 0
    older: Flags = unknown.copy()
    older[known:] = False
    if history.time is not None and pool.last_time is not None:
        older |= unknown & (history.time < pool.last_time)
    if history.order is not None and pool.last_order is not None:
        older |= unknown & (history.order < pool.last_order)
    if older.any():
        first = history.match_ids[np.flatnonzero(older)[0]]
        count = int(older.sum())
        which = f"match {first} is" if count == 1 else f"{count:,} matches are"
        these = "it" if count == 1 else f"them (the first is {first})"
        raise ConflictError(
            f"{which} older than the last match of the saved state, and the state does not contain "
            f"{these}: rate the complete history again, with {_RESTART} if this is all of it"
        )


def _check_known_numbers(pool: PoolState, history: History, place: Ints, digests: Digests) -> None:
    """Refuse new matches alone, which have the numbers of others. Raises : ConflictError."""
    before = pool.digests[place]
    differ = bool(len(place)) and bool(np.all((before != NOT_KNOWN) & (before != digests)))
    if differ and _numbered(history):
        raise ConflictError(
            "the history has none of the matches that the saved state has rated, and matches "
            "without ids are numbered from 1: if these are new matches, give the complete history, "
            "first the files that were rated and then the new ones; if it is complete and has "
            f"changed, use {_RESTART} to rate it from the beginning"
        )


def _check_same_players(pool: PoolState, history: History, known: int) -> None:
    """Refuse matches with the id of a rated match but unknown players: it is another history.

    Raises : ConflictError
    """
    # The pool's own players are numbered first.
    strange = history.player[: history.offsets[known]] >= len(pool.player_ids)
    if strange.any():
        first = int(np.argmax(strange))
        match = history.match_ids[np.searchsorted(history.offsets, first, side="right") - 1]
        raise ConflictError(
            f"match {match} has an id that was rated before, but without player "
            f"{history.player_ids[history.player[first]]}: this is not the history of the saved "
            f"state, or the match has changed; use {_RESTART} to rate the history from the "
            f"beginning{_numbered(history)}"
        )


def _numbered(history: History) -> str:
    """Return what to do if the matches have no ids and are numbered, as the end of a sentence."""
    numbers = np.arange(1, history.matches + 1)
    if history.match_ids.dtype == object or not np.array_equal(history.match_ids, numbers):
        return ""
    return (
        ". Matches without ids are numbered from 1: give the complete history, first the files "
        "that were rated and then the new ones"
    )


def _check_unchanged(pool: PoolState, history: History, place: Ints, digests: Digests) -> None:
    """Refuse known matches that have changed. Raises : ConflictError."""
    before = pool.digests[place]
    changed = (before != NOT_KNOWN) & (before != digests)
    if history.time is None:
        # Without times the order is compared instead.
        changed[1:] |= (before[1:] != NOT_KNOWN) & (np.diff(place) < 0)
    if changed.any():
        named, single = _named(history.match_ids[: len(place)][changed])
        uses = sorted(pool.system.capabilities.uses - {"time"})
        read = ", ".join(("time", "players", "teams", "ranks", *uses))
        first = _described(history, int(changed.argmax()))
        raise ConflictError(
            f"{named} {'has' if single else 'have'} changed since the saved state was rated "
            f"(compared: {read}; {'now' if single else 'the first now'}: {first}). Undo the "
            f"change, or use {_RESTART} to rate the history from the beginning{_numbered(history)}"
        )


def _check_none_missing(pool: PoolState, history: History, place: Ints) -> None:
    """Refuse a history without some of the matches that the state has rated.

    It may begin later than the state, and if it has no new match it may end earlier.
    Raises : ConflictError
    """
    if not len(place):
        return
    stop = len(pool.rated) if history.matches > len(place) else int(place.max()) + 1
    present = np.zeros(len(pool.rated), np.bool_)
    present[place] = True
    present[: place.min()] = True
    present[stop:] = True
    missing = ~present & (pool.digests != NOT_KNOWN)
    if missing.any():
        named, single = _named(pool.rated[missing])
        raise ConflictError(
            f"{named} {'is' if single else 'are'} missing from the history: the saved state "
            f"has rated "
            f"{'it' if single else 'them'}, and the history has earlier and later matches. "
            f"Give the "
            f"complete history (--from, --until, --where and --skip-bad leave matches out), give "
            f"only the new matches, or rate without the saved state"
        )


def _check_complete(pool: PoolState, history: History, start: PoolState | None) -> None:
    """Refuse to restart with fewer matches than the state has rated.

    Raises : ConflictError, InvalidParameterError if the state began with ratings and none are given
    """
    if start is None and pool.known_ratings:
        raise InvalidParameterError(
            f"{counted(pool.known_ratings, 'player')} of the saved state began with known ratings, "
            f"and a restart would lose these: give them again, with --initial (in Python initial=)"
        )
    if start is None and len(pool.player_ids) and not len(pool.rated):
        raise InvalidParameterError(
            "the saved state began with ratings, not with matches, and a restart would lose these "
            f"ratings: leave out {_RESTART}"
        )
    missing = _places(history.match_ids, pool.rated) < 0
    if missing.any():
        named, single = _named(pool.rated[missing])
        raise ConflictError(
            f"a restart needs all matches of the saved state, and {named} "
            f"{'is' if single else 'are'} not in the history: give the complete history, or "
            f"rate it "
            f"without the saved state"
        )


def _described(history: History, match: int) -> str:
    """Return the day of a match and its first players, in words."""
    rows = history.player[history.offsets[match] : history.offsets[match + 1]]
    players = first_of(history.player_ids[rows].tolist(), _NAMED)
    if history.time is None:
        return players
    return f"{day_in_words(int(history.time[match]))}, {players}"


def _named(matches: Ids) -> tuple[str, bool]:
    """Return the first few of these ids as text, and whether there is only one."""
    shown = first_of(matches.tolist(), _NAMED)
    return (f"match {shown}", True) if len(matches) == 1 else (f"matches {shown}", False)


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
    calibrate: bool = False,
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
    calibrate : learn a curve that corrects chances, as `backtest` does; the state keeps it, and
        `predict` and `balance` correct their chances by it. A state with a curve goes on learning
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
    resumed = resume(system, history, state=state, restart=restart, initial=initial)
    pool, history, start = resumed.pool, resumed.history, resumed.start
    going_on = resumed.begin()
    start_counting(going_on)
    if calibrate:
        start_calibrating(going_on)
    calibrate = CALIBRATION in going_on.shared
    columns = _empty_trace(system, history) if trace or calibrate else None
    if columns is not None and calibrate and getattr(system, "learns_advantage", False):
        columns[HEAD_START] = np.full(history.participations, np.nan)
    with Workers(threads) as workers:
        for low, high in pieces(history, start, history.matches):
            system.run(going_on, history, low, high, columns, workers)
            if columns is not None and calibrate:
                learn(system, going_on, history, low, high, columns)
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
        trace=Trace(history, columns) if trace and columns is not None else None,
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
        ids = np.array([str(player) for player in ids.tolist()], dtype=object)
    elif history is not None and ids.dtype == object:
        wrong = [player for player in ids.tolist() if not str(player).lstrip("-").isdecimal()]
        if wrong:
            rule = "whole numbers, as the players of the history are"
            require(False, "the players of the initial ratings", rule, wrong[0])
        ids = np.array([int(player) for player in ids.tolist()], dtype=np.int64)
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


def ratings_of(pool: PoolState, at: float | None = None, *, context: str | None = None) -> Ratings:
    """Return the ratings of all players of a pool, as of a time in days or of their last match.

    context : the ratings in it, for systems with `context_deviation`; None: without offsets
    Raises : InvalidParameterError
    """
    rows = np.arange(len(pool.player_ids))
    columns = pool.system.at(pool.state, rows, at)
    rating, deviation = columns["rating"], columns["deviation"]
    if context is not None:
        require_context(pool.system, pool.system.capabilities, context)
        rating, deviation = of_match(pool.system, pool.state, rating, deviation, context)
    fixed = ("rating", "deviation", "matches", "last_time")
    return Ratings(
        player_ids=pool.player_ids,
        rating=rating,
        deviation=deviation,
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
    context: str | None = None,
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
    context : of the match, such as its surface or map, for systems with `context_deviation`
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
        system,
        state,
        teams,
        at=days_of(at),
        home=home,
        any_teams=True,
        beta=beta,
        gamma=gamma,
        context=context,
    )
    prediction = predicted(system, field.state, field.one, draw_rate, calibrates=True)
    return replace(prediction, newcomers=field.newcomers)


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
    order = np.full(players, -1, np.int64)
    if pool.player_order is not None:
        order[: len(pool.player_order)] = pool.player_order
    if history.order is not None:
        counted = (np.arange(history.matches) >= start) & (history.teams() > 1)
        counted[tied] = False
        rows = np.flatnonzero(counted[history.match_rows()])
        np.maximum.at(order, history.player[rows], history.order[history.match_rows()[rows]])
    return order


def days(microseconds: int) -> float:
    """Return a time in the unit of systems: days since 1970."""
    return microseconds / MICROSECONDS_PER_DAY


class BlockReplay:
    """Rates blocks of a history in order of time.

    keeps_matches : whether ids and digests of matches are kept, so that the state can be saved

    Examples
    --------
    >>> from equipoise.rating.replay import BlockReplay
    >>> league = eq.read_history("examples/league.csv")
    >>> blocks = BlockReplay(eq.Glicko2())
    >>> for start in (0, 360, 720):
    ...     blocks.add(league.slice(start, start + 360))
    >>> blocks.done().ratings.to_polars().equals(eq.replay(eq.Glicko2(), league).to_polars())
    True
    """

    def __init__(
        self, system: RatingSystem, *, keeps_matches: bool = False, threads: int = 1
    ) -> None:
        self._system = system
        self._keeps_matches = keeps_matches
        self._threads = threads
        self._state = system.initial(0)
        start_counting(self._state)
        self._players: _Players | None = None
        self._ids: list[Ids] = []
        self._digests: list[Digests] = []
        self._tied: list[Ids] = []
        self._last_time: int | None = None
        self._time_kind: TimeKind = "seconds"
        self._single = 0
        self.matches = 0
        self.participations = 0

    @property
    def players(self) -> int:
        """Number of players so far."""
        return 0 if self._players is None else len(self._players.ids)

    def add(self, history: History, progress: Callable[[int], None] | None = None) -> None:
        """Rate the next block.

        progress : called with the number of participations of the block that are rated
        Raises : InvalidDataError if the system cannot rate it; ConvergenceError
        """
        self._check_follows(history)
        check_fit(self._system, history)
        if self._keeps_matches:
            self._ids.append(history.match_ids.copy())
            self._digests.append(digests_of(history, self._system.capabilities.uses))
        if self._players is None:
            self._players = _Players(history.player_ids)
        rows = self._players.rows_of(history.player_ids)
        self._state.grow(len(self._players.ids))
        numbered = history.with_players(self._players.ids, rows[history.player])
        with Workers(self._threads) as workers:
            for low, high in pieces(numbered, 0, numbered.matches):
                self._system.run(self._state, numbered, low, high, None, workers)
                if hasattr(self._system, "check_ratings"):
                    self._system.check_ratings(self._state.column("rating"), numbered)
                if progress is not None:
                    progress(int(numbered.offsets[high]))
        tied, single = unrated_matches(self._system, history)
        self._tied.append(history.match_ids[tied])
        self._single += single
        self.matches += history.matches - len(tied) - single
        gone = int(history.sizes()[tied].sum())
        self.participations += history.participations - gone
        self._last_time = None if history.time is None else int(history.time[-1])
        self._time_kind = history.time_kind

    def done(self, at: float | None = None) -> Replay:
        """Return the result, with players in order of their ids.

        at : time for which ratings are read, in days since 1970; None: as of the last matches
        Raises : InvalidDataError without any block
        """
        if self._players is None:
            raise InvalidDataError([], "there must be at least one match")
        order = np.argsort(self._players.ids, kind="stable")
        kept = self._keeps_matches
        pool = PoolState(
            system=self._system,
            player_ids=self._players.ids[order],
            state=self._state.take(order),
            rated=_joined(self._ids) if kept else self._tied[0][:0],
            digests=_joined(self._digests) if kept else np.zeros(0, np.uint64),
            last_time=self._last_time,
            time_kind=self._time_kind,
        )
        self._state = pool.state
        return Replay(
            ratings=ratings_of(pool, at),
            state=pool,
            trace=None,
            rated_matches=self.matches,
            rated_participations=self.participations,
            known_matches=0,
            all_tied=np.concatenate(self._tied),
            single=self._single,
        )

    def _check_follows(self, history: History) -> None:
        """Refuse a block that does not continue the one before. Raises : InvalidDataError."""
        if history.order is not None:
            raise InvalidDataError([], "an order without dates cannot be rated in blocks")
        if self._players is None:
            return
        before = (self._last_time is None, self._time_kind)
        types = (self._players.ids.dtype, self._tied[0].dtype)
        if before != (history.time is None, history.time_kind):
            raise InvalidDataError([], "all blocks must have times of one kind, or none")
        if types != (history.player_ids.dtype, history.match_ids.dtype):
            raise InvalidDataError([], "ids must be numbers in all blocks, or text")
        last = self._last_time
        if last is not None and history.time is not None and history.time[0] < last:
            raise InvalidDataError(
                [], f"match {history.match_ids[0]} is older than a match of the block before"
            )


class _Players:
    """The players so far, in order of first appearance, and the row of each."""

    def __init__(self, like: Ids) -> None:
        self.ids: Ids = like[:0]
        # Whole numbers are searched in a sorted array, in 16 bytes for each.
        self._numbered = like.dtype != object
        self._sorted: Ints = np.zeros(0, np.int64)
        self._rows: Ints = np.zeros(0, np.int64)
        self._row_of: dict[object, int] = {}

    def rows_of(self, ids: Ids) -> Ints:
        """Return the rows of players, each of whom is given once; new ones are added."""
        return self._of_numbers(ids) if self._numbered else self._of_text(ids)

    def _of_numbers(self, ids: Ids) -> Ints:
        place = np.searchsorted(self._sorted, ids)
        near = np.minimum(place, max(0, len(self._sorted) - 1))
        known = self._sorted[near] == ids if len(self._sorted) else np.zeros(len(ids), bool)
        new = np.sort(ids[~known])
        if len(new):
            rows = np.arange(len(self.ids), len(self.ids) + len(new))
            at = np.searchsorted(self._sorted, new)
            self._sorted = np.insert(self._sorted, at, new)
            self._rows = np.insert(self._rows, at, rows)
            self.ids = np.concatenate([self.ids, new])
        found: Ints = self._rows[np.searchsorted(self._sorted, ids)]
        return found

    def _of_text(self, ids: Ids) -> Ints:
        new = [player for player in ids.tolist() if player not in self._row_of]
        self._row_of.update({player: len(self.ids) + at for at, player in enumerate(new)})
        if new:
            self.ids = np.concatenate([self.ids, np.array(new, dtype=object)])
        return np.array([self._row_of[player] for player in ids.tolist()], dtype=np.int64)


def _joined(parts: list[Ids]) -> Ids:
    """Return the concatenation of parts, which are emptied so that their memory is free."""
    joined = np.concatenate(parts)
    parts.clear()
    return joined
