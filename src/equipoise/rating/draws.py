"""How often two teams drew: three sums that a pool keeps, and the resulting draw probability.

The sums are over the counted matches of two teams: their number, the draws among them, and the sum
of 4 E (1 - E), where E is the win probability of one team without draws, by `outlook` before the
match. Then

    r = draws / sum of 4 E (1 - E), at most 1,

is the draw probability of equals: draws become rarer as teams become less equal, in proportion to
4 E (1 - E).

The sums are in `State.shared` under `DRAWS`. A system counts matches only if the sums exist.
Kernels add matches to the total in the order of rating. So it has the same bits whether a history
is rated at once, in pieces, or after resuming.
"""

from __future__ import annotations

import math

import numpy as np

from equipoise._jit import Option, inner_kernel
from equipoise.arguments import is_number
from equipoise.arrays import Floats
from equipoise.errors import require
from equipoise.numeric.exponential import exp
from equipoise.numeric.normal import normal_cdf
from equipoise.rating.state import State

#: Name in `State.shared` of (matches counted, draws, sum of 4 E (1 - E)); absent: not counted.
DRAWS = "draws"

#: Least number of matches for an estimate of the draw probability.
LEAST_MATCHES = 50


@inner_kernel
def count_match(draws: Floats, tied: bool, z: float, normal: bool) -> None:
    """Add a match of two teams to the sums.

    z : the difference of the teams' centres over the scale of that difference, of either sign
    normal : whether the curve is the normal one, else the logistic one
    """
    # The smaller probability is computed from its own tail, so that it keeps its digits.
    if normal:
        tail = normal_cdf(-abs(z))
    else:
        tail = exp(-abs(z))
        tail /= 1.0 + tail
    _add_match(draws, tied, tail)


@inner_kernel
def count_draw(draws: Floats, tied: bool, z: float, normal: Option) -> None:
    """Add a match of two teams to the sums like `count_match`; only one curve is compiled."""
    if normal is not None:
        _add_match(draws, tied, normal_cdf(-abs(z)))
    if normal is None:
        tail = exp(-abs(z))
        _add_match(draws, tied, tail / (1.0 + tail))


@inner_kernel
def _add_match(draws: Floats, tied: bool, tail: float) -> None:
    """Add a match whose weaker side wins with probability `tail`, without draws."""
    if math.isnan(tail):
        return
    draws[0] += 1.0
    if tied:
        draws[1] += 1.0
    draws[2] += 4.0 * tail * (1.0 - tail)


def sums_of(state: State) -> Floats:
    """Return the sums of a state, which kernels add to; shape (0,) if draws are not counted."""
    return state.shared.get(DRAWS, np.empty(0))


def start_counting(state: State) -> None:
    """Make a state count draws from now on, unless it does already."""
    state.shared.setdefault(DRAWS, np.zeros(3))


def draw_rate(state: State) -> float | None:
    """Return r, the draw probability of equals; None with fewer than 50 counted matches."""
    counted = state.shared.get(DRAWS)
    if counted is None:
        return None
    matches, draws, spread = counted.tolist()
    if matches < LEAST_MATCHES or spread <= 0.0:
        return None
    return float(min(draws / spread, 1.0))


def counted_matches(state: State) -> int:
    """Return the number of matches of two teams in the sums."""
    counted = state.shared.get(DRAWS)
    return 0 if counted is None else int(counted[0])


def check_draw_rate(rate: object) -> None:
    """Refuse what is not a draw probability of equals. Raises : InvalidParameterError."""
    fits = is_number(rate) and 0 <= rate <= 1
    require(fits, "draw_rate", "a probability from 0 to 1, that equal teams draw", rate)
