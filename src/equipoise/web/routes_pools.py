"""Pools: made, read, changed, replayed, deleted."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Annotated

from msgspec import Meta, Struct

from equipoise.messages.pools import (
    DeletedPool,
    PoolChange,
    PoolList,
    PoolMessage,
    PoolRequest,
)
from equipoise.web.access import may_read
from equipoise.web.endpoints import ApiRequest, Body, Endpoint
from equipoise.workflows import deleting, pool_settings, pools, replaying
from equipoise.workflows.clock import now

_POOL = {
    "system": "elo-mmr",
    "parameters": {"weight_limit": 0.23},
    "late": "replay",
    "placement_matches": 5,
}


class DeleteQuery(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What shows that a pool is meant."""

    confirm: Annotated[str, Meta(description="The name of the pool once more.")]


async def list_pools(request: ApiRequest) -> PoolList:
    """Return the pools that the caller may read."""
    found = await request.service.read(pools.pool_messages)
    return PoolList([pool for pool in found if may_read(request.key, pool)])


async def create_pool(request: ApiRequest) -> PoolMessage:
    """Make a pool."""
    body: PoolRequest = request.body
    made = await request.service.change(
        pools.create_pool, request.pool, body, now(), key=request.key_number
    )
    await _precompiled(request, body)
    return made


async def _precompiled(request: ApiRequest, body: PoolRequest) -> None:
    """Wait until the first match need not wait for kernels to be compiled, but not for long."""
    with suppress(TimeoutError):
        async with asyncio.timeout(0.5 * request.service.settings.request_seconds):
            await asyncio.wrap_future(request.service.background.precompile(body))


async def show_pool(request: ApiRequest) -> PoolMessage:
    """Return a pool."""
    return await request.service.read(pools.pool_message, request.pool)


async def change_pool(request: ApiRequest) -> PoolMessage:
    """Change settings of a pool."""
    body: PoolChange = request.body
    return await request.service.change(
        pool_settings.change_settings, request.pool, body, now(), key=request.key_number
    )


async def delete_pool(request: ApiRequest) -> DeletedPool:
    """Delete a pool."""
    query: DeleteQuery = request.query
    return await request.service.change(
        deleting.delete_pool, request.pool, query.confirm, key=request.key_number, now=now()
    )


async def replay_pool(request: ApiRequest) -> PoolMessage:
    """Have the whole log rated again in the background."""
    await request.service.change(replaying.rerate, request.pool, key=request.key_number)
    return await request.service.read(pools.pool_message, request.pool)


ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/v1/pools",
        name="listPools",
        group="Pools",
        summary="The pools that may be read",
        description="Without a key the public ones; with a key also those that it is for.",
        handler=list_pools,
        right=None,
        shape=PoolList,
    ),
    Endpoint(
        method="PUT",
        path="/v1/pools/{pool}",
        name="createPool",
        group="Pools",
        summary="Make a pool",
        description="Making the same pool again gets the same answer; the same name with different "
        "settings is a conflict, which names each of them. Names consist of small letters, digits, "
        "dots, dashes and underscores.",
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
        summary="A pool as it is set and as it stands",
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
        description="Settings that are left out stay as they are. A change is a log record: "
        "matches before it keep what the old settings made of them. To change the system, its "
        "parameters, the weights of statistics or whether there are times is a conflict.",
        handler=change_pool,
        right="admin",
        body=Body(shape=PoolChange, example={"late": "append", "reason": "slow uploads"}),
        shape=PoolMessage,
        errors=(409,),
    ),
    Endpoint(
        method="DELETE",
        path="/v1/pools/{pool}",
        name="deletePool",
        group="Pools",
        summary="Delete a pool for good",
        description="Deletes the pool with its matches, ratings and webhooks, and revokes keys for "
        "this pool alone. The name is free at once; rows are deleted in the background. It is a "
        "conflict while there are archives of the pool, or a season after it.",
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
        summary="Rate the whole log again",
        description="In the background; until it is done the old ratings are answered and "
        "`pending` is true.",
        handler=replay_pool,
        right="admin",
        shape=PoolMessage,
    ),
)
