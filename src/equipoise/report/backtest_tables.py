"""The tables of the backtest page."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from markupsafe import Markup

from equipoise.data.backtest import (
    BASELINE,
    GROUP_METRICS,
    Backtest,
    Calibration,
    Difference,
    Slice,
    SystemScores,
    judge,
    players_with,
)
from equipoise.evaluate.standings import UNKNOWN, Standing, standings
from equipoise.markup import element, joined
from equipoise.report.backtest_words import (
    CALIBRATION,
    METRIC,
    NOTHING,
    Metric,
    enumerated,
    shown_metrics,
)
from equipoise.report.document import Cell, Filling, Group, grouped_table, listed, table
from equipoise.wording import counted

_TO = "\N{EN DASH}"
#: Metrics of which there are slices.
SLICED = ("pair_inversion", "rank_deviation", "log_loss", "brier")


def verdict_table(found: Backtest, standing: Sequence[Standing]) -> Markup:
    """Return the best system by every metric and its lead; a single system leads the baseline."""
    if not any(one.rivals for one in standing):
        return _against_baseline(found, standing)
    columns = ["metric", "best", "value", "next best", "behind by"]
    if found.resamples:
        columns += ["that is", "indistinguishable from"]
    rows = [_verdict(one)[: len(columns)] for one in standing]
    return table("verdict-table", "Who is best", columns, rows, frozenset({2, 4}))


def _against_baseline(found: Backtest, standing: Sequence[Standing]) -> Markup:
    baseline = found.of(BASELINE).metrics
    rows: list[Sequence[Filling]] = [
        [
            Cell(METRIC[one.metric].heading, METRIC[one.metric].better),
            METRIC[one.metric].number(one.value),
            METRIC[one.metric].number(baseline[one.metric]),
        ]
        for one in standing
    ]
    columns = ["metric", found.systems[0].label, BASELINE]
    return table("verdict-table", "Compared with the baseline", columns, rows, frozenset({1, 2}))


def _verdict(one: Standing) -> list[Filling]:
    metric = METRIC[one.metric]
    row: list[Filling] = [Cell(metric.heading, metric.better), enumerated(one.leaders)]
    row.append(metric.number(one.value))
    if not one.behind:
        return [*row, NOTHING, NOTHING, NOTHING, NOTHING]
    nearest = one.behind[0]
    behind = Cell(metric.number(nearest.behind), metric.interval(nearest.lower, nearest.upper))
    alike = enumerated(one.not_told_apart) if one.not_told_apart else NOTHING
    return [*row, nearest.label, behind, one.judged(nearest), alike]


def metrics_table(found: Backtest) -> Markup:
    """Return every metric of every system with its interval."""
    metrics = shown_metrics(found)
    best = {metric.key: _best(found, metric) for metric in metrics}
    rows: list[Sequence[Filling]] = []
    for one in found.systems:
        row: list[Filling] = [one.label]
        for metric in metrics:
            value = one.metrics[metric.key]
            interval = metric.interval(*one.intervals.get(metric.key, UNKNOWN))
            row.append(Cell(metric.number(value), interval, one.label in best[metric.key]))
        rows.append([*row, CALIBRATION.number(one.calibration.error)])
    columns = ["system", *(metric.heading for metric in metrics), CALIBRATION.name]
    numbers = frozenset(range(1, len(columns)))
    caption = "Metrics; the best system is in bold" if any(best.values()) else "Metrics"
    return table("metrics-table", caption, columns, rows, numbers)


def _best(found: Backtest, metric: Metric) -> set[str]:
    """Return the labels of the best systems; several if they are tied."""
    values = {one.label: one.metrics[metric.key] for one in found.systems if one.label != BASELINE}
    known = [value for value in values.values() if not math.isnan(value)]
    if len(values) < 2 or not known:
        return set()
    most = max(known) if metric.better.startswith("higher") else min(known)
    return {label for label, value in values.items() if value == most}


def differences_table(found: Backtest) -> Markup:
    """Return each metric's difference for every pair of systems, the first minus the second."""
    metrics = shown_metrics(found)
    rows = [
        [
            Cell(one.first, f"less {one.second}"),
            *(_difference(one, metric, found.least_differences) for metric in metrics),
        ]
        for one in found.differences
    ]
    columns = ["first minus second", *(metric.heading for metric in metrics)]
    numbers = frozenset(range(1, len(columns)))
    caption = "All differences; significant ones that are large enough to matter are bold"
    return table("all-differences", caption, columns, rows, numbers)


def _difference(one: Difference, metric: Metric, least: Mapping[str, float]) -> Cell:
    change, bounds = one.metrics[metric.key], one.intervals.get(metric.key, UNKNOWN)
    return Cell(
        metric.change(change),
        metric.interval(*bounds, sign=True),
        judge(change, bounds, least[metric.key]) == "beyond noise",
    )


def groups_table(found: Backtest) -> Markup:
    """Return the metrics of every system by players' earlier matches."""
    metrics = [METRIC[name] for name in GROUP_METRICS]
    groups = []
    for group in found.groups:
        best = {one.metric: one.leaders for one in standings(found, group) if one.rivals}
        rows: list[Sequence[Filling]] = [
            [
                one.label,
                *(
                    Cell(
                        metric.number(one.metrics[metric.key]),
                        metric.interval(*one.intervals.get(metric.key, UNKNOWN)),
                        one.label in best.get(metric.key, ()),
                    )
                    for metric in metrics
                ),
            ]
            for one in group.systems
        ]
        name = players_with(group.first, group.last)
        many = counted(group.participations, "participation", "participations")
        groups.append(Group(f"{name[0].upper()}{name[1:]}: {many}", rows))
    columns = ["system", *(metric.heading for metric in metrics)]
    caption = "Metrics by earlier matches of the less experienced of each pair"
    return grouped_table(
        "by-experience", caption, columns, groups, frozenset(range(1, len(columns)))
    )


def slices_table(found: Backtest, by: str, caption: str) -> Markup:
    """Return the metrics of every system in each slice.

    by : as of `Slice`
    """
    metrics = [metric for metric in shown_metrics(found) if metric.key in SLICED]
    groups = []
    for number, part in enumerate(parts_of(found.systems[0], by)):
        of_all = [(one.label, parts_of(one, by)[number].metrics) for one in found.systems]
        rows = [
            [label, *(metric.number(values[metric.key]) for metric in metrics)]
            for label, values in of_all
        ]
        many = counted(part.participations, "participation", "participations")
        groups.append(Group(f"{range_of(part)} {COUNTED[by]}: {many}", rows))
    columns = ["system", *(metric.heading for metric in metrics)]
    numbers = frozenset(range(1, len(columns)))
    return grouped_table(f"by-{by}", caption, columns, groups, numbers)


#: What slices count.
COUNTED = {"earlier": "earlier matches", "size": "players or teams"}


def parts_of(one: SystemScores, by: str) -> list[Slice]:
    """Return the slices of one kind, which are the same for every system."""
    return [part for part in one.slices if part.by == by]


def range_of(part: Slice) -> str:
    """Return the first and last number of a slice as text."""
    if part.last is None:
        return f"{part.first:,} or more"
    return f"{part.first:,}" if part.first == part.last else f"{part.first:,}{_TO}{part.last:,}"


def calibration_table(found: Backtest) -> Markup:
    """Return expected and observed scores of every system in each bin."""
    bins = len(found.systems[0].calibration.participations)
    names = [f"{100 * number // bins}{_TO}{100 * (number + 1) // bins}" for number in range(bins)]
    rows: list[Sequence[Filling]] = [
        [Cell(one.label), *(_bin(one.calibration, number) for number in range(bins))]
        for one in found.systems
    ]
    columns = ["system", *(f"{name} %" for name in names)]
    caption = (
        "Observed scores in percent by expected score. Below each are the mean expected score and, "
        "in brackets, the number of participations"
    )
    numbers = frozenset(range(1, len(columns)))
    return table("calibration-table", caption, columns, rows, numbers)


def _bin(found: Calibration, number: int) -> Cell:
    count = float(found.participations[number])
    if not count:
        return Cell(NOTHING)
    expected, observed = 100 * found.expected[number], 100 * found.observed[number]
    many = f"{count:,.0f}" if count >= 10 else f"{count:.1f}"
    return Cell(f"{observed:.1f}", f"{expected:.1f} ({many})")


def parameters_table(
    found: Backtest, parameters: Mapping[str, Mapping[str, object]], chosen: Mapping[str, set[str]]
) -> Markup:
    """Return the parameters of every system.

    parameters, chosen : by label; the chosen are those that differ from the defaults
    """
    rows: list[Sequence[Filling]] = []
    for one in found.systems:
        if one.label == BASELINE:
            continue
        names = parameters.get(one.label, {})
        shown = listed(
            _parameter(name, value, name in chosen.get(one.label, ()))
            for name, value in names.items()
        )
        rows.append([one.label, one.system, shown if names else NOTHING])
    caption = "Parameters; bold ones were set, the others are defaults"
    return table("parameters", caption, ["label", "system", "parameters"], rows)


def _parameter(name: str, value: object, chosen: bool) -> Markup:
    written = str(value).lower() if isinstance(value, bool) else str(value)
    if value is None:
        written = "not set"
    text = joined(element("code", name), " ", written)
    return element("strong", text) if chosen else text
