"""A tournament's result: performance ratings of all players, and the parts of tie-breaks.

`TournamentPerformance` is the table. `PerformanceSeries` has the same numbers for charts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from equipoise.arrays import Floats, Ids, Ints
from equipoise.data.games import RoundKind
from equipoise.display import Displayed, Tabular, draw, name_in_words
from equipoise.errors import Sweep, require
from equipoise.wording import counted

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure


#: "cut": left out by a modifier. "left out": never part of it, such as a game against a player with
#: less than half of the points in the Koya system.
PartStatus: TypeAlias = Literal["counts", "cut", "left out"]

STATUSES: tuple[Status, ...] = ("ok", "all-won", "none-won", "swept", "no-games")


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class TieBreakDetails(Tabular):
    """The parts of one tie-break of one player, one for each game or round.

    player : id; name : of the tie-break; total : its value, NaN if there is none
    round : from 1, 0 if unknown; opponent : id, None if there is none; kind : what the round was
    games : number of games; points : taken from them
    score : the opponent's score or rating that counts, or that of the dummy in an unplayed round;
        NaN if none does
    value : what one game adds; status : whether it does

    Examples
    --------
    >>> games = eq.Games.from_arrays(["ann", "ben", "cid"], ["ben", "cid", "ann"], [1, 0.5, 0.5])
    >>> eq.tie_break_details(games, "ben", "sonneborn-berger").total
    0.5
    """

    player: int | str
    name: str
    total: float
    round: tuple[int, ...] = ()
    opponent: tuple[int | str | None, ...] = ()
    kind: tuple[RoundKind, ...] = ()
    games: tuple[float, ...] = ()
    points: tuple[float, ...] = ()
    score: tuple[float, ...] = ()
    value: tuple[float, ...] = ()
    status: tuple[PartStatus, ...] = ()

    def to_polars(self) -> pl.DataFrame:
        """Return a table with one row for each part, in the order of rounds."""
        import polars as pl

        names = ("round", "opponent", "kind", "games", "points", "score", "value", "status")
        whole = {"round": pl.Int64, "games": pl.Float64, "points": pl.Float64}
        whole |= {"score": pl.Float64, "value": pl.Float64}
        frame = pl.DataFrame(
            [pl.Series(name, getattr(self, name), dtype=whole.get(name)) for name in names]
        )
        return frame.with_columns(
            pl.col(pl.Float64).fill_nan(None),
            pl.when(pl.col("round") > 0).then(pl.col("round")).alias("round"),
        )

    def _in_words(self) -> str:
        counting = sum(status == "counts" for status in self.status)
        who = f"{self.name} of {name_in_words(self.player)}"
        parts = f"of {counting} of {counted(len(self.status), 'part')}"
        return f"{who} is {self.total:g}, {parts}"


#: "ok": has a PPR. Without a PPR: "all-won" took every point, "none-won" took no point, "swept" is
#: any other player of a component with a sweep. "no-games" has no games.
Status: TypeAlias = Literal["ok", "all-won", "none-won", "swept", "no-games"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Standing(Displayed):
    """The numbers of the table, in columns for N players; NaN if there is none.

    Players are in the order of the tournament; `order` of the table sorts them.

    games, points : number (weight) of games and points; expected : points expected by the PPRs
    rating : before the tournament; average_opponent : mean rating of rated opponents, by game
    tpr, cpr, fide : tournament, complete and FIDE's performance rating
    ppr : perfect performance rating; error : half-width of the confidence interval
    class_ppr : the PPR among the players of the same class (`class_of`); none in classes that only
        sweeps link to held players, if no average is known
    lower, upper : bounds for players without a PPR, at the same confidence
    component, class_of : numbers from 0; -1 for players without games
    status : index into STATUSES

    Examples
    --------
    >>> games = eq.Games.from_arrays(["ann", "ben", "cid"], ["ben", "cid", "ann"], [1, 0.5, 0.5])
    >>> eq.performance(games).standing.points.tolist()
    [1.5, 0.5, 1.0]
    """

    games: Floats
    points: Floats
    expected: Floats
    rating: Floats
    average_opponent: Floats
    tpr: Floats
    cpr: Floats
    fide: Floats
    ppr: Floats
    error: Floats
    class_ppr: Floats
    lower: Floats
    upper: Floats
    component: Ints
    class_of: Ints
    status: Ints

    def _in_words(self) -> str:
        return counted(len(self.games), "player")


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Superiority(Displayed):
    """The probability that one player is better than another.

    rows : players compared, rows of the tournament, the best first
    probability : shape (len(rows), len(rows)); [i, j] that rows[i] is better than rows[j]; NaN on
        the diagonal and between players whose ratings cannot be compared
    prior : "field", with the spread of the field as the prior of strengths, or "flat"

    Examples
    --------
    >>> games = eq.Games.from_arrays(["ann", "ben", "cid"], ["ben", "cid", "ann"], [1, 0.5, 0.5])
    >>> found = eq.performance(games, superiority=True).superiority
    >>> bool(found.probability[0, 1] > 0.5)
    True
    """

    rows: Ints
    probability: Floats
    prior: str = "field"

    def _in_words(self) -> str:
        return counted(len(self.rows), "player")


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class TournamentPerformance(Tabular):
    """The performance ratings of a tournament, and why some may be missing.

    player_ids : shape (N,); standing : the columns of the table
    exists : whether every component has finite ratings that predict all scores
    components : number of components: sets of players connected by games
    sweeps : the sweeps, and the difference that each implies
    reasons : the same as sentences
    relative : whether players have no known level, because no rating before the tournament and no
        anchor is known in their component: their mean, or the average player of a prior, is 0
    confidence : of error, lower, upper and the differences of sweeps
    colour_advantage : rating points added to white, 0 for none
    draw_parameter : nu of the Davidson model, NaN if draws are not modelled
    prior : number of drawn games against an average player given to everyone; above 0 the ratings
        are closer together and predict no score exactly
    held : ids of held players; with two or more, their scores are not predicted
    by_points : whether the table is in the order of the column `place` of `extra`
    extra : requested additional columns by name, each of shape (N,)
    superiority : None unless requested

    Examples
    --------
    >>> games = eq.Games.from_arrays(["ann", "ben", "cid"], ["ben", "cid", "ann"], [1, 0.5, 0.5])
    >>> found = eq.performance(games)
    >>> found
    <TournamentPerformance: 3 players, the best ann>
    >>> found.head(1)["player"].to_list()
    ['ann']
    """

    player_ids: Ids
    standing: Standing
    exists: bool
    components: int
    sweeps: tuple[Sweep, ...]
    reasons: tuple[str, ...]
    relative: bool
    confidence: float
    colour_advantage: float = 0.0
    draw_parameter: float = float("nan")
    prior: float = 0.0
    held: tuple[int | str, ...] = ()
    by_points: bool = False
    extra: Mapping[str, Floats] = field(default_factory=dict)
    superiority: Superiority | None = None

    @property
    def players(self) -> int:
        """Number of players."""
        return len(self.player_ids)

    @property
    def order(self) -> Ints:
        """Rows in the order of the table: PPR, then class and the PPR in it, points, id.

        Without a PPR, classes are in their order, winners before those they swept. If `by_points`
        is set, the place comes first.
        """
        standing = self.standing
        # Bounds of a class differ from its ratings by a constant.
        bound = np.where(np.isnan(standing.upper), standing.lower, standing.upper)
        by_id = np.argsort(self.player_ids, kind="stable")
        keys = [
            -_lowest(standing.points)[by_id],
            -_lowest(_alike(np.where(np.isnan(standing.class_ppr), bound, standing.class_ppr)))[
                by_id
            ],
            np.where(np.isnan(standing.ppr), standing.class_of, 0)[by_id],
            -_lowest(_alike(standing.ppr))[by_id],
            (standing.class_of < 0)[by_id],
        ]
        if self.by_points:
            keys.append(self.extra["place"][by_id])
        return np.asarray(by_id[np.lexsort(keys)], dtype=np.int64)

    @property
    def table(self) -> pl.DataFrame:
        """The table as a Polars data frame with one row for each player, best first."""
        import polars as pl

        rows, standing = self.order, self.standing
        columns: dict[str, object] = {"player": pl.Series(self.player_ids[rows].tolist())}
        for name in (
            *("games", "points", "expected", "rating", "average_opponent", "tpr", "cpr", "fide"),
            *("ppr", "error"),
        ):
            columns[name] = getattr(standing, name)[rows]
        columns |= {name: values[rows] for name, values in self.extra.items()}
        columns["status"] = [STATUSES[number] for number in standing.status[rows].tolist()]
        columns["class"] = standing.class_of[rows]
        columns |= {name: getattr(standing, name)[rows] for name in ("class_ppr", "lower", "upper")}
        frame = pl.DataFrame(columns)
        return frame.with_columns(
            pl.col(pl.Float64).fill_nan(None),
            pl.when(pl.col("class") >= 0).then(pl.col("class")).alias("class"),
        )

    def to_polars(self) -> pl.DataFrame:
        """Return the table, the same as `table`: one row for each player, best first."""
        return self.table

    def plot(self, *, name: str = "the tournament") -> Figure:
        """Return a figure of matplotlib: performance ratings, or why there are none.

        name : of the tournament, within the title
        Raises : EquipoiseError without matplotlib
        """
        return draw(self, name=name)

    def _in_words(self) -> str:
        players = counted(self.players, "player")
        if not self.players:
            return players
        best = name_in_words(self.player_ids[self.order[0]])
        return f"{players}, the best {best}" + ("" if self.exists else "; not all have a PPR")

    def _shown(self, rows: int) -> pl.DataFrame:
        table = self.table
        status = [] if self.exists else ["status", "class_ppr", "lower", "upper"]
        names = ["player", "games", "points", "expected", "rating", "tpr", "ppr", "error", *status]
        return table.select(*names, *self.extra)[:rows]

    def _notes(self) -> tuple[str, ...]:
        return self.reasons


def _alike(ratings: Floats) -> Floats:
    """Return rounded ratings: players who differ only by rounding are sorted by points and id."""
    return np.round(ratings, 8)


def _lowest(values: Floats) -> Floats:
    """Return values with NaN replaced by the smallest number."""
    return np.where(np.isnan(values), -np.inf, values)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class PerformanceSeries(Displayed):
    """N players of a tournament in any order, for a chart; arrays have shape (N,), NaN for none.

    names : as shown
    ppr, error : perfect performance rating and the half-width of its interval
    tpr, rating : tournament performance rating, and rating before the tournament
    points, games : points taken and games played
    lower, upper : one-sided bounds of the performance, for players of a sweep
    group : number of the player's class from 0, the upper class first, where `ppr` holds only
        within a class; None: it can be compared across all players
    Raises : InvalidParameterError   no players, or columns of different lengths
    """

    names: tuple[str, ...]
    ppr: Floats
    error: Floats
    tpr: Floats
    rating: Floats
    points: Floats
    games: Floats
    lower: Floats
    upper: Floats
    group: Ints | None = None

    def _in_words(self) -> str:
        return counted(self.players, "player")

    def __post_init__(self) -> None:
        """Check that every column has a value for each player."""
        require(self.players >= 1, "players", "at least one", self.players)
        for declared in fields(self):
            column = getattr(self, declared.name)
            if isinstance(column, np.ndarray):
                shape = (self.players,)
                require(column.shape == shape, declared.name, f"of shape {shape}", column.shape)

    @property
    def players(self) -> int:
        """Number of players."""
        return len(self.names)
