"""Rules by which the score difference of two teams multiplies the change of an Elo rating.

Sources, read as their authors or users quote them:
    world-football   World Football Elo Ratings: 1.5 for two goals, (11 + n)/8 for n above two
    square-root      clubelo.com, Adjustment for Goal Difference: the root of the difference
    fivethirtyeight  its American football ratings: ln(1 + n) 2.2/(2.2 + 0.001 d), where d is by how
                     much the winner was rated higher, with the home advantage
Draws and differences of one have the factor 1 in the first two. Departures: for the third, a draw
counts as a difference of one between equals, where the formula as quoted would not rate it at all;
and d counts as no less than -2000, because the formula has no value at -2200. Differences between 0
and 1 count as 1.
"""

from __future__ import annotations

import math
from typing import Literal, TypeAlias, get_args

from equipoise._jit import inner_kernel

#: Names of the rules.
MarginRule: TypeAlias = Literal["off", "world-football", "square-root", "fivethirtyeight"]

#: Numbers of the rules, as kernels have them.
RULES: dict[str, int] = {name: number for number, name in enumerate(get_args(MarginRule))}

_LEAST_LEAD = -2000.0


@inner_kernel
def margin_multiplier(rule: int, difference: float, lead: float) -> float:
    """Return the factor of a change; 1 without a rule, or if the difference is unknown.

    difference : of the scores, at least 0; NaN for unknown
    lead : rating points by which the winner was ahead; not used for a draw, with difference 0
    """
    if rule == 0 or math.isnan(difference):
        return 1.0
    n = max(difference, 1.0)
    if rule == 1:
        if n < 2.0:
            return 1.0
        return 1.5 if n < 3.0 else (11.0 + n) / 8.0
    if rule == 2:
        return math.sqrt(n)
    ahead = max(lead, _LEAST_LEAD) if difference > 0.0 else 0.0
    return math.log1p(n) * 2.2 / (2.2 + 0.001 * ahead)
