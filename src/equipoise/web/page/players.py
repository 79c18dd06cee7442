"""A player's page: rating over time, matches, and why the rating changed."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.responses import JSONResponse, Response

from equipoise.errors import EquipoiseError, NotFoundError
from equipoise.messages.explain import ExplainMessage
from equipoise.messages.players import PlayerMessage
from equipoise.web.page.drawing.course import course_chart
from equipoise.web.page.explanation import Why, why_of
from equipoise.web.page.problems import problems_of
from equipoise.web.page.rendering import HEADERS
from equipoise.web.page.settings import state_of
from equipoise.web.page.visit import Visit
from equipoise.web.page.wording import number, path

MATCHES, COURSE = 25, 5_000
#: Seconds that a page waits for an explanation before it is shown without.
_PATIENCE = 0.3

#: Systems whose performances are on the scale of ratings.
_ON_SCALE = frozenset({"elo-mmr", "elo-mmx", "codeforces", "topcoder"})
#: Numbers that only machines care for.
_HIDDEN = frozenset({"form_matches"})


@dataclass(frozen=True, slots=True)
class Fact:
    """A number of a player under its name."""

    name: str
    value: str


async def player_page(visit: Visit) -> Response:
    """Return the page of a player."""
    pool = await visit.pool()
    name = visit.id_of("player")
    player = await visit.ask(visit.backend.player, name)
    history = await visit.ask(
        visit.backend.history, name, cursor=visit.query("cursor") or None, limit=MATCHES
    )
    course = await visit.ask(visit.backend.course, name, COURSE)
    match = visit.query("match") or None
    explained = await _explained(visit, name, match)
    why = explained.why
    known = {} if why is None else await visit.ask(visit.backend.ratings, why.opponent_names)
    label = f"Rating of {name} over {len(course.ratings):,} matches"
    return visit.page(
        "player.html",
        player=player,
        differs=player.display != player.rating,
        facts=_facts(player),
        history=history,
        next=_next(pool.pool, name, history.next),
        course=course,
        with_band=any(course.deviations),
        chart=course_chart(course, label) if len(course.ratings) > 1 else None,
        data=path("pools", pool.pool, "course", name),
        on_scale=pool.system in _ON_SCALE,
        with_expected=any(one.expected is not None for one in history.matches),
        with_performance=any(one.performance is not None for one in history.matches),
        why=why,
        known=known,
        unexplained=list(explained.problems),
        later=path("pools", pool.pool, "players", name, match=match, wait=1)
        if explained.later
        else None,
    )


def _next(pool: str, player: str, cursor: str | None) -> str | None:
    if cursor is None:
        return None
    return path("pools", pool, "players", player, cursor=cursor) + "#matches"


@dataclass(frozen=True, slots=True)
class Explained:
    """An explanation, or that it is still being worked out, or why there is none."""

    why: Why | None = None
    later: bool = False
    problems: tuple[str, ...] = ()


async def _explained(visit: Visit, player: str, match: str | None) -> Explained:
    """Return the explanation of a match; a page does not wait for long unless it is asked to."""
    pool = await visit.pool()
    key = (pool.pool, pool.generation, pool.last_seq, pool.pending, player, match)
    backend = visit.backend

    async def make() -> ExplainMessage:
        found: ExplainMessage = await visit.settings.compute(
            lambda: backend.explain(pool.pool, player, match)
        )
        return found

    seconds = 0.8 * visit.settings.seconds if visit.query("wait") else _PATIENCE
    try:
        found = await state_of(visit.request).explanations.get(key, make, seconds)
    except NotFoundError as error:
        return Explained(problems=() if match is None else tuple(problems_of(error)))
    except EquipoiseError as error:
        return Explained(problems=tuple(problems_of(error)))
    return Explained(later=True) if found is None else Explained(why=why_of(found))


def _facts(player: PlayerMessage) -> list[Fact]:
    return [
        Fact(name.replace("_", " ").capitalize(), number(value, 3 if abs(value) < 10 else 0))
        for name, value in player.extra.items()
        if value is not None and name not in _HIDDEN
    ]


async def player_course(visit: Visit) -> Response:
    """Return a player's course as JSON for the chart."""
    pool = await visit.pool()
    course = await visit.ask(visit.backend.course, visit.id_of("player"), COURSE)
    performances = course.performances if pool.system in _ON_SCALE else None
    return JSONResponse(
        {
            "times": course.times,
            "ratings": _rounded(course.ratings),
            "deviations": _rounded(course.deviations),
            "changes": _rounded(course.changes),
            "performances": None if performances is None else _rounded(performances),
            "matches": course.matches,
            "ranks": course.ranks,
            "teams": course.teams,
        },
        headers=dict(HEADERS),
    )


def _rounded(values: list[float] | list[float | None]) -> list[float | None]:
    return [None if one is None else round(one, 3) for one in values]
