"""Amendments by form: void, restore, correct, disqualify, reinstate; a preview comes first."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

import msgspec
from starlette.responses import Response

from equipoise.errors import EquipoiseError, NotFoundError
from equipoise.messages.amendments import (
    AmendmentMessage,
    DifferenceMessage,
    DisqualifyRequest,
    ReasonRequest,
)
from equipoise.messages.matches import MatchRequest
from equipoise.web.errors import http_status
from equipoise.web.page.forms import Form, wrong
from equipoise.web.page.match_form import json_of, match_of_json, team_lines, with_places
from equipoise.web.page.problems import problems_of
from equipoise.web.page.visit import PageContext
from equipoise.web.page.wording import path
from equipoise.workflows import amending, pool_reading
from equipoise.workflows.clock import now
from equipoise.workflows.match_preview import posted_match


@dataclass(frozen=True, slots=True)
class Action:
    """An amendment of a match or a player.

    of : "match" or "player"
    name : in the path; verb : on the button; about : what it does, as a sentence
    workflow : does it
    danger : whether it takes something away
    """

    name: str
    of: str
    verb: str
    about: str
    workflow: Callable[..., AmendmentMessage]
    danger: bool = True


ACTIONS = {
    "void": Action(
        "void",
        "match",
        "Void",
        "The match no longer counts. It stays in the log and can be restored.",
        amending.void_match,
    ),
    "restore": Action(
        "restore",
        "match",
        "Restore",
        "The match counts again.",
        amending.restore_match,
        danger=False,
    ),
    "correct": Action(
        "correct",
        "match",
        "Correct",
        "Replaces the posted match. The log keeps both versions.",
        amending.correct_match,
        danger=False,
    ),
    "disqualify": Action(
        "disqualify",
        "player",
        "Disqualify",
        "Matches of this player from then on no longer count for any rating.",
        amending.disqualify,
    ),
    "reinstate": Action(
        "reinstate",
        "player",
        "Reinstate",
        "The player is rated again.",
        amending.reinstate,
        danger=False,
    ),
}


async def form_page(context: PageContext) -> Response:
    """Return the form of an action."""
    await context.need("admin")
    action = _action(context)
    wanted = context.id_of("id")
    if action.of == "player":
        await context.read(pool_reading.player, wanted)
    return await _shown(context, action, wanted, Form())


async def perform(context: PageContext) -> Response:
    """Preview an action; perform it if the form is of a preview."""
    await context.need("admin")
    action = _action(context)
    wanted = context.id_of("id")
    form = await context.form()
    try:
        request = await _request_of(context, action, wanted, form)
        seen = digest(action.name, wanted, request)
        key = context.key_number
        if form.text("do") == seen:
            done = await context.write(action.workflow, wanted, request, key=key, now=now())
            return _after(context, action, wanted, done)
        preview = await context.calculate(
            action.workflow, wanted, request, key=key, now=now(), preview=True
        )
    except EquipoiseError as error:
        return await _shown(context, action, wanted, form, error=error)
    return await _shown(context, action, wanted, form, difference=preview.difference, seen=seen)


def digest(*what: object) -> str:
    """Return what tells one request from another: only what was shown is done."""
    return hashlib.sha256(msgspec.json.encode(what)).hexdigest()


def moment_of(text: str) -> int | str | None:
    """Return a time as it was typed: seconds since 1970, or ISO 8601; None for nothing."""
    if not text:
        return None
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 16 else text


def _action(context: PageContext) -> Action:
    found = ACTIONS.get(context.request.url.path.split("/")[3])
    if found is None:
        raise NotFoundError("no such page")
    return found


def _after(context: PageContext, action: Action, wanted: str, done: AmendmentMessage) -> Response:
    pool = context.request.path_params["pool"]
    if done.seq is None:
        return context.redirect(
            path("pools", pool, "matches" if action.of == "match" else "players", wanted)
        )
    return context.redirect(path("pools", pool, "amendments", done.seq))


async def _request_of(
    context: PageContext, action: Action, wanted: str, form: Form
) -> MatchRequest | ReasonRequest | DisqualifyRequest:
    """Return what a form asks for. Raises : InvalidDataError."""
    if action.name == "correct":
        return await _corrected(context, form, wanted)
    if action.of == "match":
        return ReasonRequest(form.text("reason"))
    since, only = moment_of(form.text("since")), form.text("match") or None
    return DisqualifyRequest(since, form.text("reason"), only)


async def _corrected(context: PageContext, form: Form, wanted: str) -> MatchRequest:
    """Return the match with other places, or as it was typed. Raises : InvalidDataError."""
    if form.text("how") == "places":
        posted = await context.read(posted_match, wanted)
        return with_places(posted, form.texts("rank"))
    match = match_of_json(form.text("json"))
    if str(match.match) != wanted:
        raise wrong("match", "must be the id of the match", str(match.match)[:200])
    return match


async def _shown(
    context: PageContext,
    action: Action,
    wanted: str,
    form: Form,
    *,
    error: EquipoiseError | None = None,
    difference: DifferenceMessage | None = None,
    seen: str = "",
) -> Response:
    match = posted = None
    if action.name == "correct":
        match, posted = await context.snapshot(
            lambda store, pool: (
                pool_reading.match(store, pool.pool, wanted),
                posted_match(store, pool.pool, wanted),
            )
        )
    elif action.of == "match":
        match = await context.read(pool_reading.match, wanted)
    return context.render(
        "amendment_form.html",
        200 if error is None else http_status(error),
        action=action,
        wanted=wanted,
        match=match,
        reason=form.text("reason"),
        since=form.text("since"),
        only=form.text("match", context.query("match")),
        how=form.text("how"),
        teams=[] if posted is None else team_lines(posted, form.texts("rank")),
        json=form.text("json") or ("" if posted is None else json_of(posted)),
        difference=difference,
        seen=seen,
        problems=[] if error is None else problems_of(error),
    )
