"""Parties and teams as numbers, and how even teams are.

Source: [MR]_, READINGS D1, D2, D8. Attributes are kept as whole numbers over a common power of two,
so that sums are exact: a composition has the same distance in whatever order it came about, and
equal compositions can be merged.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

#: Distances this close are equal (READINGS D1), for attributes up to a million. A mean of larger
#: ones has fewer digits, so there it grows with them.
TOLERANCE, MILLION = 1e-9, 1e6


class Evenness(NamedTuple):
    """What is made small: first the difference of member counts, then the distance."""

    difference: int
    distance: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Placing:
    """K parties and T teams, some of which may have members already.

    sizes : players of every party, in the order of arrival
    totals : sum of their attributes, times 2^shift
    counts, sums : the same of the members that every team has already
    capacity, minimum : players of a team
    shift : see totals
    tolerance : of distances
    by_size : no attribute counts; a party's total for the greedy method is its size
    """

    sizes: tuple[int, ...]
    totals: tuple[int, ...]
    counts: tuple[int, ...]
    sums: tuple[int, ...]
    capacity: int
    minimum: int
    shift: int = 0
    tolerance: float = TOLERANCE
    by_size: bool = False

    @property
    def parties(self) -> int:
        """Number of parties to be placed."""
        return len(self.sizes)

    @property
    def teams(self) -> int:
        """Number of teams."""
        return len(self.counts)

    @property
    def players(self) -> int:
        """Number of players, members of teams included."""
        return sum(self.sizes) + sum(self.counts)

    def mean(self, count: int, total: int) -> float:
        """Return the mean attribute of a team, rounded once; the team has somebody."""
        return total / (count << self.shift)

    def number(self, total: int) -> float:
        """Return a sum of attributes, rounded once."""
        return total / (1 << self.shift)

    def weight(self, party: int) -> int:
        """Return what the greedy method goes by."""
        return self.sizes[party] if self.by_size else self.totals[party]

    def evenness(self, counts: Sequence[int], sums: Sequence[int]) -> Evenness:
        """Return how even teams are, from their players and sums."""
        means = [
            self.mean(count, total) for count, total in zip(counts, sums, strict=True) if count
        ]
        return Evenness(max(counts) - min(counts), distance(means))

    def evenness_of(self, team_of: Sequence[int]) -> Evenness:
        """Return how even teams are that the parties are placed in."""
        counts, sums = list(self.counts), list(self.sums)
        for party, team in enumerate(team_of):
            counts[team] += self.sizes[party]
            sums[team] += self.totals[party]
        return self.evenness(counts, sums)

    def named(self, team_of: Sequence[int]) -> tuple[int, ...]:
        """Return the same composition, in which teams without members are taken in their order."""
        free = [team for team, count in enumerate(self.counts) if count == 0]
        name: dict[int, int] = {}
        for team in team_of:
            if self.counts[team] == 0 and team not in name:
                name[team] = free[len(name)]
        return tuple(name.get(team, team) for team in team_of)

    def allowed(self, counts: Sequence[int]) -> bool:
        """Return whether every team has enough players and not too many."""
        return min(counts) >= self.minimum and max(counts) <= self.capacity


def distance(means: Sequence[float]) -> float:
    """Return the sum of |mean - mean of the means| (READINGS D1); 0 for less than two teams."""
    if len(means) < 2:
        return 0.0
    if len(means) == 2:
        return abs(means[0] - means[1])
    # Rounded once, so the order of teams does not matter.
    centre = math.fsum(means) / len(means)
    return math.fsum([abs(mean - centre) for mean in means])


def whole(values: Sequence[Sequence[float]]) -> tuple[list[int], int]:
    """Return the sum of every group of numbers times 2^shift, exactly, and the shift."""
    ratios = [[value.as_integer_ratio() for value in group] for group in values]
    shift = max((below.bit_length() - 1 for group in ratios for _, below in group), default=0)
    totals = [
        sum(above << (shift - below.bit_length() + 1) for above, below in group) for group in ratios
    ]
    return totals, shift


def tolerance_of(values: Iterable[float]) -> float:
    """Return how close distances are equal."""
    return TOLERANCE * max(1.0, max((abs(value) for value in values), default=0.0) / MILLION)
