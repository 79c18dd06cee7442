"""What a chart shows is what the trace says."""

from __future__ import annotations

import numpy as np
import pytest

import equipoise as eq
from charts.series_by_hand import series
from equipoise.analysis.plot.chart import Along, line_of, rating_series, visible_range


def trace(rows: dict[str, list[object]], system: eq.EloMMR | eq.Elo | None = None) -> eq.Trace:
    found = eq.replay(system or eq.EloMMR(), eq.read_history(rows), trace=True).trace
    assert found is not None
    return found


#: Ann plays the first, second and fourth match; in the third only cyd plays, so nobody is rated.
ROWS: dict[str, list[object]] = {
    "match": ["a", "a", "b", "b", "c", "d", "d"],
    "time": ["2024-01-01", "2024-01-01", *["2024-01-03"] * 2, "2024-01-05", *["2024-01-09"] * 2],
    "player": ["ann", "bob", "ann", "cyd", "cyd", "bob", "ann"],
    "rank": [0, 1, 0, 0, 0, 0, 1],
}


def test_a_series_is_the_players_rows_of_the_trace() -> None:
    """Every column bit for bit, in the order of the history."""
    found = trace(ROWS)
    table = found.file_table()
    for row, player in enumerate(["ann", "bob", "cyd"]):
        one = rating_series(found, row, "time")
        mine = table.filter((table["player"] == player) & table["rating"].is_not_null())
        assert one.player == player
        assert one.matches.tolist() == mine["match"].to_list()
        assert one.times is not None
        assert one.times.tolist() == mine["time"].to_list()
        for name in ("rating", "deviation", "performance"):
            assert getattr(one, name).tolist() == mine[name].to_list()
    bare = rating_series(trace(ROWS, eq.Elo()), 0, "time")
    assert (bare.rating[0], bare.has_band, bare.has_performances) == (1516, False, False)


@pytest.mark.parametrize(
    ("along", "places"), [("match", [1, 2, 4]), ("played", [1, 2, 3]), ("time", [0, 2, 8])]
)
def test_matches_stand_where_the_axis_says(along: Along, places: list[int]) -> None:
    one = rating_series(trace(ROWS), 0, along)
    if along == "time":
        start = np.datetime64("2024-01-01")
        assert ((one.place - start) / np.timedelta64(1, "D")).tolist() == places
    else:
        assert one.place.tolist() == places


def test_a_line_is_level_over_a_pause_and_straight_elsewhere() -> None:
    """Ten days of matches, a year without, ten more: one point is put before the jump."""
    days = [*range(10), *range(375, 385)]
    one = series([1500 + 10 * i for i in range(20)], days=days)
    place, rating, deviation = line_of(one, "time")
    assert len(place) == len(rating) == len(deviation) == 21
    assert place[10] == place[11] == one.place[10]
    assert (rating[9], rating[10], rating[11]) == (1590, 1590, 1600)
    np.testing.assert_array_equal(np.delete(rating, 10), one.rating)
    assert len(line_of(one, "match")[0]) == 20
    assert len(line_of(series([1500, 1510, 1520]), "time")[0]) == 3


def test_all_ratings_and_bands_are_in_sight() -> None:
    low, high = visible_range([series([1400, 1500, 1450])], band=True, performances=True)
    assert low < 1400 - 160
    assert high > 1500 + 160
    low, high = visible_range([series([1400, 1500])], band=False, performances=False)
    assert 1380 < low < 1400
    assert 1500 < high < 1520
    # A hundred points, as nobody gains from a closer look at half a point.
    alone = visible_range([series([1500.5])], band=False, performances=True)
    assert alone == (1450.5, 1550.5)


def test_wild_performances_do_not_squeeze_the_ratings() -> None:
    """One in a hundred at 9000 is left out; near ones are in sight; many far ones widen a bit."""
    shown = [1500.0] * 99
    wild = series([1500] * 100, performance=[*shown, 9000])
    assert visible_range([wild], band=True, performances=True)[1] < 1730
    near = series([1500] * 100, performance=[*shown, 1690])
    assert visible_range([near], band=True, performances=True)[1] > 1690
    many = series([1500] * 100, performance=[9000] * 100)
    assert 1800 < visible_range([many], band=True, performances=True)[1] < 1850


def test_matches_that_were_not_rated_are_left_out() -> None:
    """A match of one changes nothing; the trace has NaN there."""
    assert rating_series(trace(ROWS), 2, "match").matches.tolist() == ["b"]
