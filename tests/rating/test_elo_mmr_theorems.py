"""The theorems of the Elo-MMR paper, as properties of the fast code."""

from __future__ import annotations

import math
from collections.abc import Sequence

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from papers.elo_mmr.fields import Belief

from drawing import examples
from equipoise.arrays import Floats
from equipoise.rating.elo_mmr.elo_mmr import EloMMR, EloMMRParameters, EloMMX
from rating.histories import Entrants, entrants, every_model, performances, systems

#: Theorems and invariants with many examples: long, where the reference has already been met.
pytestmark = pytest.mark.slow

# The precision of the definitions below; doubles carry 16 digits.
DIGITS = 40


def deltas(system: EloMMRParameters, deviations: Sequence[float]) -> Floats:
    """Return delta of players as they enter a round: sigma^2 + gamma^2 + beta^2 is its square."""
    assert system.beta is not None
    assert system.gamma is not None
    return np.sqrt(np.asarray(deviations) ** 2 + system.gamma**2 + system.beta**2)


class Definition:
    """F and f of one player's logistic performance, and l, d, v, as section 3.1 defines them."""

    def __init__(self, mean: float, delta: float, split_ties: bool) -> None:
        self.mean, self.delta, self.split_ties = mpmath.mpf(mean), delta, split_ties
        self.delta_bar = math.sqrt(3) / math.pi * delta

    def log_win(self, p: mpmath.mpf) -> mpmath.mpf:
        """Ln F(p), with the sign mended (READINGS B1)."""
        return -mpmath.log1p(mpmath.exp(-(p - self.mean) / self.delta_bar))

    def log_loss(self, p: mpmath.mpf) -> mpmath.mpf:
        """ln(1 - F(p))."""
        return -mpmath.log1p(mpmath.exp((p - self.mean) / self.delta_bar))

    def log_tie(self, p: mpmath.mpf) -> mpmath.mpf:
        """Ln f(p); footnote 2 has half a win and half a loss instead."""
        if self.split_ties:
            return (self.log_win(p) + self.log_loss(p)) / 2
        return self.log_density(p)

    def log_density(self, p: mpmath.mpf) -> mpmath.mpf:
        """Ln f(p)."""
        z = (p - self.mean) / (2 * self.delta_bar)
        return mpmath.log(mpmath.sech(z) ** 2 / (4 * self.delta_bar))


class NormalDefinition(Definition):
    """The same of a normal performance."""

    def log_win(self, p: mpmath.mpf) -> mpmath.mpf:
        """Ln F(p)."""
        return log_normal_tail((self.mean - p) / self.delta)

    def log_loss(self, p: mpmath.mpf) -> mpmath.mpf:
        """ln(1 - F(p))."""
        return log_normal_tail((p - self.mean) / self.delta)

    def log_density(self, p: mpmath.mpf) -> mpmath.mpf:
        """Ln f(p)."""
        return -(((p - self.mean) / self.delta) ** 2) / 2 - mpmath.log(self.delta)


def log_normal_tail(z: mpmath.mpf) -> mpmath.mpf:
    """Return ln P(Z > z), which 1 - erf would round to 0 or to -inf."""
    if z < 0:
        return mpmath.log1p(-mpmath.erfc(-z / mpmath.sqrt(2)) / 2)
    return mpmath.log(mpmath.erfc(z / mpmath.sqrt(2)) / 2)


DEFINITIONS = {EloMMR: Definition, EloMMX: NormalDefinition}


def log_posterior(
    p: mpmath.mpf, i: int, ranks: Sequence[int], field: list[Definition]
) -> mpmath.mpf:
    """Return ln Pr(P_i = p | E_i) up to a constant (proof of Theorem 3.2)."""
    total = mpmath.mpf(0)
    for rank, player in zip(ranks, field, strict=True):
        if rank > ranks[i]:
            total += player.log_win(p)
        elif rank < ranks[i]:
            total += player.log_loss(p)
        else:
            total += player.log_tie(p)
    return total


@every_model
@examples(30)
@given(st.data(), entrants(max_players=8), st.floats(0.5, 500))
def test_the_performance_is_the_zero_of_q_and_the_likeliest(
    model: type[EloMMRParameters], data: st.DataObject, field: Entrants, far: float
) -> None:
    """Theorem 3.2: Q_i, the derivative of the log posterior, changes sign at the performance.

    The sign changes within 1e-9 rating points, the documented tolerance (READINGS B6), unless Q_i
    is so flat there (a tie between players 1,000s of points apart) that the rounding of the
    terms a_j, summed, covers more than that.
    """
    system = data.draw(systems(model), label="system")
    found = performances(system, field)
    players = [
        DEFINITIONS[model](mean, float(delta), system.split_ties)
        for mean, delta in zip(field.ratings, deltas(system, field.deviations), strict=True)
    ]
    with mpmath.workdps(DIGITS):
        for i, performance in enumerate(found.tolist()):
            p = mpmath.mpf(performance)

            def posterior(x: mpmath.mpf, i: int = i) -> mpmath.mpf:
                return log_posterior(x, i, field.ranks, players)

            near = 1e-9
            assert mpmath.diff(posterior, p - near) > 0
            assert mpmath.diff(posterior, p + near) < 0
            assert posterior(p) > max(posterior(p - far), posterior(p + far))


pasts = st.lists(st.floats(1000, 2000), min_size=1, max_size=8)


@examples(100)
@given(systems(), st.lists(st.floats(1000, 2000), max_size=8))
def test_one_contest_moves_a_rating_only_so_far(system: EloMMR, past: list[float]) -> None:
    """Theorem 5.7: the limits of an infinitely good and an infinitely bad performance.

    1/beta_0^2 is w_0, omega_k/beta_k^2 is w_k, after the round's diffusion and before the new
    term (READINGS B13). A performance of +-1e9 is infinite to the last bit: tanh is then +-1.
    """
    belief = Belief(system).play(past)
    belief.diffuse()
    before = belief.rating
    w_0, weights = belief.gaussian[1], belief.terms()[1]
    push = math.pi / math.sqrt(3 * belief.beta2)
    least = push / (w_0 + math.pi**2 / 6 * math.fsum(weights))
    # Without logistic terms the two bounds are one, and are attained up to rounding.
    slack = 1e-10 * max(1.0, abs(before) / least)
    for sign in (1.0, -1.0):
        extreme = belief.copy()
        extreme.update(sign * 1e9)
        change = sign * (extreme.rating - before)
        assert least * (1 - slack) <= change
        # With rho = 0 the Gaussian part decays away and the upper bound with it.
        assert change <= push / w_0 * (1 + slack)


@examples(100)
@given(systems(EloMMX), pasts, st.floats(1, 1e6))
def test_a_gaussian_rating_moves_as_far_as_a_performance_takes_it(
    system: EloMMRParameters, past: list[float], far: float
) -> None:
    """Theorem 5.7 has no counterpart where all factors are normal: there is no bound.

    The new rating is a weighted mean [EM]_ section 4, so that a performance twice as far off moves
    the rating twice as far, however far that is.
    """
    belief = Belief(system).play(past)
    belief.diffuse()
    before = belief.rating
    once, twice, upside_down = belief.copy(), belief.copy(), belief.copy()
    once.update(before + far)
    twice.update(before + 2 * far)
    upside_down.update(before - far)
    change = once.rating - before
    share = belief.variance / (belief.variance + belief.beta2)
    # Rounding of numbers of size 2000 + 2e6, and of their differences.
    assert change == pytest.approx(share * far, rel=1e-12, abs=1e-9)
    assert twice.rating - before == pytest.approx(2 * change, rel=1e-12, abs=1e-9)
    assert upside_down.rating - before == pytest.approx(-change, rel=1e-12, abs=1e-9)


@examples(100)
@given(systems(), pasts)
def test_the_rating_is_the_mode_and_the_deviation_that_of_gaussian_terms(
    system: EloMMR, past: list[float]
) -> None:
    """Equations (8) and (9), and the weighted mean of performances of section 3.2."""
    belief = Belief(system).play(past)
    p_0, w_0 = belief.gaussian
    performance, weight, beta_bar = belief.terms()
    # dL/ds changes sign within the documented tolerance (READINGS B6).
    assert belief.slope(belief.rating - 1e-9) < 0 < belief.slope(belief.rating + 1e-9)
    # Rounding of a few sums and products of positive numbers.
    np.testing.assert_allclose(w_0 + weight.sum(), 1 / belief.variance, rtol=1e-12)
    z = (belief.rating - performance) / (2 * beta_bar)
    safe = np.where(z == 0, 1.0, z)
    # w_k of (8): at z = 0 the limit, pi^2/6 times the weight of a Gaussian term.
    pull = weight * (math.pi**2 / 6) * np.where(z == 0, 1.0, np.tanh(safe) / safe)
    mean = (w_0 * p_0 + (pull * performance).sum()) / (w_0 + pull.sum())
    # Condition: sums of numbers of size 2000, each to 1e-16.
    assert abs(mean - belief.rating) < 1e-9
