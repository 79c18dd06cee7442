"""What every player of a tournament did in every round: games, byes and forfeits.

`Games` has results only. Tie-breaks that depend on rounds, or on rounds without a game, need this
table beside them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from equipoise.arguments import as_array, check_fields
from equipoise.arrays import Floats, Ids, Ints
from equipoise.display import Displayed
from equipoise.errors import require
from equipoise.wording import counted

if TYPE_CHECKING:
    from equipoise.data.tournaments.games import Games

#: "played": a game. "pairing-bye": allocated because nobody was left. "full-bye", "half-bye" and
#: "zero-bye": a bye of one point, half a point and none; absence is a zero-bye. "unknown": the
#: source does not say.
RoundKind: TypeAlias = Literal[
    "played",
    "pairing-bye",
    "full-bye",
    "half-bye",
    "zero-bye",
    "forfeit-win",
    "forfeit-loss",
    "unknown",
]
ROUND_KINDS: tuple[RoundKind, ...] = (
    "played",
    "pairing-bye",
    "full-bye",
    "half-bye",
    "zero-bye",
    "forfeit-win",
    "forfeit-loss",
    "unknown",
)
KIND: dict[RoundKind, int] = {name: number for number, name in enumerate(ROUND_KINDS)}
#: The points of a round without a game.
POINTS_OF: dict[RoundKind, float] = {
    "pairing-bye": 1.0,
    "full-bye": 1.0,
    "half-bye": 0.5,
    "zero-bye": 0.0,
    "forfeit-win": 1.0,
    "forfeit-loss": 0.0,
    "unknown": 0.0,
}

#: Largest number of players times rounds; games of a career have no rounds.
MOST_CELLS = 20_000_000
_NUMBER = re.compile(r"\s*(\d{1,4})(?:[.,]\d*)*\s*\Z")


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Rounds(Displayed):
    """What N players did in each of R rounds; all arrays have shape (N, R).

    opponent : row of the opponent, also of a forfeit; -1 if there is none
    points : of the player, 0 if unknown
    kind : index into `ROUND_KINDS`
    colour : 1 for white, -1 for black, 0 if there is none
    Raises : InvalidParameterError   arrays of other shapes, or rows and kinds that do not exist

    Examples
    --------
    >>> games = eq.Games.from_arrays(["ann", "cid"], ["ben", "ann"], [1, 0.5], round=[1, 2])
    >>> games.rounds
    <Rounds: 3 players, 2 rounds>
    >>> games.rounds.points.tolist()
    [[1.0, 0.5], [0.0, 0.0], [0.0, 0.5]]
    """

    opponent: Ints
    points: Floats
    kind: Ints
    colour: Ints

    def __post_init__(self) -> None:
        """Convert to contiguous read-only arrays, and check them."""
        check_fields(self)
        for field in fields(self):
            kind = np.float64 if field.name == "points" else np.int64
            array = np.ascontiguousarray(as_array(field.name, getattr(self, field.name), kind))
            require(array.ndim == 2, field.name, "of two dimensions", array.ndim)
            if field.name != "opponent":
                shape = self.opponent.shape
                require(array.shape == shape, field.name, f"of shape {shape}", array.shape)
            array.setflags(write=False)
            object.__setattr__(self, field.name, array)
        inside = (self.opponent >= -1) & (self.opponent < self.players)
        require(bool(inside.all()), "opponent", "rows of players, or -1", "others")
        known = (self.kind >= 0) & (self.kind < len(ROUND_KINDS))
        require(bool(known.all()), "kind", f"from 0 to {len(ROUND_KINDS) - 1}", "others")
        played = self.kind == KIND["played"]
        require(bool((self.opponent[played] >= 0).all()), "opponent", "known in every game", -1)
        require(bool(np.isfinite(self.points).all()), "points", "finite", "others")

    @property
    def players(self) -> int:
        """Number of players."""
        return int(self.opponent.shape[0])

    @property
    def rounds(self) -> int:
        """Number of rounds."""
        return int(self.opponent.shape[1])

    def scored(self) -> Floats:
        """Return the points of every player, with those of byes and forfeits, shape (N,)."""
        return np.asarray(self.points.sum(axis=1), np.float64)

    def of_players(self, rows: Ints, players: int) -> Rounds | None:
        """Return the rounds with the players in other rows; None if two have the same row.

        rows : shape (N,), the new row of each; players : number of rows, of which the others have
          unknown rounds
        """
        if len(np.unique(rows)) < len(rows):
            return None
        opponent = np.where(self.opponent >= 0, rows[self.opponent], -1)
        found = _empty(players, self.rounds)
        for name, values in (
            ("opponent", opponent),
            ("points", self.points),
            ("kind", self.kind),
            ("colour", self.colour),
        ):
            found[name][rows] = values
        return Rounds(**found)

    def _in_words(self) -> str:
        return f"{counted(self.players, 'player')}, {counted(self.rounds, 'round')}"


def _empty(players: int, rounds: int) -> dict[str, Any]:
    """Return arrays in which every round is unknown."""
    shape = (players, rounds)
    return {
        "opponent": np.full(shape, -1),
        "points": np.zeros(shape),
        "kind": np.full(shape, KIND["unknown"]),
        "colour": np.zeros(shape, np.int64),
    }


def rounds_of_games(games: Games, round: Ints) -> Rounds | None:
    """Return the rounds of games; those in which a player has no game are unknown.

    None if they are no rounds of a tournament: a player has two games in one, or a result is not
    that of a single game.

    round : shape (G,), of every game, from 1
    """
    if not games.rows or (games.weight is not None and bool(np.any(games.weight != 1))):
        return None
    if not np.isin(games.points, (0.0, 0.5, 1.0)).all() or round.min() < 1:
        return None
    last = int(round.max())
    if last * games.players > MOST_CELLS:
        return None
    cells = np.concatenate([games.white, games.black]) * last + np.tile(round - 1, 2)
    if len(np.unique(cells)) < len(cells):
        return None
    found = _empty(games.players, last)
    colour = 1 if games.coloured else 0
    for rows, others, points, side in (
        (games.white, games.black, games.points, colour),
        (games.black, games.white, 1.0 - games.points, -colour),
    ):
        at = (rows, round - 1)
        found["opponent"][at] = others
        found["points"][at] = points
        found["kind"][at] = KIND["played"]
        found["colour"][at] = side
    return Rounds(**found)


def round_numbers(labels: Ids | Sequence[Any]) -> Ints | None:
    """Return rounds as numbers, None if one is not: "3" and "3.2" (board 2) are 3."""
    number_of: dict[str, int] = {}
    for label in {str(one) for one in labels}:
        found = _NUMBER.match(label)
        if found is None:
            return None
        number_of[label] = int(found[1])
    return np.array([number_of[str(one)] for one in labels], dtype=np.int64)
