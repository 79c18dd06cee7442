"""Explaining a match in which a side has a head start.

The system's own explainer sees the match twice: as it was, with the head starts in the ratings, and
as it would have been on neutral ground. The parts of the change are those on neutral ground; what
the head starts took from it or added to it is one more part, so all parts add up.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from equipoise.data.explanations.explanation import Contribution, Explanation, Quantity
from equipoise.data.history import History
from equipoise.rating.advantage.home_system import HomeSystem, belief_of
from equipoise.rating.single_match import single_match
from equipoise.rating.state import State

_Explainer: TypeAlias = Callable[[Any, State, History, int, int], Explanation]


def explain_with_home(
    explainer: _Explainer, system: Any, before: State, history: History, match: int, row: int
) -> Explanation:
    """Return why a participation changed its player's rating; see `explain_change`."""
    if not isinstance(system, HomeSystem) or not system.counts_home:
        return explainer(system, before, history, match, row)
    settled = system.settled(before)
    low, high = int(history.offsets[match]), int(history.offsets[match + 1])
    one = history.slice(match, match + 1)
    starts = settled.head_starts(one, settled.home_advantage)
    neutral_rules: Any = {"home_advantage": 0.0}
    neutral: HomeSystem = dataclasses.replace(settled, **neutral_rules)
    if not starts.any():
        return _with_quantity(explainer(neutral, before, history, match, row), system, before)
    on_neutral = explainer(neutral, before, history, match, row)
    if settled.adds_head_starts:
        actual = explainer(settled, before, history, match, row)
    else:
        moved = before.copy()
        moved.column("rating")[history.player[low:high]] += starts
        actual = explainer(neutral, moved, history, match, row)
    single = single_match(settled, before, history, match)
    i = row - low
    rating_before, rating = (float(single.trace[name][i]) for name in ("rating_before", "rating"))
    without = math.fsum(part.change for part in on_neutral.contributions)
    change = rating - rating_before
    ratings = {other.player: other.rating for other in on_neutral.opponents}
    found = dataclasses.replace(
        actual,
        rating_before=rating_before,
        rating=rating,
        contributions=(
            *on_neutral.contributions,
            Contribution(
                name="home advantage",
                change=change - without,
                reason=_reason(one, i, float(settled.home_advantage), on_neutral, actual),
            ),
        ),
        opponents=tuple(
            dataclasses.replace(other, rating=ratings.get(other.player, other.rating))
            for other in actual.opponents
        ),
    )
    return _with_quantity(found, system, before)


def _reason(
    match: History, i: int, advantage: float, neutral: Explanation, actual: Explanation
) -> str:
    """Return a sentence on what the head starts changed for participation i."""
    flags = match.at_home()
    assert flags is not None
    own, others = flags[match.team == match.team[i]], flags[match.team != match.team[i]]
    where = "this match had a side at home"
    if not np.any(others):
        where = "played at home"
    elif not np.any(own):
        where = "played away"
    return (
        f"{where}, worth {advantage:.0f} points: {actual.expected:.2f} was expected, "
        f"{neutral.expected:.2f} on neutral ground"
    )


def _with_quantity(found: Explanation, system: HomeSystem, before: State) -> Explanation:
    """Return an explanation with what the advantage was before the match."""
    belief = belief_of(before) if system.learns_advantage else None
    value, meaning = float(system.home_advantage), "rating points that a team at home is stronger"
    if belief is not None:
        value = belief[0]
        meaning += f", as the matches before have shown; its deviation is {belief[1]:.1f}"
    quantity = Quantity(name="home advantage", value=value, unit="points", meaning=meaning)
    return dataclasses.replace(found, quantities=(*found.quantities, quantity))
