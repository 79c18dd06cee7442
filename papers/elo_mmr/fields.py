"""Random contests for the experiments, and the package's rating of one contest or one player."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from equipoise.arrays import Floats, Ints
from equipoise.data.history import History
from equipoise.errors import ConvergenceError
from equipoise.numeric.functions import MAX_ITERATIONS
from equipoise.rating.elo_mmr.belief import (
    Beliefs,
    Round,
    diffuse,
    update_belief,
    update_gaussian_belief,
    update_scratch,
)
from equipoise.rating.elo_mmr.elo_mmr import EloMMR, EloMMRParameters, EloMMX
from equipoise.rating.state import State

#: The scale of the experiments, near the defaults; all-tied contests count, as in the theorems.
BETA, GAMMA = 200.0, 35.0

#: The largest field, and the spread of ratings in it.
MOST, SPREAD = 12, 300.0


def system(model: type[EloMMRParameters] = EloMMR, **more: Any) -> EloMMRParameters:
    """Return a system at the scale of the experiments."""
    return model(beta=BETA, gamma=GAMMA, rate_all_ties=True, **more)


def random_ranks(rng: np.random.Generator, n: int) -> Ints:
    """Return places of n players, some tied, dense from 0."""
    drawn = rng.integers(0, n, n) if rng.random() < 0.5 else rng.permutation(n)
    return np.unique(drawn, return_inverse=True)[1].astype(np.int64)


def random_field(rng: np.random.Generator) -> tuple[Floats, Floats, Ints]:
    """Return ratings, deviations and places of 2 to 12 players."""
    n = int(rng.integers(2, MOST + 1))
    return rng.normal(1500.0, SPREAD, n), rng.uniform(40.0, 350.0, n), random_ranks(rng, n)


def history_of(contests: Sequence[tuple[Ints, Ints]], players: int) -> History:
    """Return a history of contests, each as (players, ranks)."""
    sizes = [len(member) for member, _ in contests]
    return History(
        match_ids=np.arange(len(contests)),
        player_ids=np.arange(players),
        offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        player=np.concatenate([member for member, _ in contests]).astype(np.int64),
        team=np.concatenate([np.arange(size) for size in sizes]).astype(np.int64),
        rank=np.concatenate(
            [np.unique(rank, return_inverse=True)[1].astype(np.int64) for _, rank in contests]
        ),
    )


def newcomers(
    of: EloMMRParameters, ratings: Sequence[float] | Floats, deviations: Sequence[float] | Floats
) -> State:
    """Return the state of players without a past, who begin with these ratings."""
    state = of.initial(len(ratings))
    state.column("rating")[:] = state.column("gaussian_mean")[:] = ratings
    state.column("deviation")[:] = deviations
    weights = 1.0 / np.asarray(deviations) ** 2
    state.column("gaussian_weight")[:] = state.column("curvature")[:] = weights
    return state


def rate_once(
    of: EloMMRParameters, ratings: Floats, deviations: Floats, ranks: Ints
) -> dict[str, Floats]:
    """Return the trace of one contest: performance, rating, deviation and more, shape (n,)."""
    history = history_of([(np.arange(len(ranks)), ranks)], len(ranks))
    state = newcomers(of, ratings, deviations)
    names = ("expected", "rating_before", "deviation_before", "rating", "deviation", "performance")
    trace = {name: np.full(len(ranks), np.nan) for name in names}
    of.run(state, history, 0, 1, trace)
    return trace


class Belief:
    """What the package believes of one player, driven kernel by kernel."""

    def __init__(
        self, of: EloMMRParameters, rating: float = 1500.0, deviation: float = 350.0
    ) -> None:
        self.system = of
        self.state = newcomers(of, np.array([rating]), np.array([deviation]))
        weight, limit = of.limits()
        self.gamma2, self.beta2 = weight * limit**2, (1 + 1 / weight) * limit**2

    def diffuse(self, gamma2: float | None = None) -> None:
        """Algorithm 2."""
        one = Round(math.nan, self.gamma2 if gamma2 is None else gamma2, self.beta2, math.inf)
        # Nothing but a Gaussian is kept of a Gaussian belief, whatever rho says.
        rho = math.inf if self.system.gaussian else self.system.rho
        diffuse(self._beliefs(), 0, one, rho, 0.0)

    def update(self, performance: float) -> None:
        """Algorithm 3, second half."""
        if self.system.gaussian:
            update_gaussian_belief(self._beliefs(), 0, performance, self.beta2)
            return
        assert self.state.runs is not None
        self.state.runs.reserve(np.zeros(1, np.int64), np.ones(1, np.int64))
        beliefs = self._beliefs()
        scratch = update_scratch(beliefs, np.zeros(1, np.int64), 0, 1)
        kept = self.system.remembered or np.iinfo(np.int64).max
        residual = update_belief(beliefs, 0, performance, self.beta2, kept, scratch)
        if residual >= 0.0:
            raise ConvergenceError("the rating", MAX_ITERATIONS, residual)

    def play(self, performances: Sequence[float]) -> Belief:
        """Take part in rounds with these performances."""
        for performance in performances:
            self.diffuse()
            self.update(performance)
        return self

    def copy(self) -> Belief:
        """Return an independent copy."""
        other = Belief(self.system)
        other.state = self.state.copy()
        return other

    @property
    def rating(self) -> float:
        """The rating, mu."""
        return float(self.state.column("rating")[0])

    @property
    def variance(self) -> float:
        """The variance, sigma^2."""
        return float(self.state.column("deviation")[0] ** 2)

    @property
    def gaussian(self) -> tuple[float, float]:
        """(p_0, w_0)."""
        mean, weight = self.state.column("gaussian_mean"), self.state.column("gaussian_weight")
        return float(mean[0]), float(weight[0])

    def terms(self) -> tuple[Floats, Floats, Floats]:
        """Return (p_k, w_k, beta_bar_k) of the logistic terms, oldest first.

        A record has p_k, w_k beta_k^2/beta_bar_k over the common decay, and 1/beta_bar_k.
        """
        assert self.state.runs is not None
        p, pull, steepness = (self.state.runs.records(field) for field in range(3))
        weight = self.state.column("decay")[0] * pull * steepness * (3.0 / math.pi**2)
        return p, weight, 1.0 / steepness

    def slope(self, s: float) -> float:
        """Return dL/ds of (8) at s, with the weights of section 4.1."""
        mean, weight = self.gaussian
        p, w, bar = self.terms()
        # beta_k^2 = (pi^2/3) beta_bar_k^2
        pulls = w * (math.pi**2 / 3) * bar * np.tanh((s - p) / (2 * bar))
        return math.fsum([weight * (s - mean), *pulls])

    def log_density(self, s: Floats) -> Floats:
        """Return the logarithm of (7) at s, up to a constant, with the weights of section 4.1."""
        mean, weight = self.gaussian
        p, w, _ = self.terms()
        z = np.abs(math.pi / math.sqrt(12) * (s[:, None] - p) / math.sqrt(self.beta2))
        # ln cosh z = z + ln(1 + exp(-2z)) - ln 2 does not overflow.
        logistic = (w * self.beta2 * 2 * (z + np.log1p(np.exp(-2 * z)) - math.log(2))).sum(axis=1)
        return np.asarray(-0.5 * weight * (s - mean) ** 2 - logistic)

    def _beliefs(self) -> Beliefs:
        runs = self.state.runs
        assert runs is not None
        return Beliefs(self.state.table, runs.spans, runs.values)


def random_belief(rng: np.random.Generator, of: EloMMRParameters) -> Belief:
    """Return a player after 1 to 12 random performances."""
    rating, deviation = float(rng.normal(1500, SPREAD)), float(rng.uniform(60, 350))
    count = int(rng.integers(1, 13))
    return Belief(of, rating, deviation).play((rating + rng.normal(0, 300, count)).tolist())


MODELS: tuple[type[EloMMRParameters], ...] = (EloMMR, EloMMX)
