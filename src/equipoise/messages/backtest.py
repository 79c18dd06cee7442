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
    """How much more `first` has of each metric than `second`, on the same matches."""

    first: str
    second: str
    metrics: dict[str, float | None]
    intervals: dict[str, list[float | None]]


class ScoringMessage(msgspec.Struct, frozen=True):
    """How it was scored.

    learned : matches before the first that could be scored
    undecided : matches, among those scored, that count for expected scores only
    """

    learned: int
    undecided: int
    min_history: int
    ties_as_authors: bool
    confidence: float
    resamples: int
    seed: int


class BacktestMessage(msgspec.Struct, frozen=True):
    """The answer of `equipoise backtest --json`."""

    systems: list[SystemScoresMessage]
    differences: list[DifferenceMessage]
    scoring: ScoringMessage
    history: HistoryMessage
