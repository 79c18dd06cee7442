"""Calls that make pools, post matches, and amend and read what was posted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from equipoise.client.answers import stream_lines
from equipoise.client.call import NDJSON, Call, ask, in_pool, json_of
from equipoise.errors import EquipoiseError
from equipoise.messages.amendments import (
    AmendmentMessage,
    AmendmentPage,
    DisqualifyRequest,
    ReasonRequest,
)
from equipoise.messages.matches import (
    Id,
    MatchMessage,
    MatchPage,
    MatchRequest,
    Moment,
    PostedMessage,
    StreamLine,
)
from equipoise.messages.pools import DeletedPool, PoolChange, PoolList, PoolMessage, PoolRequest


def create_pool(pool: str, request: PoolRequest) -> Call[PoolMessage]:
    """Make a pool; again with the same content changes nothing."""
    return ask("PUT", in_pool(pool), PoolMessage, request)


def pool(pool: str) -> Call[PoolMessage]:
    """Return a pool as it is set and as it stands."""
    return ask("GET", in_pool(pool), PoolMessage)


def change_pool(pool: str, change: PoolChange) -> Call[PoolMessage]:
    """Change settings of a pool; those that the change leaves out stay."""
    return ask("PATCH", in_pool(pool), PoolMessage, change)


def delete_pool(pool: str, confirm: str) -> Call[DeletedPool]:
    """Delete a pool for good; confirm : its name once more."""
    return ask("DELETE", in_pool(pool), DeletedPool, query={"confirm": confirm}, repeatable=False)


def pools() -> Call[PoolList]:
    """Return the pools that the key may read."""
    return ask("GET", "/v1/pools", PoolList)


def post_match(pool: str, match: MatchRequest) -> Call[MatchMessage]:
    """Post one match, and return it with what it did to the ratings."""
    return ask("POST", in_pool(pool, "matches"), MatchMessage, match)


def post_matches(pool: str, matches: Sequence[MatchRequest]) -> Call[PostedMessage]:
    """Post many matches at once: all are recorded, or none."""
    return ask("POST", in_pool(pool, "matches"), PostedMessage, list(matches))


def stream_batch(
    pool: str, matches: Sequence[MatchRequest], before: int
) -> Call[tuple[list[StreamLine], EquipoiseError | None]]:
    """Post a batch of a stream, and return what is recorded and the error that ended it, if any.

    before : matches of the stream that came before the batch
    """
    return Call(
        method="POST",
        path=in_pool(pool, "matches"),
        read=lambda content: stream_lines(content, before),
        body=msgspec.json.Encoder().encode_lines(matches),
        content_type=NDJSON,
        lines_before=before,
    )


def match(pool: str, match: Id) -> Call[MatchMessage]:
    """Return a match as it counts now."""
    return ask("GET", in_pool(pool, "matches", match), MatchMessage)


def matches(pool: str, *, cursor: str | None = None, limit: int | None = None) -> Call[MatchPage]:
    """Return a page of the pool's matches, newest first."""
    return ask("GET", in_pool(pool, "matches"), MatchPage, query={"cursor": cursor, "limit": limit})


def correct_match(
    pool: str, match: Id, content: MatchRequest, *, preview: bool = False, wait: float | None = None
) -> Call[AmendmentMessage]:
    """Put other content in a match's place; what was posted stays in the log."""
    return _amend("PUT", in_pool(pool, "matches", match), content, preview, wait)


def void_match(
    pool: str, match: Id, reason: str = "", *, preview: bool = False, wait: float | None = None
) -> Call[AmendmentMessage]:
    """Void a match.

    preview : only tell what it would change; wait : seconds to wait for the replay
    """
    path = in_pool(pool, "matches", match, "void")
    return _amend("POST", path, ReasonRequest(reason), preview, wait)


def restore_match(
    pool: str, match: Id, reason: str = "", *, preview: bool = False, wait: float | None = None
) -> Call[AmendmentMessage]:
    """Let a match that was voided count again."""
    path = in_pool(pool, "matches", match, "restore")
    return _amend("POST", path, ReasonRequest(reason), preview, wait)


def disqualify(
    pool: str,
    player: Id,
    since: Moment | None = None,
    reason: str = "",
    *,
    match: Id | None = None,
    preview: bool = False,
    wait: float | None = None,
) -> Call[AmendmentMessage]:
    """Stop rating a player from a time on; without one, from now on.

    match : in this match only, instead
    """
    path = in_pool(pool, "players", player, "disqualify")
    return _amend("POST", path, DisqualifyRequest(since, reason, match), preview, wait)


def reinstate(
    pool: str,
    player: Id,
    since: Moment | None = None,
    reason: str = "",
    *,
    match: Id | None = None,
    preview: bool = False,
    wait: float | None = None,
) -> Call[AmendmentMessage]:
    """Rate a disqualified player again from a time on; match : only in this one, instead."""
    path = in_pool(pool, "players", player, "reinstate")
    return _amend("POST", path, DisqualifyRequest(since, reason, match), preview, wait)


def amendment(pool: str, seq: int) -> Call[AmendmentMessage]:
    """Return an amendment, with what it changed once it is done."""
    return ask("GET", in_pool(pool, "amendments", seq), AmendmentMessage)


def amendments(
    pool: str, *, cursor: str | None = None, limit: int | None = None
) -> Call[AmendmentPage]:
    """Return a page of the pool's amendments, newest first."""
    return ask(
        "GET", in_pool(pool, "amendments"), AmendmentPage, query={"cursor": cursor, "limit": limit}
    )


def replay(pool: str) -> Call[PoolMessage]:
    """Have the whole log of a pool rated again, in the background."""
    return ask("POST", in_pool(pool, "replay"), PoolMessage)


def _amend(
    method: str, path: str, content: Any, preview: bool, wait: float | None
) -> Call[AmendmentMessage]:
    """Return an amendment; asked for twice it would be recorded twice, or refused."""
    return Call(
        method=method,
        path=path,
        read=json_of(AmendmentMessage),
        query={"preview": preview or None, "wait": wait},
        body=msgspec.json.encode(content),
        repeatable=preview,
        patience=wait or 0.0,
    )
