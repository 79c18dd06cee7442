"""A tournament as columns: results of games, and what every player did in every round.

`GameColumns` has the results as a reader returns them, and `Games` those that passed all checks.
Tie-breaks that depend on rounds, or on rounds without a game, need `Rounds` beside them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from equipoise.arguments import as_array, check_fields, check_values, checks_arguments
from equipoise.arrays import Floats, Ids, Ints
from equipoise.display import Displayed, Tabular
from equipoise.errors import InvalidDataError, Problem, require
from equipoise.wording import counted

if TYPE_CHECKING:
    import polars as pl


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
        for column in fields(self):
            kind = np.float64 if column.name == "points" else np.int64
            array = np.ascontiguousarray(as_array(column.name, getattr(self, column.name), kind))
            require(array.ndim == 2, column.name, "of two dimensions", array.ndim)
            if column.name != "opponent":
                shape = self.opponent.shape
                require(array.shape == shape, column.name, f"of shape {shape}", array.shape)
            array.setflags(write=False)
            object.__setattr__(self, column.name, array)
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
        columns = _empty(players, self.rounds)
        for name, values in (
            ("opponent", opponent),
            ("points", self.points),
            ("kind", self.kind),
            ("colour", self.colour),
        ):
            columns[name][rows] = values
        return Rounds(**columns)

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


def rounds_of_games(
    games: Games, round: Ints, unplayed: Sequence[tuple[int, int, int, RoundKind]] = ()
) -> Rounds | None:
    """Return the rounds of games; those in which a player has no game are unknown.

    None if they are no rounds of a tournament: a player has two games in one, or a result is not
    that of a single game.

    round : shape (G,), of every game, from 1
    unplayed : byes and forfeits: player, opponent (-1 for none), round from 1, kind; they count
        where a player has no game
    """
    if not games.rows or (games.weight is not None and bool(np.any(games.weight != 1))):
        return None
    if not np.isin(games.points, (0.0, 0.5, 1.0)).all() or round.min() < 1:
        return None
    last = max(int(round.max()), *(at for _, _, at, _ in unplayed), 1)
    if last * games.players > MOST_CELLS:
        return None
    cells = np.concatenate([games.white, games.black]) * last + np.tile(round - 1, 2)
    if len(np.unique(cells)) < len(cells):
        return None
    columns = _empty(games.players, last)
    colour = 1 if games.coloured else 0
    for rows, others, points, side in (
        (games.white, games.black, games.points, colour),
        (games.black, games.white, 1.0 - games.points, -colour),
    ):
        at = (rows, round - 1)
        columns["opponent"][at] = others
        columns["points"][at] = points
        columns["kind"][at] = KIND["played"]
        columns["colour"][at] = side
    for player, opponent, number, kind in unplayed:
        cell = (player, number - 1)
        if number >= 1 and columns["kind"][cell] == KIND["unknown"]:
            columns["kind"][cell] = KIND[kind]
            columns["points"][cell] = POINTS_OF[kind]
            columns["opponent"][cell] = opponent
    return Rounds(**columns)


def round_numbers(labels: Ids | Sequence[Any]) -> Ints | None:
    """Return rounds as numbers, None if one is not: "3" and "3.2" (board 2) are 3."""
    number_of: dict[str, int] = {}
    for label in {str(label) for label in labels}:
        match = _NUMBER.match(label)
        if match is None:
            return None
        number_of[label] = int(match[1])
    return np.array([number_of[str(label)] for label in labels], dtype=np.int64)


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
        for column in fields(self):
            value = getattr(self, column.name)
            if column.name in ("coloured", "rounds") or value is None:
                continue
            kind = {"player_ids": None, "white": np.int64, "black": np.int64}.get(
                column.name, np.float64
            )
            whole = isinstance(value, np.ndarray) and value.dtype == kind
            typed = value if whole or kind is None else as_array(column.name, value, kind)
            array = np.ascontiguousarray(typed, dtype=kind)
            if array is value and array.flags.writeable:
                array = array.view()
            array.setflags(write=False)
            object.__setattr__(self, column.name, array)
        problems = list(self._faults())
        if problems:
            raise InvalidDataError(problems, f"{counted(len(problems), 'problem')} in the games")

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
        rows = [[row_of.setdefault(player, len(row_of)) for player in pair] for pair in pairs]
        both = np.array(rows, dtype=np.int64).reshape(-1, 2)
        known = rating or {}
        games = cls(
            player_ids=id_array(list(row_of)),
            white=both[:, 0],
            black=both[:, 1],
            points=as_array("points", points, np.float64),
            weight=None if weight is None else as_array("weight", weight, np.float64),
            rating=np.array([known.get(player, np.nan) for player in row_of]) if known else None,
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
        for rows, ratings in ((self.white, self.white_rating), (self.black, self.black_rating)):
            before = self.initial[rows]
            sides.append(
                before if ratings is None else np.where(np.isnan(ratings), before, ratings)
            )
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


class Unplayed(NamedTuple):
    """A bye, or a forfeit of one of the two sides.

    player, opponent : rows of the players of a source; -1 for no opponent
    round : as the source has it; kind : of the player's round
    """

    player: int
    opponent: int
    round: str
    kind: RoundKind


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class GameColumns:
    """G results as a source has them, one row each.

    players : ids of players, int64 or object of str; rows name each of them once
    white, black : shape (G,), rows of `players`; white has the white pieces if `coloured`
    points : shape (G,), of white, from 0 to weight; rows that break this have a problem instead
    weight : shape (G,), number of games of each result; None means 1 each
    white_rating, black_rating : shape (G,), NaN if unrated; None: the source has none
    draws : shape (G,), number of drawn games; None if unknown
    coloured : whether white had the white pieces
    round : shape (G,), object; None: the source has none
    others : rows of `players` who are named but may have no game
    other_rating : rating of each of `others`, NaN if unrated; None: the source has none
    rounds : rounds of `others`, with byes and forfeits; None if the source does not tell them
    unplayed : byes and forfeits of a source that tells rounds by `round`
    left_out : reason -> number of results that are not games
    problems : broken rules, with lines
    notes : sentences
    locate : row -> file and line, for problems that are found later
    skipped : number of results that break a rule, which are not among the rows
    refused : whether a problem concerns more than single results, so that skipping is impossible
    format, kind, meanings : how the source is stored, what it holds, and its columns that have a
      meaning, as in `GamesReading`
    dropped : what the skipped results are called, as many as `skipped`; readers that cannot say it
      have none
    numbers : shape (G,), number of each result in the source, from 1, also counting those that are
      not games; None if results are not counted
    times : when the games were played, as dates or as dates with a time, null if unknown; None if
      the source has none, or was not asked for them
    time_source : what `times` come from, for notes
    events : shape (G,), object, event of each game, None if unknown; None: the source has none
    tags : name -> shape (G,), object of str: tags of PGN that were asked for, "" if a game has none
    """

    players: Ids
    white: Ints
    black: Ints
    points: Floats
    weight: Floats | None = None
    white_rating: Floats | None = None
    black_rating: Floats | None = None
    draws: Floats | None = None
    coloured: bool = False
    round: Ids | None = None
    others: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    other_rating: Floats | None = None
    rounds: Rounds | None = None
    unplayed: tuple[Unplayed, ...] = ()
    left_out: Counter[str] = field(default_factory=Counter)
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    locate: Callable[[int], tuple[str, int | None]] | None = None
    skipped: int = 0
    refused: bool = False
    format: str = ""
    kind: str = ""
    meanings: Mapping[str, str] = field(default_factory=dict)
    dropped: tuple[str, ...] = ()
    numbers: Ints | None = None
    times: pl.Series | None = None
    time_source: str = ""
    events: Ids | None = None
    tags: Mapping[str, Ids] = field(default_factory=dict)

    def place(self, row: int) -> tuple[str, int | None]:
        """Return the file and line of a result; without files, its number from 1."""
        return ("", row + 1) if self.locate is None else self.locate(row)

    def keep(self, rows: Ints) -> GameColumns:
        """Return some of the results; the rounds of players are not known any more."""
        locate = self.locate
        of_rows = ("white", "black", "points", "weight", "white_rating", "black_rating", "draws")
        kept = {
            name: column[rows]
            for name in (*of_rows, "round", "numbers", "events")
            if (column := getattr(self, name)) is not None
        }
        return replace(
            self,
            rounds=None,
            locate=None if locate is None else lambda row: locate(int(rows[row])),
            times=None if self.times is None else self.times.gather(rows),
            tags={tag: values[rows] for tag, values in self.tags.items()},
            **kept,
        )


def id_array(ids: Sequence[Any]) -> Ids:
    """Return ids as int64 if all are whole numbers, else as text."""
    whole = all(
        isinstance(player, int | np.integer) and not isinstance(player, bool) for player in ids
    )
    if whole and len(ids):
        return np.array(ids, dtype=np.int64)
    array: Ids = np.empty(len(ids), dtype=object)
    array[:] = [str(player) for player in ids]
    return array


def _listed(ids: Sequence[Any] | Ids) -> list[Any]:
    return ids.tolist() if isinstance(ids, np.ndarray) else list(ids)
