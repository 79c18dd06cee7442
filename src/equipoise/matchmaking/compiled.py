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
from equipoise.data.matchmaking import Alliance
from equipoise.matchmaking.arrivals import People
from equipoise.matchmaking.packing import fits
from equipoise.matchmaking.search import compositions

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


class Queue(NamedTuple):
    """Who waits, oldest first, each column but the last of shape (room,).

    ticket : rows of the tickets; tolerance, allowed : rating points and ms at the last tick
    fresh : whether it is new or flexed since; there : False once it is matched in this tick
    order : shape (tickets, regions), the regions of each ticket in the order of its latencies
    """

    ticket: Ints
    tolerance: Floats
    allowed: Floats
    fresh: Ids
    there: Ids
    order: Ids


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
    have : shape (sizes + 1,), how many of them
    chosen, best : places in the queue, the pivot first
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
    two, packings = Alliance(2, 2, max(least, 1), most), []
    sizes = range(most, 0, -1)
    for players in range(2 * two.player_min_number, 2 * most + 1):
        for counts in compositions(sizes, [2 * most] * most, players):
            parties = np.repeat(sizes, counts).tolist()
            if fits(tuple(parties), two, None).possible:
                packings.append((players, *counts[::-1]))
    return np.array(sorted(packings, key=lambda row: (-row[0], row[:0:-1])), np.int64)


@inner_kernel
def _refresh(
    queue: Queue, count: int, people: People, rules: Rules, now: float, before: float
) -> None:
    """Flex the rules of all who wait; tickets from row `count` on have not been seen before."""
    for at in range(count):
        row = queue.ticket[at]
        wait = now - people.created[row]
        tolerance = rules.tolerances[0]
        for step in range(1, len(rules.durations)):
            if wait > rules.durations[step]:
                tolerance = rules.tolerances[step]
        best = people.latency[row, queue.order[row, 0]]
        worst = people.latency[row, queue.order[row, -1]]
        steps = max(math.ceil(wait / rules.region_step) - 1.0, 0.0)
        allowed = best + rules.region_initial + steps * rules.region_range
        # Beyond the worst region nothing changes any more.
        allowed = min(allowed, rules.region_most, worst)
        sided = before - people.created[row] <= rules.one_sided_after < wait
        changed = tolerance != queue.tolerance[at] or allowed != queue.allowed[at] or sided
        queue.fresh[at] = queue.fresh[at] or changed
        queue.tolerance[at] = tolerance
        queue.allowed[at] = allowed
        queue.there[at] = True


@inner_kernel
def _may_meet(
    queue: Queue, people: People, rules: Rules, pivot: int, other: int, now: float, region: int
) -> bool:
    """Return whether two places of the queue may meet in a region."""
    ticket = queue.ticket[pivot]
    two = queue.ticket[other]
    apart = abs(people.rating[ticket] - people.rating[two])
    if not (apart <= queue.tolerance[pivot] and apart <= queue.tolerance[other]):
        return False
    if rules.class_rule != 0:
        same = people.group[ticket] == people.group[two]
        if same != (rules.class_rule == 1):
            return False
    if people.latency[ticket, region] > queue.allowed[pivot]:
        return False
    sided = now - people.created[ticket] > rules.one_sided_after
    limit = rules.region_most if sided else queue.allowed[other]
    return bool(people.latency[two, region] <= limit)


@inner_kernel
def _is_worth_a_search(
    queue: Queue, people: People, rules: Rules, pivot: int, now: float, fresh: Ints, news: int
) -> bool:
    """Return whether a pivot is new or flexed, or may meet such a ticket."""
    if queue.fresh[pivot]:
        return True
    for number in range(news):
        other = fresh[number]
        if queue.there[other]:
            for region in range(people.latency.shape[1]):
                if _may_meet(queue, people, rules, pivot, other, now, region):
                    return True
    return False


@inner_kernel
def _collect(
    queue: Queue,
    count: int,
    people: People,
    rules: Rules,
    pivot: int,
    now: float,
    region: int,
    search: Search,
) -> None:
    """Keep the cheapest candidates of each size, in order of cost, then age."""
    search.have[:] = 0
    ticket = queue.ticket[pivot]
    places = 2 * rules.most - people.size[ticket]
    for other in range(count):
        if other == pivot or not queue.there[other]:
            continue
        if not _may_meet(queue, people, rules, pivot, other, now, region):
            continue
        two = queue.ticket[other]
        size = people.size[two]
        most = places // size if size <= rules.most else 0
        cost = rules.weight * abs(people.rating[ticket] - people.rating[two])
        if rules.region_weight > 0:
            best = people.latency[two, queue.order[two, 0]]
            cost += rules.region_weight * (people.latency[two, region] - best)
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
    """Write the best match into `search.best`, after the pivot; return its number of tickets.

    own : size of the pivot
    Returns : 0 for no match
    """
    count = 0
    players = 0
    least = math.inf
    least_ranks = 0
    for pack in range(len(search.packings)):
        if count > 0 and search.packings[pack, 0] < players:
            break
        cost = 0.0
        number = 1
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
        for at in range(1, number):
            ranks += search.chosen[at]
        if count == 0 or cost < least or (cost == least and ranks < least_ranks):
            count = number
            players = search.packings[pack, 0]
            least = cost
            least_ranks = ranks
            for at in range(1, number):
                search.best[at] = search.chosen[at]
    return count


@inner_kernel
def _divide(queue: Queue, people: People, rules: Rules, count: int, search: Search) -> int:
    """Return the most even division of the match: a set bit is a ticket of the second team.

    Evenness is that of a rebalance: the numbers of players first, then the mean ratings. Bit 0 is
    the pivot, the first ticket of `search.best`, and is never set.
    """
    best = -1
    least_difference = 1 << 30
    least_distance = math.inf
    for mask in range(2, 1 << count, 2):
        first = 0
        first_sum = 0.0
        second = 0
        second_sum = 0.0
        for at in range(count):
            row = queue.ticket[search.best[at]]
            if mask >> at & 1:
                second += people.size[row]
                second_sum += people.rating[row] * people.size[row]
            else:
                first += people.size[row]
                first_sum += people.rating[row] * people.size[row]
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
    people: People,
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
    for pivot in range(count):
        if not queue.there[pivot]:
            continue
        if not _is_worth_a_search(queue, people, rules, pivot, now, fresh, news):
            continue
        own = queue.ticket[pivot]
        for place in range(people.latency.shape[1]):
            region = queue.order[own, place]
            if people.latency[own, region] > queue.allowed[pivot]:
                break
            _collect(queue, count, people, rules, pivot, now, region, search)
            number = _choose(people.size[own], search)
            if number == 0:
                continue
            search.best[0] = pivot
            mask = _divide(queue, people, rules, number, search)
            for at in range(number):
                row = queue.ticket[search.best[at]]
                queue.there[search.best[at]] = False
                outcome.status[row] = 1
                outcome.left[row] = now
                outcome.match[row] = matches
                outcome.team[row] = mask >> at & 1
            outcome.time[matches] = now
            outcome.region[matches] = region
            outcome.pivot[matches] = own
            matches += 1
            break
    return matches


@inner_kernel
def _let_go(
    queue: Queue, count: int, people: People, rules: Rules, now: float, outcome: Outcome
) -> int:
    """Remove those who were matched, gave up or expired; return the number of the others."""
    kept = 0
    for at in range(count):
        row = queue.ticket[at]
        if outcome.status[row] != 0:
            continue
        expires = people.created[row] + rules.expires_after
        gives_up = people.gives_up[row]
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
def _run(
    people: People, rules: Rules, packings: Ints, order: Ids, outcome: Outcome, end: float
) -> tuple[int, int, int]:
    """Write the outcome of a day; return the number of matches, the most who waited, and the ticks.

    packings, order : see `packings` and `Queue`
    end : seconds
    """
    total = len(people.created)
    queue = Queue(
        np.zeros(total, np.int64),
        np.zeros(total),
        np.zeros(total),
        np.zeros(total, np.bool_),
        np.zeros(total, np.bool_),
        order,
    )
    sizes = rules.most
    search = Search(
        np.zeros((sizes + 1, 2 * sizes)),
        np.zeros((sizes + 1, 2 * sizes), np.int64),
        np.zeros(sizes + 1, np.int64),
        np.zeros(2 * sizes, np.int64),
        np.zeros(2 * sizes, np.int64),
        packings,
    )
    fresh = np.zeros(total, np.int64)
    count = 0
    coming = 0
    matches = 0
    largest = 0
    ticks = 0
    before = 0.0
    while True:
        now = (ticks + 1) * rules.interval
        if rules.interval == 0:
            now = people.created[coming] if coming < total else math.inf
        if now > end:
            break
        known = count
        while coming < total and people.created[coming] <= now:
            queue.ticket[count] = coming
            count += 1
            coming += 1
        queue.fresh[known:count] = True
        largest = max(largest, count)
        count = _let_go(queue, count, people, rules, now, outcome)
        _refresh(queue, count, people, rules, now, before)
        matches = _tick(queue, count, people, rules, now, search, fresh, outcome, matches)
        queue.fresh[:count] = False
        count = _let_go(queue, count, people, rules, now, outcome)
        before = now
        ticks += 1
    # The last give-ups and expiries, until the end of the day.
    _let_go(queue, count, people, rules, end, outcome)
    return matches, largest, ticks


def run_day(people: People, rules: Rules, end: float) -> tuple[Outcome, int, int]:
    """Return the result of a day, the most who waited, and the number of ticks; end : seconds."""
    n, most = len(people.created), len(people.created) // 2 + 1
    outcome = Outcome(
        status=np.zeros(n, np.int8),
        left=np.full(n, np.nan),
        match=np.full(n, -1, np.int32),
        team=np.full(n, -1, np.int8),
        time=np.zeros(most),
        region=np.full(most, -1, np.int8),
        pivot=np.zeros(most, np.int32),
    )
    has_regions = people.latency.shape[1] > 0
    if not has_regions:
        people = people._replace(latency=np.zeros((n, 1)))
    order = np.argsort(people.latency, axis=1, kind="stable").astype(np.int8)
    sizes = packings(rules.least, rules.most)
    matches, largest, ticks = _run(people, rules, sizes, order, outcome, end)
    if not has_regions:
        outcome.region[:] = -1
    time, region, pivot = (column[:matches] for column in outcome[4:])
    return outcome._replace(time=time, region=region, pivot=pivot), largest, ticks
