"""Parties and teams as numbers, how even teams are, and parties placed in every order.

Source: [MR]_, READINGS D1, D2, D5, D7, D8. Attributes are kept as whole numbers over a common power
of two, so sums are exact. A composition has the same distance for every order that leads to it, and
equal compositions can be merged.

`Matched` is a request with the value of every player. `Placing` is the same for one number of
teams.

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
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from equipoise.data.rebalancing import (
    MatchedPlayer,
    PartyIds,
    PartyTeams,
    RebalanceRequest,
    Rule,
)

#: Distances this close are equal (READINGS D1), for attributes up to a million. For larger
#: attributes the tolerance grows with them, as their means have fewer digits.
TOLERANCE, MILLION = 1e-9, 1e6


class Evenness(NamedTuple):
    """The objective: first the difference of member counts, then the distance."""

    difference: int
    distance: float

    def matches(self, best: Evenness, tolerance: float) -> bool:
        """Return whether this is the best evenness, or as good within tolerance."""
        return self.difference == best.difference and self.distance <= best.distance + tolerance


@dataclass(frozen=True, slots=True, kw_only=True)
class Placing:
    """K parties and T teams, which may already have members.

    sizes : players of every party, in the order of arrival
    totals : sum of their attributes, times 2^shift
    counts, sums : the same for the members that every team already has
    capacity, minimum : most and fewest players of a team
    shift : see totals
    tolerance : distances this close are equal
    by_size : whether no attribute counts, so that a party's total for the greedy method is its size
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
        """Return the mean attribute of a team, rounded once; the team has a player."""
        return total / (count << self.shift)

    def number(self, total: int) -> float:
        """Return a sum of attributes, rounded once."""
        return total / (1 << self.shift)

    def weight(self, party: int) -> int:
        """Return the total of a party by which the greedy method orders."""
        return self.sizes[party] if self.by_size else self.totals[party]

    def evenness(self, counts: Sequence[int], sums: Sequence[int]) -> Evenness:
        """Return the evenness of teams, from their players and sums."""
        means = [
            self.mean(count, total) for count, total in zip(counts, sums, strict=True) if count
        ]
        return Evenness(max(counts) - min(counts), distance(means))

    def evenness_of(self, team_of: Sequence[int]) -> Evenness:
        """Return the evenness of teams after placing the parties."""
        counts, sums = list(self.counts), list(self.sums)
        for party, team in enumerate(team_of):
            counts[team] += self.sizes[party]
            sums[team] += self.totals[party]
        return self.evenness(counts, sums)

    def named(self, team_of: Sequence[int]) -> tuple[int, ...]:
        """Return the same composition, with empty teams renumbered by first use."""
        free = [team for team, count in enumerate(self.counts) if count == 0]
        name: dict[int, int] = {}
        for team in team_of:
            if self.counts[team] == 0 and team not in name:
                name[team] = free[len(name)]
        return tuple(name.get(team, team) for team in team_of)

    def member_masks(self) -> list[int]:
        """Return the parties of every team as bits, to which parties are added.

        Bits from the number of parties on mark teams that already have members.
        """
        return [
            1 << (self.parties + team) if count else 0 for team, count in enumerate(self.counts)
        ]

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
    """Return the tolerance within which distances are equal."""
    return TOLERANCE * max(1.0, max((abs(value) for value in values), default=0.0) / MILLION)


class Matched:
    """A request with every player's value, by which teams are compared.

    A single attribute is the value; several are each divided by their `max` and added.
    """

    def __init__(self, request: RebalanceRequest) -> None:
        self.request = request
        self.rules = request.ruleset.rules
        self.parties = request.parties
        self.session = request.session
        members = [[player for party in team for player in party.players] for team in self.session]
        groups = [
            *([self.value(player) for player in party.players] for party in self.parties),
            *([self.value(player) for player in team] for team in members),
        ]
        totals, self.shift = whole(groups)
        self.totals = totals[: len(self.parties)]
        self.sums = totals[len(self.parties) :]
        self.counts = [len(team) for team in members]
        self.sizes = tuple(len(party.players) for party in self.parties)
        self.players = sum(self.sizes) + sum(self.counts)
        self.tolerance = tolerance_of(value for group in groups for value in group)
        #: The smallest number of teams.
        self.used = max((team + 1 for team, count in enumerate(self.counts) if count), default=0)

    def attribute(self, player: MatchedPlayer, name: str) -> float:
        """Return an attribute of a player, or its default."""
        value = player.attributes.get(name)
        return float(self.request.default_attributes[name] if value is None else value)

    def value(self, player: MatchedPlayer) -> float:
        """Return the value of a player."""
        if len(self.rules) == 1:
            return self.attribute(player, self.rules[0].attribute)
        return math.fsum(
            self.attribute(player, rule.attribute) / (1.0 if rule.max is None else rule.max)
            for rule in self.rules
        )

    def team_counts(self) -> Iterator[int]:
        """Yield the numbers of teams that all players fit in, the largest first."""
        rules = self.request.ruleset
        for teams in range(rules.max_number, max(rules.min_number, self.used) - 1, -1):
            if self.players <= teams * rules.player_max_number:
                yield teams

    def placing(self, teams: int, minimum: int) -> Placing:
        """Return parties and teams as numbers."""
        more = [0] * max(teams - len(self.counts), 0)
        return Placing(
            sizes=self.sizes,
            totals=tuple(self.totals),
            counts=(*self.counts[:teams], *more),
            sums=(*self.sums[:teams], *more),
            capacity=self.request.ruleset.player_max_number,
            minimum=minimum,
            shift=self.shift,
            tolerance=self.tolerance,
            by_size=not self.rules,
        )

    def teams(self, team_of: tuple[int, ...], order: tuple[int, ...], count: int) -> PartyTeams:
        """Return the parties of every team: those of the session, then the others in `order`."""
        placed_ids: list[list[PartyIds]] = [[] for _ in range(count)]
        for team, parties in enumerate(self.session[:count]):
            placed_ids[team] += [party.ids for party in parties]
        for party in order:
            placed_ids[team_of[party]].append(self.parties[party].ids)
        return tuple(tuple(team) for team in placed_ids)

    def distance_of(self, rule: Rule, team_of: tuple[int, ...], count: int) -> float:
        """Return the distance of the teams in one attribute, not divided by its `max`."""
        teams: list[list[float]] = [[] for _ in range(count)]
        placed = [*zip(self.parties, team_of, strict=True)]
        placed += [
            (party, team) for team, parties in enumerate(self.session[:count]) for party in parties
        ]
        for party, team in placed:
            teams[team] += [self.attribute(player, rule.attribute) for player in party.players]
        return distance([math.fsum(team) / len(team) for team in teams if team])

    def name(self, number: int) -> str:
        """Return the name of a party for a sentence: its name, or its first player."""
        party = self.parties[number]
        if party.party is not None:
            return str(party.party)
        more = len(party.players) - 1
        return f"{party.players[0].player}" + (f" and {more} more" if more else "")


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
        self.inside = placing.member_masks()
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
        best_teams: list[int] = []
        best, empty = sys.maxsize, False
        for team, count in enumerate(counts):
            filled = count + size
            if filled > self.placing.capacity or (count == 0 and empty):
                continue
            empty = empty or count == 0
            low = min(second if count == least else least, filled)
            difference = max(most, filled) - low
            if difference < best:
                best_teams, best = [team], difference
            elif difference == best:
                best_teams.append(team)
        return best_teams

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

    def outcome(self) -> Placed:
        """Return the sequence that was placed and the teams it led to."""
        evenness = self.placing.evenness(self.counts, self.sums)
        return Placed(tuple(self.order), tuple(self.team_of), evenness)


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
            better = [target for target in self.targets if target.evenness < placed.evenness]
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
            record for record in self.records if record.evenness.matches(best, self.tolerance)
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
