"""The list of pools, and the overview of one: activity, ratings, drift, latest matches."""

from __future__ import annotations

from markupsafe import Markup
from starlette.responses import Response

from equipoise.messages.overview import OverviewMessage
from equipoise.web.page.drawing.axes import moments
from equipoise.web.page.drawing.columns import Column, Mark, columns_chart
from equipoise.web.page.drawing.drift import drift_chart
from equipoise.web.page.visit import PageContext
from equipoise.web.page.wording import number, plural, utc
from equipoise.workflows import amending, pool_reading
from equipoise.workflows.pools import pool_messages

LATEST, AMENDED, BEST = 8, 5, 5


async def pools_page(context: PageContext) -> Response:
    """Return the pools that the sender may read."""
    every = await context.service.read(pool_messages)
    shown = [one for one in every if context.may_read(one)]
    ended = [one for one in shown if one.closed is not None]
    ended.sort(key=lambda one: one.closed or "", reverse=True)
    return context.render(
        "pools.html", pools=[one for one in shown if one.closed is None], archives=ended
    )


async def pool_page(context: PageContext) -> Response:
    """Return the overview of a pool."""
    await context.pool()
    overviews = context.state.overviews
    board, overview, matches, amendments = await context.snapshot(
        lambda store, pool: (
            pool_reading.leaderboard(store, pool.pool, limit=BEST),
            overviews.get(store, pool.pool),
            pool_reading.matches(store, pool.pool, limit=LATEST),
            amending.amendments(store, pool.pool, limit=AMENDED),
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
        matches=matches.matches,
        amendments=amendments.amendments,
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
    below = moments(bins[0].start, bins[-1].start + length)
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
