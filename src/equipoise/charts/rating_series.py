"""The ratings of a player through a history, as a chart shows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from equipoise.arrays import Flags, Floats, Ids, Ints
from equipoise.data.ratings import Trace

#: What runs along the horizontal axis: the time of a match, its number in the history, or how many
#: rated matches the player has had.
Along: TypeAlias = Literal["time", "match", "played"]

#: A band reaches this many deviations either way: about 95 % if the belief is normal.
BAND = 2.0
#: A pause is longer than so many usual gaps between a player's matches ...
_PAUSE_GAPS = 8.0
#: ... and than this share of the player's time.
_PAUSE_SHARE = 0.05
#: Rating points: within less, every trifle would look like a change.
_LEAST_RANGE = 100.0
#: Performances this close to ratings and bands are always in sight, as a share of their range.
_NEAR = 0.15
#: Of those further away so many per cent may lie out of sight at either end ...
_UNUSUAL = 2.0
#: ... and the rest widens the range by at most this share.
_WIDEN = 0.5


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RatingSeries:
    """One player's rated matches in order.

    matches : ids, shape (k,); times : shape (k,), as the history writes them, None without times
    place : shape (k,), datetime64[us] by time, else int64: where each stands on the axis
    rating, deviation, performance : shape (k,), after the match; NaN where a system has none
    """

    player: int | str
    matches: Ids
    times: Ids | None
    place: Ids
    rating: Floats
    deviation: Floats
    performance: Floats

    @property
    def has_band(self) -> bool:
        """Whether there is any deviation to show."""
        return bool(np.isfinite(self.deviation).any())

    @property
    def has_performances(self) -> bool:
        """Whether there is any performance to show."""
        return bool(np.isfinite(self.performance).any())

    def positions(self) -> Floats:
        """Return the places as numbers: microseconds since 1970, or counts."""
        return positions(self.place)


def rating_series(trace: Trace, row: int, along: Along) -> RatingSeries:
    """Return the series of one player.

    row : of the player in the trace's history; along : "time" needs a history with times
    """
    history = trace.history
    rows = np.flatnonzero(history.player == row)
    rows = rows[np.isfinite(trace.columns["rating"][rows])]
    match = np.searchsorted(history.offsets, rows, side="right") - 1
    nothing = np.full(len(rows), np.nan)

    def column(name: str) -> Floats:
        return trace.columns[name][rows] if name in trace.columns else nothing

    times = history.times()
    return RatingSeries(
        player=history.player_ids[row : row + 1].tolist()[0],
        matches=history.match_ids[match],
        times=None if times is None else times[match],
        place=_places(history.time, match, along),
        rating=column("rating"),
        deviation=column("deviation"),
        performance=column("performance"),
    )


def _places(time: Ints | None, match: Ints, along: Along) -> Ids:
    if along == "played":
        return np.arange(1, len(match) + 1)
    if along == "time" and time is not None:
        stamps: Ids = time[match].astype("datetime64[us]")
        return stamps
    return np.asarray(match + 1, dtype=np.int64)


def positions(places: Ids) -> Floats:
    """Return places on an axis as numbers: microseconds since 1970, or counts."""
    return places.astype(np.int64).astype(np.float64)


def line_of(series: RatingSeries, along: Along) -> tuple[Ids, Floats, Floats]:
    """Return places, ratings and deviations of the points that a line runs through.

    A rating stands until the next match. Over short gaps a straight line is easier to read than
    stairs and says nearly the same; over a pause it would tell of a steady change that nobody
    saw, so there the line goes on level, and jumps at the match that ends the pause.
    """
    if along != "time" or len(series.rating) < 3:
        return series.place, series.rating, series.deviation
    gaps = np.diff(series.positions())
    usual = max(float(np.median(gaps)) * _PAUSE_GAPS, float(gaps.sum()) * _PAUSE_SHARE)
    before = np.flatnonzero(gaps > usual)
    return (
        np.insert(series.place, before + 1, series.place[before + 1]),
        np.insert(series.rating, before + 1, series.rating[before]),
        np.insert(series.deviation, before + 1, series.deviation[before]),
    )


def visible_range(
    series: Sequence[RatingSeries], *, band: bool, performances: bool
) -> tuple[float, float]:
    """Return the vertical range that shows every rating and band, and the usual performances.

    A first place in a field of thousands can mean a performance thousands of points above
    everything else; few such points would squeeze the rest into a strip.
    """
    reach = BAND if band else 0.0
    spread = [reach * np.nan_to_num(one.deviation) for one in series]
    low = min(float((one.rating - by).min()) for one, by in zip(series, spread, strict=True))
    high = max(float((one.rating + by).max()) for one, by in zip(series, spread, strict=True))
    shown = np.concatenate([one.performance[np.isfinite(one.performance)] for one in series])
    span = max(high - low, 1.0)
    if performances and len(shown):
        lowest, highest = _usual(shown, low - _NEAR * span, high + _NEAR * span)
        low, high = (
            max(min(low, lowest), low - _WIDEN * span),
            min(max(high, highest), high + _WIDEN * span),
        )
    edge = max(0.04 * (high - low), (_LEAST_RANGE - (high - low)) / 2)
    return low - edge, high + edge


def _usual(performances: Floats, low: float, high: float) -> tuple[float, float]:
    """Return the ends of the performances, or of the usual ones where an end is beyond a bound."""
    ends = float(performances.min()), float(performances.max())
    usual = (
        float(np.percentile(performances, _UNUSUAL, method="lower")),
        float(np.percentile(performances, 100 - _UNUSUAL, method="higher")),
    )
    return (
        ends[0] if ends[0] >= low else min(usual[0], low),
        ends[1] if ends[1] <= high else max(usual[1], high),
    )


def outside(values: Floats, low: float, high: float) -> tuple[Flags, Flags]:
    """Return which values lie below and which above a range."""
    return values < low, values > high
