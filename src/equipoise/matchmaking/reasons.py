"""Why tickets wait: what excludes each of the others, and when the rules change next.

Every other waiting ticket is counted once, at the first rule that keeps it away: options and
attributes, distance, region, players. If all are compatible, the party sizes or the number of
players are the reason.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from equipoise.arrays import Flags, Ints
from equipoise.data.matchmaking import MatchRuleset, Waiting
from equipoise.matchmaking.pool import (
    Pool,
    accepted_latency,
    differ,
)

#: Tickets that get counts, and the pairs that are counted for all of them together.
_MOST_TICKETS, _MOST_PAIRS = 5_000, 1_000_000


def why_waiting(
    pool: Pool, rows: Ints, unsearched: set[int], held: Mapping[int, Mapping[str, Any]]
) -> tuple[list[Waiting], str]:
    """Return the waiting tickets of rows with their reasons, and a note if not all are counted.

    unsearched : rows whose search ended at the node limit
    held : by row, the reason for which the price of waiting withholds a match
    """
    among = rows[: max(100, _MOST_PAIRS // max(len(rows), 1))]
    changes = {int(row): _next_change(pool, int(row)) for row in rows}
    earliest: dict[tuple[int, int], float] = {}
    for row, at in changes.items():
        key = (int(pool.options[row]), int(pool.others[row]))
        earliest[key] = min(earliest.get(key, math.inf), at)
    found = []
    for place, row in enumerate(rows.tolist()):
        reasons: list[Mapping[str, Any]] = []
        at = earliest[int(pool.options[row]), int(pool.others[row])]
        if row in held:
            at = min(at, held[row]["accepted_at"])
            reasons.append(held[row])
        elif row in unsearched:
            reasons.append({"reason": "node_limit", "count": len(rows) - 1})
        if pool.unreachable[row]:
            reasons.append(
                {
                    "reason": "region_latency_max_ms",
                    "count": len(rows) - 1,
                    "best": float(pool.best[row]),
                    "maximum": pool.ruleset.region_latency_max_ms,
                }
            )
            at = math.inf
        elif place < _MOST_TICKETS:
            reasons += _reasons(pool, row, among[among != row], bool(reasons))
        elif not reasons:
            reasons.append({"reason": "not_counted", "count": len(rows) - 1})
        found.append(
            Waiting(
                ticket=pool.tickets[row].ticket,
                reasons=tuple(reasons),
                next_change_at=None if math.isinf(at) else at,
            )
        )
    note = ""
    if len(among) < len(rows) or len(rows) > _MOST_TICKETS:
        note = (
            f"reasons count the first {len(among)} waiting tickets only, and are given for the "
            f"first {min(len(rows), _MOST_TICKETS)}"
        )
    return found, note


def _reasons(pool: Pool, row: int, others: Ints, known: bool) -> Iterator[dict[str, Any]]:
    """Yield the reasons of a ticket; known : whether there is one already."""
    left = others
    for name, excluded in _attributes(pool, row, left):
        yield {"reason": name, "count": int(excluded.sum())}
        left = left[~excluded]
    ruleset = pool.ruleset
    for at, rule in enumerate(ruleset.rules):
        far = np.abs(pool.value[left, at] - pool.value[row, at])
        excluded = far > np.minimum(pool.limit[row, at], pool.limit[left, at])
        if excluded.any():
            reason: dict[str, Any] = {
                "reason": "distance",
                "attribute": rule.attribute,
                "count": int(excluded.sum()),
                "nearest": float(far[excluded].min()),
                "tolerance": float(pool.limit[row, at]),
            }
            waited = float(pool.wait[row])
            later = [
                (step.duration, -place, step.reference)
                for place, step in enumerate(ruleset.flexing_rule)
                if step.attribute == rule.attribute and step.duration >= waited
            ]
            if later:
                duration, _, reference = min(later)
                reason["next_tolerance"] = float(reference)
                reason["next_at"] = pool.tickets[row].created_at + duration
            yield reason
            left = left[~excluded]
    if pool.regions:
        shared = (pool.accepts[left] & pool.accepts[row]).any(axis=1)
        if not shared.all():
            yield {"reason": "region", "count": int((~shared).sum())}
            left = left[shared]
    blocks = "Cannot" in ruleset.blocked_player_option
    for name, rows in (
        ("player", pool.sharing(row)),
        ("blocked_players", pool.blocking(row) if blocks else ()),
    ):
        if rows:
            excluded = _flags(row in rows for row in left.tolist())
            if excluded.any():
                yield {"reason": name, "count": int(excluded.sum())}
                left = left[~excluded]
    if known:
        return
    alliance = ruleset.alliance_at(float(pool.wait[row]))
    needed = alliance.min_number * alliance.player_min_number
    players = int(pool.size[row] + pool.size[left].sum())
    if pool.size[row] > alliance.player_max_number:
        most = alliance.player_max_number
        yield {
            "reason": "party_size",
            "count": len(left),
            "players": int(pool.size[row]),
            "most": most,
        }
    else:
        kind = "too_few" if players < needed else "sizes"
        yield {"reason": kind, "count": len(left), "players": players, "needed": needed}


def _attributes(pool: Pool, row: int, others: Ints) -> Iterator[tuple[str, Flags]]:
    """Yield the names of options and attributes that exclude tickets, and which of `others`."""
    same = (pool.options[others] == pool.options[row]) & (pool.others[others] == pool.others[row])
    own = pool.tickets[row].attributes
    left = others
    for name in pool.option_classes:
        mask = pool.excluded_by(name, row, left)
        if mask.any():
            yield name, mask
            left, same = left[~mask], same[~mask]
    if not same.all():
        everyone = [pool.tickets[other] for other in (row, *left.tolist())]
        for name in sorted({name for ticket in everyone for name in pool.compared(ticket)}):
            mask = _flags(
                differ(own, pool.tickets[other].attributes, name) for other in left.tolist()
            )
            if mask.any():
                yield name, mask
                left = left[~mask]


def _flags(values: Iterable[bool]) -> Flags:
    return np.array(list(values), dtype=bool)


def _next_change(pool: Pool, row: int) -> float:
    """Return the earliest time at which the rules for a ticket change; inf for never."""
    ruleset, ticket, waited = pool.ruleset, pool.tickets[row], float(pool.wait[row])
    durations = [step.duration for step in ruleset.alliance_flexing_rule]
    durations += [step.duration for step in ruleset.flexing_rule]
    if after := ruleset.disable_bidirectional_latency_after_ms:
        durations.append(after / 1000.0)
    times = [ticket.created_at + duration for duration in durations if duration >= waited]
    times += _region_change(pool, ruleset, row, waited)
    return min(times, default=math.inf)


def _region_change(pool: Pool, ruleset: MatchRuleset, row: int, waited: float) -> list[float]:
    """Return the time of the next latency step that adds a region."""
    rate = ruleset.region_expansion_rate_ms / 1000.0
    listed = pool.latency[row][np.isfinite(pool.latency[row])]
    most = ruleset.region_latency_max_ms or math.inf
    missing = listed[
        (listed <= most) & (listed > accepted_latency(ruleset, float(pool.best[row]), waited))
    ]
    if not rate or not len(missing):
        return []
    steps = max(math.ceil(waited / rate), 1)
    return [pool.tickets[row].created_at + steps * rate]
