"""Combination: teams are filled one after the other, in every way.

Source: [MR]_ "Combination"; READINGS D3, D4. Parties for the first team are chosen in lexicographic
order of arrival, then parties for the next team from the rest, and so on. Teams are labelled, so
mirror images appear. Departures: if teams need not be full, because the method is requested for a
loose ruleset or a session, every filling that the ruleset allows is listed, with fuller teams
first.

The best filling is not searched in the list. It is one of the most even compositions, and the order
of the list determines which of these comes last.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from equipoise.teams.parties.placing import Placing

#: Largest number of steps of counting fillings.
_MOST_COUNTED = 200_000
#: The move that closes a team; other moves are the number of the party placed.
_CLOSE = -1


@dataclass(slots=True)
class Fillings:
    """All fillings, in the document's order or backwards; a filling is the team of every party.

    most_tried : limit of moves: parties placed and teams closed
    complete : whether the list ended before the limit
    """

    placing: Placing
    most_tried: int
    backwards: bool = False
    tried: int = 0
    complete: bool = True
    _team_of: list[int] = field(init=False)
    _counts: list[int] = field(init=False)
    _team: int = 0
    _left: int = 0
    _suffix: list[list[int]] = field(default_factory=list)
    # Smallest and largest number of players that the teams after each still get.
    _missing: list[int] = field(init=False)
    _room: list[int] = field(init=False)

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        """Yield fillings."""
        placing = self.placing
        self._team_of = [-1] * placing.parties
        self._counts = list(placing.counts)
        self._team, self.tried, self.complete = 0, 0, True
        self._left = sum(placing.sizes)
        missing = [max(placing.minimum - count, 0) for count in placing.counts]
        room = [placing.capacity - count for count in placing.counts]
        self._missing = [*itertools.accumulate(reversed(missing), initial=0)][-2::-1]
        self._room = [*itertools.accumulate(reversed(room), initial=0)][-2::-1]
        self._suffix = [self._reachable()]
        moves: list[int] = []
        options = [self._options(0)]
        while options:
            move = next(options[-1], None)
            if move is None:
                options.pop()
                if moves:
                    self._undo(moves.pop())
                continue
            self.tried += 1
            if self.tried > self.most_tried:
                self.complete = False
                return
            self._do(move)
            if self._team == placing.teams:
                yield tuple(self._team_of)
                self._undo(move)
                continue
            moves.append(move)
            options.append(self._options(0 if move == _CLOSE else move + 1))

    def _do(self, move: int) -> None:
        if move == _CLOSE:
            self._team += 1
            self._suffix.append(self._reachable())
        else:
            self._team_of[move] = self._team
            self._counts[self._team] += self.placing.sizes[move]
            self._left -= self.placing.sizes[move]

    def _undo(self, move: int) -> None:
        if move == _CLOSE:
            self._team -= 1
            self._suffix.pop()
        else:
            self._team_of[move] = -1
            self._counts[self._team] -= self.placing.sizes[move]
            self._left += self.placing.sizes[move]

    def _options(self, start: int) -> Iterator[int]:
        """Yield the next moves: place a party from `start` on, or close the team."""
        if self.backwards:
            yield from self._closing()
            yield from self._parties(range(self.placing.parties - 1, start - 1, -1))
        else:
            yield from self._parties(range(start, self.placing.parties))
            yield from self._closing()

    def _parties(self, parties: range) -> Iterator[int]:
        placing, sizes = self.placing, self.placing.sizes
        for party in parties:
            if self._team_of[party] >= 0:
                continue
            count = self._counts[self._team]
            if sizes[party] > min(placing.capacity - count, self._left - self._missing[self._team]):
                continue
            missing = placing.minimum - count - sizes[party]
            room = placing.capacity - count - sizes[party]
            # The sizes that later parties can add, as bits: one from `missing` to `room` is needed.
            more = self._suffix[-1][party + 1] & ((1 << (room + 1)) - 1)
            if more >> max(missing, 0):
                yield party

    def _closing(self) -> Iterator[int]:
        """Yield the move that closes the team, if it has enough players and the rest fits."""
        team = self._team
        enough = self._counts[team] >= self.placing.minimum
        if enough and self._missing[team] <= self._left <= self._room[team]:
            yield _CLOSE

    def _reachable(self) -> list[int]:
        """Return, for every party, the sizes that unplaced parties from it on can add, as bits."""
        mask = (1 << (self.placing.capacity + 1)) - 1
        reachable = [1] * (self.placing.parties + 1)
        for party in range(self.placing.parties - 1, -1, -1):
            more = reachable[party + 1]
            if self._team_of[party] < 0:
                more |= (more << self.placing.sizes[party]) & mask
            reachable[party] = more
        return reachable


def last_named(placing: Placing, team_of: Sequence[int]) -> tuple[int, ...]:
    """Return the last filling of the list with this composition: empty teams are renumbered."""
    keys = place_in_list(placing, team_of)
    free = [team for team, count in enumerate(placing.counts) if count == 0]
    order = sorted(free, key=lambda team: keys[team], reverse=True)
    name = dict(zip(order, free, strict=True))
    return tuple(name.get(team, team) for team in team_of)


def place_in_list(placing: Placing, team_of: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Return a key that puts fillings into the order of the list."""
    chosen: list[list[int]] = [[] for _ in range(placing.teams)]
    for party, team in enumerate(team_of):
        chosen[team].append(party)
    # A filling comes after all fillings that extend it by more parties.
    return tuple((*parties, placing.parties) for parties in chosen)


def sequence_of(placing: Placing, team_of: Sequence[int]) -> tuple[int, ...]:
    """Return the parties in the order in which a filling places them."""
    return tuple(sorted(range(placing.parties), key=lambda party: (team_of[party], party)))


def count_fillings(placing: Placing) -> int | None:
    """Return the number of fillings; None if counting takes too many steps."""
    ways: dict[tuple[int, ...], int] = {tuple(sorted(placing.counts)): 1}
    steps = 0
    for size in placing.sizes:
        more: dict[tuple[int, ...], int] = {}
        for counts, number in ways.items():
            # From here on, teams of equal size are interchangeable, so only one is counted.
            for count, alike in Counter(counts).items():
                if count + size <= placing.capacity:
                    rest = list(counts)
                    rest.remove(count)
                    key = tuple(sorted([*rest, count + size]))
                    more[key] = more.get(key, 0) + number * alike
        ways = more
        steps += len(ways) * placing.teams
        if steps > _MOST_COUNTED:
            return None
    return sum(number for counts, number in ways.items() if placing.allowed(counts))
