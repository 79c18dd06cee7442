"""Shapes of what rating a history answers."""

from __future__ import annotations

from typing import Any

import msgspec

from equipoise.messages.errors import ProblemMessage


class RateSummary(msgspec.Struct, frozen=True):
    """What was read, left out and rated, and how long it took."""

    system: str
    parameters: dict[str, Any]
    matches: int
    participations: int
    players: int
    known_matches: int
    skipped_all_tied: list[str]
    single: int
    unrated: int
    filtered: int
    dropped_matches: list[str]
    dropped_rows: int
    problems: list[ProblemMessage]
    notes: list[str]
    seconds: dict[str, float]
    kernels_compiled: int


class RateMessage(msgspec.Struct, frozen=True):
    """The answer of `equipoise rate --json`."""

    summary: RateSummary
    ratings: list[dict[str, Any]]


class ParameterMessage(msgspec.Struct, frozen=True):
    """A parameter of a system: its type and default."""

    name: str
    type: str
    default: Any


class SystemMessage(msgspec.Struct, frozen=True):
    """A rating system: what it is for, what it can rate, its parameters."""

    name: str
    summary: str
    rates: str
    source: str
    parameters: list[ParameterMessage]
