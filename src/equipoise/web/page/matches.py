"""Matches of a pool: the list, and one match with its changes."""

from __future__ import annotations

from starlette.responses import Response

from equipoise.web.page.visit import PageContext
from equipoise.web.page.wording import path
from equipoise.workflows import pool_reading

PAGE_SIZE = 50


async def matches_page(context: PageContext) -> Response:
    """Return matches, newest first, or a redirect to the match of the query."""
    wanted = context.query("match")[:200]
    if wanted:
        pool = await context.pool()
        return context.redirect(path("pools", pool.pool, "matches", wanted))
    cursor = context.query("cursor") or None
    found = await context.snapshot(
        lambda store, pool: pool_reading.matches(store, pool.pool, cursor=cursor, limit=PAGE_SIZE)
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
    found = await context.read(pool_reading.match, context.id_of("match"))
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
