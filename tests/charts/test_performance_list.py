"""Which players a chart of performances lists, and in which order."""

from __future__ import annotations

import numpy as np

from charts.performances_by_hand import field, performances
from equipoise.analysis.performance.chart import (
    MOST_ROWS,
    SHOWN_ROWS,
    listed,
    new_groups,
    rating_range,
    rating_text,
)

NAN = float("nan")


def test_the_list_is_by_performance_and_bounds_stand_where_they_are() -> None:
    """2700 bounded below, 2500 to 2700 by its middle, and last who has nothing; ties by TPR."""
    series = performances(
        [2650, NAN, NAN, NAN, 2610, 2610],
        lower=[NAN, 2700, 2500, NAN, NAN, NAN],
        upper=[NAN, NAN, 2700, NAN, NAN, NAN],
        tpr=[2600, NAN, 2600, 2900, 2500, 2550],
    )
    assert listed(series).tolist() == [1, 0, 5, 4, 2, 3]
    texts = [rating_text(series, row) for row in range(4)]
    assert texts == ["2650", "at least 2700", "2500 to 2700", ""]


def test_classes_come_one_after_the_other_where_performance_is_within_them() -> None:
    group = np.array([1, 0, 1, 0, 1])
    ppr = [2900.0, 2500.0, 2800.0, 2600.0, 2700.0]
    within = performances(ppr, group=group)
    rows = listed(within)
    assert rows.tolist() == [3, 1, 0, 2, 4]
    assert new_groups(within, rows).tolist() == [False, False, True, False, False]
    across = performances(ppr)
    assert listed(across).tolist() == [0, 2, 4, 3, 1]
    alone = performances(ppr, group=np.arange(5))
    for series in (across, alone):
        assert not new_groups(series, listed(series)).any()


def test_more_than_a_hundred_players_become_the_first_fifty() -> None:
    assert len(listed(field(MOST_ROWS))) == MOST_ROWS
    crowd = field(MOST_ROWS + 1)
    rows = listed(crowd)
    assert len(rows) == SHOWN_ROWS
    best = np.sort(np.where(np.isnan(crowd.ppr), crowd.lower, crowd.ppr))[::-1]
    assert np.array_equal(np.fmax(crowd.ppr, crowd.lower)[rows], best[~np.isnan(best)][:SHOWN_ROWS])


def test_the_range_has_every_rating_but_not_every_interval() -> None:
    """Ratings from 2500 to 3000 take 500: intervals add at most 375 to an end, the edge 3 %."""
    series = performances([2500, 3000], error=[5000, 100])
    low, high = rating_range(series, listed(series))
    assert (low, high) == (2500 - 375 - 37.5, 3000 + 375 + 37.5)
    series = performances([2500, 3000], error=[100, 100])
    assert rating_range(series, listed(series)) == (2400 - 21, 3100 + 21)
    wide = performances([2000, NAN], error=[NAN, NAN], lower=[NAN, 2900], tpr=[1500, NAN])
    low, high = rating_range(wide, listed(wide))
    assert low < 1500
    assert high > 2900
    low, high = rating_range(performances([NAN]), np.array([0]))
    assert low < high
