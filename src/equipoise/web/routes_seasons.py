"""Seasons: one ends, the pool becomes an archive, and the next begins under its name."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from equipoise.messages.seasons import SeasonList, SeasonMessage, SeasonPreview, SeasonRequest
from equipoise.web.endpoints import ApiRequest, Body, Endpoint
from equipoise.web.warming import request_of
from equipoise.workflows import seasons
from equipoise.workflows.clock import now
from equipoise.workflows.pools import pool_message
from equipoise.workflows.season_preview import preview_season

_SEASON = {"season": "2025-1", "reset": "soft", "keep": 0.5, "widen": 100.0}


class SeasonQuery(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Whether the season is to end."""

    preview: Annotated[
        bool,
        Meta(description="Only say what the end of the season would do; the season goes on."),
    ] = False


async def end_season(request: ApiRequest) -> SeasonMessage | SeasonPreview:
    """End a season, or say what that would do."""
    body: SeasonRequest = request.body
    if request.query.preview:
        service = request.service
        shown: SeasonPreview = await service.calculate(
            preview_season, service.store, request.pool, body
        )
        return shown
    ended = await request.service.change(
        seasons.end_season, request.pool, body, key=request.key_number, now=now()
    )
    if body.settings.system or body.settings.parameters:
        request.service.background.precompile(
            request_of(await request.service.read(pool_message, request.pool))
        )
    return ended


async def list_seasons(request: ApiRequest) -> SeasonList:
    """Return the seasons that have ended."""
    return await request.service.read(seasons.seasons, request.pool)


ENDPOINTS = (
    Endpoint(
        method="POST",
        path="/v1/pools/{pool}/seasons",
        name="endSeason",
        group="Seasons",
        summary="End a season and begin the next",
        description="The pool becomes an archive with the name POOL.SEASON, which takes no more "
        "matches or amendments but is read as before; a new pool has its name. The same again is "
        "answered alike. A pool that waits for a replay is a conflict: its ratings are not final. "
        "With `preview=true` the season goes on, and the answer says what its end would do, with "
        "a sample of players from the highest rating to the lowest.",
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
        summary="Seasons that have ended, newest first",
        handler=list_seasons,
        shape=SeasonList,
        tagged=True,
    ),
)
