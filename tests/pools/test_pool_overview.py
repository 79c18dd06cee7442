"""How a pool does as a whole, against counting by hand, on both databases."""

from __future__ import annotations

from collections import Counter
from statistics import fmean, median, pstdev

import pytest

from equipoise.errors import NotFoundError
from equipoise.messages.matches import MatchRequest, TeamRequest
from equipoise.messages.pools import PoolRequest
from equipoise.pools.pool.pools import create_pool
from equipoise.pools.posting.posting import Post, post_matches
from equipoise.pools.reading.players import leaderboard, overview, rating_timeline
from equipoise.store.connection import Store

DAY = 86_400
#: A Monday, at noon.
START = 4 * DAY + 2_800 * 7 * DAY + DAY // 2
NOW = 2_000_000_000_000_000


def duels(count: int, every: int, timed: bool = True) -> list[MatchRequest]:
    """Return duels of 12 players, one every so many seconds."""
    return [
        MatchRequest(
            f"d{at}",
            [
                TeamRequest([f"p{at % 12}"], rank=1),
                TeamRequest([f"p{(at * 5 + 1 + at // 12) % 12 if at % 12 else 11}"], rank=2),
            ],
            time=START + every * at if timed else None,
        )
        for at in range(count)
        if at % 12 != (at * 5 + 1 + at // 12) % 12 or at % 12 == 0
    ]


def filled(store: Store, matches: list[MatchRequest], **settings: object) -> None:
    create_pool(store, "pool", PoolRequest(system="glicko", **settings), NOW)  # type: ignore[arg-type]
    post_matches(store, "pool", [Post(matches, detailed=False)], NOW)


def test_a_pool_without_matches_has_nothing_to_tell(store: Store) -> None:
    """Nothing is divided by nothing."""
    filled(store, [])
    found = overview(store, "pool")
    assert (found.activity, found.ratings, found.drift) == ([], [], [])
    assert (found.median, found.mean, found.covered) == (None, None, 0)
    with pytest.raises(NotFoundError):
        overview(store, "other")


@pytest.mark.parametrize(("every", "unit", "width"), [(DAY // 3, "day", 1), (DAY, "week", 7)])
def test_matches_are_counted_by_day_or_week(
    store: Store, every: int, unit: str, width: int
) -> None:
    """The first bin begins at midnight, of a Monday for weeks; empty ones are told too."""
    matches = [one for one in duels(150, every) if one.time != START + 6 * every]
    filled(store, matches)
    found = overview(store, "pool")
    assert found.unit == unit
    counted = Counter((int(one.time or 0) - START // DAY * DAY) // (width * DAY) for one in matches)
    assert [one.matches for one in found.activity] == [
        counted[at] for at in range(max(counted) + 1)
    ]
    assert found.activity[0].start == START // DAY * DAY
    assert found.covered == len(matches)


def test_ratings_are_told_by_bins_with_their_mean_and_median(store: Store) -> None:
    """Every player is in one bin; the median is that of the ratings shown, to a fine bin."""
    filled(store, duels(100, DAY // 3), display_deviations=1.0, placement_matches=16)
    found = overview(store, "pool")
    rows = leaderboard(store, "pool", provisional=True).players
    shown = [row.display for row in rows]
    assert sum(one.players for one in found.ratings) == 12
    for one in found.ratings:
        assert one.players == sum(one.low <= value < one.high for value in shown)
    width = found.ratings[0].high - found.ratings[0].low
    assert found.mean == pytest.approx(fmean(shown))
    # Between the two in the middle it may lie anywhere.
    middle = sorted(shown)[5:7]
    assert middle[0] - width / 20 <= (found.median or 0) <= middle[1] + width / 20
    assert abs((found.median or 0) - median(shown)) <= (middle[1] - middle[0]) / 2 + width / 20
    assert found.provisional == sum(row.provisional for row in rows)


def test_drift_is_the_mean_of_ratings_after_matches(store: Store) -> None:
    """With a standard deviation to each side, week by week."""
    filled(store, duels(150, DAY))
    found = overview(store, "pool")
    weeks: dict[int, list[float]] = {}
    for player in range(12):
        timeline = rating_timeline(store, "pool", f"p{player}", most=1000)
        assert timeline.times is not None
        for time, rating in zip(timeline.times, timeline.ratings, strict=True):
            weeks.setdefault(int(time - START // DAY * DAY) // (7 * DAY), []).append(rating)
    assert len(found.drift) == len(weeks)
    for point, (week, values) in zip(found.drift, sorted(weeks.items()), strict=True):
        assert point.start == START // DAY * DAY + week * 7 * DAY
        assert point.participations == len(values)
        assert point.mean == pytest.approx(fmean(values))
        assert point.upper - point.mean == pytest.approx(pstdev(values), abs=1e-6)
        assert point.mean - point.lower == pytest.approx(pstdev(values), abs=1e-6)


def test_pools_without_times_are_told_by_matches(store: Store) -> None:
    """Activity needs times; drift goes by the numbers of the log."""
    filled(store, duels(120, 1, timed=False), times="none")
    found = overview(store, "pool")
    assert found.unit == "matches"
    assert found.activity == []
    assert [one.start for one in found.drift] == [None] * len(found.drift)
    assert sum(one.participations for one in found.drift) == 2 * found.covered
    assert [one.match for one in found.drift] == sorted(one.match for one in found.drift)


def test_long_logs_and_large_pools_are_told_of_in_part(store: Store) -> None:
    """Of the newest matches, and of players evenly drawn."""
    matches = duels(150, DAY)
    filled(store, matches)
    found = overview(store, "pool", most_matches=30, most_players=4)
    assert found.covered == 30
    # The day of the thirtieth match is told of from its beginning.
    assert 30 <= sum(one.matches for one in found.activity) <= 31
    assert 0 < sum(one.participations for one in found.drift) < 60


def test_one_player_or_equal_ratings_make_one_bin(store: Store) -> None:
    """A range of no width is no reason to fail."""
    draw = MatchRequest("d", [TeamRequest(["a"], rank=1), TeamRequest(["b"], rank=1)], time=START)
    filled(store, [draw])
    found = overview(store, "pool")
    assert [one.players for one in found.ratings] == [2]
    assert found.median == pytest.approx(1500, abs=1)
