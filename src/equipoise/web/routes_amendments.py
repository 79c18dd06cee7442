"""Amendments: matches voided, restored, corrected; players disqualified and reinstated."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Annotated, Any

from msgspec import Meta, Struct

from equipoise.errors import InvalidDataError, NotFoundError
from equipoise.messages.amendments import (
    AmendmentMessage,
    AmendmentPage,
    DisqualifyRequest,
    ReasonRequest,
)
from equipoise.messages.matches import MatchRequest
from equipoise.web.endpoints import ApiRequest, Body, Endpoint
from equipoise.web.parameters import PageQuery
from equipoise.web.problems import without_lines
from equipoise.web.routes_matches import MATCH
from equipoise.workflows import amending
from equipoise.workflows.clock import now

#: Seconds between two looks at whether a replay is done: short at first.
_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 0.5
_LARGEST_SEQ = 2**63 - 1


class AmendQuery(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How an amendment is to be carried out."""

    preview: Annotated[
        bool, Meta(description="Only tell what it would change; nothing is recorded.")
    ] = False
    wait: Annotated[
        float,
        Meta(ge=0, le=600, description="Seconds to wait for the replay before answering."),
    ] = 0.0


async def void_match(request: ApiRequest) -> AmendmentMessage:
    """Void a match."""
    return await _amend(request, amending.void_match, "match")


async def restore_match(request: ApiRequest) -> AmendmentMessage:
    """Let a voided match count again."""
    return await _amend(request, amending.restore_match, "match")


async def correct_match(request: ApiRequest) -> AmendmentMessage:
    """Put another content in a match's place."""
    try:
        return await _amend(request, amending.correct_match, "match")
    except InvalidDataError as error:
        raise without_lines(error) from None


async def disqualify(request: ApiRequest) -> AmendmentMessage:
    """Rate a player no longer from a time on."""
    return await _amend(request, amending.disqualify, "player")


async def reinstate(request: ApiRequest) -> AmendmentMessage:
    """Rate a player again from a time on."""
    return await _amend(request, amending.reinstate, "player")


async def _amend(request: ApiRequest, workflow: Callable[..., Any], part: str) -> AmendmentMessage:
    service, query, key = request.service, request.query, request.key_number
    about = (request.pool, request.path[part], request.body)
    if query.preview:
        shown: AmendmentMessage = await service.calculate(
            workflow, service.store, *about, key=key, now=now(), preview=True
        )
        return shown
    made: AmendmentMessage = await service.change(workflow, *about, key=key, now=now())
    longest = min(service.settings.wait_seconds, 0.8 * service.settings.request_seconds)
    return await _waited(request, made, min(query.wait, longest))


async def _waited(request: ApiRequest, made: AmendmentMessage, seconds: float) -> AmendmentMessage:
    """Return an amendment when its replay is done, or as it is when the time is over."""
    pause = _FIRST_PAUSE
    while seconds > 0 and made.status == "pending" and made.seq is not None:
        await asyncio.sleep(min(pause, seconds))
        seconds -= pause
        pause = min(2 * pause, _LONGEST_PAUSE)
        made = await request.service.read(amending.amendment, request.pool, made.seq)
    return made


async def list_amendments(request: ApiRequest) -> AmendmentPage:
    """Return a page of amendments."""
    query: PageQuery = request.query
    return await request.service.read(
        amending.amendments, request.pool, cursor=query.cursor, limit=query.limit
    )


async def show_amendment(request: ApiRequest) -> AmendmentMessage:
    """Return an amendment."""
    text = request.path["seq"]
    seq = int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else -1
    if not 0 < seq <= _LARGEST_SEQ:
        raise NotFoundError(f"no amendment {text!r} in pool {request.pool!r}")
    return await request.service.read(amending.amendment, request.pool, seq)


def _endpoint(
    method: Any, path: str, name: str, summary: str, handler: Any, body: Body, more: str = ""
) -> Endpoint:
    return Endpoint(
        method=method,
        path=f"/v1/pools/{{pool}}/{path}",
        name=name,
        group="Amendments",
        summary=summary,
        description=f"{more}Recorded, never erased. The pool is replayed in the background; "
        "`status` is `pending` until the new ratings are in place, then `done`, and `difference` "
        "says what changed.",
        handler=handler,
        right="admin",
        query=AmendQuery,
        body=body,
        shape=AmendmentMessage,
        errors=(409,),
    )


_REASON = Body(shape=ReasonRequest, example={"reason": "server crashed"}, required=False)
_SINCE = Body(
    shape=DisqualifyRequest,
    example={"since": "2025-01-01T00:00:00Z", "reason": "second account"},
    required=False,
    description="`since` is the time from which it holds; without it, from now on. `match` names "
    "a single match for which it holds instead.",
)

ENDPOINTS = (
    _endpoint(
        "PUT",
        "matches/{match}",
        "correctMatch",
        "Correct a match",
        correct_match,
        Body(shape=MatchRequest, example=MATCH),
        "The body is the match as it should have been posted. ",
    ),
    _endpoint("POST", "matches/{match}/void", "voidMatch", "Void a match", void_match, _REASON),
    _endpoint(
        "POST",
        "matches/{match}/restore",
        "restoreMatch",
        "Let a voided match count again",
        restore_match,
        _REASON,
    ),
    _endpoint(
        "POST",
        "players/{player}/disqualify",
        "disqualifyPlayer",
        "Disqualify a player from a time on, or from one match",
        disqualify,
        _SINCE,
    ),
    _endpoint(
        "POST",
        "players/{player}/reinstate",
        "reinstatePlayer",
        "Rate a player again from a time on, or in one match",
        reinstate,
        _SINCE,
    ),
    Endpoint(
        method="GET",
        path="/v1/pools/{pool}/amendments",
        name="listAmendments",
        group="Amendments",
        summary="Amendments, newest first",
        handler=list_amendments,
        query=PageQuery,
        shape=AmendmentPage,
        tagged=True,
    ),
    Endpoint(
        method="GET",
        path="/v1/pools/{pool}/amendments/{seq}",
        name="showAmendment",
        group="Amendments",
        summary="An amendment, and what it changed",
        handler=show_amendment,
        shape=AmendmentMessage,
        tagged=True,
    ),
)
