"""Ratings and traces of players, in columns with ids, and the effective rating.

The effective rating is the long-term rating adjusted by recent form. Source: [TG2]_ section 11,
(36)-(41), with READINGS A9 and A13. Teams are made by it. It is computed when ratings are read, and
never stored.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Literal

import numpy as np

from equipoise.arguments import check_fields, checks_arguments
from equipoise.arrays import Floats, Ids, Ints
from equipoise.data.history import History, TimeKind
from equipoise.data.times import stamps_of, table_times, utc_column
from equipoise.display import Tabular, draw, name_in_words, number_in_words
from equipoise.errors import InvalidParameterError, NotFoundError, require
from equipoise.wording import counted

#: Deviations that a conservative rating lies below the rating, as in TrueSkill. It is the same for
#: single ratings, tables and charts.
CONSERVATIVE = 3.0

#: How a mapping is written.
MAPPING_FORM = "FROM=TO,FROM=TO, such as 1500=25,1850=33"

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Ratings(Tabular):
    """The players' ratings at one time.

    player_ids : shape (P,)
    rating, deviation : shape (P,), rating points; NaN if a system has no deviation
    matches : shape (P,), rated matches of each player
    last_time : shape (P,), days since 1970 of the last rated match; NaN if unknown
    extra : columns of the system (volatility, form, ...), each of shape (P,)
    last_order : shape (P,), number of the last rated match if times are an order without dates, -1
      without a match; None without an order

    Examples
    --------
    >>> duels = eq.read_history({
    ...     "match": [1, 1, 2, 2], "player": ["ann", "ben", "ben", "cid"], "rank": [1, 2, 1, 2],
    ... })
    >>> ratings = eq.replay(eq.Elo(), duels).ratings
    >>> ratings
    <Ratings: 3 players, the best ann with 1,516.0>
    >>> ratings.head(2)["player"].to_list()
    ['ann', 'ben']
    >>> ratings.of("ann")["matches"]
    1
    """

    player_ids: Ids
    rating: Floats
    deviation: Floats
    matches: Ints
    last_time: Floats
    extra: Mapping[str, Floats]
    time_kind: TimeKind = "seconds"
    last_order: Ints | None = None

    @property
    def conservative(self) -> Floats:
        """Return rating minus three deviations, NaN in a system without deviations; shape (P,)."""
        return self.rating - CONSERVATIVE * self.deviation

    def of(self, player: object) -> dict[str, float]:
        """Return one player's row, `last_time` in days since 1970. Raises : NotFoundError."""
        rows = np.flatnonzero(self.player_ids.astype(str) == str(player))
        if not len(rows):
            raise NotFoundError(f"no rating for player {str(player)!r}")
        row = int(rows[0])
        return {
            "rating": float(self.rating[row]),
            "deviation": float(self.deviation[row]),
            "matches": int(self.matches[row]),
            "last_time": float(self.last_time[row]),
            **{name: float(column[row]) for name, column in self.extra.items()},
        }

    def order(self, *, conservative: bool = False) -> Ints:
        """Return rows sorted by rating descending, then by id.

        conservative : sort by the conservative rating
        """
        values = self.conservative if conservative else self.rating
        by_id = np.argsort(self.player_ids, kind="stable")
        by_rating = np.argsort(-values[by_id], kind="stable")
        return np.asarray(by_id[by_rating], dtype=np.int64)

    @property
    def last_played(self) -> Ids:
        """`last_time` as times: datetime64[us] in UTC, NaT if unknown; without dates `last_order`.

        shape (P,)
        """
        if self.last_order is not None:
            return self.last_order
        return stamps_of(self.last_time, self.time_kind)

    def to_polars(self) -> pl.DataFrame:
        """Return the rating table: best first, NaN as null, times in UTC.

        The last match in an order without dates is its number.
        """
        table = self.file_table()
        if self.last_order is not None:
            return table
        return table.with_columns(utc_column(self.last_played[self.order()]).alias("last_time"))

    def file_table(self, *, conservative: bool = False) -> pl.DataFrame:
        """Return the same table for a file, with times of the kind that came in.

        Seconds that a reader would not recognise are written as date-times.
        conservative : add the column `conservative` after the deviation, and sort by it
        """
        import polars as pl

        rows = self.order(conservative=conservative)
        ids = self.player_ids[rows]
        columns: dict[str, pl.Series] = {
            "player": pl.Series(ids.tolist() if ids.dtype == object else ids),
            "rating": pl.Series(self.rating[rows]),
            "deviation": pl.Series(self.deviation[rows]).fill_nan(None),
            **({"conservative": pl.Series(self.conservative[rows])} if conservative else {}),
            "matches": pl.Series(self.matches[rows]),
            "last_time": _times(self.last_time[rows], self.time_kind),
        }
        if self.last_order is not None:
            order = pl.Series(self.last_order[rows])
            columns["last_time"] = order.set(order < 0, None)
        for name, column in self.extra.items():
            columns[name] = pl.Series(column[rows]).fill_nan(None)
        return pl.DataFrame(columns)

    def plot(self, *players: object, min_matches: int = 1, title: str | None = None) -> Figure:
        """Return a figure of matplotlib: the distribution of the ratings.

        players : ids that are marked
        min_matches : least number of rated matches of the players that are counted
        Raises : NotFoundError, InvalidDataError without such players; EquipoiseError without
            matplotlib
        """
        return draw(self, players, min_matches=min_matches, title=title)

    def _in_words(self) -> str:
        players = counted(len(self.player_ids), "player")
        if not len(self.player_ids):
            return players
        best = self.order()[0]
        points = number_in_words(float(self.rating[best]))
        return f"{players}, the best {name_in_words(self.player_ids[best])} with {points}"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class InitialRatings(Tabular):
    """Ratings with which players begin, because they are known from elsewhere.

    player_ids : shape (P,), int64 or object (str), every player once
    rating, deviation : shape (P,), rating points; NaN is the deviation of newcomers
    notes : sentences on how a table was read

    Examples
    --------
    >>> import numpy as np
    >>> known = eq.InitialRatings(
    ...     player_ids=np.array(["ann", "ben"]), rating=np.array([1700.0, 1500.0]),
    ...     deviation=np.array([60.0, np.nan]),
    ... )
    >>> known
    <InitialRatings: 2 players>
    >>> known.to_polars()["deviation"].to_list()
    [60.0, None]
    """

    player_ids: Ids
    rating: Floats
    deviation: Floats
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check that every player has one finite rating, and deviations are positive."""
        check_fields(self)
        players = len(self.player_ids)
        for name in ("rating", "deviation"):
            shape = getattr(self, name).shape
            require(shape == (players,), name, f"an array of shape ({players},)", shape)
        once = len({str(player) for player in self.player_ids.tolist()})
        require(once == players, "player_ids", "every player once", f"{players} of {once} players")
        bad = np.flatnonzero(~(np.abs(self.rating) <= 1e9))
        if len(bad):
            rule = f"from -1e9 to 1e9 (player {self.player_ids[bad[0]]})"
            require(False, "rating", rule, float(self.rating[bad[0]]))
        known = ~np.isnan(self.deviation)
        bad = np.flatnonzero(known & ~((self.deviation >= 1e-6) & (self.deviation <= 1e9)))
        if len(bad):
            rule = f"from 1e-6 to 1e9 (player {self.player_ids[bad[0]]})"
            require(False, "deviation", rule, float(self.deviation[bad[0]]))

    def to_polars(self) -> pl.DataFrame:
        """Return a table with one row for each player; an unknown deviation is null."""
        import polars as pl

        return pl.DataFrame(
            {
                "player": self.player_ids.tolist(),
                "rating": self.rating,
                "deviation": pl.Series(self.deviation).fill_nan(None),
            }
        )

    def _in_words(self) -> str:
        return counted(len(self.player_ids), "player")

    def _notes(self) -> Sequence[str]:
        return self.notes


def _times(days: Floats, kind: TimeKind) -> pl.Series:
    """Return days since 1970 in the format of tables, null if unknown."""
    import polars as pl

    stamps = stamps_of(days, kind)
    known = ~np.isnat(stamps)
    written = table_times(stamps[known].astype(np.int64), kind)
    values = np.zeros(len(days), written.dtype)
    values[known] = written
    return pl.select(pl.when(pl.lit(pl.Series(known))).then(pl.lit(pl.Series(values)))).to_series()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Trace(Tabular):
    """The changes of every match for every player in it: columns of shape (N,), NaN if unrated.

    `expected`, `rating_before`, `deviation_before`, `rating`, `deviation` and the columns of
    the system, in the row order of `history`.

    Examples
    --------
    >>> duels = eq.read_history({
    ...     "match": [1, 1, 2, 2], "player": ["ann", "ben", "ben", "cid"], "rank": [1, 2, 1, 2],
    ... })
    >>> trace = eq.replay(eq.Elo(), duels, trace=True).trace
    >>> trace
    <Trace: 4 changes in 2 matches>
    >>> trace.to_polars()["rating"].to_list()
    [1516.0, 1484.0, 1500.736306793522, 1483.263693206478]
    """

    history: History
    columns: Mapping[str, Floats]

    def to_polars(self) -> pl.DataFrame:
        """Return the trace as a table, one row for each participation; unrated ones are null.

        Times are in UTC; an order without dates has its numbers.
        """
        return self._with_changes(self.history.to_polars())

    def file_table(self) -> pl.DataFrame:
        """Return the same table for a file, with times of the kind that came in."""
        return self._with_changes(self.history.file_table())

    def _with_changes(self, table: pl.DataFrame) -> pl.DataFrame:
        import polars as pl

        if "team" not in table.columns:
            table = table.with_columns(pl.Series("team", self.history.team))
        head = [name for name in ("match", "time", "player", "team", "rank") if name in table]
        return table.select(head).with_columns(
            *(pl.Series(name, column).fill_nan(None) for name, column in self.columns.items())
        )

    @checks_arguments()
    def plot(
        self,
        *players: object,
        by: Literal["time", "match", "played"] | None = None,
        title: str | None = None,
    ) -> Figure:
        """Return a figure of matplotlib: ratings of players over time.

        players : ids; without any the three with the best last rating
        by : "time", "match" (number in the history) or "played" (matches of the player); None means
            time, or match without dates
        Raises : NotFoundError, InvalidParameterError; EquipoiseError without matplotlib
        """
        return draw(self, players, by=by, title=title)

    def _in_words(self) -> str:
        changes = counted(self.history.participations, "change")
        return f"{changes} in {counted(self.history.matches, 'match', 'matches')}"

    def _rows(self) -> int:
        return self.history.participations


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectiveRating:
    """Parameters of the effective rating.

    form_points : rating points per unit of form (36)
    form_cap, form_cap_deviations : bounds of that product, in points and in deviations (37)
    deviation_scale : deviation at which form has half its weight, rating points (39)
    blend : the largest weight of form (40)

    Examples
    --------
    >>> import numpy as np
    >>> eq.EffectiveRating().rating(np.array([1500.0]), np.array([80.0]), np.array([1.0])).tolist()
    [1520.0]
    """

    form_points: float = 80.0
    form_cap: float = 200.0
    form_cap_deviations: float = 2.0
    deviation_scale: float = 80.0
    blend: float = 0.5

    def __post_init__(self) -> None:
        """Check every parameter."""
        check_fields(self)
        for field in fields(self):
            value = getattr(self, field.name)
            require(math.isfinite(value), field.name, "a finite number", value)

    def weight(self, deviation: Floats) -> Floats:
        """Return the weight of recent form, w of (39)-(40)."""
        squared = deviation * deviation
        return self.blend * squared / (squared + self.deviation_scale**2)

    def boost(self, deviation: Floats, form: Floats) -> Floats:
        """Return the rating points that form adds, (37)-(38)."""
        most = np.minimum(self.form_cap_deviations * deviation, self.form_cap)
        return np.clip(self.form_points * form, -most, most)

    def rating(self, rating: Floats, deviation: Floats, form: Floats) -> Floats:
        """Return R_eff of (41), rating points; all of one shape."""
        return rating + self.weight(deviation) * self.boost(deviation, form)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleMapping:
    """How ratings of another scale are written on this one.

    A rating r becomes here[0] + scale (r - there[0]), where scale is (here[1] - here[0]) /
    (there[1] - there[0]). A deviation d becomes scale d.

    there : two ratings of the other scale
    here : the same two on this scale, in the same order

    Examples
    --------
    >>> scale = eq.ScaleMapping(there=(1500.0, 1850.0), here=(25.0, 33.0))
    >>> known = eq.read_initial_ratings({"player": ["ada"], "rating": [1675.0]})
    >>> scale.map(known).rating.tolist()
    [29.0]
    """

    there: tuple[float, float]
    here: tuple[float, float]

    def __post_init__(self) -> None:
        """Check that the line exists and rises: a better player stays a better player."""
        check_fields(self)
        for name, pair in (("there", self.there), ("here", self.here)):
            for value in pair:
                known = math.isfinite(value) and abs(value) <= 1e9
                require(known, name, "two numbers from -1e9 to 1e9", value)
        different = self.there[0] != self.there[1]
        require(different, "there", "two different ratings", self.there)
        rule = "in the same order as there: the higher rating must stay the higher one"
        require(self.scale > 0.0, "here", rule, self.here)

    @property
    def scale(self) -> float:
        """Return the points of this scale for one point of the other."""
        return (self.here[1] - self.here[0]) / (self.there[1] - self.there[0])

    @checks_arguments()
    def map(self, ratings: InitialRatings | Ratings) -> InitialRatings:
        """Return ratings of the other scale on this one; an unknown deviation stays unknown.

        Raises : InvalidParameterError if a rating leaves the range of initial ratings
        """
        return InitialRatings(
            player_ids=ratings.player_ids,
            rating=self.here[0] + self.scale * (ratings.rating - self.there[0]),
            deviation=self.scale * ratings.deviation,
            notes=ratings.notes if isinstance(ratings, InitialRatings) else (),
        )

    @classmethod
    def read(cls, text: str, name: str) -> ScaleMapping:
        """Return the mapping in a text such as 1500=25,1850=33; `name` is for errors.

        Raises : InvalidParameterError
        """
        pairs = [part.partition("=") for part in text.split(",")]
        try:
            numbers = [(float(theirs), float(here)) for theirs, _, here in pairs]
        except ValueError:
            numbers = []
        if len(numbers) != 2:
            raise InvalidParameterError(f"{name} takes {MAPPING_FORM}; got {text[:100]!r}")
        (first, second), (third, fourth) = numbers
        return cls(there=(first, third), here=(second, fourth))
