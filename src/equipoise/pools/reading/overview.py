"""An overview of a pool: activity, the distribution of ratings, drift.

Its cost is bounded: it covers the newest matches of a very long log, and for the drift of a very
large pool the changes of some players, evenly drawn.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from equipoise.messages.players import ActivityBin, MeanPoint, OverviewMessage, RatingBin
from equipoise.pools.pool.rules import rules_of
from equipoise.store.connection import Store
from equipoise.store.derived import summaries
from equipoise.store.derived.summaries import MeanRow, RatingTotals, Reach
from equipoise.store.pools import PoolRecord, get_pool

#: Matches of activity and drift, and players whose changes drift is read from, at most.
MOST_MATCHES, MOST_PLAYERS = 200_000, 1_000
#: Bins of ratings, roughly, and fine bins in each, for the median.
_BINS, _FINE = 24, 20
_DAY = 86_400_000_000


class _Unit(NamedTuple):
    """The width of a bin, microseconds, and the longest span for which it is used."""

    name: str
    width: int
    longest: float


_UNITS = (
    _Unit("day", _DAY, 60 * _DAY),
    _Unit("week", 7 * _DAY, 2 * 366 * _DAY),
    _Unit("four weeks", 28 * _DAY, 8 * 366 * _DAY),
    _Unit("52 weeks", 364 * _DAY, math.inf),
)


def overview(
    store: Store,
    pool: str,
    *,
    most_matches: int = MOST_MATCHES,
    most_players: int = MOST_PLAYERS,
) -> OverviewMessage:
    """Return activity, ratings and drift of a pool.

    most_matches, most_players : limits of what is read

    Raises : NotFoundError
    """
    with store.read() as connection:
        record = get_pool(connection, pool)
        timed = rules_of(record.settings).timed
        seen = summaries.reach(connection, record, most_matches)
        totals = summaries.rating_totals(connection, record)
        unit, start = _unit_of(seen, record, timed)
        activity = {}
        if timed and seen is not None:
            activity = summaries.matches_by_bin(connection, record, start, unit.width)
        bins, fine = {}, 0.0
        if totals is not None:
            width = _round_width((totals.high - totals.low) / _BINS)
            low = math.floor(totals.low / width) * width
            fine = width / _FINE
            bins = summaries.ratings_by_bin(connection, record, low, fine)
        means: list[MeanRow] = []
        if totals is not None and seen is not None:
            means = summaries.means_by_bin(
                connection,
                record,
                players=most_players,
                since=start,
                width=unit.width,
                by_seq=not timed,
                about=totals.mean,
            )
    return OverviewMessage(
        pool=pool,
        unit=unit.name,
        activity=_activity(activity, start, unit.width),
        ratings=_ratings(bins, totals, fine),
        median=_median(bins, totals, fine),
        mean=None if totals is None else totals.mean,
        provisional=0 if totals is None else totals.provisional,
        drift=[_mean(row, totals, start, unit.width, timed) for row in means],
        covered=0 if seen is None else seen.matches,
    )


def _unit_of(seen: Reach | None, pool: PoolRecord, timed: bool) -> tuple[_Unit, int]:
    """Return the width of bins, and the start of the first: at midnight, or on a Monday."""
    if seen is None:
        return _UNITS[0], 0
    if not timed:
        width = max(1, math.ceil(seen.matches / 60))
        return _Unit("matches", width, math.inf), max(0, pool.last_seq - seen.matches)
    unit = next(one for one in _UNITS if seen.last - seen.first <= one.longest)
    # The first of January 1970 was a Thursday.
    offset = 4 * _DAY if unit.width > _DAY else 0
    return unit, (seen.first - offset) // unit.width * unit.width + offset


def _activity(counts: dict[int, int], start: int, width: int) -> list[ActivityBin]:
    """Return all bins up to the last, also bins without matches."""
    return [
        ActivityBin((start + number * width) // 1_000_000, counts.get(number, 0))
        for number in range(max(counts, default=-1) + 1)
    ]


def _ratings(counts: dict[int, int], totals: RatingTotals | None, fine: float) -> list[RatingBin]:
    """Return bins of round width, the sums of fine ones."""
    if totals is None:
        return []
    width = fine * _FINE
    low = math.floor(totals.low / width) * width
    found = [0] * (max(counts, default=-1) // _FINE + 1)
    for number, count in counts.items():
        found[number // _FINE] += count
    return [
        RatingBin(low + at * width, low + (at + 1) * width, count) for at, count in enumerate(found)
    ]


def _median(counts: dict[int, int], totals: RatingTotals | None, fine: float) -> float | None:
    """Return the median, by linear interpolation in its fine bin."""
    if totals is None:
        return None
    width = fine * _FINE
    low = math.floor(totals.low / width) * width
    below = 0
    for number, count in sorted(counts.items()):
        if below + count >= totals.players / 2:
            return low + (number + (totals.players / 2 - below) / count) * fine
        below += count
    return None


def _mean(
    row: MeanRow, totals: RatingTotals | None, start: int, width: int, timed: bool
) -> MeanPoint:
    """Return a point of drift: the mean, and a standard deviation to each side of it."""
    about = 0.0 if totals is None else totals.mean
    spread = math.sqrt(max(row.square - (row.mean - about) ** 2, 0.0))
    begins = start + row.bin * width
    return MeanPoint(
        start=begins // 1_000_000 if timed else None,
        match=begins + width if not timed else row.bin,
        participations=row.participations,
        mean=row.mean,
        lower=row.mean - spread,
        upper=row.mean + spread,
    )


def _round_width(least: float) -> float:
    """Return 1, 2 or 5 times a power of ten that is no smaller; 1 where all ratings are equal."""
    if least <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(least))
    return next(size * power for size in (1, 2, 5, 10) if size * power >= least * (1 - 1e-9))
