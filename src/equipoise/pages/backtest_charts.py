"""The charts of a page on a backtest."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from markupsafe import Markup

from equipoise.charts.calibration_svg import calibration_chart
from equipoise.charts.interval_svg import Reference, Whisker, interval_chart
from equipoise.charts.markup import element
from equipoise.charts.slices_svg import Course, legend_mark, slices_chart
from equipoise.data.backtest import BASELINE, Backtest, SystemScores
from equipoise.evaluate.standings import UNKNOWN, Standing
from equipoise.pages.backtest_metrics import CALIBRATION, METRIC, Metric, shown_metrics
from equipoise.pages.backtest_tables import SLICED, parts_of, range_of
from equipoise.pages.document import charts, figure


def numbered(found: Backtest) -> dict[str, int]:
    """Return the number of every system, which gives it its colour; the baseline has none."""
    labels = [one.label for one in found.systems if one.label != BASELINE]
    return {label: number for number, label in enumerate(labels)}


def metric_charts(found: Backtest) -> Markup:
    """Return a chart a metric: every system's value and interval, the baseline as a line."""
    numbers = numbered(found)
    return charts(
        figure(_metric_chart(found, metric, numbers), metric.heading, metric.better)
        for metric in shown_metrics(found)
    )


def _metric_chart(found: Backtest, metric: Metric, numbers: Mapping[str, int]) -> Markup:
    rows, reference = [], None
    for one in found.systems:
        value = one.metrics[metric.key]
        if one.label == BASELINE:
            reference = Reference(f"{BASELINE} {metric.number(value)}", value)
            continue
        lower, upper = one.intervals.get(metric.key, UNKNOWN)
        between = metric.interval(lower, upper)
        told = f"{metric.number(value)} ({between})" if between else metric.number(value)
        rows.append(Whisker(one.label, told, value, lower, upper, numbers[one.label]))
    listed = "; ".join(f"{row.label} {row.told}" for row in rows)
    beside = "" if reference is None else f"; {reference.label}"
    return interval_chart(
        f"metric-{metric.key}",
        rows,
        reference,
        title=f"{metric.heading} of every system",
        description=f"{metric.better.capitalize()}. {listed}{beside}.",
    )


def difference_charts(found: Backtest, standing: Sequence[Standing]) -> Markup:
    """Return a chart a metric: how far every other system is behind the best."""
    numbers = numbered(found)
    shown = shown_metrics(found)
    return charts(
        figure(
            _difference_chart(one, METRIC[one.metric], numbers),
            METRIC[one.metric].heading,
            f"behind {one.best}",
        )
        for one in standing
        if one.rivals and METRIC[one.metric] in shown
    )


def _difference_chart(one: Standing, metric: Metric, numbers: Mapping[str, int]) -> Markup:
    rows = []
    for rival in one.rivals:
        between = metric.interval(rival.lower, rival.upper)
        behind = metric.number(rival.behind)
        told = f"{behind} ({between})" if between else behind
        numbers_ = (rival.behind, rival.lower, rival.upper, numbers[rival.label])
        rows.append(Whisker(rival.label, told, *numbers_, open=one.judged(rival) != "beyond noise"))
    judgements = zip(rows, map(one.judged, one.rivals), strict=True)
    listed = "; ".join(f"{row.label} by {row.told}, {judgement}" for row, judgement in judgements)
    return interval_chart(
        f"behind-{metric.key}",
        rows,
        Reference(one.best, 0.0),
        title=f"{metric.heading}: how far the others are behind {one.best}",
        description=f"{listed}.",
    )


def calibration_charts(found: Backtest) -> Markup:
    """Return a chart a system: observed over expected scores."""
    numbers = numbered(found)
    systems = [one for one in found.systems if one.label in numbers]
    return charts(
        figure(
            _calibration_chart(one, numbers[one.label]),
            one.label,
            f"{CALIBRATION.name.lower()} {CALIBRATION.number(one.calibration.error)}",
        )
        for one in systems
    )


def _calibration_chart(one: SystemScores, number: int) -> Markup:
    filled = np.flatnonzero(one.calibration.participations > 0)
    columns = (one.calibration.expected, one.calibration.observed)
    listed = "; ".join(
        f"expected {100 * expected:.1f}, observed {100 * observed:.1f}"
        for expected, observed in zip(*(column[filled].tolist() for column in columns), strict=True)
    )
    return calibration_chart(
        f"calibration-{number}",
        one.calibration,
        number,
        title=f"Calibration of {one.label}",
        description=f"Mean scores in percent by expected score: {listed}.",
    )


def slice_charts(found: Backtest, by: str) -> Markup:
    """Return a chart a metric along the slices of one kind, at least two."""
    parts = parts_of(found.systems[0], by)
    names = [
        (range_of(part).replace(" or more", "+"), _short(part.participations)) for part in parts
    ]
    metrics = [metric for metric in shown_metrics(found) if metric.key in SLICED]
    return charts(
        (
            figure(_slice_chart(found, by, metric, names), metric.heading, metric.better)
            for metric in metrics
        ),
        class_="charts pairs",
    )


def _slice_chart(
    found: Backtest, by: str, metric: Metric, names: Sequence[tuple[str, str]]
) -> Markup:
    numbers = numbered(found)
    courses = [
        Course(
            one.label,
            numbers.get(one.label),
            np.array([part.metrics[metric.key] for part in parts_of(one, by)]),
        )
        for one in found.systems
    ]
    along = {"earlier": "earlier matches of the player", "size": "size of the match"}[by]
    return slices_chart(
        f"by-{by}-{metric.key}",
        names,
        courses,
        digits=metric.digits,
        title=f"{metric.heading} by {along}",
        description=f"{metric.better.capitalize()}. The numbers are in the table below.",
    )


def legend(found: Backtest) -> Markup:
    """Return whose line is which."""
    numbers = numbered(found)
    items = (
        element("li", legend_mark(numbers.get(one.label)), element("span", one.label))
        for one in found.systems
    )
    return element("ul", *items, class_="legend")


def _short(count: int) -> str:
    """Return a count in at most four letters and a unit."""
    if count < 10_000:
        return f"{count:,}"
    unit = min(int(math.log10(count)) // 3, 3)
    return f"{count / 1000**unit:.3g}{' kMG'[unit]}"
