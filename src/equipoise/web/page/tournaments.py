"""The performance table of a tournament, from a file that is dropped, chosen or pasted.

Below it comes the cross table: the points that each player took from each other player.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup
from starlette.responses import Response

from equipoise.arrays import Floats
from equipoise.charts.theme import Scale, around
from equipoise.data.games import Games
from equipoise.errors import EquipoiseError
from equipoise.markup import element
from equipoise.messages.histories import PerformanceMessage, PerformanceRow
from equipoise.web.http.endpoints import check_sweeps, check_table, compression_of, while_connected
from equipoise.web.page.context import Form, PageContext, upload_limits, wrong
from equipoise.web.page.figures import bar, dot, picture
from equipoise.web.page.rendering import halves

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
_SUFFIXES = {"trfx": "trf", "trf16": "trf", "txt": "trf", "ndjson": "jsonl"}
_HEIGHT = 20
#: Players in a cross table, which would be unreadable with more.
MOST_IN_CROSS_TABLE = 40
#: Classes of the share of points, from none to all.
_NONE, _LESS, _HALF, _MORE, _ALL = range(5)


class HeadToHead(NamedTuple):
    """Points and games of every player (row) against every other (column), shape (N, N)."""

    points: Floats
    games: Floats


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
class Line:
    """A row of the table, with a picture of rating and error."""

    row: PerformanceRow
    value: float | None
    picture: Markup | None


@dataclass(frozen=True, slots=True)
class SweepLine:
    """A sweep: its winners took every point from its losers."""

    winners: list[str]
    more_winners: int
    losers: list[str]
    more_losers: int
    games: float


@dataclass(frozen=True, slots=True)
class Rated:
    """The performance table of games, and the cross table.

    cross : empty for more than MOST_IN_CROSS_TABLE players
    """

    message: PerformanceMessage
    cross: list[CrossLine]


@dataclass(frozen=True, slots=True)
class Table:
    """The performance table as the page shows it."""

    message: PerformanceMessage
    cross: list[CrossLine]
    lines: list[Line]
    more: int
    axis: Markup | None
    sweeps: list[SweepLine]
    more_sweeps: int
    with_given: bool
    with_rated: bool


async def tournament_page(context: PageContext) -> Response:
    """Return the form."""
    context.need_calculations()
    return _tournament_form(context, Form())


async def tournament(context: PageContext) -> Response:
    """Return the tables of a tournament."""
    context.need_calculations()
    form = await context.form(upload_limits(context.service.settings))
    try:
        content, kind, name = _games(form)
        confidence = _confidence(form)
        average = form.number("average", -1e6, 1e6)
        check_table(content, kind)
        work = context.service.calculate(performance_of, content, kind, confidence, average)
        found = await while_connected(context.request.receive, work)
    except EquipoiseError as error:
        return _tournament_form(context, form, error)
    return _tournament_form(context, form, table=table_of(found), name=name)


def performance_of(content: bytes, kind: str, confidence: float, average: float | None) -> Rated:
    """Return the performance table and the cross table of games."""
    from equipoise.analysis.performance import Anchors, PerformanceRequest
    from equipoise.analysis.performance.computation import message_of, rate_performance

    request = PerformanceRequest(
        games=io.BytesIO(content), format=kind, confidence=confidence, anchor=Anchors(average)
    )
    answer = rate_performance(request)
    message, games = check_sweeps(message_of(answer)), answer.reading.games
    players = [row.player for row in message.players]
    if games is None or len(players) > MOST_IN_CROSS_TABLE:
        return Rated(message, [])
    names = [str(player) for player in players]
    return Rated(message, cross_lines(names, head_to_head(games, players)))


def _games(form: Form) -> tuple[bytes, str, str]:
    """Return the games, their format, and the name of their file. Raises : InvalidDataError."""
    upload = form.files.get("file")
    name, content = "", form.fields.get("games", [""])[0].encode("utf-8", "replace")
    if upload is not None and upload.content:
        name, content = upload.name, upload.content
    if not content.strip():
        raise wrong("games", "must be uploaded or pasted", "nothing")
    compression = compression_of(content)
    if compression is not None:
        raise wrong("games", "must be uncompressed text", compression)
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


def table_of(rated: Rated) -> Table:
    """Return the performance table with its pictures, all on one scale."""
    found = rated.message
    solved = found.exists or found.regularised
    rows = found.players[:MOST_PLAYERS]
    values = [row.ppr if solved else row.class_ppr for row in rows]
    ends = [
        end
        for row, value in zip(rows, values, strict=True)
        if value is not None
        for end in (value - (row.error or 0.0), value + (row.error or 0.0))
    ]
    scale = around(ends, 2.0, 98.0, []) if ends else None
    return Table(
        message=found,
        cross=rated.cross,
        lines=[
            Line(row, value, None if scale is None else _picture(row, value, scale))
            for row, value in zip(rows, values, strict=True)
        ],
        more=len(found.players) - len(rows),
        axis=None if scale is None else _axis(scale),
        sweeps=[
            SweepLine(
                [str(one) for one in sweep.winners[:MOST_IDS]],
                max(len(sweep.winners) - MOST_IDS, 0),
                [str(one) for one in sweep.losers[:MOST_IDS]],
                max(len(sweep.losers) - MOST_IDS, 0),
                sweep.games,
            )
            for sweep in found.sweeps[:MOST_SWEEPS]
        ],
        more_sweeps=max(len(found.sweeps) - MOST_SWEEPS, 0),
        with_given=any(row.rating is not None for row in rows),
        with_rated=any(row.tpr is not None for row in rows),
    )


def _picture(row: PerformanceRow, value: float | None, scale: Scale) -> Markup | None:
    """Return a picture: the rating as a dot on its error bar, TPR as a tick."""
    marks = [_ticks(scale)]
    if value is not None and row.error is not None:
        low, high = scale.at(value - row.error), scale.at(value + row.error)
        marks.append(bar(low, high, _HEIGHT))
    if value is not None:
        marks.append(dot(scale.at(value), _HEIGHT))
    if row.tpr is not None and scale.holds(row.tpr):
        x = f"{scale.at(row.tpr):.2f}%"
        marks.append(element("line", class_="tpr", x1=x, x2=x, y1=3, y2=_HEIGHT - 3))
    return picture("interval tall", _HEIGHT, marks)


def _ticks(scale: Scale) -> str:
    return element(
        "g",
        [
            element(
                "line",
                class_="grid",
                x1=f"{scale.at(value):.2f}%",
                x2=f"{scale.at(value):.2f}%",
                y1=-30,
                y2=60,
            )
            for value, _ in scale.ticks(4)
        ],
    )


def _axis(scale: Scale) -> Markup:
    names = [
        element("text", text, x=f"{scale.at(value):.2f}%", y=12, text_anchor="middle")
        for value, text in scale.ticks(4)
    ]
    return picture("axis", 16, names)


def _tournament_form(
    context: PageContext,
    form: Form,
    error: EquipoiseError | None = None,
    *,
    table: Table | None = None,
    name: str = "",
) -> Response:
    return context.render(
        "tournament.html",
        error,
        formats=FORMATS,
        most_crossed=MOST_IN_CROSS_TABLE,
        format=form.text("format"),
        games=form.fields.get("games", [""])[0][:200_000],
        confidence=form.text("confidence", "95"),
        average=form.text("average"),
        table=table,
        name=name,
    )


def head_to_head(games: Games, players: Sequence[Any]) -> HeadToHead:
    """Return the points of each player against each other player.

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
    return HeadToHead(points, played)


def cross_lines(players: list[str], found: HeadToHead) -> list[CrossLine]:
    """Return the rows of the cross table."""
    rows = zip(players, found.points.tolist(), found.games.tolist(), strict=True)
    return [
        CrossLine(player, [_cell(*pair) for pair in zip(points, games, strict=True)])
        for player, points, games in rows
    ]


def _cell(points: float, games: float) -> Cell | None:
    if games <= 0:
        return None
    return Cell(halves(points), halves(games), _score_share(points / games))


def _score_share(share: float) -> int:
    if share in (0.0, 0.5, 1.0):
        return {0.0: _NONE, 0.5: _HALF, 1.0: _ALL}[share]
    return _LESS if share < 0.5 else _MORE
