"""Matches of a pool: the list, and one match with what it did to everybody in it."""

from __future__ import annotations

from starlette.responses import Response

from equipoise.web.page.visit import Visit
from equipoise.web.page.wording import path

PAGE_SIZE = 50


async def matches_page(visit: Visit) -> Response:
    """Return matches, newest first, or the way to one that is named."""
    wanted = visit.query("match")[:200]
    if wanted:
        pool = await visit.pool()
        return visit.go(path("pools", pool.pool, "matches", wanted))
    cursor = visit.query("cursor") or None
    found = await visit.together(
        lambda backend, pool: backend.matches(pool.pool, cursor=cursor, limit=PAGE_SIZE)
    )
    pool = await visit.pool()
    here = ("pools", pool.pool, "matches")
    return visit.page(
        "matches.html",
        matches=found.matches,
        next=None if found.next is None else path(*here, cursor=found.next),
        first=path(*here) if visit.query("cursor") else None,
    )


async def match_page(visit: Visit) -> Response:
    """Return a match."""
    await visit.pool()
    found = await visit.ask(visit.backend.match, visit.id_of("match"))
    people = [one for team in found.teams for one in team.players]
    alone = all(len(team.players) == 1 for team in found.teams)
    return visit.page(
        "match.html",
        match=found,
        alone=alone,
        with_expected=any(one.expected is not None for one in people),
        with_performance=any(one.performance is not None for one in people),
        uncounted=sum(not one.counted for one in people),
        people=len(people),
    )
