"""Small random pools with every rule in play, and the tick by brute force.

The brute force reads section by section what a match must keep: it looks at every set of tickets
and every division into teams. It shares no code with the search.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any

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


def random_ruleset(draw: random.Random) -> MatchRuleset:
    """Return a ruleset with a random part of the rules."""
    low, high = draw.choice([(1, 1), (2, 2), (2, 2), (1, 2), (2, 3), (3, 3)])
    least, most = draw.choice([(1, 1), (2, 2), (1, 2), (1, 3), (2, 3), (3, 3)])
    rules = tuple(
        MatchingRule(
            attribute=name, reference=draw.choice([50, 100, 300]), weight=draw.choice([1, 2])
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
        blocked_player_option=draw.choice(
            [
                "blockedPlayerCannotMatch",
                "blockedPlayerCanMatchOnDifferentTeam",
                "blockedPlayerCanMatch",
            ]
        ),
        match_options_referred_for_backfill=draw.random() < 0.5,
        region_expansion_range_ms=draw.choice([0, 30]),
        region_latency_initial_range_ms=draw.choice([0, 20]),
        region_latency_max_ms=draw.choice([0, 150]),
        disable_bidirectional_latency_after_ms=draw.choice([0, 40_000]),
        distance_scope=draw.choice(["pivot", "pivot", "pair"]),
    )


def random_tickets(
    draw: random.Random, rules: MatchRuleset, count: int, name: str = "t"
) -> list[Ticket]:
    """Return tickets whose values collide often."""
    with_regions, with_blocks = draw.random() < 0.4, draw.random() < 0.5
    twice, noise = draw.random() < 0.1, draw.random() < 0.1
    found = []
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
        options = {one.name for one in rules.match_options}
        special = {"blocked_players", "new_session_only", "server"}
        if "cross_platform" in options:
            special.add("current_platform")
        if noise:
            special.add("mode")
        attributes = {k: v for k, v in attributes.items() if k in options | special}
        found.append(
            Ticket(
                ticket=f"{name}{at}",
                created_at=NOW - draw.choice([1.0, 10.0, 30.0, 70.0, draw.uniform(0, 100)]),
                players=tuple(players),
                attributes=attributes,
                latencies=latencies,
                priority=draw.choice([0, 0, 0, 1]),
            )
        )
    return found


class BruteForce:
    """A tick for matches by looking at every set of tickets; `matches` has ids, cost and region."""

    def __init__(
        self,
        tickets: Sequence[Ticket],
        rules: MatchRuleset,
        preferred: Collection[frozenset[str]] = (),
    ) -> None:
        """Take sets of `preferred` among those that are equally good to the last criterion."""
        self.rules, self.preferred = rules, preferred
        self.queue = sorted(tickets, key=lambda one: (-one.priority, one.created_at, one.ticket))
        self.rank = {one.ticket: at for at, one in enumerate(self.queue)}
        self.kinds = {one.name: one.type for one in rules.match_options}
        own = any("current_platform" in one.attributes for one in tickets)
        self.platforms = own and self.kinds.get("cross_platform") == "any"
        self.regions = sorted({region for one in tickets for region in one.latencies})
        self.matches: list[tuple[frozenset[str], int, str | None]] = []
        left = [one for one in self.queue if not self._unreachable(one)]
        for pivot in list(left):
            if pivot not in left:
                continue
            best = self._best(pivot, [one for one in left if one is not pivot])
            if best is not None:
                chosen, cost, region = best
                self.matches.append((frozenset(one.ticket for one in chosen), cost, region))
                left = [one for one in left if one not in chosen]

    def _unreachable(self, one: Ticket) -> bool:
        most = self.rules.region_latency_max_ms
        return bool(most and one.latencies and min(one.latencies.values()) > most)

    def _wait(self, one: Ticket) -> float:
        return NOW - one.created_at

    def _accepts(self, one: Ticket, region: str) -> bool:
        if not one.latencies:
            return True
        rules = self.rules
        steps = max(math.ceil(self._wait(one) * 1000 / rules.region_expansion_rate_ms) - 1, 0)
        limit = min(one.latencies.values()) + rules.region_latency_initial_range_ms
        limit += steps * (rules.region_expansion_range_ms or 50)
        if rules.region_latency_max_ms:
            limit = min(limit, rules.region_latency_max_ms)
        return one.latencies.get(region, math.inf) <= limit

    def _best(
        self, pivot: Ticket, others: list[Ticket]
    ) -> tuple[list[Ticket], int, str | None] | None:
        order = sorted(self.regions, key=lambda one: (pivot.latencies.get(one, math.inf), one))
        regions: list[str | None] = [one for one in order if self._accepts(pivot, one)]
        for region in regions or [None]:
            near = [one for one in others if self._meets(pivot, one, region)]
            best = None
            for number in range(len(near) + 1):
                for chosen in itertools.combinations(near, number):
                    everyone = [pivot, *chosen]
                    if self.legal(everyone):
                        players = sum(len(one.players) for one in everyone)
                        cost = sum(self._score(pivot, one, region) for one in chosen)
                        ranks = sum(self.rank[one.ticket] for one in chosen)
                        names = frozenset(one.ticket for one in everyone)
                        key = (-players, cost, ranks, names not in self.preferred)
                        if best is None or key < best[0]:
                            best = (key, everyone)
            if best is not None:
                wishes = any(one.latencies for one in best[1])
                return best[1], best[0][1], region if wishes else None
        return None

    def _mean(self, one: Ticket, name: str) -> float:
        return math.fsum(float(p.attributes[name]) for p in one.players) / len(one.players)

    def _tolerance(self, one: Ticket, rule: Any) -> float:
        active = [
            (flexing.duration, at, flexing.reference)
            for at, flexing in enumerate(self.rules.flexing_rule)
            if flexing.attribute == rule.attribute and self._wait(one) > flexing.duration
        ]
        return max(active)[2] if active else rule.reference

    def _near(self, one: Ticket, other: Ticket) -> bool:
        return all(
            abs(self._mean(one, rule.attribute) - self._mean(other, rule.attribute))
            <= min(self._tolerance(one, rule), self._tolerance(other, rule))
            for rule in self.rules.rules
        )

    def _meets(self, pivot: Ticket, one: Ticket, region: str | None) -> bool:
        after = self.rules.disable_bidirectional_latency_after_ms
        if region is None:
            reaches = not (self.regions and one.latencies)
        elif after and self._wait(pivot) * 1000 > after:
            most = self.rules.region_latency_max_ms or math.inf
            reaches = not one.latencies or one.latencies.get(region, math.inf) <= min(most, 1e9)
        else:
            reaches = self._accepts(one, region)
        return reaches and self._near(pivot, one)

    def _score(self, pivot: Ticket, one: Ticket, region: str | None) -> int:
        score = 0.0
        for rule in self.rules.rules:
            far = abs(self._mean(pivot, rule.attribute) - self._mean(one, rule.attribute))
            score += rule.weight * far / self.rules.divisor(rule)
        most = self.rules.region_latency_max_ms
        if region is not None and most and one.latencies:
            score += (one.latencies[region] - min(one.latencies.values())) / most
        return round(score * 10**9) * len(one.players)

    def legal(self, everyone: list[Ticket]) -> bool:
        """Return whether tickets besides distances and regions may form a match."""
        names = [player.player for one in everyone for player in one.players]
        if len(set(names)) < len(names):
            return False
        for name, kind in self.kinds.items():
            sets = [_values(one, name) for one in everyone]
            if kind == "disable":
                continue
            if len({bool(one) for one in sets}) > 1:
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
        rest = [
            {k: repr(v) for k, v in one.attributes.items() if k not in skip} for one in everyone
        ]
        if any(one != rest[0] for one in rest):
            return False
        if self.rules.distance_scope == "pair":
            for one, other in itertools.combinations(everyone, 2):
                if not self._near(one, other):
                    return False
        alliance = self.rules.alliance_at(self._wait(everyone[0]))
        kind = self.rules.blocked_player_option
        if kind == "blockedPlayerCannotMatch" and _blocked(everyone):
            return False
        apart = kind == "blockedPlayerCanMatchOnDifferentTeam"
        return any(
            not (apart and any(_blocked(team) for team in teams))
            for teams in _divisions(everyone, alliance)
        )


def _values(one: Ticket, name: str) -> frozenset[str]:
    value = one.attributes.get(name)
    if value is None:
        return frozenset()
    return frozenset(value if isinstance(value, list) else [value])


def _blocked(everyone: Sequence[Ticket]) -> bool:
    return any(
        player.player in one.attributes.get("blocked_players", ())
        for one, other in itertools.permutations(everyone, 2)
        for player in other.players
    )


def _divisions(everyone: Sequence[Ticket], alliance: Alliance) -> Iterator[list[list[Ticket]]]:
    """Yield every division into teams of allowed sizes."""
    if sum(len(one.players) for one in everyone) > alliance.places:
        return
    for count in range(alliance.min_number, alliance.max_number + 1):
        for rest in itertools.product(range(count), repeat=len(everyone) - 1):
            teams: list[list[Ticket]] = [[] for _ in range(count)]
            for one, team in zip(everyone, (0, *rest), strict=True):
                teams[team].append(one)
            sizes = [sum(len(one.players) for one in team) for team in teams]
            if (
                min(sizes) >= alliance.player_min_number
                and max(sizes) <= alliance.player_max_number
            ):
                yield teams


def legal_teams(
    everyone: Sequence[Ticket], teams: Sequence[Sequence[str]], rules: MatchRuleset
) -> bool:
    """Return whether the teams of a match have allowed sizes, and nobody with a blocked player."""
    known = {one.ticket: one for one in everyone}
    alliance = rules.alliance_at(NOW - everyone[0].created_at)
    sizes = [sum(len(known[one].players) for one in team) for team in teams]
    apart = rules.blocked_player_option == "blockedPlayerCanMatchOnDifferentTeam"
    return (
        alliance.min_number <= len(teams) <= alliance.max_number
        and min(sizes) >= alliance.player_min_number
        and max(sizes) <= alliance.player_max_number
        and not (apart and any(_blocked([known[one] for one in team]) for team in teams))
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


def best_backfill(
    tickets: Sequence[Ticket], session: Session, rules: MatchRuleset
) -> tuple[int, int, int] | None:
    """Return (players, cost, sum of ranks) of the best tickets for a session of one ticket."""
    (member,) = session.teams[0]
    force = BruteForce([], rules)
    queue = sorted(tickets, key=lambda one: (-one.priority, one.created_at, one.ticket))
    force.regions = sorted({region for one in tickets for region in one.latencies})
    everyone = [*queue, member]
    own = any("current_platform" in one.attributes for one in everyone)
    force.platforms = own and force.kinds.get("cross_platform") == "any"
    running = replace(member, created_at=session.created_at, latencies={})
    alliance = rules.alliance_at(NOW - session.created_at)
    regions: list[str | None] = [session.region] if session.region else [*force.regions]
    if session.region and session.region not in force.regions:
        regions = [None]
    for region in regions or [None]:
        near = [
            (rank, one)
            for rank, one in enumerate(queue)
            if not force._unreachable(one)
            and one.attributes.get("new_session_only") != "true"
            and session.session not in one.excluded_sessions
            and force._meets(running, one, region)
        ]
        best = None
        for number in range(1, len(near) + 1):
            for chosen in itertools.combinations(near, number):
                added = [one for _, one in chosen]
                if not _joins(force, running, added, alliance):
                    continue
                cost = sum(force._score(running, one, region) for one in added)
                players = sum(len(one.players) for one in added)
                key = (-players, cost, sum(rank for rank, _ in chosen))
                best = key if best is None or key < best else best
        if best is not None:
            return -best[0], best[1], best[2]
    return None


def _joins(force: BruteForce, running: Ticket, added: Sequence[Ticket], alliance: Alliance) -> bool:
    """Return whether tickets may join a session of one ticket in its first team."""
    rules = force.rules
    everyone = [running, *added]
    if rules.match_options_referred_for_backfill:
        # What is no option need not be equal to the session; it must be among those who join.
        keep = {*force.kinds, "blocked_players", "cross_platform", "current_platform"}
        everyone = [
            replace(one, attributes={k: v for k, v in one.attributes.items() if k in keep})
            for one in everyone
        ]
    loose = replace(rules, alliance_flexing_rule=(), **_WIDE._asdict())
    free = BruteForce([], loose)
    free.platforms, free.regions = force.platforms, force.regions
    if rules.distance_scope == "pair":
        free.rules = replace(loose, distance_scope="pair")
    if rules.match_options_referred_for_backfill and force.platforms is False:
        skip = {"cross_platform", "current_platform"} - set(force.kinds)
        everyone = [
            replace(one, attributes={k: v for k, v in one.attributes.items() if k not in skip})
            for one in everyone
        ]
    if not free.legal(everyone):
        return False
    apart = rules.blocked_player_option == "blockedPlayerCanMatchOnDifferentTeam"
    teams = range(max(alliance.max_number, 1))
    for numbers in itertools.product(teams, repeat=len(added)):
        sides: list[list[Ticket]] = [[] for _ in teams]
        sides[0].append(running)
        for one, team in zip(added, numbers, strict=True):
            sides[team].append(one)
        sizes = [sum(len(one.players) for one in side) for side in sides]
        if max(sizes) <= alliance.player_max_number and not (
            apart and any(_blocked(side) for side in sides)
        ):
            return True
    return False


_WIDE = Alliance(1, 8, 1, 30)
