"""What the tests of readers of games share: games as plain rows, problems as plain lines."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from equipoise.data.games import GameColumns, Games
from equipoise.formats.games import scan_games
from equipoise.formats.table import GamesReading


def scan(text: str, format: str = "csv", **options: Any) -> GamesReading:
    """Return what is read from text."""
    return scan_games(io.BytesIO(text.encode()), format=format, **options)


def rows(text: str, format: str = "csv", **options: Any) -> list[tuple[Any, Any, float, float]]:
    """Return the games of text that has no problem."""
    reading = scan(text, format, **options)
    assert reading.problems == ()
    assert reading.games is not None
    return rows_of(reading.games)


def rows_of(games: Games) -> list[tuple[Any, Any, float, float]]:
    """Return games as (first player, second player, points of the first, games)."""
    sides = games.player_ids[games.white].tolist(), games.player_ids[games.black].tolist()
    return list(zip(*sides, games.points.tolist(), games.weights.tolist(), strict=True))


def problems(text: str, format: str = "csv", **options: Any) -> list[str]:
    """Return the problems of text that cannot be read as games."""
    reading = scan(text, format, **options)
    assert reading.games is None
    return [f"{one.line} {one.field}: {one.rule}; {one.got}" for one in reading.problems]


def named(columns: GameColumns) -> tuple[list[Any], list[Any], list[Any]]:
    """Return the ids of white, of black and of the other players, as a reader returned them."""
    ids = columns.players
    others = ids[columns.others].tolist()
    return ids[columns.white].tolist(), ids[columns.black].tolist(), others


# A tiny writer of TRF16 for tests: columns are counted here, independently of the reader.


def player_line(
    number: int,
    rounds: Sequence[str] = (),
    *,
    name: str = "",
    rating: str = "",
    fide: str = "",
    points: str = "",
    in_bytes: bool = False,
) -> str:
    """Return the line of a player; every round is eight columns, as "  12 w 1"."""
    name = name or f"Player {number}"
    width = 33 - (len(name.encode()) - len(name) if in_bytes else 0)
    line = (
        f"001 {number:>4} m    {name:<{width}} {rating:>4} NED {fide:>11} 1990/00/00 "
        f"{points:>4} {number:>4}"
    )
    shorter = 33 - width
    assert len(line) == 89 - shorter
    assert all(len(one) == 8 for one in rounds)
    return line + "".join(f"  {one}" for one in rounds)


def report(*lines: str, end: str = "\n") -> str:
    """Return a report of lines below the name of a tournament, which is line 1."""
    return "".join(line + end for line in ("012 Test", *lines))
