"""Shapes of how a pool does as a whole, and of a player's course as columns for a chart."""

from __future__ import annotations

import msgspec


class ActivityBin(msgspec.Struct, frozen=True):
    """Matches in one stretch of time, and different players in them; `start` in seconds."""

    start: int
    matches: int
    players: int


class RatingBin(msgspec.Struct, frozen=True):
    """Players whose rating lies in [low, high); the last bin holds its upper end too."""

    low: float
    high: float
    players: int


class MeanPoint(msgspec.Struct, frozen=True):
    """Ratings of those who played in one stretch of time.

    start : seconds since 1970; null in pools without times, where `match` orders the points
    match : number of the last match in it
    mean : of the ratings after each match; lower, upper : hold the middle half of them
    """

    start: int | None
    match: int
    participations: int
    mean: float
    lower: float
    upper: float


class OverviewMessage(msgspec.Struct, frozen=True):
    """How a pool does.

    unit : "day", "week" or "month", the stretch of `activity` and `drift`; "matches" without times
    activity, drift : oldest first, of the latest matches only where a pool has very many
    ratings : of all players, lowest first; median of them
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


class RatingCourse(msgspec.Struct, frozen=True):
    """A player's course as columns, oldest match first.

    times : seconds since 1970, or null in pools without times
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
