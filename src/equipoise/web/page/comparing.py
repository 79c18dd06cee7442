"""The page that compares two players: both curves, the record, the chances now."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.responses import Response

from equipoise.errors import EquipoiseError, NotFoundError
from equipoise.messages.matches import AgainstMessage, PlayerMessage, PlayerSummary, RatingTimeline
from equipoise.messages.pools import PoolMessage
from equipoise.pools.reading import players
from equipoise.pools.reading.players import rating_timeline
from equipoise.pools.reading.summaries import against, player_summary
from equipoise.store.connection import Store
from equipoise.web.page.context import PageContext
from equipoise.web.page.figures import comparison
from equipoise.web.page.players import TIMELINE_MATCHES
from equipoise.web.page.rendering import path

#: Matches in the table.
_MATCHES = 25


@dataclass(frozen=True, slots=True)
class ComparedPlayer:
    """One of the two players."""

    player: PlayerMessage
    summary: PlayerSummary
    timeline: RatingTimeline
    place: int | None

    @classmethod
    def of(cls, store: Store, pool: str, player: str) -> ComparedPlayer:
        """Return a player as of now. Raises : NotFoundError."""
        return cls(
            players.player(store, pool, player),
            player_summary(store, pool, player),
            rating_timeline(store, pool, player, most=TIMELINE_MATCHES),
            players.ranked_players(store, pool, player)[0],
        )


async def compare_page(context: PageContext) -> Response:
    """Return the comparison of two players, or the form that asks for them."""
    first, second = context.query("first")[:200], context.query("second")[:200]
    cursor = context.query("cursor") or None

    def read(store: Store, pool: PoolMessage) -> tuple[list[ComparedPlayer], AgainstMessage]:
        meetings = against(store, pool.pool, first, second, cursor=cursor, limit=_MATCHES)
        return [ComparedPlayer.of(store, pool.pool, name) for name in (first, second)], meetings

    await context.pool()
    both: list[ComparedPlayer] = []
    meetings = chart = error = None
    if first and second:
        try:
            both, meetings = await context.snapshot(read)
        except EquipoiseError as problem:
            moved = await context.with_present_ids() if isinstance(problem, NotFoundError) else None
            if moved is not None:
                return moved
            error = problem
        else:
            label = f"Ratings of {first} and {second} over time"
            chart = comparison(both[0].timeline, both[1].timeline, label)
    pool = await context.pool()
    here = ("pools", pool.pool, "compare")
    more = None if meetings is None else meetings.next
    return context.render(
        "compare.html",
        error,
        first=first,
        second=second,
        both=both,
        found=meetings,
        chart=chart,
        with_scores=meetings is not None
        and any(meeting.line.opponent_score is not None for meeting in meetings.meetings),
        next=None if more is None else path(*here, first=first, second=second, cursor=more),
        newest=path(*here, first=first, second=second) if cursor else None,
    )
