"""The backtest page: its sections and charts, from the result of a backtest."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from equipoise.charts.backtest import (
    Course,
    Reference,
    Whisker,
    calibration_chart,
    interval_chart,
    legend_mark,
    slices_chart,
)
from equipoise.data.backtest import BASELINE, Backtest, SystemScores
from equipoise.evaluate.standings import UNKNOWN, Standing, standings
from equipoise.markup import element, joined, lines
from equipoise.messages.histories import HistoryMessage
from equipoise.report import backtest_tables as tables
from equipoise.report.backtest_tables import SLICED, parts_of, range_of
from equipoise.report.backtest_words import (
    CALIBRATION,
    METRIC,
    Metric,
    against_baseline,
    by_experience,
    for_whom,
    lead,
    no_verdict,
    scoring,
    shown_metrics,
)
from equipoise.report.document import (
    Section,
    charts,
    document,
    figure,
    given,
    listed,
    paragraph,
    table,
)
from equipoise.wording import counted


def numbered(found: Backtest) -> dict[str, int]:
    """Return the number of every system, which decides its colour; the baseline has none."""
    labels = [one.label for one in found.systems if one.label != BASELINE]
    return {label: number for number, label in enumerate(labels)}


def metric_charts(found: Backtest) -> Markup:
    """Return a chart for each metric: values and intervals, the baseline as a line."""
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
        text = f"{metric.number(value)} ({between})" if between else metric.number(value)
        rows.append(Whisker(one.label, text, value, lower, upper, numbers[one.label]))
    listed = "; ".join(f"{row.label} {row.text}" for row in rows)
    beside = "" if reference is None else f"; {reference.label}"
    return interval_chart(
        f"metric-{metric.key}",
        rows,
        reference,
        title=f"{metric.heading} of every system",
        description=f"{metric.better.capitalize()}. {listed}{beside}.",
    )


def difference_charts(found: Backtest, standing: Sequence[Standing]) -> Markup:
    """Return one chart for each metric: how far every other system is behind the best."""
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
        text = f"{behind} ({between})" if between else behind
        numbers_ = (rival.behind, rival.lower, rival.upper, numbers[rival.label])
        rows.append(Whisker(rival.label, text, *numbers_, open=one.judged(rival) != "beyond noise"))
    judgements = zip(rows, map(one.judged, one.rivals), strict=True)
    listed = "; ".join(f"{row.label} by {row.text}, {judgement}" for row, judgement in judgements)
    return interval_chart(
        f"behind-{metric.key}",
        rows,
        Reference(one.best, 0.0),
        title=f"{metric.heading}: distance of the others from {one.best}",
        description=f"{listed}.",
    )


def calibration_charts(found: Backtest) -> Markup:
    """Return one chart for each system: observed over expected scores."""
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
    """Return one chart for each metric along the slices of one kind, if there are two or more."""
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
    """Return the legend: the mark of every system."""
    numbers = numbered(found)
    items = (
        element("li", legend_mark(numbers.get(one.label)), element("span", one.label))
        for one in found.systems
    )
    return element("ul", *items, class_="legend")


def _short(count: int) -> str:
    """Return a count in at most four characters and a unit."""
    if count < 10_000:
        return f"{count:,}"
    unit = min(int(math.log10(count)) // 3, 3)
    return f"{count / 1000**unit:.3g}{' kMG'[unit]}"


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
    standing = _shown_standings(report.found)
    title = _title(report)
    sections = [
        Section("verdict", "Verdict", list(_verdict(report.found, standing))),
        Section("metrics", "Metrics", list(_metrics(report.found))),
        Section("calibration", "Calibration", list(_calibration(report.found))),
        Section("slices", "By experience and size", list(_slices(report.found))),
        Section("systems", "Systems", [_systems(report)]),
        Section("history", "History", list(_history(report))),
        Section("scoring", "How it was scored", [listed(scoring(report.found, report.seed))]),
    ]
    if any(one.rivals for one in standing):
        differences = list(_differences(report.found, standing))
        sections.insert(2, Section("differences", "Is the difference real?", differences))
    if report.command:
        made = element("pre", element("code", report.command))
        sections.append(Section("command", "Command", [made]))
    head = [
        element("h1", title[0], given(title[1]), title[2]),
        paragraph(_about(report), class_="about"),
    ]
    return document("".join(title), f"Equipoise {report.version}", head, sections)


def _title(report: BacktestReport) -> tuple[str, str, str]:
    """Return the question that the page answers, which contains the name of the history."""
    if len(report.found.systems) > 2:
        return "Which system predicts ", report.source, " best?"
    return f"How well does {report.found.systems[0].label} predict ", report.source, "?"


def _shown_standings(found: Backtest) -> list[Standing]:
    shown = {metric.key for metric in shown_metrics(found)}
    return [one for one in standings(found) if one.metric in shown]


def _about(report: BacktestReport) -> str:
    found = report.found
    systems = counted(len(found.systems) - 1, "system", "systems")
    matches = counted(found.matches, "match", "matches")
    many = counted(found.participations, "participation", "participations")
    return f"{systems}, scored on {many} in {matches}"


def _verdict(found: Backtest, standing: list[Standing]) -> Iterator[Markup]:
    unknown = no_verdict(found, found.differences)
    yield paragraph(lead(standing, unknown), class_="lead")
    if standing:
        yield paragraph(for_whom(found))
        others = list(by_experience(found))
        if others:
            yield listed(others)
        yield tables.verdict_table(found, standing)
        yield from map(paragraph, against_baseline(found))
    if len(found.systems) > 3 and found.resamples:
        yield paragraph(
            "If you compare many settings and keep the best, part of its lead is luck, whatever "
            "the interval says. Choose on one part of a history and compare on another.",
            class_="quiet",
        )


def _metrics(found: Backtest) -> Iterator[Markup]:
    if found.resamples:
        share = f"{100 * found.confidence:g}\N{NO-BREAK SPACE}%"
        yield paragraph(f"Dots are the measured values, whiskers their {share} intervals.")
    yield metric_charts(found)
    yield tables.metrics_table(found)
    meanings = [
        element(
            "div",
            element("dt", metric.name),
            element("dd", f"{metric.meaning} {metric.better.capitalize()}."),
        )
        for metric in (*shown_metrics(found), CALIBRATION)
    ]
    yield element("dl", "\n", lines(meanings), "\n")


def _differences(found: Backtest, standing: list[Standing]) -> Iterator[Markup]:
    if found.resamples:
        yield paragraph(
            "How far each system is behind the best one, on the same matches. A filled dot is a "
            "significant difference: other matches among these players would show it too. A ring "
            "is a difference that noise may explain, or that is too small to matter."
        )
    else:
        yield paragraph(
            "How far each system is behind the best one, on the same matches. Nothing was "
            "resampled, so noise may explain any difference."
        )
    yield difference_charts(found, standing)
    yield tables.differences_table(found)


def _calibration(found: Backtest) -> Iterator[Markup]:
    yield paragraph(
        "A system is calibrated if, of the pairs to which it gives 70\N{NO-BREAK SPACE}%, "
        "70\N{NO-BREAK SPACE}% are won. Then the dots lie on the dashed line. If observed scores "
        "are closer to one half than expected ones, the system is overconfident; if they are "
        "further away, it is too cautious. Bars show the number of participations."
    )
    yield calibration_charts(found)
    yield tables.calibration_table(found)


_KINDS = {
    "earlier": ("By earlier matches of the player", "Metrics by earlier matches of the player"),
    "size": ("By size of the match", "Metrics by players or teams of the match"),
}


def _slices(found: Backtest) -> Iterator[Markup]:
    yield paragraph(
        "The first table is about all players, by their earlier matches: a pair of players belongs "
        "to the less experienced of the two. The slices below it include only the players of the "
        f"metrics above: {found.for_whom}."
    )
    if found.groups:
        yield tables.groups_table(found)
    yield legend(found)
    for by, (heading, caption) in _KINDS.items():
        yield element("h3", heading)
        parts = tables.parts_of(found.systems[0], by)
        if len(parts) > 1:
            yield slice_charts(found, by)
            yield tables.slices_table(found, by, caption)
        else:
            only = f"{tables.range_of(parts[0])} {tables.COUNTED[by]}"
            yield paragraph(f"Everything that was scored is in one group: {only}.")


def _systems(report: BacktestReport) -> Markup:
    return tables.parameters_table(report.found, report.parameters, report.chosen)


def _history(report: BacktestReport) -> Iterator[Markup]:
    history = report.history
    rows = [
        ["source", report.source],
        ["matches", f"{history.matches:,}"],
        ["participations", f"{history.participations:,}"],
        ["players", f"{history.players:,}"],
        ["period", " to ".join(report.period) if report.period else "without times"],
        ["scored", _about(report).partition("scored on ")[2]],
    ]
    rows += [[name, f"{count:,}"] for name, count in _left_out(history) if count]
    yield table("history-table", "What was read", ["item", "value"], rows)
    if history.dropped_matches:
        yield paragraph("Matches that were dropped: ", _some(history.dropped_matches), ".")
    if history.problems:
        yield _problems(history)
    if history.notes:
        yield element("h3", "Notes")
        yield listed(history.notes)


def _left_out(history: HistoryMessage) -> list[tuple[str, int]]:
    return [
        ("matches marked as not rated, left out", history.unrated),
        ("matches filtered out", history.filtered),
        ("bad matches dropped", len(history.dropped_matches)),
        ("bad rows dropped, whose matches were kept", history.dropped_rows),
    ]


def _some(names: list[str]) -> Markup:
    """Return names as part of a sentence, and how many more there are."""
    more = len(names) - _SHOWN
    shown = joined(map(given, names[:_SHOWN]), by=", ")
    return joined(shown, f" and {more:,} more" if more > 0 else "")


def _problems(history: HistoryMessage) -> Markup:
    """Return the first problems of what was dropped."""
    rows = [
        [
            found.file,
            "" if found.line is None else str(found.line),
            found.field,
            found.rule,
            found.got,
        ]
        for found in history.problems[:_SHOWN]
    ]
    columns = ["file", "line", "field", "rule", "got"]
    more = len(history.problems) - _SHOWN
    caption = "Problems" + (f", the first {_SHOWN}; there are {more:,} more" if more > 0 else "")
    return table("problems", caption, columns, rows, frozenset({1}))
