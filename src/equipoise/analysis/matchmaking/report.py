"""The page of a simulation: the verdict, a chart of wait against fairness, and all tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from equipoise.analysis.matchmaking.computation import SimulationAnswer, shown_measures
from equipoise.charts import theme
from equipoise.data.files import whole_file
from equipoise.markup import element, joined
from equipoise.matchmaking.comparing import WAITS, Estimated
from equipoise.matchmaking.measures import CHANCE, MEASURES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZE = theme.Size(7.5, 5.0)
GROUPS = theme.Size(9.5, 4.2)
_HALF = "half are matched by, s"
#: Charts of groups: their column `by`, the title, and their measures with labels.
CHARTS: tuple[tuple[str, str, dict[str, str]], ...] = (
    ("hour", "Arrivals and waits", {"tickets": "tickets", "to_match_p50": _HALF}),
    (
        "skill decile",
        "Waits and fairness",
        {"to_match_p50": _HALF, "unfair": "mean abs(p - 1/2)"},
    ),
    (CHANCE, "Win probabilities", {"matches": "share of matches"}),
)
_LETTERS = 24
_LEAD = 10.0
_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 64rem; padding: 0 1rem;
  color-scheme: light dark; }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums; }
caption { font-weight: bold; text-align: left; }
th, td { padding: 0.2rem 0.7rem; border-bottom: 1px solid #8884; text-align: right; }
td { white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
img { width: 100%; height: auto; } .scroll { overflow-x: auto; }
"""


def trade_off(answer: SimulationAnswer) -> Figure:
    """Return the chart of wait against fairness: a mark for each ruleset, a cross of intervals.

    A curve joins the values of a field that is swept.
    """
    comparison, measure = answer.found, drawn_wait(answer)
    points = [
        (comparison.estimates[label][measure], comparison.estimates[label]["unfair"])
        for label in comparison.labels
    ]
    with theme.style():
        figure, axes = theme.new_figure(
            "Wait against fairness",
            "mean over days, with 95 % intervals; nearer to the lower left is better",
            SIZE,
        )
        axes.set_xlabel(f"{MEASURES[measure].words}, seconds")
        axes.set_ylabel("mean abs(p - 1/2), p from true skills")
        across, up = (
            [estimate.mean for estimate, _ in points],
            [estimate.mean for _, estimate in points],
        )
        if answer.swept:
            axes.plot(across, up, color=theme.MUTED, lw=1.0, zorder=1)
        texts = []
        for at, (label, (wait, unfair)) in enumerate(zip(comparison.labels, points, strict=True)):
            colour = theme.PALETTE[at % len(theme.PALETTE)]
            axes.plot([wait.lower, wait.upper], [unfair.mean] * 2, color=colour, lw=2)
            axes.plot([wait.mean] * 2, [unfair.lower, unfair.upper], color=colour, lw=2)
            axes.plot(wait.mean, unfair.mean, marker="o", color=colour, ls="none", zorder=3)
            texts.append(
                axes.annotate(
                    theme.shortened(label, _LETTERS),
                    (wait.mean, unfair.mean),
                    (8, 6),
                    textcoords="offset points",
                )
            )
        axes.margins(0.15)
        theme.fit_axes(figure, axes, right=_LEAD + max(map(theme.text_width, texts)))
    return figure


def group_chart(
    answer: SimulationAnswer, by: str, title: str, measures: Mapping[str, str]
) -> Figure:
    """Return a chart of measures of groups side by side, with a line for each ruleset.

    by : "hour", "skill decile" or `CHANCE`; measures : of a group -> label of the vertical axis
    """
    comparison = answer.found
    subtitle = f"by {by}, first day; a gap: the share is not reached, or no match"
    with theme.style():
        figure, first = theme.new_figure(title, subtitle, GROUPS)
        low, top = first.get_position().y0, first.get_position().y1
        panels = [first, *(figure.add_axes((0.6, low, 0.3, top - low)) for _ in list(measures)[1:])]
        ends: list[float] = []
        for axes, (name, words) in zip(panels, measures.items(), strict=True):
            axes.set_xlabel(by)
            axes.set_ylabel(words)
            lines = [
                {
                    int(row["group"]): float(row[name])
                    for row in (*tables.groups, *tables.chances)
                    if row["by"] == by
                }
                for tables in comparison.first.values()
            ]
            # In an open loop all rulesets have the same arrivals.
            same = all(line == lines[0] for line in lines)
            for at, line in enumerate(lines[:1] if same else lines):
                colour = theme.MUTED if same else theme.PALETTE[at % len(theme.PALETTE)]
                axes.plot(
                    sorted(line), [line[x] for x in sorted(line)], color=colour, marker="o", ms=3
                )
            ends = [
                next((line[x] for x in sorted(line)[::-1] if not math.isnan(line[x])), 0.0)
                for line in lines
            ]
            axes.set_ylim(bottom=0.0)
        last = panels[-1]
        names = [theme.shortened(label, _LETTERS) for label in comparison.labels]
        texts = [theme.line_label(last, name, at) for at, name in enumerate(names)]
        theme.fit_axes(figure, panels, right=_LEAD + max(map(theme.text_width, texts)))
        theme.place_labels(last, texts, ends, _LEAD)
    return figure


def drawn_wait(answer: SimulationAnswer) -> str:
    """Return the measure of waits that the chart has; "" if no ruleset reaches one."""
    comparison = answer.found
    for name in (*WAITS, "wait_p95"):
        if not any(
            math.isnan(comparison.estimates[label][name].mean) for label in comparison.labels
        ):
            return name
    return ""


def simulation_page(answer: SimulationAnswer, command: str) -> str:
    """Return the page as HTML; the same answer gives the same text."""
    comparison = answer.found
    labels = list(comparison.labels)
    title = "Which ruleset?" if len(labels) > 1 else f"A day with {labels[0]}"
    known = shown_measures(comparison)
    parts: list[str] = [element("h1", title)]
    if answer.verdict:
        parts.append(element("ul", [element("li", sentence) for sentence in answer.verdict]))
    if drawn_wait(answer):
        image = theme.page_image(trade_off(answer))
        parts.append(element("img", src=image, alt="Wait against fairness of each ruleset"))
    has_groups = any(tables.groups for tables in comparison.first.values())
    for by, name, columns in CHARTS if has_groups else ():
        image = theme.page_image(group_chart(answer, by, name, columns))
        parts.append(element("img", src=image, alt=f"{name} by {by}"))
    means = [[words(name), *(with_half(answer, label, name) for label in labels)] for name in known]
    parts.append(table("Measures, means of the days", ["measure", *labels], means))
    if len(labels) > 1:
        rows = [
            [
                words(name),
                *(with_interval(comparison.differences[label][name]) for label in labels[1:]),
            ]
            for name in known
            if any(abs(comparison.differences[label][name].upper) > 0 for label in labels[1:])
        ]
        parts.append(table(f"Differences to {labels[0]}", ["measure", *labels[1:]], rows))
    for label, tables in comparison.first.items():
        parts += _of_first_day(label, tables.groups, tables.games)
    listed = [[name, shown(value)] for name, value in answer.assumptions.items()]
    parts.append(table("Assumptions", ["field", "value"], listed))
    about = [f"{comparison.days} days, seed {answer.seed}.", *answer.notes]
    about += [f"$ {command}"] if command else []
    parts.append(element("ul", [element("li", sentence) for sentence in about]))
    head = joined(
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="generator", content=f"Equipoise {version('equipoise')}"),
        element("title", title),
        element("style", Markup(_STYLE)),
    )
    page = element("html", element("head", head), element("body", parts), lang="en")
    return f"<!DOCTYPE html>\n{page}\n"


def write_page(answer: SimulationAnswer, path: str, command: str) -> None:
    """Write the page of a simulation, completely or not at all."""
    page = simulation_page(answer, command).encode()
    with whole_file(path) as file:
        file.write(page)


def words(name: str) -> str:
    """Return a measure with its unit."""
    unit = MEASURES[name].unit
    return f"{MEASURES[name].words}, {unit}" if unit else MEASURES[name].words


def with_half(answer: SimulationAnswer, label: str, name: str) -> str:
    """Return a mean with the half of its interval."""
    estimate = answer.found.estimates[label][name]
    half = f" \N{PLUS-MINUS SIGN} {number(estimate.upper - estimate.mean)}"
    return number(estimate.mean) + ("" if math.isnan(estimate.upper) else half)


def _of_first_day(
    label: str, groups: Sequence[dict[str, Any]], games: Sequence[dict[str, float]]
) -> Iterable[str]:
    """Yield the tables by group, and by games."""
    for rows, heading in ((groups, "by group"), (games, "ratings by games played before")):
        if rows:
            columns = list(rows[0])
            cells = [[_cell(row[name]) for name in columns] for row in rows]
            named = [name.replace("_", " ") for name in columns]
            content = table("", named, cells)
            summary = element("summary", f"{label}: {heading}, first day")
            yield element("details", summary, content)


def _cell(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {count:,}" for name, count in value.items())
    return number(value) if isinstance(value, float) else str(value)


def table(caption: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Markup:
    """Return a table with a caption."""
    heads = element("tr", [element("th", name, scope="col") for name in columns])
    above = [element("caption", caption)] if caption else []
    body = [element("tr", [element("td", value) for value in row]) for row in rows]
    return element(
        "div",
        element("table", above, element("thead", heads), element("tbody", body)),
        class_="scroll",
    )


def number(value: float) -> str:
    """Return a number with four digits that count."""
    if math.isnan(value):
        return "-"
    digits = 4 if value == 0 else max(0, 3 - math.floor(math.log10(abs(value))))
    return f"{value:,.{min(digits, 4)}f}"


def with_interval(estimate: Estimated) -> str:
    """Return a difference with its interval."""
    return f"{_signed(estimate.mean)} ({_signed(estimate.lower)} to {_signed(estimate.upper)})"


def _signed(value: float) -> str:
    text = number(value)
    return text if value < 0 or text.strip("0.,") == "" else f"+{text}"


def shown(value: object) -> str:
    """Return the value of an assumption; an empty list is the default, which is none or a curve."""
    if isinstance(value, tuple) and len(value) > 60:
        return f"{len(value):,} numbers from {min(value):g} to {max(value):g}"
    if isinstance(value, tuple):
        return "none" if not value else "/".join(f"{item:g}" for item in value)
    return f"{value:g}" if isinstance(value, float) else "none" if value is None else str(value)
