"""Endpoints for matches and amendments.

Matches are posted one by one, in arrays or in streams. An amendment voids, restores or corrects a
match, or disqualifies, reinstates or renames a player.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

from msgspec import Meta, Struct

from equipoise.errors import InvalidDataError, InvalidParameterError
from equipoise.messages.matches import (
    AmendmentMessage,
    DisqualifyRequest,
    MatchMessage,
    MatchRequest,
    PostedMessage,
    ReasonRequest,
    ReinstateRequest,
    RenameRequest,
)
from equipoise.pools import amending, erasing
from equipoise.pools.posting.posting import Post
from equipoise.pools.reading import matches
from equipoise.store.schema import now
from equipoise.web.http.endpoints import (
    JSON,
    NDJSON,
    ApiRequest,
    Body,
    Cursor,
    Endpoint,
    Handler,
    IdText,
    Limit,
    PageQuery,
    PreviewQuery,
    changes,
    check_media,
    decode_body,
    reads,
    receive_body,
)
from equipoise.web.http.errors import without_lines
from equipoise.web.http.streams import LINE_MEDIA, take_stream

MATCH = {
    "match": "m-1",
    "time": 1735732800,
    "teams": [{"players": ["ana"], "rank": 1}, {"players": ["bo"], "rank": 2}],
}
_BODY = Body(
    shape=MatchRequest | list[MatchRequest],
    raw=True,
    example=MATCH,
    media=(JSON, *LINE_MEDIA),
    lines=LINE_MEDIA,
    description=f"One match, an array of matches, or, as {NDJSON}, a stream, one per line.",
)


async def post_matches(
    request: ApiRequest,
) -> MatchMessage | PostedMessage | None:
    """Record the posted matches, and return when they are committed."""
    media = check_media(request)
    await request.service.check_kernels(request.pool_name)
    if media in LINE_MEDIA:
        await take_stream(request)
        return None
    settings = request.service.settings
    content = await receive_body(request, settings.body_bytes)
    posted = decode_body(_BODY, content)
    if isinstance(posted, list):
        if len(posted) > settings.list_length:
            raise InvalidParameterError(
                f"an array must have at most {settings.list_length} matches; got {len(posted)}; "
                f"more go in a stream, as {NDJSON}"
            )
        post = Post(posted, request.key_number, detailed=False)
        answer: Any = await request.service.writer.enqueue(request.pool_name, post)
        return answer  # type: ignore[no-any-return]
    return await request.service.submit_match(request.pool_name, posted, request.key_number)


class MatchesQuery(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Which page of the matches."""

    cursor: Cursor | None = None
    limit: Limit = 50
    around: (
        Annotated[IdText, Meta(description="Return the page with this match; without `cursor`.")]
        | None
    ) = None


class MatchQuery(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Which players of a match are listed."""

    cursor: Cursor | None = None
    limit: Annotated[int, Meta(ge=1, le=1000, description="Maximum number of players listed.")] = (
        1000
    )
    around: Annotated[
        IdText | None, Meta(description="List the players around this one, in the order posted.")
    ] = None


MATCHES = (
    Endpoint(
        route="POST /v1/pools/{pool}/matches",
        name="postMatches",
        summary="Post matches",
        description="A match is acknowledged once it has been recorded and rated, in one "
        "transaction. Posting the same id with the same content again changes nothing and "
        "returns the same response, which lists at most 1,000 players of the match. So if you get "
        "no response, send the match again. The same id "
        "with other content is a conflict. An array is recorded completely or not at all. A "
        "stream is recorded in chunks: each line of the response says up to which line "
        "everything is recorded. If a chunk is rejected, the last line contains `error`.",
        handler=post_matches,
        right="writer",
        body=_BODY,
        errors=(409,),
    ),
    Endpoint(
        route="GET /v1/pools/{pool}/matches",
        name="listMatches",
        summary="List matches, newest first",
        handler=reads(matches.matches),
        query=MatchesQuery,
    ),
    Endpoint(
        route="GET /v1/pools/{pool}/matches/{match}",
        name="showMatch",
        summary="Get a match as it counts now",
        description="Lists at most 1,000 players, in the order in which they were posted. If the "
        "match has more, `next` is the cursor of the following ones, and `players_in_match` is "
        "the number of all.",
        handler=reads(matches.match),
        query=MatchQuery,
    ),
)


#: Seconds between two checks whether a replay is done: the first, and the longest.
_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 0.5


class AmendQuery(PreviewQuery, frozen=True, kw_only=True):
    """Whether an amendment is only previewed, and how long to wait for the replay."""

    wait: Annotated[
        float,
        Meta(ge=0, le=600, description="Maximum seconds to wait for the replay."),
    ] = 0.0


async def correct_match(request: ApiRequest) -> AmendmentMessage:
    """Replace the content of a match."""
    future = request.service.settings.future_seconds
    try:
        return await _amend(amending.correct_match, request, future_seconds=future)
    except InvalidDataError as error:
        raise without_lines(error) from None


async def _amend(
    use_case: Callable[..., AmendmentMessage], request: ApiRequest, **more: Any
) -> AmendmentMessage:
    """Amend a match or a player, or preview that."""
    subject, query = request.subject(), request.query
    if query.preview:
        more |= {"key": request.key_number, "now": now(), "preview": True}
        return await request.calculate(use_case, *subject, **more)
    amendment = await request.change(use_case, *subject, **more)
    settings = request.service.settings
    longest = min(settings.wait_seconds, 0.8 * settings.request_seconds)
    return await _when_replayed(request, amendment, min(query.wait, longest))


async def _when_replayed(
    request: ApiRequest, amended: AmendmentMessage, seconds: float
) -> AmendmentMessage:
    """Return an amendment when its replay is done, or when the time is over."""
    pause = _FIRST_PAUSE
    while seconds > 0 and amended.status == "pending" and amended.seq is not None:
        await asyncio.sleep(min(pause, seconds))
        seconds -= pause
        pause = min(2 * pause, _LONGEST_PAUSE)
        amended = await request.read(amending.amendment, amended.seq)
    return amended


def _endpoint(
    method: str, path: str, name: str, summary: str, handler: Handler, body: Body, more: str = ""
) -> Endpoint:
    return Endpoint(
        route=f"{method} /v1/pools/{{pool}}/{path}",
        name=name,
        summary=summary,
        description=f"{more}The amendment is a log record, and nothing is erased. The pool is "
        "replayed in the background. `status` is `pending` until the new ratings are in place, "
        "and then `done`; `difference` then shows what changed.",
        handler=handler,
        right="admin",
        query=AmendQuery,
        body=body,
        errors=(409,),
    )


_REASON = Body(shape=ReasonRequest, example={"reason": "server crashed"}, required=False)
_SINCE = (
    "`since` is the time from which the amendment applies, by default now. With "
    "`match`, it applies to that match only."
)
_DISQUALIFY = Body(
    shape=DisqualifyRequest,
    example={"since": "2025-01-01T00:00:00Z", "effect": "void", "reason": "second account"},
    required=False,
    description=f"{_SINCE} `effect` says how these matches then count: `without` the player, "
    "`keep` as they were played, or `void` for nobody. The default is `keep` if the player played "
    "in teams, otherwise `without`.",
)
_REINSTATE = Body(
    shape=ReinstateRequest,
    example={"since": "2025-01-01T00:00:00Z", "reason": "second account"},
    required=False,
    description=_SINCE,
)

AMENDMENTS = (
    _endpoint(
        "PUT",
        "matches/{match}",
        "correctMatch",
        "Correct a match",
        correct_match,
        Body(shape=MatchRequest, example=MATCH),
        "The body is the match as it should have been posted. ",
    ),
    _endpoint(
        "POST",
        "matches/{match}/void",
        "voidMatch",
        "Void a match",
        partial(_amend, amending.void_match),
        _REASON,
    ),
    _endpoint(
        "POST",
        "matches/{match}/restore",
        "restoreMatch",
        "Restore a voided match",
        partial(_amend, amending.restore_match),
        _REASON,
    ),
    _endpoint(
        "POST",
        "players/{player}/disqualify",
        "disqualifyPlayer",
        "Disqualify a player from a time on or from one match",
        partial(_amend, amending.disqualify),
        _DISQUALIFY,
    ),
    _endpoint(
        "POST",
        "players/{player}/reinstate",
        "reinstatePlayer",
        "Reinstate a player from a time on or in one match",
        partial(_amend, amending.reinstate),
        _REINSTATE,
    ),
    _endpoint(
        "POST",
        "players/{player}/rename",
        "renamePlayer",
        "Give a player another id, or merge two players",
        partial(_amend, amending.rename),
        Body(shape=RenameRequest, example={"to": "ana", "reason": "second account"}),
        "If another player has the id, both become one player; that is refused if they met in a "
        "match. Later posts under the earlier id count for the new one. ",
    ),
    Endpoint(
        route="POST /v1/pools/{pool}/players/{player}/erase",
        name="erasePlayer",
        summary="Erase a player's name",
        description="Replaces the name with a pseudonym in the pool and the archives of its "
        "seasons: in the log, ratings, checkpoints, replays and the audit log. Ratings stay as "
        "they are. An erasure cannot be undone, because nothing that leads to the name is kept. "
        "It does not reach backups, exports and delivered messages.",
        handler=changes(erasing.erase_player),
        right="admin",
        query=PreviewQuery,
        body=_REASON,
        errors=(409,),
    ),
    Endpoint(
        route="GET /v1/pools/{pool}/amendments",
        name="listAmendments",
        summary="List amendments, newest first",
        handler=reads(amending.amendments),
        query=PageQuery,
    ),
    Endpoint(
        route="GET /v1/pools/{pool}/amendments/{seq}",
        name="showAmendment",
        summary="Get an amendment and what it changed",
        handler=reads(amending.amendment),
    ),
)
