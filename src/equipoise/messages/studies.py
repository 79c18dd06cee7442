"""Messages of studies: backtests, searches for parameters, audits of drift and of incentives.

A number that could not be computed is null.
"""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

import msgspec

from equipoise.messages.histories import HistoryMessage


class BinMessage(msgspec.Struct, frozen=True):
    """Pairs whose expected score lies from `low` to `high`: mean expected and observed score."""

    low: float
    high: float
    participations: float
    expected: float | None
    observed: float | None


class CalibrationMessage(msgspec.Struct, frozen=True):
    """Expected scores compared with observed ones; `error` is their mean distance."""

    error: float
    bins: list[BinMessage]


class SliceMessage(msgspec.Struct, frozen=True):
    """Metrics of players with `first` to `last` earlier matches, or of matches of such sizes."""

    by: str
    first: int
    last: int | None
    participations: int
    pair_inversion: float | None
    rank_deviation: float | None
    log_loss: float | None
    brier: float | None


class SystemScoresMessage(msgspec.Struct, frozen=True):
    """How well a system predicted.

    three_way : losses over win, draw and loss, if the system gives draws a probability
    seconds : time to rate and to score; null for the baseline
    intervals : metric -> [lower, upper]
    """

    label: str
    system: str
    parameters: dict[str, Any]
    pair_inversion: float | None
    rank_deviation: float | None
    pair_inversion_top100: float | None
    rank_deviation_top100: float | None
    log_loss: float | None
    brier: float | None
    three_way: dict[str, float] | None
    ndcg: float | None
    calibration: CalibrationMessage
    matches: int
    participations: int
    seconds: float | None
    intervals: dict[str, list[float | None]]
    slices: list[SliceMessage]


class DifferenceMessage(msgspec.Struct, frozen=True):
    """Each metric of `first` minus that of `second`, on the same matches.

    judgements : of each metric "level", "no difference that matters" (less than
        `scoring.least_differences`), "beyond noise", "within noise", or "not known" without
        resampling or with fewer than 20 scored matches
    """

    first: str
    second: str
    metrics: dict[str, float | None]
    intervals: dict[str, list[float | None]]
    judgements: dict[str, str]


class GroupScoresMessage(msgspec.Struct, frozen=True):
    """How well a system predicted players of a group."""

    label: str
    pair_inversion: float | None
    rank_deviation: float | None
    log_loss: float | None
    brier: float | None
    intervals: dict[str, list[float | None]]


class GroupMessage(msgspec.Struct, frozen=True):
    """Metrics of players with `first` to `last` earlier matches; null `last` means no limit.

    A pair belongs to the group of its less experienced player. Rank deviation is by player, with
    places among all participants; only in the group from 5 on, with places within the group.
    """

    first: int
    last: int | None
    participations: int
    systems: list[GroupScoresMessage]
    differences: list[DifferenceMessage]


class ScoringMessage(msgspec.Struct, frozen=True):
    """How predictions were scored.

    for_whom : the players whom `systems` and `differences` are about, in words
    learned : matches before the first that could be scored
    undecided : scored matches that count for expected scores only
    """

    for_whom: str
    learned: int
    undecided: int
    min_history: int
    min_total: int | None
    ties_as_authors: bool
    confidence: float
    resamples: int
    seed: int
    least_differences: dict[str, float]


class BacktestMessage(msgspec.Struct, frozen=True):
    """The answer of `equipoise backtest --json`.

    groups : the same by number of earlier matches: 0, 1 to 4, 5 or more, all
    """

    systems: list[SystemScoresMessage]
    differences: list[DifferenceMessage]
    groups: list[GroupMessage]
    scoring: ScoringMessage
    history: HistoryMessage


class ChoiceMessage(msgspec.Struct, frozen=True):
    """The values tried of a parameter: `values` of a grid, or samples from `low` to `high`.

    at_edge : whether the best value is at an end, so that better ones may lie beyond it
    """

    parameter: str
    values: list[Any] | None
    low: float | None
    high: float | None
    log: bool | None
    at_edge: bool


class TrialMessage(msgspec.Struct, frozen=True):
    """One set of parameters and its metrics; `number` is null for the given parameters."""

    number: int | None
    parameters: dict[str, Any]
    status: str
    reason: str
    value: float | None
    metrics: dict[str, float]


class SearchMessage(msgspec.Struct, frozen=True):
    """How the search was made; `matches` and `participations` count those that were scored.

    first : number of matches of the part that was searched
    seed, under_way : null for a grid; study : null if none is kept
    recorded : trials that an earlier run carried out
    """

    metric: str
    higher_is_better: bool
    choices: list[ChoiceMessage]
    first: int
    matches: int
    participations: int
    min_history: int
    ties_as_authors: bool
    seed: int | None
    workers: int
    under_way: int | None
    study: str | None
    recorded: int
    seconds: float


class HeldOutMessage(msgspec.Struct, frozen=True):
    """Both sets of parameters, `tuned` and `given`, on the matches held out of the search.

    verdict : for the players of `scoring.for_whom`: "better"; "worse"; "open" if the interval of
        the difference includes 0; "no difference that matters" if the difference is less than
        `scoring.least_differences`; "not known" if fewer than 20 matches are scored; "same" if
        the parameters are the same
    groups : the comparison by number of earlier matches; verdicts : of each group, null if the
        group does not have the metric
    """

    systems: list[SystemScoresMessage]
    difference: DifferenceMessage
    scoring: ScoringMessage
    verdict: str
    groups: list[GroupMessage]
    verdicts: list[str | None]


class TuneMessage(msgspec.Struct, frozen=True):
    """The answer of `equipoise tune --json`.

    parameters : all tuned parameters of the system, or the given ones if no trial was better
    improved : whether a trial was better than the given parameters on the searched matches
    """

    system: str
    parameters: dict[str, Any]
    improved: bool
    best: TrialMessage
    given: TrialMessage
    held_out: HeldOutMessage
    search: SearchMessage
    trials: list[TrialMessage]
    history: HistoryMessage


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
