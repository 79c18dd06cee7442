"""Drawings for a page: what they show, in text, places and words for who cannot see them."""

from __future__ import annotations

import math
import re
from xml.etree import ElementTree

import numpy as np
import pytest

from charts.colours_seen import VISION, contrast, nearest
from equipoise.charts import svg, theme
from equipoise.charts.backtest import (
    Course,
    Reference,
    Whisker,
    calibration_chart,
    interval_chart,
    legend_mark,
    slices_chart,
)
from equipoise.charts.svg import DARK_INK, DARK_MUTED, DARK_PAGE, DARK_PALETTE, style_sheet
from equipoise.data.backtest import Calibration

NAN = math.nan


def intervals(*rows: Whisker, reference: Reference | None = None) -> ElementTree.Element:
    chart = interval_chart("one", rows, reference, title="A & B", description="of <these>")
    return ElementTree.fromstring(chart)


def row(value: float, lower: float = NAN, upper: float = NAN, label: str = "a") -> Whisker:
    return Whisker(label, f"{value:g}", value, lower, upper, 0)


def of_class(chart: ElementTree.Element, name: str) -> list[ElementTree.Element]:
    return [mark for mark in chart.iter() if name in (mark.get("class") or "").split()]


def texts(chart: ElementTree.Element) -> list[str]:
    return [mark.text or "" for mark in chart.iter("text")]


@pytest.mark.parametrize("vision", VISION)
def test_in_the_dark_any_two_colours_can_be_told_apart_by_everybody(vision: str) -> None:
    """As by day: see the test of the theme."""
    assert len(DARK_PALETTE) == len(theme.PALETTE)
    assert nearest(DARK_PALETTE, vision) > 20


def test_in_the_dark_lines_and_words_stand_out_from_the_page() -> None:
    """WCAG 2 asks for 3 : 1 of graphics and 4.5 : 1 of text."""
    assert min(contrast(colour, DARK_PAGE) for colour in DARK_PALETTE) >= 3
    assert min(contrast(colour, DARK_PAGE) for colour in (DARK_INK, DARK_MUTED)) >= 4.5


def test_every_class_and_colour_that_is_used_is_defined() -> None:
    style = style_sheet()
    defined = set(re.findall(r"--([a-z0-9]+):", style))
    assert set(re.findall(r"var\(--([a-z0-9]+)\)", style)) <= defined
    for number in range(7):
        assert f".{svg.look(number)} {{" in style


def test_a_drawing_is_told_to_who_cannot_see_it() -> None:
    """By title and description, which have ids of their own on the page."""
    chart = intervals(row(1.0))
    assert chart.get("role") == "img"
    assert (chart.findtext("title"), chart.findtext("desc")) == ("A & B", "of <these>")
    names = (chart.get("aria-labelledby") or "").split()
    assert names == [chart[0].get("id"), chart[1].get("id")] == ["one-title", "one-about"]


def test_dot_and_whisker_stand_where_their_values_are() -> None:
    """The whisker from bound to bound, the dot between them in proportion."""
    chart = intervals(row(2.0, 1.0, 5.0), row(3.0, 2.0, 4.0))
    whisker, other = of_class(chart, "whisker")
    low, high = float(whisker.get("x1") or 0), float(whisker.get("x2") or 0)
    dot = float(of_class(chart, "dot")[0].get("cx") or 0)
    assert (dot - low) / (high - low) == pytest.approx(0.25, abs=1e-3)
    assert low < float(other.get("x1") or 0) < float(other.get("x2") or 0) < high


def test_what_is_not_known_is_not_drawn() -> None:
    chart = intervals(row(NAN), row(1.0))
    assert len(of_class(chart, "dot")) == 1
    assert of_class(chart, "whisker") == []


def test_a_ring_is_what_noise_may_explain() -> None:
    chart = intervals(row(1.0)._replace(open=True), row(2.0))
    assert (len(of_class(chart, "ring")), len(of_class(chart, "dot"))) == (1, 1)


def test_the_baseline_is_a_line_or_an_arrow_towards_it() -> None:
    """A line across every row, unless it would squash the others."""
    rows = (row(80.0, 79.0, 81.0), row(82.0, 81.0, 83.0))
    near = intervals(*rows, reference=Reference("baseline 78", 78.0))
    assert len(of_class(near, "reference")) == 1 + len(rows)
    assert "baseline 78" in texts(near)
    for value, text in (
        (50.0, "\N{LEFTWARDS ARROW} baseline"),
        (99.0, "baseline \N{RIGHTWARDS ARROW}"),
    ):
        far = intervals(*rows, reference=Reference("baseline", value))
        assert of_class(far, "reference") == []
        assert text in texts(far)
    assert of_class(intervals(*rows, reference=Reference("x", NAN)), "reference") == []


def test_long_labels_are_shortened_and_shown_whole_on_request() -> None:
    label = "W" * 80
    chart = intervals(row(1.0, label=label))
    shown = next(mark for mark in chart.iter("text") if (mark.text or "").startswith("W"))
    assert svg.width_of(shown.text or "", bold=True) < svg.WIDTH
    assert shown.findtext("title") == label


def test_letters_have_their_widths() -> None:
    """Those of East Asia are wide, combining ones have none."""
    assert svg.width_of("e\u0301") == svg.width_of("e")
    assert svg.width_of("\u68cb") > svg.width_of("W") > svg.width_of("e") > 0
    assert svg.fitted("short", 500) == "short"
    assert svg.fitted("any", 1).endswith("\N{HORIZONTAL ELLIPSIS}")


def test_calibration_has_a_dot_and_a_bar_for_every_bin_that_holds_any() -> None:
    """On the diagonal where expected and observed scores agree."""
    found = Calibration(
        participations=np.array([0.0, 10.0, 5.0, 0.0]),
        expected=np.array([NAN, 0.375, 0.75, NAN]),
        observed=np.array([NAN, 0.375, 0.5, NAN]),
    )
    chart = ElementTree.fromstring(calibration_chart("c", found, 2, title="t", description="d"))
    first, second = of_class(chart, "dot")
    diagonal = of_class(chart, "reference")[0]
    left, bottom = float(diagonal.get("x1") or 0), float(diagonal.get("y1") or 0)
    across, up = float(first.get("cx") or 0) - left, bottom - float(first.get("cy") or 0)
    assert across == pytest.approx(up, abs=0.02)
    assert float(second.get("cx") or 0) - left == pytest.approx(2 * across, abs=0.02)
    heights = [float(bar.get("height") or 0) for bar in of_class(chart, "bar")]
    assert heights[0] == pytest.approx(2 * heights[1])
    told = [mark.findtext("title") for mark in chart.iter("g") if mark.find("title") is not None]
    assert told[1] == "expected 75 %, observed 50 %, 5 participations"


def slices(*courses: Course) -> ElementTree.Element:
    parts = [("0", "12"), ("1", "3"), ("2+", "1")]
    chart = slices_chart("s", parts, courses, digits=2, title="t", description="d")
    return ElementTree.fromstring(chart)


def test_a_line_goes_from_part_to_part_and_stops_where_nothing_is_known() -> None:
    whole = Course("a", 0, np.array([1.0, 2.0, 3.0]))
    torn = Course("b", 7, np.array([1.0, NAN, 3.0]))
    chart = slices(whole, torn)
    (curve,) = of_class(chart, "curve")
    places = [point.split(",") for point in (curve.get("points") or "").split()]
    assert [float(x) for x, _ in places] == sorted(float(x) for x, _ in places)
    assert [float(y) for _, y in places] == sorted((float(y) for _, y in places), reverse=True)
    assert len(of_class(chart, "dot")) == 3 + 2
    assert {"0", "12", "1", "3", "2+"} <= set(texts(chart))


def test_without_ratings_it_is_a_dashed_line_or_an_arrow() -> None:
    system = Course("a", 0, np.array([1.0, 2.0, 3.0]))
    near = slices(system, Course("baseline", None, np.array([2.0, 2.0, NAN])))
    assert len(of_class(near, "reference")) == 1
    far = slices(system, Course("baseline", None, np.array([90.0, 2.0, 90.0])))
    assert of_class(far, "reference") == []
    assert "baseline \N{UPWARDS ARROW}" in texts(far)
    assert of_class(slices(system, Course("b", None, np.full(3, NAN))), "reference") == []


def test_systems_differ_in_colour_or_in_shape() -> None:
    """Colours begin again after the last, paired with other shapes and dashed lines."""
    assert len({(svg.look(number), svg.shape_of(number)) for number in range(36)}) == 36
    assert 'class="curve again"' in legend_mark(6)
    assert "dashed" in legend_mark(None)
