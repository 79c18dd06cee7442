"""Matches of a pool: the list, and one match with its changes.

A match as a form: teams as lines of names, or the JSON that programs post.

Posting a match with a form; a preview comes first.

Amendments by form: void, restore, correct, disqualify, reinstate; a preview comes first.

Amendments: the list, and the changes of one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import msgspec
from starlette.responses import Response

from equipoise.analysis.clock import now
from equipoise.errors import EquipoiseError, InvalidDataError, NotFoundError, Problem
from equipoise.messages.matches import (
    AmendmentMessage,
    DifferenceMessage,
    DisqualifyRequest,
    MatchRequest,
    ParticipationRequest,
    ReasonRequest,
    TeamRequest,
    places_of,
)
from equipoise.pools import amending
from equipoise.pools.posting.posting import preview_match
from equipoise.pools.reading import matches, players
from equipoise.pools.reading.matches import posted_match
from equipoise.web.http.errors import http_status
from equipoise.web.page.forms import Form, problems_of, wrong
from equipoise.web.page.visit import PageContext
from equipoise.web.page.wording import path

PAGE_SIZE = 50


async def matches_page(context: PageContext) -> Response:
    """Return matches, newest first, or a redirect to the match of the query."""
    wanted = context.query("match")[:200]
    if wanted:
        pool = await context.pool()
        return context.redirect(path("pools", pool.pool, "matches", wanted))
    cursor = context.query("cursor") or None
    found = await context.snapshot(
        lambda store, pool: matches.matches(store, pool.pool, cursor=cursor, limit=PAGE_SIZE)
    )
    pool = await context.pool()
    here = ("pools", pool.pool, "matches")
    return context.render(
        "matches.html",
        matches=found.matches,
        next=None if found.next is None else path(*here, cursor=found.next),
        first=path(*here) if context.query("cursor") else None,
    )


async def match_page(context: PageContext) -> Response:
    """Return a match."""
    await context.pool()
    found = await context.read(matches.match, context.id_of("match"))
    people = [one for team in found.teams for one in team.players]
    alone = all(len(team.players) == 1 for team in found.teams)
    return context.render(
        "match.html",
        match=found,
        alone=alone,
        with_expected=any(one.expected is not None for one in people),
        with_performance=any(one.performance is not None for one in people),
        uncounted=sum(not one.counted for one in people),
        people=len(people),
    )


#: Teams that the form has room for; more are posted as JSON.
ROOM = 2
_MOST = 64
_PLACE = "must be a whole number, 1 for the winners"


@dataclass(frozen=True, slots=True)
class TeamEntry:
    """A team of the form: its place, and its players one a line."""

    rank: str
    players: str


class TeamLine(NamedTuple):
    """A team of a recorded match, its place to be changed."""

    rank: str
    players: list[str]


def team_lines(match: MatchRequest, ranks: Sequence[str]) -> list[TeamLine]:
    """Return the teams with the places typed so far, or those that were posted."""
    given = ranks if len(ranks) == len(match.teams) else _typed_places(match)
    return [
        TeamLine(rank, [str(getattr(one, "player", one)) for one in team.players])
        for rank, team in zip(given, match.teams, strict=True)
    ]


def _typed_places(match: MatchRequest) -> list[str]:
    """Return the ranks as they were posted, or the places that scores make."""
    if all(team.rank is not None for team in match.teams):
        return [str(team.rank) for team in match.teams]
    return [str(place) for place in places_of(match)]


def with_places(match: MatchRequest, ranks: Sequence[str]) -> MatchRequest:
    """Return a match with other places of its teams. Raises : InvalidDataError."""
    if len(ranks) != len(match.teams):
        rule = f"must be {len(match.teams)}"
        raise InvalidDataError([Problem("", None, "places", rule, str(len(ranks)))])
    wrong = [one for one in ranks if not _whole(one)]
    if wrong:
        raise InvalidDataError([Problem("", None, "place", _PLACE, one) for one in wrong])
    teams = [
        msgspec.structs.replace(team, rank=int(rank), score=None)
        for team, rank in zip(match.teams, ranks, strict=True)
    ]
    # A time that is not given stays as it was, to the microsecond.
    return msgspec.structs.replace(match, teams=teams, time=None)


def json_of(match: MatchRequest) -> str:
    """Return a match as programs post it, to be read by people."""
    return msgspec.json.format(msgspec.json.encode(match), indent=2).decode()


def _whole(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 6


def match_of_form(form: Form) -> MatchRequest:
    """Return the match that was typed. Raises : InvalidDataError."""
    problems: list[Problem] = []
    name = form.text("match")
    if not name:
        problems.append(Problem("", None, "match", "must be given", "nothing"))
    teams = []
    pairs = list(zip(form.texts("rank"), form.texts("players"), strict=False))[:_MOST]
    for number, (rank, listed) in enumerate(pairs, start=1):
        names: list[ParticipationRequest | str | int] = [
            one.strip() for one in listed.splitlines() if one.strip()
        ]
        if not names:
            continue
        if not _whole(rank):
            where = f"place of team {number}"
            problems.append(Problem("", None, where, _PLACE, rank or "nothing"))
            continue
        teams.append(TeamRequest(names, rank=int(rank)))
    if not problems and len(teams) < 2:
        rule = "must have at least two teams with players"
        problems.append(Problem("", None, "teams", rule, str(len(teams))))
    if problems:
        raise InvalidDataError(problems, "the match cannot be read")
    time = form.text("time")
    number_ = time.isascii() and time.isdecimal() and len(time) < 16
    return MatchRequest(name, teams, time=int(time) if number_ else time or None)


def match_of_json(text: str) -> MatchRequest:
    """Return the match in a JSON text. Raises : InvalidDataError."""
    try:
        return msgspec.json.decode(text, type=MatchRequest)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        problem = Problem(
            "", None, "JSON", "must be a match as in POST /v1/pools/POOL/matches", str(error)
        )
        raise InvalidDataError([problem], "the match cannot be read") from None


def blanks(entries: Sequence[TeamEntry]) -> list[TeamEntry]:
    """Return teams for the form, at least two."""
    empty = [TeamEntry(str(number + 1), "") for number in range(len(entries), ROOM)]
    return [*entries, *empty]


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
        await context.read(players.player, wanted)
    return await _amendment_form(context, action, wanted, Form())


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
        return await _amendment_form(context, action, wanted, form, error=error)
    return await _amendment_form(
        context, action, wanted, form, difference=preview.difference, seen=seen
    )


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


async def _amendment_form(
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
                matches.match(store, pool.pool, wanted),
                posted_match(store, pool.pool, wanted),
            )
        )
    elif action.of == "match":
        match = await context.read(matches.match, wanted)
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


async def post_page(context: PageContext) -> Response:
    """Return the form for a match."""
    await context.need("writer")
    return _posting_form(context, Form())


async def admin_page(context: PageContext) -> Response:
    """Return the page with the tasks of an administrator."""
    await context.need("admin")
    found = await context.read(amending.amendments, limit=10)
    return context.render("admin.html", amendments=found.amendments)


async def post_match(context: PageContext) -> Response:
    """Preview a match; record it if the form is of a preview."""
    pool = await context.need("writer")
    form = await context.form()
    try:
        match = match_of_json(form.text("json")) if form.text("json") else match_of_form(form)
        seen = digest(match)
        if form.text("do") == seen:
            writer = context.service.writer
            done = await writer.submit_match(pool.pool, match, context.key_number)
            return context.redirect(path("pools", pool.pool, "matches", done.match))
        preview = await context.calculate(preview_match, match, now())
    except EquipoiseError as error:
        return _posting_form(context, form, http_status(error), problems=problems_of(error))
    return _posting_form(context, form, preview=preview, seen=seen)


def _posting_form(context: PageContext, form: Form, status: int = 200, **more: object) -> Response:
    pairs = zip(form.texts("rank"), form.texts("players"), strict=False)
    entries = [TeamEntry(rank, listed) for rank, listed in pairs]
    given: dict[str, object] = {"preview": None, "seen": "", "problems": [], **more}
    return context.render(
        "post.html",
        status,
        entries=blanks(entries),
        match_id=form.text("match"),
        time=form.text("time"),
        json=form.text("json"),
        **given,
    )


#: Seconds after which a browser without scripts reloads the page of a pending amendment.
_AGAIN = 2

#: Kinds of amendments in words.
KINDS = {
    "void": "voided",
    "restore": "restored",
    "correct": "corrected",
    "disqualify": "disqualified",
    "reinstate": "reinstated",
    "settings": "changed",
}


async def amendments_page(context: PageContext) -> Response:
    """Return amendments, newest first."""
    pool = await context.pool()
    found = await context.read(
        amending.amendments, cursor=context.query("cursor") or None, limit=PAGE_SIZE
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
    """Return an amendment and its changes; the page of a pending one reloads itself."""
    await context.pool()
    text = str(context.request.path_params["seq"])
    if not text.isascii() or not text.isdecimal() or len(text) > 18:
        raise NotFoundError(f"no amendment {text[:50]}")
    found = await context.read(amending.amendment, int(text))
    answer = context.render(
        "amendment.html",
        amendment=found,
        kinds=KINDS,
        difference=found.difference,
        pending=found.status == "pending",
    )
    if found.status == "pending":
        answer.headers["Refresh"] = str(_AGAIN)
    return answer
