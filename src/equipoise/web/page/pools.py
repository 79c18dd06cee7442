"""The list of pools, and how one of them does: activity, ratings, drift, what came last."""

from __future__ import annotations

from markupsafe import Markup
from starlette.responses import Response

from equipoise.messages.amendments import AmendmentPage
from equipoise.messages.matches import MatchPage
from equipoise.messages.overview import OverviewMessage
from equipoise.messages.players import LeaderboardMessage
from equipoise.messages.pools import PoolMessage
from equipoise.web.page.backend import Backend
from equipoise.web.page.drawing.axes import moments
from equipoise.web.page.drawing.columns import Column, Mark, columns_chart
from equipoise.web.page.drawing.drift import drift_chart
from equipoise.web.page.settings import bound
from equipoise.web.page.visit import Visit
from equipoise.web.page.wording import number, plural, utc

LATEST, AMENDED, BEST = 8, 5, 5


async def pools_page(visit: Visit) -> Response:
    """Return the pools that whoever asks may read."""
    every = await visit.settings.read(bound(visit.backend.pools))
    shown = [one for one in every if visit.may_read(one)]
    ended = [one for one in shown if one.closed is not None]
    ended.sort(key=lambda one: one.closed or "", reverse=True)
    return visit.page(
        "pools.html", pools=[one for one in shown if one.closed is None], archives=ended
    )


async def pool_page(visit: Visit) -> Response:
    """Return how a pool does."""
    await visit.pool()
    board, overview, matches, amendments = await visit.together(_read)
    pool = await visit.pool()
    return visit.page(
        "pool.html",
        overview=overview,
        activity=_activity(overview),
        ratings=_ratings(overview),
        drift=drift_chart("Mean rating of those who played, over time", overview.drift)
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


def _read(
    backend: Backend, pool: PoolMessage
) -> tuple[LeaderboardMessage, OverviewMessage, MatchPage, AmendmentPage]:
    """Return what the page of a pool shows."""
    return (
        backend.leaderboard(
            pool.pool, cursor=None, limit=BEST, provisional=False, inactive=False, around=None
        ),
        backend.overview(pool.pool),
        backend.matches(pool.pool, cursor=None, limit=LATEST),
        backend.amendments(pool.pool, cursor=None, limit=AMENDED),
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
