"""Scores by how experienced players are: pairs by the less experienced of the two.

A metric over everybody says little about newcomers, and one over players with five or more earlier
matches says nothing about them. So the same predictions are scored for groups: a pair belongs to
the group of its less experienced player, and distances between predicted and actual places to the
group of the player, with places counted in the whole field. A pair weighs as it does in the score
over all, one over the number of the player's opponents, seen from both sides; so the scores of all
groups together are the score over all.

In a match of teams a pair is a player and another team. It belongs to the group of the less
experienced of that player and the most experienced member of that team. This is what leaving out
players with few matches does (READINGS B9): a team stays as long as one member does.

Pairs by expected scores are added up where their losses are computed, in `evaluate.pairwise`.

The last group, players with enough matches, is not scored here but as READINGS B9 has it, with
places counted again among those who are left.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from equipoise._jit import inner_kernel, kernel
from equipoise.arrays import Floats, Ints
from equipoise.evaluate.scoring.order import Entrants, OrderScores, Places, score_order

#: Number of earlier matches with which each group begins; the last is scored elsewhere.
STARTS = (0, 1, 5)
#: Groups that are scored here: without an earlier match, and with one to four.
GROUPS = len(STARTS) - 1

#: Columns of the sums of a group: (weight of the pairs, their score) by order; players and the sum
#: of their distances; (weight of the pairs, their losses) by expected scores; and all players.
PAIRS, RIGHT, PLACED, APART, CHANCES, LOG_LOSS, BRIER, PLAYERS = range(8)
COLUMNS = 8
#: For each metric (its sum, what it is divided by).
GROUP_RATIOS = {
    "pair_inversion": (RIGHT, PAIRS),
    "rank_deviation": (APART, PLACED),
    "log_loss": (LOG_LOSS, CHANCES),
    "brier": (BRIER, CHANCES),
}


class Experience(NamedTuple):
    """What is scored by experience, and the room for it; without rows nothing is.

    members : shape (T, 3), participations of every team in each group
    sums : shape (M, GROUPS, COLUMNS), filled in
    least, best : groups of the least and the most experienced member of the teams of one match
    entrants, places, scores : for the teams of the largest match
    """

    members: Ints
    sums: Floats
    least: Ints
    best: Ints
    entrants: Entrants
    places: Places
    scores: OrderScores


@kernel
def experience_room(members: Ints, matches: int, teams: int, discount: Floats) -> Experience:
    """Return room for so many matches of up to so many teams; discount as in `Places`."""
    return Experience(
        members,
        np.zeros((matches, GROUPS, COLUMNS)),
        np.empty(teams, np.int64),
        np.empty(teams, np.int64),
        Entrants(
            np.empty(teams), np.empty(teams), np.empty(teams, np.int64), np.empty(teams, np.int64)
        ),
        Places(
            np.empty(teams, np.int64),
            np.empty(teams, np.int64),
            np.empty(teams + 1, np.int64),
            np.empty(teams + 1, np.int64),
            discount,
        ),
        OrderScores(np.empty(teams), np.empty(teams)),
    )


@inner_kernel
def begin_match(entrants: Entrants, count: int, match: int, found: Experience) -> None:
    """Note the groups of the teams of a match, and add its players."""
    for i in range(count):
        members = found.members[entrants.team[i]]
        found.best[i] = 2 if members[2] > 0 else 1 if members[1] > 0 else 0
        found.least[i] = 0 if members[0] > 0 else 1 if members[1] > 0 else 2
        for group in range(GROUPS):
            found.sums[match, group, PLAYERS] += members[group]


@inner_kernel
def _from(members: Ints, team: int, least: int) -> int:
    """Return how many members of a team are in this group or a more experienced one."""
    count = 0
    for group in range(least, 3):
        count += members[team, group]
    return count


@inner_kernel
def members_in(members: Ints, team: int, other_best: int, group: int) -> int:
    """Return for how many members of a team the pair with another team belongs to a group below 2.

    That is, for how many the less experienced of the member and the other team is of the group.
    other_best : the group of the other team's most experienced member
    """
    if other_best < group:
        return 0
    if other_best > group:
        return int(members[team, group])
    return _from(members, team, group)


@inner_kernel
def add_order(
    entrants: Entrants,
    count: int,
    order: Ints,
    as_authors: bool,
    scores: OrderScores,
    match: int,
    found: Experience,
) -> None:
    """Add the order of a match to the groups: its pairs, and by player the distances.

    order, scores : of the whole field
    """
    every = 0
    for i in range(count):
        team = entrants.team[i]
        every += _from(found.members, team, 0)
        for group in range(GROUPS):
            sums, players = found.sums[match, group], found.members[team, group]
            sums[PLACED] += players
            sums[APART] += players * scores.rank_deviation[team]
    if every == count:
        _add_pairs_of_players(entrants, count, order, as_authors, scores, match, found)
    else:
        _add_pairs_of_teams(entrants, count, order, as_authors, scores, match, found)


@inner_kernel
def _add_pairs_of_teams(
    entrants: Entrants,
    count: int,
    order: Ints,
    as_authors: bool,
    scores: OrderScores,
    match: int,
    found: Experience,
) -> None:
    """Add pairs: those among teams with someone so experienced, less those among the next."""
    opponents = count - 1.0
    pairs, right = 0.0, 0.0
    for i in range(count):
        players = _from(found.members, entrants.team[i], 0)
        pairs += players * opponents
        right += players * opponents * scores.pair_inversion[entrants.team[i]]
    for group in range(GROUPS):
        fewer, fewer_right = _among(entrants, count, order, as_authors, (group + 1, 2), found)
        sums = found.sums[match, group]
        sums[PAIRS] += (pairs - fewer) / opponents
        sums[RIGHT] += (right - fewer_right) / opponents
        pairs, right = fewer, fewer_right


@inner_kernel
def _add_pairs_of_players(
    entrants: Entrants,
    count: int,
    order: Ints,
    as_authors: bool,
    scores: OrderScores,
    match: int,
    found: Experience,
) -> None:
    """Add pairs of single players, which are the same seen from both sides.

    So only the inexperienced ones are put in order anew. All pairs of newcomers are twice what they
    have against everybody, less those among themselves, which that counts double. Of players with
    few matches those against newcomers are taken off as well.
    """
    opponents = count - 1.0
    new, new_right, few, few_right = 0.0, 0.0, 0.0, 0.0
    for i in range(count):
        right = scores.pair_inversion[entrants.team[i]] * opponents
        if found.best[i] == 0:
            new += opponents
            new_right += right
        elif found.best[i] == 1:
            few += opponents
            few_right += right
    of_new, right_new = _among(entrants, count, order, as_authors, (0, 0), found)
    of_both, right_both = _among(entrants, count, order, as_authors, (0, 1), found)
    sums = found.sums[match, 0]
    sums[PAIRS] += (2.0 * new - of_new) / opponents
    sums[RIGHT] += (2.0 * new_right - right_new) / opponents
    sums = found.sums[match, 1]
    # Twice all of theirs, less those among themselves, less those between the two groups, which
    # together are those of both groups less those of newcomers.
    sums[PAIRS] += (2.0 * few - of_both + of_new) / opponents
    sums[RIGHT] += (2.0 * few_right - right_both + right_new) / opponents


@inner_kernel
def _among(
    entrants: Entrants,
    count: int,
    order: Ints,
    as_authors: bool,
    groups: tuple[int, int],
    found: Experience,
) -> tuple[float, float]:
    """Return (pairs, those in the right order in percent) of players in a range of groups.

    A team is in the group of its most experienced member, and counts for the members from the
    first group on. Pairs are counted from both sides.
    """
    first, last = groups
    some, room, members = found.entrants, found.places, found.members
    # Rows of the teams that stay, in the order of the result; room.spare keeps who is where.
    kept, ranks = 0, 0
    room.better[0] = 0
    for i in range(count):
        while ranks < entrants.rank[i]:
            ranks += 1
            room.better[ranks] = kept
        room.spare[i] = -1
        if first <= found.best[i] <= last:
            room.spare[i] = kept
            some.centre[kept] = entrants.centre[i]
            some.rank[kept] = entrants.rank[i]
            some.team[kept] = kept
            kept += 1
    room.better[ranks + 1] = kept
    if kept < 2:
        return 0.0, 0.0
    at = 0
    for k in range(count):
        i = room.spare[order[k]]
        if i >= 0:
            room.order[at] = i
            at += 1
    score_order(some, kept, room, as_authors, found.scores)
    players, right = 0, 0.0
    for i in range(count):
        at = room.spare[i]
        if at >= 0:
            weight = _from(members, entrants.team[i], first)
            players += weight
            right += weight * found.scores.pair_inversion[at]
    return players * (kept - 1.0), right * (kept - 1.0)


@inner_kernel
def add_even_pairs(entrants: Entrants, count: int, match: int, found: Experience) -> None:
    """Add the losses of all pairs of a match in which each has a chance of one half."""
    opponents = count - 1.0
    pairs, decided = _even_among(entrants, count, 0, found)
    for group in range(GROUPS):
        fewer, fewer_decided = _even_among(entrants, count, group + 1, found)
        sums = found.sums[match, group]
        sums[CHANCES] += (pairs - fewer) / opponents
        sums[LOG_LOSS] += math.log(2.0) * (pairs - fewer) / opponents
        sums[BRIER] += 0.25 * (decided - fewer_decided) / opponents
        pairs, decided = fewer, fewer_decided


@inner_kernel
def _even_among(
    entrants: Entrants, count: int, least: int, found: Experience
) -> tuple[float, float]:
    """Return (pairs, those that did not tie) of players at least so experienced."""
    teams = 0
    for i in range(count):
        teams += found.best[i] >= least
    pairs, decided, start = 0.0, 0.0, 0
    while start < count:
        stop, tied, players = start, 0, 0
        while stop < count and entrants.rank[stop] == entrants.rank[start]:
            # Members who are at least so experienced are in a team that is.
            tied += found.best[stop] >= least
            players += _from(found.members, entrants.team[stop], least)
            stop += 1
        pairs += players * (teams - 1.0)
        decided += players * (teams - tied)
        start = stop
    return pairs, decided
