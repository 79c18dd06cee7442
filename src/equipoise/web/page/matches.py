"""Pages of matches: posted, shown, voided, corrected, disqualified.

The form has fields for teams and takes any match as JSON. A preview comes before posting; it marks
newcomers and names that are like those of players.

An action voids, restores or corrects a match, or disqualifies or reinstates a player. A preview of
the changes comes before it is performed.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import msgspec
from starlette.responses import Response

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
    RenameRequest,
    TeamRequest,
    places_of,
)
from equipoise.messages.pools import PoolMessage
from equipoise.pools import amending
from equipoise.pools.pool.pools import capabilities_of
from equipoise.pools.posting.posting import preview_match
from equipoise.pools.posting.rating import player_ids, players_of
from equipoise.pools.reading import matches, players
from equipoise.pools.reading.matches import posted_match
from equipoise.pools.reading.overview import Newcomer, newcomers
from equipoise.store.connection import Store
from equipoise.store.schema import now
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
from equipoise.web.page.rendering import page_at, path, seconds_of, utc

#: Matches on a page of the list, and players on a page of a match.
PAGE_SIZE, MOST_PLAYERS = 50, 100
#: Teams for which the form has fields at first, and the maximum that it may send.
_TEAMS, _MOST_TEAMS = 2, 64
#: Fields for players of a team in pools of teams, and fields that are always free then.
_PLAYERS, _FREE = 5, 2
RANK_DIGITS, RANK_RULE = 5, "must be a whole number, 1 for the winners"
#: What the numbers of teams are, in words.
RESULTS = {"score": "scores, higher is better", "place": "places, 1 for the winners"}
_MOST_SCORE = 1e9
#: Maximum length of a link with the teams of a match.
_LONGEST_LINK = 6_000


@dataclass(frozen=True, slots=True)
class TeamEntry:
    """A team of the form: its score or place, and its players, as typed."""

    number: str = ""
    players: Sequence[str] = ()

    def offered(self, least: int, free: int) -> list[str]:
        """Return the players with empty fields at the end."""
        return [*self.players, *[""] * max(least - len(self.players), free)]


async def matches_page(context: PageContext) -> Response:
    """Return the list of matches, newest first, or a redirect to the match named in the query."""
    wanted = context.parameter("match")[:200]
    if wanted:
        return context.redirect(path("pools", context.pool_name, "matches", wanted))
    cursor, around = context.parameter("cursor") or None, context.parameter("around")[:200] or None
    listed = await context.read(matches.matches, cursor=cursor, limit=PAGE_SIZE, around=around)
    here = ("pools", context.pool_name, "matches")
    return context.render(
        "matches.html",
        matches=listed.matches,
        around=around,
        previous=page_at(listed.previous, *here),
        next=page_at(listed.next, *here),
        first=path(*here),
        posted=whole_number(context.parameter("posted"), 9),
    )


async def match_page(context: PageContext) -> Response:
    """Return the page of a match."""
    wanted = context.id_of("match")
    cursor, around = context.parameter("cursor") or None, context.parameter("around")[:200] or None
    details = await context.read(
        matches.match, wanted, cursor=cursor, limit=MOST_PLAYERS, around=around
    )
    here = ("pools", context.pool_name, "matches", details.match)
    players = [member for team in details.teams for member in team.players]
    people, teams = (
        details.players_in_match or len(players),
        details.teams_in_match or len(details.teams),
    )
    with_chances = all(team.chance is not None for team in details.teams)
    return context.render(
        "match.html",
        match=details,
        alone=people == teams,
        statistics=list(dict.fromkeys(name for member in players for name in member.statistics)),
        with_chances=with_chances,
        with_scores=all(team.score is not None for team in details.teams),
        # Beside the one chance of a team, what some systems expect of each player only confuses.
        with_expected=any(member.expected is not None for member in players)
        and not (with_chances and teams == 2),
        with_performance=any(member.performance is not None for member in players),
        people=people,
        teams=teams,
        around=around,
        previous=page_at(details.previous, *here),
        next=page_at(details.next, *here),
        first=path(*here),
    )


async def post_page(context: PageContext) -> Response:
    """Return the form in which a match is posted, with the teams in the query."""
    return await _post_form(context, teams_in_query(context))


async def post_match(context: PageContext) -> Response:
    """Return a preview of a match. Record the match if the form comes from its preview."""
    form = await context.form(match_limits(context.service.settings))
    if form.text("do") in ("players", "team"):
        return await _post_form(context, form, more=form.text("do"))
    try:
        match = match_of_json(form.text("json")) if form.text("json") else match_of_form(form)
        seen = digest(match)
        await context.service.check_kernels(context.pool_name)
        if form.text("do") == seen:
            done = await context.service.submit_match(context.pool_name, match, context.key_number)
            if isinstance(done, msgspec.Raw):
                done = msgspec.json.decode(done, type=MatchMessage)
            return context.redirect(path("pools", context.pool_name, "matches", done.match))
        future = context.service.settings.future_seconds
        preview = await context.calculate(preview_match, match, now(), future_seconds=future)
        names = players_of(match)
        unknown = await context.read(newcomers, names)
    except EquipoiseError as error:
        return await _post_form(context, form, error)
    return await _post_form(context, form, preview=preview, seen=seen, unknown=unknown)


async def _post_form(
    context: PageContext,
    form: Form,
    error: EquipoiseError | None = None,
    *,
    preview: MatchMessage | None = None,
    seen: str = "",
    unknown: Sequence[Newcomer] = (),
    more: str = "",
) -> Response:
    pool = context.pool
    able = await context.read(capabilities_of)
    alone = able.max_team_size == 1
    entries = entries_of(form)
    wanted = max(_TEAMS, len(entries) + (more == "team"))
    entries += [TeamEntry() for _ in range(wanted - len(entries))]
    listed = (
        [(team.rank, member) for team in preview.teams for member in team.players]
        if preview
        else []
    )
    people = len(listed) if preview is None else preview.players_in_match or len(listed)
    return await context.render_large(
        "post.html",
        error,
        typed=form,
        entries=entries,
        least=1 if alone else _PLAYERS,
        free=0 if alone else _PLAYERS if more == "players" else _FREE,
        alone=alone,
        more_teams=able.max_teams is None and len(entries) < _MOST_TEAMS,
        result=form.text("result") or ("score" if wanted == _TEAMS else "place"),
        results=RESULTS,
        match_id=form.text("match") or new_match_id(),
        time=form.text("time") if "time" in form.fields else f"{utc(now() / 1e6):%Y-%m-%dT%H:%M}",
        preview=preview,
        previewed=listed[:MOST_PLAYERS],
        unlisted=people - len(listed[:MOST_PLAYERS]),
        unknown={name.player: name.like for name in unknown},
        alike=[name for name in unknown if name.like is not None],
        seen=seen,
        timed=pool.times != "none",
    )


def new_match_id() -> str:
    """Return an id for a match that has none: the day and a random part."""
    return f"{utc(now() / 1e6):%Y-%m-%d}-{secrets.token_hex(3)}"


def entries_of(form: Form) -> list[TeamEntry]:
    """Return the teams of a form. Their players are in fields of their own, or one on each line."""
    numbers, texts = form.texts("rank"), form.texts("players")
    # A name that was like that of a player may be replaced by it.
    old, _, new = form.text("rename").partition("\t")
    last = max((at for at in range(_MOST_TEAMS + 1) if f"players-{at}" in form.fields), default=0)
    entries = []
    for at in range(min(max(len(numbers), len(texts), last), _MOST_TEAMS)):
        lines = [*texts[at : at + 1], *form.texts(f"players-{at + 1}")]
        names = [name.strip() for text in lines for name in text.splitlines() if name.strip()]
        players = [new if name == old else name for name in names]
        entries.append(TeamEntry(numbers[at] if at < len(numbers) else "", players))
    return entries


def teams_in_query(context: PageContext) -> Form:
    """Return the teams in the query of a page as a form."""
    query = context.request.query_params
    names = [f"players-{at}" for at in range(1, _MOST_TEAMS + 1)]
    return Form({name: query.getlist(name) for name in names if name in query})


def teams_path(*segments: str, teams: Sequence[Sequence[str]]) -> str | None:
    """Return a path with teams in its query, None if it would be too long for a link."""
    pairs = [(f"players-{at}", player) for at, team in enumerate(teams, 1) for player in team]
    address = f"{path(*segments)}?{urlencode(pairs)}"
    return address if len(address) <= _LONGEST_LINK and len(teams) <= _MOST_TEAMS else None


def match_of_form(form: Form) -> MatchRequest:
    """Return the match in the fields of a form. Raises : InvalidDataError."""
    problems: list[Problem] = []
    name = form.text("match")
    if not name:
        problems.append(Problem("", None, "match", "must be given", "nothing"))
    teams = []
    for number, entry in enumerate(entries_of(form), start=1):
        names: list[ParticipationRequest | str | int] = [*entry.players]
        if not names:
            continue
        rank, score = _number_of(entry, form, number, problems)
        teams.append(TeamRequest(names, rank=rank, score=score))
    if not problems and len(teams) < 2:
        rule = "must have at least two teams with players"
        problems.append(Problem("", None, "teams", rule, str(len(teams))))
    if problems:
        raise InvalidDataError(problems, "the match cannot be read")
    title, link = (form.text(field) or None for field in ("title", "link"))
    return MatchRequest(name, teams, time=_time_of(form), title=title, link=link)


def _number_of(
    entry: TeamEntry, form: Form, number: int, problems: list[Problem]
) -> tuple[int | None, float | None]:
    """Return the place or else the score of a team, or add the problem."""
    if form.text("result") == "score":
        return None, _score_of(entry.number, number, problems)
    rank = whole_number(entry.number, RANK_DIGITS)
    if rank is None:
        where, got = f"place of team {number}", entry.number or "nothing"
        problems.append(Problem("", None, where, RANK_RULE, got))
    return rank, None


def _score_of(text: str, number: int, problems: list[Problem]) -> float:
    """Return the score of a team, or add the problem."""
    try:
        score = float(text)
    except ValueError:
        score = math.nan
    if not abs(score) <= _MOST_SCORE:
        where = f"score of team {number}"
        problems.append(Problem("", None, where, "must be a number", text or "nothing"))
    return score


def _time_of(form: Form) -> int | str | None:
    """Return the time of a form; `zone` has the minutes from local time to UTC."""
    time, zone = form.time("time"), form.number("zone", -1500, 1500)
    if zone is None or not isinstance(time, str):
        return time
    try:
        local = datetime.fromisoformat(time)
        return (local + timedelta(minutes=zone)).isoformat()
    except (ValueError, OverflowError):
        return time


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
    "rename": "renamed",
    "settings": "changed",
    "erase": "name erased",
    "initial": "set",
    "profiles": "set",
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


_ACTIONS = (
    Action(
        "void",
        "match",
        "Void",
        "The match no longer counts. It stays in the log and can be restored.",
        amending.void_match,
    ),
    Action(
        "restore",
        "match",
        "Restore",
        "The match counts again.",
        amending.restore_match,
        danger=False,
    ),
    Action(
        "correct",
        "match",
        "Correct",
        "Replaces the posted match. The log keeps both versions.",
        amending.correct_match,
        danger=False,
    ),
    Action(
        "disqualify",
        "player",
        "Disqualify",
        "The player has no place on the leaderboard. The effect says how the matches count.",
        amending.disqualify,
    ),
    Action(
        "reinstate",
        "player",
        "Reinstate",
        "The player is rated again.",
        amending.reinstate,
        danger=False,
    ),
    Action(
        "rename",
        "player",
        "Rename",
        "The player gets another id. If another player has it, both become one player. Later "
        "posts under the earlier id count for the new one.",
        amending.rename,
        danger=False,
    ),
)
#: Actions by their words in the path.
ACTIONS = {action.name: action for action in _ACTIONS}


async def amendments_page(context: PageContext) -> Response:
    """Return the list of amendments, newest first."""
    cursor = context.parameter("cursor") or None
    listed = await context.read(amending.amendments, cursor=cursor, limit=_PAGE_SIZE)
    here = ("pools", context.pool_name, "amendments")
    return context.render(
        "amendments.html",
        amendments=listed.amendments,
        kinds=KINDS,
        next=page_at(listed.next, *here),
        first=path(*here) if cursor else None,
    )


async def amendment_page(context: PageContext) -> Response:
    """Return the page of an amendment. While it is pending the page reloads itself."""
    text = context.path["seq"]
    seq = whole_number(text, 18)
    if seq is None:
        raise NotFoundError(f"no amendment {text[:50]}")
    details = await context.read(amending.amendment, seq)
    answer = context.render(
        "amendment.html",
        amendment=details,
        kinds=KINDS,
        effects=EFFECTS,
        pending=details.status == "pending",
    )
    if details.status == "pending":
        answer.headers["Refresh"] = str(_REFRESH)
    return answer


async def form_page(context: PageContext) -> Response:
    """Return the form of an action."""
    action = _action(context)
    wanted = context.id_of("id")
    if action.of == "player":
        await context.read(players.player, wanted)
    return await _amendment_form(context, action, wanted, Form())


async def perform(context: PageContext) -> Response:
    """Return a preview of an action. Perform the action if the form comes from its preview."""
    action = _action(context)
    wanted = context.id_of("id")
    correcting = action.name == "correct"
    form = await context.form(match_limits(context.service.settings) if correcting else FORM)
    try:
        request = await _request_of(context, action, wanted, form)
        seen = digest(action.name, wanted, request)
        options: dict[str, Any] = {}
        if action.name == "correct":
            options["future_seconds"] = context.service.settings.future_seconds
        if form.text("do") == seen:
            done = await context.change(action.workflow, wanted, request, **options)
            return _after(context, action, wanted, done)
        options |= {"key": context.key_number, "now": now(), "preview": True}
        preview = await context.calculate(action.workflow, wanted, request, **options)
    except EquipoiseError as error:
        return await _amendment_form(context, action, wanted, form, error)
    return await _amendment_form(context, action, wanted, form, preview=preview, seen=seen)


def _action(context: PageContext) -> Action:
    action = ACTIONS.get(context.request.url.path.split("/")[3])
    if action is None:
        raise NotFoundError("no such page")
    return action


def _after(context: PageContext, action: Action, wanted: str, done: AmendmentMessage) -> Response:
    pool = context.path["pool"]
    if done.seq is None:
        return context.redirect(
            path("pools", pool, "matches" if action.of == "match" else "players", wanted)
        )
    return context.redirect(path("pools", pool, "amendments", done.seq))


async def _request_of(
    context: PageContext, action: Action, wanted: str, form: Form
) -> MatchRequest | ReasonRequest | ReinstateRequest | RenameRequest:
    """Return the request in a form. Raises : InvalidDataError."""
    if action.name == "correct":
        return await _corrected(context, form, wanted)
    if action.of == "match":
        return form.body(ReasonRequest)
    if action.name == "rename":
        return form.body(RenameRequest)
    since = form.time("since")
    if action.name == "reinstate":
        return form.body(ReinstateRequest, since=since)
    if form.flag("all"):
        since = await context.read(amending.time_of_first_match)
        return form.body(DisqualifyRequest, since=since, effect="void")
    return form.body(DisqualifyRequest, since=since)


async def _corrected(context: PageContext, form: Form, wanted: str) -> MatchRequest:
    """Return the match with the typed fields, or the typed JSON. Raises : InvalidDataError."""
    if form.text("how") == "places":
        posted = await context.read(posted_match, wanted)
        ranks = form.texts("rank")
        scored = form.text("result") == "score"
        corrected = with_scores(posted, ranks) if scored else with_places(posted, ranks)
        if "players-1" in form.fields:
            corrected = with_players(corrected, entries_of(form))
        time, was = _time_of(form), form.text("was")
        # The form shows minutes. Without a time, the correction keeps that to the microsecond.
        return (
            corrected
            if str(time or "")[:16] == was
            else msgspec.structs.replace(corrected, time=time)
        )
    match = match_of_json(form.text("json"))
    if str(match.match) != wanted:
        raise wrong("match", "must be the id of the match", str(match.match)[:200])
    return match


async def _amendment_form(
    context: PageContext,
    action: Action,
    wanted: str,
    form: Form,
    error: EquipoiseError | None = None,
    **preview: Any,
) -> Response:
    posted, content = None, ""
    if action.name == "correct":

        def read(store: Store, pool: PoolMessage) -> tuple[MatchRequest, str]:
            posted = posted_match(store, pool.pool, wanted)
            return posted, json_of(posted)

        posted, content = await context.snapshot(read)
    elif action.of == "match":
        await context.read(matches.match, wanted, limit=1)
    return await context.render_large(
        "amendment_form.html",
        error,
        typed=form,
        action=action,
        wanted=wanted,
        only=form.text("match", context.parameter("match")),
        **({"teams": [], "entries": []} if posted is None else _fields_of(posted, form)),
        json=form.text("json") or content,
        effects=EFFECTS,
        all_matches=form.flag("all") or context.parameter("all") == "1",
        **preview,
    )


def _fields_of(posted: MatchRequest, form: Form) -> dict[str, Any]:
    """Return what the form of a correction shows: all fields, only the places of a large match."""
    people = sum(len(team.players) for team in posted.teams)
    lines = [] if len(posted.teams) > _MOST_PLACES else team_lines(posted, form.texts("rank"))
    scored = all(team.score is not None for team in posted.teams)
    if scored and len(form.texts("rank")) != len(lines):
        lines = [
            TeamEntry(f"{team.score:g}", line.players)
            for team, line in zip(posted.teams, lines, strict=False)
        ]
    typed = entries_of(form)
    played = seconds_of(posted.time)
    was = "" if played is None else f"{utc(played):%Y-%m-%dT%H:%M}"
    small = people <= MOST_PLAYERS and len(lines) <= _MOST_TEAMS
    return {
        "teams": [] if small else lines,
        "entries": (typed or lines) if small else [],
        "scored": scored,
        "was": was,
        "time": form.text("time", was),
    }


def team_lines(match: MatchRequest, ranks: Sequence[str]) -> list[TeamEntry]:
    """Return the teams with the places that were typed, or else with those that were posted."""
    places = ranks if len(ranks) == len(match.teams) else _posted_places(match)
    return [
        TeamEntry(rank, player_ids(team.players))
        for rank, team in zip(places, match.teams, strict=True)
    ]


def _posted_places(match: MatchRequest) -> list[str]:
    """Return the posted ranks, or the places that follow from the posted scores."""
    if all(team.rank is not None for team in match.teams):
        return [str(team.rank) for team in match.teams]
    return [str(place) for place in places_of(match)]


def with_places(match: MatchRequest, ranks: Sequence[str]) -> MatchRequest:
    """Return a match with these places of its teams. Raises : InvalidDataError."""
    _check_number("places", ranks, match)
    places = [whole_number(text, RANK_DIGITS) for text in ranks]
    unreadable = [text for text, place in zip(ranks, places, strict=True) if place is None]
    if unreadable:
        raise InvalidDataError([Problem("", None, "place", RANK_RULE, text) for text in unreadable])
    return _with_numbers(match, [(place, None) for place in places])


def with_scores(match: MatchRequest, scores: Sequence[str]) -> MatchRequest:
    """Return a match with these scores of its teams. Raises : InvalidDataError."""
    problems: list[Problem] = []
    parsed = [_score_of(text, number, problems) for number, text in enumerate(scores, start=1)]
    if problems:
        raise InvalidDataError(problems)
    _check_number("scores", scores, match)
    return _with_numbers(match, [(None, score) for score in parsed])


def _check_number(field: str, values: Sequence[object], match: MatchRequest) -> None:
    """Check that there is a value for each team of a match. Raises : InvalidDataError."""
    if len(values) != len(match.teams):
        raise wrong(field, f"must be {len(match.teams)}", str(len(values)))


def _with_numbers(
    match: MatchRequest, numbers: Sequence[tuple[int | None, float | None]]
) -> MatchRequest:
    """Return a match with these ranks and scores, and the time that was posted."""
    teams = [
        msgspec.structs.replace(team, rank=rank, score=score)
        for team, (rank, score) in zip(match.teams, numbers, strict=True)
    ]
    # Without a time, the correction keeps the posted one to the microsecond.
    return msgspec.structs.replace(match, teams=teams, time=None)


def with_players(match: MatchRequest, entries: Sequence[TeamEntry]) -> MatchRequest:
    """Return a match with these players; whoever stands in a place takes over what is known there.

    Raises : InvalidDataError
    """
    _check_number("teams", entries, match)
    teams = []
    for team, entry in zip(match.teams, entries, strict=True):
        players: list[ParticipationRequest | str | int] = [*entry.players]
        for at, member in enumerate(team.players[: len(players)]):
            if isinstance(member, ParticipationRequest):
                players[at] = msgspec.structs.replace(member, player=entry.players[at])
        teams.append(msgspec.structs.replace(team, players=players))
    return msgspec.structs.replace(match, teams=teams)


def json_of(match: MatchRequest) -> str:
    """Return a match as JSON, indented if it is short."""
    content = msgspec.json.encode(match)
    indented = len(content) <= _INDENTED
    return (msgspec.json.format(content, indent=2) if indented else content).decode()
