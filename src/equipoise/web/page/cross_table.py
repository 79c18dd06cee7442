"""The cross table of a tournament: who took how many points of whom, as the page shows it."""

from __future__ import annotations

from dataclasses import dataclass

from equipoise.web.page.wording import halves
from equipoise.workflows.head_to_head import HeadToHead

#: Players of a cross table; of more it cannot be read.
MOST_PLAYERS = 40
#: Kinds of shares of the points, from none to all.
_NONE, _LESS, _HALF, _MORE, _ALL = range(5)


@dataclass(frozen=True, slots=True)
class Cell:
    """What a player has of another; share : from 0 for no point to 4 for all of them."""

    points: str
    games: str
    share: int

    @property
    def single(self) -> bool:
        """Whether it was one game."""
        return self.games == "1"


@dataclass(frozen=True, slots=True)
class CrossLine:
    """A player against each of the others, None where they did not meet."""

    player: str
    cells: list[Cell | None]


def cross_lines(players: list[str], found: HeadToHead) -> list[CrossLine]:
    """Return a line for every player, in the order of rows and columns."""
    rows = zip(players, found.points.tolist(), found.games.tolist(), strict=True)
    return [
        CrossLine(player, [_cell(*pair) for pair in zip(points, games, strict=True)])
        for player, points, games in rows
    ]


def _cell(points: float, games: float) -> Cell | None:
    if games <= 0:
        return None
    return Cell(halves(points), halves(games), _share(points / games))


def _share(share: float) -> int:
    if share in (0.0, 0.5, 1.0):
        return {0.0: _NONE, 0.5: _HALF, 1.0: _ALL}[share]
    return _LESS if share < 0.5 else _MORE
