"""Who swept whom as a figure, and where its boxes and lines stand."""

from __future__ import annotations

import io
import itertools
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from charts.performances_by_hand import graph, knock_out, world_cup
from equipoise.analysis.performance.sweeps import (
    BOX_WIDTH,
    MOST_ABREAST,
    Layout,
    box_words,
    class_layout,
    sweeps_figure,
)
from equipoise.charts import theme
from equipoise.data.tournament import ClassGraph

#: Points: nothing of the page is wider.
WIDE = 840.0


@st.composite
def graphs(draw: st.DrawFn) -> ClassGraph:
    """Draw classes of 1 to 9 members, each arc from one of lower number."""
    classes = draw(st.lists(st.integers(1, 9), min_size=1, max_size=14))
    pairs = list(itertools.combinations(range(len(classes)), 2))
    arcs = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=20)) if pairs else []
    names = [
        [f"player {row}.{number}" for number in range(size)] for row, size in enumerate(classes)
    ]
    return graph(names, [(above, below, 1.0) for above, below in arcs])


def cuts_a_box(layout: Layout) -> bool:
    """Return whether a line passes through the inside of a box, looked at in a hundred places."""
    share = np.linspace(0, 1, 100)
    for line in layout.lines:
        for start, end in itertools.pairwise(np.array(line.points)):
            x, y = (start + share[:, None] * (end - start)).T
            for box in layout.boxes:
                across = np.abs(x - box.x) < BOX_WIDTH / 2 - 1e-6
                inside = (y > box.y + 1e-6) & (y < box.y + box.height - 1e-6)
                if (across & inside).any():
                    return True
    return False


@given(graphs())
def test_boxes_stand_apart_and_no_line_runs_through_them(drawn: ClassGraph) -> None:
    """A line behind a box would look as if it came from there."""
    layout = class_layout(drawn, WIDE, "players")
    for one, other in itertools.combinations(layout.boxes, 2):
        beside = abs(one.x - other.x) >= BOX_WIDTH
        above = one.y + one.height < other.y or other.y + other.height < one.y
        assert beside or above
    assert not cuts_a_box(layout)
    for box in layout.boxes:
        assert BOX_WIDTH / 2 - 1e-6 <= box.x <= layout.width - BOX_WIDTH / 2 + 1e-6
        assert 0 <= box.y <= box.y + box.height <= layout.height + 1e-6


@given(graphs())
def test_every_arc_can_be_followed_from_winners_to_losers(drawn: ClassGraph) -> None:
    """From the losers' box up along the lines: each begins at a box or where another ends."""
    layout = class_layout(drawn, WIDE, "players")
    ends = {line.arc: line for line in layout.lines if line.arc >= 0}
    assert sorted(ends) == list(range(len(drawn.games)))
    by_end = {line.points[-1]: line for line in layout.lines if line.arc < 0}
    for arc, line in ends.items():
        loser = layout.boxes[int(drawn.below[arc])]
        winner = layout.boxes[int(drawn.above[arc])]
        assert line.points[-1][1] == loser.y
        assert abs(line.points[-1][0] - loser.x) < BOX_WIDTH / 2
        start = line.points[0]
        while start in by_end:
            start = by_end[start].points[0]
        assert start[1] == pytest.approx(winner.y + winner.height)
        assert abs(start[0] - winner.x) < BOX_WIDTH / 2


def test_losers_stand_beneath_winners_and_wide_levels_take_rows() -> None:
    """A champion and 13 losers: rows of five at most."""
    drawn = graph(
        [["a"], *([f"b{row}"] for row in range(13))], [(0, row, 1) for row in range(1, 14)]
    )
    layout = class_layout(drawn, WIDE, "players")
    heights = [box.y for box in layout.boxes[1:]]
    assert min(heights) > layout.boxes[0].y + layout.boxes[0].height
    counts = [heights.count(y) for y in sorted(set(heights))]
    assert sum(counts) == 13
    assert max(counts) <= MOST_ABREAST


def test_components_stand_side_by_side() -> None:
    layout = class_layout(graph([["a"], ["b"], ["x"], ["y"]], [(0, 1, 1), (2, 3, 1)]), WIDE, "")
    a, b, x, y = layout.boxes
    assert a.x == b.x < x.x == y.x
    assert a.y == x.y < b.y == y.y


def test_large_classes_are_summarised() -> None:
    names = tuple(f"nation {number}" for number in range(28))
    heading, lines = box_words(names, "teams")
    assert heading == "28 teams"
    assert lines[0].startswith("nation 0, ")
    assert len(lines) == 3
    assert lines[-1].endswith("\N{HORIZONTAL ELLIPSIS}")
    assert box_words(("ann", "bob"), "players") == ("", ("ann", "bob"))


def svg(drawn: ClassGraph) -> bytes:
    file = io.BytesIO()
    theme.save(sweeps_figure(drawn, title="title", subtitle="subtitle"), file, "svg")
    return file.getvalue()


@pytest.mark.parametrize(
    "drawn",
    [
        graph([["only"]], []),
        graph([[str(number) for number in range(28)], ["last"]], [(0, 1, 3.0)]),
        graph([["$\\alpha & <b> \N{SNOWMAN}" + "x" * 99], [""]], [(0, 1, 0.5)]),
        graph([[str(row)] for row in range(100)], [(row, row + 1, 1) for row in range(0, 99, 2)]),
        knock_out(16),
        world_cup(),
    ],
    ids=["one class", "two", "odd names", "a hundred", "knock-out", "world cup"],
)
def test_every_graph_can_be_drawn(drawn: ClassGraph) -> None:
    """The file is well-formed XML, the same each time, and has no clock in it."""
    first = svg(drawn)
    assert ET.fromstring(first).tag.endswith("svg")
    assert first == svg(drawn)
    assert b"dc:date" not in first


def test_words_stay_in_their_boxes_and_in_the_figure() -> None:
    figure = sweeps_figure(world_cup(), title="title", subtitle="subtitle", noun="teams")
    with theme.style():
        figure.draw_without_rendering()
        whole = figure.get_window_extent()
        patches = [patch.get_window_extent() for patch in figure.axes[0].patches]
        texts = [text for text in figure.axes[0].texts if text.get_text()]
        found = [(text.get_text(), text.get_window_extent()) for text in texts]
    assert len(patches) == 16
    for text, box in found:
        assert whole.x0 <= box.x0 < box.x1 <= whole.x1
        inside = [one for one in patches if one.x0 <= box.x0 and box.x1 <= one.x1]
        assert text.isdigit() or any(one.y0 <= box.y0 and box.y1 <= one.y1 for one in inside)


def test_games_are_on_the_arrows() -> None:
    axes = sweeps_figure(world_cup(), title="", subtitle="").axes[0]
    numbers = sorted(float(text.get_text()) for text in axes.texts if text.get_text().isdigit())
    assert numbers == sorted(world_cup().games.tolist())


def test_many_arrows_of_one_game_are_not_numbered_and_the_foot_says_so() -> None:
    crowd = graph(
        [["a"], ["b"], *([str(row)] for row in range(60))],
        [(0, row, 1) for row in range(1, 50)] + [(1, 50, 3)],
    )
    figure = sweeps_figure(crowd, title="", subtitle="")
    numbers = [text.get_text() for text in figure.axes[0].texts if text.get_text() == "3"]
    assert numbers
    assert [text.get_text() for text in figure.texts] == [
        "arrows without a number: one game; and 2 more classes"
    ]
