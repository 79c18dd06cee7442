"""Ratings over time: what a chart shows is what the trace says, as a figure and in letters."""

from __future__ import annotations

import io
import itertools
import xml.etree.ElementTree as ET
from collections.abc import Sequence

import numpy as np
import pytest

import equipoise as eq
from equipoise.analysis.plot.chart import (
    MOST_PLAYERS,
    Along,
    RatingSeries,
    line_of,
    rating_figure,
    rating_rows,
    rating_series,
    visible_range,
)
from equipoise.charts import theme
from equipoise.charts.canvas import ASCII, COLOURS, Row
from equipoise.errors import InvalidParameterError


def series(
    rating: Sequence[float],
    *,
    player: str = "ann",
    days: Sequence[float] | None = None,
    deviation: float = 80.0,
    performance: Sequence[float] | None = None,
) -> RatingSeries:
    """Return a series by time, a match a day where nothing else is said."""
    count = len(rating)
    place = np.array(range(count) if days is None else days) * 86_400_000_000
    return RatingSeries(
        player=player,
        matches=np.arange(1, count + 1),
        times=None,
        place=place.astype(np.int64).astype("datetime64[us]"),
        rating=np.array(rating, dtype=float),
        deviation=np.full(count, deviation),
        performance=np.full(count, np.nan)
        if performance is None
        else np.array(performance, dtype=float),
    )


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


def drawn(some: list[RatingSeries], **choices: object):  # type: ignore[no-untyped-def]
    return rating_figure(some, title="title", subtitle="subtitle", **choices)  # type: ignore[arg-type]


def svg(some: list[RatingSeries], **choices: object) -> bytes:
    file = io.BytesIO()
    theme.save(drawn(some, **choices), file, "svg")
    return file.getvalue()


def crowd(players: int, rating: float = 1500.0) -> list[RatingSeries]:
    """Return players who all end at nearly the same rating."""
    return [series([1400 + i, rating + i / 10], player=f"player {i}") for i in range(players)]


@pytest.mark.parametrize("players", [1, 3, 6, MOST_PLAYERS])
def test_labels_are_in_the_figure_and_do_not_overlap(players: int) -> None:
    figure = drawn(crowd(players))
    with theme.style():
        boxes = [text.get_window_extent() for text in figure.axes[0].texts]
        whole = figure.get_window_extent()
    assert len(boxes) == players
    assert all(whole.x0 <= box.x0 and box.x1 <= whole.x1 for box in boxes)
    ordered = sorted(boxes, key=lambda box: box.y0)
    for lower, upper in itertools.pairwise(ordered):
        assert lower.y1 <= upper.y0 + 1e-6


def test_performances_beyond_the_range_are_carets_at_its_edge() -> None:
    one = series([1500] * 100, performance=[1500] * 98 + [9000, -9000])
    axes = drawn([one]).axes[0]
    carets = {line.get_marker(): len(line.get_ydata()) for line in axes.lines}
    assert carets["^"] == carets["v"] == 1
    assert carets["o"] == 98


@pytest.mark.parametrize(
    "some",
    [
        [series([1500])],
        [series([1500], deviation=np.nan)],
        [series([1500, 1500])],
        [series([1500, 1600], days=[3, 3])],
        [series(np.linspace(1200, 1900, 600).tolist(), performance=[1500] * 600)],
        [series([1500, 1510], player="$\\alpha & <b> \N{SNOWMAN}" + "x" * 99)],
    ],
    ids=["one match", "no deviation", "no change", "one moment", "600 matches", "odd name"],
)
@pytest.mark.parametrize("size", [theme.WIDE, theme.Size(3, 3)])
def test_every_kind_of_player_can_be_drawn(
    some: list[RatingSeries], size: theme.Size, recwarn: pytest.WarningsRecorder
) -> None:
    """The file is well-formed XML, and has no clock in it."""
    recwarn.clear()
    first = svg(some, size=size)
    assert ET.fromstring(first).tag.endswith("svg")
    assert b"dc:date" not in first


def test_bands_and_performances_can_be_left_out() -> None:
    one = series([1500, 1600], performance=[1700, 1400])
    full, bare = drawn([one]).axes[0], drawn([one], band=False, performances=False).axes[0]
    assert full.texts[0].get_text() == "ann  1600"
    assert any(np.array_equal(line.get_ydata(), one.rating) for line in bare.lines)
    assert len(full.collections) == 1
    assert not bare.collections
    assert len(bare.lines) < len(full.lines)


def test_more_players_than_can_be_told_apart_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match="at most 12; got 13"):
        drawn(crowd(MOST_PLAYERS + 1))


def lines(rows: list[Row]) -> list[str]:
    return ["".join(span.text for span in row).rstrip() for row in rows]


RISE = series(np.linspace(1400, 1600, 30).tolist(), performance=[1500] * 30)


@pytest.mark.parametrize("columns", [40, 80, 120])
@pytest.mark.parametrize("rows", [8, 20])
def test_a_chart_is_as_large_as_asked(columns: int, rows: int) -> None:
    drawn = lines(rating_rows([RISE], columns=columns, rows=rows))
    assert len(drawn) == rows
    assert max(map(len, drawn)) <= columns


def test_a_rising_line_rises() -> None:
    """In letters, where each column holds one: further right is never lower."""
    drawn = lines(rating_rows([RISE], columns=60, rows=20, performances=False, glyphs=ASCII))
    assert sum(line.endswith(" ann 1600") for line in drawn) == 1
    body = [line[6:] for line in drawn[:-2]]
    rows = [max(i for i, line in enumerate(body) if line[c : c + 1] == "A") for c in range(40)]
    assert rows == sorted(rows, reverse=True)
    assert rows[0] > rows[-1]


def test_without_colours_several_players_have_letters() -> None:
    some = [RISE, series([1500, 1450], player="bob", days=[0, 29])]
    plain = "\n".join(lines(rating_rows(some, columns=80, rows=20, coloured=False)))
    assert " A ann 1600" in plain
    assert " B bob 1450" in plain
    assert plain.count("B") > 20
    colours = {span.colour for row in rating_rows(some, columns=80, rows=20) for span in row}
    assert {COLOURS[0], COLOURS[1]} <= colours


def test_ascii_is_ascii() -> None:
    """For terminals and files that know nothing else."""
    text = "\n".join(lines(rating_rows([RISE], columns=70, rows=16, glyphs=ASCII)))
    assert text.isascii()
    assert "o" in text
    assert ":" in text


@pytest.mark.parametrize(
    "some",
    [
        [series([1500])],
        [series([1500], deviation=np.nan)],
        [series([1500, 1600], days=[3, 3])],
        [series([1500], player=f"p{i}") for i in range(40)],
    ],
    ids=["one match", "no deviation", "one moment", "forty players"],
)
def test_every_kind_of_player_has_a_text(some: list[RatingSeries]) -> None:
    drawn = lines(rating_rows(some, columns=60, rows=12))
    assert len(drawn) == 12
    assert "1500" in "\n".join(drawn) or "1600" in "\n".join(drawn)


def test_performances_out_of_sight_are_carets() -> None:
    one = series([1500] * 60, performance=[1500] * 58 + [9000, -9000])
    text = "\n".join(lines(rating_rows([one], columns=80, rows=20)))
    assert "\N{BLACK UP-POINTING TRIANGLE}" in text
    assert "\N{BLACK DOWN-POINTING TRIANGLE}" in text
