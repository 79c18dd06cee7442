"""How often two teams drew: three sums that a pool keeps, and the chance of a draw that follows.

Over the two-team matches that are counted: their number, the draws among them, and the sum of
4 E (1 - E), E being the chance that one side beats the other, draws left out, as `outlook` has it
from what was known before the match. Then

    r = draws / sum of 4 E (1 - E), at most 1,

is the chance of a draw of equals: draws get rarer as teams get more unlike, in proportion to
4 E (1 - E).

The sums stand in `State.shared` under `DRAWS`. A system counts where they are there and leaves
them out where they are not. Kernels add to them match after match in the order of rating, onto
the total so far: the same bits in one go, in pieces, and after resuming.
"""

from __future__ import annotations

import math

import numpy as np

from equipoise._jit import inner_kernel
from equipoise.arrays import Floats
from equipoise.numeric.exponential import exp
from equipoise.numeric.normal import normal_cdf
from equipoise.rating.state import State

#: Name in `State.shared` of (matches counted, draws, sum of 4 E (1 - E)); absent: not counted.
DRAWS = "draws"

#: Below so many matches no chance of a draw is estimated.
LEAST_MATCHES = 50


@inner_kernel
def count_match(draws: Floats, tied: bool, z: float, normal: bool) -> None:
    """Add a match of two teams to the sums.

    z : the difference of the teams' centres over the scale of that difference, of any sign
    normal : whether the curve of the chance is the normal one, else the logistic
    """
    # The smaller chance from its own tail: it keeps its digits.
    if normal:
        tail = normal_cdf(-abs(z))
    else:
        tail = exp(-abs(z))
        tail /= 1.0 + tail
    if math.isnan(tail):
        return
    draws[0] += 1.0
    if tied:
        draws[1] += 1.0
    draws[2] += 4.0 * tail * (1.0 - tail)


def sums_of(state: State) -> Floats:
    """Return the sums of a state, which kernels add to; of shape (0,) where it does not count."""
    return state.shared.get(DRAWS, np.empty(0))


def start_counting(state: State) -> None:
    """Let a state count from now on, unless it does already."""
    state.shared.setdefault(DRAWS, np.zeros(3))


def draw_rate(state: State) -> float | None:
    """Return the chance of a draw of equals, r; None below 50 counted matches."""
    matches, draws, spread = state.shared.get(DRAWS, np.zeros(3)).tolist()
    if matches < LEAST_MATCHES or spread <= 0.0:
        return None
    return float(min(draws / spread, 1.0))
