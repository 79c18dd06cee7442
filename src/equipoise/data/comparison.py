"""Two tables of ratings compared: who moved, by how much, and how alike the tables are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from equipoise.arrays import Flags, Floats, Ids, Ints
from equipoise.display import Tabular, draw, name_in_words, number_in_words
from equipoise.errors import require
from equipoise.wording import counted

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

#: Which changes count: differences of the ratings as they are, or after the straight line.
ComparisonScale: TypeAlias = Literal["same", "line"]
#: By what players move.
MovedBy: TypeAlias = Literal["rating", "place"]

#: A change beyond this many deviations of both ratings is large.
LARGE = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleLine:
    """The straight line from the scale of the old ratings to that of the new ones.

    On it, the old ratings of the players in both tables get the mean and the standard deviation of
    the new ones. This is the line of linear equating, which is the same in both directions. A line
    of least squares is flatter: by it, the best players would fall and the weakest rise.

    slope, intercept : a rating r becomes intercept + slope r
    residual : standard deviation of the new ratings around the line

    Examples
    --------
    >>> found = eq.compare_ratings(
    ...     {"player": ["ann", "ben", "cid"], "rating": [1400, 1500, 1600]},
    ...     {"player": ["ann", "ben", "cid"], "rating": [20, 25, 30]}, scale="line",
    ... )
    >>> found.line.at(1700.0)
    35.0
    """

    slope: float
    intercept: float
    residual: float

    def at(self, rating: float) -> float:
        """Return a rating of the old scale on the new one."""
        return self.intercept + self.slope * rating


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeSummary:
    """The changes of the players in both tables, rating points of the new scale.

    mean, median, standard_deviation : of the changes; mean_absolute : of their sizes

    Examples
    --------
    >>> found = eq.compare_ratings(
    ...     {"player": ["ann", "ben"], "rating": [1500, 1600]},
    ...     {"player": ["ann", "ben"], "rating": [1490, 1630]},
    ... )
    >>> found.as_they_are.mean, found.as_they_are.mean_absolute
    (10.0, 20.0)
    """

    mean: float
    median: float
    standard_deviation: float
    mean_absolute: float


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class RatingComparison(Tabular):
    """Two tables of ratings compared. Numbers of a player have the shape (P,).

    old, new : names of the tables
    player_ids : of all players of both tables, as text
    old_rating, new_rating : NaN if a player is in the other table only
    old_deviation, new_deviation : NaN if unknown
    old_place, new_place : among the players in both tables, from 1; equals share the better place.
        0 if a player is in one table only
    scale : which changes count: "same", differences of the ratings as they are, or "line", after
        the straight line between the scales; reason : why, in words
    line : None with fewer than three players, equal ratings or no rising line
    as_they_are, on_line : the changes by both scales; on_line is None without a line
    pearson, spearman, kendall : correlations of the players in both tables; NaN if undefined
    same_order, reverse_order, tied : numbers of pairs of these players; tied in at least one table
    notes : sentences on how the tables were read and compared

    Examples
    --------
    >>> before = {"player": ["ann", "ben", "cid", "dan"], "rating": [1500, 1600, 1700, 1800]}
    >>> after = {"player": ["ann", "ben", "cid", "eve"], "rating": [1480, 1690, 1680, 1500]}
    >>> found = eq.compare_ratings(before, after)
    >>> found
    <RatingComparison: 3 players in old and new, 1 only in old, 1 only in new; 66.7 % of pairs in the same order>
    >>> found.risen(1)["player"].to_list(), found.fallen(1)["player"].to_list()
    (['ben'], ['cid'])
    """  # noqa: E501

    old: str
    new: str
    player_ids: Ids
    old_rating: Floats
    new_rating: Floats
    old_deviation: Floats
    new_deviation: Floats
    old_place: Ints
    new_place: Ints
    scale: ComparisonScale
    reason: str
    line: ScaleLine | None
    as_they_are: ChangeSummary
    on_line: ChangeSummary | None
    pearson: float
    spearman: float
    kendall: float
    same_order: int
    reverse_order: int
    tied: int
    notes: tuple[str, ...] = ()

    @property
    def in_both(self) -> Flags:
        """Return which players are in both tables, shape (P,)."""
        return ~np.isnan(self.old_rating) & ~np.isnan(self.new_rating)

    @property
    def players(self) -> int:
        """Return the number of players in both tables."""
        return int(self.in_both.sum())

    @property
    def only_old(self) -> list[str]:
        """Return the players of the old table only, the best first."""
        return self._only(self.old_rating)

    @property
    def only_new(self) -> list[str]:
        """Return the players of the new table only, the best first."""
        return self._only(self.new_rating)

    @property
    def change(self) -> Floats:
        """Return the changes that count: new rating minus old rating on the new scale, (P,)."""
        return self.new_rating - self.old_on_scale

    @property
    def old_on_scale(self) -> Floats:
        """Return the old ratings on the scale of the changes that count, shape (P,)."""
        if self.scale == "same" or self.line is None:
            return self.old_rating
        return np.asarray(self.line.intercept + self.line.slope * self.old_rating)

    @property
    def place_change(self) -> Ints:
        """Return the places that players rose, negative if they fell; shape (P,)."""
        return self.old_place - self.new_place

    @property
    def in_deviations(self) -> Floats:
        """Return the changes in deviations of both ratings together, NaN if unknown; shape (P,).

        The deviation of both is the root of the sum of their squares, the old one on the scale of
        the changes.
        """
        slope = self.line.slope if self.scale == "line" and self.line is not None else 1.0
        together = np.hypot(slope * self.old_deviation, self.new_deviation)
        known = together > 0
        unknown: Floats = np.full(len(known), np.nan)
        return np.divide(self.change, together, out=unknown, where=known)

    @property
    def with_deviations(self) -> int:
        """Return the number of players with a deviation in both tables."""
        return int((~np.isnan(self.in_deviations)).sum())

    @property
    def large(self) -> int:
        """Return the number of players whose change is beyond two deviations of both ratings."""
        return int((np.abs(self.in_deviations) > LARGE).sum())

    @property
    def pairs(self) -> int:
        """Return the number of pairs of players in both tables."""
        return self.same_order + self.reverse_order + self.tied

    @property
    def same_order_share(self) -> float:
        """Return the share of pairs in the same order, NaN without a pair."""
        return self.same_order / self.pairs if self.pairs else math.nan

    def risen(self, count: int = 10, *, by: MovedBy = "rating") -> pl.DataFrame:
        """Return the players who rose most, as a table.

        by : "rating" or "place"
        Raises : InvalidParameterError
        """
        return self._moved(count, by, 1)

    def fallen(self, count: int = 10, *, by: MovedBy = "rating") -> pl.DataFrame:
        """Return the players who fell most, as a table.

        by : "rating" or "place"
        Raises : InvalidParameterError
        """
        return self._moved(count, by, -1)

    def to_polars(self) -> pl.DataFrame:
        """Return a table of all players: who rose most first, those in one table only last."""
        change = np.where(self.in_both, -self.change, math.inf)
        best = np.fmax(self.old_rating, self.new_rating)
        return self._table(np.lexsort((self.player_ids.astype(str), -best, change)))

    def plot(self, *, title: str | None = None) -> Figure:
        """Return a figure of matplotlib: old ratings against new ones, with who moved most.

        Raises : EquipoiseError without matplotlib
        """
        return draw(self, title=title)

    def _moved(self, count: int, by: MovedBy, sign: int) -> pl.DataFrame:
        require(count >= 0, "count", "at least 0", count)
        require(by in ("rating", "place"), "by", "rating or place", by)
        moved = sign * (self.change if by == "rating" else self.place_change)
        rows = np.flatnonzero(self.in_both & (moved > 0))
        # Of equal moves, that of the better player is first.
        rows = rows[np.lexsort((self.new_place[rows], -moved[rows]))]
        return self._table(rows[:count])

    def _table(self, rows: Ints) -> pl.DataFrame:
        """Return the table of some players, in this order; what is unknown is null."""
        import polars as pl

        both = self.in_both[rows]

        def number(values: Floats) -> pl.Series:
            return pl.Series(values[rows]).fill_nan(None)

        def whole(values: Ints) -> pl.Series:
            return pl.Series(values[rows]).set(pl.Series(~both), None)

        where = np.where(both, "both", np.where(np.isnan(self.old_rating[rows]), "new", "old"))
        columns = {
            "player": pl.Series(self.player_ids[rows].tolist(), dtype=pl.String),
            "old_rating": number(self.old_rating),
            "new_rating": number(self.new_rating),
            "change": number(self.change),
            "old_place": whole(self.old_place),
            "new_place": whole(self.new_place),
            "place_change": whole(self.place_change),
            "old_deviation": number(self.old_deviation),
            "new_deviation": number(self.new_deviation),
            "in_deviations": number(self.in_deviations),
            "found_in": pl.Series(where.tolist(), dtype=pl.String),
        }
        if self.scale == "line":
            columns["old_on_scale"] = number(self.old_on_scale)
        return pl.DataFrame(columns)

    def _only(self, rating: Floats) -> list[str]:
        rows = np.flatnonzero(~self.in_both & ~np.isnan(rating))
        order = np.lexsort((self.player_ids[rows].astype(str), -rating[rows]))
        names: list[str] = self.player_ids[rows[order]].tolist()
        return names

    def _in_words(self) -> str:
        old, new = name_in_words(self.old), name_in_words(self.new)
        words = [f"{counted(self.players, 'player')} in {old} and {new}"]
        both = self.players
        only_old = int((~np.isnan(self.old_rating)).sum()) - both
        only_new = int((~np.isnan(self.new_rating)).sum()) - both
        words += [
            f"{count:,} only in {name}"
            for count, name in ((only_old, old), (only_new, new))
            if count
        ]
        text = ", ".join(words)
        if not self.pairs:
            return text
        share = number_in_words(100 * self.same_order_share)
        return f"{text}; {share} % of pairs in the same order"

    def _rows(self) -> int:
        return len(self.player_ids)

    def _notes(self) -> Sequence[str]:
        return self.notes
