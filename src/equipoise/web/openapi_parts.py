"""Parts of the OpenAPI document that no declaration of an endpoint holds."""

from __future__ import annotations

from typing import Any, get_args

from equipoise.web.endpoints import Endpoint, Group
from equipoise.web.openapi_rules import ID, POOL_NAME

INTRODUCTION = """\
Rates players from the matches that are posted, shows leaderboards, explains every change, predicts
matches and makes fair teams.

**Keys.** `Authorization: Bearer KEY`. A key has a role, reader, writer or admin, each of which may
do what the one before it may, and is for one pool or for all. Public pools are read without a key.
The key is checked first, then its right, then whether the pool exists, then what was sent.

**Ids** are text of 1 to 200 characters without control characters; a number that is posted is
taken as its decimal text. In a path an id is written with percent signs, a slash in it as `%2F`.

**Errors** are all of one shape, `{"error": {"code", "message", "problems"}}`; `problems` lists what
is wrong with each field. Every answer has an `X-Request-ID`, which is the caller's own if one was
sent, and which the log of the service has too.

**Repeating.** A match that was posted before with the same content is answered alike, so a post
whose answer was lost can be sent again. 429 and 503 say that nothing was done and, with
`Retry-After`, when to try again; after 504 it may have been done.

**Pages** of lists lead on by `next`, which is the `cursor` of the page after.
"""

_ABOUT: dict[str, str] = {
    "Pools": "Players and matches that share one system and its parameters.",
    "Matches": "What is rated. The log of a pool only ever grows.",
    "Players": "Where players stand, and how they came there.",
    "Questions": "What follows from the ratings of a pool. Nothing is recorded.",
    "Amendments": "What is recorded after a match. Nothing is erased.",
    "Seasons": "When one ends, its pool becomes an archive and a new pool takes its name.",
    "Webhooks": "Addresses that are told what happens in a pool, signed and in order.",
    "Calculations": "What needs no pool. Nothing is kept.",
    "Keys": "Who may do what, and what was done.",
    "Operation": "For whoever runs the service.",
}
TAGS = [{"name": name, "description": _ABOUT[name]} for name in get_args(Group)]

SECURITY = {
    "key": {"type": "http", "scheme": "bearer", "description": "A key of the service."},
}

PATH_PARAMETERS: dict[str, dict[str, Any]] = {
    "pool": {
        "description": "Name of a pool.",
        "schema": POOL_NAME,
        "example": "ladder",
    },
    "match": {"description": "Id of a match.", "schema": ID, "example": "m-1"},
    "player": {"description": "Id of a player.", "schema": ID, "example": "ana"},
    "seq": {
        "description": "Number of an entry of the pool's log.",
        "schema": {"type": "integer", "minimum": 1, "maximum": 2**63 - 1},
        "example": 17,
    },
    "webhook": {
        "description": "Number of a webhook.",
        "schema": {"type": "integer", "minimum": 1, "maximum": 2**31 - 1},
        "example": 1,
    },
    "key": {
        "description": "Number of a key.",
        "schema": {"type": "integer", "minimum": 1, "maximum": 2**31 - 1},
        "example": 1,
    },
}

HEADERS = {
    "X-Request-ID": {
        "description": "Id of the request, as the log of the service has it.",
        "schema": {"type": "string"},
    },
    "ETag": {"description": "For `If-None-Match`.", "schema": {"type": "string"}},
    "Retry-After": {
        "description": "Seconds after which to try again.",
        "schema": {"type": "integer", "minimum": 1},
    },
    "WWW-Authenticate": {"description": "`Bearer`.", "schema": {"type": "string"}},
}

#: Status of each error -> what it means, and the headers that come with it.
ERRORS: dict[int, tuple[str, tuple[str, ...]]] = {
    400: ("What was sent cannot be read at all.", ()),
    401: ("A key is missing, or not or no longer valid.", ("WWW-Authenticate",)),
    403: ("The key is not for this.", ()),
    404: ("Something that was named does not exist.", ()),
    408: ("The body did not arrive in time.", ()),
    409: ("It contradicts what is recorded.", ()),
    413: ("The body, or a line of it, is too large.", ()),
    415: ("The body is of a kind that is not taken here.", ()),
    422: ("What was sent breaks a rule; `problems` says which.", ()),
    429: ("More requests than are allowed. Nothing was done.", ("Retry-After",)),
    503: ("Too busy, or the database does not answer. Nothing was done.", ("Retry-After",)),
    504: ("It took too long. It may have been done.", ("Retry-After",)),
}


def error_statuses(endpoint: Endpoint) -> list[int]:
    """Return the statuses of the errors that an endpoint may answer with."""
    if endpoint.group == "Operation":
        return sorted(endpoint.errors)
    found = {400, 401, 422, 429, 503, 504, *endpoint.errors}
    if endpoint.right is not None:
        found.add(403)
    if endpoint.of_pool and not endpoint.new_pool:
        found.add(404)
    if endpoint.body is not None:
        found |= {408, 413, 415}
    return sorted(found)
