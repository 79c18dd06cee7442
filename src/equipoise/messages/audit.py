"""Shapes of the audit log: what was done with administrators' keys."""

from __future__ import annotations

from typing import Any

import msgspec


class AuditEntry(msgspec.Struct, frozen=True):
    """Something that was done.

    time : ISO 8601; key : number of the key, null for the command line
    what : "pool.created", "pool.changed", "pool.deleted", "pool.rerate", "key.created",
        "key.revoked", "amendment.recorded", "season.ended", "webhook.created", "webhook.disabled"
    pool : its name at the time, null for what concerns no pool
    subject : the match, player, key, season or webhook that it is about
    """

    entry: int
    time: str
    key: int | None
    what: str
    pool: str | None
    subject: str | None
    detail: dict[str, Any]


class AuditPage(msgspec.Struct, frozen=True):
    """A page of the audit log, newest first; `next` is the cursor of the page after."""

    entries: list[AuditEntry]
    next: str | None
