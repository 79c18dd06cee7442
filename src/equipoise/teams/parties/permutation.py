"""Permutation: parties in every order, each placed in the team that keeps teams most even.

Source: [MR]_ "Permutation"; READINGS D2, D4, D8, D9. Sequences come from swapping: place k is
swapped with every later place in turn, from k itself to the last.

The search merges equal states. The team of a party depends only on the composition so far, so
continuations do not depend on the order of earlier parties. The search takes the sequences
backwards and skips a composition that it has met before. All results of this composition are
already known, from sequences that come later in the document's order, and the last of the best
sequences is wanted. If the compositions worth reaching are known, the search skips all others.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from equipoise.teams.parties.placing import Evenness, Placing, distance


@dataclass(frozen=True, slots=True)
class Placed:
    """A sequence, the team of every party (by its number), and how even the teams are."""

    order: tuple[int, ...]
    team_of: tuple[int, ...]
    evenness: Evenness


class PartialComposition:
    """Teams to which parties are added one after the other."""

    def __init__(self, placing: Placing) -> None:
        self.placing = placing
        self.counts = list(placing.counts)
        self.sums = list(placing.sums)
        # The mean of an empty team does not count.
        self.means = [
            placing.mean(count, total) if count else 0.0
            for count, total in zip(self.counts, self.sums, strict=True)
        ]
        self.team_of = [-1] * placing.parties
        # Parties of every team, as bit masks; one more bit marks a team that already has members.
        self.inside = [
            1 << (placing.parties + team) if count else 0
            for team, count in enumerate(placing.counts)
        ]
        self.order = list(range(placing.parties))
        self.chosen = 0
        self.most_chosen = sys.maxsize

    def choose(self, party: int) -> int:
        """Return the team of a party; -1 if no team has room.

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
        """Return the teams with room where the member counts differ least; only one empty team."""
        counts = self.counts
        most, least = max(counts), min(counts)
        # If only one team is smallest, the second smallest size counts once that team is filled.
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
        """Return the sequence that was placed and the teams it led to."""
        return Placed(tuple(self.order), tuple(self.team_of), self.evenness())


@dataclass(frozen=True, slots=True)
class NoPlace:
    """Number of sequences with the same beginning and a party without a place; 0: limit reached."""

    sequences: int


def sequences(placing: Placing, most_chosen: int) -> Iterator[Placed | NoPlace]:
    """Yield the outcome of every sequence, in the document's order.

    Sequences with the same beginning are placed together. One that leaves a team below its minimum
    counts as `NoPlace` too.

    most_chosen : limit of placements
    """
    partial = PartialComposition(placing)
    partial.most_chosen = most_chosen
    for left in _all_sequences(partial, backwards=False, enter=lambda party, team: True):
        if left >= 0:
            yield NoPlace(math.factorial(left))
        elif placing.allowed(partial.counts):
            yield partial.outcome()
        else:
            yield NoPlace(1)
    if partial.chosen >= most_chosen:
        yield NoPlace(0)


@dataclass(frozen=True, slots=True)
class Target:
    """A composition worth reaching.

    mates : for every party the bit mask of its team's parties, itself included; bits from K on
        stand for teams that already have members
    """

    evenness: Evenness
    mates: tuple[int, ...]


@dataclass(slots=True)
class Found:
    """Result of a search.

    placed : the last of the best sequences, None if no sequence places all parties as allowed
    complete : whether all other sequences are proved not to be better
    chosen : placements tried; finished : sequences completed
    """

    placed: Placed | None
    complete: bool
    chosen: int
    finished: int


def search(
    placing: Placing,
    most_chosen: int,
    *,
    targets: Sequence[Target] | None = None,
    least: Evenness | None = None,
) -> Found:
    """Return the last of the best sequences in the document's order.

    most_chosen : limit of placements
    targets : the compositions to search for; None means all
    least : a bound; no composition is more even
    """
    backward = _BackwardSearch(placing, targets, least)
    partial = backward.partial
    partial.most_chosen = most_chosen
    finished = 0
    for left in _all_sequences(partial, backwards=True, enter=backward.enter):
        finished += left < 0
        if left < 0 and placing.allowed(partial.counts):
            backward.record(partial.outcome())
            if backward.over:
                break
    complete = backward.over or partial.chosen < most_chosen
    return Found(backward.last_of_best(), complete, partial.chosen, finished)


class _BackwardSearch:
    """The best outcomes of a search backwards, and the compositions already met."""

    def __init__(
        self, placing: Placing, targets: Sequence[Target] | None, least: Evenness | None
    ) -> None:
        self.partial = PartialComposition(placing)
        self.tolerance = placing.tolerance
        self.targets = targets
        self.least = least
        self.records: list[Placed] = []
        self.over = False
        self._seen: set[tuple[int, ...]] = set()

    def enter(self, party: int, team: int) -> bool:
        """Return whether to continue with a party in a team."""
        inside = self.partial.inside
        content = inside[team] | 1 << party
        key = (*inside[:team], content, *inside[team + 1 :])
        if key in self._seen:
            return False
        self._seen.add(key)
        if self.targets is None:
            return True
        placed = content
        for mask in inside:
            placed |= mask
        # The placed mates of the party must be exactly the parties of this team.
        return any(target.mates[party] & placed == content for target in self.targets)

    def record(self, placed: Placed) -> None:
        """Keep an outcome if it is more even than all before."""
        if self.records and placed.evenness >= self.records[-1].evenness:
            return
        self.records.append(placed)
        if self.targets is not None:
            better = [one for one in self.targets if one.evenness < placed.evenness]
            self.targets = better
            self.over = not better
        elif self.least is not None:
            self.over = placed.evenness <= self.least

    def last_of_best(self) -> Placed | None:
        """Return the first record that is as even as the best, within tolerance."""
        if not self.records:
            return None
        best = self.records[-1].evenness
        return next(
            one
            for one in self.records
            if one.evenness.difference == best.difference
            and one.evenness.distance <= best.distance + self.tolerance
        )


def _all_sequences(
    partial: PartialComposition, *, backwards: bool, enter: Callable[[int, int], bool]
) -> Iterator[int]:
    """Place all sequences in turn; yield -1 at the end of each.

    If a party has no place, yield the number of parties after it and skip all sequences with the
    same beginning. The iteration ends after `partial.most_chosen` placements.

    enter : called with a party and its team; False skips every sequence with the same beginning
    """
    order = partial.order
    count = len(order)
    step = -1 if backwards else 1
    at = [0] * count
    depth = 0
    at[0] = count - 1 if backwards else 0
    while partial.chosen < partial.most_chosen:
        here = at[depth]
        if not depth <= here < count:
            if depth == 0:
                return
            depth -= 1
            partial.take(order[depth])
            here = at[depth]
        else:
            order[depth], order[here] = order[here], order[depth]
            party = order[depth]
            team = partial.choose(party)
            if team < 0:
                yield count - depth - 1
            elif enter(party, team):
                partial.put(party, team)
                if depth + 1 < count:
                    depth += 1
                    at[depth] = count - 1 if backwards else depth
                    continue
                yield -1
                partial.take(party)
        order[depth], order[here] = order[here], order[depth]
        at[depth] += step
