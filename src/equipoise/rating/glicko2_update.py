"""The Glicko-2 update of one player from summed game results, on the internal scale.

Source: [G2]_ steps 3-7, and [TG2]_ (13)-(23), which restates them for one opponent.

Two sums over a player's games carry everything that the update needs:

    information = sum w g^2 E (1 - E) = 1/v,      surprise = sum w g (s - E) = Delta/v.

With them the volatility equation [TG2]_ (19) is multiplied through by (1/v)^2, so that nothing
overflows when v is huge (opponents thousands of points apart) and nothing is divided by 0 when
there was no game.
"""

from __future__ import annotations

import math

from equipoise._jit import inner_kernel
from equipoise.numeric.exponential import exp, logistic
from equipoise.numeric.roots import MAX_ITERATIONS, newton_step

#: Rating points of one unit of the internal scale: 400/ln 10, as printed in [G2]_.
GLICKO2_SCALE = 173.7178

#: Steps of ln sigma^2 below this end the search for the volatility (READINGS A6).
_LAST_STEP = 1e-12


@inner_kernel
def opponent_weight(phi: float) -> float:
    """Return g(phi), how much a game against an opponent of this deviation tells [TG2] (13)."""
    return 1.0 / math.sqrt(1.0 + 3.0 * phi * phi / (math.pi * math.pi))


@inner_kernel
def game(
    mu: float, mu_opponent: float, phi_opponent: float, score: float
) -> tuple[float, float, float]:
    """Return (expected score, information, surprise) of one game [TG2] (13)-(16)."""
    g = opponent_weight(phi_opponent)
    advantage = g * (mu - mu_opponent)
    # 1 - E from its own exponential: the difference would be 0 from about 36 on.
    expected, rest = logistic(advantage), logistic(-advantage)
    return expected, g * g * expected * rest, g * (score * rest - (1.0 - score) * expected)


@inner_kernel
def _volatility_equation(
    x: float, a: float, phi2: float, information: float, surprise: float, tau: float
) -> tuple[float, float]:
    """Return (-f(x), -f'(x)) of [TG2] (19), which rises through its zero."""
    e = exp(x)
    spread = 1.0 + information * (phi2 + e)
    excess = surprise * surprise - information * spread
    value = e * excess / (2.0 * spread * spread) - (x - a) / (tau * tau)
    # d/dx of e * excess / (2 spread^2), with spread' = information * e.
    inner = information * e
    slope = (
        e * (excess - information * inner) / (2.0 * spread * spread)
        - e * excess * inner / (spread * spread * spread)
        - 1.0 / (tau * tau)
    )
    return -value, -slope


@inner_kernel
def new_volatility(
    sigma: float, phi2: float, information: float, surprise: float, tau: float
) -> tuple[float, float]:
    """Return (sigma', residual); a residual below 0 says converged [TG2] (17)-(20).

    Newton from x = a, held in the bracket of [G2]_ step 5: between a and ln(Delta^2 - phi^2 - v)
    where that exists, else from a downwards in steps of tau.
    """
    a = 2.0 * math.log(sigma)
    low, high = a, a
    excess = surprise * surprise - information - information * information * phi2
    if excess > 0.0 and information > 0.0:
        other = math.log(excess) - 2.0 * math.log(information)
        low, high = min(a, other), max(a, other)
    elif excess > 0.0:
        high = a + 1.0
    else:
        for _ in range(MAX_ITERATIONS):
            low -= tau
            value, _slope = _volatility_equation(low, a, phi2, information, surprise, tau)
            if value <= 0.0:
                break
    x, value = a, 0.0
    for iteration in range(MAX_ITERATIONS):
        value, slope = _volatility_equation(x, a, phi2, information, surprise, tau)
        before = x
        x, low, high = newton_step(x, value, slope, low, high, iteration)
        if abs(x - before) <= _LAST_STEP:
            return math.exp(0.5 * x), -1.0
    return math.exp(0.5 * x), abs(value)


@inner_kernel
def updated(
    phi: float, sigma: float, information: float, surprise: float, tau: float
) -> tuple[float, float, float, float]:
    """Return (change of mu, phi', sigma', residual) after games [TG2] (17)-(23)."""
    new_sigma, residual = new_volatility(sigma, phi * phi, information, surprise, tau)
    variance = 1.0 / (1.0 / (phi * phi + new_sigma * new_sigma) + information)
    return variance * surprise, math.sqrt(variance), new_sigma, residual
