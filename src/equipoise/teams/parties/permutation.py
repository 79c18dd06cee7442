"""Permutation: parties in every order, each to the team where it does the least harm.

Source: [MR]_ "Permutation"; READINGS D2, D4, D9. Sequences come from swapping: at place k every
later party is swapped there, from the party already there to the last.

The search merges equal states. Which team a party goes to depends on nothing but the composition
it finds, so what may follow does not depend on the order of what came before. The sequences are
gone through backwards, and a composition that was met before is not gone into again: whatever it
leads to was found already, by a sequence that comes later in the document's order, and the last of
the best is wanted. Where compositions worth reaching are known, others are not gone into either.

Teams that are filled party by party, each going where it does the least harm.

Source: [MR]_ "Permutation"; READINGS D2, D8.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from equipoise.teams.parties.placing import Evenness, Placing, distance


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


@dataclass(frozen=True, slots=True)
class Stranded:
    """Sequences that begin alike and leave a party without room: how many; 0: it ended early."""

    sequences: int


def sequences(placing: Placing, most_chosen: int) -> Iterator[Placed | Stranded]:
    """Yield the outcome of every sequence, in the document's order.

    Sequences with the same beginning are placed together. One that leaves a team below its minimum
    is stranded too.

    most_chosen : placements until it ends
    """
    board = Board(placing)
    board.most_chosen = most_chosen
    for left in _walk(board, backwards=False, enter=lambda party, team: True):
        if left >= 0:
            yield Stranded(math.factorial(left))
        elif placing.allowed(board.counts):
            yield board.outcome()
        else:
            yield Stranded(1)
    if board.chosen >= most_chosen:
        yield Stranded(0)


@dataclass(frozen=True, slots=True)
class Target:
    """A composition worth reaching.

    evenness : of it; mates : for every party a mask of those of its team, itself included; bits
        from K on are teams that have members already
    """

    evenness: Evenness
    mates: tuple[int, ...]


@dataclass(slots=True)
class Found:
    """What a search found.

    placed : the last of the best sequences, None where no sequence places everyone as allowed
    complete : all sequences were looked at or cannot be better
    chosen : placements that were tried; finished : sequences that were gone to their end
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

    most_chosen : placements to try
    targets : only these compositions are looked for; None: all
    least : no composition is more even
    """
    hunt = _Hunt(placing, targets, least)
    board = hunt.board
    board.most_chosen = most_chosen
    finished = 0
    for left in _walk(board, backwards=True, enter=hunt.enter):
        finished += left < 0
        if left < 0 and placing.allowed(board.counts):
            hunt.record(board.outcome())
            if hunt.over:
                break
    complete = hunt.over or board.chosen < most_chosen
    return Found(hunt.last_of_best(), complete, board.chosen, finished)


class _Hunt:
    """What was found on the way back through the sequences, and where not to look again."""

    def __init__(
        self, placing: Placing, targets: Sequence[Target] | None, least: Evenness | None
    ) -> None:
        self.board = Board(placing)
        self.tolerance = placing.tolerance
        self.targets = targets
        self.least = least
        self.records: list[Placed] = []
        self.over = False
        self._seen: set[tuple[int, ...]] = set()

    def enter(self, party: int, team: int) -> bool:
        """Return whether to go on with a party in a team."""
        inside = self.board.inside
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
        # The party's mates who are placed are those in this team, and nobody else.
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
        """Return the first record, from behind, that is as even as the best within tolerance."""
        if not self.records:
            return None
        best = self.records[-1].evenness
        return next(
            one
            for one in self.records
            if one.evenness.difference == best.difference
            and one.evenness.distance <= best.distance + self.tolerance
        )


def _walk(board: Board, *, backwards: bool, enter: Callable[[int, int], bool]) -> Iterator[int]:
    """Go through all sequences; yield -1 at the end of each.

    Where a party has no room, yield the number of parties that were left: nothing follows. It ends
    after the placements that the board allows.
    enter : asked for a party and its team; False passes over every sequence that begins so
    """
    order = board.order
    count = len(order)
    step = -1 if backwards else 1
    at = [0] * count
    depth = 0
    at[0] = count - 1 if backwards else 0
    while board.chosen < board.most_chosen:
        here = at[depth]
        if not depth <= here < count:
            if depth == 0:
                return
            depth -= 1
            board.take(order[depth])
            here = at[depth]
        else:
            order[depth], order[here] = order[here], order[depth]
            party = order[depth]
            team = board.choose(party)
            if team < 0:
                yield count - depth - 1
            elif enter(party, team):
                board.put(party, team)
                if depth + 1 < count:
                    depth += 1
                    at[depth] = count - 1 if backwards else depth
                    continue
                yield -1
                board.take(party)
        order[depth], order[here] = order[here], order[depth]
        at[depth] += step
