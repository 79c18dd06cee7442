"""Teams that are filled party by party, each going where it does the least harm.

Source: [MR]_ "Permutation"; READINGS D2, D8.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

from equipoise.balance.placing import Evenness, Placing, distance


@dataclass(frozen=True, slots=True)
class Placed:
    """A sequence, the team of every party (by its number, not its place), and how even that is."""

    order: tuple[int, ...]
    team_of: tuple[int, ...]
    evenness: Evenness


class Board:
    """Teams that are being filled, one party after the other."""

    def __init__(self, placing: Placing) -> None:
        self.placing = placing
        self.counts = list(placing.counts)
        self.sums = list(placing.sums)
        # Of empty teams the mean does not count.
        self.means = [
            placing.mean(count, total) if count else 0.0
            for count, total in zip(self.counts, self.sums, strict=True)
        ]
        self.team_of = [-1] * placing.parties
        # Parties of every team, as masks; a team that has members already is marked by a bit more.
        self.inside = [
            1 << (placing.parties + team) if count else 0
            for team, count in enumerate(placing.counts)
        ]
        self.order = list(range(placing.parties))
        self.chosen = 0
        self.most_chosen = sys.maxsize

    def choose(self, party: int) -> int:
        """Return the team that a party goes to; -1 where no team has room.

        The least member-count difference decides, then the least distance, then the first team.
        """
        self.chosen += 1
        teams = self._least_difference(self.placing.sizes[party])
        if len(teams) < 2:
            return teams[0] if teams else -1
        best, least = -1, 0.0
        for team in teams:
            far = self._distance(party, team)
            if best < 0 or far < least - self.placing.tolerance:
                best, least = team, far
        return best

    def _least_difference(self, size: int) -> list[int]:
        """Return the teams with room where the member counts differ least; of empty teams one."""
        counts = self.counts
        most, least = max(counts), min(counts)
        # Where the smallest team is alone, the next smallest counts once it is filled.
        second = least
        if counts.count(least) == 1:
            second = min((count for count in counts if count != least), default=most + size)
        found: list[int] = []
        best, empty = sys.maxsize, False
        for team, count in enumerate(counts):
            filled = count + size
            if filled > self.placing.capacity or (count == 0 and empty):
                continue
            empty = empty or count == 0
            low = min(second if count == least else least, filled)
            difference = max(most, filled) - low
            if difference < best:
                found, best = [team], difference
            elif difference == best:
                found.append(team)
        return found

    def _distance(self, party: int, team: int) -> float:
        placing = self.placing
        count = self.counts[team] + placing.sizes[party]
        total = self.sums[team] + placing.totals[party]
        mean = placing.mean(count, total)
        counts = self.counts
        means = [
            mean if at == team else self.means[at]
            for at in range(len(counts))
            if counts[at] or at == team
        ]
        return distance(means)

    def put(self, party: int, team: int) -> None:
        """Place a party."""
        self._add(party, team, 1)
        self.team_of[party] = team
        self.inside[team] |= 1 << party

    def take(self, party: int) -> None:
        """Take a party out of its team."""
        team = self.team_of[party]
        self._add(party, team, -1)
        self.team_of[party] = -1
        self.inside[team] &= ~(1 << party)

    def _add(self, party: int, team: int, sign: int) -> None:
        self.counts[team] += sign * self.placing.sizes[party]
        self.sums[team] += sign * self.placing.totals[party]
        if self.counts[team]:
            self.means[team] = self.placing.mean(self.counts[team], self.sums[team])

    def evenness(self) -> Evenness:
        """Return how even the teams are."""
        counts = self.counts
        means = [mean for mean, count in zip(self.means, counts, strict=True) if count]
        return Evenness(max(counts) - min(counts), distance(means))

    def outcome(self) -> Placed:
        """Return the sequence that was placed, and what came of it."""
        return Placed(tuple(self.order), tuple(self.team_of), self.evenness())
