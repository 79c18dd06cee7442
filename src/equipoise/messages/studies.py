"""Messages of studies: audits of drift and of incentives, and leaderboards.

A number that could not be computed is null.
"""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

import msgspec

from equipoise.messages.histories import HistoryMessage


class WindowMessage(msgspec.Struct, frozen=True):
    """A player is active if they had a rated match in the last `length` days (or matches)."""

    unit: str
    length: float


class DriftPointMessage(msgspec.Struct, frozen=True):
    """The state of the ratings after so many matches.

    by_matches, by_entering, by_leaving : parts of the change of `rating` since the point before
    by_performance, by_level : parts of `by_matches`
    newcomers, entered, performed : since the point before: their number, the mean rating with which
        they entered, and the mean of their first performances
    brought, lost : points so far that newcomers brought in, and that inactive players hold
    entry, entry_weight : where newcomers enter, and the weight of a learned entry
    level, target : of the pool; handed : points handed out so far to hold the level
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
    by_level: float | None
    players: int
    rating_all: float | None
    rated: int
    created: float
    created_by_performance: float | None
    inflation: float | None
    inflation_by_performance: float | None
    added: float | None
    added_by_performance: float | None
    newcomers: int
    entered: float | None
    performed: float | None
    brought: float | None
    lost: float | None
    entry: float
    entry_weight: float | None
    level: float | None
    target: float | None
    handed: float | None


class LevelGroupMessage(msgspec.Struct, frozen=True):
    """What players with `first` to `last` earlier matches got to hold the level."""

    first: int
    last: int | None
    participations: int
    points: float


class LevelReceiverMessage(msgspec.Struct, frozen=True):
    """A player who got points to hold the level, how often, and the last rating."""

    player: Any
    participations: int
    points: float
    rating: float


class DriftSystemMessage(msgspec.Struct, frozen=True):
    """The drift of one system; `start` is the mean rating of the first players before they played.

    scales : whether it scales changes by performance; if not, those parts are null
    learns, holds : whether it learns where newcomers enter, and holds the level of the pool
    performed_all : mean of all first performances
    handed_by, receivers, receiving : what was handed out to hold the level: by the number of
        earlier matches, to the players who got most, and the number of all who got some
    """

    label: str
    system: str
    parameters: dict[str, Any]
    scales: bool
    learns: bool
    holds: bool
    start: float | None
    performed_all: float | None
    handed_by: list[LevelGroupMessage]
    receivers: list[LevelReceiverMessage]
    receiving: int
    points: list[DriftPointMessage]
    seconds: float


class DriftMessage(msgspec.Struct, frozen=True):
    """The answer of `equipoise audit drift --json`."""

    systems: list[DriftSystemMessage]
    window: WindowMessage
    history: HistoryMessage


class PlannedMatchMessage(msgspec.Struct, frozen=True):
    """One of the matches of a plan.

    place, tied : place of the player's team, from 1, and number of other teams in that place
    planned_place, planned_tied : the same by the plan
    thrown : whether the planned place is worse
    honest, planned : rating after the match, actual and by the plan
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

    played : number of rated matches
    before : rating before the first match of the plan
    honest, planned, gain : last ratings, and their difference, 0 if no plan gains
    gain_frozen : gain of the best plan while the other players keep their ratings
    plans, failed : plans tried, and those among them after which the system has no rating
    complete : whether all possible plans were tried
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
    """The incentives that one system gives players to come in worse."""

    label: str
    system: str
    parameters: dict[str, Any]
    players: list[IncentiveMessage]
    seconds: float


class IncentivesMessage(msgspec.Struct, frozen=True):
    """The answer of `equipoise audit incentives --json`.

    others : "frozen" or "replayed"
    last_matches, budget, replays, seed : limits of the search; `replays` is null for "frozen"
    """

    systems: list[IncentivesSystemMessage]
    others: str
    last_matches: int
    budget: int
    replays: int | None
    seed: int
    history: HistoryMessage


class LeaderboardSystemMessage(msgspec.Struct, frozen=True):
    """A column of the leaderboards.

    errors : what its error bars come from: "results", "deviation", "bootstrap", "likelihood" or
        "none"
    """

    label: str
    system: str
    errors: str


class LeaderboardRatingMessage(msgspec.Struct, frozen=True):
    """A rating, and half the width of its confidence interval."""

    rating: float | None
    error: float | None


class LeaderboardRowMessage(msgspec.Struct, frozen=True):
    """A player on a leaderboard.

    group : value of the column `by`; period : its first day, month or year
    matches : in the group and period; ratings : by label of the system
    ten_to_one : points at odds of ten to one, by label of the systems with errors by "results"
    """

    group: str | None
    period: str | None
    player: int | str
    matches: int
    ratings: dict[str, LeaderboardRatingMessage]
    ten_to_one: dict[str, float]


class SystemLeaderboardsMessage(msgspec.Struct, frozen=True):
    """The answer of `equipoise leaderboard --json`.

    Rows are ordered by group, period and the first system.
    """

    systems: list[LeaderboardSystemMessage]
    by: str | None
    every: str | None
    confidence: float
    rounds: int
    seed: int
    anchor: float
    rows: list[LeaderboardRowMessage]
    notes: list[str]
    history: HistoryMessage
