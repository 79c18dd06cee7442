"""Pools: made, read, replayed."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from equipoise.messages.pools import PoolList, PoolMessage, PoolRequest
from equipoise.web.endpoints import Asked, Body, Endpoint
from equipoise.workflows import pools, replaying
from equipoise.workflows.clock import now

_POOL = {
    "system": "elo-mmr",
    "parameters": {"weight_limit": 0.23},
    "late": "replay",
    "placement_matches": 5,
}


async def list_pools(asked: Asked) -> PoolList:
    """Return the pools that the caller may read."""
    key = asked.key
    found = await asked.service.read(pools.pool_messages)
    return PoolList(
        [
            pool
            for pool in found
            if pool.public or (key is not None and key.pool in (None, pool.pool, pool.archive_of))
        ]
    )


async def create_pool(asked: Asked) -> PoolMessage:
    """Make a pool."""
    request: PoolRequest = asked.body
    made = await asked.service.change(
        pools.create_pool, asked.pool, request, now(), key=asked.key_number
    )
    asked.service.access.forget()
    await _warmed(asked, request)
    return made


async def _warmed(asked: Asked, request: PoolRequest) -> None:
    """Wait until the first match need not wait for kernels to be compiled, but not for long."""
    with suppress(TimeoutError):
        async with asyncio.timeout(0.5 * asked.service.settings.request_seconds):
            await asyncio.wrap_future(asked.service.background.warm(request))


async def show_pool(asked: Asked) -> PoolMessage:
    """Return a pool."""
    return await asked.service.read(pools.pool_message, asked.pool)


async def replay_pool(asked: Asked) -> PoolMessage:
    """Have the whole log rated again in the background."""
    await asked.service.change(replaying.rerate, asked.pool, key=asked.key_number)
    asked.service.background.wake()
    return await asked.service.read(pools.pool_message, asked.pool)


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
        description="The same again is answered alike; the same name with another content is a "
        "conflict. Names are of small letters, digits, dots, dashes and underscores.",
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
