"""Messages about the players of a pool.

The leaderboard, one player, a player's matches; the overview of a pool and a player's timeline are
for the charts of pages.
"""

from __future__ import annotations

import msgspec


class LeaderboardRow(msgspec.Struct, frozen=True, gc=False):
    """A player on the leaderboard.

    place : from 1 among those listed; null if a filter makes it unknown, and for disqualified
        players unless they are ranked
    display : rating shown: rating - k x deviation, decayed and not below the floor of the pool
    last_time : as the pool writes times
    disqualified : whether the player is disqualified from future matches
    """

    place: int | None
    player: str
    display: float
    rating: float
    deviation: float | None
    matches: int
    last_time: int | str | None
    provisional: bool
    disqualified: bool = False


class LeaderboardMessage(msgspec.Struct, frozen=True):
    """A page of the leaderboard.

    players_in_pool : number of all players, listed or not
    previous, next : cursors of the adjacent pages, null if there is none
    """

    pool: str
    generation: int
    players_in_pool: int
    players: list[LeaderboardRow]
    previous: str | None
    next: str | None


class PlayerMessage(msgspec.Struct, frozen=True):
    """A player of a pool.

    place : on the leaderboard, null for provisional and disqualified players
    at : time of the numbers, null: that of the last match
    extra : further numbers of the system: volatility, form, effective_rating, ...
    disqualified : since when, null if the player is rated; disqualifications from single matches
        do not count
    known_rating, known_deviation : with which the player began, on the scale of the pool; null if
        the player began as a newcomer, or without a known deviation
    """

    pool: str
    player: str
    place: int | None
    display: float
    rating: float
    deviation: float | None
    matches: int
    last_time: int | str | None
    at: int | str | None
    provisional: bool
    disqualified: int | str | None
    extra: dict[str, float | None]
    known_rating: float | None = None
    known_deviation: float | None = None


class PlayerMatch(msgspec.Struct, frozen=True, gc=False):
    """What one match did to a player; `rank` from 1 among `teams` teams.

    time : at which the match counts; played : time that was posted, null if there was none
    """

    match: str
    seq: int
    time: int | str | None
    rank: int
    teams: int
    rating_before: float
    deviation_before: float | None
    rating: float
    deviation: float | None
    change: float
    expected: float | None
    performance: float | None
    extra: dict[str, float | None]
    played: int | str | None = None


class PlayerHistory(msgspec.Struct, frozen=True):
    """A player's rated matches, newest first; `next` is the cursor of the next page."""

    pool: str
    player: str
    matches: list[PlayerMatch]
    next: str | None


class ActivityBin(msgspec.Struct, frozen=True):
    """Matches in one interval of time; `start` in seconds since 1970."""

    start: int
    matches: int


class RatingBin(msgspec.Struct, frozen=True):
    """Number of players with a rating in [low, high); the last bin includes its upper end."""

    low: float
    high: float
    players: int


class MeanPoint(msgspec.Struct, frozen=True):
    """Ratings of the players who played in one interval of time.

    start : seconds since 1970; null in pools without times, where `match` orders the points
    match : number of the point; in pools without times, that of the last log record in it
    mean : of the ratings after each match; lower, upper : one standard deviation below and above
    """

    start: int | None
    match: int
    participations: int
    mean: float
    lower: float
    upper: float


class OverviewMessage(msgspec.Struct, frozen=True):
    """The overview of a pool.

    unit : interval of `activity` and `drift`: "day", "week", ...; "matches" without times
    activity, drift : oldest first; of the latest matches only if the pool has very many. Drift is
        that of an evenly drawn sample if the pool has more than a thousand players
    ratings : ratings shown of all players, lowest first; median, mean : of the same
    provisional : players with fewer matches than the placement matches
    covered : number of matches that `activity` and `drift` cover
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

    times : times at which the matches count, seconds since 1970; null in pools without times
    played : whether a time was posted with each match; if not, its time is that of its receipt
    left_out : number of older matches that are left out, if a player has very many
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
