"""Parties and teams as numbers, and how even teams are.

Source: [MR]_, READINGS D1, D2, D5, D7, D8. Attributes are kept as whole numbers over a common power
of two, so sums are exact. A composition has the same distance for every order that leads to it, and
equal compositions can be merged.

`Matched` is a request with the value of every player. `Placing` is the same for one number of
teams.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from equipoise.data.rebalancing import (
    MatchedParty,
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
        members = [[one for party in team for one in party.players] for team in self.session]
        groups = [
            *([self.value(one) for one in party.players] for party in self.parties),
            *([self.value(one) for one in team] for team in members),
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
        found: list[list[PartyIds]] = [[] for _ in range(count)]
        for team, parties in enumerate(self.session[:count]):
            found[team] += [party.ids for party in parties]
        for party in order:
            found[team_of[party]].append(self.parties[party].ids)
        return tuple(tuple(team) for team in found)

    def distance_of(self, rule: Rule, team_of: tuple[int, ...], count: int) -> float:
        """Return the distance of the teams in one attribute, not divided by its `max`."""
        teams: list[list[float]] = [[] for _ in range(count)]
        placed = [*zip(self.parties, team_of, strict=True)]
        placed += [
            (party, team) for team, parties in enumerate(self.session[:count]) for party in parties
        ]
        for party, team in placed:
            teams[team] += [self.attribute(one, rule.attribute) for one in party.players]
        return distance([math.fsum(team) / len(team) for team in teams if team])

    def name(self, party: int) -> str:
        """Return the name of a party for a sentence."""
        return name_of(self.parties[party])


@dataclass(frozen=True, slots=True)
class Missing:
    """Number of players without a value of an attribute, and their default."""

    attribute: str
    players: int
    default: float


def missing_of(request: RebalanceRequest) -> list[Missing]:
    """Return the attributes that some players lack."""
    found = []
    for rule in request.ruleset.rules:
        count = sum(
            one.attributes.get(rule.attribute) is None
            for _, party in request.everyone()
            for one in party.players
        )
        if count:
            default = request.default_attributes[rule.attribute]
            found.append(Missing(rule.attribute, count, float(default)))
    return found


def name_of(party: MatchedParty) -> str:
    """Return the name of a party for a sentence: its name, or its first player."""
    if party.party is not None:
        return str(party.party)
    more = len(party.players) - 1
    return f"{party.players[0].player}" + (f" and {more} more" if more else "")
