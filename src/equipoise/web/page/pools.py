"""Pools: the list, the overview of one with its charts, and its past seasons."""

from __future__ import annotations

from markupsafe import Markup
from starlette.responses import Response

from equipoise.messages.players import OverviewMessage
from equipoise.pools import seasons
from equipoise.pools.pool.pools import pool_messages
from equipoise.pools.reading import leaderboard
from equipoise.pools.reading.matches import matches as latest_matches
from equipoise.web.page.context import PageContext
from equipoise.web.page.figures import Column, Mark, columns_chart, drift_chart, time_labels
from equipoise.web.page.wording import number, plural, utc

#: Matches and players on the overview.
LATEST, BEST = 5, 5


async def pools_page(context: PageContext) -> Response:
    """Return the pools that the sender may read."""
    every = await context.service.read(pool_messages)
    known_of = context.service.kernels.known_of
    readable = [known_of(one) for one in every if context.may_read(one)]
    ended = [one for one in readable if one.closed is not None]
    ended.sort(key=lambda one: one.closed or "", reverse=True)
    return context.render(
        "pools.html", pools=[one for one in readable if one.closed is None], archives=ended
    )


async def pool_page(context: PageContext) -> Response:
    """Return the overview of a pool."""
    await context.pool()
    overviews = context.state.overviews
    board, overview, matches = await context.snapshot(
        lambda store, pool: (
            leaderboard.leaderboard(store, pool.pool, limit=BEST),
            overviews.get(store, pool.pool),
            latest_matches(store, pool.pool, limit=LATEST),
        )
    )
    pool = await context.pool()
    return context.render(
        "pool.html",
        overview=overview,
        activity=_activity(overview),
        ratings=_ratings(overview),
        drift=drift_chart("Mean rating of active players over time", overview.drift)
        if len(overview.drift) > 1
        else None,
        best=board.players,
        differs=any(row.display != row.rating for row in board.players),
        matches=matches.matches,
        settings=[
            (name.replace("_", " "), value if isinstance(value, str) else f"{value:g}")
            for name, value in pool.parameters.items()
            if isinstance(value, str | int | float)
        ],
    )


def _activity(found: OverviewMessage) -> Markup | None:
    if not found.activity:
        return None
    bins = found.activity
    length = bins[1].start - bins[0].start if len(bins) > 1 else 86_400
    columns = [
        Column(
            one.matches,
            f"{utc(one.start):%Y-%m-%d}: {plural(one.matches, 'match', 'matches')}",
        )
        for one in bins
    ]
    below = time_labels(bins[0].start, bins[-1].start + length)
    return columns_chart(f"Matches per {found.unit}", columns, below)


def _ratings(found: OverviewMessage) -> Markup | None:
    bins = found.ratings
    if not bins:
        return None
    digits = 0 if bins[0].high - bins[0].low >= 1 else 2
    columns = [
        Column(
            one.players,
            f"{number(one.low, digits)} to {number(one.high, digits)}: "
            f"{plural(one.players, 'player')}",
        )
        for one in bins
    ]
    low, high = bins[0].low, bins[-1].high
    step = max(1, len(bins) // 5)
    below = [((one.low - low) / (high - low), number(one.low, digits)) for one in bins[::step]]
    mark = None
    if found.median is not None:
        mark = Mark((found.median - low) / (high - low), f"median {number(found.median, digits)}")
    return columns_chart("Players by rating", columns, below, mark)


async def seasons_page(context: PageContext) -> Response:
    """Return the past seasons of a pool, with links to those that the sender may read."""
    ended, every = await context.snapshot(
        lambda store, pool: (seasons.seasons(store, pool.pool).seasons, pool_messages(store)),
    )
    pool = await context.pool()
    archives = [one for one in every if one.archive_of == pool.pool]
    return context.render(
        "seasons.html",
        seasons=ended,
        readable={one.pool for one in archives if context.may_read(one)},
        just=context.query("ended"),
    )
