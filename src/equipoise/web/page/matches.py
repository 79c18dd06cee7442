"""Pages of matches: posted, shown, voided, corrected, disqualified.

The form has fields for two teams and takes any match as JSON. A preview comes before posting.

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
    MatchMessage,
    MatchRequest,
    ParticipationRequest,
    ReasonRequest,
    ReinstateRequest,
    TeamRequest,
    places_of,
)
from equipoise.messages.pools import PoolMessage
from equipoise.pools import amending
from equipoise.pools.posting.posting import preview_match
from equipoise.pools.reading import matches, players
from equipoise.pools.reading import matches as pool_matches
from equipoise.pools.reading.matches import posted_match
from equipoise.store.connection import Store
from equipoise.web.http.endpoints import whole_number
from equipoise.web.page.context import (
    FORM,
    MOST_FIELDS,
    Form,
    PageContext,
    digest,
    match_limits,
    wrong,
)
from equipoise.web.page.rendering import path

#: Matches on a page of the list, and players on a page of a match.
PAGE_SIZE, MOST_PLAYERS = 50, 100
#: Teams for which the form has fields, and the maximum that it may send.
_TEAMS, _MOST_TEAMS = 2, 64
RANK_DIGITS, RANK_RULE = 5, "must be a whole number, 1 for the winners"


@dataclass(frozen=True, slots=True)
class TeamEntry:
    """A team of the form: its place, and its players, one on each line."""

    rank: str
    players: str


async def matches_page(context: PageContext) -> Response:
    """Return the list of matches, newest first, or a redirect to the match named in the query."""
    wanted = context.query("match")[:200]
    if wanted:
        pool = await context.pool()
        return context.redirect(path("pools", pool.pool, "matches", wanted))
    cursor = context.query("cursor") or None
    found = await context.snapshot(
        lambda store, pool: pool_matches.matches(store, pool.pool, cursor=cursor, limit=PAGE_SIZE)
    )
    pool = await context.pool()
    here = ("pools", pool.pool, "matches")
    return context.render(
        "matches.html",
        matches=found.matches,
        next=None if found.next is None else path(*here, cursor=found.next),
        first=path(*here) if context.query("cursor") else None,
        posted=whole_number(context.query("posted"), 9),
    )


async def match_page(context: PageContext) -> Response:
    """Return the page of a match."""
    await context.pool()
    wanted = context.id_of("match")
    cursor, around = context.query("cursor") or None, context.query("around")[:200] or None
    found = await context.snapshot(
        lambda store, pool: pool_matches.match(
            store, pool.pool, wanted, cursor=cursor, limit=MOST_PLAYERS, around=around
        )
    )
    pool = await context.pool()
    here = ("pools", pool.pool, "matches", found.match)
    players = [one for team in found.teams for one in team.players]
    people, teams = found.players_in_match or len(players), found.teams_in_match or len(found.teams)
    with_chances = all(team.chance is not None for team in found.teams)
    return context.render(
        "match.html",
        match=found,
        alone=people == teams,
        statistics=list(dict.fromkeys(name for one in players for name in one.statistics)),
        with_chances=with_chances,
        with_scores=all(team.score is not None for team in found.teams),
        # Beside the one chance of a team, what some systems expect of each player only confuses.
        with_expected=any(one.expected is not None for one in players)
        and not (with_chances and teams == 2),
        with_performance=any(one.performance is not None for one in players),
        people=people,
        teams=teams,
        around=around,
        previous=None if found.previous is None else path(*here, cursor=found.previous),
        next=None if found.next is None else path(*here, cursor=found.next),
        first=path(*here),
    )


async def post_page(context: PageContext) -> Response:
    """Return the form in which a match is posted."""
    await context.need("writer")
    return await _post_form(context, Form())


async def post_match(context: PageContext) -> Response:
    """Return a preview of a match. Record the match if the form comes from its preview."""
    pool = await context.need("writer")
    form = await context.form(match_limits(context.service.settings))
    try:
        match = match_of_json(form.text("json")) if form.text("json") else match_of_form(form)
        seen = digest(match)
        await context.service.check_kernels(pool.pool)
        if form.text("do") == seen:
            done = await context.service.submit_match(pool.pool, match, context.key_number)
            if isinstance(done, msgspec.Raw):
                done = msgspec.json.decode(done, type=MatchMessage)
            return context.redirect(path("pools", pool.pool, "matches", done.match))
        future = context.service.settings.future_seconds
        preview = await context.calculate(preview_match, match, now(), future_seconds=future)
    except EquipoiseError as error:
        return await _post_form(context, form, error)
    return await _post_form(context, form, preview=preview, seen=seen)


async def _post_form(
    context: PageContext,
    form: Form,
    error: EquipoiseError | None = None,
    *,
    preview: MatchMessage | None = None,
    seen: str = "",
) -> Response:
    pairs = zip(form.texts("rank"), form.texts("players"), strict=False)
    entries = [TeamEntry(rank, players) for rank, players in pairs]
    for number in range(len(entries), _TEAMS):
        entries.append(TeamEntry(str(number + 1), ""))
    listed = [(team.rank, one) for team in preview.teams for one in team.players] if preview else []
    people = len(listed) if preview is None else preview.players_in_match or len(listed)
    return await context.render_large(
        "post.html",
        error,
        entries=entries,
        match_id=form.text("match"),
        time=form.text("time"),
        json=form.text("json"),
        preview=preview,
        previewed=listed[:MOST_PLAYERS],
        unlisted=people - len(listed[:MOST_PLAYERS]),
        seen=seen,
    )


def match_of_form(form: Form) -> MatchRequest:
    """Return the match in the fields of a form. Raises : InvalidDataError."""
    problems: list[Problem] = []
    name = form.text("match")
    if not name:
        problems.append(Problem("", None, "match", "must be given", "nothing"))
    teams = []
    pairs = list(zip(form.texts("rank"), form.texts("players"), strict=False))[:_MOST_TEAMS]
    for number, (typed, listed) in enumerate(pairs, start=1):
        names: list[ParticipationRequest | str | int] = [
            one.strip() for one in listed.splitlines() if one.strip()
        ]
        if not names:
            continue
        rank = whole_number(typed, RANK_DIGITS)
        if rank is None:
            where = f"place of team {number}"
            problems.append(Problem("", None, where, RANK_RULE, typed or "nothing"))
            continue
        teams.append(TeamRequest(names, rank=rank))
    if not problems and len(teams) < 2:
        rule = "must have at least two teams with players"
        problems.append(Problem("", None, "teams", rule, str(len(teams))))
    if problems:
        raise InvalidDataError(problems, "the match cannot be read")
    return MatchRequest(name, teams, time=form.time("time"))


def match_of_json(text: str) -> MatchRequest:
    """Return the match in a JSON text. Raises : InvalidDataError."""
    try:
        return msgspec.json.decode(text, type=MatchRequest)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        problem = Problem(
            "", None, "JSON", "must be a match as in POST /v1/pools/POOL/matches", str(error)
        )
        raise InvalidDataError([problem], "the match cannot be read") from None


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
    "describe": "described",
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
