"""Phase one of Elo-MMR with the Gaussian model, in linear time.

Source: [EM]_ Theorem 3.2 with normal performances: a win over j adds phi/Phi, a loss -phi/(1 - Phi)
and a tie -z, each over delta_j, at z = (x - mu_j)/delta_j.

Unlike logistic terms these do not add up to one function of all players. But roots fall with the
place (Theorem 5.2), so the places whose roots are in one interval are consecutive: all other
players have either beaten all of them or lost to all of them. The sums over these two groups are
computed once for each interval, at Chebyshev nodes. From place to place, players move from one
group to the other. Sums are only added to, never subtracted from, so that the last places are as
exact as the first.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from equipoise._jit import inner_kernel, kernel
from equipoise.arrays import Floats, Ints
from equipoise.numeric.functions import (
    EXHAUSTED,
    LAST_CORRECTION,
    MAX_ITERATIONS,
    newton_step,
    normal_hazard,
)
from equipoise.numeric.sums import CHUNK, NODES, interval_points, lane_sum, sum_of_chunks
from equipoise.numeric.workers import Workers
from equipoise.rating.elo_mmr.direct import DIRECT_BELOW, solve_directly, ties_of

#: Half an interval in units of the smallest delta. The hazard's poles are 2.81 off the real axis
#: (NUMERICS 2), so 24 points leave (1.76 + sqrt(1 + 1.76^2))^-24 = 1.4e-14 of the local maximum.
HALF_WIDTH = 1.6

#: Places whose sums are kept at a time.
_PLACES = 32

#: Rounding may put a root outside its interval by up to this many widths.
_MARGIN = 1e-6

#: Nearer to a node than this (in intervals), the slope of the interpolant loses its digits.
_NEAR_NODE, _STEP_ASIDE = 1e-7, 1e-6

#: Barycentric weights of Chebyshev points of the first kind.
_WEIGHTS = np.array([(-1.0) ** v * math.sin(math.pi * (v + 0.5) / NODES) for v in range(NODES)])


class Contest(NamedTuple):
    """The equations of one contest, players in the order of their places.

    centres : shape (n,); prior ratings as distances from `centre`
    slopes : shape (n,); 1/delta
    places : shape (places + 1,); players of a place are places[g]:places[g + 1]
    width : length of an interval
    """

    centres: Floats
    slopes: Floats
    places: Ints
    centre: float
    width: float
    split_ties: bool


class Scratch(NamedTuple):
    """Working memory of one run of places, shape (NODES,) each."""

    nodes: Floats
    values: Floats
    shares: Floats
    terms: Floats
    falls: Floats


@kernel
def set_up(ratings: Floats, slopes: Floats, places: Ints, split_ties: bool) -> Contest:
    """Return the `Contest` of players in the order of their places."""
    total, weighted, steepest = 0.0, 0.0, 0.0
    for j in range(len(ratings)):
        total += slopes[j]
        weighted += slopes[j] * ratings[j]
        steepest = max(steepest, slopes[j])
    centre = weighted / total
    width = 2.0 * HALF_WIDTH / steepest
    return Contest(ratings - centre, slopes, places, centre, width, split_ties)


@inner_kernel
def is_sparse(contest: Contest) -> bool:
    """Return whether nodes cost more than they save: for few players, or different ratings."""
    lowest, highest = contest.centres[0], contest.centres[0]
    for centre in contest.centres:
        lowest, highest = min(lowest, centre), max(highest, centre)
    intervals = (highest - lowest) / contest.width + 2.0
    return len(contest.centres) < DIRECT_BELOW or intervals * NODES > 8.0 * len(contest.places)


@kernel
def places_above(contest: Contest, y: float) -> int:
    """Return how many places have their root above y."""
    n, count = len(contest.centres), len(contest.places) - 1
    won, lost, tied = np.empty(n), np.empty(n), np.empty(n)
    _terms_at(contest, y, won, lost, tied)
    worse, better = lane_sum(won, n), 0.0
    for g in range(count):
        own = 0.0
        for j in range(contest.places[g], contest.places[g + 1]):
            worse -= won[j]
            own += 0.5 * (won[j] - lost[j]) if contest.split_ties else -tied[j]
        if worse + own - better <= 0.0:
            return g
        for j in range(contest.places[g], contest.places[g + 1]):
            better += lost[j]
    return count


@inner_kernel
def _terms_at(contest: Contest, y: float, won: Floats, lost: Floats, tied: Floats) -> None:
    """Write every player's term of Q(y) for a win, a loss and a tie."""
    for j in range(np.uint64(len(won))):
        slope = contest.slopes[j]
        z = (y - contest.centres[j]) * slope
        won[j] = slope * normal_hazard(-z)
        lost[j] = slope * normal_hazard(z)
        tied[j] = slope * z


@inner_kernel
def _add_lost(contest: Contest, j: int, nodes: Floats, sums: Floats) -> None:
    """Add the term of a loss to player j at every node."""
    player = np.uint64(j)
    centre, slope = contest.centres[player], contest.slopes[player]
    for v in range(np.uint64(NODES)):
        sums[v] += slope * normal_hazard((nodes[v] - centre) * slope)


@inner_kernel
def _add_won(contest: Contest, j: int, nodes: Floats, sums: Floats) -> None:
    """Add the term of a win over player j at every node."""
    player = np.uint64(j)
    centre, slope = contest.centres[player], contest.slopes[player]
    for v in range(np.uint64(NODES)):
        sums[v] += slope * normal_hazard((centre - nodes[v]) * slope)


@kernel
def add_outside(
    contest: Contest, start: int, stop: int, run: tuple[int, int], low: float, sums: Floats
) -> None:
    """Add the players of start:stop outside a run of players to `sums`.

    low : beginning of the interval
    sums : shape (2, NODES): losses to the better, wins over the worse
    """
    nodes = np.empty(NODES)
    interval_points(contest.width, nodes)
    nodes[:] += low
    for j in range(start, min(stop, run[0])):
        _add_lost(contest, j, nodes, sums[0])
    for j in range(max(start, run[1]), stop):
        _add_won(contest, j, nodes, sums[1])


@inner_kernel
def _barycentric(y: float, width: float, scratch: Scratch) -> tuple[float, float, float]:
    """Return (value, slope, distance to the nearest node in widths) of the interpolant at y."""
    nearest = width
    for v in range(np.uint64(NODES)):
        distance = y - scratch.nodes[v]
        nearest = min(nearest, abs(distance))
        distance = distance if distance != 0.0 else 1e-200
        scratch.falls[v] = 1.0 / distance
        scratch.shares[v] = _WEIGHTS[v] * scratch.falls[v]
        scratch.terms[v] = scratch.shares[v] * scratch.values[v]
    total = lane_sum(scratch.shares, NODES)
    value = lane_sum(scratch.terms, NODES) / total
    for v in range(np.uint64(NODES)):
        scratch.terms[v] = scratch.shares[v] * (value - scratch.values[v]) * scratch.falls[v]
    return value, lane_sum(scratch.terms, NODES) / total, nearest / width


@inner_kernel
def _interpolate(y: float, width: float, scratch: Scratch) -> tuple[float, float]:
    """Return (value, slope) at y of the polynomial through the values at the nodes."""
    value, slope, nearest = _barycentric(y, width, scratch)
    if nearest < _NEAR_NODE:
        _, slope, _ = _barycentric(y + _STEP_ASIDE * width, width, scratch)
    return value, slope


@inner_kernel
def _root(
    contest: Contest, g: int, low: float, high: float, scratch: Scratch
) -> tuple[float, float]:
    """Return (zero of Q of place g, residual); a residual below 0 says converged."""
    stiffness, pull = 0.0, 0.0
    if not contest.split_ties:
        for j in range(contest.places[g], contest.places[g + 1]):
            stiffness += contest.slopes[j] * contest.slopes[j]
            pull += contest.slopes[j] * contest.slopes[j] * contest.centres[j]
    width, y, excess = contest.width, high, 0.0
    for iteration in range(MAX_ITERATIONS):
        value, slope = _interpolate(y, width, scratch)
        excess, rise = stiffness * y - pull - value, stiffness - slope
        if iteration > 0 and abs(excess) <= LAST_CORRECTION * width * rise:
            return min(max(y - excess / rise, low), high), -1.0
        y, low, high = newton_step(y, excess, rise, low, high, iteration)
        if high - low <= EXHAUSTED * width:
            return y, -1.0
    return y, abs(excess)


@kernel
def _sums_behind(contest: Contest, first: int, last: int, nodes: Floats, won: Floats) -> Floats:
    """Return the wins over all players worse than each block of places, shape (blocks, NODES).

    first, last : places of the run
    won : wins over all players worse than the run; the players of the run are added to it
    """
    blocks = (last - first + _PLACES - 1) // _PLACES
    behind = np.empty((blocks, NODES))
    for block in range(blocks - 1, -1, -1):
        behind[block] = won
        start = first + block * _PLACES
        for j in range(contest.places[start], contest.places[min(start + _PLACES, last)]):
            _add_won(contest, j, nodes, won)
    return behind


@kernel
def solve_run(
    contest: Contest, low: float, first: int, last: int, sums: Floats, performances: Floats
) -> float:
    """Write the performances of places first:last, whose roots are in one interval.

    low : beginning of the interval
    sums : shape (2, NODES) of `add_outside` over all players; they are changed
    Returns a residual, below 0 if all converged.
    """
    memory = np.empty((5, NODES))
    scratch = Scratch(memory[0], memory[1], memory[2], memory[3], memory[4])
    interval_points(contest.width, scratch.nodes)
    scratch.nodes[:] += low
    lost = sums[0]
    behind = _sums_behind(contest, first, last, scratch.nodes, sums[1].copy())
    worse, own_won, own_lost = np.empty((_PLACES, NODES)), np.empty((_PLACES, NODES)), lost.copy()
    bottom, top = low - _MARGIN * contest.width, low + (1.0 + _MARGIN) * contest.width
    residual = -1.0
    for block in range(len(behind)):
        start = first + block * _PLACES
        stop = min(start + _PLACES, last)
        won = behind[block]
        own_won[:] = 0.0
        for g in range(stop - 1, start - 1, -1):
            worse[g - start] = won
            for j in range(contest.places[g], contest.places[g + 1]):
                _add_won(contest, j, scratch.nodes, own_won[g - start])
            won += own_won[g - start]
        for g in range(start, stop):
            own_lost[:] = 0.0
            for j in range(contest.places[g], contest.places[g + 1]):
                _add_lost(contest, j, scratch.nodes, own_lost)
            scratch.values[:] = worse[g - start] - lost
            if contest.split_ties:
                scratch.values[:] += 0.5 * (own_won[g - start] - own_lost)
            top, left = _root(contest, g, bottom, top, scratch)
            performances[g] = contest.centre + top
            residual = max(residual, left)
            lost += own_lost
    return residual


class Intervals(NamedTuple):
    """The intervals with roots, from the top down.

    low : shape (k,); beginning of each
    first : shape (k + 1,); places first[i]:first[i + 1] have their roots in interval i
    """

    low: Floats
    first: Ints


@kernel
def _counts(contest: Contest, step: int, until: int) -> Ints:
    """Return places_above at 0, step, 2 step, ... widths, until that many are above."""
    counts = np.empty(16, np.int64)
    counts[0] = places_above(contest, 0.0)
    used = 1
    # Q is negative far above all players and positive far below them, so this ends.
    while counts[used - 1] != until:
        if used == len(counts):
            longer = np.empty(2 * used, np.int64)
            for k in range(used):
                longer[k] = counts[k]
            counts = longer
        counts[used] = places_above(contest, step * used * contest.width)
        used += 1
    return counts[:used]


@kernel
def intervals_of(contest: Contest) -> Intervals:
    """Return the intervals with the roots of all places."""
    up = _counts(contest, 1, 0)
    down = _counts(contest, -1, len(contest.places) - 1)
    # Boundaries from the top down; up[0] and down[0] are the same one.
    above = np.concatenate((up[::-1], down[1:]))
    highest = len(up) - 1
    held = np.flatnonzero(above[1:] > above[:-1])
    first = np.zeros(len(held) + 1, np.int64)
    for k in range(len(held)):
        first[k + 1] = above[held[k] + 1]
    low = ((highest - 1 - held) * contest.width).astype(np.float64)
    return Intervals(low, first)


@inner_kernel
def _players_of(contest: Contest, intervals: Intervals, interval: int) -> tuple[int, int]:
    """Return (first, stop) of the players whose roots are in an interval."""
    return contest.places[intervals.first[interval]], contest.places[intervals.first[interval + 1]]


@kernel
def solve_interval(
    contest: Contest, intervals: Intervals, interval: int, parts: Floats, performances: Floats
) -> float:
    """Write the performances of an interval; parts, shape (chunks, 2 NODES), of `add_outside`."""
    sums = np.zeros(2 * NODES)
    sum_of_chunks(parts, sums)
    low, (first, last) = intervals.low[interval], intervals.first[interval : interval + 2]
    return solve_run(contest, low, first, last, sums.reshape(2, NODES), performances)


@kernel
def add_chunk(
    contest: Contest, intervals: Intervals, interval: int, chunk: int, part: Floats
) -> None:
    """Add the players of a chunk outside an interval's run to `part`, shape (2 NODES,)."""
    start, stop = chunk * CHUNK, min((chunk + 1) * CHUNK, len(contest.centres))
    run = _players_of(contest, intervals, interval)
    add_outside(contest, start, stop, run, intervals.low[interval], part.reshape(2, NODES))


@kernel
def gaussian_on_one_thread(
    ratings: Floats, slopes: Floats, places: Ints, split_ties: bool
) -> tuple[Floats, float]:
    """Return (performances, shape (places,), and a residual, below 0 if all converged).

    ratings, slopes : shape (n,); prior mu and 1/delta in the order of the places
    """
    contest = set_up(ratings, slopes, places, split_ties)
    if is_sparse(contest):
        return solve_directly(ratings, slopes, places, ties_of(split_ties, True), True)
    intervals = intervals_of(contest)
    chunks = (len(ratings) + CHUNK - 1) // CHUNK
    performances = np.empty(len(places) - 1)
    residual = -1.0
    for interval in range(len(intervals.low)):
        parts = np.zeros((chunks, 2 * NODES))
        for chunk in range(chunks):
            add_chunk(contest, intervals, interval, chunk, parts[chunk])
        residual = max(residual, solve_interval(contest, intervals, interval, parts, performances))
    return performances, residual


def gaussian_on_workers(
    ratings: Floats, slopes: Floats, places: Ints, split_ties: bool, workers: Workers
) -> tuple[Floats, float]:
    """Return what `gaussian_on_one_thread` returns, the same bits, with many threads."""
    contest = set_up(ratings, slopes, places, split_ties)
    if is_sparse(contest):
        return solve_directly(ratings, slopes, places, ties_of(split_ties, True), True)
    intervals = intervals_of(contest)
    count, chunks = len(intervals.low), (len(ratings) + CHUNK - 1) // CHUNK
    parts = np.zeros((count, chunks, 2 * NODES))
    performances = np.empty(len(places) - 1)
    residuals = np.full(count, -1.0)

    def add(number: int, _start: int, _stop: int) -> None:
        interval, chunk = divmod(number, chunks)
        add_chunk(contest, intervals, interval, chunk, parts[interval, chunk])

    def solve(number: int, _start: int, _stop: int) -> None:
        residuals[number] = solve_interval(contest, intervals, number, parts[number], performances)

    workers.each_chunk(count * chunks, 1, add)
    workers.each_chunk(count, 1, solve)
    return performances, float(residuals.max())
