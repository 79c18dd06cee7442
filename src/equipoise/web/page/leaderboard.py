"""The leaderboard: pages by cursor, a search by name, the neighbourhood of a player."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from starlette.responses import JSONResponse, Response

from equipoise.messages.players import LeaderboardMessage, LeaderboardRow
from equipoise.messages.pools import PoolMessage
from equipoise.store.connection import Store
from equipoise.web.page.drawing.intervals import Interval, intervals
from equipoise.web.page.rendering import HEADERS
from equipoise.web.page.visit import PageContext
from equipoise.web.page.wording import path
from equipoise.workflows import pool_reading
from equipoise.workflows.pool_people import search_players

PAGE_SIZE, MOST_FOUND, MOST_NAMES = 50, 50, 12


@dataclass(frozen=True, slots=True)
class BoardRow:
    """A player, and the picture of rating and deviation."""

    row: LeaderboardRow
    interval: Interval | None


async def leaderboard_page(context: PageContext) -> Response:
    """Return a page of the leaderboard, or the players whose names contain a text."""
    search, around = context.query("search")[:200], context.query("around") or None
    provisional = context.query("provisional") == "1"
    inactive = context.query("inactive") == "1"
    cursor = context.query("cursor") or None

    def read(
        store: Store, pool: PoolMessage
    ) -> tuple[list[LeaderboardRow], LeaderboardMessage | None]:
        if search:
            return search_players(store, pool.pool, search, limit=MOST_FOUND), None
        found = pool_reading.leaderboard(
            store,
            pool.pool,
            cursor=cursor,
            limit=PAGE_SIZE,
            provisional=provisional,
            inactive=inactive,
            around=around,
        )
        return found.players, found

    rows, board = await context.snapshot(read)
    pool = await context.pool()
    filters = {"provisional": 1 if provisional else None, "inactive": 1 if inactive else None}
    here = ("pools", pool.pool, "leaderboard")
    return context.render(
        "leaderboard.html",
        rows=board_rows(rows),
        with_spread=any(row.deviation is not None for row in rows),
        most=MOST_FOUND,
        search=search,
        around=around,
        provisional=provisional,
        inactive=inactive,
        filters=filters,
        previous=_turn(here, None if board is None else board.previous, filters),
        next=_turn(here, None if board is None else board.next, filters),
        first=path(*here, **filters),
        players_in_pool=pool.players if board is None else board.players_in_pool,
    )


def _turn(here: Sequence[str], cursor: str | None, filters: dict[str, int | None]) -> str | None:
    return None if cursor is None else path(*here, cursor=cursor, **filters)


def board_rows(rows: Sequence[LeaderboardRow]) -> list[BoardRow]:
    """Return rows with pictures on one scale."""
    drawn = intervals([(row.rating, row.deviation) for row in rows])
    return [BoardRow(row, picture) for row, picture in zip(rows, drawn, strict=True)]


async def names(context: PageContext) -> Response:
    """Return ids that contain a text, as JSON for input fields with suggestions."""
    text = context.query("text")[:200]
    found = await context.read(search_players, text, limit=MOST_NAMES) if text else []
    rows = [{"player": row.player, "rating": row.rating} for row in found]
    return JSONResponse({"players": rows}, headers=dict(HEADERS))
