"""Amendments: the forms that make them, the list, and the page of one with its changes.

An action voids, restores or corrects a match, or disqualifies or reinstates a player. A preview of
the changes comes before it is performed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec
from starlette.responses import Response

from equipoise.analysis.clock import now
from equipoise.errors import EquipoiseError, InvalidDataError, NotFoundError, Problem
from equipoise.messages.matches import (
    AmendmentMessage,
    DisqualifyRequest,
    Effect,
    MatchRequest,
    ReasonRequest,
    ReinstateRequest,
    places_of,
)
from equipoise.messages.pools import PoolMessage
from equipoise.pools import amending
from equipoise.pools.reading import matches, players
from equipoise.pools.reading.matches import posted_match
from equipoise.store.connection import Store
from equipoise.web.http.reading import whole_number
from equipoise.web.page.context import PageContext
from equipoise.web.page.forms import FORM, MOST_FIELDS, Form, digest, match_limits, wrong
from equipoise.web.page.matches import RANK_DIGITS, RANK_RULE, match_of_json
from equipoise.web.page.wording import path

#: Amendments on a page of the list.
_PAGE_SIZE = 50
#: Seconds after which the page of a pending amendment reloads itself.
_REFRESH = 2

#: Teams for whose places the form has fields; a larger match is corrected as JSON. The form has a
#: few fields more.
_MOST_PLACES = MOST_FIELDS - 100
#: Characters up to which the JSON of a match is indented, which makes it a few times longer.
_INDENTED = 200_000

#: Effects of a disqualification on matches, as sentences.
EFFECTS: dict[Effect, str] = {
    "without": "The matches count without the player.",
    "keep": "The matches count as they were played.",
    "void": "The matches count for nobody.",
}

#: Kinds of amendments, as participles.
KINDS = {
    "void": "voided",
    "restore": "restored",
    "correct": "corrected",
    "disqualify": "disqualified",
    "reinstate": "reinstated",
    "settings": "changed",
    "erase": "name erased",
    "initial": "set",
}


@dataclass(frozen=True, slots=True)
class Action:
    """An amendment of a match or a player.

    name : its word in the path
    of : what it amends, "match" or "player"
    verb : text of the button; about : what it does, as a sentence
    workflow : the use case that carries it out
    danger : whether it takes something from players
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
        "The player has no place on the leaderboard. The effect says how the matches count.",
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


async def amendments_page(context: PageContext) -> Response:
    """Return the list of amendments, newest first."""
    pool = await context.pool()
    found = await context.read(
        amending.amendments, cursor=context.query("cursor") or None, limit=_PAGE_SIZE
    )
    here = ("pools", pool.pool, "amendments")
    return context.render(
        "amendments.html",
        amendments=found.amendments,
        kinds=KINDS,
        next=None if found.next is None else path(*here, cursor=found.next),
        first=path(*here) if context.query("cursor") else None,
    )


async def amendment_page(context: PageContext) -> Response:
    """Return the page of an amendment. While it is pending the page reloads itself."""
    await context.pool()
    text = str(context.request.path_params["seq"])
    seq = whole_number(text, 18)
    if seq is None:
        raise NotFoundError(f"no amendment {text[:50]}")
    found = await context.read(amending.amendment, seq)
    answer = context.render(
        "amendment.html",
        amendment=found,
        kinds=KINDS,
        effects=EFFECTS,
        difference=found.difference,
        pending=found.status == "pending",
    )
    if found.status == "pending":
        answer.headers["Refresh"] = str(_REFRESH)
    return answer


async def form_page(context: PageContext) -> Response:
    """Return the form of an action."""
    await context.need("admin")
    action = _action(context)
    wanted = context.id_of("id")
    if action.of == "player":
        await context.read(players.player, wanted)
    return await _amendment_form(context, action, wanted, Form())


async def perform(context: PageContext) -> Response:
    """Return a preview of an action. Perform the action if the form comes from its preview."""
    await context.need("admin")
    action = _action(context)
    wanted = context.id_of("id")
    correcting = action.name == "correct"
    form = await context.form(match_limits(context.service.settings) if correcting else FORM)
    try:
        request = await _request_of(context, action, wanted, form)
        seen = digest(action.name, wanted, request)
        given: dict[str, Any] = {"key": context.key_number, "now": now()}
        if action.name == "correct":
            given["future_seconds"] = context.service.settings.future_seconds
        if form.text("do") == seen:
            done = await context.write(action.workflow, wanted, request, **given)
            return _after(context, action, wanted, done)
        preview = await context.calculate(action.workflow, wanted, request, preview=True, **given)
    except EquipoiseError as error:
        return await _amendment_form(context, action, wanted, form, error=error)
    return await _amendment_form(context, action, wanted, form, preview=preview, seen=seen)


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
) -> MatchRequest | ReasonRequest | ReinstateRequest:
    """Return the request in a form. Raises : InvalidDataError."""
    if action.name == "correct":
        return await _corrected(context, form, wanted)
    if action.of == "match":
        return ReasonRequest(form.text("reason"))
    match = form.text("match") or None
    since, reason = form.time("since"), form.text("reason")
    if action.name == "reinstate":
        return ReinstateRequest(since, reason, match)
    effect = form.choice("effect", tuple(EFFECTS)) if form.text("effect") else None
    return DisqualifyRequest(since, reason, match, effect)


async def _corrected(context: PageContext, form: Form, wanted: str) -> MatchRequest:
    """Return the match with the typed places, or the typed JSON. Raises : InvalidDataError."""
    if form.text("how") == "places":
        posted = await context.read(posted_match, wanted)
        return with_places(posted, form.texts("rank"))
    match = match_of_json(form.text("json"))
    if str(match.match) != wanted:
        raise wrong("match", "must be the id of the match", str(match.match)[:200])
    return match


async def _amendment_form(
    context: PageContext,
    action: Action,
    wanted: str,
    form: Form,
    *,
    error: EquipoiseError | None = None,
    preview: AmendmentMessage | None = None,
    seen: str = "",
) -> Response:
    posted, content, too_many = None, "", False
    if action.name == "correct":

        def read(store: Store, pool: PoolMessage) -> tuple[MatchRequest, str]:
            found = posted_match(store, pool.pool, wanted)
            return found, json_of(found)

        posted, content = await context.snapshot(read)
        too_many = len(posted.teams) > _MOST_PLACES
    elif action.of == "match":
        await context.read(matches.match, wanted, limit=1)
    return await context.render_large(
        "amendment_form.html",
        error,
        action=action,
        wanted=wanted,
        reason=form.text("reason"),
        since=form.text("since"),
        only=form.text("match", context.query("match")),
        how=form.text("how"),
        teams=[] if posted is None or too_many else team_lines(posted, form.texts("rank")),
        json=form.text("json") or content,
        effect=form.text("effect"),
        effects=EFFECTS,
        preview=preview,
        seen=seen,
    )


class TeamLine(NamedTuple):
    """A team of a recorded match, with a field for its place."""

    rank: str
    players: list[str]


def team_lines(match: MatchRequest, ranks: Sequence[str]) -> list[TeamLine]:
    """Return the teams with the places that were typed, or else with those that were posted."""
    given = ranks if len(ranks) == len(match.teams) else _posted_places(match)
    return [
        TeamLine(rank, [str(getattr(one, "player", one)) for one in team.players])
        for rank, team in zip(given, match.teams, strict=True)
    ]


def _posted_places(match: MatchRequest) -> list[str]:
    """Return the posted ranks, or the places that follow from the posted scores."""
    if all(team.rank is not None for team in match.teams):
        return [str(team.rank) for team in match.teams]
    return [str(place) for place in places_of(match)]


def with_places(match: MatchRequest, ranks: Sequence[str]) -> MatchRequest:
    """Return a match with these places of its teams. Raises : InvalidDataError."""
    if len(ranks) != len(match.teams):
        rule = f"must be {len(match.teams)}"
        raise InvalidDataError([Problem("", None, "places", rule, str(len(ranks)))])
    places = [whole_number(one, RANK_DIGITS) for one in ranks]
    unreadable = [text for text, place in zip(ranks, places, strict=True) if place is None]
    if unreadable:
        raise InvalidDataError([Problem("", None, "place", RANK_RULE, one) for one in unreadable])
    teams = [
        msgspec.structs.replace(team, rank=place, score=None)
        for team, place in zip(match.teams, places, strict=True)
    ]
    # Without a time, the correction keeps the posted one to the microsecond.
    return msgspec.structs.replace(match, teams=teams, time=None)


def json_of(match: MatchRequest) -> str:
    """Return a match as JSON, indented if it is short."""
    content = msgspec.json.encode(match)
    indented = len(content) <= _INDENTED
    return (msgspec.json.format(content, indent=2) if indented else content).decode()
