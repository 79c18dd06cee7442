"""Calls that concern no pool, or the whole of one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from equipoise.client.call import Call, Values, ask, in_pool, json_of
from equipoise.messages.keys import KeyList, KeyMessage, KeyRequest, NewKeyMessage, Role
from equipoise.messages.matches import Moment
from equipoise.messages.performance import PerformanceMessage
from equipoise.messages.rebalance import RebalanceMessage

What: TypeAlias = Literal["log", "ratings", "changes"]
Format: TypeAlias = Literal["parquet", "csv", "ndjson"]


def rebalance(request: Mapping[str, Any], **options: Values) -> Call[RebalanceMessage]:
    """Return a session's teams with new parties placed.

    request : as `equipoise rebalance` reads it; options : as its options
    """
    return ask("POST", "/v1/rebalance", RebalanceMessage, dict(request), query=options)


def performance(games: bytes, format: str, **options: Values) -> Call[PerformanceMessage]:
    """Return the performance table of a tournament.

    games : content of a file; format : "pgn", "trf", "csv", ...; options : as those of
        `equipoise performance`
    """
    return Call(
        method="POST",
        path="/v1/performance",
        read=json_of(PerformanceMessage),
        query={"format": format, **options},
        body=games,
        content_type="application/octet-stream",
    )


def keys() -> Call[KeyList]:
    """Return all keys, without their secrets."""
    return ask("GET", "/v1/keys", KeyList)


def create_key(
    name: str, role: Role, pool: str | None = None, expires: Moment | None = None
) -> Call[NewKeyMessage]:
    """Make a key, and return it with its secret, which is never shown again."""
    request = KeyRequest(name, role, pool, expires)
    return ask("POST", "/v1/keys", NewKeyMessage, request, repeatable=False)


def revoke_key(key: int) -> Call[KeyMessage]:
    """Take a key's rights away from now on."""
    return ask("POST", f"/v1/keys/{key:d}/revoke", KeyMessage)


def metrics() -> Call[str]:
    """Return the service's counters, as Prometheus reads them."""
    return Call(method="GET", path="/metrics", read=bytes.decode)


def openapi() -> Call[dict[str, Any]]:
    """Return the description of the service's interface."""
    return Call(method="GET", path="/openapi.json", read=json_of(dict[str, Any]))


def ready() -> Call[bool]:
    """Return True; the call fails while the service cannot do its work."""
    return Call(method="GET", path="/readyz", read=lambda _: True)


def export(pool: str, what: What, format: Format) -> Call[bytes]:
    """Return the log, the ratings or the changes of a pool as a file."""
    return Call(
        method="GET",
        path=in_pool(pool, "export"),
        read=bytes,
        query={"what": what, "format": format},
    )
