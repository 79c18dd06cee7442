"""The places that a team might have taken in a match: where it came, and worse ones."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equipoise.arrays import Flags, Ints
from equipoise.data.history import History
from equipoise.rating.system import Capabilities

#: Up to so many worse places all are options; of more, so many spread evenly, the last among them.
_ALL_UP_TO, _SPREAD = 6, 3


class Placements(NamedTuple):
    """Options of one participation, from where it came (0) on to the last place.

    row : of the player in the match
    ranks : for each option the ranks of all n participations, dense from 0, each of shape (n,)
    place, tied : shape (options,), place of the player's team from 1, other teams in that place
    """

    row: int
    ranks: tuple[Ints, ...]
    place: Ints
    tied: Ints


def placements(match: History, row: int, capabilities: Capabilities) -> Placements:
    """Return the options that a player's team has in a history of one match.

    The other teams keep their order. A tie is an option where the system rates ties, unless all
    teams would tie and the match would not be rated (READINGS B7): who throws it still takes part.
    """
    own = match.team == match.team[row]
    _, first = np.unique(match.team[~own], return_index=True)
    of_teams, rank = match.rank[~own][first], int(match.rank[row])
    worse = worse_spots(np.unique(of_teams), rank, ties=capabilities.draws)
    if capabilities.skips_all_tied and len(of_teams) > 1 and np.ptp(of_teams) == 0:
        worse = worse[worse != 2 * of_teams[0]]
    if len(worse) > _ALL_UP_TO:
        worse = worse[np.linspace(0, len(worse) - 1, _SPREAD + 1).round().astype(np.int64)[1:]]
    spots = np.concatenate([[2 * rank], worse])
    ranks = [match.rank, *(_with_spot(match.rank, own, int(spot)) for spot in worse)]
    return Placements(
        row=row,
        ranks=tuple(ranks),
        place=np.array([np.sum(2 * of_teams < spot) + 1 for spot in spots]),
        tied=np.array([np.sum(2 * of_teams == spot) for spot in spots]),
    )


def worse_spots(others: Ints, rank: int, *, ties: bool) -> Ints:
    """Return all spots below one's own, better ones first; shape (options,).

    A spot is twice a rank: even ones tie with the others of that rank, odd ones lie below them.
    others : distinct ranks of the other teams in rising order; rank : one's own
    """
    below = others[others > rank]
    just_below_ties = [2 * rank + 1] if rank in others else []
    ties_and_below = np.stack([2 * below, 2 * below + 1], axis=1).ravel()
    spots = np.concatenate([just_below_ties, ties_and_below]).astype(np.int64)
    return spots if ties else spots[spots % 2 == 1]


def _with_spot(rank: Ints, own: Flags, spot: int) -> Ints:
    """Return the ranks with one's own team in a spot, dense from 0."""
    moved = np.where(own, spot, 2 * rank)
    return np.unique(moved, return_inverse=True)[1].astype(np.int64).reshape(-1)
