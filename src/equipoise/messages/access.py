"""Messages about access: keys of the service, and the audit log."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta

from equipoise.messages.matches import Moment

#: A reader reads, a writer also posts matches, an admin also amends and creates pools and keys.
Role: TypeAlias = Literal["reader", "writer", "admin"]


#: Characters of a token. Somebody with the database could guess shorter ones.
SHORTEST_TOKEN, LONGEST_TOKEN = 20, 200
Token: TypeAlias = Annotated[
    str,
    Meta(
        min_length=SHORTEST_TOKEN,
        max_length=LONGEST_TOKEN,
        description="Random text. If the request is repeated with it, the response is the same.",
    ),
]
#: How long the secret before a rotation remains valid unless the request says otherwise, and at
#: most, seconds.
KEEP_SECONDS, MOST_KEEP_SECONDS = 86_400, 90 * 86_400


class KeyRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A key to create.

    name : description for users; pool : absent or null for all pools
    expires : seconds since 1970 or ISO 8601; absent or null: never
    token : random text; a repeated request with the same token returns the same key and secret
    """

    name: str
    role: Role
    pool: str | None = None
    expires: Moment | None = None
    token: Token | None = None


class RotationRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A rotation of a key.

    keep_seconds : how long the previous secret remains valid
    token : random text; a repeated request with the same token returns the same secret
    """

    keep_seconds: Annotated[int, Meta(ge=0, le=MOST_KEEP_SECONDS)] = KEEP_SECONDS
    token: Token | None = None


class KeyMessage(msgspec.Struct, frozen=True):
    """A key without its secret; `pool` null is for all pools.

    previous_until : end of the validity of the previous secret; null if there is none
    """

    key: int
    name: str
    role: str
    pool: str | None
    created: str
    expires: str | None
    revoked: str | None
    last_used: str | None
    previous_until: str | None = None


class NewKeyMessage(msgspec.Struct, frozen=True):
    """A key that was just created or rotated.

    secret : goes into `Authorization: Bearer`; the service stores only a hash of it
    """

    key: KeyMessage
    secret: str


class KeyList(msgspec.Struct, frozen=True):
    """All keys, newest first."""

    keys: list[KeyMessage]


class AuditEntry(msgspec.Struct, frozen=True):
    """An action of an administrator.

    time : ISO 8601; key : number of the key, null for the command line
    what : "pool.created", "pool.changed", "pool.deleted", "pool.rerate", "key.created",
        "key.rotated", "key.revoked", "amendment.recorded", "season.ended", "webhook.created",
        "webhook.disabled", "webhook.enabled", "webhook.deleted"
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
    """A page of the audit log, newest first; `next` is the cursor of the next page."""

    entries: list[AuditEntry]
    next: str | None
