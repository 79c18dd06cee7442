"""Elo-MMR with the nearest opponents only, as section 5.3 proposes, to show what it loses.

Source: [EM]_ section 5.3 (READINGS B6). The package counts all opponents. Every player has a window
of their own here, whose equation is solved by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from equipoise.arrays import Floats
from equipoise.numeric.workers import Workers
from equipoise.rating.elo_mmr.direct import solve_directly, ties_of
from equipoise.rating.elo_mmr.elo_mmr import EloMMR, EloMMRParameters, Field
from equipoise.rating.rated_system import rating_system
from papers.elo_mmr.fields import system

#: Distances that differ by less, in rating points, count as equal. Otherwise rounding would decide
#: between ratings that are symmetric.
_AS_NEAR = 1e-6


def nearest(opponents: int, model: type[EloMMRParameters] = EloMMR) -> EloMMRParameters:
    """Return a system at the scale of the experiments that counts the nearest opponents only.

    opponents : how many; all who are as near as the last of them count too, so that equals are
        treated in the same way
    """

    def performances(
        of: EloMMRParameters, field: Field, settings: Any, workers: Workers
    ) -> tuple[Floats, float]:
        """Phase one: return (performances, shape (n,), and a residual below 0)."""
        return _against_nearest(field, opponents, settings), -1.0

    def kernel(of: EloMMRParameters, job: Any) -> Callable[[Any, int, int], tuple[int, float]]:
        """Return a function that rates matches first:last, each with these performances."""

        def rate(job: Any, first: int, last: int) -> tuple[int, float]:
            for m in range(first, last):
                if of.opens(job, m):
                    residual = of.share(job, m, Workers())
                    if residual >= 0.0:
                        return m, residual
                    of.closes(job, m)
            return -1, -1.0

        return rate

    body = {"__module__": __name__, "_performances": performances, "kernel": kernel}
    return system(rating_system(type(model.__name__, (model,), body)))


def _against_nearest(field: Field, opponents: int, settings: Any) -> Floats:
    """Return every player's performance against the nearest opponents."""
    n = len(field.players)
    place = np.repeat(np.arange(len(field.places) - 1), np.diff(field.places))
    found = np.empty(n)
    for i in range(n):
        distance = np.abs(field.rating - field.rating[i])
        farthest = np.sort(distance)[min(opponents, n - 1)]
        near = np.flatnonzero(distance <= farthest + _AS_NEAR)
        # Players are in the order of their places.
        firsts = np.flatnonzero(np.diff(place[near], prepend=-1))
        by_place, residual = solve_directly(
            field.rating[near],
            field.slope[near],
            np.append(firsts, len(near)),
            ties_of(settings.split_ties, settings.gaussian),
            settings.gaussian,
        )
        assert residual < 0.0
        found[i] = by_place[place[near[firsts]] == place[i]][0]
    return found
