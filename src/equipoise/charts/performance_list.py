"""Which players a chart of performances lists, in which order, and over which range of ratings."""

from __future__ import annotations

import numpy as np

from equipoise.arrays import Flags, Floats, Ints
from equipoise.data.performance_series import PerformanceSeries

#: More rows than this are no list any more: then only the first ones are shown.
MOST_ROWS = 100
SHOWN_ROWS = 50
#: Intervals widen the range that the ratings themselves take by at most this share on each side,
#: a range of fewer points counting as so many.
_WIDEN, _USUAL_RANGE = 0.75, 400.0
#: Rating points: within less, every trifle would look like a difference.
_LEAST_RANGE = 100.0


def listed(series: PerformanceSeries, most: int = MOST_ROWS, shown: int = SHOWN_ROWS) -> Ints:
    """Return the rows of the players in the order of the list: all of up to `most`, else `shown`.

    By PPR; who has none stands at the bound, or the middle of the bounds, and last without any.
    Where a PPR is one among the class only, the classes come one after the other.
    """
    place = _place(series)
    unknown = np.isnan(place)
    group = np.zeros(series.players, np.int64)
    if series.within_group and series.group is not None:
        group = series.group
    # The last key counts most; equal ones keep the order of the series.
    order = np.lexsort((-np.nan_to_num(series.tpr), -np.nan_to_num(place), unknown, group))
    return np.asarray(order if len(order) <= most else order[:shown], dtype=np.int64)


def _place(series: PerformanceSeries) -> Floats:
    bounds = np.stack([series.lower, series.upper])
    known = ~np.isnan(bounds)
    with np.errstate(invalid="ignore"):
        middle = np.where(known, bounds, 0.0).sum(axis=0) / known.sum(axis=0)
    return np.asarray(np.where(np.isnan(series.ppr), middle, series.ppr))


def new_groups(series: PerformanceSeries, rows: Ints) -> Flags:
    """Return which rows of a list begin another class than the row above, shape of `rows`.

    None if classes are not kept apart, or are hardly more than single players.
    """
    group = series.group
    if group is None or not series.within_group:
        return np.zeros(len(rows), np.bool_)
    begins = np.concatenate([[False], np.diff(group[rows]) != 0])
    return begins if 2 * np.count_nonzero(begins) < len(rows) else np.zeros_like(begins)


def rating_range(series: PerformanceSeries, rows: Ints) -> tuple[float, float]:
    """Return the range that shows all ratings and bounds, and of intervals what there is room for.

    Few games mean intervals of a thousand points, which would push everything else together.
    """
    columns = (series.ppr, series.tpr, series.rating, series.lower, series.upper)
    marks = np.concatenate([column[rows] for column in columns])
    marks = marks[np.isfinite(marks)]
    if not len(marks):
        return -_LEAST_RANGE / 2, _LEAST_RANGE / 2
    low, high = float(marks.min()), float(marks.max())
    error = np.nan_to_num(series.error[rows])
    ends = np.concatenate([series.ppr[rows] - error, series.ppr[rows] + error, [low, high]])
    span = max(high - low, _USUAL_RANGE)
    low = max(float(np.nanmin(ends)), low - _WIDEN * span)
    high = min(float(np.nanmax(ends)), high + _WIDEN * span)
    edge = max(0.03 * (high - low), (_LEAST_RANGE - (high - low)) / 2)
    return low - edge, high + edge


def score_text(points: float, games: float) -> str:
    """Return a score as chess players write it: "5.5/9"."""
    return f"{points:g}/{games:g}"


def rating_text(series: PerformanceSeries, row: int) -> str:
    """Return what is known of a player in numbers: "2857 \N{PLUS-MINUS SIGN} 120", or bounds."""
    if np.isfinite(series.ppr[row]):
        error = series.error[row]
        width = f" \N{PLUS-MINUS SIGN} {error:.0f}" if np.isfinite(error) else ""
        return f"{series.ppr[row]:.0f}{width}"
    lower, upper = series.lower[row], series.upper[row]
    if np.isfinite(lower) and np.isfinite(upper):
        return f"{lower:.0f} to {upper:.0f}"
    if np.isfinite(lower):
        return f"at least {lower:.0f}"
    return f"at most {upper:.0f}" if np.isfinite(upper) else ""
