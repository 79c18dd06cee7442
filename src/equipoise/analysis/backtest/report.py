"""The verdict of a backtest in sentences, and its page: one HTML file made from a template."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from markupsafe import Markup

from equipoise.analysis.backtest import presentation as tables
from equipoise.analysis.backtest.presentation import (
    CALIBRATION,
    METRIC,
    MOST_SYSTEMS,
    NOTHING,
    Estimate,
    Measure,
    Metric,
    Noted,
    Table,
    between,
    calibration_figure,
    intervals_figure,
    shown_metrics,
    typeset,
)
from equipoise.charts import theme
from equipoise.data.backtest import (
    BASELINE,
    GROUP_METRICS,
    HIGHER_IS_BETTER,
    LEAST_DIFFERENCE,
    LEAST_MATCHES,
    Backtest,
    Difference,
    Group,
    judge,
    players_with,
)
from equipoise.evaluate.standings import UNKNOWN, Standing, standings
from equipoise.markup import allowed, element, joined
from equipoise.messages.histories import HistoryMessage
from equipoise.wording import counted

if TYPE_CHECKING:
    from jinja2 import Template


def given(text: str) -> Markup:
    """Return text of a user for use in a sentence, isolated from its direction of writing."""
    return element("bdi", text)


def enumerated(labels: Sequence[str]) -> Markup:
    """Return labels as part of a sentence."""
    *others, last = map(given, labels)
    return joined(joined(others, by=", "), " and ", last) if others else last


def lead(standing: Sequence[Standing], unknown: str) -> Markup:
    """Return one or two sentences: which system is best, and how sure that is.

    unknown : why this is not known, "" if it is
    """
    if not standing:
        return joined("There was nothing to score.")
    if not any(verdict.rivals for verdict in standing):
        only = given(standing[0].best)
        return joined(only, " is the only system. It is compared with the baseline.")
    metrics: dict[tuple[str, ...], list[str]] = {}
    for verdict in standing:
        metrics.setdefault(verdict.leaders, []).append(verdict.metric)
    if len(metrics) == 1:
        return joined(_leading(standing), ". ", unknown or _over_whom(standing))
    # Sorting is stable: among systems that lead equally often, the first metric decides.
    most = sorted(metrics.items(), key=lambda entry: -len(entry[1]))
    parts = (
        joined(_named(keys), ": ", enumerated(labels), ", tied" if len(labels) > 1 else "")
        for labels, keys in most
    )
    return joined("Best by ", joined(parts, by="; by "), ". ", unknown or _how_often(standing))


def _leading(standing: Sequence[Standing]) -> Markup:
    """Return which system is best by which metrics."""
    labels, count = standing[0].leaders, len(standing)
    metrics = {1: "the only metric", 2: "both metrics"}.get(count, f"all {count} metrics")
    if len(labels) == 1:
        return joined(given(labels[0]), f" predicts best by {metrics}")
    if len(labels) == 1 + len(standing[0].rivals):
        return joined(enumerated(labels), f" are tied by {metrics}")
    return joined(enumerated(labels), f" predict best by {metrics}, tied")


def _named(metrics: Sequence[str]) -> str:
    """Return metrics as part of a sentence."""
    *others, last = (METRIC[key].inside for key in metrics)
    return f"{', '.join(others)} and {last}" if others else last


def no_verdict(differences: Sequence[Difference]) -> str:
    """Return why differences have no intervals; "" if they have."""
    intervals = (pair for difference in differences for pair in difference.intervals.values())
    if not np.isnan([*intervals]).all():
        return ""
    return f"Fewer than {LEAST_MATCHES} matches were scored, too few for a verdict on any lead."


def _over_whom(standing: Sequence[Standing]) -> Markup:
    """Return over which systems a lead by every metric is significant."""
    beyond: dict[str, list[bool]] = {}
    for verdict in standing:
        for rival in verdict.behind:
            of_rival = beyond.setdefault(rival.label, [])
            judgement = verdict.judged(rival)
            if judgement != "no difference that matters":
                of_rival.append(judgement == "beyond noise")
    small = [label for label, clear in beyond.items() if not clear]
    never = [label for label, clear in beyond.items() if clear and not any(clear)]
    partly = [label for label, clear in beyond.items() if any(clear) and not all(clear)]
    rest = len(beyond) - len(small) - len(never) - len(partly)
    sentences = []
    if small:
        sentences.append(joined("The lead over ", enumerated(small), " is too small to matter."))
    if never or partly:
        parts = [
            joined("over ", enumerated(labels), f" by {which}")
            for labels, which in ((never, "every metric"), (partly, "some metrics"))
            if labels
        ]
        end = "; over the others it is significant." if rest else "."
        sentences.append(joined("Noise may explain the lead ", joined(parts, by=", and "), end))
    elif rest:
        whom = "the others" if small else "every other system"
        sentences.append(joined(f"The lead over {whom} is significant."))
    return joined(sentences, by=" ")


def _how_often(standing: Sequence[Standing]) -> str:
    """Return by which metrics the best system is significantly ahead of all others."""
    clear = [
        verdict.metric
        for verdict in standing
        if verdict.behind
        and all(verdict.judged(rival) == "beyond noise" for rival in verdict.behind)
    ]
    if len(clear) == len(standing):
        return "Its lead over every other system is significant by each of these metrics."
    if not clear:
        return "The lead over all others is not significant by any metric."
    return f"The lead over all others is significant only by {_named(clear)}."


def _other_groups(backtest: Backtest) -> Iterator[tuple[str, Group]]:
    """Yield every group of players but the one to whom the headline applies, with its name."""
    for group in backtest.groups:
        name = players_with(group.first, group.last)
        if name != backtest.for_whom:
            yield name, group


def by_experience(backtest: Backtest) -> Iterator[Markup]:
    """Yield a verdict on every other group of players by earlier matches."""
    for name, group in _other_groups(backtest):
        many = counted(group.participations, "participation", "participations")
        sentence = lead(standings(backtest, group), no_verdict(group.differences))
        yield joined(f"{name[0].upper()}{name[1:]} ({many}): ", sentence)


def against_baseline(backtest: Backtest) -> Iterator[Markup]:
    """Yield whether predictions of the scored players are better than predictions without ratings.

    Then yield a sentence for every other group of players in which a system is behind the baseline.
    """
    keys, least = [metric.key for metric in shown_metrics(backtest)], backtest.least_differences
    short = _short_of_baseline(backtest.over_baseline, keys, least)
    if short:
        yield joined(f"For {backtest.for_whom}: ", joined(short, by="; "), ".")
    else:
        first, *others = backtest.over_baseline
        who = "every system" if others else given(first.first)
        unknown = no_verdict(backtest.over_baseline)
        sure = f". {unknown}" if unknown else ", and the difference is significant."
        text = " is better than the baseline, which has no ratings, by every metric"
        yield joined(f"For {backtest.for_whom}, ", who, text, sure)
    for name, group in _other_groups(backtest):
        behind = _short_of_baseline(group.over_baseline, GROUP_METRICS, least, ahead=False)
        if behind:
            yield joined(f"For {name}: ", joined(behind, by="; "), ".")


#: How a system compares with the baseline by some metrics: the verb for one system, the verb for
#: several, and the rest of the sentence.
_COMPARED = {
    "worse": ("is", "are", "worse than the baseline by {}"),
    "perhaps": ("is", "are", "behind the baseline by {}, which noise may explain"),
    "level": ("does", "do", "not differ from the baseline by {} in a way that matters"),
    "unsure": ("is", "are", "ahead of the baseline by {}, which noise may explain"),
}


def _short_of_baseline(
    differences: Sequence[Difference],
    keys: Sequence[str],
    least: Mapping[str, float],
    ahead: bool = True,
) -> list[Markup]:
    """Return the metrics by which systems are behind the baseline; the same are said once.

    ahead : also name metrics by which they are level, or ahead by a difference that does not matter
      or that noise may explain
    """
    #: How systems compare, and by which metrics -> these systems.
    systems: dict[tuple[str, str], list[str]] = {}
    for difference in differences:
        metrics: dict[str, list[str]] = {kind: [] for kind in _COMPARED}
        for key in keys:
            kind = _against_baseline(key, difference, least[key])
            if kind in metrics and (ahead or kind in ("worse", "perhaps")):
                metrics[kind].append(key)
        for kind, named in metrics.items():
            if named:
                systems.setdefault((kind, _named(named)), []).append(difference.first)
    sentences = []
    for (kind, named_metrics), labels in systems.items():
        one, several, rest = _COMPARED[kind]
        verb = one if len(labels) == 1 else several
        sentences.append(joined(enumerated(labels), f" {verb} {rest.format(named_metrics)}"))
    return sentences


def _against_baseline(key: str, difference: Difference, least: float) -> str:
    """Return how a system compares with the baseline by a metric, as `_COMPARED` has it.

    "" if it is better, or if that is not known.
    """
    change = difference.metrics[key]
    if math.isnan(change):
        return ""
    judged = judge(change, difference.intervals.get(key, UNKNOWN), least)
    better = (change > 0) == (key in HIGHER_IS_BETTER)
    if judged in ("level", "no difference that matters"):
        return "level"
    if judged == "beyond noise":
        return "" if better else "worse"
    if better:
        return "unsure" if judged == "within noise" else ""
    return "perhaps"


def verdict_table(backtest: Backtest, standing: Sequence[Standing]) -> Table:
    """Return the best system by every metric and its lead; a single system leads the baseline."""
    if not any(verdict.rivals for verdict in standing):
        baseline = backtest.of(BASELINE).metrics
        return Table(
            "Compared with the baseline",
            {"metric": "", backtest.systems[0].label: ">", BASELINE: ">"},
            [
                [*_named_value(verdict), METRIC[verdict.metric].number(baseline[verdict.metric])]
                for verdict in standing
            ],
        )
    columns = {"metric": "", "best": "", "value": ">", "next best": "", "behind by": ">"}
    columns |= {"that is": "", "indistinguishable from": ""}
    rows = [_verdict(verdict) for verdict in standing]
    return Table("Who is best", columns, rows)


def _named_value(verdict: Standing) -> tuple[Noted, str]:
    """Return a metric with the direction that is better, and its best value."""
    metric = METRIC[verdict.metric]
    return Noted(metric.heading, metric.better), metric.number(verdict.value)


def _verdict(verdict: Standing) -> list[object]:
    metric, value = _named_value(verdict)
    row: list[object] = [metric, enumerated(verdict.leaders), value]
    if not verdict.behind:
        return [*row, None, None, None, None]
    nearest, of = verdict.behind[0], METRIC[verdict.metric]
    behind = Noted(of.number(nearest.behind), of.interval(nearest.lower, nearest.upper))
    alike = enumerated(verdict.not_told_apart) if verdict.not_told_apart else None
    return [*row, nearest.label, behind, verdict.judged(nearest), alike]


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


def _standing(backtest: Backtest) -> list[Standing]:
    """Return the order of the systems by every metric that is shown."""
    metrics = shown_metrics(backtest)
    return [verdict for verdict in standings(backtest) if METRIC[verdict.metric] in metrics]


def verdict_in_words(backtest: Backtest) -> str:
    """Return which system is best and how sure that is, or if the only one beats the baseline."""
    standing = _standing(backtest)
    if any(verdict.rivals for verdict in standing):
        return lead(standing, no_verdict(backtest.differences)).striptags()
    return next(against_baseline(backtest)).striptags()


def backtest_page(report: BacktestReport) -> str:
    """Return the page as HTML; the same report gives the same text."""
    backtest = report.found
    metrics, standing = shown_metrics(backtest), _standing(backtest)
    unknown = no_verdict(backtest.differences)
    page = _template().render(
        report=report,
        found=backtest,
        sections=_sections(report, standing),
        metrics=metrics,
        standing=standing,
        verdict={
            "lead": lead(standing, unknown),
            "groups": list(by_experience(backtest)),
            "table": verdict_table(backtest, standing),
            "baseline": list(against_baseline(backtest)),
        },
        difference_charts=list(_difference_charts(backtest, standing)),
        calibration_charts=list(_calibration_charts(backtest)),
        read=_read(report),
        problems=_problems(report.history),
        limits=_limits(backtest.least_differences),
        share=f"{100 * backtest.confidence:g}\N{NO-BREAK SPACE}%",
    )
    return str(allowed(page))


@cache
def _template() -> Template:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    pages = Environment(
        loader=PackageLoader("equipoise.analysis.backtest", ""),
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
    pages.globals.update(tables=tables, most=_SHOWN, least_matches=LEAST_MATCHES)
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
    compared, typed = any(verdict.rivals for verdict in standing), bool(report.command)
    return {
        "verdict": "Verdict",
        "metrics": "Metrics",
        **({"differences": "Is the difference real?"} if compared else {}),
        "calibration": "Calibration",
        **({"experience": "By experience"} if report.found.groups else {}),
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


def _labels(backtest: Backtest) -> list[str]:
    """Return the labels of the systems, without the baseline."""
    return [system.label for system in backtest.systems if system.label != BASELINE]


def _listed(rows: Sequence[Estimate], metric: Metric, words: Sequence[str]) -> str:
    """Return values with their intervals in words."""
    parts = []
    for row, judgement in zip(rows, words, strict=True):
        interval = metric.interval(row.lower, row.upper)
        parts.append(f"{row.label} {row.text}{f' ({interval})' if interval else ''}, {judgement}")
    return "; ".join(parts)


def _difference_charts(backtest: Backtest, standing: Sequence[Standing]) -> Iterator[Chart]:
    """Yield one chart for each metric: how far every other system is behind the best."""
    numbers = {label: number for number, label in enumerate(_labels(backtest))}
    for verdict in standing:
        metric, judged = METRIC[verdict.metric], [verdict.judged(rival) for rival in verdict.rivals]
        rows = [
            Estimate(
                rival.label,
                metric.number(rival.behind),
                *(rival.behind, rival.lower, rival.upper, numbers[rival.label]),
                open=judgement != "beyond noise",
            )
            for rival, judgement in zip(verdict.rivals, judged, strict=True)
        ]
        if rows:
            alt = (
                f"{metric.heading}: distance of the others from {verdict.best}. "
                f"{_listed(rows, metric, judged)}."
            )
            image = theme.page_image(intervals_figure(rows))
            yield Chart(metric.heading, f"behind {verdict.best}", alt, image)


def _calibration_charts(backtest: Backtest) -> Iterator[Chart]:
    """Yield the calibration of all systems, six in a chart."""
    labels = _labels(backtest)
    for start in range(0, len(labels), MOST_SYSTEMS):
        shown = {
            label: backtest.of(label).calibration for label in labels[start : start + MOST_SYSTEMS]
        }
        errors = "; ".join(
            f"{label} {CALIBRATION.number(calibration.error)}"
            for label, calibration in shown.items()
        )
        alt = (
            f"Calibration of {', '.join(shown)}. Mean distance of observed from expected scores: "
            f"{errors}."
        )
        image = theme.page_image(calibration_figure(shown, title="", subtitle=""))
        below = "with the calibration error of every system"
        yield Chart("Observed by expected score", below, alt, image)


def _read(report: BacktestReport) -> Table:
    """Return what was read, and what was left out."""
    history, backtest = report.history, report.found
    many = counted(backtest.participations, "participation", "participations")
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
        ("scored", f"{many} in {counted(backtest.matches, 'match', 'matches')}"),
        *((name, count) for name, count in left_out if count),
    ]
    return Table("What was read", {"item": "", "value": ""}, rows)


def _problems(history: HistoryMessage) -> Table:
    """Return the first problems of what was dropped."""
    more = len(history.problems) - _SHOWN
    return Table(
        "Problems" + (f", the first {_SHOWN}; there are {more:,} more" if more > 0 else ""),
        {"file": "", "line": "d", "field": "", "rule": "", "got": ""},
        [
            (problem.file, problem.line, problem.field, problem.rule, problem.got)
            for problem in history.problems[:_SHOWN]
        ],
    )


def _limits(least: Mapping[str, float]) -> str:
    """Return below which a difference does not matter."""
    if dict(least) == dict(LEAST_DIFFERENCE):
        return "0.05 of a metric in percent and 0.0005 of any other"
    return ", ".join(f"{METRIC[name].inside} {value:g}" for name, value in least.items())
