"""Shapes of why a match changed a rating."""

from __future__ import annotations

import msgspec


class ContributionMessage(msgspec.Struct, frozen=True):
    """One part of the change, in rating points, and a sentence on why it is so large."""

    name: str
    change: float
    reason: str


class QuantityMessage(msgspec.Struct, frozen=True):
    """One number on the way from the result to the change: its unit and what it means."""

    name: str
    value: float | None
    unit: str
    meaning: str


class OpponentMessage(msgspec.Struct, frozen=True):
    """What one opponent, or opposing team, had to do with it; `effect` in rating points."""

    player: int | str
    rank: int
    rating: float
    deviation: float | None
    score: float
    expected: float
    effect: float


class RememberedMessage(msgspec.Struct, frozen=True):
    """What a remembered performance has to say; `match` is null for what was before all of them."""

    match: int | str | None
    time: int | str | None
    performance: float
    weight: float
    change: float


class ExplainMessage(msgspec.Struct, frozen=True):
    """The answer of `equipoise explain --json`: why a match changed a player's rating.

    `contributions` sum to `change`. `rank` counts from 1, `tied` the others in that place. Times
    are as the history writes them. `expected` and `score` are shares of the opponents, expected
    to be beaten and beaten, ties one half. `played` is the time that was posted with the match,
    null where there was none; a pool then counts it at `time`, that of its receipt. `least_change`
    and `largest_change` are what the worst and the best result there can be would have done, null
    where a system has no bound.
    """

    system: str
    match: int | str
    player: int | str
    time: int | str | None
    rank: int
    tied: int
    teams: int
    weight: float
    rating_before: float
    deviation_before: float | None
    rating: float
    deviation: float | None
    change: float
    expected: float
    score: float
    contributions: list[ContributionMessage]
    quantities: list[QuantityMessage]
    opponents: list[OpponentMessage]
    remembered: list[RememberedMessage]
    least_change: float | None
    largest_change: float | None
    played: int | str | None = None
