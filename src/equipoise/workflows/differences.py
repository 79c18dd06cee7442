"""What a replay changed: ratings before and after."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from equipoise.messages.amendments import DifferenceMessage, PlayerDifference

#: Players that are told of.
MOST_PLAYERS = 1000


class Numbers(NamedTuple):
    """What is compared of a player."""

    rating: float
    deviation: float | None


def difference(
    before: Mapping[str, Numbers], after: Mapping[str, Numbers], matches: int
) -> DifferenceMessage:
    """Return who has other numbers after than before, largest changes first.

    matches : how many were replayed
    """
    changed = [player for player in {**before, **after} if before.get(player) != after.get(player)]
    told = [_difference(player, before.get(player), after.get(player)) for player in changed]
    # Whoever is new or gone comes first: nothing is larger.
    told.sort(key=lambda one: (one.change is not None, -abs(one.change or 0.0), one.player))
    return DifferenceMessage(matches, len(changed), told[:MOST_PLAYERS])


def _difference(player: str, before: Numbers | None, after: Numbers | None) -> PlayerDifference:
    change = None if before is None or after is None else after.rating - before.rating
    return PlayerDifference(
        player=player,
        rating_before=None if before is None else before.rating,
        deviation_before=None if before is None else before.deviation,
        rating=None if after is None else after.rating,
        deviation=None if after is None else after.deviation,
        change=change,
    )
