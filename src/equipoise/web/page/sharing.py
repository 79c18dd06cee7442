"""What readers take along: badges of players, and tables as CSV."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import polars as pl
from markupsafe import Markup
from starlette.responses import Response

from equipoise.formats.delimited import escaped
from equipoise.markup import element
from equipoise.messages.pools import PoolMessage
from equipoise.pools.reading import matches, players
from equipoise.store.connection import Store
from equipoise.web.page.context import PageContext
from equipoise.web.page.rendering import digits_of, number

#: Rows of a file at most; `db export` and the API have the rest.
MOST_ROWS = 1_000
#: Width of a letter of a badge, and the height of a badge, pixels.
_LETTER, _BADGE = 6.6, 20
_FONT = "Verdana, DejaVu Sans, sans-serif"


async def badge(context: PageContext) -> Response:
    """Return a picture with the rating of a player, for other sites."""
    wanted = context.parameter("player")
    standing = await context.read(players.player, wanted)
    pool = context.pool
    title = (pool.title or pool.pool)[:40]
    rating = number(standing.display, digits_of(pool))
    text = f"{rating} (provisional)" if standing.provisional else rating
    return context.file(
        str(badge_svg((standing.name or standing.player)[:40], text, title)).encode(),
        "image/svg+xml",
    )


def badge_svg(name: str, rating: str, pool: str) -> Markup:
    """Return a badge: the name of a player on grey, the rating on blue."""
    left, right = (round(_LETTER * len(text) + 12) for text in (name, rating))

    def part(x: int, width: int, fill: str, text: str) -> list[Markup]:
        middle = x + width / 2
        return [
            element("rect", x=x, width=width, height=_BADGE, fill=fill),
            element(
                "text",
                text,
                x=middle,
                y=14,
                fill="#fff",
                text_anchor="middle",
                textLength=width - 12,
            ),
        ]

    return element(
        "svg",
        element("title", f"{name}: {rating} in {pool}"),
        element(
            "g",
            *part(0, left, "#444a55", name),
            *part(left, right, "#1464c8", rating),
            font_family=_FONT,
            font_size=11,
        ),
        xmlns="http://www.w3.org/2000/svg",
        width=left + right,
        height=_BADGE,
        role="img",
        aria_label=f"{name}: {rating}",
    )


async def leaderboard_csv(context: PageContext) -> Response:
    """Return the best players as CSV, with the filters of the page of the leaderboard."""

    def read(store: Store, pool: PoolMessage) -> list[dict[str, Any]]:
        board = players.leaderboard(
            store,
            pool.pool,
            limit=MOST_ROWS,
            provisional=context.parameter("provisional") == "1",
            inactive=context.parameter("inactive") == "1",
        )
        columns = (
            "place",
            "player",
            "name",
            "display",
            "rating",
            "deviation",
            "matches",
            "last_time",
        )
        return [{name: getattr(row, name) for name in columns} for row in board.players]

    rows = await context.snapshot(read)
    return csv_file(context, context.pool_name, "leaderboard", rows)


async def history_csv(context: PageContext) -> Response:
    """Return the last matches of a player as CSV."""
    wanted = context.parameter("player")

    def read(store: Store, pool: PoolMessage) -> list[dict[str, Any]]:
        history = players.player_history(store, pool.pool, wanted, limit=MOST_ROWS)
        columns = ["rank", "teams", "result", "score", "opponent_score", "chance", "expected"]
        columns += ["rating_before", "rating", "deviation", "change", "performance"]
        return [
            {
                "match": line.match,
                "title": line.title,
                "time": line.played if line.played is not None else line.time,
                "opponents": ", ".join(other.player for other in line.opponents),
                **{name: getattr(line, name) for name in columns},
            }
            for line in history.matches
        ]

    rows = await context.snapshot(read)
    return csv_file(context, context.pool_name, wanted, rows)


async def match_csv(context: PageContext) -> Response:
    """Return the players of a match as CSV, all of them."""
    wanted = context.parameter("match")

    def read(store: Store, pool: PoolMessage) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = []
        cursor = None
        while True:
            details = matches.match(store, pool.pool, wanted, cursor=cursor, limit=MOST_ROWS)
            columns = ("rating_before", "rating", "deviation", "change", "expected", "performance")
            rows += [
                {
                    "place": team.rank,
                    "team": team.team,
                    "score": team.score,
                    "player": member.player,
                    **{name: getattr(member, name) for name in columns},
                    **{f"statistics.{name}": member.statistics[name] for name in member.statistics},
                }
                for team in details.teams
                for member in team.players
            ]
            cursor = details.next
            if cursor is None:
                return rows

    rows = await context.snapshot(read)
    return csv_file(context, context.pool_name, wanted, rows)


def csv_file(
    context: PageContext, pool: str, name: str, rows: Sequence[dict[str, Any]]
) -> Response:
    """Return rows as a file POOL-NAME.csv. Text that a spreadsheet would run is escaped."""
    frame = escaped(pl.DataFrame(rows, infer_schema_length=None))
    content = io.BytesIO()
    frame.write_csv(content)
    plain = "".join(
        character if character.isascii() and character.isalnum() else "-" for character in name
    )[:60]
    answer = context.file(content.getvalue(), "text/csv; charset=utf-8")
    answer.headers["Content-Disposition"] = f'attachment; filename="{pool}-{plain}.csv"'
    return answer
