"""Elo-MMR, the logistic model: a Bayesian rating for contests of any size.

Source: [EM]_ Algorithms 1-3; what it shares with the Gaussian model is in `elo_mmr_parameters`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from equipoise.rating.elo_mmr_parameters import EloMMRParameters


@dataclass(frozen=True, slots=True, kw_only=True)
class EloMMR(EloMMRParameters):
    """Elo-MMR(rho) [EM]_ with the logistic performance model.

    Give either `weight_limit` and `sigma_limit` (the authors' program) or `beta` and `gamma`
    (the paper): gamma^2 = w L^2 and beta^2 = (1 + 1/w) L^2 (READINGS B4).

    weight_limit : weight w of a performance at the limit, default 0.2
    sigma_limit : deviation L that many matches lead to, rating points, default 80
    beta : deviation of one performance around the skill, rating points [EM] sec. 3
    gamma : deviation of the change of skill between rounds, rating points [EM] sec. 4
    rho : transfer over decay [EM] sec. 4.1; 0 keeps all history, inf none
    drift_per_day : variance that a day adds to the skill, points^2
    initial_rating, initial_deviation : of a new player, rating points
    split_ties : a tie is half a win and half a loss instead of a win and a loss (B3)
    rate_all_ties : rate matches of three or more in which all tie (B7)
    opponents : only that many opponents nearest in rating count, and all who are as near as the
        last of them (B6); None counts all. For reproducing published figures only: it breaks
        Theorems 5.2, 5.5 and 5.6, so that a better place may get a lower performance and a worse
        one a higher rating, and it is slower than counting all
    remembered : only that many newest performances stay logistic (B6); None keeps all
    Warns : ApproximationWarning   where `opponents` is given, once for each object
    """

    name: ClassVar[str] = "elo-mmr"
    gaussian: ClassVar[bool] = False
