"""Ratings and traces as values: columns outside, ids attached."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from equipoise.arrays import Floats, Ids, Ints
from equipoise.data.history import MICROSECONDS_PER_DAY, History, TimeKind
from equipoise.data.times import table_times
from equipoise.errors import NotFoundError

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Ratings:
    """The players' ratings at one moment.

    player_ids : shape (P,)
    rating, deviation : shape (P,), rating points; NaN where a system has no deviation
    matches : shape (P,), rated matches of each player
    last_time : shape (P,), days since 1970 of the last rated match; NaN where unknown
    extra : columns of the system (volatility, form, ...), each of shape (P,)
    last_order : shape (P,), number of the last rated match where times are an order without dates,
        -1 where there is none; None without an order
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
        """Return the rating table: best first, NaN as null, times as they came.

        Seconds that a reader would not take for such are written as date-times.
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


def _times(days: Floats, kind: TimeKind) -> pl.Series:
    """Return days since 1970 as a table has them, null where unknown."""
    import polars as pl

    known = ~np.isnan(days)
    microseconds = np.rint(days[known] * MICROSECONDS_PER_DAY).astype(np.int64)
    if kind == "seconds":
        # Whole seconds came in; a day is a float64 here, exact to a microsecond.
        microseconds = (microseconds + 500_000) // 1_000_000 * 1_000_000
    written = table_times(microseconds, kind)
    values = np.zeros(len(days), written.dtype)
    values[known] = written
    return pl.select(pl.when(pl.lit(pl.Series(known))).then(pl.lit(pl.Series(values)))).to_series()


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """What every match did to every player in it: columns of shape (N,), NaN where unrated.

    `expected`, `rating_before`, `deviation_before`, `rating`, `deviation` and the columns of
    the system, in the row order of `history`.
    """

    history: History
    columns: Mapping[str, Floats]

    def to_polars(self) -> pl.DataFrame:
        """Return the trace as a table, a row a participation; unrated rows are left null."""
        import polars as pl

        table = self.history.to_polars()
        if "team" not in table.columns:
            table = table.with_columns(pl.Series("team", self.history.team))
        head = [name for name in ("match", "time", "player", "team", "rank") if name in table]
        return table.select(head).with_columns(
            *(pl.Series(name, column).fill_nan(None) for name, column in self.columns.items())
        )
