"""Why tickets wait: what excludes each of the others, and when the rules change next.

Every other waiting ticket is counted once, at the first rule that keeps it away: options and
attributes, distance, region, players. If all are compatible, the party sizes or the number of
players are the reason.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from equipoise.arrays import Flags, Ints
from equipoise.data.matchmaking import Waiting
from equipoise.matchmaking.pool import (
    Pool,
    accepted_latency,
    differ,
    max_spread,
)

#: Tickets that get counts, and the pairs that are counted for all of them together.
_MOST_TICKETS, _MOST_PAIRS = 5_000, 1_000_000


def why_waiting(
    pool: Pool, rows: Ints, known: Mapping[int, Mapping[str, Any]]
) -> tuple[list[Waiting], list[str]]:
    """Return the waiting tickets of rows with their reasons, and a note if not all are counted.

    known : by row, the reason for which its search made no match, other than that there is none
    """
    among = rows[: max(100, _MOST_PAIRS // max(len(rows), 1))]
    changes = {int(row): _next_change(pool, int(row)) for row in rows}
    earliest: dict[tuple[int, int], float] = {}
    for row, at in changes.items():
        key = (int(pool.options[row]), int(pool.others[row]))
        earliest[key] = min(earliest.get(key, math.inf), at)
    tickets = []
    for place, row in enumerate(rows.tolist()):
        at = earliest[int(pool.options[row]), int(pool.others[row])]
        own = known.get(row, {})
        at = min(at, own.get("accepted_at", math.inf))
        if pool.unreachable[row]:
            most = pool.ruleset.region_latency_max_ms
            best = float(pool.best[row])
            own, at = {"reason": "region_latency_max_ms", "best": best, "maximum": most}, math.inf
        elif place >= _MOST_TICKETS:
            own = own or {"reason": "not_counted"}
        reasons = [{"reason": "", "count": len(rows) - 1, **own}] if own else []
        if place < _MOST_TICKETS and not pool.unreachable[row]:
            reasons += _reasons(pool, row, among[among != row], bool(own))
        tickets.append(
            Waiting(
                ticket=pool.tickets[row].ticket,
                reasons=tuple(reasons),
                next_change_at=None if math.isinf(at) else at,
            )
        )
    notes = [
        f"reasons count the first {len(among)} waiting tickets only, and are given for the "
        f"first {min(len(rows), _MOST_TICKETS)}"
    ]
    return tickets, notes if len(among) < len(rows) or len(rows) > _MOST_TICKETS else []


def _reasons(pool: Pool, row: int, others: Ints, known: bool) -> Iterator[dict[str, Any]]:
    """Yield the reasons of a ticket; known : whether there is one already."""
    left = others
    for name, rule, excluded_of in _exclusions(pool, row, others):
        excluded = excluded_of(left)
        if excluded.any():
            count = int(excluded.sum())
            if rule is None:
                yield {"reason": name, "count": count}
            else:
                yield _distance(pool, row, rule, left[excluded])
            left = left[~excluded]
    if known:
        return
    alliance = pool.ruleset.alliance_at(float(pool.wait[row]))
    size, players = int(pool.size[row]), int(pool.size[row] + pool.size[left].sum())
    reason = {"reason": "sizes", "count": len(left)}
    if size > alliance.player_max_number:
        yield reason | {"reason": "party_size", "players": size, "most": alliance.player_max_number}
        return
    needed = alliance.min_number * alliance.player_min_number
    kind = "too_few" if players < needed else "sizes"
    yield reason | {"reason": kind, "players": players, "needed": needed}


def _exclusions(
    pool: Pool, row: int, others: Ints
) -> Iterator[tuple[str, int | None, Callable[[Ints], Flags]]]:
    """Yield every rule that may exclude others, and a function that says which of some rows.

    Each is the name of the reason, and the number of the rule of a distance.
    """
    for name in pool.option_classes:
        yield name, None, partial(pool.excluded_by, name, row)
    if (pool.others[others] != pool.others[row]).any():
        everyone = [pool.tickets[other] for other in (row, *others.tolist())]
        names = {name for ticket in everyone for name in pool.compared(ticket)}
        for name in sorted(names, key=str):
            yield name, None, partial(_differ, pool, name, row)
    for at in range(len(pool.ruleset.rules)):
        yield "distance", at, partial(pool.is_far, at, row)
    if pool.regions:
        own = pool.accepts[row]
        yield "region", None, lambda rows: ~(pool.accepts[rows] & own).any(axis=1)
    if pool.has_twice:
        yield "player", None, lambda rows: np.isin(rows, [*pool.sharing(row)])
    if pool.has_blocks and not pool.separates:
        yield "blocked_players", None, lambda rows: np.isin(rows, [*pool.blocking(row)])


def _differ(pool: Pool, name: str, row: int, rows: Ints) -> Flags:
    """Return which rows have another value of an attribute that is no option."""
    own = pool.tickets[row].attributes
    differs = [differ(own, pool.tickets[other].attributes, name) for other in rows.tolist()]
    return np.array(differs, dtype=bool)


def _distance(pool: Pool, row: int, at: int, far: Ints) -> dict[str, Any]:
    """Return the reason of a rule with its next tolerance; far : the rows that it excludes."""
    rule, waited = pool.ruleset.rules[at], float(pool.wait[row])
    reason: dict[str, Any] = {
        "reason": "distance",
        "attribute": rule.attribute,
        "count": len(far),
        "nearest": float(np.abs(pool.value[far, at] - pool.value[row, at]).min()),
        "tolerance": float(pool.limit[row, at]),
    }
    later = [
        (step.duration, -place, step.reference)
        for place, step in enumerate(pool.ruleset.flexing_rule)
        if step.attribute == rule.attribute and step.duration >= waited
    ]
    if later:
        duration, _, reference = min(later)
        reason["next_tolerance"] = min(float(reference), max_spread(rule))
        reason["next_at"] = pool.tickets[row].created_at + duration
    return reason


def _next_change(pool: Pool, row: int) -> float:
    """Return the earliest time at which the rules for a ticket change; inf for never."""
    ruleset, ticket, waited = pool.ruleset, pool.tickets[row], float(pool.wait[row])
    durations = [step.duration for step in ruleset.alliance_flexing_rule]
    durations += [step.duration for step in ruleset.flexing_rule]
    if after := ruleset.disable_bidirectional_latency_after_ms:
        durations.append(after / 1000.0)
    times = [ticket.created_at + duration for duration in durations if duration >= waited]
    # The next latency step, if it may add a region.
    rate, latency = ruleset.region_expansion_rate_ms / 1000.0, pool.latency[row]
    most = min(ruleset.region_latency_max_ms or math.inf, float(np.finfo(np.float64).max))
    highest = accepted_latency(ruleset, pool.best[row], pool.wait[row])
    if rate and ((latency <= most) & (latency > highest)).any():
        times.append(ticket.created_at + max(math.ceil(waited / rate), 1) * rate)
    return min(times, default=math.inf)
