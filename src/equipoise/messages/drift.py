"""Shapes of what an audit of drift answers. What nothing could be said of is null."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

import msgspec

from equipoise.messages.history import HistoryMessage


class WindowMessage(msgspec.Struct, frozen=True):
    """Active is who has a rated match in the last `length` days, or matches of the history."""

    unit: str
    length: float


class DriftPointMessage(msgspec.Struct, frozen=True):
    """How things stand after so many matches.

    by_matches, by_entering, by_leaving, by_performance : what moved `rating` since the point before
    """

    matches: int
    time: int | date | datetime | None
    active: int
    rating: float | None
    deviation: float | None
    spread: float | None
    by_matches: float
    by_entering: float
    by_leaving: float
    by_performance: float | None
    players: int
    rating_all: float | None
    rated: int
    created: float
    created_by_performance: float | None
    inflation: float | None
    inflation_by_performance: float | None
    added: float | None
    added_by_performance: float | None


class DriftSystemMessage(msgspec.Struct, frozen=True):
    """The drift of one system; `start` is the mean rating of the first players before they played.

    scales : whether it scales changes by performance; where not, those parts are null
    """

    label: str
    system: str
    parameters: dict[str, Any]
    scales: bool
    start: float | None
    points: list[DriftPointMessage]
    seconds: float


class DriftMessage(msgspec.Struct, frozen=True):
    """The answer of `equipoise audit drift --json`."""

    systems: list[DriftSystemMessage]
    window: WindowMessage
    history: HistoryMessage
