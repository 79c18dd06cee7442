"""The smallest difference of two classes that a sweep implies, and the bounds for each player.

Source: READINGS C3. A sweep has no finite rating difference, but it gives a lower bound. Let class
a have taken all points of class b, let x be every player's rating relative to the mean of the
class, and d the level of a minus that of b. The probability of the sweep,

    prod over the games of psi((x_i - x_j + d)/beta)^w,    i in a, j in b

grows with d from 0 to 1. The bound is the d at which it is 1 - confidence: with a smaller d such a
sweep was improbable.

The rating of a player whose class swept a class of known level m_b is at least the player's
position in the class plus m_b + d. If the class was swept by a class of level m_a, the rating is at
most the position plus m_a - d. A bound uses one sweep, at the given confidence, and takes the
ratings within classes as exact. It is on the scale of the other class's level. Example: a player
who lost all nine games of a Swiss has the upper bound u at which losing them has probability
1 - confidence: prod psi((x_j - u)/beta) = 1 - confidence over the opponents' ratings x_j.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from equipoise.arrays import Floats, Ints
from equipoise.errors import ConvergenceError, require
from equipoise.tournament.curves import Curve
from equipoise.tournament.existence.graph import Existence
from equipoise.tournament.pairs import Pairs

#: Width of the last bracket of a difference, rating points.
TOLERANCE = 1e-9
#: The bracket starts with 1 scale to either side and is multiplied by WIDER, up to MAX_WIDENINGS
#: times.
WIDER, MAX_WIDENINGS = 8.0, 40
#: More halvings than are needed from the widest bracket to the tolerance.
MAX_STEPS = 200

_Falling: TypeAlias = Callable[[Floats], Floats]


def sweep_differences(
    existence: Existence,
    pairs: Pairs,
    ratings: Floats,
    curve: Curve,
    scale: float,
    confidence: float,
) -> Floats:
    """Return the difference of levels for every sweep, in the order of `existence.above`.

    ratings : shape (N,), within classes: their levels have no effect. NaN in a class of one is 0
    Returns : shape (A,), rating points; NaN if a rating within one of the classes is missing
    Raises : ConvergenceError   the curve does not lead from 0 to 1
    """
    position = positions(existence, ratings)
    class_of = existence.class_of
    crossing = np.flatnonzero(class_of[pairs.first] != class_of[pairs.second])
    first, second = pairs.first[crossing], pairs.second[crossing]
    turned = class_of[first] > class_of[second]
    winner, loser = np.where(turned, second, first), np.where(turned, first, second)
    group = np.searchsorted(
        existence.above * np.int64(existence.classes) + existence.below,
        class_of[winner] * np.int64(existence.classes) + class_of[loser],
    )
    gaps, weight = position[winner] - position[loser], pairs.weight[crossing]
    return differences(gaps, weight, group, len(existence.above), curve, scale, confidence)


def one_sided_bounds(
    existence: Existence,
    pairs: Pairs,
    class_rating: Floats,
    curve: Curve,
    scale: float,
    confidence: float,
) -> tuple[Floats, Floats]:
    """Return (lower, upper), the bounds of every player by sweeps; NaN without a bound.

    class_rating : shape (N,), ratings of classes solved by themselves; NaN if the level of a
        class is unknown, as that of every class of one
    Returns : each shape (N,); lower is the largest over the classes swept whose level is known,
        upper the smallest over the classes of known level that swept
    Raises : ConvergenceError   the curve does not lead from 0 to 1
    """
    by = sweep_differences(existence, pairs, class_rating, curve, scale, confidence)
    level = class_levels(existence, class_rating)
    lower, upper = np.full((2, existence.classes), np.nan)
    # fmax and fmin ignore NaN, which means "no bound".
    np.fmax.at(lower, existence.above, level[existence.below] + by)
    np.fmin.at(upper, existence.below, level[existence.above] - by)
    position = positions(existence, class_rating)
    played = existence.class_of >= 0
    bounds = np.full((2, len(played)), np.nan)
    bounds[:, played] = np.stack((lower, upper))[:, existence.class_of[played]]
    return bounds[0] + position, bounds[1] + position


def class_levels(existence: Existence, ratings: Floats) -> Floats:
    """Return the mean rating of every class, shape (classes,); NaN where one is missing."""
    played = existence.class_of >= 0
    total = np.bincount(existence.class_of[played], ratings[played], existence.classes)
    return np.asarray(total / existence.sizes, dtype=np.float64)


def positions(existence: Existence, ratings: Floats) -> Floats:
    """Return every player's rating relative to the mean of the class, (N,); 0 in a class of one."""
    played = existence.class_of >= 0
    out = np.full(len(played), np.nan)
    number = existence.class_of[played]
    alone = existence.sizes[number] == 1
    from_mean = ratings[played] - class_levels(existence, ratings)[number]
    out[played] = np.where(alone, 0.0, from_mean)
    return out


def differences(
    gaps: Floats,
    weight: Floats,
    group: Ints,
    groups: int,
    curve: Curve,
    scale: float,
    confidence: float,
    max_steps: int = MAX_STEPS,
) -> Floats:
    """Return the d at which winning all games of a sweep has probability 1 - confidence.

    gaps : shape (K,), rating of the winner minus that of the loser, each within the class
    weight : shape (K,), number of games
    group : shape (K,), the sweep, from 0 to groups - 1; each has at least one game
    scale : beta, above 0
    confidence : in (0, 1)
    Returns : shape (groups,), rating points; NaN if a gap is NaN
    Raises : ConvergenceError   the curve does not lead from 0 to 1
    """
    require(0.0 < confidence < 1.0, "confidence", "between 0 and 1", confidence)
    require(0.0 < scale < np.inf, "scale", "positive", scale)
    wanted = math.log(-math.log1p(-confidence))
    total = np.bincount(group, weight, groups)
    centre = -np.bincount(group, weight * gaps, groups) / total

    def surprise(d: Floats) -> Floats:
        """Return ln(-ln probability) minus the wanted value; it falls almost linearly with d."""
        t = (gaps + d[group]) / scale
        # 1 - psi(t) = psi(-t), which keeps its digits where psi(t) is nearly 1.
        with np.errstate(divide="ignore", invalid="ignore"):
            rare = curve.expected(-np.abs(t))
            terms = np.where(t < 0.0, np.log(rare), np.log1p(-rare))
            return np.asarray(np.log(-np.bincount(group, weight * terms, groups)) - wanted)

    low, high = _bracketed(surprise, centre, scale)
    return _root(surprise, low, high, max_steps)


def _bracketed(falling: _Falling, centre: Floats, scale: float) -> tuple[Floats, Floats]:
    """Return (low, high) around the zero of every group, by widening the bracket."""
    reach = scale
    low, high = centre - reach, centre + reach
    for _ in range(MAX_WIDENINGS):
        negative, positive = falling(low) < 0.0, falling(high) > 0.0
        if not (negative.any() or positive.any()):
            return low, high
        reach *= WIDER
        low = np.where(negative, centre - reach, low)
        high = np.where(positive, centre + reach, high)
    raise ConvergenceError("the bracket of the difference of two classes", MAX_WIDENINGS, np.inf)


def _root(falling: _Falling, low: Floats, high: Floats, max_steps: int) -> Floats:
    """Return the zero of every group between low and high.

    Chandrupatla (1997): a parabola through three points where it is certain to be monotone between
    them, halving elsewhere. `new` and `end` bracket the zero, `old` was dropped last.
    """
    # A bracket cannot become narrower than the spacing of the numbers.
    width = np.maximum(TOLERANCE, 8.0 * np.spacing(np.fmax(np.abs(low), np.abs(high))))
    new, end, old = low, high, high
    at_new, at_end, at_old = falling(low), falling(high), np.full(len(low), np.nan)
    share = np.full(len(low), 0.5)
    for _ in range(max_steps):
        tried = new + share * (end - new)
        value = falling(tried)
        same = (value > 0.0) == (at_new > 0.0)
        old, at_old = np.where(same, (new, at_new), (end, at_end))
        end, at_end = np.where(same, (end, at_end), (new, at_new))
        new, at_new = tried, value
        gap = np.abs(end - new)
        if not ((gap > width) & (at_new != 0.0)).any():
            return np.where(np.abs(at_new) < np.abs(at_end), new, end)
        with np.errstate(all="ignore"):  # a share that is NaN is not used
            share = _share((new, at_new), (end, at_end), (old, at_old))
            least = np.fmin(0.5 * width / gap, 0.5)
        share = np.clip(share, least, 1.0 - least)
    raise ConvergenceError("the difference of two classes", max_steps, float(np.nanmax(gap)))


_Point: TypeAlias = tuple[Floats, Floats]


def _share(new: _Point, end: _Point, old: _Point) -> Floats:
    """Return the next point to evaluate, from `new` (0) to `end` (1)."""
    (x1, f1), (x2, f2), (x3, f3) = new, end, old
    across, up = (x1 - x2) / (x3 - x2), (f1 - f2) / (f3 - f2)
    certain = (up * up < across) & ((1.0 - up) ** 2 < 1.0 - across)
    curved = f1 / (f2 - f1) * f3 / (f2 - f3)
    curved += (x3 - x1) / (x2 - x1) * f1 / (f3 - f1) * f2 / (f3 - f2)
    return np.where(certain & np.isfinite(curved), curved, 0.5)
