"""Shapes of what a backtest answers. What nothing could be said of is null.

Shapes of what a search for parameters answers. What nothing could be said of is null.

Shapes of what an audit of drift answers. What nothing could be said of is null.

Shapes of what an audit of incentives answers.
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
    """Expected scores held against observed ones; `error` is their mean distance."""

    error: float
    bins: list[BinMessage]


class SliceMessage(msgspec.Struct, frozen=True):
    """Metrics by earlier matches of the player or by size of the match, first to last."""

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

    three_way : losses over win, draw and loss, where a system gives a draw a chance of its own
    seconds : to rate and to score; null for the baseline
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
    """How far each metric of `first` is above that of `second`, on the same matches.

    judgements : of each metric "level", "no difference that matters" (less than
        `scoring.least_differences`), "beyond noise", "within noise", or "not known" where nothing
        was resampled
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
    """Metrics of players with `first` to `last` earlier matches; `last` is null where it is open.

    Pairs by the less experienced of the two; rank deviation by player, places counted in the whole
    field. Only from 5 on places are counted again among those who are in the group.
    """

    first: int
    last: int | None
    participations: int
    systems: list[GroupScoresMessage]
    differences: list[DifferenceMessage]


class ScoringMessage(msgspec.Struct, frozen=True):
    """How it was scored.

    for_whom : whom `systems` and `differences` are about, in words
    learned : matches before the first that could be scored
    undecided : matches, among those scored, that count for expected scores only
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

    groups : the same by how many earlier matches players had: 0, 1 to 4, 5 or more, all
    """

    systems: list[SystemScoresMessage]
    differences: list[DifferenceMessage]
    groups: list[GroupMessage]
    scoring: ScoringMessage
    history: HistoryMessage


class ChoiceMessage(msgspec.Struct, frozen=True):
    """What was tried of a parameter: `values` of a grid, or samples from `low` to `high`.

    at_edge : whether the best value lies at the end of it, so that better ones may lie beyond
    """

    parameter: str
    values: list[Any] | None
    low: float | None
    high: float | None
    log: bool | None
    at_edge: bool


class TrialMessage(msgspec.Struct, frozen=True):
    """One set of parameters; `number` is null for those given, `value` is its metric."""

    number: int | None
    parameters: dict[str, Any]
    status: str
    reason: str
    value: float | None
    metrics: dict[str, float]


class SearchMessage(msgspec.Struct, frozen=True):
    """What was searched, and how; matches and participations are those that were scored.

    first : matches that were searched on
    seed : null for a grid; study : null where none is kept
    recorded : trials that an earlier run had carried out
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
    study: str | None
    recorded: int
    seconds: float


class HeldOutMessage(msgspec.Struct, frozen=True):
    """Both sets of parameters, `tuned` and `given`, on the matches that were not searched on.

    verdict : on the players of `scoring.for_whom`: better, worse, open where the interval of the
        difference includes 0, "no difference that matters" where the difference is smaller than
        `scoring.least_differences`, or same where the parameters are
    groups : the comparison by how many earlier matches players had; verdicts : of each of them,
        null where the metric is none of theirs
    """

    systems: list[SystemScoresMessage]
    difference: DifferenceMessage
    scoring: ScoringMessage
    verdict: str
    groups: list[GroupMessage]
    verdicts: list[str | None]


class TuneMessage(msgspec.Struct, frozen=True):
    """The answer of `equipoise tune --json`.

    parameters : all of the system as tuned; those given where no trial was better
    improved : whether a trial was better than the parameters given, where it was searched
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
