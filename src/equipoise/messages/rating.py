"""Shapes of what rating a history answers."""

from __future__ import annotations

from typing import Any

import msgspec

from equipoise.messages.errors import ProblemMessage


class RateSummary(msgspec.Struct, frozen=True):
    """What was read, left out and rated, and how long it took.

    unused : columns and options that were given and that the system does not use
    """

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
    unused: list[str]
    seconds: dict[str, float]
    kernels_compiled: int


class RateMessage(msgspec.Struct, frozen=True):
    """The answer of `equipoise rate --json`."""

    summary: RateSummary
    ratings: list[dict[str, Any]]


class ParameterMessage(msgspec.Struct, frozen=True, omit_defaults=True):
    """A parameter of a system: its type and default, and what to know before setting it.

    note : left out where there is nothing to know
    """

    name: str
    type: str
    default: Any
    note: str = ""


class SystemMessage(msgspec.Struct, frozen=True):
    """A rating system: what it is for, what it can rate, its parameters.

    uses : columns of a history that change its ratings; needs : those that only count once a
        parameter is set, by the name of that parameter
    """

    name: str
    summary: str
    rates: str
    source: str
    parameters: list[ParameterMessage]
    uses: list[str]
    needs: dict[str, str]
