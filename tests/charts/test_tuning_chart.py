"""Searches as figures: every shape of search, and what the shown ranges are."""

from __future__ import annotations

import io
import itertools
import math
import xml.etree.ElementTree as ET
from typing import Any

import numpy as np
import pytest

from equipoise.analysis.tune.chart import MOST_PANELS, Axis, Surface, tuning_figure
from equipoise.charts import theme
from equipoise.data.backtest import Choice, Range, Trial, Tuning, Value


def by_hand(
    choices: dict[str, Choice],
    points: list[tuple[Value, ...]] | None = None,
    *,
    metric: str = "log_loss",
    broken: tuple[int, ...] = (),
) -> Tuning:
    """Return trials that are the better the nearer the parameters are to 2, in logarithms."""
    if points is None:
        grids = [choice for choice in choices.values() if not isinstance(choice, Range)]
        points = list(itertools.product(*grids))
    trials = []
    for number, point in enumerate(points):
        parameters = dict(zip(choices, point, strict=True))
        away = sum(_away(one) for one in point)
        sign = 1.0 if metric == "log_loss" else -1.0
        metrics = {} if number in broken else {metric: 50.0 + sign * away}
        status: Any = "refused" if number in broken else "done"
        trials.append(Trial(number=number, parameters=parameters, status=status, metrics=metrics))
    given = Trial(number=-1, parameters=dict.fromkeys(choices, 1.0), metrics={metric: 50.7})
    return Tuning(
        system="made-up",
        metric=metric,
        choices=choices,
        given=given,
        trials=tuple(trials),
        matches=10,
        participations=100,
    )


def _away(value: Value) -> float:
    if value is None or isinstance(value, bool) or math.isinf(value):
        return 0.4
    return abs(math.log(value / 2))


def drawn(found: Tuning) -> bytes:
    file = io.BytesIO()
    theme.save(tuning_figure(found, title="title"), file, "svg")
    return file.getvalue()


FOUR = (0.5, 1.0, 2.0, 4.0)
WIDE = Range(low=0.1, high=100.0, log=True)
NARROW = Range(low=1, high=9, whole=True)
#: More parameters than there are panels, and trials that change one at a time: a grid has 1,024.
MANY = {f"parameter_{i}": (1.0, 2.0) for i in range(MOST_PANELS + 1)}
ONE_AT_A_TIME: list[tuple[Value, ...]] = [
    tuple(2.0 if i == changed else 1.0 for i in range(len(MANY)))
    for changed in range(-1, len(MANY))
]
SCATTERED: list[tuple[Value, ...]] = [(0.3, 2), (1.0, 8), (2.5, 4), (40.0, 1), (9.0, 9), (2.0, 2)]


@pytest.mark.parametrize(
    "found",
    [
        by_hand({"k": FOUR}),
        by_hand({"k": (2.0,)}),
        by_hand({"k": (None, 5, 2, True)}),
        by_hand({"k": WIDE}, [(0.2,), (2.2,), (7.0,)]),
        by_hand({"k": FOUR, "scale": (0.1, 2.0, 60.0)}, broken=(3,)),
        by_hand({"k": FOUR, "rho": (0.0001, 1.0, math.inf)}, metric="ndcg"),
        by_hand({"k": tuple(float(2**i) for i in range(15)), "scale": FOUR}),
        by_hand({"k": WIDE, "scale": NARROW}, SCATTERED, broken=(0,)),
        by_hand({"k": WIDE, "scale": NARROW}, SCATTERED, metric="ndcg"),
        by_hand({"k": WIDE, "scale": NARROW}, SCATTERED[:2]),
        by_hand({"k": WIDE, "scale": NARROW}, [(1.0, 1), (1.0, 2), (1.0, 3), (1.0, 3)]),
        by_hand({"k": FOUR, "scale": (1.0, 2.0), "flag": (True, False), "rho": (2.0,)}),
        by_hand(dict(MANY), ONE_AT_A_TIME),
    ],
)
def test_every_shape_of_search_is_drawn(found: Tuning) -> None:
    """One parameter, two of a grid or sampled, several; few trials, equal ones, on a line."""
    assert ET.fromstring(drawn(found)).tag.endswith("svg")


def test_a_figure_has_a_panel_for_each_of_several_parameters() -> None:
    names = ("one", "two", "three", "four")
    figure = tuning_figure(by_hand(dict.fromkeys(names, (1.0, 2.0))), title="title")
    panels = [axes for axes in figure.axes if axes.axison]
    assert [axes.get_xlabel() for axes in panels] == list(names)
    # In rows of three, each within the page and apart from the next.
    boxes = [axes.get_position() for axes in panels]
    assert all(0 < box.x0 < box.x1 < 1 and 0 < box.y0 < box.y1 < 1 for box in boxes)
    assert boxes[0].x1 < boxes[1].x0
    assert boxes[3].y1 < boxes[0].y0


def test_a_cross_is_told_of_where_there_is_one() -> None:
    def told(choices: dict[str, Choice]) -> str:
        figure = tuning_figure(by_hand(choices), title="title")
        return " ".join(text.get_text() for text in figure.texts)

    assert "cross: as" in told({"k": FOUR, "scale": (1.0, 2.0)})
    assert "cross: as" in told({"k": FOUR, "scale": (2.0, 3.0)})
    assert "cross: as" not in told({"k": (2.0, 4.0), "scale": (2.0, 3.0)})
    assert "cross: as" in told({"k": (0.5, 2.0)})
    assert "cross: as" not in told({"k": (2.0, 3.0)})


def test_the_surface_knows_the_best_and_what_each_value_can_reach() -> None:
    """By hand: the distance of both parameters from 2, in logarithms, and log 2 is 0.693."""
    found = by_hand({"k": (4.0, 2.0), "scale": (1.0, 2.0, 8.0)})
    surface = Surface.of(found)
    across, up = surface.axes
    assert across.values == (2.0, 4.0)
    log2 = math.log(2)
    np.testing.assert_allclose(surface.value - 50, log2 * np.array([2, 1, 3, 1, 0, 2]), atol=1e-12)
    assert found.trials[4] is surface.done[surface.best]
    places, reached = surface.envelope(up)
    assert places.tolist() == [1.0, 2.0, 8.0]
    np.testing.assert_allclose(reached - 50, log2 * np.array([1, 0, 2]), atol=1e-12)
    assert surface.ideal == 50.0
    assert surface.worst > surface.ideal


def test_one_terrible_trial_does_not_hide_what_differs() -> None:
    """The range that is shown leaves out what is far worse than most."""
    points: list[tuple[Value, ...]] = [(2.0 + i / 10,) for i in range(9)] + [(1e9,)]
    surface = Surface.of(by_hand({"k": Range(low=1, high=1e9, log=True)}, points))
    assert surface.worst < 51
    assert surface.value.max() > 69


def test_axes_are_to_scale_where_values_are_numbers() -> None:
    assert Axis.of("k", (1.0, 2.0, 8.0)).log
    assert not Axis.of("k", (0.0, 2.0, 8.0)).log
    assert not Axis.of("k", (1.0, 2.0, 4.0)).log
    named = Axis.of("rho", (math.inf, 1.0, 0.0))
    assert named.named
    assert named.values == (0.0, 1.0, math.inf)
    assert named.place(math.inf) == 2.0
    assert math.isnan(named.place(0.5))
    assert math.isnan(Axis.of("k", (1.0, 10.0)).place(0.0))
