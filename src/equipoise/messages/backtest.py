"""Shapes of what a backtest answers. What nothing could be said of is null."""

from __future__ import annotations

from typing import Any

import msgspec

from equipoise.messages.history import HistoryMessage


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
