"""Shapes of what a search for parameters answers. What nothing could be said of is null."""

from __future__ import annotations

from typing import Any

import msgspec

from equipoise.messages.backtest import (
    DifferenceMessage,
    GroupMessage,
    ScoringMessage,
    SystemScoresMessage,
)
from equipoise.messages.history import HistoryMessage


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
