"""What is counted of players in a made-up match, following how well they performed in it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equipoise.arrays import Floats, Ints

#: What is counted of every player.
STATISTICS = ("kills", "deaths", "damage")


class Role(NamedTuple):
    """What a role counts for: share of the players, and how its statistics compare with others'."""

    name: str
    share: float
    kills: float
    deaths: float
    damage: float


ROLES = (
    Role("attack", 0.5, 1.25, 1.05, 1.2),
    Role("defence", 0.3, 0.9, 1.1, 0.95),
    Role("support", 0.2, 0.5, 0.8, 0.6),
)

#: Shape of the gamma distribution of damage: it varies by a third around its mean.
_DAMAGE_SHAPE = 9.0
#: A performance moves a statistic by at most so many powers of e.
_STEEPEST = 2.0


class Usual(NamedTuple):
    """Statistics of a player without a role who performs like the match, in a whole one."""

    kills: float
    deaths: float
    damage: float


def draw_statistics(
    usual: Usual, above: Floats, share: Floats, role: Ints | None, *, rng: np.random.Generator
) -> tuple[Ints, Ints, Ints]:
    """Return kills, deaths and damage of n players, shape (n,) each.

    above : shape (n,), performance above that of the match; 1 makes e times the kills and the
        damage, and 1/e of the deaths
    share : shape (n,), how much of the match each has played
    role : shape (n,), numbers of `ROLES`; None where there are none
    """
    better = np.exp(np.clip(above, -_STEEPEST, _STEEPEST))
    relative = np.ones((3, len(above)))
    if role is not None:
        relative = np.array([(one.kills, one.deaths, one.damage) for one in ROLES])[role].T
    kills = rng.poisson(usual.kills * relative[0] * share * better)
    deaths = rng.poisson(usual.deaths * relative[1] * share / better)
    varied = rng.gamma(_DAMAGE_SHAPE, 1.0 / _DAMAGE_SHAPE, len(above))
    damage = np.rint(usual.damage * relative[2] * share * better * varied)
    return kills.astype(np.int64), deaths.astype(np.int64), damage.astype(np.int64)
