"""The best set of tickets around a pivot: most players, then least cost, then oldest tickets.

The cost of a set is a sum over its tickets, so for parties of given sizes the best set without
further conditions takes the nearest tickets of each size. Every list of sizes that fits into the
teams is tried in the order of this bound. Where two tickets of the set may exclude each other
(shared players, blocks, values that must differ, platforms, distance in pairs), a search through
the tickets of each size follows; it ends a branch at the same bound. A value that all must share
is fixed first, one after the other.

Costs are whole numbers of billionths, followed by the sum of the rows, which are ranks by age. So
sums have no rounding, and ties do not depend on the order.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from equipoise.arrays import Flags, Ints
from equipoise.data.matchmaking import Alliance, Ticket
from equipoise.matchmaking.packing import (
    DIVISIONS,
    FEW,
    Fit,
    TooManyStepsError,
    backtrack,
    divisions,
    fits,
)
from equipoise.matchmaking.pool import Pool, blocked_by

#: Units of the cost in 1, and bits of the sum of rows below it.
UNIT, RANK_BITS = 10**9, 40
#: Largest number of combinations of shared values that are tried.
_MOST_SHARED = 64
#: Numbers of parties of each size that are looked at for a number of players.
_MOST_LISTS = 4_000
#: Work of looking at them, in parties.
_MOST_WORK = 100_000
#: Nodes that are certainly enough without the greedy set, and parties that it gives back.
_CERTAIN, _TAKEN_BACK = 1_000, 64
#: Comparisons of tickets with the pivot and with each other, and placements of parties, that count
#: as one node.
COMPARED, ASKED, PLACED = 256, 64, 4
#: Nodes of a tick are this many times those of a pivot.
_SHARE = 50


class OutOfNodesError(Exception):
    """The search around a pivot has no nodes left."""


class Budget:
    """Nodes that are left, for a pivot and for the tick."""

    def __init__(self, node_limit: int) -> None:
        self.node_limit = node_limit
        self.total = node_limit * _SHARE
        self.left = 0

    def begin(self) -> None:
        """Begin the search around a pivot."""
        self.left = min(self.node_limit, self.total)

    def spend(self, nodes: int = 1, of_tick: int = 1) -> bool:
        """Use nodes, and `of_tick` times as many of the tick; return whether there were enough."""
        self.left -= nodes
        self.total -= of_tick * nodes
        return self.left >= 0

    @property
    def over(self) -> bool:
        """Whether the tick has no nodes left."""
        return self.total <= 0


@dataclass(slots=True)
class Around:
    """A pivot and its conditions.

    row : of the pivot; alliance : as flexed by its wait
    loads : players of each team of a session; None for a new match
    teams : of a session
    """

    pool: Pool
    row: int
    alliance: Alliance
    loads: tuple[int, ...] | None = None
    teams: tuple[tuple[Ticket, ...], ...] = ()

    @property
    def base(self) -> int:
        """Players who are there before others are chosen."""
        return int(self.pool.size[self.row])

    @property
    def room(self) -> int:
        """The largest number of players to add."""
        return min(self.alliance.places, 10_000) - self.base

    def fits(self, sizes: Sequence[int], *, complete: bool = True) -> Fit:
        """Return whether parties of these sizes, besides the pivot, fit into teams."""
        alliance = self.alliance
        if self.loads is not None:
            return fits(tuple(sorted(sizes, reverse=True)), alliance, self.loads)
        everyone = tuple(sorted((*sizes, self.base), reverse=True))
        return fits(everyone, alliance if complete else _at_least_1(alliance), None)

    def separations(self, rows: Sequence[int]) -> tuple[list[set[int]], list[set[int]]]:
        """Return, for each row, the places of rows and the teams that it must be apart from."""
        blocking = [self.pool.blocking(row) for row in rows]
        apart = [{at for at, other in enumerate(rows) if other in blocks} for blocks in blocking]
        closed = [
            {
                team
                for team, members in enumerate(self.teams)
                if any(_block(self.pool.tickets[row], member) for member in members)
            }
            for row in (rows if self.teams else ())
        ]
        return apart, closed

    def members(self, rows: Sequence[int]) -> list[int]:
        """Return the rows to be placed: all of a match, the new ones of a session."""
        return list(rows) if self.loads is not None else [self.row, *rows]

    def divisions(
        self, rows: Sequence[int], most: int = DIVISIONS, *, complete: bool = True
    ) -> list[tuple[int, ...]]:
        """Return the first divisions of members in which players are kept apart.

        complete : whether teams must have their least number of players
        """
        alliance = self.alliance if complete else _at_least_1(self.alliance)
        members = self.members(rows)
        order = sorted(members, key=lambda row: (-int(self.pool.size[row]), row))
        apart, closed = self.separations(order)
        sizes = [int(self.pool.size[row]) for row in order]
        place = {row: at for at, row in enumerate(order)}
        packed: list[tuple[int, ...]] = []
        with suppress(TooManyStepsError):
            for division in divisions(sizes, alliance, self.loads, apart, closed):
                packed.append(tuple(division[place[row]] for row in members))
                if len(packed) == most:
                    break
        return packed


def _at_least_1(alliance: Alliance) -> Alliance:
    return alliance._replace(min_number=1, player_min_number=1)


def _block(one: Ticket, other: Ticket) -> bool:
    """Return whether one ticket blocks a player of the other."""
    return any(
        set(map(str, blocked_by(own))) & {str(player.player) for player in their.players}
        for own, their in ((one, other), (other, one))
    )


@dataclass(frozen=True, slots=True)
class Found:
    """A set of rows without the pivot.

    weight : cost and ranks; bound : no set has a smaller weight with as many players
    most : no set has more players
    """

    rows: tuple[int, ...]
    players: int
    weight: int
    bound: int
    most: int

    @property
    def cost(self) -> int:
        """Billionths."""
        return self.weight >> RANK_BITS

    @property
    def proved(self) -> bool:
        """Whether no set is better."""
        return self.players == self.most and self.cost <= self.bound >> RANK_BITS


class Search:
    """The search for one pivot, one region and its candidates."""

    def __init__(self, around: Around, budget: Budget) -> None:
        self.around = around
        self.budget = budget
        self.best: tuple[int, int, tuple[int, ...]] | None = None
        #: Most players, and minus the least weight, of sets that may exist but were not searched.
        self.open = (-1, 0)
        pool = around.pool
        self.unique = [bits.tolist() for bits in pool.unique_bits.values()]
        self.separates = pool.separates
        self.conflicts = pool.has_twice or (pool.has_blocks and not pool.separates)
        self.in_pairs = bool(np.isfinite(pool.pair_limit).any())
        self.pairwise = bool(
            self.unique or self.separates or self.conflicts or self.in_pairs or pool.has_platforms
        )

    def run(self, rows: Ints, score: Ints) -> Found | None:
        """Return the best set of rows, None if there is no legal one.

        rows : candidates that may meet the pivot; score : billionths of the cost
        """
        if self.around.loads is None and self._fit(()):
            self._offer(0, 0, ())
        for chosen in self._shared(rows):
            self._solve(rows[chosen], score[chosen])
        if self.best is None:
            return None
        players, weight, members = self.best
        bound = min(weight, -self.open[1]) if self.open[0] == players else weight
        return Found(members, players, weight, bound, max(players, self.open[0]))

    def _shared(self, rows: Ints) -> Iterator[Flags]:
        """Yield the rows that share a value of every option "any" with the pivot."""
        pool, pivot = self.around.pool, self.around.row
        columns, choices = list(pool.any_bits.values()), []
        for column in columns:
            own = int(column[pivot])
            # An option without values is absent for all of the class.
            choices.append([1 << at for at in range(own.bit_length()) if own >> at & 1] or [0])
        masks: list[Flags] = []
        for values in itertools.product(*choices):
            nodes = len(columns) * (1 + len(rows) // COMPARED) // 2
            if columns and not self.budget.spend(nodes):
                self._open(self.around.room, 0)
                break
            mask = np.ones(len(rows), dtype=bool)
            for column, value in zip(columns, values, strict=True):
                if value:
                    mask &= (column[rows] & value) != 0
            masks.append(mask)
        masks.sort(key=lambda mask: -int(mask.sum()))
        different = list({mask.tobytes(): mask for mask in masks}.values())
        if len(different) > _MOST_SHARED:
            self._open(self.around.room, 0)
        yield from different[:_MOST_SHARED]

    def _open(self, players: int, weight: int) -> None:
        """Record that a set with these numbers may exist."""
        self.open = max(self.open, (players, -weight))

    def _offer(self, players: int, weight: int, rows: tuple[int, ...]) -> None:
        if self.best is None or (players, -weight) > (self.best[0], -self.best[1]):
            self.best = (players, weight, tuple(sorted(rows)))

    def _solve(self, rows: Ints, score: Ints) -> None:
        """Search the candidates of one combination of shared values."""
        around, room = self.around, self.around.room
        sizes = around.pool.size[rows]
        groups: dict[int, _Group] = {}
        for size in sorted(set(sizes[sizes <= room].tolist()), reverse=True):
            at, most = np.flatnonzero(sizes == size), room // size
            if not self.pairwise and most < len(at):
                # Only the nearest few can be part of the best set.
                at = at[score[at] <= np.partition(score[at], most)[most]]
            at = at[np.lexsort((rows[at], score[at]))][: None if self.pairwise else most]
            groups[size] = _Group(size, rows[at].tolist(), score[at].tolist())
        most = min(room, sum(size * len(group.rows) for size, group in groups.items()))
        if self.unique:
            most = min(most, self._most_unique(rows, sizes))
        if self.pairwise or room > 12 or self.budget.left < _CERTAIN:
            self._greedy(groups)
        fewest = 0 if around.loads is None else 1
        for players in range(most, fewest - 1, -1):
            if self.best is not None and players < self.best[0]:
                return
            if not self._level(groups, players):
                return

    def _most_unique(self, rows: Ints, sizes: Ints) -> int:
        """Return a bound for the players: tickets with the same value exclude each other."""
        bounds = []
        for column in self.unique:
            largest: dict[int, int] = {}
            for row, size in zip(rows.tolist(), sizes.tolist(), strict=True):
                # A ticket without a value excludes nobody.
                key = column[row] & -column[row] or -1 - row
                largest[key] = max(largest.get(key, 0), size)
            bounds.append(sum(largest.values()))
        return min(bounds)

    def _greedy(self, groups: dict[int, _Group]) -> None:
        """Offer the set that takes the nearest ticket that still fits, again and again."""
        around = self.around
        everyone = sorted(
            (weight, row, group.size)
            for group in groups.values()
            for weight, row in zip(group.weights, group.rows, strict=True)
        )
        chosen: list[int] = []
        sizes: list[int] = []
        weights: list[int] = []
        players = 0
        for weight, row, size in everyone:
            if players == around.room or self.budget.over:
                break
            # The greedy set is taken as a whole, so the search is never worse.
            self.budget.spend()
            if players + size > around.room or not self._may(row, chosen):
                continue
            # Many parties are checked once, at the end.
            if len(sizes) > FEW or self._fit((*sizes, size), complete=False):
                chosen.append(row)
                sizes.append(size)
                weights.append(weight)
                players += size
        for _ in range(min(len(chosen), _TAKEN_BACK)):
            if self._fit(sizes) and self._divides(chosen):
                self._offer(sum(sizes), sum(weights), tuple(chosen))
                return
            for stack in (chosen, sizes, weights):
                stack.pop()

    def _fit(self, sizes: Sequence[int], *, complete: bool = True) -> bool | None:
        """Return whether parties fit into teams besides the pivot, and count the nodes of it."""
        fit = self.around.fits(sizes, complete=complete)
        self.budget.spend(fit.steps // PLACED)
        return fit.possible

    def _level(self, groups: dict[int, _Group], players: int) -> bool:
        """Search all sets with this number of players; return False where nodes ran out."""
        parts = list(groups.values())
        around = self.around
        sizes = tuple(group.size for group in parts)
        most = tuple(min(len(group.rows), around.room // group.size) for group in parts)
        loads = None if around.loads is None else tuple(around.loads)
        possible, nodes, complete = _fitting(
            sizes, most, players, around.base, around.alliance, loads
        )
        if not complete:
            self._open(players, 0)
        if not self.budget.spend(1 + nodes):
            self._open(players, 0)
            return False
        lists = sorted(
            (sum(group.least(0, count) for group, count in zip(parts, counts, strict=True)), counts)
            for counts in possible
        )
        for bound, counts in lists:
            if self._is_enough(players, bound):
                break
            if not self._of_sizes(parts, counts, players, bound):
                self._open(players, bound)
                return False
        return True

    def _is_enough(self, players: int, bound: int) -> bool:
        """Return whether the best set is at least as good as any with this bound."""
        return self.best is not None and (self.best[0], -self.best[1]) >= (players, -bound)

    def _of_sizes(
        self, parts: list[_Group], counts: tuple[int, ...], players: int, bound: int
    ) -> bool:
        """Search the sets with these numbers of parties of each size; bound : least weight."""
        if not self.pairwise:
            rows = [group.rows[:count] for group, count in zip(parts, counts, strict=True)]
            self._offer(players, bound, tuple(itertools.chain(*rows)))
            return True
        slots = [group for group, count in zip(parts, counts, strict=True) for _ in range(count)]
        # Slots of this group from here on, and the least weight of the groups after it.
        need, after = [0] * len(slots), [0] * len(slots)
        for at in reversed(range(len(slots))):
            last = at + 1 == len(slots)
            need[at] = 1
            if not last and slots[at + 1] is slots[at]:
                need[at], after[at] = need[at + 1] + 1, after[at + 1]
            elif not last:
                after[at] = slots[at + 1].least(0, need[at + 1]) + after[at + 1]
        chosen: list[int] = []
        #: Of every level before, its place in its group, and the weight up to it.
        places, weights = [-1], [0]

        def choose(at: int) -> Iterator[None]:
            group, weight = slots[at], weights[-1]
            place = places[-1] + 1 if at > 0 and slots[at - 1] is group else 0
            while place + need[at] <= len(group.rows):
                if not self.budget.spend():
                    raise OutOfNodesError
                if self._is_enough(players, weight + group.least(place, need[at]) + after[at]):
                    return
                if self._may(group.rows[place], chosen):
                    chosen.append(group.rows[place])
                    places.append(place)
                    weights.append(weight + group.weights[place])
                    yield
                    for stack in (chosen, places, weights):
                        stack.pop()
                place += 1

        try:
            for _ in backtrack(len(slots), choose):
                if self._divides(chosen):
                    self._offer(players, weights[-1], tuple(chosen))
        except OutOfNodesError:
            return False
        return True

    def _may(self, row: int, chosen: Sequence[int]) -> bool:
        """Return whether a ticket may meet others; it may meet the pivot."""
        pool = self.around.pool
        self.budget.spend(len(chosen) // ASKED)
        for column in self.unique:
            own = column[row]
            if own and any(own & column[other] for other in chosen):
                return False
        if pool.has_platforms and not pool.platforms_agree(row, list(chosen)).all():
            return False
        if self.conflicts:
            for other in chosen:
                if row in pool.conflicts_of(other):
                    return False
        if self.in_pairs and chosen:
            others = np.array(chosen)
            limit = np.minimum(pool.pair_limit[row], pool.pair_limit[others])
            if not (np.abs(pool.value[row] - pool.value[others]) <= limit).all():
                return False
        return self._divides([*chosen, row], complete=False)

    def allows(self, chosen: Sequence[int]) -> bool:
        """Return whether these tickets may meet each other and the pivot."""
        pool = self.around.pool
        for column in pool.any_bits.values():
            shared = own = int(column[self.around.row])
            for row in chosen:
                shared &= int(column[row])
            if own and not shared:
                return False
        each = all(self._may(row, chosen[:at]) for at, row in enumerate(chosen))
        return each and self._divides(chosen)

    def _divides(self, chosen: Sequence[int], *, complete: bool = True) -> bool:
        """Return whether players who must be apart can be."""
        if not self.separates:
            return True
        self.budget.spend(2 * len(chosen))
        return bool(self.around.divisions(chosen, 1, complete=complete))


class _Group:
    """Candidates of one size, the best first."""

    def __init__(self, size: int, rows: list[int], scores: list[int]) -> None:
        self.size = size
        self.rows = rows
        self.weights = [(score << RANK_BITS) + row for score, row in zip(scores, rows, strict=True)]
        self._sums = [0, *itertools.accumulate(self.weights)]

    def least(self, start: int, count: int) -> int:
        """Return the least weight of so many candidates from a place on."""
        return self._sums[start + count] - self._sums[start]


@lru_cache(maxsize=1 << 12)
def _fitting(
    sizes: tuple[int, ...],
    most: tuple[int, ...],
    players: int,
    base: int,
    alliance: Alliance,
    loads: tuple[int, ...] | None,
) -> tuple[tuple[tuple[int, ...], ...], int, bool]:
    """Return the numbers of parties of each size that fit into the teams.

    players : of all these parties; base : of the pivot or session
    Returns : the numbers, nodes for the search of them, and whether none is missing
    """
    fitting: list[tuple[int, ...]] = []
    looked_at, steps, complete = 0, 0, True
    for counts in compositions(sizes, most, players):
        looked_at += 1
        if looked_at > _MOST_LISTS or looked_at * sum(counts) + steps > _MOST_WORK:
            complete = False
            break
        parties = [size for size, count in zip(sizes, counts, strict=True) for _ in range(count)]
        if loads is None:
            parties = sorted([*parties, base], reverse=True)
        fit = fits(tuple(parties), alliance, loads)
        steps += fit.steps
        complete = complete and fit.possible is not None
        if fit.possible:
            fitting.append(counts)
    nodes = looked_at * (1 + players // 16) // 4 + steps // PLACED
    return tuple(fitting), nodes, complete


def compositions(
    sizes: Sequence[int], most: Sequence[int], players: int
) -> Iterator[tuple[int, ...]]:
    """Yield the numbers of parties of each size that have this number of players together."""
    if not sizes:
        if players == 0:
            yield ()
        return
    largest = sum(size * number for size, number in zip(sizes, most, strict=True))
    if players % math.gcd(*sizes) or players > largest:
        return
    size = sizes[0]
    if len(sizes) == 1:
        yield (players // size,)
        return
    for count in range(min(players // size, most[0]), -1, -1):
        for others in compositions(sizes[1:], most[1:], players - count * size):
            yield (count, *others)
