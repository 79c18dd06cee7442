"""Small random pools with every rule in play, and the tick by brute force.

The brute force reads section by section what a match must keep: it looks at every set of tickets
and every division into teams. It shares no code with the search.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any, get_args

from equipoise.data.matchmaking import BlockedOption
from equipoise.data.rebalancing import MatchedPlayer
from equipoise.matchmaking import (
    Alliance,
    AllianceFlexing,
    Flexing,
    MatchingRule,
    MatchOption,
    MatchRuleset,
    Session,
    Ticket,
)

NOW = 1000.0
REGIONS = ("asia", "eu", "us")
CHOICES: dict[str, list[Any]] = {
    "blocked_player_option": list(get_args(BlockedOption)),
    "match_options_referred_for_backfill": [False, True],
    "region_expansion_range_ms": [0, 30],
    "region_latency_initial_range_ms": [0, 20],
    "region_latency_max_ms": [0, 150],
    "disable_bidirectional_latency_after_ms": [0, 40_000],
    "distance_scope": ["pivot", "pivot", "pair"],
}


def random_ruleset(draw: random.Random) -> MatchRuleset:
    """Return a ruleset with a random part of the rules."""
    low, high = draw.choice([(1, 1), (2, 2), (2, 2), (1, 2), (2, 3), (3, 3)])
    least, most = draw.choice([(1, 1), (2, 2), (1, 2), (1, 3), (2, 3), (3, 3)])
    rules = tuple(
        MatchingRule(
            attribute=name,
            reference=draw.choice([50, 100, 300]),
            weight=draw.choice([1, 2]),
            max_spread=draw.choice([None, None, 80, 150]),
        )
        for name in draw.choice([(), ("mmr",), ("mmr",), ("mmr", "skill")])
    )
    names = ("mode", "map", "server", "cross_platform", "hero")
    options = tuple(
        MatchOption(name, draw.choice(["any", "all", "unique", "disable"]))
        for name in draw.sample(names, draw.choice([0, 0, 1, 2]))
    )
    flexed = Alliance(1, 2, 1, draw.choice([2, 3]))
    return MatchRuleset(
        min_number=low,
        max_number=high,
        player_min_number=least,
        player_max_number=most,
        rules=rules,
        auto_backfill=True,
        alliance_flexing_rule=(AllianceFlexing(60, flexed),) if draw.random() < 0.3 else (),
        flexing_rule=tuple(
            Flexing(rule.attribute, duration, reference)
            for rule in rules
            for duration, reference in ((20, 350), (60, 500))
            if draw.random() < 0.5
        ),
        match_options=options,
        **{name: draw.choice(values) for name, values in CHOICES.items()},
    )


def random_tickets(
    draw: random.Random, rules: MatchRuleset, count: int, name: str = "t"
) -> list[Ticket]:
    """Return tickets whose values collide often."""
    with_regions, with_blocks = draw.random() < 0.4, draw.random() < 0.5
    twice, noise = draw.random() < 0.1, draw.random() < 0.1
    tickets = []
    for at in range(count):
        players = [
            MatchedPlayer(
                player=f"{name}{at}.{place}" if not twice else f"p{draw.randrange(30)}.{place}",
                attributes={
                    "mmr": draw.choice([1000, 1100, 1200, draw.gauss(1100, 150)]),
                    "skill": draw.choice([0, 40, 120]),
                },
            )
            for place in range(draw.choice([1, 1, 1, 2, 2, 3]))
        ]
        attributes: dict[str, Any] = {}
        if draw.random() < 0.8:
            attributes["mode"] = draw.choice(["a", "b"])
        attributes["map"] = draw.sample(["x", "y", "z"], draw.choice([1, 2, 2, 3]))
        attributes["hero"] = draw.choice(["h1", "h2", "h3", "h4"])
        attributes["server"] = "s"
        if draw.random() < 0.3:
            attributes["current_platform"] = draw.choice(["pc", "ps"])
        attributes["cross_platform"] = draw.sample(["pc", "ps"], draw.choice([1, 2, 2]))
        if with_blocks and draw.random() < 0.4:
            attributes["blocked_players"] = [f"{name}{draw.randrange(count)}.0"]
        if draw.random() < 0.1:
            attributes["new_session_only"] = "true"
        latencies = {
            region: float(draw.choice([20, 60, 100, 200]))
            for region in draw.sample(REGIONS, draw.choice([0, 1, 2, 3]))
            if with_regions
        }
        # What is no option must be equal, so it would rarely let anybody meet.
        options = {option.name for option in rules.match_options}
        special = {"blocked_players", "new_session_only", "server"}
        if "cross_platform" in options:
            special.add("current_platform")
        if noise:
            special.add("mode")
        attributes = {k: v for k, v in attributes.items() if k in options | special}
        tickets.append(
            Ticket(
                ticket=f"{name}{at}",
                created_at=NOW - draw.choice([1.0, 10.0, 30.0, 70.0, draw.uniform(0, 100)]),
                players=tuple(players),
                attributes=attributes,
                latencies=latencies,
                priority=draw.choice([0, 0, 0, 1]),
            )
        )
    return tickets


class BruteForce:
    """A tick by looking at every set of tickets and every division into teams.

    members : of a session; score : of a ticket for a pivot, None for that of the rules
    """

    def __init__(
        self,
        tickets: Sequence[Ticket],
        rules: MatchRuleset,
        members: Sequence[Ticket] = (),
        score: Callable[[Ticket, Ticket], float] | None = None,
    ) -> None:
        self.rules, self.own_score = rules, score
        self.queue = sorted(
            tickets, key=lambda ticket: (-ticket.priority, ticket.created_at, ticket.ticket)
        )
        self.rank = {ticket.ticket: at for at, ticket in enumerate(self.queue)}
        self.kinds = {option.name: option.type for option in rules.match_options}
        own = any("current_platform" in ticket.attributes for ticket in (*tickets, *members))
        self.platforms = own and self.kinds.get("cross_platform") == "any"
        self.regions = sorted({region for ticket in tickets for region in ticket.latencies})
        self.left = [ticket for ticket in self.queue if not self._unreachable(ticket)]

    def matches(
        self, preferred: Collection[frozenset[str]] = ()
    ) -> list[tuple[frozenset[str], int, str | None]]:
        """Return ids, cost and region of every match.

        preferred : taken among sets that are equally good to the last criterion
        """
        matches, left = [], list(self.left)
        for pivot in self.left:
            others = [ticket for ticket in left if ticket is not pivot]
            best = self._best(pivot, others, preferred=preferred) if pivot in left else None
            if best is not None:
                chosen, cost, region = best
                matches.append((frozenset(ticket.ticket for ticket in chosen), cost, region))
                left = [ticket for ticket in left if ticket not in chosen]
        return matches

    def backfill(self, session: Session) -> list[Ticket]:
        """Return the best tickets for a session of one ticket in its first team."""
        running = replace(session.teams[0][0], created_at=session.created_at, latencies={})
        others = [
            ticket
            for ticket in self.left
            if ticket.attributes.get("new_session_only") != "true"
            and session.session not in ticket.excluded_sessions
        ]
        best = self._best(running, others, session)
        return [] if best is None else best[0][1:]

    def _unreachable(self, ticket: Ticket) -> bool:
        most = self.rules.region_latency_max_ms
        return bool(most and ticket.latencies and min(ticket.latencies.values()) > most)

    def _wait(self, ticket: Ticket) -> float:
        return NOW - ticket.created_at

    def _accepts(self, ticket: Ticket, region: str) -> bool:
        if not ticket.latencies:
            return True
        rules = self.rules
        steps = max(math.ceil(self._wait(ticket) * 1000 / rules.region_expansion_rate_ms) - 1, 0)
        limit = min(ticket.latencies.values()) + rules.region_latency_initial_range_ms
        limit += steps * (rules.region_expansion_range_ms or 50)
        if rules.region_latency_max_ms:
            limit = min(limit, rules.region_latency_max_ms)
        return ticket.latencies.get(region, math.inf) <= limit

    def _best(
        self,
        pivot: Ticket,
        others: list[Ticket],
        session: Session | None = None,
        preferred: Collection[frozenset[str]] = (),
    ) -> tuple[list[Ticket], int, str | None] | None:
        order = sorted(self.regions, key=lambda name: (pivot.latencies.get(name, math.inf), name))
        regions: list[str | None] = [name for name in order if self._accepts(pivot, name)]
        if session is not None and session.region is not None:
            regions = [session.region] if session.region in self.regions else [None]
        for region in regions or [None]:
            near = [ticket for ticket in others if self.meets(pivot, ticket, region)]
            best = None
            for number in range(session is not None, len(near) + 1):
                for chosen in itertools.combinations(near, number):
                    everyone = [pivot, *chosen]
                    if self.legal(everyone, session is not None):
                        players = sum(len(ticket.players) for ticket in chosen)
                        cost = sum(self.score(pivot, ticket, region) for ticket in chosen)
                        ranks = sum(self.rank[ticket.ticket] for ticket in chosen)
                        names = frozenset(ticket.ticket for ticket in everyone)
                        key = (-players, cost, ranks, names not in preferred)
                        if best is None or key < best[0]:
                            best = (key, everyone)
            if best is not None:
                wishes = any(ticket.latencies for ticket in best[1])
                return best[1], best[0][1], region if wishes else None
        return None

    def _mean(self, ticket: Ticket, name: str) -> float:
        values = [float(player.attributes[name]) for player in ticket.players]
        return math.fsum(values) / len(values)

    def _tolerance(self, ticket: Ticket, rule: Any) -> float:
        active = [
            (flexing.duration, at, flexing.reference)
            for at, flexing in enumerate(self.rules.flexing_rule)
            if flexing.attribute == rule.attribute and self._wait(ticket) > flexing.duration
        ]
        return max(active)[2] if active else rule.reference

    def _near(self, one: Ticket, other: Ticket) -> bool:
        return all(
            abs(self._mean(one, rule.attribute) - self._mean(other, rule.attribute))
            <= min(self._tolerance(one, rule), self._tolerance(other, rule))
            for rule in self.rules.rules
        )

    def meets(self, pivot: Ticket, ticket: Ticket, region: str | None) -> bool:
        """Return whether a ticket is near a pivot, and may play in a region."""
        after = self.rules.disable_bidirectional_latency_after_ms
        if region is None:
            reaches = not (self.regions and ticket.latencies)
        elif after and self._wait(pivot) * 1000 > after:
            most = self.rules.region_latency_max_ms or 1e9
            reaches = not ticket.latencies or ticket.latencies.get(region, math.inf) <= most
        else:
            reaches = self._accepts(ticket, region)
        return reaches and self._near(pivot, ticket)

    def score(self, pivot: Ticket, ticket: Ticket, region: str | None) -> int:
        """Return the cost of a ticket in billionths."""
        score = 0.0
        if self.own_score is not None:
            return round(self.own_score(pivot, ticket) * 10**9) * len(ticket.players)
        for rule in self.rules.rules:
            far = abs(self._mean(pivot, rule.attribute) - self._mean(ticket, rule.attribute))
            score += rule.weight * far / self.rules.divisor(rule)
        most = self.rules.region_latency_max_ms
        if region is not None and most and ticket.latencies:
            score += (ticket.latencies[region] - min(ticket.latencies.values())) / most
        return round(score * 10**9) * len(ticket.players)

    def legal(self, everyone: list[Ticket], is_session: bool = False) -> bool:
        """Return whether tickets besides distances to the pivot and regions may form a match.

        is_session : whether the first ticket is a session
        """
        names = [player.player for ticket in everyone for player in ticket.players]
        if len(set(names)) < len(names):
            return False
        for name, kind in self.kinds.items():
            sets = [_values(ticket, name) for ticket in everyone]
            if kind == "disable":
                continue
            if len({bool(values) for values in sets}) > 1:
                return False
            if self.platforms and name == "cross_platform":
                continue
            if kind == "any" and sets[0] and not frozenset.intersection(*sets):
                return False
            if kind == "all" and len(set(sets)) > 1:
                return False
            if kind == "unique" and sum(map(len, sets)) > len(frozenset.union(*sets)):
                return False
        skip = {*self.kinds, "new_session_only", "blocked_players"}
        if self.platforms:
            skip.add("current_platform")
            for one, other in itertools.permutations(everyone, 2):
                wish = _values(other, "cross_platform")
                if wish and not _values(one, "current_platform") <= wish:
                    return False
        rest = [{k: repr(v) for k, v in x.attributes.items() if k not in skip} for x in everyone]
        may_differ = is_session and self.rules.match_options_referred_for_backfill
        if not may_differ and any(attributes != rest[0] for attributes in rest):
            return False
        for one, other in itertools.combinations(everyone, 2):
            if self.rules.distance_scope == "pair" and not self._near(one, other):
                return False
        for rule in self.rules.rules:
            means = [self._mean(ticket, rule.attribute) for ticket in everyone]
            if rule.max_spread is not None and max(means) - min(means) > rule.max_spread:
                return False
        alliance = self.rules.alliance_at(self._wait(everyone[0]))
        kind = self.rules.blocked_player_option
        if kind == "blockedPlayerCannotMatch" and _blocked(everyone):
            return False
        apart = kind == "blockedPlayerCanMatchOnDifferentTeam"
        return any(
            not (apart and any(_blocked(team) for team in teams))
            for teams in _divisions(everyone, alliance, is_session)
        )


def _values(ticket: Ticket, name: str) -> frozenset[str]:
    value = ticket.attributes.get(name)
    if value is None:
        return frozenset()
    return frozenset(value if isinstance(value, list) else [value])


def _blocked(everyone: Sequence[Ticket]) -> bool:
    return any(
        player.player in one.attributes.get("blocked_players", ())
        for one, other in itertools.permutations(everyone, 2)
        for player in other.players
    )


def _divisions(
    everyone: Sequence[Ticket], alliance: Alliance, is_session: bool
) -> Iterator[list[list[Ticket]]]:
    """Yield every division into teams of allowed sizes; teams of a session have no least size."""
    low, high, least, most = alliance
    if sum(len(ticket.players) for ticket in everyone) > alliance.places:
        return
    for count in range(high if is_session else low, high + 1):
        for rest in itertools.product(range(count), repeat=len(everyone) - 1):
            teams: list[list[Ticket]] = [[] for _ in range(count)]
            for ticket, team in zip(everyone, (0, *rest), strict=True):
                teams[team].append(ticket)
            sizes = [sum(len(ticket.players) for ticket in team) for team in teams]
            if min(sizes) >= (0 if is_session else least) and max(sizes) <= most:
                yield teams


def legal_teams(
    everyone: Sequence[Ticket], teams: Sequence[Sequence[str]], rules: MatchRuleset
) -> bool:
    """Return whether the teams of a match have allowed sizes, and nobody with a blocked player."""
    known = {ticket.ticket: ticket for ticket in everyone}
    low, high, least, most = rules.alliance_at(NOW - everyone[0].created_at)
    sizes = [sum(len(known[name].players) for name in team) for team in teams]
    apart = rules.blocked_player_option == "blockedPlayerCanMatchOnDifferentTeam"
    return (
        low <= len(teams) <= high
        and least <= min(sizes)
        and max(sizes) <= most
        and not (apart and any(_blocked([known[name] for name in team]) for team in teams))
    )


def random_session(draw: random.Random, rules: MatchRuleset) -> Session:
    """Return a session with one member and places for others."""
    (member,) = random_tickets(draw, rules, 1, "m")
    return Session(
        session="s0",
        created_at=NOW - draw.choice([5.0, 70.0]),
        teams=((member,), ()),
        region=draw.choice([None, "eu"]),
    )
