"""Football Elo: Elo for two sides, in which a win by more goals counts more.

Source: World Football Elo Ratings, https://www.eloratings.net/about: the change of a match is
K G (score - expected score), with G = 1 for a margin of one goal or none, 3/2 for two, and
(11 + N)/8 for N goals, three or more. The side at home is taken to be `home_advantage` points
better.
Departure: K is one parameter. The source has a K for each kind of tournament, which here is the
weight of a match.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from equipoise.rating.plugins.own_system import (
    Floats,
    History,
    HomeSystem,
    Outlook,
    RatedSystem,
    inlined_kernel,
    inner_kernel,
    positive,
    rate_duels,
    rating_system,
    read_rating_only,
)


@inner_kernel
def goal_factor(margin: float) -> float:
    """Return G for a margin of goals; an unknown margin counts as one goal."""
    if not margin >= 1.5:
        return 1.0
    return 1.5 if margin < 2.5 else (11.0 + margin) / 8.0


@inlined_kernel
def rate_duel(
    job: Any, m: int, one: Floats, other: Floats, lead: float, score: float
) -> tuple[float, float, float, float]:
    """Rate a match: K G (score - expected). No equation can fail, so the residual is -1."""
    i, settings = job.matches.offsets[m], job.settings
    goals = job.inputs.performance
    z = settings.slope * (one[0] + lead - other[0])
    expected = 1.0 / (1.0 + math.exp(-z))
    factor = settings.k * job.matches.weight[m] * goal_factor(abs(goals[i] - goals[i + 1]))
    one[0] += factor * (score - expected)
    other[0] -= factor * (score - expected)
    return expected, 1.0 - expected, z, -1.0


@inner_kernel
def rate(job: Any, first: int, last: int) -> tuple[int, float]:
    """Rate matches first:last."""
    return rate_duels(job, first, last, rate_duel, None, read_rating_only, None, None)


@rating_system
class FootballElo(RatedSystem, HomeSystem):
    """Elo for two sides, in which a win by more goals counts more.

    k : largest change of a match that is won by one goal, rating points
    scale : rating difference at which ten to one is expected, rating points
    initial_rating : of a new player
    home_advantage : rating points added to the side at home
    """

    k: float = positive(20.0)
    scale: float = positive(400.0)
    initial_rating: float = 1500.0
    home_advantage: float = 100.0

    name: ClassVar[str] = "football-elo"
    columns: ClassVar[Mapping[str, float | str]] = {
        "rating": "initial_rating",
        "matches": 0.0,
        "last_time": math.nan,
    }
    uses: ClassVar[Mapping[str, str]] = {"weight": "", "performance": ""}
    shown: ClassVar[Sequence[str]] = ("rating",)
    max_team_size: ClassVar[int] = 1
    max_teams: ClassVar[int] = 2
    takes_entry: ClassVar[bool] = False
    adds_head_starts: ClassVar[bool] = True
    loop = staticmethod(rate)

    def derived(self) -> Mapping[str, float]:
        """Return the slope of the curve."""
        return {"slope": math.log(10.0) / self.scale}

    @property
    def usual_deviation(self) -> float:
        """The deviation that a rating without one stands for, rating points."""
        return 2.0 * self.scale / math.log(10.0)

    def outlook(self, rating: Floats, deviation: Floats, history: History | None = None) -> Outlook:
        """Return centres at the ratings plus head starts, and the scale by `scale`."""
        # Two of these make the scale of the difference, scale/ln 10.
        shared = 0.5 * (self.scale / math.log(10.0)) ** 2
        scale = np.full(len(rating), math.sqrt(shared))
        centre = self.at_home(rating, history)
        return Outlook(centre=centre, scale=scale, curve="logistic", shared=shared)
