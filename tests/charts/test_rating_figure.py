"""Ratings over time as a figure."""

from __future__ import annotations

import io
import itertools
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from charts.series_by_hand import series
from equipoise.analysis.plot.chart import MOST_PLAYERS, RatingSeries, rating_figure
from equipoise.charts import theme
from equipoise.errors import InvalidParameterError


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
