"""A request as numbers: what every player counts, and the numbers of teams to try.

Source: READINGS D5, D7, D8.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from equipoise.balance.placing import Placing, distance, tolerance_of, whole
from equipoise.data.rebalanced import PartyIds, PartyTeams
from equipoise.data.ruleset import MatchedParty, MatchedPlayer, RebalanceRequest, Rule


class Matched:
    """A request with every player's value: the attributes by which teams are made alike.

    One attribute counts as it is; several are each divided by their `max` and added.
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
        #: Teams that cannot be left out.
        self.used = max((team + 1 for team, count in enumerate(self.counts) if count), default=0)

    def attribute(self, player: MatchedPlayer, name: str) -> float:
        """Return an attribute of a player, or its default."""
        value = player.attributes.get(name)
        return float(self.request.default_attributes[name] if value is None else value)

    def value(self, player: MatchedPlayer) -> float:
        """Return what a player counts."""
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
        """Return the parties of every team: those of the session, then as they were placed."""
        found: list[list[PartyIds]] = [[] for _ in range(count)]
        for team, parties in enumerate(self.session[:count]):
            found[team] += [party.ids for party in parties]
        for party in order:
            found[team_of[party]].append(self.parties[party].ids)
        return tuple(tuple(team) for team in found)

    def distance_of(self, rule: Rule, team_of: tuple[int, ...], count: int) -> float:
        """Return the distance of one attribute as it came."""
        teams: list[list[float]] = [[] for _ in range(count)]
        placed = [*zip(self.parties, team_of, strict=True)]
        placed += [
            (party, team) for team, parties in enumerate(self.session[:count]) for party in parties
        ]
        for party, team in placed:
            teams[team] += [self.attribute(one, rule.attribute) for one in party.players]
        return distance([math.fsum(team) / len(team) for team in teams if team])

    def name(self, party: int) -> str:
        """Return what a party is called in a sentence."""
        return name_of(self.parties[party])


@dataclass(frozen=True, slots=True)
class Missing:
    """Players who have no value of an attribute, and what they count instead."""

    attribute: str
    players: int
    default: float


def missing_of(request: RebalanceRequest) -> list[Missing]:
    """Return attributes that some players lack."""
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
    """Return what a party is called in a sentence: its name, or its first player."""
    if party.party is not None:
        return str(party.party)
    more = len(party.players) - 1
    return f"{party.players[0].player}" + (f" and {more} more" if more else "")
