"""Messages about access: keys of the service, and the audit log."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from equipoise.messages.matches import Moment

#: A reader reads, a writer also posts matches, an admin also amends and makes pools and keys.
Role: TypeAlias = Literal["reader", "writer", "admin"]


class KeyRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A key to be made.

    name : for people; pool : absent or null for all pools
    expires : seconds since 1970 or ISO 8601; absent or null: never
    """

    name: str
    role: Role
    pool: str | None = None
    expires: Moment | None = None


class KeyMessage(msgspec.Struct, frozen=True):
    """A key without its secret; `pool` null is for all pools."""

    key: int
    name: str
    role: str
    pool: str | None
    created: str
    expires: str | None
    revoked: str | None
    last_used: str | None


class NewKeyMessage(msgspec.Struct, frozen=True):
    """A key that was just made; `secret` goes into `Authorization: Bearer` and is not kept."""

    key: KeyMessage
    secret: str


class KeyList(msgspec.Struct, frozen=True):
    """All keys, newest first."""

    keys: list[KeyMessage]


class AuditEntry(msgspec.Struct, frozen=True):
    """Something that was done.

    time : ISO 8601; key : number of the key, null for the command line
    what : "pool.created", "pool.changed", "pool.deleted", "pool.rerate", "key.created",
        "key.revoked", "amendment.recorded", "season.ended", "webhook.created", "webhook.disabled",
        "webhook.enabled", "webhook.deleted"
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
