"""Partial play: what a share does to the rating of a player, in all systems whose ratings add up.

Source: partial play of the package trueskill 0.4.5, in which a share (there: weight) multiplies the
player's performance in the team's sum, and is at least 0.0001. It works the same in the updates of
[WL]_: the team is stronger by the share of a rating, and the player's part of the change follows
from the chain rule. The rule `contribution` is that of openskill 6.2: the shares of a team are
scaled to 1 to 2, a gain is multiplied by them and a loss divided.
Departure: a match in which all shares are 1 is not scaled; openskill scales a team of one to 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from equipoise._jit import inner_kernel, kernel
from equipoise.arrays import Floats, Ints
from equipoise.data.history import History

#: The smallest share; a smaller one counts as this, as in trueskill.
LEAST_PLAYED = 1e-4


class Played(NamedTuple):
    """What a system is told of its participations beside their ranks.

    Kernels leave out what is None, and a call that rates one match does not hand it over.

    share : shape (N,), or None if shares are not used
    score : shape (N,), of the player's team, NaN if unknown, or None if scores are not used
    """

    share: Floats | None
    score: Floats | None


def played_of(history: History, low: int, high: int, *, shares: bool, scores: bool) -> Played:
    """Return what participations low:high played; shares, scores : whether they are used."""
    share: Floats | None = None
    score: Floats | None = None
    if shares:
        share = np.ones(high - low) if history.share is None else history.share[low:high].copy()
    if scores:
        found = history.scores(low, high)
        score = np.full(high - low, np.nan) if found is None else found
    return Played(share, score)


def rewrite_share(own: Played, share: Sequence[float]) -> None:
    """Write the shares of another match of the same shape, if shares are used."""
    if own.share is not None:
        own.share[:] = share if len(share) else 1.0


def rewrite_score(column: Floats | None, score: Sequence[float]) -> None:
    """Write the scores of another match of the same shape, if scores are used."""
    if column is not None:
        column[:] = score if len(score) else np.nan


@inner_kernel
def part_played(share: Floats | None, i: int) -> float:
    """Return the share with which a player's performance counts in the team's sum."""
    if share is None:
        return 1.0
    return float(max(share[i], LEAST_PLAYED))


@inner_kernel
def factor_of_gain(factors: Floats | None, i: int, gains: bool) -> float:
    """Return by what the change of row i is multiplied; `factors` are those of gains."""
    if factors is None:
        return 1.0
    return float(factors[i] if gains else 1.0 / factors[i])


@kernel
def contributions(
    share: Floats | None, team: Ints, start: int, stop: int, contribution: bool
) -> Floats | None:
    """Return the factors of gains in rows start:stop, from 1 to 2 within each team.

    None without shares; without `contribution` all factors are 1
    """
    if share is None:
        return None
    factors = np.ones(stop - start)
    if not contribution:
        return factors
    count, whole = 0, True
    for i in range(start, stop):
        count = max(count, team[i] + 1)
        whole = whole and share[i] == 1.0
    if whole:
        return factors
    least, most, members = np.full(count, np.inf), np.full(count, -np.inf), np.zeros(count)
    for i in range(start, stop):
        t = team[i]
        least[t] = min(least[t], share[i])
        most[t] = max(most[t], share[i])
        members[t] += 1.0
    for i in range(start, stop):
        t = team[i]
        if members[t] == 1.0:
            factors[i - start] = 2.0
        elif most[t] > least[t]:
            factors[i - start] = 1.0 + (share[i] - least[t]) / (most[t] - least[t])
    return factors
