"""Matches: posted one by one, in lists and in streams; read."""

from __future__ import annotations

from typing import Any

from equipoise.errors import InvalidParameterError
from equipoise.messages.matches import MatchMessage, MatchPage, MatchRequest, PostedMessage
from equipoise.web.endpoints import JSON, NDJSON, ApiRequest, Body, Endpoint
from equipoise.web.parameters import PageQuery
from equipoise.web.reading import check_media, decode_body, read_body
from equipoise.web.stream import LINE_MEDIA, take_stream
from equipoise.workflows import pool_reading
from equipoise.workflows.posting import Post

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
    description=f"One match, an array of them, or, as {NDJSON}, a stream: one on each line.",
)


async def post_matches(request: ApiRequest) -> MatchMessage | PostedMessage | None:
    """Record what was posted, once it is committed."""
    media = check_media(request)
    if media in LINE_MEDIA:
        await take_stream(request)
        return None
    settings = request.service.settings
    content = await read_body(request, settings.body_bytes)
    request.body = posted = decode_body(_BODY, content)
    if isinstance(posted, list):
        if len(posted) > settings.list_length:
            raise InvalidParameterError(
                f"an array must have at most {settings.list_length} matches; got {len(posted)}; "
                f"more go in a stream, as {NDJSON}"
            )
        post = Post(posted, request.key_number, detailed=False)
        answer: Any = await request.service.writer.submit(request.pool, post)
        return answer  # type: ignore[no-any-return]
    return await request.service.writer.submit_match(request.pool, posted, request.key_number)


async def list_matches(request: ApiRequest) -> MatchPage:
    """Return a page of matches."""
    query: PageQuery = request.query
    return await request.service.read(
        pool_reading.matches, request.pool, cursor=query.cursor, limit=query.limit
    )


async def show_match(request: ApiRequest) -> MatchMessage:
    """Return a match."""
    return await request.service.read(pool_reading.match, request.pool, request.path["match"])


ENDPOINTS = (
    Endpoint(
        method="POST",
        path="/v1/pools/{pool}/matches",
        name="postMatches",
        group="Matches",
        summary="Post matches",
        description="Whatever is acknowledged is recorded and rated, in one transaction. The same "
        "id with the same content again changes nothing and gets the same answer, so a post whose "
        "answer was lost may be sent again; with another content it is a conflict. Of an array "
        "all matches are recorded or none. A stream is recorded in pieces: each line of the answer "
        "says up to which line all is recorded, and a last line with `error` what was wrong.",
        handler=post_matches,
        right="writer",
        body=_BODY,
        shape=(MatchMessage, PostedMessage),
        errors=(409,),
    ),
    Endpoint(
        method="GET",
        path="/v1/pools/{pool}/matches",
        name="listMatches",
        group="Matches",
        summary="Matches, newest first",
        handler=list_matches,
        query=PageQuery,
        shape=MatchPage,
        tagged=True,
    ),
    Endpoint(
        method="GET",
        path="/v1/pools/{pool}/matches/{match}",
        name="showMatch",
        group="Matches",
        summary="A match as it counts now",
        handler=show_match,
        shape=MatchMessage,
        tagged=True,
    ),
)
