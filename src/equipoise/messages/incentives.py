"""Shapes of what an audit of incentives answers."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

import msgspec

from equipoise.messages.history import HistoryMessage


class PlannedMatchMessage(msgspec.Struct, frozen=True):
    """One of the matches considered.

    place, tied : where the player's team came, from 1, and other teams in that place
    planned_place, planned_tied : where it would have come by the plan
    thrown : whether that is worse
    honest, planned : rating after the match, as it was and by the plan
    """

    match: Any
    time: int | date | datetime | None
    teams: int
    place: int
    tied: int
    planned_place: int
    planned_tied: int
    thrown: bool
    honest: float
    planned: float


class IncentiveMessage(msgspec.Struct, frozen=True):
    """The best plan found for a player.

    played : rated matches in all
    before : rating before the first match considered
    honest, planned, gain : last ratings, and their difference, 0 where no plan gains
    gain_frozen : what the best plan gains while the others keep their ratings
    plans, failed : plans tried, and those of them after which the system has no rating
    complete : whether these are all there are
    """

    player: Any
    played: int
    before: float
    honest: float
    planned: float
    gain: float
    gain_frozen: float
    thrown: int
    plans: int
    failed: int
    complete: bool
    matches: list[PlannedMatchMessage]


class IncentivesSystemMessage(msgspec.Struct, frozen=True):
    """What one system gives players for doing worse."""

    label: str
    system: str
    parameters: dict[str, Any]
    players: list[IncentiveMessage]
    seconds: float


class IncentivesMessage(msgspec.Struct, frozen=True):
    """The answer of `equipoise audit incentives --json`.

    others : "frozen" or "replayed"
    last_matches, budget, replays, seed : how far was looked; replays is null while frozen
    """

    systems: list[IncentivesSystemMessage]
    others: str
    last_matches: int
    budget: int
    replays: int | None
    seed: int
    history: HistoryMessage
