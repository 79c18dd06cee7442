"""Fields of one contest, small and large, and the proof that a performance is exact."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from equipoise.arrays import Floats, Ints
from equipoise.rating.elo_mmr.elo_mmr import EloMMR, EloMMRParameters, EloMMX
from rating.histories import dense
from reference.elo_mmr_arrays import gaussian_balance, hazards

#: The documented tolerance of Elo-MMR, in rating points (READINGS B6).
DOCUMENTED = 1e-9

BAR = math.sqrt(3.0) / math.pi

Model = type[EloMMRParameters]


def delta(system: EloMMRParameters, deviations: Floats) -> Floats:
    """Return delta of players who enter a round with these deviations."""
    weight, limit = system.limits()
    return np.sqrt(deviations**2 + weight * limit**2 + (1 + 1 / weight) * limit**2)


def delta_bar(system: EloMMRParameters, deviations: Floats) -> Floats:
    """Return delta_bar of the same."""
    return BAR * delta(system, deviations)


def counts(ranks: Ints) -> tuple[Ints, Ints, Ints]:
    """Return how many did better than, as well as (oneself too) and worse than every player."""
    better = (ranks[None, :] < ranks[:, None]).sum(1)
    tied = (ranks[None, :] == ranks[:, None]).sum(1)
    return better, tied, len(ranks) - better - tied


def field_of(n: int, spread: float, seed: int) -> tuple[Floats, Floats, Ints]:
    """Return (ratings, deviations, ranks) of n players, many of them tied, some far outliers."""
    rng = np.random.default_rng(seed)
    ratings = rng.normal(1500, spread, n)
    ratings[rng.integers(0, n, n // 100)] += rng.normal(0, 4 * spread, n // 100)
    deviations = np.exp(rng.uniform(math.log(30), math.log(350), n))
    shown = rng.logistic(ratings, 150)
    # Solved problems and penalties: half the field shares a coarse score, the rest a fine one.
    score = np.where(rng.random(n) < 0.5, np.round(shown, -2), np.round(shown))
    return ratings, deviations, dense(-score)


def logistic_q(x: Floats, field: tuple[Floats, Floats, Ints], i: int, split_ties: bool) -> Floats:
    """Return Q_i of the logistic model at x, shape (k,), times delta_bar over delta.

    field : ratings, delta, ranks. Summed over all opponents (Algorithm 3).
    """
    mean, scale, rank = field
    share = 0.5 if split_ties else 1.0
    win = np.where(rank == rank[i], share, rank > rank[i])
    loss = np.where(rank == rank[i], share, rank < rank[i])
    raised = np.exp((x[:, None] - mean) / (BAR * scale))
    return (win / (1 + raised) / scale).sum(axis=1) - (loss / (1 + 1 / raised) / scale).sum(axis=1)


def gaussian_q(x: Floats, field: tuple[Floats, Floats, Ints], i: int, split_ties: bool) -> Floats:
    """Return Q_i of the Gaussian model at x, likewise (Theorem 3.2)."""
    mean, scale, rank = field
    order = np.sign(rank - rank[i])
    balance = gaussian_balance(x, mean, scale, order)
    if split_ties:
        own = order == 0
        z = (x[:, None] - mean[own]) / scale[own]
        # Half a win and half a loss instead of the term -z that a tie is.
        balance += ((0.5 * (hazards(z) - hazards(-z)) - z) / scale[own]).sum(axis=1)
    return -balance


Q: dict[Model, Callable[..., Floats]] = {EloMMR: logistic_q, EloMMX: gaussian_q}


def misplaced(
    found: Floats,
    field: tuple[Floats, Floats, Ints],
    system: EloMMRParameters,
    which: Ints | None = None,
) -> list[int]:
    """Return the players of `which` whose Q_i has no zero within the tolerance of `found`.

    Q_i falls, so a change of sign there is proof. It is summed directly over all opponents, in
    numbers of 64 bits after the point where the machine has them.

    which : the first of every place if None
    """
    ratings, deviations, rank = field
    precise = ratings.astype(np.longdouble), delta(system, deviations).astype(np.longdouble), rank
    wrong = []
    for i in np.unique(rank, return_index=True)[1] if which is None else which:
        around = np.array([found[i] - DOCUMENTED, found[i] + DOCUMENTED], dtype=np.longdouble)
        above, below = Q[type(system)](around, precise, i, system.split_ties)
        if not above > 0 > below:
            wrong.append(int(i))
    return wrong


def two_groups(n: int, apart: float) -> tuple[Floats, Floats, dict[str, Ints]]:
    """Return (ratings, deviations, ranks by kind) of two groups of n players far apart."""
    rng = np.random.default_rng(12)
    ratings = np.concatenate([rng.normal(0, 300, n), rng.normal(apart, 300, n)])
    ranks = {
        "as expected": dense(-ratings),
        "upside down": dense(ratings),
        "at random": dense(rng.integers(0, 2 * n, 2 * n)),
        "all tied but the ends": np.concatenate([[0], np.ones(2 * n - 2, np.int64), [2]]),
    }
    return ratings, rng.uniform(30, 350, 2 * n), ranks
