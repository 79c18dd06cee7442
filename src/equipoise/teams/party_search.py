"""Teams filled from parties in every way; if there are too many ways, a start and exchanges.

Source: [MR]_ "Combination"; READINGS D3, D4. Parties for the first team are chosen in lexicographic
order of arrival, then parties for the next team from the rest, and so on. Teams are labelled, so
mirror images appear. Departures: if teams need not be full, because the method is requested for a
loose ruleset or a session, every filling that the ruleset allows is listed, with fuller teams
first.

The best filling is not searched in the list. It is one of the most even compositions, and the order
of the list determines which of these comes last.

These heuristics are our own. They give branch and bound a first solution. If that search ends
early, they are the answer, with the proved gap.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from equipoise.arrays import Floats, Ints
from equipoise.teams.party_placing import Placing

#: Largest number of steps of counting fillings.
_MOST_COUNTED = 200_000
#: The move that closes a team; other moves are the number of the party placed.
_CLOSE = -1

#: Largest number of parties of a team whose exchanges are compared.
MOST_LOOKED_AT = 300
#: Parties times teams up to which every team is considered for every party.
_MOST_WORK = 300_000
#: Largest number of teams that form pairs.
_MOST_TEAMS = 64
#: Largest number of placements of the search for a first filling.
_MOST_TRIED = 20_000
#: A change of distance below this, relative to the largest, is rounding.
_ROUNDING = 1e-12


class Fillings:
    """All fillings, in the document's order or backwards; a filling is the team of every party.

    It is iterated once.

    most_tried : limit of moves: parties placed and teams closed
    complete : whether the list ended before the limit
    """

    def __init__(self, placing: Placing, most_tried: int, *, backwards: bool = False) -> None:
        self.placing, self.most_tried, self.backwards = placing, most_tried, backwards
        self.complete = True
        self._team_of = [-1] * placing.parties
        self._counts = list(placing.counts)
        self._team, self._left = 0, sum(placing.sizes)
        # Smallest and largest number of players that the teams after each still get.
        missing = [max(placing.minimum - count, 0) for count in placing.counts]
        room = [placing.capacity - count for count in placing.counts]
        self._missing = [*itertools.accumulate(reversed(missing), initial=0)][-2::-1]
        self._room = [*itertools.accumulate(reversed(room), initial=0)][-2::-1]
        self._suffix = [self._reachable()]

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        """Yield fillings."""
        tried = 0
        moves: list[int] = []
        options = [self._options(0)]
        while options:
            move = next(options[-1], None)
            if move is None:
                options.pop()
                if moves:
                    self._undo(moves.pop())
                continue
            tried += 1
            if tried > self.most_tried:
                self.complete = False
                return
            self._do(move)
            if self._team == self.placing.teams:
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


def good_start(placing: Placing, most_pairs: int) -> tuple[int, ...] | None:
    """Return teams made even by a simple heuristic, or None if no teams were found.

    most_pairs : pairs of teams between which exchanges are tried
    """
    team_of = _smallest_first(placing)
    if team_of is None:
        team_of = next(iter(Fillings(placing, _MOST_TRIED)), None)
    return None if team_of is None else improved(placing, team_of, most_pairs)


def _smallest_first(placing: Placing) -> tuple[int, ...] | None:
    """Return teams after placing each party, largest first, in the smallest team it balances."""
    players = placing.players
    total = sum(placing.totals) + sum(placing.sums)
    # Excess of a party or team over the mean of all, times the number of players, which is exact.
    above = [
        team_total * players - total * size
        for team_total, size in zip(placing.totals, placing.sizes, strict=True)
    ]
    balance = [
        team_sum * players - total * count
        for team_sum, count in zip(placing.sums, placing.counts, strict=True)
    ]
    counts = list(placing.counts)
    team_of = [-1] * placing.parties
    careful = placing.parties * placing.teams <= _MOST_WORK
    order = sorted(
        range(placing.parties), key=lambda party: (-placing.sizes[party], -abs(above[party]), party)
    )
    for party in order:
        size = placing.sizes[party]
        sign = 1 if above[party] > 0 else -1
        least = min(counts)
        teams = (team for team, count in enumerate(counts) if count == least)
        team = (
            min(teams, key=lambda number: (sign * balance[number], number))
            if careful
            else next(teams)
        )
        if counts[team] + size > placing.capacity:
            return None
        counts[team] += size
        balance[team] += above[party]
        team_of[party] = team
    return tuple(team_of) if placing.allowed(counts) else None


class _Exchange(NamedTuple):
    """The best exchange between two teams: the resulting evenness, and the parties (-1: none)."""

    difference: int
    distance: float
    gives: int
    takes: int


def improved(placing: Placing, team_of: Sequence[int], most_pairs: int) -> tuple[int, ...]:
    """Return teams that no exchange of two parties, or move of one, makes more even.

    Teams furthest from the mean come first. The search ends after `most_pairs` pairs of teams.
    """
    state = _TeamArrays(placing, team_of)
    pairs = 0
    better = True
    while better and pairs < most_pairs:
        better = False
        for one, other in state.pairs(most_pairs):
            pairs += 1
            exchange = state.best_exchange(one, other)
            if exchange is not None and state.is_better(exchange):
                state.make(exchange, one, other)
                better = True
                break
            if pairs >= most_pairs:
                break
    return tuple(state.team_of.tolist())


class _TeamArrays:
    """Teams as arrays."""

    def __init__(self, placing: Placing, team_of: Sequence[int]) -> None:
        self.placing = placing
        self.team_of = np.array(team_of, dtype=np.int64)
        self.sizes = np.array(placing.sizes, dtype=np.int64)
        self.values = np.array([placing.number(total) for total in placing.totals])
        self.counts = np.array(placing.counts, dtype=np.int64)
        self.totals = np.array([placing.number(total) for total in placing.sums])
        np.add.at(self.counts, self.team_of, self.sizes)
        np.add.at(self.totals, self.team_of, self.values)
        self.players = placing.players
        self.rounding = _ROUNDING * max(1.0, float(np.abs(self.values / self.sizes).max()))

    def pairs(self, most: int) -> list[tuple[int, int]]:
        """Return pairs of teams that have players, those that differ most first.

        With very many teams, only those furthest from the mean count.
        """
        filled = np.flatnonzero(self.counts)
        means = self.totals[filled] / self.counts[filled]
        far = np.abs(means - means.mean()) + 1e3 * self._spread() * np.abs(
            self.counts[filled] - self.counts.mean()
        )
        at = np.sort(np.argsort(-far, kind="stable")[:_MOST_TEAMS])
        filled, means = filled[at], means[at]
        difference = np.abs(np.subtract.outer(means, means)) + 1e3 * self._spread() * np.abs(
            np.subtract.outer(self.counts[filled], self.counts[filled])
        )
        one, other = np.triu_indices(len(filled), 1)
        order = np.argsort(-difference[one, other], kind="stable")[:most]
        return list(zip(filled[one[order]].tolist(), filled[other[order]].tolist(), strict=True))

    def _spread(self) -> float:
        """Return whether member counts still differ by more than one, as 0 or 1."""
        return float(self.counts.max() - self.counts.min() > 1)

    def is_better(self, exchange: _Exchange) -> bool:
        """Return whether an exchange makes teams more even."""
        difference = int(self.counts.max() - self.counts.min())
        if exchange.difference != difference:
            return exchange.difference < difference
        filled = self.counts > 0
        means = self.totals[filled] / self.counts[filled]
        now = float(np.abs(means - means.mean()).sum())
        return exchange.distance < now - self.rounding * len(means)

    def best_exchange(self, one: int, other: int) -> _Exchange | None:
        """Return the best of all exchanges between two teams; None if none is allowed."""
        mine, theirs = self._members(one), self._members(other)
        # One more entry for no party, so that a move is an exchange too.
        size = [np.append(self.sizes[parties], 0) for parties in (mine, theirs)]
        value = [np.append(self.values[parties], 0.0) for parties in (mine, theirs)]
        players = np.subtract.outer(size[0], size[1])
        moved = np.subtract.outer(value[0], value[1])
        counts = np.stack([self.counts[one] - players, self.counts[other] + players])
        least = max(self.placing.minimum, 1)
        good = (counts.min(axis=0) >= least) & (counts.max(axis=0) <= self.placing.capacity)
        good[-1, -1] = False
        if not good.any():
            return None
        rest = np.delete(self.counts, [one, other])
        high = np.maximum(counts.max(axis=0), rest.max(initial=0))
        low = np.minimum(counts.min(axis=0), rest.min(initial=self.players))
        difference = np.where(good, high - low, self.players + 1)
        totals = np.stack([self.totals[one] - moved, self.totals[other] + moved])
        far = self._distances(one, other, totals / np.maximum(counts, 1))
        far = np.where(difference == difference.min(), far, np.inf)
        at = np.unravel_index(int(np.argmin(far)), far.shape)
        return _Exchange(
            int(difference[at]),
            float(far[at]),
            int(mine[at[0]]) if at[0] < len(mine) else -1,
            int(theirs[at[1]]) if at[1] < len(theirs) else -1,
        )

    def _members(self, team: int) -> Ints:
        """Return the parties of a team that may be exchanged; of very many, an even sample."""
        members = np.flatnonzero(self.team_of == team)
        if len(members) <= MOST_LOOKED_AT:
            return members
        members = members[np.argsort(self.values[members], kind="stable")]
        at = np.linspace(0, len(members) - 1, MOST_LOOKED_AT).astype(np.int64)
        return members[at]

    def _distances(self, one: int, other: int, pair: Floats) -> Floats:
        """Return the distance of all teams, for means of two of them of shape (2, ...)."""
        there = self.counts > 0
        there[[one, other]] = False
        means = np.sort(self.totals[there] / self.counts[there])
        centre = (means.sum() + pair.sum(axis=0)) / (len(means) + 2)
        below = np.concatenate([[0.0], np.cumsum(means)])
        at = np.searchsorted(means, centre)
        # Sum of |mean - centre| over sorted means, from sums of those below and above.
        rest = centre * (2 * at - len(means)) - 2 * below[at] + below[-1]
        return np.asarray(rest + np.abs(pair - centre).sum(axis=0))

    def make(self, exchange: _Exchange, one: int, other: int) -> None:
        """Make an exchange."""
        for party, source, target in (
            (exchange.gives, one, other),
            (exchange.takes, other, one),
        ):
            if party >= 0:
                self.team_of[party] = target
                for team, sign in ((source, -1), (target, 1)):
                    self.counts[team] += sign * self.sizes[party]
                    self.totals[team] += sign * self.values[party]
