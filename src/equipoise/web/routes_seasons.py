"""Seasons: one ends, the pool becomes an archive, and the next begins under its name."""

from __future__ import annotations

from equipoise.messages.seasons import SeasonList, SeasonMessage, SeasonRequest
from equipoise.web.endpoints import Asked, Body, Endpoint
from equipoise.web.warming import request_of
from equipoise.workflows import seasons
from equipoise.workflows.clock import now
from equipoise.workflows.pools import pool_message

_SEASON = {"season": "2025-1", "reset": "soft", "keep": 0.5, "widen": 100.0}


async def end_season(asked: Asked) -> SeasonMessage:
    """End a season."""
    request: SeasonRequest = asked.body
    ended = await asked.service.change(
        seasons.end_season, asked.pool, request, key=asked.key_number, now=now()
    )
    asked.service.access.forget()
    if request.settings.system or request.settings.parameters:
        asked.service.background.warm(
            request_of(await asked.service.read(pool_message, asked.pool))
        )
    asked.service.background.wake()
    return ended


async def list_seasons(asked: Asked) -> SeasonList:
    """Return the seasons that have ended."""
    return await asked.service.read(seasons.seasons, asked.pool)


ENDPOINTS = (
    Endpoint(
        method="POST",
        path="/v1/pools/{pool}/seasons",
        name="endSeason",
        group="Seasons",
        summary="End a season and begin the next",
        description="The pool becomes an archive with the name POOL.SEASON, which takes no more "
        "matches or amendments but is read as before; a new pool has its name. The same again is "
        "answered alike. A pool that waits for a replay is a conflict: its ratings are not final.",
        handler=end_season,
        right="admin",
        body=Body(shape=SeasonRequest, example=_SEASON),
        shape=SeasonMessage,
        errors=(409,),
    ),
    Endpoint(
        method="GET",
        path="/v1/pools/{pool}/seasons",
        name="listSeasons",
        group="Seasons",
        summary="Seasons that have ended, newest first",
        handler=list_seasons,
        shape=SeasonList,
        tagged=True,
    ),
)
