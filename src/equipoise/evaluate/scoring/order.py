"""Agreement of predicted orders with results, and scores by the experience of the players.

Source: [EM]_ section 6.2, for every participant of a match; pairs are counted in O(n log n).
Departures (READINGS B9): a pair predicted equal but not tied counts one half, and equal
predictions share the mean of their places; `as_authors` counts such a pair as correct and takes
places in the order of the result. The third metric is the normalised discounted cumulative gain:
a team's gain is the fraction of the other teams that it beat, a tie one half, and the discount of
place p (from 1) is 1/log2(1 + p), averaged over the places that equal predictions share.

A metric over all players says little about newcomers, and one over players with five or more
earlier matches says nothing about them. So the same predictions are scored for groups. A pair
belongs to the group of its less experienced player. A distance between predicted and actual place
belongs to the group of the player, with places counted among all participants. A pair weighs as in
the total score, one over the number of the player's opponents, seen from both sides. So the scores
of all groups add up to the total score.

In a match of teams a pair is a player and another team. It belongs to the less experienced group of
that player and of the most experienced member of that team. This agrees with leaving out players
with few matches (READINGS B9): a team stays as long as one member does.

Losses of expected scores are added up where they are computed, in `metrics`.

The last group, players with enough matches, is not scored here but by READINGS B9, with places
counted among its members only.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from equipoise._jit import inner_kernel, kernel
from equipoise.arrays import Floats, Ints

#: Runs of this length are sorted by insertion before they are merged.
_RUN = 16

#: Fewest earlier matches of each group; the last group is scored elsewhere.
STARTS = (0, 1, 5)

COLUMNS = 8


class MatchTeams(NamedTuple):
    """The teams of one match that are scored: the first `count` entries, best result first.

    Teams that tie are in the order of the history.

    centre, variance : of their performances, as predicted (see `Outlook`)
    rank : as in the history, with gaps where teams were left out
    team : row of `PredictedTeams`
    """

    centre: Floats
    variance: Floats
    rank: Ints
    team: Ints


class OrderScores(NamedTuple):
    """Metrics of every predicted team, in percent [EM]_ sec. 6.2."""

    pair_inversion: Floats
    rank_deviation: Floats


class Places(NamedTuple):
    """Buffers for the places of the teams of one match.

    order, spare : shape (n,), teams with the best prediction first, and space for merging
    better : shape (n + 1,); better[r] teams have a rank below r
    seen : shape (n + 1,), a binary indexed tree that counts teams by rank
    discount : shape (n + 1,); discount[p] is the sum of the discounts of the first p places
    """

    order: Ints
    spare: Ints
    better: Ints
    seen: Ints
    discount: Floats


@kernel
def room_for(teams: int) -> tuple[MatchTeams, Places]:
    """Return buffers for matches of up to `teams` teams, with all discounts."""
    discount = np.zeros(teams + 1)
    for place in range(1, teams + 1):
        discount[place] = discount[place - 1] + 1.0 / np.log2(1.0 + place)
    ranked = MatchTeams(
        np.empty(teams), np.empty(teams), np.empty(teams, np.int64), np.empty(teams, np.int64)
    )
    places = Places(
        np.empty(teams, np.int64),
        np.empty(teams, np.int64),
        np.empty(teams + 1, np.int64),
        np.empty(teams + 1, np.int64),
        discount,
    )
    return ranked, places


@inner_kernel
def _goes_before(ranked: MatchTeams, one: int, other: int) -> bool:
    """Return whether one team is predicted above another; ties are in the order of the result."""
    first, second = ranked.centre[one], ranked.centre[other]
    before: bool = first > second or (first == second and ranked.rank[one] < ranked.rank[other])
    return before


@inner_kernel
def sort_by_prediction(ranked: MatchTeams, count: int, places: Places) -> None:
    """Fill order[:count], best first: a merge sort, so that equal teams keep their order."""
    order, spare = places.order, places.spare
    sorted_already = True
    for i in range(count):
        order[i] = i
        sorted_already &= i == 0 or not _goes_before(ranked, i, i - 1)
    if sorted_already:
        return
    for start in range(0, count, _RUN):
        for i in range(start + 1, min(start + _RUN, count)):
            at = i
            while at > start and _goes_before(ranked, i, order[at - 1]):
                order[at] = order[at - 1]
                at -= 1
            order[at] = i
    width = _RUN
    while width < count:
        for start in range(0, count, 2 * width):
            middle, stop = min(start + width, count), min(start + 2 * width, count)
            left, right = start, middle
            for at in range(start, stop):
                from_right = left >= middle
                if not from_right and right < stop:
                    from_right = _goes_before(ranked, order[right], order[left])
                if from_right:
                    spare[at] = order[right]
                    right += 1
                else:
                    spare[at] = order[left]
                    left += 1
        for at in range(count):
            order[at] = spare[at]
        width *= 2


@inner_kernel
def _count_below(seen: Ints, rank: int) -> int:
    """Return how many of the teams seen have a rank below this one."""
    total = 0
    at = rank
    while at > 0:
        total += seen[at]
        at -= at & -at
    return total


@inner_kernel
def _see(seen: Ints, rank: int, ranks: int) -> None:
    at = rank + 1
    while at <= ranks:
        seen[at] += 1
        at += at & -at


@inner_kernel
def score_order(
    ranked: MatchTeams, count: int, places: Places, as_authors: bool, scores: OrderScores
) -> float:
    """Fill both metrics of every team and return the cumulative gain, 1 if it is perfect.

    `places` must hold the teams in the order of prediction, and the counts of better ones.
    """
    ranks = 0
    while places.better[ranks] < count:
        ranks += 1
    places.seen[: ranks + 1] = 0
    gained, ideal = 0.0, 0.0
    start = 0
    while start < count:
        centre = ranked.centre[places.order[start]]
        stop = start + 1
        while stop < count and ranked.centre[places.order[stop]] == centre:
            stop += 1
        for at in range(start, stop):
            i = places.order[at]
            # These were correctly predicted above.
            above = _count_below(places.seen, ranked.rank[i])
            scores.pair_inversion[ranked.team[i]] = above
        for at in range(start, stop):
            _see(places.seen, ranked.rank[places.order[at]], ranks)
        more, best = _score_equals(ranked, count, places, (start, stop), as_authors, scores)
        gained += more
        ideal += best
        start = stop
    return gained / ideal


@inner_kernel
def _score_equals(
    ranked: MatchTeams,
    count: int,
    places: Places,
    span: tuple[int, int],
    as_authors: bool,
    scores: OrderScores,
) -> tuple[float, float]:
    """Score the teams order[span], which are predicted equal; return (gained, gained at best)."""
    start, stop = span
    others = count - 1.0
    gained, ideal = 0.0, 0.0
    for at in range(start, stop):
        i = places.order[at]
        rank, team = ranked.rank[i], ranked.team[i]
        above, below = places.better[rank], places.better[rank + 1]
        tied, worse = below - above, count - below
        # Of the worse teams, those not yet seen were correctly predicted below.
        seen_worse = stop - _count_below(places.seen, rank + 1)
        right = scores.pair_inversion[team] + worse - seen_worse + tied - 1
        undecided = stop - start - 1
        if undecided > 0:
            undecided += 1 - _tied_among(ranked, places.order, span, rank)
        right += undecided if as_authors else 0.5 * undecided
        scores.pair_inversion[team] = 100.0 * right / others
        first, last = (at, at + 1) if as_authors else (start, stop)
        place = 0.5 * (first + last - 1)
        distance = max(above - place, place - (below - 1), 0.0)
        scores.rank_deviation[team] = 100.0 * distance / others
        gain = worse + 0.5 * (tied - 1)
        gained += gain * _mean_discount(places.discount, first, last)
        ideal += gain * _mean_discount(places.discount, above, below)
    return gained, ideal


@inner_kernel
def _mean_discount(discount: Floats, first: int, stop: int) -> float:
    """Return the mean discount of places first:stop, counted from 0."""
    mean: float = (discount[stop] - discount[first]) / (stop - first)
    return mean


@inner_kernel
def _tied_among(ranked: MatchTeams, order: Ints, span: tuple[int, int], rank: int) -> int:
    """Return how many of the teams order[span], which are sorted by rank, have this rank."""
    first = _first_from(ranked, order, span, rank)
    return _first_from(ranked, order, span, rank + 1) - first


@inner_kernel
def _first_from(ranked: MatchTeams, order: Ints, span: tuple[int, int], rank: int) -> int:
    """Return the first position in the span of a team of this rank or a worse one."""
    low, high = span
    while low < high:
        middle = (low + high) // 2
        if ranked.rank[order[middle]] < rank:
            low = middle + 1
        else:
            high = middle
    return low


#: Number of groups scored here: without an earlier match, and with one to four.
GROUPS = len(STARTS) - 1

#: Columns of the sums of a group: (weight of the pairs, their score) by order; players and the sum
#: of their distances; (weight of the pairs, their losses) by expected scores; and all players.
PAIRS, RIGHT, PLACED, DISTANCE, CHANCES, LOG_LOSS, BRIER, PLAYERS = range(8)
#: For each metric (its sum, what it is divided by).
GROUP_RATIOS = {
    "pair_inversion": (RIGHT, PAIRS),
    "rank_deviation": (DISTANCE, PLACED),
    "log_loss": (LOG_LOSS, CHANCES),
    "brier": (BRIER, CHANCES),
}


class Experience(NamedTuple):
    """Sums by experience, and buffers; without rows of members no sums are computed.

    members : shape (T, 3), participations of every team in each group
    sums : shape (M, GROUPS, COLUMNS), the result
    least, best : groups of the least and the most experienced member of the teams of one match
    ranked, places, scores : for the teams of the largest match
    """

    members: Ints
    sums: Floats
    least: Ints
    best: Ints
    ranked: MatchTeams
    places: Places
    scores: OrderScores


@kernel
def experience_room(members: Ints, matches: int, teams: int) -> Experience:
    """Return buffers for `matches` matches of up to `teams` teams."""
    ranked, places = room_for(teams)
    return Experience(
        members,
        np.zeros((matches, GROUPS, COLUMNS)),
        np.empty(teams, np.int64),
        np.empty(teams, np.int64),
        ranked,
        places,
        OrderScores(np.empty(teams), np.empty(teams)),
    )


@inner_kernel
def begin_match(ranked: MatchTeams, count: int, match: int, experience: Experience) -> None:
    """Record the groups of the teams of a match, and count its players."""
    for i in range(count):
        members = experience.members[ranked.team[i]]
        experience.best[i] = 2 if members[2] > 0 else 1 if members[1] > 0 else 0
        experience.least[i] = 0 if members[0] > 0 else 1 if members[1] > 0 else 2
        for group in range(GROUPS):
            experience.sums[match, group, PLAYERS] += members[group]


@inner_kernel
def _from(members: Ints, team: int, least: int) -> int:
    """Return how many members of a team are in this group or a more experienced one."""
    count = 0
    for group in range(least, 3):
        count += members[team, group]
    return count


@inner_kernel
def members_in(members: Ints, team: int, other_best: int, group: int) -> int:
    """Return for how many members of a team the pair with another team belongs to a group.

    The group is below 2. A pair belongs to the less experienced group of the member and the other
    team.

    other_best : the group of the other team's most experienced member
    """
    if other_best < group:
        return 0
    if other_best > group:
        return int(members[team, group])
    return _from(members, team, group)


@inner_kernel
def add_order(
    ranked: MatchTeams,
    count: int,
    order: Ints,
    as_authors: bool,
    scores: OrderScores,
    match: int,
    experience: Experience,
) -> None:
    """Add the order of a match to the groups: its pairs, and the distances of its players.

    order, scores : of all teams of the match
    """
    every = 0
    for i in range(count):
        team = ranked.team[i]
        every += _from(experience.members, team, 0)
        for group in range(GROUPS):
            sums, players = experience.sums[match, group], experience.members[team, group]
            sums[PLACED] += players
            sums[DISTANCE] += players * scores.rank_deviation[team]
    if every == count:
        _add_pairs_of_players(ranked, count, order, as_authors, scores, match, experience)
    else:
        _add_pairs_of_teams(ranked, count, order, as_authors, scores, match, experience)


@inner_kernel
def _add_pairs_of_teams(
    ranked: MatchTeams,
    count: int,
    order: Ints,
    as_authors: bool,
    scores: OrderScores,
    match: int,
    experience: Experience,
) -> None:
    """Add pairs: those among teams with a member of a group or above, minus those of the next."""
    opponents = count - 1.0
    pairs, right = 0.0, 0.0
    for i in range(count):
        players = _from(experience.members, ranked.team[i], 0)
        pairs += players * opponents
        right += players * opponents * scores.pair_inversion[ranked.team[i]]
    for group in range(GROUPS):
        fewer, fewer_right = _among(ranked, count, order, as_authors, (group + 1, 2), experience)
        sums = experience.sums[match, group]
        sums[PAIRS] += (pairs - fewer) / opponents
        sums[RIGHT] += (right - fewer_right) / opponents
        pairs, right = fewer, fewer_right


@inner_kernel
def _add_pairs_of_players(
    ranked: MatchTeams,
    count: int,
    order: Ints,
    as_authors: bool,
    scores: OrderScores,
    match: int,
    experience: Experience,
) -> None:
    """Add pairs of single players, which are the same seen from both sides.

    So only inexperienced players are sorted again. The pairs of newcomers are twice their pairs
    against all players, minus the pairs among themselves, which are counted double. For players
    with few matches, pairs against newcomers are subtracted as well.
    """
    opponents = count - 1.0
    new, new_right, few, few_right = 0.0, 0.0, 0.0, 0.0
    for i in range(count):
        right = scores.pair_inversion[ranked.team[i]] * opponents
        if experience.best[i] == 0:
            new += opponents
            new_right += right
        elif experience.best[i] == 1:
            few += opponents
            few_right += right
    of_new, right_new = _among(ranked, count, order, as_authors, (0, 0), experience)
    of_both, right_both = _among(ranked, count, order, as_authors, (0, 1), experience)
    sums = experience.sums[match, 0]
    sums[PAIRS] += (2.0 * new - of_new) / opponents
    sums[RIGHT] += (2.0 * new_right - right_new) / opponents
    sums = experience.sums[match, 1]
    # Twice all their pairs, minus those among themselves and those between the two groups. The
    # latter two are the pairs of both groups minus the pairs of newcomers.
    sums[PAIRS] += (2.0 * few - of_both + of_new) / opponents
    sums[RIGHT] += (2.0 * few_right - right_both + right_new) / opponents


@inner_kernel
def _among(
    ranked: MatchTeams,
    count: int,
    order: Ints,
    as_authors: bool,
    groups: tuple[int, int],
    experience: Experience,
) -> tuple[float, float]:
    """Return (pairs, those in the right order in percent) of players in a range of groups.

    A team is in the group of its most experienced member, and counts for the members from the
    first group on. Pairs are counted from both sides.
    """
    first, last = groups
    some, room, members = experience.ranked, experience.places, experience.members
    # The teams of the groups, in the order of the result; room.spare maps all teams to them.
    kept, ranks = 0, 0
    room.better[0] = 0
    for i in range(count):
        while ranks < ranked.rank[i]:
            ranks += 1
            room.better[ranks] = kept
        room.spare[i] = -1
        if first <= experience.best[i] <= last:
            room.spare[i] = kept
            some.centre[kept] = ranked.centre[i]
            some.rank[kept] = ranked.rank[i]
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
    score_order(some, kept, room, as_authors, experience.scores)
    players, right = 0, 0.0
    for i in range(count):
        at = room.spare[i]
        if at >= 0:
            weight = _from(members, ranked.team[i], first)
            players += weight
            right += weight * experience.scores.pair_inversion[at]
    return players * (kept - 1.0), right * (kept - 1.0)


@inner_kernel
def add_even_pairs(ranked: MatchTeams, count: int, match: int, experience: Experience) -> None:
    """Add the losses of all pairs of a match in which every expected score is one half."""
    opponents = count - 1.0
    pairs, decided = _even_among(ranked, count, 0, experience)
    for group in range(GROUPS):
        fewer, fewer_decided = _even_among(ranked, count, group + 1, experience)
        sums = experience.sums[match, group]
        sums[CHANCES] += (pairs - fewer) / opponents
        sums[LOG_LOSS] += math.log(2.0) * (pairs - fewer) / opponents
        sums[BRIER] += 0.25 * (decided - fewer_decided) / opponents
        pairs, decided = fewer, fewer_decided


@inner_kernel
def _even_among(
    ranked: MatchTeams, count: int, least: int, experience: Experience
) -> tuple[float, float]:
    """Return (pairs, pairs that did not tie) of players from the group `least` on."""
    teams = 0
    for i in range(count):
        teams += experience.best[i] >= least
    pairs, decided, start = 0.0, 0.0, 0
    while start < count:
        stop, tied, players = start, 0, 0
        while stop < count and ranked.rank[stop] == ranked.rank[start]:
            # A member of this experience makes the team count.
            tied += experience.best[stop] >= least
            players += _from(experience.members, ranked.team[stop], least)
            stop += 1
        pairs += players * (teams - 1.0)
        decided += players * (teams - tied)
        start = stop
    return pairs, decided
