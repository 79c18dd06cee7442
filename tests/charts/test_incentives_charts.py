"""Charts of incentives: lines are the numbers, panels are alike, and nothing breaks them."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest

from equipoise.analysis.audit.chart import incentives_figure, points
from equipoise.charts import theme
from equipoise.data.audits import Incentive
from equipoise.errors import InvalidParameterError


def by_hand(honest: list[float], planned: list[float], thrown: set[int]) -> Incentive:
    k = len(honest)
    worse = np.array([n in thrown for n in range(k)])
    return Incentive(
        system="elo",
        player="ann",
        others="frozen",
        played=k,
        match_ids=np.arange(k),
        times=None,
        teams=np.full(k, 9),
        place=np.ones(k, np.int64),
        tied=np.zeros(k, np.int64),
        planned_place=np.where(worse, 9, 1),
        planned_tied=np.zeros(k, np.int64),
        before=1500.0,
        honest=np.array(honest),
        planned=np.array(planned),
        gain_frozen=0.0,
        plans=3,
        failed=0,
        complete=False,
    )


FARMED = by_hand([1510, 1520, 1530], [1400, 1600, 1730], {0})
FAIR = by_hand([1510, 1520, 1530], [1510, 1520, 1530], set())


def svg(found: dict[str, Incentive]) -> bytes:
    file = io.BytesIO()
    theme.save(incentives_figure(found, title="t", subtitle="s"), file, "svg")
    return file.getvalue()


def words(axes: Any) -> list[str]:
    return [text.get_text() for text in axes.texts]


def test_lines_are_the_ratings_from_before_the_first_match() -> None:
    (axes,) = incentives_figure({"elo": FARMED}, title="t", subtitle="").axes
    honest, planned, marks = axes.lines
    assert list(honest.get_ydata()) == [1500, 1510, 1520, 1530]
    assert list(planned.get_ydata()) == [1500, 1400, 1600, 1730]
    assert (list(marks.get_xdata()), list(marks.get_ydata())) == ([1], [1400])
    assert words(axes) == ["elo", "as it was 1,530", "by plan 1,730", "gain +200"]


def test_where_nothing_is_gained_there_is_one_line() -> None:
    (axes,) = incentives_figure({"elo": FAIR}, title="t", subtitle="").axes
    assert len(axes.lines) == 2
    assert "nothing gained" in words(axes)


def test_panels_are_equally_high_in_points_and_do_not_overlap() -> None:
    found = {"a": FARMED, "b": FAIR, "c": FARMED}
    figure = incentives_figure(found, title="t", subtitle="s")
    spans = [np.diff(axes.get_ylim())[0] for axes in figure.axes]
    assert spans == pytest.approx([spans[0]] * 3)
    boxes = [axes.get_tightbbox() for axes in figure.axes]
    for n, one in enumerate(boxes):
        assert not any(one.overlaps(other) for other in boxes[:n])
        assert figure.bbox.x0 <= one.x0 < one.x1 <= figure.bbox.x1


def test_many_thrown_matches_are_marked_at_the_bottom() -> None:
    many = by_hand([1500.0] * 40, [1500.0] * 40, set(range(40)))
    (axes,) = incentives_figure({"elo": many}, title="t", subtitle="").axes
    assert len(axes.lines) == 2
    assert len(axes.collections) == 1


def test_more_systems_than_fit_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match="systems must be 1 to 6"):
        incentives_figure({str(n): FAIR for n in range(7)}, title="t", subtitle="")


def test_points_are_short_however_large() -> None:
    assert points(1234.4) == "1,234"
    assert points(-12.0, sign=True) == "\N{MINUS SIGN}12"
    assert points(3e58, sign=True) == "+3.0e+58"
