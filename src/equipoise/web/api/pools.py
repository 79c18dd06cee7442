"""Endpoints of pools: their settings, seasons, known ratings, exports."""

from __future__ import annotations

import io
from collections.abc import Awaitable
from typing import Annotated

from msgspec import Meta, Struct
from starlette.types import Message

from equipoise.data.ratings import ScaleMapping
from equipoise.errors import InvalidDataError, InvalidParameterError, NotFoundError
from equipoise.formats.delimited import decoded, from_western
from equipoise.formats.players import initial_ratings_of
from equipoise.formats.sources import open_source
from equipoise.messages.matches import AmendmentMessage
from equipoise.messages.pools import (
    InitialMapping,
    InitialMessage,
    InitialRequest,
    PoolChange,
    PoolList,
    PoolMessage,
    PoolRequest,
    ProfilesRequest,
    SeasonMessage,
    SeasonPreview,
    SeasonRequest,
)
from equipoise.pools import initial_ratings, profiles, seasons
from equipoise.pools.contents import MOST_PLAYERS, KnownContent, check_number
from equipoise.pools.exchange.exporting import Format, What, export_bytes
from equipoise.pools.pool import pools
from equipoise.pools.pool.pools import pool_message
from equipoise.pools.replay import replaying
from equipoise.web.http.access import may_read
from equipoise.web.http.endpoints import (
    FIRST_LINES,
    JSON,
    ApiRequest,
    Body,
    Endpoint,
    PageQuery,
    PreviewQuery,
    changes,
    check_media,
    check_table,
    compression_of,
    decode_body,
    reads,
)
from equipoise.web.http.errors import ForbiddenError, MalformedError
from equipoise.web.http.streams import caller, send_pieces
from equipoise.web.kernels import request_of
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
_SHAPE = Body(shape=InitialRequest)
_BODY = Body(
    shape=bytes,
    documented=InitialRequest,
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
                description="With a table: two ratings of its scale and the same two on the "
                "scale of the pool, as FROM=TO,FROM=TO.",
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
    content: bytes = request.body
    if media == _CSV:
        _check_lines(content)
        reading = service.calculate(_read_table, content, query.mapping, query.reason or "")
    elif query.mapping is not None or query.reason is not None:
        raise InvalidParameterError(
            "mapping and reason are fields of the body, unless it is a table"
        )
    else:
        reading = service.calculate(_read_list, content)
    initial = await request.while_connected(reading)
    if isinstance(initial, InitialRequest):
        await _check_readable(request, str(initial.pool))
        initial = await request.calculate(initial_ratings.copied_content, initial)
    return await request.change(initial_ratings.keep_content, initial)


def _check_lines(content: bytes) -> None:
    """Check that a table has not far more lines than a pool has known ratings.

    Raises : InvalidDataError
    """
    lines = max(content.count(b"\n"), content.count(b"\r"))
    if lines > MOST_PLAYERS + FIRST_LINES:
        check_number(lines)


def _read_list(content: bytes) -> KnownContent | InitialRequest:
    """Return the known ratings in a body, or the body if it names a pool to copy.

    Raises : MalformedError, InvalidDataError, InvalidParameterError
    """
    body: InitialRequest = decode_body(_SHAPE, content)
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
        return initial_ratings.content_of(known, InitialRequest(reason=reason, mapping=given))
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
        other = await request.service.read(pool_message, source)
    except NotFoundError:
        if key is not None and key.pool is None:
            raise
        other = None
    if other is None or not may_read(key, other):
        raise ForbiddenError(f"the key is for another pool than {source[:100]!r}")


_PROFILES = {
    "profiles": [
        {"player": "76561198", "name": "Ana", "link": "https://example.org/ana"},
        {"player": "76561199", "name": "Bo", "attributes": {"country": "NL"}},
    ]
}

ENDPOINTS = (
    Endpoint(
        route="PUT /v1/pools/{pool}/profiles",
        name="setProfiles",
        summary="Set names and other profiles of players",
        description="All are set or none. A profile replaces the earlier one of the player; "
        "without name, link and attributes it removes that. Ratings do not change.",
        handler=changes(profiles.set_profiles),
        right="admin",
        body=Body(shape=ProfilesRequest, example=_PROFILES),
        errors=(409,),
    ),
    Endpoint(
        route="PUT /v1/pools/{pool}/initial-ratings",
        name="setInitialRatings",
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
        errors=(409,),
    ),
    Endpoint(
        route="GET /v1/pools/{pool}/initial-ratings",
        name="showInitialRatings",
        summary="List the known ratings with which players began",
        handler=reads(initial_ratings.initial_ratings),
        query=PageQuery,
    ),
)


_POOL = {
    "system": "elo-mmr",
    "parameters": {"weight_limit": 0.23},
    "late": "replay",
    "placement_matches": 5,
}


class DeleteQuery(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The name of the pool, repeated to confirm that it is to be deleted."""

    confirm: Annotated[str, Meta(description="The name of the pool, repeated.")]


async def list_pools(request: ApiRequest) -> PoolList:
    """Return the pools that the caller may read."""
    every = await request.service.read(pools.pool_messages)
    readable = [pool for pool in every if may_read(request.key, pool)]
    return PoolList([await request.service.kernels.described(pool) for pool in readable])


async def create_pool(request: ApiRequest) -> PoolMessage:
    """Create a pool."""
    pool = await request.change(pools.create_pool, request.body)
    return await request.service.kernels.described(pool)


async def show_pool(request: ApiRequest) -> PoolMessage:
    """Return a pool."""
    return await request.service.pool_message(request.pool_name)


async def change_pool(request: ApiRequest) -> PoolMessage | AmendmentMessage:
    """Change settings of a pool, or preview that."""
    body: PoolChange = request.body
    if request.query.preview:
        work = request.service.preview_settings(request.pool_name, body)
        return await request.while_connected(work)
    changed = await request.service.change_settings(request.pool_name, body, request.key_number)
    return await request.service.kernels.described(changed)


async def replay_pool(request: ApiRequest) -> PoolMessage:
    """Request a replay of the complete log."""
    await request.service.change(replaying.rerate, request.pool_name, key=request.key_number)
    return await request.service.pool_message(request.pool_name)


POOLS = (
    Endpoint(
        route="GET /v1/pools",
        name="listPools",
        summary="List pools",
        description="Without a key, the public pools. With a key, also the pools that the key is "
        "for.",
        handler=list_pools,
        right=None,
    ),
    Endpoint(
        route="PUT /v1/pools/{pool}",
        name="createPool",
        summary="Create a pool",
        description="If the pool already exists with the same settings, the response is the "
        "same. If it exists with different settings, the response is a conflict that names each "
        "of them. Names consist of lower-case letters, digits, dots, dashes and underscores.",
        handler=create_pool,
        right="admin",
        new_pool=True,
        body=Body(shape=PoolRequest, example=_POOL),
        errors=(409,),
    ),
    Endpoint(
        route="GET /v1/pools/{pool}",
        name="showPool",
        summary="Get a pool",
        description="Its settings, its numbers of players and matches, and its status.",
        handler=show_pool,
    ),
    Endpoint(
        route="PATCH /v1/pools/{pool}",
        name="changePool",
        summary="Change settings of a pool",
        description="Settings that are left out keep their values. A change is a log record, and "
        "earlier matches keep the results of the old settings. The parameters of the entry and "
        "level are an exception: with other values the whole log is rated again in the "
        "background, and until that is done `pending` is true. Parameters that are left out keep "
        "their values. The system, its other parameters, the weights of statistics and whether "
        "matches have times cannot be changed (409). With `preview=true`, nothing changes, and "
        "the response shows which ratings the change would change.",
        handler=change_pool,
        right="admin",
        query=PreviewQuery,
        body=Body(shape=PoolChange, example={"late": "append", "reason": "slow uploads"}),
        errors=(409,),
    ),
    Endpoint(
        route="DELETE /v1/pools/{pool}",
        name="deletePool",
        summary="Delete a pool permanently",
        description="Deletes the pool with its matches, ratings and webhooks, and revokes the "
        "keys for this pool alone. The name can be used again at once; the rows are deleted in "
        "the background. A pool with archives of earlier seasons, or with a later season, cannot "
        "be deleted (409).",
        handler=changes(pools.delete_pool),
        right="admin",
        all_pools=True,
        query=DeleteQuery,
        errors=(409,),
    ),
    Endpoint(
        route="POST /v1/pools/{pool}/replay",
        name="replayPool",
        summary="Rate the complete log again",
        description="The replay runs in the background. Until it is complete, responses contain "
        "the old ratings, and `pending` is true.",
        handler=replay_pool,
        right="admin",
    ),
)


_SEASON = {"season": "2025-1", "reset": "soft", "keep": 0.5, "widen": 100.0}


async def end_season(request: ApiRequest) -> SeasonMessage | SeasonPreview:
    """End a season, or preview its end."""
    body: SeasonRequest = request.body
    if request.query.preview:
        return await request.calculate(seasons.preview_season, body)
    ended = await request.change(seasons.end_season, body)
    if body.settings.system or body.settings.parameters:
        began = await request.read(pools.pool_message)
        request.service.kernels.want(request_of(began))
    return ended


SEASONS = (
    Endpoint(
        route="POST /v1/pools/{pool}/seasons",
        name="endSeason",
        summary="End a season and begin the next",
        description="The pool becomes an archive with the name POOL.SEASON. The archive can be "
        "read as before, but accepts no more matches and amendments. A new pool takes the name "
        "of the old one. If the request is repeated, the response is the same. While a pool "
        "waits for a replay, its ratings are not final, and the season cannot end (409). With "
        "`preview=true`, the season continues. The response then shows what its end would do, "
        "with a sample of players from the highest rating to the lowest.",
        handler=end_season,
        right="admin",
        query=PreviewQuery,
        body=Body(shape=SeasonRequest, example=_SEASON),
        errors=(409,),
    ),
    Endpoint(
        route="GET /v1/pools/{pool}/seasons",
        name="listSeasons",
        summary="List the seasons that have ended, newest first",
        handler=reads(seasons.seasons),
    ),
)


_MEDIA: dict[Format, str] = {
    "csv": "text/csv",
    "ndjson": "application/x-ndjson",
    "parquet": "application/vnd.apache.parquet",
}


class ExportQuery(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What is exported, and in which format."""

    what: Annotated[
        What,
        Meta(description="The log of matches and amendments, the ratings, or all their changes."),
    ] = "log"
    format: Annotated[
        Format, Meta(description="A log as ndjson is complete and can be imported again.")
    ] = "ndjson"
    raw: Annotated[
        bool,
        Meta(
            description="Leave text in csv as it is. By default, text that a spreadsheet would run "
            "as a formula gets an apostrophe in front, which Equipoise removes when it reads it."
        ),
    ] = False


async def export(request: ApiRequest) -> None:
    """Answer with a pool as a file, which is made while it is sent."""
    query: ExportQuery = request.query
    with request.service.exports.admitted(caller(request)) as executor:
        pieces = await executor.run(
            export_bytes, request.service.store, request.pool_name, **request.parameters()
        )
        await send_pieces(request, executor, pieces, _start(request, query))


def _start(request: ApiRequest, query: ExportQuery) -> Message:
    name = f"{request.pool_name}-{query.what}.{query.format}"
    headers = {
        "content-type": _MEDIA[query.format],
        "content-disposition": f'attachment; filename="{name}"',
        "cache-control": "no-store",
    }
    return {
        "type": "http.response.start",
        "status": 200,
        "headers": [(key.encode(), value.encode()) for key, value in headers.items()],
    }


EXPORT: tuple[Endpoint, ...] = (
    Endpoint(
        route="GET /v1/pools/{pool}/export",
        name="exportPool",
        summary="Export a pool as a file",
        description="The file is a snapshot. As csv or parquet, the log contains the matches as "
        "they count now, as a history that `equipoise rate` reads. A client that reads too slowly "
        "is disconnected (`export_rate`).",
        handler=export,
        query=ExportQuery,
        media=tuple(_MEDIA.values()),
        timed=False,
    ),
)
