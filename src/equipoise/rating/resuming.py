"""Continuing from a saved state: which matches of a history it has rated, and whether they changed.

The state keeps the ids and digests of all matches up to its last one, in order
(docs/decisions/0010). A history continues it if no match that the state has rated has changed or is
missing, and if every other match is newer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from equipoise.arrays import Flags, Ids, Ints
from equipoise.data.history import History
from equipoise.errors import ConflictError, InvalidParameterError
from equipoise.rating.match_digest import NOT_KNOWN, Digests, digests_of
from equipoise.rating.pool_state import PoolState
from equipoise.wording import counted

#: Matches named in an error; the others are counted.
_NAMED = 5

_RESTART = "--restart (in Python restart=True)"


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


def resume(
    pool: PoolState, history: History, *, restart: bool = False, start: PoolState | None = None
) -> Resumption:
    """Return how a history continues a state.

    restart : rate from the start instead, with the state's system
    start : the state of players with known ratings, with which a restart begins
    Raises : ConflictError if a match that the state has rated has changed or is missing, if another
        match is older than those, if player ids are numbers in one and text in the other, or if
        one has dates and the other an order without dates; with `restart` only if a match of the
        state is missing
    """
    if not restart:
        _check_same_times(pool, history)
    digests = digests_of(history, pool.system.capabilities.uses)
    if restart:
        _check_complete(pool, history, start)
        pool = PoolState.new(pool.system) if start is None else start
    history, player_ids = with_known_rows(history, pool.player_ids)
    place = _places(pool.rated, history.match_ids)
    known = int(np.sum(place >= 0))
    _check_newer(pool, history, place, known)
    place = place[:known]
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
    there = np.flatnonzero(rated == ids[0])
    if len(there) and np.array_equal(rated[there[0] :][: len(ids)], ids[: len(rated) - there[0]]):
        # The usual case needs no sorting: the history begins with a slice of what was rated.
        overlap = min(len(ids), len(rated) - int(there[0]))
        rest = _places(rated, ids[overlap:]) if overlap < len(ids) else ids[:0].astype(np.int64)
        return np.concatenate([there[0] + np.arange(overlap), rest])
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
        named, one = _named(history.match_ids[: len(place)][changed])
        uses = sorted(pool.system.capabilities.uses - {"time"})
        read = ", ".join(("time", "players", "teams", "ranks", *uses))
        raise ConflictError(
            f"{named} {'has' if one else 'have'} changed since the saved state was rated "
            f"(compared: {read}). Undo the change, or use {_RESTART} to rate the history from the "
            f"beginning{_numbered(history)}"
        )


def _check_none_missing(pool: PoolState, history: History, place: Ints) -> None:
    """Refuse a history without some of the matches that the state has rated.

    It may begin later than the state, and if it has no new match it may end earlier.
    Raises : ConflictError
    """
    if not len(place):
        return
    stop = len(pool.rated) if history.matches > len(place) else int(place.max()) + 1
    there = np.zeros(len(pool.rated), np.bool_)
    there[place] = True
    there[: place.min()] = True
    there[stop:] = True
    missing = ~there & (pool.digests != NOT_KNOWN)
    if missing.any():
        named, one = _named(pool.rated[missing])
        raise ConflictError(
            f"{named} {'is' if one else 'are'} missing from the history: the saved state has rated "
            f"{'it' if one else 'them'}, and the history has earlier and later matches. Give the "
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
        named, one = _named(pool.rated[missing])
        raise ConflictError(
            f"a restart needs all matches of the saved state, and {named} "
            f"{'is' if one else 'are'} not in the history: give the complete history, or rate it "
            f"without the saved state"
        )


def _named(matches: Ids) -> tuple[str, bool]:
    """Return the first few of these ids as text, and whether there is only one."""
    shown = ", ".join(str(one) for one in matches[:_NAMED].tolist())
    if len(matches) == 1:
        return f"match {shown}", True
    more = f" and {len(matches) - _NAMED:,} more" if len(matches) > _NAMED else ""
    return f"matches {shown}{more}", False
