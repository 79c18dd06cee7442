"""Shapes of the series that a chart shows."""

from __future__ import annotations

from datetime import date, datetime

import msgspec

from equipoise.messages.history import HistoryMessage


class PointMessage(msgspec.Struct, frozen=True):
    """A player after a match; null where the history has no times or the system no such number."""

    match: int | str
    time: int | date | datetime | None
    rating: float
    deviation: float | None
    performance: float | None


class SeriesMessage(msgspec.Struct, frozen=True):
    """A player's rated matches in order."""

    player: int | str
    points: list[PointMessage]


class BarMessage(msgspec.Struct, frozen=True, rename={"low": "from", "high": "to"}):
    """How many players have a rating in [from, to)."""

    low: float
    high: float
    players: int


class PlaceMessage(msgspec.Struct, frozen=True):
    """Where a player stands in a pool; `above` is the share of players with a higher rating."""

    player: int | str
    rating: float
    above: float


class DistributionMessage(msgspec.Struct, frozen=True):
    """How the ratings of a pool are spread."""

    players: int
    mean: float
    median: float
    percentiles: dict[str, float]
    bars: list[BarMessage]
    places: list[PlaceMessage]


class PlotMessage(msgspec.Struct, frozen=True):
    """The answer of `equipoise plot --json`: series of players, or a distribution."""

    system: str
    series: list[SeriesMessage]
    distribution: DistributionMessage | None
    history: HistoryMessage
