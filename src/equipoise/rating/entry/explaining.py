"""Explaining a match of a pool whose newcomers do not all enter at the initial rating.

The system's own explainer sees the match as if the entry were fixed and no level held, with
newcomers where they entered. What the match handed to the player to hold the level is added as a
part of the change.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from equipoise.arrays import Floats
from equipoise.data.explanations.explanation import Contribution, Explanation, Quantity
from equipoise.data.history import History
from equipoise.rating.base_system import System
from equipoise.rating.entry.entering import MU, TARGET, WEIGHT, Entry, level_adjustment
from equipoise.rating.registry import Explainer
from equipoise.rating.single_match import single_match
from equipoise.rating.state import State


def explain_with_entry(
    explainer: Explainer, system: System, before: State, history: History, match: int, row: int
) -> Explanation:
    """Return why a participation changed its player's rating; see `explain_change`."""
    entry = system.entry_of(before)
    if entry is None:
        return explainer(system, before, history, match, row)
    single = single_match(system, before, history, match)
    i = row - int(history.offsets[match])
    player = before.table[history.player[row]]
    fixed: Any = dataclasses.replace(system, entry="fixed", hold_level=0.0)
    state = _entered(entry, before)
    rows = history.player[int(history.offsets[match]) : int(history.offsets[match + 1])]
    # A period that ends before this match ends with what it handed out, which `fixed` leaves out.
    system.begin_period(state, rows, float(history.days(match, match + 1)[0]))
    found = explainer(fixed, state, history, match, row)
    delta = 0.0
    if player[entry.matches] < entry.young and player[entry.seeded] == 0.0:
        delta = level_adjustment(entry.pool, entry.holds, entry.most)
    return dataclasses.replace(
        found,
        # Within a rating period a pending adjustment is part of both.
        rating_before=float(single.trace["rating_before"][i]),
        rating=float(single.trace["rating"][i]),
        contributions=(*found.contributions, *_adjustment(system, entry, delta)),
        quantities=(
            *_start(system, entry, player),
            *found.quantities,
        ),
        # The whole belief moves, so the rating stays the mean of what is remembered.
        remembered=tuple(
            dataclasses.replace(
                one, performance=one.performance + delta, change=one.change + one.weight * delta
            )
            for one in found.remembered
        ),
        least_change=found.least_change + delta,
        largest_change=found.largest_change + delta,
    )


def _is_new(entry: Entry, player: Any) -> Any:
    """Return whether this player, or each of these, has neither played nor a known rating."""
    return (player[..., entry.matches] == 0.0) & (player[..., entry.seeded] == 0.0)


def _entered(entry: Entry, before: State) -> State:
    """Return a copy of the state in which newcomers have entered."""
    state = before.copy()
    if entry.learns:
        new = _is_new(entry, state.table)
        state.table[new, 0] = entry.pool[MU]
        state.table[new, entry.mean] = entry.pool[MU]
    return state


def _adjustment(system: System, entry: Entry, delta: float) -> list[Contribution]:
    """Return the part of the change that holds the level, if there is one."""
    if delta == 0.0:
        return []
    reason = (
        f"holds the level of the pool at {entry.pool[TARGET]:.0f}: every player with fewer than "
        f"{system.hold_level_matches} earlier matches gets it"
    )
    return [Contribution(name="level adjustment", change=delta, reason=reason)]


def _start(system: System, entry: Entry, player: Floats) -> list[Quantity]:
    """Return where a newcomer began, and how much is known of newcomers."""
    if not (entry.learns and _is_new(entry, player)):
        return []
    pool = entry.pool
    return [
        Quantity(
            name="entry",
            value=float(pool[MU]),
            unit="points",
            meaning=(
                f"Started at {pool[MU]:.0f}, learned from recent newcomers "
                f"(the fixed starting rating is {system.initial_rating:g})"
            ),
        ),
        Quantity(
            name="weight of the entry",
            value=float(pool[WEIGHT]),
            unit="",
            meaning="what is known of newcomers, in first matches that say all about a player",
        ),
    ]
