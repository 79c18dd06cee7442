"""Match quality: how likely a draw is, compared with equal players whose ratings are certain.

Source: [TS]_. It is the probability that the performances of all teams meet within a small margin,
divided by what it would be if the ratings were equal and certain, in the limit of a margin of 0.

`match_quality` has normal performances that add up within a team, as in both TrueSkill systems.
With c_t the sum of the ratings of team t, s_t^2 the variance of its performance and b_t^2 that of
players whose skill is certain, the performances of all teams meet at one point with the density

    D(c, s) = integral of prod_t phi((x - c_t)/s_t)/s_t dx,      quality = D(c, s)/D(0, b).

With w_t = 1/s_t^2, W their sum, and m the mean of c weighted by w, this is

    quality = prod_t (b_t/s_t) sqrt(sum_t 1/b_t^2/W) exp(-1/2 sum_t w_t (c_t - m)^2).

For two players it is equation (7) of [TS]_. The drift that a match adds is not counted there, nor
here. If a player takes part in a share q of the match, the performance counts q times, so its mean
is multiplied by q and its variances by q^2.

`estimated_quality` is the same ratio for two teams of any other system, whose outlook says that
the difference d of two performances has the centre c and the scale s. With f the density of the
curve, and b the scale if all ratings were certain,

    quality = (f(c/s)/s)/(f(0)/b).

For the logistic curve this is b/s times 4 E (1 - E), E the win probability. So it is also the
estimated draw probability (`rating.draws`) over that of equals, times b/s for the uncertainty. For
the normal curve it is the formula above. More than two teams have none: their performances are
known by pairs only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from equipoise.arrays import Floats
from equipoise.data.outlook import Outlook


def match_quality(centre: Floats, variance: Floats, certain: Floats) -> float:
    """Return the match quality of teams with normal performances.

    centre : shape (teams,), sums of the ratings
    variance, certain : shape (teams,), of performances, with and without uncertain ratings
    """
    weight = 1.0 / variance
    mean = (weight * centre).sum() / weight.sum()
    shape = 0.5 * np.log(certain / variance).sum()
    shape += 0.5 * math.log((1.0 / certain).sum() / weight.sum())
    return math.exp(shape - 0.5 * float((weight * (centre - mean) ** 2).sum()))


def certain_scale(certain: Outlook, sizes: Sequence[int]) -> float:
    """Return the scale of the difference of two teams whose ratings are certain.

    It is that of `Outlook.of_teams`, in plain Python, which is faster for so few numbers.

    certain : of the players, with deviations of 0; sizes : number of players of each team
    """
    own = [scale * scale - certain.shared for scale in certain.scale.tolist()]
    first, second = sum(own[: sizes[0]]), sum(own[sizes[0] :])
    if certain.team == "mean":
        first, second = first / sizes[0] ** 2, second / sizes[1] ** 2
    return math.sqrt(2.0 * certain.shared + first + second)


def estimated_quality(outlook: Outlook, least: float) -> float:
    """Return the match quality of two teams by the density of their difference.

    outlook : of the teams; least : scale of their difference if all ratings were certain
    """
    scale = math.hypot(*outlook.scale.tolist())
    # A deviation of 0 takes away all of the scale where it is the noise, as in `topcoder`.
    narrower = least / scale if least > 0.0 else 1.0
    first, second = outlook.centre.tolist()
    z = (first - second) / scale
    if outlook.curve == "normal":
        return narrower * math.exp(-0.5 * z * z)
    # From the smaller probability, so that it keeps its digits.
    odds = math.exp(-abs(z))
    tail = odds / (1.0 + odds)
    return narrower * 4.0 * tail * (1.0 - tail)
