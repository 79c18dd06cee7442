"""The additive constant: which of a tournament's equilibria is meant.

Source: [PRE]_ sec. 4. Ratings in equilibrium stay so when everyone in a component moves by the
same number. The document takes the one that x <- f(x) reaches from equal ratings, whose mean
drifts a little on the way. Near the equilibrium f is linear, and the mean weighted by
d_i = sum_j w_ij psi'(x_i - x_j) does not change any more: after ten steps it is read off. (The
iteration itself need not converge: where two teams met, it swings for ever.)
"""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

import numpy as np

from equipoise.arrays import Floats, Ints
from equipoise.errors import require
from equipoise.performance.canonical import PerformanceFunction
from equipoise.performance.curves import Curve
from equipoise.performance.pairs import Pairs
from equipoise.performance.solving import against_equals

#: "document": reached from equal ratings; "mean": of a given plain mean; "initial": reached from
#: the ratings before the tournament.
Select: TypeAlias = Literal["document", "mean", "initial"]

#: Steps of x <- f(x): the weighted mean then changes by about a millionth of a point.
PLAIN_STEPS = 10
#: The same is true when nobody is further from the equilibrium, rating points over the scale:
#: what a step does to the weighted mean falls with the square of that distance.
NEAR = 0.3
#: Of f, rating points over the scale: after a last step of this length Newton's method is off by
#: its square over some hundred points.
_TOLERANCE = 0.03


def average_rating(
    initial: Floats, component: Ints, anchor: float | None = None
) -> tuple[Floats, bool]:
    """Return the average of every player's component, shape (N,), and whether it is made up.

    initial : shape (N,), ratings before the tournament, NaN where unrated
    component : shape (N,), -1 for players without games, who do not count
    anchor : average to use instead, in every component
    A component without any rated player has the tournament's average. Where nobody at all is
    rated, the average is 0 and the second answer True: ratings are relative.
    """
    if anchor is not None:
        return np.full(len(initial), float(anchor)), False
    rated = ~np.isnan(initial) & (component >= 0)
    if not np.any(rated):
        return np.zeros(len(initial)), True
    label = np.where(component < 0, 0, component)
    size = int(np.max(label)) + 1
    count = np.bincount(label, rated, size)
    total = np.bincount(label, np.where(rated, initial, 0.0), size)
    average = np.where(count > 0, total / np.maximum(count, 1.0), np.mean(initial[rated]))
    return np.asarray(np.where(component < 0, np.mean(initial[rated]), average[label])), False


def check_select(select: str) -> None:
    """Refuse what is none of the choices. Raises : InvalidParameterError."""
    require(select in get_args(Select), "select", "document, mean or initial", select)


def select_equilibrium(
    pairs: Pairs,
    shape: Floats,
    component: Ints,
    *,
    curve: Curve,
    scale: float = 1.0,
    advantage: float = 0.0,
    select: Select = "document",
    average: Floats,
    initial: Floats,
    threads: int = 1,
) -> Floats:
    """Return the equilibrium that is meant, shape (N,), NaN where `shape` is.

    shape : shape (N,), any equilibrium; all who have pairs are in it
    component : shape (N,), what moves together; -1 for players without games
    average : shape (N,), of every player's component, see `average_rating`
    initial : shape (N,), ratings before the tournament, NaN where unrated; for "initial" only
    Raises : InvalidParameterError, ConvergenceError
    """
    check_select(select)
    there = np.isfinite(shape) & (component >= 0)
    label = np.where(there, component, np.max(component, initial=-1) + 1)
    size = np.bincount(label, there)
    mean = np.bincount(label, np.where(there, shape, 0.0)) / np.maximum(size, 1.0)
    centred = np.where(there, shape - mean[label], 0.0)
    shift = np.zeros(len(shape))
    if select != "mean":
        begin = np.zeros(len(shape))
        guess = None
        if select == "initial":
            begin = np.where(np.isnan(initial), 0.0, initial - average)
        else:
            played = pairs.played(len(shape))
            guess = scale * against_equals(played, pairs.scored(len(shape)))
        function = PerformanceFunction(
            pairs, len(shape), curve=curve, scale=scale, advantage=advantage, threads=threads
        )
        t = (centred[pairs.first] - centred[pairs.second] + advantage) / scale
        slope = pairs.weight * curve.slope(t)
        weight = pairs.summed(slope, slope, len(shape))
        shift = _drift(function, begin, guess, centred, weight, label, scale)
    return np.where(there, centred + shift + average, np.nan)


def _drift(
    function: PerformanceFunction,
    begin: Floats,
    guess: Floats | None,
    centred: Floats,
    weight: Floats,
    label: Ints,
    scale: float,
) -> Floats:
    """Return how far above `centred` the plain iteration ends, of every player's component."""
    x, start = begin, guess
    total = np.bincount(label, weight)
    for _ in range(PLAIN_STEPS):
        x = np.nan_to_num(function(x, _TOLERANCE, start))
        above, start = x - centred, None
        drift = (np.bincount(label, weight * above) / np.where(total > 0, total, 1.0))[label]
        if np.max(np.abs(np.where(weight > 0, above - drift, 0.0)), initial=0.0) < NEAR * scale:
            break
    return np.asarray(drift, dtype=np.float64)
