"""A player's page: rating over time, matches, and why the rating changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from starlette.responses import JSONResponse, Response

from equipoise.errors import EquipoiseError, NotFoundError
from equipoise.messages.overview import RatingCourse
from equipoise.messages.players import PlayerHistory, PlayerMessage
from equipoise.messages.pools import PoolMessage
from equipoise.web.errors import OverloadedError
from equipoise.web.page.backend import Backend
from equipoise.web.page.drawing.course import course_chart
from equipoise.web.page.explanation import Why, why_of
from equipoise.web.page.problems import problems_of
from equipoise.web.page.rendering import HEADERS
from equipoise.web.page.settings import bound, state_of
from equipoise.web.page.visit import Visit
from equipoise.web.page.wording import number, path
from equipoise.wording import counted

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


@dataclass(frozen=True, slots=True)
class PlayerView:
    """What the page shows of a player, read at one moment.

    known : ratings of the opponents whom the explanation names
    problems : why there is no explanation
    """

    player: PlayerMessage
    history: PlayerHistory
    course: RatingCourse
    why: Why | None = None
    known: Mapping[str, tuple[float, float | None]] = field(default_factory=dict)
    problems: tuple[str, ...] = ()


async def player_page(visit: Visit) -> Response:
    """Return the page of a player."""
    await visit.pool()
    name, match = visit.id_of("player"), visit.query("match") or None
    cursor = visit.query("cursor") or None
    view: PlayerView | None = None
    problems: tuple[str, ...] = ()
    try:
        view = await _with_explanation(visit, name, match, cursor)
    except OverloadedError as error:
        problems = tuple(problems_of(error))
    later = view is None and not problems
    if view is None:
        view = await visit.together(lambda backend, pool: _view(backend, pool, name, cursor=cursor))
    pool = await visit.pool()
    course, history = view.course, view.history
    label = f"Rating of {name} over {counted(len(course.ratings), 'match', 'matches')}"
    return visit.page(
        "player.html",
        player=view.player,
        differs=view.player.display != view.player.rating,
        facts=_facts(view.player),
        history=history,
        next=_next(pool.pool, name, history.next),
        course=course,
        with_band=any(course.deviations),
        chart=course_chart(course, label) if len(course.ratings) > 1 else None,
        data=path("pools", pool.pool, "course", name),
        on_scale=pool.system in _ON_SCALE,
        with_expected=any(one.expected is not None for one in history.matches),
        with_performance=any(one.performance is not None for one in history.matches),
        why=view.why,
        known=view.known,
        unexplained=list(view.problems or problems),
        later=path("pools", pool.pool, "players", name, match=match, wait=1) if later else None,
    )


async def _with_explanation(
    visit: Visit, player: str, match: str | None, cursor: str | None
) -> PlayerView | None:
    """Return all that the page shows; None where the explanation takes too long to wait for it.

    A replay may take a new generation's place at any time, so the explanation is made in the
    transaction that reads the rest.
    """
    pool, settings = await visit.pool(), visit.settings
    key = (pool.pool, pool.created, pool.generation, pool.last_seq, pool.pending)

    def read(backend: Backend) -> tuple[PoolMessage, PlayerView]:
        there = backend.pool(pool.pool)
        return there, _explained(backend, there, player=player, match=match, cursor=cursor)

    async def make() -> tuple[PoolMessage, PlayerView]:
        # Whoever asks for the same meanwhile waits for it too, so nothing in it is this visit's.
        found: tuple[PoolMessage, PlayerView] = await settings.compute(
            bound(settings.backend.together, read)
        )
        return found

    seconds = 0.8 * visit.settings.seconds if visit.query("wait") else _PATIENCE
    views = state_of(visit.request).views
    found: tuple[PoolMessage, PlayerView] | None = await views.get(
        (*key, player, match, cursor), make, seconds
    )
    if found is None:
        return None
    visit.show(found[0])
    return found[1]


def _view(backend: Backend, pool: PoolMessage, player: str, *, cursor: str | None) -> PlayerView:
    """Return what is shown of a player beside the explanation."""
    return PlayerView(
        backend.player(pool.pool, player),
        backend.history(pool.pool, player, cursor=cursor, limit=MATCHES),
        backend.course(pool.pool, player, COURSE),
    )


def _explained(
    backend: Backend, pool: PoolMessage, *, player: str, match: str | None, cursor: str | None
) -> PlayerView:
    """Return what is shown of a player, and why a match changed the rating, or why not."""
    view = _view(backend, pool, player, cursor=cursor)
    try:
        why = why_of(backend.explain(pool.pool, player, match))
    except NotFoundError as error:
        return replace(view, problems=() if match is None else tuple(problems_of(error)))
    except EquipoiseError as error:
        return replace(view, problems=tuple(problems_of(error)))
    return replace(view, why=why, known=backend.ratings(pool.pool, why.opponent_names))


def _next(pool: str, player: str, cursor: str | None) -> str | None:
    if cursor is None:
        return None
    return path("pools", pool, "players", player, cursor=cursor) + "#matches"


def _facts(player: PlayerMessage) -> list[Fact]:
    return [
        Fact(name.replace("_", " ").capitalize(), number(value, 3 if abs(value) < 10 else 0))
        for name, value in player.extra.items()
        if value is not None and name not in _HIDDEN
    ]


async def player_course(visit: Visit) -> Response:
    """Return a player's course as JSON for the chart."""
    name = visit.id_of("player")
    course = await visit.together(lambda backend, pool: backend.course(pool.pool, name, COURSE))
    pool = await visit.pool()
    performances = course.performances if pool.system in _ON_SCALE else None
    return JSONResponse(
        {
            "times": course.times,
            "played": course.played,
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
