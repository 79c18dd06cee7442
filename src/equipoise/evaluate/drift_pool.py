"""The pool of a drift audit: who is active, and what moved the mean of their ratings.

Matches are booked one after the other, so every part of a move belongs to the moment it happened:
the mean before and after players were counted out, counted in, and changed by a match.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equipoise._jit import inner_kernel, kernel
from equipoise.arrays import Flags, Floats, Ints

#: Sums of the pool: players who are active and their ratings, the mean of these, what it moved by
#: and of its moves by matches those by performance, players so far, rated matches, points created,
#: those by performance, the mean at the very start.
(
    ACTIVE,
    TOTAL,
    MEAN,
    BY_MATCHES,
    BY_ENTERING,
    BY_LEAVING,
    BY_PERFORMANCE,
    PLAYERS,
    RATED,
    CREATED,
    CREATED_BY_PERFORMANCE,
    START,
) = range(12)


class Pool(NamedTuple):
    """What is known of every player, shape (P,), and of all of them.

    last : place of the last rated match; below 0 before the first
    active : whether the player counts at the moment
    rating : after the last rated match
    sums : shape (12,)
    """

    last: Ints
    active: Flags
    rating: Floats
    sums: Floats


class Played(NamedTuple):
    """The matches of a history.

    offsets : shape (M + 1,); player : shape (N,)
    place : shape (M,), where each match lies on the axis: microseconds or numbers from 0, as they
        count from the first match
    reach : a player is active as long as the last match is at most so far away
    """

    offsets: Ints
    player: Ints
    place: Ints
    reach: int


class Changes(NamedTuple):
    """What a piece of matches did, shape (n,) each; NaN where a participation is not rated."""

    before: Floats
    after: Floats
    unscaled: Floats


@inner_kernel
def _settle(pool: Pool, part: int) -> None:
    """Take the mean anew, and book how it moved under one of the three parts."""
    if pool.sums[ACTIVE] > 0.0:
        mean = pool.sums[TOTAL] / pool.sums[ACTIVE]
        pool.sums[part] += mean - pool.sums[MEAN]
        pool.sums[MEAN] = mean


@inner_kernel
def _retire(pool: Pool, played: Played, first: int, now: int) -> int:
    """Count those out who have not played since too long before a place.

    first : match before which nobody is left to count out; returns the next such match
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
        # Nothing is left, so neither should be what rounding left.
        pool.sums[TOTAL] = 0.0
    _settle(pool, BY_LEAVING)
    return first


@inner_kernel
def _enter(pool: Pool, changes: Changes, k: int, p: int) -> None:
    """Count a player of a match in, with the rating from before it."""
    if not pool.active[p]:
        pool.active[p] = True
        pool.sums[ACTIVE] += 1.0
        pool.sums[TOTAL] += changes.before[k]
        pool.rating[p] = changes.before[k]
    if pool.last[p] < 0:
        pool.sums[PLAYERS] += 1.0


@inner_kernel
def _change(pool: Pool, changes: Changes, k: int, p: int) -> None:
    """Book what a match did to a player."""
    pool.sums[TOTAL] += changes.after[k] - pool.rating[p]
    pool.rating[p] = changes.after[k]
    pool.sums[CREATED] += changes.after[k] - changes.before[k]
    by_performance = changes.after[k] - changes.unscaled[k]
    pool.sums[CREATED_BY_PERFORMANCE] += by_performance
    # Everybody in the match is active by now.
    pool.sums[BY_PERFORMANCE] += by_performance / pool.sums[ACTIVE]


@kernel
def follow(
    pool: Pool, played: Played, changes: Changes, start: int, stop: int, retired: int
) -> int:
    """Book matches start:stop in order, of which `changes` tells; return matches retired."""
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
    """Count those out who are not active at a place; return matches retired."""
    return _retire(pool, played, retired, now)


def empty_pool(players: int) -> Pool:
    """Return a pool in which nobody has played."""
    sums = np.zeros(START + 1)
    sums[[MEAN, START]] = np.nan
    return Pool(
        last=np.full(players, -1, np.int64),
        active=np.zeros(players, np.bool_),
        rating=np.full(players, np.nan),
        sums=sums,
    )
