"""Ratings and traces of players, in columns with ids, and the effective rating.

The effective rating is the long-term rating adjusted by recent form. Source: [TG2]_ section 11,
(36)-(41), with READINGS A9 and A13. Teams are made by it. It is computed when ratings are read, and
never stored.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from equipoise.arguments import check_fields
from equipoise.arrays import Floats, Ids, Ints
from equipoise.data.history import MICROSECONDS_PER_DAY, History, TimeKind
from equipoise.data.times import table_times
from equipoise.errors import NotFoundError, require

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Ratings:
    """The players' ratings at one time.

    player_ids : shape (P,)
    rating, deviation : shape (P,), rating points; NaN if a system has no deviation
    matches : shape (P,), rated matches of each player
    last_time : shape (P,), days since 1970 of the last rated match; NaN if unknown
    extra : columns of the system (volatility, form, ...), each of shape (P,)
    last_order : shape (P,), number of the last rated match if times are an order without dates, -1
      without a match; None without an order
    """

    player_ids: Ids
    rating: Floats
    deviation: Floats
    matches: Ints
    last_time: Floats
    extra: Mapping[str, Floats]
    time_kind: TimeKind = "seconds"
    last_order: Ints | None = None

    def of(self, player: object) -> dict[str, float]:
        """Return one player's row. Raises : NotFoundError."""
        found = np.flatnonzero(self.player_ids.astype(str) == str(player))
        if not len(found):
            raise NotFoundError(f"no rating for player {str(player)!r}")
        row = int(found[0])
        return {
            "rating": float(self.rating[row]),
            "deviation": float(self.deviation[row]),
            "matches": int(self.matches[row]),
            "last_time": float(self.last_time[row]),
            **{name: float(column[row]) for name, column in self.extra.items()},
        }

    def order(self) -> Ints:
        """Return rows sorted by rating descending, then by id."""
        by_id = np.argsort(self.player_ids, kind="stable")
        by_rating = np.argsort(-self.rating[by_id], kind="stable")
        return np.asarray(by_id[by_rating], dtype=np.int64)

    def to_polars(self) -> pl.DataFrame:
        """Return the rating table: best first, NaN as null, times as in the input.

        Seconds that a reader would not recognise are written as date-times.
        """
        import polars as pl

        rows = self.order()
        ids = self.player_ids[rows]
        columns: dict[str, pl.Series] = {
            "player": pl.Series(ids.tolist() if ids.dtype == object else ids),
            "rating": pl.Series(self.rating[rows]),
            "deviation": pl.Series(self.deviation[rows]).fill_nan(None),
            "matches": pl.Series(self.matches[rows]),
            "last_time": _times(self.last_time[rows], self.time_kind),
        }
        if self.last_order is not None:
            order = pl.Series(self.last_order[rows])
            columns["last_time"] = order.set(order < 0, None)
        for name, column in self.extra.items():
            columns[name] = pl.Series(column[rows]).fill_nan(None)
        return pl.DataFrame(columns)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class InitialRatings:
    """Ratings with which players begin, because they are known from elsewhere.

    player_ids : shape (P,), int64 or object (str), every player once
    rating, deviation : shape (P,), rating points; NaN is the deviation of newcomers
    """

    player_ids: Ids
    rating: Floats
    deviation: Floats

    def __post_init__(self) -> None:
        """Check that every player has one finite rating, and deviations are positive."""
        check_fields(self)
        players = len(self.player_ids)
        for name in ("rating", "deviation"):
            shape = getattr(self, name).shape
            require(shape == (players,), name, f"an array of shape ({players},)", shape)
        once = len({str(one) for one in self.player_ids.tolist()})
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


def _times(days: Floats, kind: TimeKind) -> pl.Series:
    """Return days since 1970 in the format of tables, null if unknown."""
    import polars as pl

    known = ~np.isnan(days)
    microseconds = np.rint(days[known] * MICROSECONDS_PER_DAY).astype(np.int64)
    if kind == "seconds":
        # The input had whole seconds; a day as float64 is exact to a microsecond.
        microseconds = (microseconds + 500_000) // 1_000_000 * 1_000_000
    written = table_times(microseconds, kind)
    values = np.zeros(len(days), written.dtype)
    values[known] = written
    return pl.select(pl.when(pl.lit(pl.Series(known))).then(pl.lit(pl.Series(values)))).to_series()


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """The changes of every match for every player in it: columns of shape (N,), NaN if unrated.

    `expected`, `rating_before`, `deviation_before`, `rating`, `deviation` and the columns of
    the system, in the row order of `history`.
    """

    history: History
    columns: Mapping[str, Floats]

    def to_polars(self) -> pl.DataFrame:
        """Return the trace as a table, one row for each participation; unrated ones are null."""
        import polars as pl

        table = self.history.to_polars()
        if "team" not in table.columns:
            table = table.with_columns(pl.Series("team", self.history.team))
        head = [name for name in ("match", "time", "player", "team", "rank") if name in table]
        return table.select(head).with_columns(
            *(pl.Series(name, column).fill_nan(None) for name, column in self.columns.items())
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectiveRating:
    """Parameters of the effective rating.

    form_points : rating points per unit of form (36)
    form_cap, form_cap_deviations : bounds of that product, in points and in deviations (37)
    deviation_scale : deviation at which form has half its weight, rating points (39)
    blend : the largest weight of form (40)
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
