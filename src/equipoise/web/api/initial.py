"""Endpoints for the known ratings with which players of a pool begin."""

from __future__ import annotations

import io
from collections.abc import Awaitable
from typing import Annotated

from msgspec import Meta, Struct

from equipoise.analysis.clock import now
from equipoise.data.ratings import ScaleMapping
from equipoise.errors import InvalidDataError, InvalidParameterError, NotFoundError
from equipoise.formats.initial_ratings import initial_ratings_of
from equipoise.formats.sources import decoded, from_western, open_source
from equipoise.messages.pools import (
    InitialMapping,
    InitialMessage,
    InitialPage,
    InitialRequest,
)
from equipoise.pools import initial_ratings
from equipoise.pools.pool.known_ratings import MOST_PLAYERS, KnownContent
from equipoise.pools.pool.pools import pool_message
from equipoise.web.http.access import may_read
from equipoise.web.http.endpoints import JSON, ApiRequest, Body, Endpoint, PageQuery
from equipoise.web.http.errors import ForbiddenError, MalformedError
from equipoise.web.http.reading import (
    FIRST_LINES,
    check_media,
    check_table,
    compression_of,
    decode_body,
    read_body,
    while_connected,
)
from equipoise.wording import counted

_CSV = "text/csv"
#: Problems in a response; its message says how many there are.
_MOST_PROBLEMS = 100

_EXAMPLE = {
    "ratings": [
        {"player": "ana", "rating": 1800, "deviation": 90},
        {"player": "bo", "rating": 1650},
    ],
    "mapping": {"there": [1500, 1850], "here": [1500, 1700]},
    "reason": "from the old site",
}
_BODY = Body(
    shape=InitialRequest,
    raw=True,
    example=_EXAMPLE,
    media=(JSON, _CSV),
    description="The ratings, or `pool`: another pool whose current ratings are copied. As "
    f"{_CSV}: a table with the columns player, rating and perhaps deviation, uncompressed; "
    "`mapping` and `reason` are then in the query.",
)


class InitialQuery(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a table cannot say itself."""

    mapping: (
        Annotated[
            str,
            Meta(
                max_length=200,
                description="With a table: two ratings of its scale and the same two on the scale "
                "of the pool, as THERE=HERE,THERE=HERE.",
            ),
        ]
        | None
    ) = None
    reason: (
        Annotated[str, Meta(max_length=2000, description="With a table: kept in the log.")] | None
    ) = None


async def set_ratings(request: ApiRequest) -> InitialMessage:
    """Set the known ratings of a pool. They are read and checked in a process for calculations."""
    service, query = request.service, request.query
    media = check_media(request)
    reading: Awaitable[KnownContent | InitialRequest]
    request.body = content = await read_body(request, service.settings.body_bytes)
    if media == _CSV:
        _check_lines(content)
        reading = service.calculate(_read_table, content, query.mapping, query.reason or "")
    elif query.mapping is not None or query.reason is not None:
        raise InvalidParameterError(
            "mapping and reason are fields of the body, unless it is a table"
        )
    else:
        reading = service.calculate(_read_list, content)
    found = await while_connected(request.receive, reading)
    if isinstance(found, InitialRequest):
        await _check_readable(request, str(found.pool))
        copying = service.calculate_from_store(initial_ratings.copied_content, request.pool, found)
        found = await while_connected(request.receive, copying)
    return await service.change(
        initial_ratings.keep_content, request.pool, found, key=request.key_number, now=now()
    )


def _check_lines(content: bytes) -> None:
    """Check that a table has not far more lines than a pool has known ratings.

    Raises : InvalidDataError
    """
    lines = max(content.count(b"\n"), content.count(b"\r"))
    if lines > MOST_PLAYERS + FIRST_LINES:
        initial_ratings.check_number(lines)


def _read_list(content: bytes) -> KnownContent | InitialRequest:
    """Return the known ratings in a body, or the body if it names a pool to copy.

    Raises : MalformedError, InvalidDataError, InvalidParameterError
    """
    body: InitialRequest = decode_body(_BODY, content)
    try:
        return body if body.pool is not None else initial_ratings.initial_content(body)
    except InvalidDataError as error:
        raise _first_problems(error) from None


def _read_table(content: bytes, mapping: str | None, reason: str) -> KnownContent:
    """Return the known ratings in a table.

    Raises : InvalidDataError, InvalidParameterError, TooLargeError, MalformedError
    """
    compression = compression_of(content)
    if compression is not None:
        raise MalformedError(f"the table must be uncompressed text; got {compression}")
    check_table(content, "csv")
    # An answer has no notes, so columns must have their own names here, and no encoding is guessed.
    if from_western(decoded(content, "")[0], "")[1]:
        raise MalformedError("the table must be text in UTF-8")
    line = None if mapping is None else ScaleMapping.read(mapping, "mapping")
    given = None if line is None else InitialMapping(line.there, line.here)
    try:
        known = initial_ratings_of(open_source(io.BytesIO(content), "csv"), [])
        known = known if line is None else line.map(known)
        return initial_ratings.content_of(known, given, reason)
    except InvalidDataError as error:
        raise _first_problems(error) from None


def _first_problems(error: InvalidDataError) -> InvalidDataError:
    """Return an error with its first problems, and a sentence with the number of all."""
    summary = error.summary or f"{counted(len(error.problems), 'problem')} in the input"
    return InvalidDataError(error.problems[:_MOST_PROBLEMS], summary)


async def _check_readable(request: ApiRequest, source: str) -> None:
    """Check that the key may read the pool that is copied.

    Raises : ForbiddenError, NotFoundError
    """
    key = request.key
    try:
        found = await request.service.read(pool_message, source)
    except NotFoundError:
        if key is not None and key.pool is None:
            raise
        found = None
    if found is None or not may_read(key, found):
        raise ForbiddenError(f"the key is for another pool than {source[:100]!r}")


async def show_ratings(request: ApiRequest) -> InitialPage:
    """Return a page of the known ratings."""
    query: PageQuery = request.query
    return await request.service.read(
        initial_ratings.initial_ratings, request.pool, cursor=query.cursor, limit=query.limit
    )


ENDPOINTS = (
    Endpoint(
        method="PUT",
        path="/v1/pools/{pool}/initial-ratings",
        name="setInitialRatings",
        group="Pools",
        summary="Set the known ratings with which players begin",
        description="Before the first match of the pool; afterwards the response is a conflict "
        "(409). Until then the ratings can be replaced; an empty list takes them back. Players who "
        "are not in the list are newcomers. If the request is repeated, nothing changes and the "
        "response is the same. Ratings of another scale need a `mapping`; a pool of another system "
        "or scale is rejected without one. The key must also be able to read the pool that is "
        f"copied. A pool takes at most {MOST_PLAYERS:,} players.",
        handler=set_ratings,
        right="admin",
        query=InitialQuery,
        body=_BODY,
        shape=InitialMessage,
        errors=(409,),
    ),
    Endpoint(
        method="GET",
        path="/v1/pools/{pool}/initial-ratings",
        name="showInitialRatings",
        group="Pools",
        summary="List the known ratings with which players began",
        handler=show_ratings,
        query=PageQuery,
        shape=InitialPage,
        tagged=True,
    ),
)
