"""The time of a tick, and what it gains over first fit.

First fit is the way of AccelByte's public Go project: candidates by score, each into the first team
with room, and the pivot is given up after one attempt. Its teams are those of the tick, so only the
choice of tickets differs.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Sequence

import numpy as np

from equipoise.data.rebalancing import MatchedParty, MatchedPlayer, RebalanceRequest, Rule, Ruleset
from equipoise.matchmaking import Flexing, MatchingRule, MatchRuleset, Ticket, tick
from equipoise.matchmaking.fairness import TEAM_MEAN
from equipoise.teams.rebalance import team_numbers
from report import report

NOW = 1000.0
REGIONS = ("asia", "eu", "us")
RULES = MatchRuleset(
    min_number=2,
    max_number=2,
    player_min_number=5,
    player_max_number=5,
    rules=(MatchingRule(attribute="mmr", reference=100),),
    flexing_rule=(Flexing("mmr", 30, 200), Flexing("mmr", 60, 400)),
    region_latency_max_ms=200,
    region_expansion_range_ms=20,
)


def draw_tickets(count: int, seed: int) -> list[Ticket]:
    """Return parties of one to five players, of three regions, who came within two minutes."""
    draw = random.Random(seed)
    found = []
    for at in range(count):
        size = draw.choices([1, 2, 3, 4, 5], [0.65, 0.2, 0.08, 0.04, 0.03])[0]
        centre, home = draw.gauss(1500, 350), draw.choice(REGIONS)
        players = tuple(
            MatchedPlayer(player=f"{at}.{one}", attributes={"mmr": draw.gauss(centre, 100)})
            for one in range(size)
        )
        latencies = {
            region: draw.uniform(20, 50) if region == home else draw.uniform(90, 190)
            for region in REGIONS
        }
        found.append(
            Ticket(
                ticket=f"t{at}",
                created_at=NOW - draw.uniform(0, 120),
                players=players,
                latencies=latencies,
            )
        )
    return found


def time_tick(count: int, repeats: int) -> list[str]:
    """Return a row with the best time of several ticks, wall and processor."""
    tickets = draw_tickets(count, 1)
    wall, cpu, matches = [], [], 0
    proved = 0
    for _ in range(repeats):
        start, used = time.perf_counter(), time.process_time()
        answer = tick(tickets, [], RULES, NOW)
        wall.append(time.perf_counter() - start)
        cpu.append(time.process_time() - used)
        matches, proved = len(answer.matches), sum(one.proved for one in answer.matches)
    return [
        f"tick of {count:,} tickets",
        f"{min(wall):.3f} s, {min(cpu):.3f} s of processor time",
        f"{matches:,} matches, {proved:,} proved, {min(cpu) / matches * 1000:.2f} ms each",
    ]


def _limit(ticket: Ticket) -> float:
    waited = NOW - ticket.created_at
    return 400.0 if waited > 60 else 200.0 if waited > 30 else 100.0


def _mean(ticket: Ticket) -> float:
    return sum(one.attributes["mmr"] for one in ticket.players) / len(ticket.players)


def _accepted(ticket: Ticket) -> set[str]:
    waited = NOW - ticket.created_at
    steps = max(-(-waited // 5.0) - 1, 0)
    limit = min(min(ticket.latencies.values()) + steps * 20, 200)
    return {region for region, one in ticket.latencies.items() if one <= limit}


def first_fit(tickets: Sequence[Ticket]) -> list[list[Ticket]]:
    """Return the matches of first fit."""
    queue = sorted(tickets, key=lambda one: (one.created_at, one.ticket))
    mean = {one.ticket: _mean(one) for one in queue}
    limit = {one.ticket: _limit(one) for one in queue}
    accepted = {one.ticket: _accepted(one) for one in queue}
    matches = []
    while queue:
        pivot = queue.pop(0)
        own = pivot.ticket
        for region in sorted(accepted[own], key=lambda one: pivot.latencies[one]):
            near = [
                one
                for one in queue
                if region in accepted[one.ticket]
                and abs(mean[own] - mean[one.ticket]) <= min(limit[own], limit[one.ticket])
            ]
            near.sort(
                key=lambda one: (
                    abs(mean[own] - mean[one.ticket]) / 400
                    + (one.latencies[region] - min(one.latencies.values())) / 200
                )
            )
            chosen: list[Ticket] = []
            for team in range(2):
                room = 5
                if team == 0:
                    chosen, room = [pivot], 5 - len(pivot.players)
                for one in near:
                    if one not in chosen and len(one.players) <= room:
                        chosen.append(one)
                        room -= len(one.players)
            if sum(len(one.players) for one in chosen) == 10:
                matches.append(chosen)
                queue = [one for one in queue if one not in chosen]
                break
    return matches


def unevenness(match: Sequence[Ticket]) -> float:
    """Return |p - 1/2| of the most even teams, by mean ratings with deviations of 75."""
    request = RebalanceRequest(
        ruleset=Ruleset(
            min_number=2,
            max_number=2,
            player_min_number=5,
            player_max_number=5,
            rules=(Rule(attribute="mmr"),),
        ),
        parties=tuple(MatchedParty(players=one.players) for one in match),
    )
    numbers = team_numbers(request)
    rows = [
        (one.attributes["mmr"], team)
        for party, team in zip(match, numbers, strict=True)
        for one in party.players
    ]
    rating, team = np.array([one[0] for one in rows]), np.array([one[1] for one in rows])
    outlook = TEAM_MEAN.outlook(rating, np.full(len(rows), 75.0))
    return abs(float(outlook.of_teams(team, 2).expected()[0]) - 0.5)


def interval(values: Sequence[float]) -> str:
    """Return a mean with its 95 % interval; pools are independent."""
    found = np.array(values)
    half = 1.96 * found.std(ddof=1) / np.sqrt(len(found))
    return f"{found.mean():.4g} ({found.mean() - half:.4g} to {found.mean() + half:.4g})"


def gains(pools: int, size: int) -> list[list[str]]:
    """Return rows that compare first fit with the tick, paired by pool."""
    more, fits, ours, fairer, uneven, evener, evenly, alike = [], [], [], [], [], [], [], []
    for seed in range(pools):
        tickets = draw_tickets(size, 10_000 + seed)
        known = {one.ticket: one for one in tickets}
        theirs = first_fit(tickets)
        answer = tick(tickets, [], RULES, NOW)
        own = [[known[one] for one in match.tickets] for match in answer.matches]
        fits.append(10.0 * len(theirs))
        ours.append(10.0 * len(own))
        more.append(10.0 * (len(own) - len(theirs)))
        ratings = {one.player: (one.attributes["mmr"], 75.0) for t in tickets for one in t.players}
        fair = tick(tickets, [], RULES, NOW, objective="fair", ratings=ratings, node_limit=2000)
        evenly.append(10.0 * (len(fair.matches) - len(theirs)))
        if theirs and own and fair.matches:
            before = float(np.mean([unevenness(one) for one in theirs]))
            after = float(np.mean([unevenness(one) for one in own]))
            best = float(np.mean([one.cost for one in fair.matches]))
            uneven.append(before)
            evener.append(after - before)
            if len(own) == len(theirs):
                alike.append(after - before)
            fairer.append(best - before)
    remark = f"{pools:,} pools of {size} tickets, mean and 95 % interval"
    return [
        ["players matched by first fit", interval(fits), remark],
        ["players matched by the tick", interval(ours), ""],
        ["more players matched, objective accelbyte", interval(more), "paired by pool"],
        ["more players matched, objective fair", interval(evenly), "paired by pool"],
        ["mean distance of p from 1/2, first fit", interval(uneven), "pools with matches of both"],
        ["its change, objective accelbyte", interval(evener), "paired by pool"],
        [
            "its change, where both match as many",
            interval(alike),
            f"objective accelbyte, {len(alike):,} pools",
        ],
        ["its change, objective fair", interval(fairer), "paired by pool"],
    ]


def main() -> None:
    """Print times and gains."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pools", type=int, default=1000)
    parser.add_argument("--size", type=int, default=60)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    rows = [time_tick(count, options.repeats) for count in (1_000, 10_000)]
    rows += gains(options.pools, options.size)
    columns = ("measure", "value", "remark")
    report("matchmaking_tick", (__doc__ or "").strip(), columns, rows)


if __name__ == "__main__":
    main()
