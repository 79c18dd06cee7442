"""Void, restore, correct, disqualify, reinstate: what it would change first, then the deed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec
from starlette.responses import Response

from equipoise.errors import EquipoiseError, InvalidDataError, NotFoundError, Problem
from equipoise.messages.amendments import (
    AmendmentMessage,
    DifferenceMessage,
    DisqualifyRequest,
    ReasonRequest,
)
from equipoise.messages.matches import MatchRequest
from equipoise.web.errors import ForbiddenError, http_status
from equipoise.web.page.forms import Form
from equipoise.web.page.match_form import json_of, match_of_json, team_lines, with_places
from equipoise.web.page.problems import problems_of
from equipoise.web.page.visit import Visit
from equipoise.web.page.wording import path


@dataclass(frozen=True, slots=True)
class Deed:
    """Something that can be done to a match or a player.

    of : "match" or "player"
    name : in the path; verb : on the button; about : what it does, as a sentence
    danger : whether it takes something away
    """

    name: str
    of: str
    verb: str
    about: str
    danger: bool = True


DEEDS = {
    "void": Deed(
        "void",
        "match",
        "Void",
        "The match no longer counts. It stays in the log, and can be restored.",
    ),
    "restore": Deed("restore", "match", "Restore", "The match counts again.", danger=False),
    "correct": Deed(
        "correct",
        "match",
        "Correct",
        "What was posted is replaced; the log keeps both.",
        danger=False,
    ),
    "disqualify": Deed(
        "disqualify",
        "player",
        "Disqualify",
        "Matches of this player from that time on no longer count for anybody's rating.",
    ),
    "reinstate": Deed(
        "reinstate", "player", "Reinstate", "The player is rated again.", danger=False
    ),
}


async def deed_page(visit: Visit) -> Response:
    """Return the form of a deed."""
    await visit.need("admin")
    deed = _deed(visit)
    wanted = visit.id_of("id")
    if deed.of == "player":
        await visit.ask(visit.backend.player, wanted)
    return await _shown(visit, deed, wanted, Form())


async def do_deed(visit: Visit) -> Response:
    """Show what a deed would change; or do it, once that was seen."""
    await visit.need("admin")
    deed = _deed(visit)
    wanted = visit.id_of("id")
    form = await visit.form()
    try:
        call, request = await _call_of(visit, deed, wanted, form)
        seen = digest(deed.name, wanted, request)
        if form.text("do") == seen and visit.holder is not None:
            done = await visit.tell(call, wanted, request, key=visit.holder.key, preview=False)
            return _after(visit, deed, wanted, done)
        preview: AmendmentMessage = await visit.ask(call, wanted, request, key=None, preview=True)
    except ForbiddenError:
        raise
    except EquipoiseError as error:
        return await _shown(visit, deed, wanted, form, error=error)
    return await _shown(visit, deed, wanted, form, difference=preview.difference, seen=seen)


def digest(*what: object) -> str:
    """Return what tells one request from another: only what was shown is done."""
    return hashlib.sha256(msgspec.json.encode(what)).hexdigest()


def moment_of(text: str) -> int | str | None:
    """Return a time as it was typed: seconds since 1970, or ISO 8601; None for nothing."""
    if not text:
        return None
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 16 else text


def _deed(visit: Visit) -> Deed:
    found = DEEDS.get(visit.request.url.path.split("/")[3])
    if found is None:
        raise NotFoundError("nothing is at this path")
    return found


def _after(visit: Visit, deed: Deed, wanted: str, done: AmendmentMessage) -> Response:
    pool = visit.request.path_params["pool"]
    if done.seq is None:
        return visit.go(path("pools", pool, "matches" if deed.of == "match" else "players", wanted))
    return visit.go(path("pools", pool, "amendments", done.seq))


async def _call_of(
    visit: Visit, deed: Deed, wanted: str, form: Form
) -> tuple[Callable[..., Any], Any]:
    """Return what the service does, and what it is told."""
    backend = visit.backend
    if deed.name == "correct":
        return backend.correct_match, await _corrected(visit, form, wanted)
    if deed.of == "match":
        call = backend.void_match if deed.name == "void" else backend.restore_match
        return call, ReasonRequest(form.text("reason"))
    barred = backend.disqualify if deed.name == "disqualify" else backend.reinstate
    since, only = moment_of(form.text("since")), form.text("match") or None
    return barred, DisqualifyRequest(since, form.text("reason"), only)


async def _corrected(visit: Visit, form: Form, wanted: str) -> MatchRequest:
    """Return the match with other places, or as it was typed. Raises : InvalidDataError."""
    if form.text("how") == "places":
        posted = await visit.ask(visit.backend.posted_match, wanted)
        return with_places(posted, form.texts("rank"))
    match = match_of_json(form.text("json"))
    if str(match.match) != wanted:
        rule = "must stay the id of the match"
        raise InvalidDataError([Problem("", None, "match", rule, str(match.match)[:200])])
    return match


async def _shown(
    visit: Visit,
    deed: Deed,
    wanted: str,
    form: Form,
    *,
    error: EquipoiseError | None = None,
    difference: DifferenceMessage | None = None,
    seen: str = "",
) -> Response:
    match = posted = None
    if deed.name == "correct":
        match, posted = await visit.together(
            lambda backend, pool: (
                backend.match(pool.pool, wanted),
                backend.posted_match(pool.pool, wanted),
            )
        )
    elif deed.of == "match":
        match = await visit.ask(visit.backend.match, wanted)
    return visit.page(
        "deed.html",
        200 if error is None else http_status(error),
        deed=deed,
        wanted=wanted,
        match=match,
        reason=form.text("reason"),
        since=form.text("since"),
        only=form.text("match", visit.query("match")),
        how=form.text("how"),
        teams=[] if posted is None else team_lines(posted, form.texts("rank")),
        json=form.text("json") or ("" if posted is None else json_of(posted)),
        difference=difference,
        seen=seen,
        problems=[] if error is None else problems_of(error),
    )
