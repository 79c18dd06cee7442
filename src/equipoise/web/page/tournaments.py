"""A tournament: standings, performances, and who beat whom.

The games come from a file that is dropped, chosen or pasted, or from a pool, where they are those
of some days. The cross table has the points that each player took from each other player.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any

import msgspec
import numpy as np
from markupsafe import Markup
from starlette.responses import Response

from equipoise.arrays import Floats
from equipoise.charts.theme import Scale, around
from equipoise.data.games import Games
from equipoise.errors import EquipoiseError
from equipoise.markup import element
from equipoise.messages.histories import PerformanceMessage, PerformanceRow
from equipoise.messages.pools import PoolMessage
from equipoise.pools.reading.overview import games_between
from equipoise.store.connection import Store
from equipoise.tournament.tie_breaks import CODES, TieBreak
from equipoise.web.http.endpoints import check_sweeps, check_table, compression_of
from equipoise.web.page.context import (
    EMPTY,
    Form,
    PageContext,
    packed,
    upload_limits,
    upload_of,
    wrong,
)
from equipoise.web.page.figures import bar, dot, picture, upright
from equipoise.web.page.rendering import halves, path, seconds_of, utc
from equipoise.web.page.sharing import csv_file

#: Players in the table, sweeps, and ids of a sweep.
MOST_PLAYERS, MOST_SWEEPS, MOST_IDS = 500, 50, 12
FORMATS = {
    "pgn": "PGN",
    "trf": "TRF",
    "csv": "CSV",
    "tsv": "TSV",
    "jsonl": "JSON lines",
    "json": "JSON",
}
#: Tie-breaks with which the form begins: they need no rounds.
TIE_BREAKS = "DE, SB, WON"
_SUFFIXES = {"trfx": "trf", "trf16": "trf", "txt": "trf", "ndjson": "jsonl"}
_HEIGHT = 20
#: Players in a cross table, which would be unreadable with more.
MOST_IN_CROSS_TABLE = 40


@dataclass(frozen=True, slots=True)
class Cell:
    """The points of a player against another; share : from 0 for none to 4 for all of them."""

    points: str
    games: str
    share: int

    @property
    def single(self) -> bool:
        """Whether it was one game."""
        return self.games == "1"


@dataclass(frozen=True, slots=True)
class CrossLine:
    """A row of the cross table; None for players who did not meet."""

    player: str
    cells: list[Cell | None]


@dataclass(frozen=True, slots=True)
class Rated:
    """The performance table of games, in the order of the places, and the cross table.

    tie_breaks : their names; `extra` of the rows has the values
    cross : empty for more than MOST_IN_CROSS_TABLE players
    before, after : ratings in a pool, empty for games of a file
    """

    message: PerformanceMessage
    cross: list[CrossLine]
    tie_breaks: tuple[TieBreak, ...] = ()
    before: Mapping[str, float] = field(default_factory=dict)
    after: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Standing:
    """A row of the standings.

    before : rating before the first game, None if unknown
    change : of the rating: that in the pool, or FIDE's with the K-factor of the form
    """

    place: int | None
    row: PerformanceRow
    tie_breaks: list[float | None]
    before: float | None
    change: float | None

    @property
    def after(self) -> float | None:
        """Return the rating after the last game, None if unknown."""
        return None if self.before is None or self.change is None else self.before + self.change


async def tournament(context: PageContext) -> Response:
    """Return the tables of a tournament."""
    form = await context.form(upload_limits(context.service.settings))
    try:
        content, kind, name = _games(form, context.service.settings.body_bytes)
        confidence = _confidence(form)
        average = form.number("average", -1e6, 1e6)
        check_table(content, kind)
        chosen = form.text("tie_breaks", TIE_BREAKS)
        factor = form.number("k_factor", 1, 1000)
        work = context.service.calculate(
            performance_of, content, kind, confidence, average, chosen, factor
        )
        rated = await context.while_connected(work)
    except EquipoiseError as error:
        return await tournament_page(context, form, error)
    if form.text("do") == "csv":
        return csv_file(context, "tournament", name.partition(".")[0], _rows_of(rated))
    # A form with scripts sends the file again beside it, so a large one is not kept.
    small = len(content) <= context.service.settings.body_bytes // 4
    held = packed(content) if small and not form.text("games") else ""
    return await tournament_page(context, form, table=table_of(rated), name=name, held=held)


async def pool_tournament(context: PageContext) -> Response:
    """Return the tournament of some days of a pool: the page, or the standings as CSV."""
    pool = await context.snapshot(lambda _, pool: pool)
    since, until = _days(context, pool)
    chosen = context.parameter("tie_breaks", TIE_BREAKS)
    shown: dict[str, Any] = {"since": since, "until": until, "tie_breaks": chosen}
    shown |= {"most_crossed": MOST_IN_CROSS_TABLE, "name": "", "table": None, "download": None}
    if not since and not until:
        return context.render("pool_tournament.html", **shown)
    try:
        first, last = (_day(text, name) for text, name in ((since, "from"), (until, "until")))
        rated = await context.calculate(tournament_in_pool, first, last, chosen)
    except EquipoiseError as error:
        return context.render("pool_tournament.html", error, **shown)
    if context.parameter("format") == "csv":
        return csv_file(context, pool.pool, f"{first} {last}", _rows_of(rated))
    here = {"from": since, "until": until, "tie_breaks": chosen, "format": "csv"}
    shown["download"] = path("pools", pool.pool, "tournament", **here)
    return context.render("pool_tournament.html", **(shown | {"table": table_of(rated)}))


def _days(context: PageContext, pool: PoolMessage) -> tuple[str, str]:
    """Return the days in the query, or else those of the month of the last match as texts."""
    since, until = context.parameter("from")[:20], context.parameter("until")[:20]
    last = seconds_of(pool.last_time)
    if since or until or last is None or pool.times == "none":
        return since or until, until or since
    day = utc(last).date()
    return str(day.replace(day=1)), str(day)


def _day(text: str, name: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise wrong(name, "must be a day such as 2026-10-31", text) from None


def tournament_in_pool(store: Store, pool: str, first: date, last: date, tie_breaks: str) -> Rated:
    """Return the tournament of the games of a pool from one day to another.

    Raises : as `games_between`; InvalidParameterError for unknown tie-breaks
    """
    games = games_between(store, pool, first, last)
    results = {1.0: "1-0", 0.5: "1/2-1/2", 0.0: "0-1"}
    lines = [
        {
            "white": game.first,
            "black": game.second,
            "result": results[game.points],
            "white_elo": round(game.first_rating, 3),
            "black_elo": round(game.second_rating, 3),
        }
        for game in games.games
    ]
    rated = performance_of(
        msgspec.json.Encoder().encode_lines(lines), "jsonl", 0.95, None, tie_breaks
    )
    return replace(rated, before=games.before, after=games.after)


def performance_of(
    content: bytes,
    kind: str,
    confidence: float,
    average: float | None,
    tie_breaks: str = "",
    k_factor: float | None = None,
) -> Rated:
    """Return the standings, the performance table and the cross table of games.

    tie_breaks : names or FIDE's codes, separated by commas
    k_factor : of FIDE's rating changes, None for none
    """
    from equipoise.analysis.performance import Anchors, PerformanceRequest, tie_breaks_of
    from equipoise.analysis.performance.computation import message_of, rate_performance

    names = tuple(name for name in re.split(r"[,;\s]+", tie_breaks) if name)
    request = PerformanceRequest(
        games=io.BytesIO(content),
        format=kind,
        confidence=confidence,
        anchor=Anchors(average),
        tie_breaks=tie_breaks_of(names, "tie-breaks"),
        # Lists of games rarely tell what a round without a game was; reports of tournaments do.
        unplayed="fide" if kind in ("trf", "pgn") else "ignore",
        order="points",
        k_factor=k_factor,
    )
    answer = rate_performance(request)
    message, games = check_sweeps(message_of(answer)), answer.reading.games
    players = [row.player for row in message.players]
    if games is None or len(players) > MOST_IN_CROSS_TABLE:
        return Rated(message, [], request.tie_breaks)
    texts = [str(player) for player in players]
    return Rated(message, cross_lines(texts, *head_to_head(games, players)), request.tie_breaks)


def standings_of(rated: Rated) -> list[Standing]:
    """Return all players in the order of their places."""
    columns = [name.replace("-", "_") for name in rated.tie_breaks]
    shown = []
    for row in rated.message.players:
        place, player = row.extra.get("place"), str(row.player)
        before, change = row.rating, row.extra.get("fide_change")
        if player in rated.before:
            before = rated.before[player]
            change = rated.after[player] - before
        place = None if place is None else int(place)
        shown.append(
            Standing(place, row, [row.extra.get(name) for name in columns], before, change)
        )
    return shown


def _rows_of(rated: Rated) -> list[dict[str, Any]]:
    """Return the standings as rows of a file."""
    return [
        {
            "place": line.place,
            "player": str(line.row.player),
            "points": line.row.points,
            "games": line.row.games,
            **dict(zip(rated.tie_breaks, line.tie_breaks, strict=True)),
            "performance": line.row.ppr,
            "error": line.row.error,
            "tpr": line.row.tpr,
            "rating_before": line.before,
            "rating_after": rated.after.get(str(line.row.player), line.after),
            "change": line.change,
        }
        for line in standings_of(rated)
    ]


def _games(form: Form, most: int) -> tuple[bytes, str, str]:
    """Return the games, their format, and the name of their file. Raises : InvalidDataError."""
    content, name = upload_of(form, "games", most)
    if not content.strip():
        raise wrong("games", "must be uploaded or pasted", "nothing")
    compression = compression_of(content)
    if compression is not None:
        raise wrong("games", "must be uncompressed text: save a workbook as CSV", compression)
    kind = form.choice("format", list(FORMATS)) if form.text("format") else ""
    return content, kind or guessed(name, content), name


def guessed(name: str, content: bytes) -> str:
    """Return the format of games, by the name of their file or by their first characters."""
    suffix = name.rpartition(".")[2].lower() if "." in name else ""
    suffix = _SUFFIXES.get(suffix, suffix)
    if suffix in FORMATS:
        return suffix
    head = content[:4096].removeprefix(b"\xef\xbb\xbf").lstrip()
    if head.startswith((b"[Event", b"[Site", b"[White", b"[Date", b"[Round", b"%", b"1.")):
        return "pgn"
    if head.startswith((b"012 ", b"001 ", b"022 ", b"032 ", b"042 ", b"###")):
        return "trf"
    if head.startswith((b"{", b"[")):
        return "jsonl" if head.startswith(b"{") else "json"
    return "tsv" if b"\t" in head.partition(b"\n")[0] else "csv"


def _confidence(form: Form) -> float:
    if "confidence" not in form.fields:
        return 0.95
    value = form.number("confidence", 0, 100)
    if value is None or not 0 < value < 100:
        rule = "must be a percentage between 0 and 100"
        raise wrong("confidence", rule, form.text("confidence")[:50])
    return value / 100


def table_of(rated: Rated) -> dict[str, Any]:
    """Return what the page shows of a tournament, with pictures that are all on one scale."""
    message = rated.message
    solved = message.exists or message.regularised
    # Performances come in their own order, so that pictures fall from the right to the left.
    best = sorted(message.players, key=lambda row: _order(row, solved))
    rows = best[:MOST_PLAYERS]
    values = [row.ppr if solved else row.class_ppr for row in rows]
    ends = [
        end
        for row, value in zip(rows, values, strict=True)
        if value is not None
        for end in (value - (row.error or 0.0), value + (row.error or 0.0))
    ]
    scale = around(ends, 2.0, 98.0, []) if ends else None
    return {
        "message": message,
        "cross": rated.cross,
        "codes": [(CODES[name], name) for name in rated.tie_breaks],
        "standings": standings_of(rated)[:MOST_PLAYERS],
        "lines": [
            (row, value, None if scale is None else _picture(row, value, scale))
            for row, value in zip(rows, values, strict=True)
        ],
        "more": len(message.players) - len(rows),
        "axis": None if scale is None else _axis(scale),
        "sweeps": message.sweeps[:MOST_SWEEPS],
        "most_ids": MOST_IDS,
        "more_sweeps": max(len(message.sweeps) - MOST_SWEEPS, 0),
        "with_given": any(row.rating is not None for row in rows),
        "with_rated": any(row.tpr is not None for row in rows),
    }


def _order(row: PerformanceRow, solved: bool) -> tuple[float, ...]:
    """Return the sort key of a performance: its class, then the rating, the best first."""
    value = row.ppr if solved else row.class_ppr
    group = row.class_ if row.class_ is not None and not solved else 0
    return (group, math.inf if value is None else -value, -row.points)


def _picture(row: PerformanceRow, value: float | None, scale: Scale) -> Markup | None:
    """Return a picture: the rating as a dot on its error bar, TPR as a tick."""
    grid = [upright("grid", scale.at(mark), -30, 60) for mark, _ in scale.ticks(4)]
    marks = [element("g", grid)]
    if value is not None and row.error is not None:
        low, high = scale.at(value - row.error), scale.at(value + row.error)
        marks.append(bar(low, high, _HEIGHT))
    if value is not None:
        marks.append(dot(scale.at(value), _HEIGHT))
    if row.tpr is not None and scale.holds(row.tpr):
        marks.append(upright("tpr", scale.at(row.tpr), 3, _HEIGHT - 3))
    return picture("interval tall", _HEIGHT, marks)


def _axis(scale: Scale) -> Markup:
    names = [
        element("text", text, x=f"{scale.at(value):.2f}%", y=12, text_anchor="middle")
        for value, text in scale.ticks(4)
    ]
    return picture("axis", 16, names)


async def tournament_page(
    context: PageContext, form: Form = EMPTY, error: EquipoiseError | None = None, **result: Any
) -> Response:
    """Return the form, and the tables of a tournament."""
    return context.render(
        "tournament.html",
        error,
        typed=form,
        formats=FORMATS,
        most_crossed=MOST_IN_CROSS_TABLE,
        games=form.fields.get("games", [""])[0][:200_000],
        confidence=form.text("confidence", "95"),
        tie_breaks=form.text("tie_breaks", TIE_BREAKS),
        download=None,
        **{"table": None, **result},
    )


def head_to_head(games: Games, players: Sequence[Any]) -> tuple[Floats, Floats]:
    """Return the points and games of each player (row) against each other (column).

    players : ids of all players, in the order of rows and columns
    """
    place = {player: at for at, player in enumerate(players)}
    to = np.array([place[player] for player in games.player_ids.tolist()], dtype=np.int64)
    white, black, weight = to[games.white], to[games.black], games.weights
    points = np.zeros((len(players), len(players)))
    played = np.zeros_like(points)
    np.add.at(points, (white, black), games.points)
    np.add.at(points, (black, white), weight - games.points)
    np.add.at(played, (white, black), weight)
    np.add.at(played, (black, white), weight)
    return points, played


def cross_lines(players: list[str], points: Floats, played: Floats) -> list[CrossLine]:
    """Return the rows of the cross table."""
    rows = zip(players, points.tolist(), played.tolist(), strict=True)
    return [
        CrossLine(player, [_cell(*pair) for pair in zip(won, games, strict=True)])
        for player, won, games in rows
    ]


def _cell(points: float, games: float) -> Cell | None:
    if games <= 0:
        return None
    share = points / games
    class_ = 4 * int(share) if share in (0.0, 1.0) else 2 + (share > 0.5) - (share < 0.5)
    return Cell(halves(points), halves(games), class_)
