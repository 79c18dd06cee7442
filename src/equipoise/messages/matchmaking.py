"""The answer of a tick, and of an import of a FlexMatch rule set."""

from __future__ import annotations

from typing import Any

import msgspec

from equipoise.data.matchmaking import Tick
from equipoise.messages.conversion import plain
from equipoise.messages.matches import Id


class QueueMatchMessage(msgspec.Struct, frozen=True):
    """Tickets that play together, the pivot first, and the same ids by team.

    `attributes` has the values that all agree on. `backfill` says that the match asks for more
    players. `cost` is the summed score of the players besides those of the pivot, or abs(p - 1/2)
    for the objective fair. `proved` says that no match around the pivot has more players, or as
    many and a smaller cost.
    """

    tickets: list[Id]
    teams: list[list[Id]]
    region: str | None
    attributes: dict[str, list[Any]]
    backfill: bool
    cost: float
    proved: bool


class BackfillMessage(msgspec.Struct, frozen=True):
    """Tickets that join a session, the ids of all its tickets by team, and whether it is full."""

    session: Id
    tickets: list[Id]
    teams: list[list[Id]]
    full: bool


class WaitingMessage(msgspec.Struct, frozen=True):
    """A ticket that waits; `next_change_at` is the time, in seconds, of the next change of rules.

    Each of `reasons` has "reason", "count" (of the tickets that it excludes) and its own numbers.
    """

    ticket: Id
    reasons: list[dict[str, Any]]
    next_change_at: float | None


class TickMessage(msgspec.Struct, frozen=True):
    """The answer of `equipoise matchmaking tick --json`."""

    matches: list[QueueMatchMessage]
    backfills: list[BackfillMessage]
    waiting: list[WaitingMessage]
    expired: list[Id]
    notes: list[str]


def tick_message(answer: Tick) -> TickMessage:
    """Return the JSON message."""
    return msgspec.convert(plain(answer), TickMessage)


class ImportedRulesetMessage(msgspec.Struct, frozen=True):
    """The answer of `equipoise matchmaking import --json`.

    `default_attributes` belongs into requests. `changes` lists what could not be taken over as it
    is, each with its path in the source.
    """

    ruleset: dict[str, Any]
    default_attributes: dict[str, float]
    changes: list[dict[str, str]]
