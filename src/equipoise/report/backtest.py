"""The page of a backtest: one HTML file with its verdict, charts and tables, from a template."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from equipoise.charts import theme
from equipoise.charts.backtest import Estimate, Series, intervals_figure, slices_figure
from equipoise.charts.calibration import MOST_SYSTEMS, calibration_figure
from equipoise.data.backtest import BASELINE, LEAST_DIFFERENCE, LEAST_MATCHES, Backtest, Slice
from equipoise.evaluate.standings import UNKNOWN, Standing, standings
from equipoise.markup import allowed
from equipoise.messages.histories import HistoryMessage
from equipoise.report import backtest_tables as tables
from equipoise.report.backtest_tables import (
    CALIBRATION,
    METRIC,
    NOTHING,
    PART,
    Measure,
    Metric,
    Noted,
    Table,
    between,
    parts_of,
    shown_metrics,
    typeset,
)
from equipoise.report.backtest_verdict import (
    against_baseline,
    by_experience,
    lead,
    no_verdict,
    verdict_table,
)
from equipoise.wording import counted

if TYPE_CHECKING:
    from jinja2 import Template
    from matplotlib.figure import Figure

#: Largest number of problems listed, and of matches named; the rest is only counted.
_SHOWN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class BacktestReport:
    """The content of the page.

    found : the backtest
    parameters, chosen : of every system, by label; the chosen are those that differ from the
      defaults
    history, source, period : the history, its name, and its first and last time
    seed : of the resamples
    command, version : of the program that made it; "" if it was no command
    """

    found: Backtest
    parameters: Mapping[str, Mapping[str, object]]
    chosen: Mapping[str, set[str]]
    history: HistoryMessage
    source: str
    period: tuple[str, str] | None
    seed: int
    command: str
    version: str


def backtest_page(report: BacktestReport) -> str:
    """Return the page as HTML; the same report gives the same text."""
    found = report.found
    metrics = shown_metrics(found)
    standing = [one for one in standings(found) if METRIC[one.metric] in metrics]
    unknown = no_verdict(found, found.differences)
    page = _template().render(
        report=report,
        found=found,
        sections=_sections(report, standing),
        metrics=metrics,
        standing=standing,
        verdict={
            "lead": lead(standing, unknown),
            "groups": list(by_experience(found)),
            "table": verdict_table(found, standing),
            "baseline": list(against_baseline(found)),
        },
        metric_charts=list(_metric_charts(found)),
        difference_charts=list(_difference_charts(found, standing)),
        calibration_charts=list(_calibration_charts(found)),
        slice_charts={by: list(_slice_charts(found, by)) for by in tables.SLICES},
        read=_read(report),
        problems=_problems(report.history),
        limits=_limits(found.least_differences),
        share=f"{100 * found.confidence:g}\N{NO-BREAK SPACE}%",
    )
    return str(allowed(page))


@cache
def _template() -> Template:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    pages = Environment(
        loader=PackageLoader("equipoise.report", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters: dict[str, Callable[..., object]] = {
        "below": _below, "counted": counted, "written": _written, "zip": zip
    }  # fmt: skip
    pages.filters.update(filters)
    pages.tests["outstanding"] = lambda value: isinstance(value, Measure) and value.stands_out
    pages.globals.update(
        tables=tables, range_of=_range_of, most=_SHOWN, least_matches=LEAST_MATCHES
    )
    return pages.get_template("backtest.html")


def _written(value: object, form: str) -> str:
    """Return a value of a table as the page shows it."""
    if value is None:
        return NOTHING
    if isinstance(value, Noted):
        return value.text
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float | Measure):
        return typeset(value, form)
    # Text may be markup, which `str` would turn into text.
    return value if isinstance(value, str) else str(value)


def _below(value: object, form: str) -> str:
    """Return the small text below a value."""
    if isinstance(value, Measure):
        return between(value.lower, value.upper, form)
    return value.below if isinstance(value, Noted) else ""


def _sections(report: BacktestReport, standing: Sequence[Standing]) -> dict[str, str]:
    """Return the headings of the sections by their names."""
    compared, typed = any(one.rivals for one in standing), bool(report.command)
    return {
        "verdict": "Verdict",
        "metrics": "Metrics",
        **({"differences": "Is the difference real?"} if compared else {}),
        "calibration": "Calibration",
        "slices": "By experience and size",
        "systems": "Systems",
        "history": "History",
        "scoring": "How it was scored",
        **({"command": "Command"} if typed else {}),
    }


class Chart(NamedTuple):
    """A chart on the page; alt : what it shows, in words."""

    heading: str
    below: str
    alt: str
    image: str


def _chart(figure: Figure, heading: str, below: str, alt: str) -> Chart:
    return Chart(heading, below, alt, theme.page_image(figure))


def _numbered(found: Backtest) -> dict[str, int]:
    """Return the number of every system, which decides its colour; the baseline has none."""
    labels = [one.label for one in found.systems if one.label != BASELINE]
    return {label: number for number, label in enumerate(labels)}


def _metric_charts(found: Backtest) -> Iterator[Chart]:
    """Yield a chart for each metric: values and intervals, the baseline as a line."""
    for metric in shown_metrics(found):
        rows = []
        for label, number in _numbered(found).items():
            value, bounds = _value(found, label, metric)
            rows.append(Estimate(label, metric.number(value), value, *bounds, number))
        value, _ = _value(found, BASELINE, metric)
        baseline = f"{BASELINE} {metric.number(value)}"
        yield _chart(
            intervals_figure(rows, value),
            metric.heading,
            f"{metric.better}; dashed: {baseline}",
            f"{metric.heading} of every system. {metric.better.capitalize()}. "
            f"{_listed(rows, metric)}; {baseline}.",
        )


def _value(found: Backtest, label: str, metric: Metric) -> tuple[float, tuple[float, float]]:
    one = found.of(label)
    return one.metrics[metric.key], one.intervals.get(metric.key, UNKNOWN)


def _listed(rows: Sequence[Estimate], metric: Metric, words: Sequence[str] = ()) -> str:
    """Return values with their intervals in words."""
    parts = []
    for number, row in enumerate(rows):
        interval = metric.interval(row.lower, row.upper)
        text = f"{row.label} {row.text}" + (f" ({interval})" if interval else "")
        parts.append(f"{text}, {words[number]}" if words else text)
    return "; ".join(parts)


def _difference_charts(found: Backtest, standing: Sequence[Standing]) -> Iterator[Chart]:
    """Yield one chart for each metric: how far every other system is behind the best."""
    numbers = _numbered(found)
    for one in standing:
        metric, judged = METRIC[one.metric], [one.judged(rival) for rival in one.rivals]
        rows = [
            Estimate(
                rival.label,
                metric.number(rival.behind),
                *(rival.behind, rival.lower, rival.upper, numbers[rival.label]),
                open=judgement != "beyond noise",
            )
            for rival, judgement in zip(one.rivals, judged, strict=True)
        ]
        if rows:
            yield _chart(
                intervals_figure(rows, 0.0),
                metric.heading,
                f"behind {one.best}",
                f"{metric.heading}: distance of the others from {one.best}. "
                f"{_listed(rows, metric, judged)}.",
            )


def _calibration_charts(found: Backtest) -> Iterator[Chart]:
    """Yield the calibration of all systems, six in a chart."""
    labels = list(_numbered(found))
    for start in range(0, len(labels), MOST_SYSTEMS):
        shown = {
            label: found.of(label).calibration for label in labels[start : start + MOST_SYSTEMS]
        }
        errors = "; ".join(
            f"{label} {CALIBRATION.number(one.error)}" for label, one in shown.items()
        )
        yield _chart(
            calibration_figure(shown, title="", subtitle=""),
            "Observed by expected score",
            "with the calibration error of every system",
            f"Calibration of {', '.join(shown)}. Mean distance of observed from expected scores: "
            f"{errors}.",
        )


def _slice_charts(found: Backtest, by: str) -> Iterator[Chart]:
    """Yield one chart for each metric along the slices of one kind, if there are two or more."""
    parts = parts_of(found.systems[0], by)
    if len(parts) < 2:
        return
    names = [
        f"{_range_of(part).replace(' or more', '+')}\n{_short(part.participations)}"
        for part in parts
    ]
    numbers = _numbered(found)
    for metric in PART:
        if metric in shown_metrics(found):
            series = [
                Series(
                    one.label,
                    numbers.get(one.label),
                    np.array([part.metrics[metric.key] for part in parts_of(one, by)]),
                )
                for one in found.systems
            ]
            along = tables.SLICES[by].lower()
            yield _chart(
                slices_figure(names, series),
                metric.heading,
                metric.better,
                f"{metric.heading} {along}. {metric.better.capitalize()}. The numbers are in the "
                "table below.",
            )


def _short(count: int) -> str:
    """Return a count in at most four characters and a unit."""
    if count < 10_000:
        return f"{count:,}"
    unit = min(int(math.log10(count)) // 3, 3)
    return f"{count / 1000**unit:.3g}{' kMG'[unit]}"


def _range_of(part: Slice) -> str:
    """Return the first and last number of a slice as text."""
    if part.last is None:
        return f"{part.first:,} or more"
    return (
        f"{part.first:,}" if part.first == part.last else f"{part.first:,}\N{EN DASH}{part.last:,}"
    )


def _read(report: BacktestReport) -> Table:
    """Return what was read, and what was left out."""
    history, found = report.history, report.found
    many = counted(found.participations, "participation", "participations")
    left_out = [
        ("matches marked as not rated, left out", history.unrated),
        ("matches filtered out", history.filtered),
        ("bad matches dropped", len(history.dropped_matches)),
        ("bad rows dropped, whose matches were kept", history.dropped_rows),
    ]
    rows: list[tuple[str, object]] = [
        ("source", report.source),
        ("matches", history.matches),
        ("participations", history.participations),
        ("players", history.players),
        ("period", " to ".join(report.period) if report.period else "without times"),
        ("scored", f"{many} in {counted(found.matches, 'match', 'matches')}"),
        *((name, count) for name, count in left_out if count),
    ]
    return Table("What was read", {"item": "", "value": ""}, rows)


def _problems(history: HistoryMessage) -> Table:
    """Return the first problems of what was dropped."""
    more = len(history.problems) - _SHOWN
    return Table(
        "Problems" + (f", the first {_SHOWN}; there are {more:,} more" if more > 0 else ""),
        {"file": "", "line": "d", "field": "", "rule": "", "got": ""},
        [(one.file, one.line, one.field, one.rule, one.got) for one in history.problems[:_SHOWN]],
    )


def _limits(least: Mapping[str, float]) -> str:
    """Return below which a difference does not matter."""
    if dict(least) == dict(LEAST_DIFFERENCE):
        return "0.05 of a metric in percent and 0.0005 of any other"
    return ", ".join(f"{METRIC[name].inside} {value:g}" for name, value in least.items())
