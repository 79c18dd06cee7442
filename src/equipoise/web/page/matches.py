"""Matches of a pool: the list, the page of a match, and the form in which a match is posted.

The form has fields for two teams and takes any match as JSON. A preview comes before posting.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
from starlette.responses import Response

from equipoise.analysis.clock import now
from equipoise.errors import EquipoiseError, InvalidDataError, Problem
from equipoise.messages.matches import MatchMessage, MatchRequest, ParticipationRequest, TeamRequest
from equipoise.pools.posting.posting import preview_match
from equipoise.pools.reading import matches as pool_matches
from equipoise.web.http.reading import whole_number
from equipoise.web.page.context import PageContext
from equipoise.web.page.forms import Form, digest, match_limits
from equipoise.web.page.wording import path

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
    return context.render(
        "match.html",
        match=found,
        alone=people == teams,
        with_expected=any(one.expected is not None for one in players),
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
    for number, (typed, players) in enumerate(pairs, start=1):
        names: list[ParticipationRequest | str | int] = [
            one.strip() for one in players.splitlines() if one.strip()
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
