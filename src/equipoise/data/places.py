"""The places that the teams of a coming match may take, from samples of their performances.

An outlook gives the probability that one team beats another: F of a difference over its scale. The
performances are drawn from the distribution whose differences follow F, so that places agree with
the probabilities of pairs. For the normal curve that distribution is normal. For the logistic curve
it is the convolution root of the logistic distribution, whose characteristic function is the square
root of pi t/sinh(pi t). Logistic performances would give a favourite up to 0.010 less than F.
Between two teams of unequal scale the root is approximate: off by up to 0.002 where one scale is
1.5 times the other, by 0.005 where it is twice the other, and by 0.017 at most.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from equipoise._jit import kernel
from equipoise.arguments import checks_arguments
from equipoise.arrays import Floats, Ints
from equipoise.data.outlook import Outlook, PlaceDistribution
from equipoise.errors import require

#: Performances held at once.
_CHUNK = 2_000_000

#: Up to this place, places are counted exactly; beyond it, bins widen in proportion.
_EXACT_PLACES = 100

#: Probability that a place lies below, and above, the reported range.
_TAIL = 0.05

#: Range and step of the tabulated root, in units of its scale: its tails end at 1e-16.
_RANGE, _STEP = 40.0, 0.01


#: Largest number of samples, which gives probabilities to 0.0002.
MOST_SAMPLES = 10_000_000


@kernel
def _count(order: Ints, bin_of: Ints, counts: Ints, total: Floats) -> None:
    """Count the place of every team in every sample; order[s, k] is the team in place k."""
    for s in range(order.shape[0]):
        for k in range(order.shape[1]):
            team = order[s, k]
            counts[team, bin_of[k]] += 1
            total[team] += k


@checks_arguments()
def place_distribution(
    outlook: Outlook,
    *,
    seed: int = 0,
    rng: np.random.Generator | None = None,
    samples: int = 10_000,
    within: Sequence[int] = (1, 3, 10),
) -> PlaceDistribution:
    """Return the distribution of the places of teams, from sampled performances.

    outlook : of the teams, at least two
    seed : random seed of the samples
    rng : a generator that draws the samples instead of one made of the seed
    samples : number of matches to draw
    within : places from 1 to 100, to estimate the probability of each or better
    Raises : InvalidParameterError

    Examples
    --------
    >>> history = eq.read_history("examples/contests.csv")
    >>> pool = eq.replay(eq.EloMMR(), history).state
    >>> ahead = eq.predict(eq.EloMMR(), pool, [["jade-kite"], ["amber-deer"]])
    >>> eq.place_distribution(ahead.outlook, within=[1]).chance.round(2).tolist()
    [[0.83, 0.17]]
    """
    require(seed >= 0, "seed", "at least 0", seed)
    drawing = np.random.default_rng(seed) if rng is None else rng
    teams = len(outlook.centre)
    require(teams >= 2, "outlook", "of at least two teams", teams)
    require(1 <= samples <= MOST_SAMPLES, "samples", f"from 1 to {MOST_SAMPLES:,}", samples)
    for place in within:
        require(1 <= place <= _EXACT_PLACES, "within", f"from 1 to {_EXACT_PLACES}", place)
    first = _first_places(teams)
    bin_of = np.searchsorted(first, np.arange(teams), side="right") - 1
    counts, total = np.zeros((teams, len(first)), np.int64), np.zeros(teams)
    # The size of a chunk depends only on the number of teams: the same seed gives the same numbers.
    rows = max(1, _CHUNK // teams)
    for start in range(0, samples, rows):
        drawn = _performances(outlook, min(rows, samples - start), drawing)
        _count(np.argsort(-drawn, axis=1), bin_of, counts, total)
    reached = np.cumsum(counts, axis=1)
    at_most = [reached[:, min(place, teams) - 1] for place in within]
    return PlaceDistribution(
        samples=samples,
        within=tuple(within),
        chance=np.array(at_most).reshape(len(at_most), teams) / samples,
        mean=1.0 + total / samples,
        lower=1 + first[_first_above(reached, _TAIL * samples)],
        upper=np.append(first[1:], teams)[_first_above(reached, (1 - _TAIL) * samples)],
    )


def _first_places(teams: int) -> Ints:
    """Return the first place of every bin, from 0."""
    exact = np.arange(min(teams, _EXACT_PLACES))
    count = max(0.0, math.log(teams / _EXACT_PLACES)) / math.log1p(1 / _EXACT_PLACES)
    wider = _EXACT_PLACES * (1 + 1 / _EXACT_PLACES) ** np.arange(math.ceil(count))
    first: Ints = np.concatenate([exact, np.unique(wider.astype(np.int64))])
    return first


def _first_above(reached: Ints, level: float) -> Ints:
    """Return the first bin of every team with at least `level` samples, shape (teams,)."""
    first: Ints = np.argmax(reached >= level, axis=1)
    return first


def _performances(outlook: Outlook, samples: int, rng: np.random.Generator) -> Floats:
    """Return performances of all teams, shape (samples, teams)."""
    shape = (samples, len(outlook.centre))
    if outlook.curve == "normal":
        standard = rng.standard_normal(shape)
    else:
        standard = np.interp(rng.random(shape), *_logistic_root())
    standard *= outlook.scale
    standard += outlook.centre
    return standard


@lru_cache(maxsize=1)
def _logistic_root() -> tuple[Floats, Floats]:
    """Return (distribution function, at these points) of the root of the logistic, scaled.

    The difference of two of them is a logistic variable of scale sqrt(2), as in an outlook of
    scales 1 and 1. F(x) = 1/2 + (1/pi) times the integral of phi(t) sin(t x)/t over t > 0, by the
    trapezoidal rule: with this step and end it is exact to 1e-15.
    """
    step = math.pi / (2 * _RANGE)
    t = step * np.arange(1, math.ceil(24 / step))
    phi = np.sqrt(math.pi * t / np.sinh(math.pi * t))
    x = _STEP * np.arange(1, round(_RANGE / _STEP))
    upper = 0.5 + step / math.pi * (0.5 * x + np.sin(np.outer(x, t)) @ (phi / t))
    upper = np.minimum(np.maximum.accumulate(upper), 1.0)
    points = math.sqrt(2) * np.concatenate([-x[::-1], [0.0], x])
    return np.concatenate([1.0 - upper[::-1], [0.5], upper]), points
