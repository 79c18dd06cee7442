"""The tick on arrays, compiled: two teams, parties, one distance rule, regions, one class.

It makes the matches of `tick` with the objective `accelbyte`: for every pivot, oldest first, the
most players, then the least cost, then the least sum of places in the queue, then the
fewest large parties. The cost is a sum over tickets, and only sizes decide whether parties fill two
teams. So the best match takes the cheapest parties of each size, and the combinations of sizes that
fill two teams (`packings`) can all be tried: the answer is exact without a search.

A pivot that found no match finds none later unless a ticket comes or a rule is flexed, because
tickets that leave only take candidates away. So a tick looks again only at pivots that are new or
flexed, or that may meet such a ticket.
"""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np

from equipoise._jit import inner_kernel, kernel
from equipoise.arrays import Floats, Ids, Ints

#: Most players of a team; with more the packings are too many, and the other tick is used.
LARGEST_TEAM = 8

WAITING, MATCHED, GAVE_UP, EXPIRED = 0, 1, 2, 3
#: What the attribute `class` decides.
ANY_CLASS, SAME_CLASS, OTHER_CLASS = 0, 1, 2


class Rules(NamedTuple):
    """A ruleset for two teams as numbers.

    least, most : players of a team
    durations, tolerances : shape (k,), the tolerance after more than so many seconds, durations
        rising from -1; inf for no distance rule
    weight : cost of a rating point of distance; even : 1 to even out the mean ratings of teams, 0
        to even out their sizes alone
    class_rule : ANY_CLASS, SAME_CLASS or OTHER_CLASS
    region_step : seconds; region_range, region_initial, region_most : ms, the last inf for no limit
    region_weight : cost of a ms above the ticket's own best
    one_sided_after : wait of the pivot after which a candidate accepts any region up to region_most
    expires_after, interval : seconds
    """

    least: int
    most: int
    durations: Floats
    tolerances: Floats
    weight: float = 0.0
    even: float = 1.0
    class_rule: int = ANY_CLASS
    region_step: float = 5.0
    region_range: float = 50.0
    region_initial: float = 0.0
    region_most: float = math.inf
    region_weight: float = 0.0
    one_sided_after: float = math.inf
    expires_after: float = math.inf
    interval: float = 1.0


class Tickets(NamedTuple):
    """Tickets as columns, each of shape (n,); see `People`. `latency` : shape (n, regions)."""

    created: Floats
    gives_up: Floats
    size: Ints
    rating: Floats
    group: Ints
    latency: Floats


class Queue(NamedTuple):
    """Who waits, oldest first, each column of shape (room,).

    ticket : rows of the tickets; tolerance, allowed : rating points and ms at the last tick
    fresh : whether it is new or flexed since; there : False once it is matched in this tick
    """

    ticket: Ints
    tolerance: Floats
    allowed: Floats
    fresh: Ids
    there: Ids


class Outcome(NamedTuple):
    """The result of a day.

    status : shape (n,), WAITING, MATCHED, GAVE_UP or EXPIRED; left : shape (n,), seconds, NaN if
        waiting; match, team : shape (n,), -1 if not matched
    time, region : shape (matches,), region -1 for none; pivot : shape (matches,), rows of tickets
    """

    status: Ids
    left: Floats
    match: Ids
    team: Ids
    time: Floats
    region: Ids
    pivot: Ids


class Search(NamedTuple):
    """Memory of the search around a pivot.

    cost, at : shape (sizes + 1, most), the cheapest candidates of each size, and their places
    have : shape (sizes + 1,), how many of them; chosen, best : places in the queue
    packings : shape (k, sizes + 1), parties of each size, most players first; its column 0 is the
        number of players
    """

    cost: Floats
    at: Ints
    have: Ints
    chosen: Ints
    best: Ints
    packings: Ints


@cache
def packings(least: int, most: int) -> Ints:
    """Return the numbers of parties of each size that fill two teams.

    Most players come first, then the fewest large parties: the first of equal costs is taken.

    least, most : players of a team
    Returns : shape (k, most + 1); column 0 has the number of players
    """

    def parts(total: int, largest: int) -> list[tuple[int, ...]]:
        if total == 0:
            return [()]
        return [
            (one, *rest)
            for one in range(min(total, largest), 0, -1)
            for rest in parts(total - one, one)
        ]

    teams = [team for total in range(max(least, 1), most + 1) for team in parts(total, total)]
    found = {
        (sum(one) + sum(other), *((one + other).count(size) for size in range(1, most + 1)))
        for one in teams
        for other in teams
    }
    return np.array(sorted(found, key=lambda row: (-row[0], row[:0:-1])), np.int64)


def search_memory(rules: Rules) -> Search:
    """Return memory for searches with these rules."""
    sizes = rules.most
    return Search(
        cost=np.zeros((sizes + 1, 2 * sizes)),
        at=np.zeros((sizes + 1, 2 * sizes), np.int64),
        have=np.zeros(sizes + 1, np.int64),
        chosen=np.zeros(2 * sizes, np.int64),
        best=np.zeros(2 * sizes, np.int64),
        packings=packings(rules.least, sizes),
    )


def queue_memory(room: int) -> Queue:
    """Return an empty queue for this many tickets."""
    return Queue(
        ticket=np.zeros(room, np.int64),
        tolerance=np.zeros(room),
        allowed=np.zeros(room),
        fresh=np.zeros(room, np.bool_),
        there=np.zeros(room, np.bool_),
    )


def empty_outcome(tickets: int) -> Outcome:
    """Return the outcome before a day."""
    matches = tickets // 2 + 1
    return Outcome(
        status=np.zeros(tickets, np.int8),
        left=np.full(tickets, np.nan),
        match=np.full(tickets, -1, np.int32),
        team=np.full(tickets, -1, np.int8),
        time=np.zeros(matches),
        region=np.full(matches, -1, np.int8),
        pivot=np.zeros(matches, np.int32),
    )


@inner_kernel
def _refresh(
    queue: Queue, count: int, tickets: Tickets, rules: Rules, now: float, before: float
) -> None:
    """Flex the rules of all who wait; tickets from row `count` on have not been seen before."""
    regions = tickets.latency.shape[1]
    for at in range(count):
        row = queue.ticket[at]
        wait = now - tickets.created[row]
        tolerance = rules.tolerances[0]
        for step in range(1, len(rules.durations)):
            if wait > rules.durations[step]:
                tolerance = rules.tolerances[step]
        allowed = math.inf
        if regions > 0:
            best = math.inf
            worst = 0.0
            for region in range(regions):
                best = min(best, tickets.latency[row, region])
                worst = max(worst, tickets.latency[row, region])
            steps = max(math.ceil(wait / rules.region_step) - 1.0, 0.0)
            allowed = best + rules.region_initial + steps * rules.region_range
            # Beyond the worst region nothing changes any more.
            allowed = min(allowed, rules.region_most, worst)
        sided = before - tickets.created[row] <= rules.one_sided_after < wait
        changed = tolerance != queue.tolerance[at] or allowed != queue.allowed[at] or sided
        queue.fresh[at] = queue.fresh[at] or changed
        queue.tolerance[at] = tolerance
        queue.allowed[at] = allowed
        queue.there[at] = True


@inner_kernel
def _may_meet(
    queue: Queue, tickets: Tickets, rules: Rules, pivot: int, other: int, now: float, region: int
) -> bool:
    """Return whether two places of the queue may meet in a region, -1 without regions."""
    one = queue.ticket[pivot]
    two = queue.ticket[other]
    apart = abs(tickets.rating[one] - tickets.rating[two])
    if not (apart <= queue.tolerance[pivot] and apart <= queue.tolerance[other]):
        return False
    if rules.class_rule != 0:
        same = tickets.group[one] == tickets.group[two]
        if same != (rules.class_rule == 1):
            return False
    if region >= 0:
        if tickets.latency[one, region] > queue.allowed[pivot]:
            return False
        sided = now - tickets.created[one] > rules.one_sided_after
        limit = rules.region_most if sided else queue.allowed[other]
        if tickets.latency[two, region] > limit:
            return False
    return True


@inner_kernel
def _is_worth_a_search(
    queue: Queue, tickets: Tickets, rules: Rules, pivot: int, now: float, fresh: Ints, news: int
) -> bool:
    """Return whether a pivot is new or flexed, or may meet such a ticket."""
    if queue.fresh[pivot]:
        return True
    regions = tickets.latency.shape[1]
    for number in range(news):
        other = fresh[number]
        if queue.there[other]:
            if regions == 0 and _may_meet(queue, tickets, rules, pivot, other, now, -1):
                return True
            for region in range(regions):
                if _may_meet(queue, tickets, rules, pivot, other, now, region):
                    return True
    return False


@inner_kernel
def _collect(
    queue: Queue,
    count: int,
    tickets: Tickets,
    rules: Rules,
    pivot: int,
    now: float,
    region: int,
    search: Search,
) -> None:
    """Keep the cheapest candidates of each size, in order of cost, then age."""
    search.have[:] = 0
    one = queue.ticket[pivot]
    places = 2 * rules.most - tickets.size[one]
    for other in range(count):
        if other == pivot or not queue.there[other]:
            continue
        if not _may_meet(queue, tickets, rules, pivot, other, now, region):
            continue
        two = queue.ticket[other]
        size = tickets.size[two]
        most = places // size if size <= rules.most else 0
        cost = rules.weight * abs(tickets.rating[one] - tickets.rating[two])
        if region >= 0 and rules.region_weight > 0:
            best = math.inf
            for number in range(tickets.latency.shape[1]):
                best = min(best, tickets.latency[two, number])
            cost += rules.region_weight * (tickets.latency[two, region] - best)
        cost *= size
        have = search.have[size] if most > 0 else 0
        if most == 0 or (have == most and not cost < search.cost[size, have - 1]):
            continue
        to = have if have < most else most - 1
        while to > 0 and cost < search.cost[size, to - 1]:
            search.cost[size, to] = search.cost[size, to - 1]
            search.at[size, to] = search.at[size, to - 1]
            to -= 1
        search.cost[size, to] = cost
        search.at[size, to] = other
        search.have[size] = min(have + 1, most)


@inner_kernel
def _choose(own: int, search: Search) -> int:
    """Write the places of the best match into `search.best`; return their number, 0 for none.

    own : size of the pivot, which is not among them
    """
    count = 0
    players = 0
    least = math.inf
    least_ranks = 0
    for pack in range(len(search.packings)):
        if count > 0 and search.packings[pack, 0] < players:
            break
        cost = 0.0
        number = 0
        fits = search.packings[pack, own] > 0
        for size in range(1, len(search.have)):
            need = search.packings[pack, size] - (1 if size == own else 0)
            if not fits or need > search.have[size]:
                fits = False
                break
            for at in range(need):
                cost += search.cost[size, at]
                search.chosen[number] = search.at[size, at]
                number += 1
        if not fits:
            continue
        ranks = 0
        for at in range(number):
            ranks += search.chosen[at]
        if count == 0 or cost < least or (cost == least and ranks < least_ranks):
            count = number
            players = search.packings[pack, 0]
            least = cost
            least_ranks = ranks
            for at in range(number):
                search.best[at] = search.chosen[at]
    return count


@inner_kernel
def _divide(queue: Queue, tickets: Tickets, rules: Rules, count: int, search: Search) -> int:
    """Return the most even division of the match: a set bit is a ticket of the second team.

    Evenness is that of a rebalance: the numbers of players first, then the mean ratings. Bit 0 is
    the first ticket of `search.best`, and the pivot, in `search.chosen[0]`, is in the first team.
    """
    best = -1
    least_difference = 1 << 30
    least_distance = math.inf
    own = queue.ticket[search.chosen[0]]
    for mask in range(1, 1 << count):
        first = tickets.size[own]
        first_sum = tickets.rating[own] * first
        second = 0
        second_sum = 0.0
        for at in range(count):
            row = queue.ticket[search.best[at]]
            if mask >> at & 1:
                second += tickets.size[row]
                second_sum += tickets.rating[row] * tickets.size[row]
            else:
                first += tickets.size[row]
                first_sum += tickets.rating[row] * tickets.size[row]
        low = min(first, second)
        high = max(first, second)
        if low < rules.least or high > rules.most:
            continue
        distance = rules.even * abs(first_sum / first - second_sum / second)
        if high - low < least_difference or (
            high - low == least_difference and distance < least_distance
        ):
            best = mask
            least_difference = high - low
            least_distance = distance
    return best


@inner_kernel
def _tick(
    queue: Queue,
    count: int,
    tickets: Tickets,
    rules: Rules,
    now: float,
    search: Search,
    fresh: Ints,
    outcome: Outcome,
    matches: int,
) -> int:
    """Match those who wait; return the number of matches so far. The queue keeps its order."""
    news = 0
    for at in range(count):
        if queue.fresh[at]:
            fresh[news] = at
            news += 1
    if news == 0:
        return matches
    regions = tickets.latency.shape[1]
    for pivot in range(count):
        if not queue.there[pivot]:
            continue
        if not _is_worth_a_search(queue, tickets, rules, pivot, now, fresh, news):
            continue
        own = queue.ticket[pivot]
        number = 0
        region = -1
        # Regions in the order of the pivot's latencies.
        last = -1.0
        last_region = -1
        for _ in range(max(regions, 1)):
            if regions > 0:
                region = -1
                for one in range(regions):
                    latency = tickets.latency[own, one]
                    after = latency > last or (latency == last and one > last_region)
                    if after and (region < 0 or latency < tickets.latency[own, region]):
                        region = one
                last = tickets.latency[own, region]
                last_region = region
                if last > queue.allowed[pivot]:
                    break
            _collect(queue, count, tickets, rules, pivot, now, region, search)
            number = _choose(tickets.size[own], search)
            if number > 0:
                break
        if number == 0:
            continue
        search.chosen[0] = pivot
        mask = _divide(queue, tickets, rules, number, search)
        queue.there[pivot] = False
        outcome.status[own] = 1
        outcome.left[own] = now
        outcome.match[own] = matches
        outcome.team[own] = 0
        for at in range(number):
            place = search.best[at]
            row = queue.ticket[place]
            queue.there[place] = False
            outcome.status[row] = 1
            outcome.left[row] = now
            outcome.match[row] = matches
            outcome.team[row] = mask >> at & 1
        outcome.time[matches] = now
        outcome.region[matches] = region
        outcome.pivot[matches] = own
        matches += 1
    return matches


@inner_kernel
def _let_go(
    queue: Queue, count: int, tickets: Tickets, rules: Rules, now: float, outcome: Outcome
) -> int:
    """Remove those who were matched, gave up or expired; return the number of the others."""
    kept = 0
    for at in range(count):
        row = queue.ticket[at]
        if outcome.status[row] != 0:
            continue
        expires = tickets.created[row] + rules.expires_after
        gives_up = tickets.gives_up[row]
        if gives_up <= now and gives_up <= expires:
            outcome.status[row] = 2
            outcome.left[row] = gives_up
        elif expires < now:
            outcome.status[row] = 3
            outcome.left[row] = expires
        else:
            queue.ticket[kept] = row
            queue.tolerance[kept] = queue.tolerance[at]
            queue.allowed[kept] = queue.allowed[at]
            queue.fresh[kept] = queue.fresh[at]
            kept += 1
    return kept


@kernel
def run_day(
    queue: Queue,
    tickets: Tickets,
    rules: Rules,
    search: Search,
    fresh: Ints,
    outcome: Outcome,
    end: float,
) -> tuple[int, int, int]:
    """Run a day of `end` seconds; return the matches, the most who waited, and the ticks.

    queue, fresh : memory for all tickets
    """
    total = len(tickets.created)
    count = 0
    coming = 0
    matches = 0
    largest = 0
    ticks = 0
    before = 0.0
    while True:
        if rules.interval > 0:
            now = (ticks + 1) * rules.interval
        else:
            now = tickets.created[coming] if coming < total else end
        if now > end:
            break
        known = count
        while coming < total and tickets.created[coming] <= now:
            queue.ticket[count] = coming
            count += 1
            coming += 1
        for at in range(known, count):
            queue.fresh[at] = True
        largest = max(largest, count)
        count = _let_go(queue, count, tickets, rules, now, outcome)
        _refresh(queue, count, tickets, rules, now, before)
        matches = _tick(queue, count, tickets, rules, now, search, fresh, outcome, matches)
        queue.fresh[:count] = False
        count = _let_go(queue, count, tickets, rules, now, outcome)
        before = now
        ticks += 1
        if rules.interval <= 0 and coming >= total:
            break
    # The last give-ups and expiries, until the end of the day.
    _let_go(queue, count, tickets, rules, end, outcome)
    return matches, largest, ticks


@kernel
def run_tick(
    queue: Queue,
    count: int,
    tickets: Tickets,
    rules: Rules,
    now: float,
    search: Search,
    fresh: Ints,
    outcome: Outcome,
) -> int:
    """Run one tick over a queue in which everybody is new; return the number of matches."""
    queue.fresh[:count] = True
    _refresh(queue, count, tickets, rules, now, now)
    return _tick(queue, count, tickets, rules, now, search, fresh, outcome, 0)
