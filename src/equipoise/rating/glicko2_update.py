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
from equipoise.numeric.exponential import EXP_HIGHEST, exp
from equipoise.numeric.roots import MAX_ITERATIONS, newton_step

#: Rating points of one unit of the internal scale: 400/ln 10, as printed in [G2]_.
GLICKO2_SCALE = 173.7178

#: The largest volatility by default: with it a period makes a player as uncertain as a newcomer,
#: whose deviation is 350. In the real histories that we rate no volatility exceeds 0.061.
MAX_VOLATILITY = 2.0

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
    return game_of_weight(mu - mu_opponent, opponent_weight(phi_opponent), score)


@inner_kernel
def game_of_weight(difference: float, g: float, score: float) -> tuple[float, float, float]:
    """Return (expected score, information, surprise) of a game whose g is known [TG2] (14)-(16)."""
    advantage = g * difference
    # The smaller chance from its own exponential: 1 - E would be 0 from about 36 on.
    tail = exp(-abs(advantage))
    larger = 1.0 / (1.0 + tail)
    smaller = tail * larger
    expected, rest = (larger, smaller) if advantage >= 0.0 else (smaller, larger)
    return expected, g * g * larger * smaller, g * (score * rest - (1.0 - score) * expected)


@inner_kernel
def _volatility_equation(
    y: float, e: float, phi2: float, information: float, surprise2: float, stiffness: float
) -> tuple[float, float]:
    """Return (-f(x), -f'(x)) of [TG2] (19), which rises through its zero.

    y, e : x - a and e^x
    stiffness : 1/tau^2
    """
    spread = 1.0 + information * (phi2 + e)
    shrunk = 1.0 / spread
    excess = surprise2 - information * spread
    half = 0.5 * e * shrunk * shrunk
    # d/dx of e * excess / (2 spread^2), with spread' = information * e.
    inner = information * e
    slope = half * (excess - information * inner - 2.0 * excess * inner * shrunk)
    return stiffness * y - half * excess, stiffness - slope


@inner_kernel
def new_volatility(
    sigma: float, phi2: float, information: float, surprise: float, tau: float
) -> tuple[float, float]:
    """Return (sigma', residual); a residual below 0 says converged [TG2] (17)-(20).

    Newton from x = a, in terms of y = x - a, so that e^x = sigma^2 e^y needs no logarithm. With
    q = 1 + I (phi^2 + e^x), which exceeds I e^x and is at least 2 sqrt(I e^x), the first part of
    (19) lies between -1/2 and D^2/(8 I); that holds the zero between tau^2 times these.
    """
    sigma2, surprise2, stiffness = sigma * sigma, surprise * surprise, 1.0 / (tau * tau)
    low, high = -0.5 * tau * tau, EXP_HIGHEST
    if information > 0.0:
        high = min(high, 0.125 * tau * tau * surprise2 / information)
    y, e, value = 0.0, sigma2, 0.0
    for iteration in range(MAX_ITERATIONS):
        value, slope = _volatility_equation(y, e, phi2, information, surprise2, stiffness)
        before = y
        y, low, high = newton_step(y, value, slope, low, high, iteration)
        if abs(y - before) <= _LAST_STEP:
            return sigma * exp(0.5 * y), -1.0
        e = sigma2 * exp(y)
    return sigma * exp(0.5 * y), abs(value)


@inner_kernel
def updated(
    phi: float,
    sigma: float,
    information: float,
    surprise: float,
    tau: float,
    most: float = math.inf,
) -> tuple[float, float, float, float]:
    """Return (change of mu, phi', sigma', residual) after games [TG2] (17)-(23).

    most : bound of sigma', which [G2] does not have. The larger a volatility is, the faster it
        grows: results made for it, or a match of a large weight, take it to infinity.
    """
    new_sigma, residual = new_volatility(sigma, phi * phi, information, surprise, tau)
    new_sigma = min(new_sigma, most)
    starred = phi * phi + new_sigma * new_sigma
    variance = starred / (1.0 + information * starred)
    return variance * surprise, math.sqrt(variance), new_sigma, residual
