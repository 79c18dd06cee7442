"""Endpoints for pools: their settings, their seasons, and their export as files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from msgspec import Meta, Struct
from starlette.types import Message

from equipoise.analysis.clock import now
from equipoise.messages.matches import AmendmentMessage
from equipoise.messages.pools import DeletedPool, PoolChange, PoolList, PoolMessage, PoolRequest
from equipoise.messages.seasons import SeasonList, SeasonMessage, SeasonPreview, SeasonRequest
from equipoise.pools import seasons
from equipoise.pools.exchange.exporting import Format, What, export_bytes
from equipoise.pools.pool import deleting, pools
from equipoise.pools.replay import replaying
from equipoise.store.connection import Store
from equipoise.web.http.access import may_read
from equipoise.web.http.endpoints import ApiRequest, Body, Endpoint
from equipoise.web.http.exports import caller, send_pieces
from equipoise.web.http.reading import while_connected
from equipoise.web.kernels import request_of

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
    found = await request.service.read(pools.pool_messages)
    readable = [pool for pool in found if may_read(request.key, pool)]
    return PoolList([await request.service.kernels.described(pool) for pool in readable])


async def create_pool(request: ApiRequest) -> PoolMessage:
    """Create a pool."""
    body: PoolRequest = request.body
    made = await request.service.change(
        pools.create_pool, request.pool, body, now(), key=request.key_number
    )
    return await request.service.kernels.described(made)


async def show_pool(request: ApiRequest) -> PoolMessage:
    """Return a pool."""
    return await request.service.pool_message(request.pool)


class ChangeQuery(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Whether a change of settings is only previewed."""

    preview: Annotated[
        bool,
        Meta(description="Only return which ratings the change would change; nothing changes."),
    ] = False


async def change_pool(request: ApiRequest) -> PoolMessage | AmendmentMessage:
    """Change settings of a pool, or preview that."""
    body: PoolChange = request.body
    if request.query.preview:
        work = request.service.preview_settings(request.pool, body)
        return await while_connected(request.receive, work)
    changed = await request.service.change_settings(request.pool, body, request.key_number)
    return await request.service.kernels.described(changed)


async def delete_pool(request: ApiRequest) -> DeletedPool:
    """Delete a pool."""
    query: DeleteQuery = request.query
    return await request.service.change(
        deleting.delete_pool, request.pool, query.confirm, key=request.key_number, now=now()
    )


async def replay_pool(request: ApiRequest) -> PoolMessage:
    """Request a replay of the complete log."""
    await request.service.change(replaying.rerate, request.pool, key=request.key_number)
    return await request.service.pool_message(request.pool)


POOLS = (
    Endpoint(
        method="GET",
        path="/v1/pools",
        name="listPools",
        group="Pools",
        summary="List pools",
        description="Without a key, the public pools. With a key, also the pools that the key is "
        "for.",
        handler=list_pools,
        right=None,
        shape=PoolList,
    ),
    Endpoint(
        method="PUT",
        path="/v1/pools/{pool}",
        name="createPool",
        group="Pools",
        summary="Create a pool",
        description="If the pool already exists with the same settings, the response is the "
        "same. If it exists with different settings, the response is a conflict that names each "
        "of them. Names consist of lower-case letters, digits, dots, dashes and underscores.",
        handler=create_pool,
        right="admin",
        new_pool=True,
        body=Body(shape=PoolRequest, example=_POOL),
        shape=PoolMessage,
        errors=(409,),
    ),
    Endpoint(
        method="GET",
        path="/v1/pools/{pool}",
        name="showPool",
        group="Pools",
        summary="Get a pool",
        description="Its settings, its numbers of players and matches, and its status.",
        handler=show_pool,
        shape=PoolMessage,
        tagged=True,
    ),
    Endpoint(
        method="PATCH",
        path="/v1/pools/{pool}",
        name="changePool",
        group="Pools",
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
        query=ChangeQuery,
        body=Body(shape=PoolChange, example={"late": "append", "reason": "slow uploads"}),
        shape=(PoolMessage, AmendmentMessage),
        errors=(409,),
    ),
    Endpoint(
        method="DELETE",
        path="/v1/pools/{pool}",
        name="deletePool",
        group="Pools",
        summary="Delete a pool permanently",
        description="Deletes the pool with its matches, ratings and webhooks, and revokes the "
        "keys for this pool alone. The name can be used again at once; the rows are deleted in "
        "the background. A pool with archives of earlier seasons, or with a later season, cannot "
        "be deleted (409).",
        handler=delete_pool,
        right="admin",
        all_pools=True,
        query=DeleteQuery,
        shape=DeletedPool,
        errors=(409,),
    ),
    Endpoint(
        method="POST",
        path="/v1/pools/{pool}/replay",
        name="replayPool",
        group="Pools",
        summary="Rate the complete log again",
        description="The replay runs in the background. Until it is complete, responses contain "
        "the old ratings, and `pending` is true.",
        handler=replay_pool,
        right="admin",
        shape=PoolMessage,
    ),
)


_SEASON = {"season": "2025-1", "reset": "soft", "keep": 0.5, "widen": 100.0}


class SeasonQuery(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Whether the end of the season is only previewed."""

    preview: Annotated[
        bool,
        Meta(description="Only return what ending the season would do; the season continues."),
    ] = False


async def end_season(request: ApiRequest) -> SeasonMessage | SeasonPreview:
    """End a season, or preview its end."""
    body: SeasonRequest = request.body
    if request.query.preview:
        work = request.service.calculate_from_store(seasons.preview_season, request.pool, body)
        shown: SeasonPreview = await while_connected(request.receive, work)
        return shown
    ended = await request.service.change(
        seasons.end_season, request.pool, body, key=request.key_number, now=now()
    )
    if body.settings.system or body.settings.parameters:
        began = await request.service.read(pools.pool_message, request.pool)
        request.service.kernels.want(request_of(began))
    return ended


async def list_seasons(request: ApiRequest) -> SeasonList:
    """Return the seasons that have ended."""
    return await request.read(seasons.seasons, request.pool)


SEASONS = (
    Endpoint(
        method="POST",
        path="/v1/pools/{pool}/seasons",
        name="endSeason",
        group="Seasons",
        summary="End a season and begin the next",
        description="The pool becomes an archive with the name POOL.SEASON. The archive can be "
        "read as before, but accepts no more matches and amendments. A new pool takes the name "
        "of the old one. If the request is repeated, the response is the same. While a pool "
        "waits for a replay, its ratings are not final, and the season cannot end (409). With "
        "`preview=true`, the season continues. The response then shows what its end would do, "
        "with a sample of players from the highest rating to the lowest.",
        handler=end_season,
        right="admin",
        query=SeasonQuery,
        body=Body(shape=SeasonRequest, example=_SEASON),
        shape=(SeasonMessage, SeasonPreview),
        errors=(409,),
    ),
    Endpoint(
        method="GET",
        path="/v1/pools/{pool}/seasons",
        name="listSeasons",
        group="Seasons",
        summary="List the seasons that have ended, newest first",
        handler=list_seasons,
        shape=SeasonList,
        tagged=True,
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
            _begun, request.service.store, request.pool, query.what, query.format, raw=query.raw
        )
        await send_pieces(request, executor, pieces, _start(request, query))


def _begun(store: Store, *args: Any, **kwargs: Any) -> Iterator[bytes]:
    """Return the pieces of an export. The first one is read before this returns."""
    pieces = iter(export_bytes(store, *args, **kwargs))
    first = next(pieces, None)

    def all_pieces() -> Iterator[bytes]:
        if first is not None:
            yield first
        yield from pieces

    return all_pieces()


def _start(request: ApiRequest, query: ExportQuery) -> Message:
    name = f"{request.pool}-{query.what}.{query.format}"
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
        method="GET",
        path="/v1/pools/{pool}/export",
        name="exportPool",
        group="Pools",
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
