"""Shapes of how a pool does as a whole, and of a player's timeline as columns for a chart."""

from __future__ import annotations

import msgspec


class ActivityBin(msgspec.Struct, frozen=True):
    """Matches in one stretch of time; `start` in seconds since 1970."""

    start: int
    matches: int


class RatingBin(msgspec.Struct, frozen=True):
    """Players whose rating lies in [low, high); the last bin holds its upper end too."""

    low: float
    high: float
    players: int


class MeanPoint(msgspec.Struct, frozen=True):
    """Ratings of those who played in one stretch of time.

    start : seconds since 1970; null in pools without times, where `match` orders the points
    match : numbers the points; in pools without times, the last entry of the log in it
    mean : of the ratings after each match; lower, upper : a standard deviation below and above
    """

    start: int | None
    match: int
    participations: int
    mean: float
    lower: float
    upper: float


class OverviewMessage(msgspec.Struct, frozen=True):
    """How a pool does.

    unit : the stretch of `activity` and `drift`: "day", "week", ...; "matches" without times
    activity, drift : oldest first, of the latest matches only where a pool has very many; drift
        of some of the players, evenly drawn, where it has more than a thousand
    ratings : of all players as they are shown, lowest first; median, mean of them
    provisional : players with fewer matches than the pool asks for
    covered : matches that `activity` and `drift` tell of
    """

    pool: str
    unit: str
    activity: list[ActivityBin]
    ratings: list[RatingBin]
    median: float | None
    mean: float | None
    provisional: int
    drift: list[MeanPoint]
    covered: int


class RatingTimeline(msgspec.Struct, frozen=True):
    """A player's timeline as columns, oldest match first.

    times : at which they count, seconds since 1970, or null in pools without times
    played : whether a time was posted with each; otherwise its time is that of its receipt
    left_out : older matches, where a player has very many
    """

    player: str
    matches: list[str]
    times: list[float] | None
    ratings: list[float]
    deviations: list[float | None]
    changes: list[float]
    ranks: list[int]
    teams: list[int]
    performances: list[float | None]
    left_out: int
    played: list[bool] = []
