"""Results of games between two players in one tournament, as columns."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from equipoise.arguments import as_array, check_fields, check_values, checks_arguments
from equipoise.arrays import Floats, Ids, Ints
from equipoise.data.tournaments.rounds import Rounds, rounds_of_games
from equipoise.display import Tabular
from equipoise.errors import InvalidDataError, Problem, require
from equipoise.wording import counted

if TYPE_CHECKING:
    import polars as pl

#: Largest absolute rating; larger ones do not have digits for a billionth of a point.
LARGEST = 1e6

OTHER = "must be a different player from the first"
POINTS = "must be from 0 to the number of games"
WEIGHT = "must be a number above 0"
ROW = "must be the row of a player"
RATING = "must be a number from -1000000 to 1000000"
ONCE = "must be named once"
DRAWS = "must be from 0 to the number of games, and leave whole wins"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Games(Tabular):
    """G results between N players; a result is a game, or all games of a pairing at once.

    player_ids : shape (N,), int64 or object (str), distinct, in the order they first appeared
    white, black : shape (G,), rows of the two players; which of them is white matters only if
      `coloured`
    points : shape (G,), points of white, from 0 to weight; black has weight - points
    weight : shape (G,), number of games (or their weight), above 0; None means 1 each
    rating : shape (N,), rating before the tournament, NaN if unrated; None if no player has one
    white_rating, black_rating : shape (G,), ratings given with each game; None means those of
      `rating`
    draws : shape (G,), number of drawn games; None if unknown
    coloured : whether white had the white pieces (or played at home)
    rounds : what every player did in every round, with byes and forfeits; None if unknown. Some
      tie-breaks need it
    Raises : InvalidDataError   lists the rules that are broken; lines are rows from 1

    Examples
    --------
    >>> games = eq.Games.from_arrays(["ann", "ben", "cid"], ["ben", "cid", "ann"], [1, 0.5, 0.5])
    >>> games
    <Games: 3 results between 3 players>
    >>> games.scored().tolist()
    [1.5, 0.5, 1.0]
    """

    player_ids: Ids
    white: Ints
    black: Ints
    points: Floats
    weight: Floats | None = None
    rating: Floats | None = None
    white_rating: Floats | None = None
    black_rating: Floats | None = None
    draws: Floats | None = None
    coloured: bool = False
    rounds: Rounds | None = None

    def __post_init__(self) -> None:
        """Convert columns to contiguous read-only arrays, and check all rules."""
        check_fields(self, "coloured", "rounds")
        check_values({"player_ids": Collection[Any]}, {"player_ids": self.player_ids})
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name in ("coloured", "rounds") or value is None:
                continue
            kind = {"player_ids": None, "white": np.int64, "black": np.int64}.get(
                field.name, np.float64
            )
            whole = isinstance(value, np.ndarray) and value.dtype == kind
            given = value if whole or kind is None else as_array(field.name, value, kind)
            array = np.ascontiguousarray(given, dtype=kind)
            if array is value and array.flags.writeable:
                array = array.view()
            array.setflags(write=False)
            object.__setattr__(self, field.name, array)
        found = list(self._faults())
        if found:
            raise InvalidDataError(found, f"{counted(len(found), 'problem')} in the games")

    @classmethod
    @checks_arguments()
    def from_arrays(
        cls,
        white: Sequence[Any] | Ids,
        black: Sequence[Any] | Ids,
        points: Sequence[float] | Floats,
        *,
        weight: Sequence[float] | Floats | None = None,
        rating: dict[Any, float] | None = None,
        coloured: bool = False,
        round: Sequence[int] | Ints | None = None,
    ) -> Games:
        """Return the games between players given by ids, in the order they first appear.

        white, black : shape (G,), ids; points : of white; weight : games per row, 1 by default
        rating : id -> rating before the tournament
        round : shape (G,), of each game, from 1; a player has at most one game in a round
        Raises : InvalidParameterError, InvalidDataError
        """
        row_of: dict[Any, int] = {}
        whites, blacks = _listed(white), _listed(black)
        rule = f"as long as white, of {counted(len(whites), 'id')}"
        require(len(blacks) == len(whites), "black", rule, len(blacks))
        pairs = list(zip(whites, blacks, strict=True))
        rows = [[row_of.setdefault(one, len(row_of)) for one in pair] for pair in pairs]
        both = np.array(rows, dtype=np.int64).reshape(-1, 2)
        known = rating or {}
        games = cls(
            player_ids=id_array(list(row_of)),
            white=both[:, 0],
            black=both[:, 1],
            points=as_array("points", points, np.float64),
            weight=None if weight is None else as_array("weight", weight, np.float64),
            rating=np.array([known.get(one, np.nan) for one in row_of]) if known else None,
            coloured=coloured,
        )
        if round is None:
            return games
        numbers = as_array("round", round, np.int64)
        require(numbers.shape == (games.rows,), "round", f"of shape {(games.rows,)}", numbers.shape)
        rounds = rounds_of_games(games, numbers)
        rule = "from 1, of single games, and at most one of a player in each"
        require(rounds is not None or not games.rows, "round", rule, "others")
        return replace(games, rounds=rounds)

    @property
    def players(self) -> int:
        """Number of players."""
        return len(self.player_ids)

    @property
    def rows(self) -> int:
        """Number of results."""
        return len(self.white)

    @property
    def weights(self) -> Floats:
        """Number of games of every result, shape (G,)."""
        return np.ones(self.rows) if self.weight is None else self.weight

    @property
    def initial(self) -> Floats:
        """Rating before the tournament, shape (N,), NaN if unrated."""
        return np.full(self.players, np.nan) if self.rating is None else self.rating

    def ratings_of_sides(self) -> tuple[Floats, Floats]:
        """Return the ratings of white and of black in every game, NaN if unrated; (G,) each.

        They are those given with the game, else those before the tournament.
        """
        sides = []
        for rows, given in ((self.white, self.white_rating), (self.black, self.black_rating)):
            before = self.initial[rows]
            sides.append(before if given is None else np.where(np.isnan(given), before, given))
        return sides[0], sides[1]

    def played(self) -> Floats:
        """Return the number of games of every player, shape (N,): k."""
        return self._summed(self.weights, self.weights)

    def scored(self) -> Floats:
        """Return the points of every player, shape (N,): m."""
        return self._summed(self.points, self.weights - self.points)

    def to_polars(self) -> pl.DataFrame:
        """Return a table with one row for each result: players, points of white, games."""
        import polars as pl

        return pl.DataFrame(
            {
                "white": self.player_ids[self.white].tolist(),
                "black": self.player_ids[self.black].tolist(),
                "points": self.points,
                "games": self.weights,
            }
        )

    def _in_words(self) -> str:
        return f"{counted(self.rows, 'result')} between {counted(self.players, 'player')}"

    def _summed(self, of_white: Floats, of_black: Floats) -> Floats:
        """Return the sum of a number of every result over its players, shape (N,)."""
        white = np.bincount(self.white, of_white, self.players)
        return np.asarray(white + np.bincount(self.black, of_black, self.players), np.float64)

    def _faults(self) -> Iterator[Problem]:
        """Yield every rule that is broken, with rows from 1."""
        ids = self.player_ids.tolist()
        if len(set(ids)) < len(ids):
            yield Problem(
                "", None, "player", ONCE, f"{counted(len(ids) - len(set(ids)), 'id')} again"
            )
        for name in ("white", "black", "points", "weight", "white_rating", "black_rating", "draws"):
            column = getattr(self, name)
            if column is not None and column.shape != (self.rows,):
                rule = f"must have shape {(self.rows,)}"
                yield Problem("", None, name, rule, str(column.shape))
                return
        if self.rating is not None and self.rating.shape != (self.players,):
            rule = f"must have shape {(self.players,)}"
            yield Problem("", None, "rating", rule, str(self.rating.shape))
            return
        if self.rounds is not None and self.rounds.players != self.players:
            rule = f"must have shape {(self.players, self.rounds.rounds)}"
            yield Problem("", None, "rounds", rule, str(self.rounds.opponent.shape))
        yield from self._values()

    def _values(self) -> Iterator[Problem]:
        """Yield the rules about values that are broken, once columns have equal length."""
        weight = self.weights
        checks: list[tuple[str, Any, str, Any]] = [
            (name, (rows < 0) | (rows >= self.players), ROW, rows)
            for name, rows in (("white", self.white), ("black", self.black))
        ]
        checks.append(("black", self.white == self.black, OTHER, self.black))
        checks.append(("weight", ~((weight > 0) & (weight < np.inf)), WEIGHT, weight))
        bad = ~((self.points >= 0) & (self.points <= weight))
        checks.append(("points", bad, POINTS, self.points))
        if self.draws is not None:
            wins, losses = self.points - self.draws / 2, weight - self.points - self.draws / 2
            bad = ~((self.draws >= 0) & (wins >= 0) & (losses >= 0))
            checks.append(("draws", bad, DRAWS, self.draws))
        for name in ("rating", "white_rating", "black_rating"):
            ratings = getattr(self, name)
            if ratings is not None:
                checks.append((name, np.abs(ratings) > LARGEST, RATING, ratings))
        for name, broken, rule, values in checks:
            for row in np.flatnonzero(broken).tolist():
                yield Problem("", row + 1, name, rule, str(values[row]))


def id_array(ids: Sequence[Any]) -> Ids:
    """Return ids as int64 if all are whole numbers, else as text."""
    whole = all(isinstance(one, int | np.integer) and not isinstance(one, bool) for one in ids)
    if whole and len(ids):
        return np.array(ids, dtype=np.int64)
    array: Ids = np.empty(len(ids), dtype=object)
    array[:] = [str(one) for one in ids]
    return array


def _listed(ids: Sequence[Any] | Ids) -> list[Any]:
    return ids.tolist() if isinstance(ids, np.ndarray) else list(ids)
