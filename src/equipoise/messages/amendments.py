"""Shapes of what is recorded after a match: voids, corrections, disqualifications."""

from __future__ import annotations

from typing import Any

import msgspec

from equipoise.messages.matches import Id, Moment


class ReasonRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Why a match is voided or restored; kept in the log."""

    reason: str = ""


class DisqualifyRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """From when a player is not rated, or is again.

    since : time; absent: from now on. Pools without times take none: from this record of the log on
    match : for this match alone, instead of a time
    """

    since: Moment | None = None
    reason: str = ""
    match: Id | None = None


class PlayerDifference(msgspec.Struct, frozen=True):
    """A player whose rating differs after a replay; null for one who was not, or is no longer."""

    player: str
    rating_before: float | None
    deviation_before: float | None
    rating: float | None
    deviation: float | None
    change: float | None


class DifferenceMessage(msgspec.Struct, frozen=True):
    """What a replay changed.

    matches : replayed; changed : players whose rating differs; players : those with the largest
        changes first, at most 1000
    """

    matches: int
    changed: int
    players: list[PlayerDifference]


class AmendmentMessage(msgspec.Struct, frozen=True):
    """An entry of the log that amends what was posted.

    kind : "void", "restore", "correct", "disqualify", "reinstate", "settings" for changed settings
        of the pool, or "preview" for nothing recorded
    match, player : both for a disqualification from one match alone
    since : of a disqualification from a time on, as the pool writes times
    status : "pending" until the pool is replayed, then "done"
    difference : what the replay changed, with all else that it brought in; null while pending
    settings, settings_before : of changed settings, their values since then and until then
    """

    seq: int | None
    kind: str
    match: str | None
    player: str | None
    since: int | str | None
    reason: str
    received: str
    status: str
    difference: DifferenceMessage | None
    settings: dict[str, Any] | None = None
    settings_before: dict[str, Any] | None = None


class AmendmentPage(msgspec.Struct, frozen=True):
    """Amendments of a pool, newest first."""

    amendments: list[AmendmentMessage]
    next: str | None
