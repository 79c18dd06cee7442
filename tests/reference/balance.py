"""Fair teams by looking at every split: slow and obvious.

Source: [TG2] section 13, READINGS A10. Players are dictionaries; a split is a list of lists of ids.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field

TOLERANCE = 1e-9


@dataclass(frozen=True)
class Player:
    """A player as a table has them."""

    id: int
    rating: float
    deviation: float
    effective: float
    party: str | None = None
    lock: str | None = None
    avoid: tuple[int, ...] = field(default=())


Teams = list[list[Player]]


def objective(teams: Teams, weight: float) -> float:
    """Return (48), the largest over pairs of teams."""

    def pair(a: list[Player], b: list[Player]) -> float:
        strength = sum(p.effective for p in a) / len(a) - sum(p.effective for p in b) / len(b)
        u_a, u_b = uncertainty(a) / math.sqrt(len(a)), uncertainty(b) / math.sqrt(len(b))
        return abs(strength) + weight * abs(u_a - u_b)

    return max(pair(a, b) for a, b in itertools.combinations(teams, 2))


def uncertainty(team: list[Player]) -> float:
    """Return (47)."""
    return math.sqrt(sum(p.deviation**2 for p in team))


def mean_rating(team: list[Player]) -> float:
    return sum(p.rating for p in team) / len(team)


def ordered(players: list[Player]) -> list[Player]:
    """Return players with the top player first."""
    return sorted(players, key=lambda p: (-p.effective, -p.rating, p.id))


def all_splits(players: list[Player], teams: int) -> Iterator[Teams]:
    """Yield every split whose sizes differ by at most one, the team with the top player first."""
    players = ordered(players)
    small, larger = divmod(len(players), teams)

    def grow(left: list[Player], larger: int, count: int) -> Iterator[Teams]:
        if count == 0:
            yield []
            return
        first, rest = left[0], left[1:]
        for size in {small} if larger == 0 else {small, small + 1}:
            spare = larger - (size > small)
            if spare > count - 1:
                continue
            for others in itertools.combinations(rest, size - 1):
                team = [first, *others]
                kept = [p for p in rest if p not in others]
                for more in grow(kept, spare, count - 1):
                    yield [team, *more]

    yield from grow(players, larger, teams)


def is_kept(teams: Teams) -> bool:
    """Return whether parties, locks and avoid pairs are kept."""
    team_of = {p.id: number for number, team in enumerate(teams) for p in team}
    players = [p for team in teams for p in team]
    for a, b in itertools.combinations(players, 2):
        same = team_of[a.id] == team_of[b.id]
        if a.party is not None and a.party == b.party and not same:
            return False
        if a.lock is not None and b.lock is not None and (a.lock == b.lock) != same:
            return False
        if same and (b.id in a.avoid or a.id in b.avoid):
            return False
    return True


def top_two_apart(teams: Teams) -> bool:
    """Return whether the best players are in different teams."""
    best = ordered([p for team in teams for p in team])[: len(teams)]
    return all(sum(p in best for p in team) == 1 for team in teams)


def top_in_smaller(teams: Teams) -> bool:
    """Return whether the top player, who is in the first team, is in a smaller one."""
    return len(teams[0]) == min(len(team) for team in teams)


def candidates(
    players: list[Player], teams: int = 2, *, top_two: bool = True, uneven: bool = True
) -> tuple[list[Teams], tuple[bool, bool]]:
    """Return the splits to choose from, and which of the two rules they keep."""
    kept = [split for split in all_splits(players, teams) if is_kept(split)]
    for top, small in ((True, True), (False, True), (True, False), (False, False)):
        if (top and not top_two) or (small and not uneven):
            continue
        found = [
            split
            for split in kept
            if (not top or top_two_apart(split)) and (not small or top_in_smaller(split))
        ]
        if found:
            return found, (top, small)
    return [], (False, False)


def best(splits: list[Teams], weight: float = 0.8) -> Teams:
    """Return the best of some splits into two teams, equals decided as in A10."""
    values = [objective(split, weight) for split in splits]
    left = [s for s, value in zip(splits, values, strict=True) if value <= min(values) + TOLERANCE]

    def rating(split: Teams) -> float:
        return abs(mean_rating(split[0]) - mean_rating(split[1]))

    def spread(split: Teams) -> float:
        return abs(uncertainty(split[0]) - uncertainty(split[1]))

    for key in (rating, spread):
        least = min(key(split) for split in left)
        left = [split for split in left if key(split) <= least + TOLERANCE]
    return min(left, key=lambda split: sorted(p.id for p in split[0]))


def ids(teams: Teams) -> list[set[int]]:
    return [{p.id for p in team} for team in teams]
