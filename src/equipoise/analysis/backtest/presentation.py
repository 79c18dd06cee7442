"""The tables and figures of a backtest: the command line prints the tables, its page shows both.

A table is declared once, with values and formats. How a value is written is the matter of who shows
it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from equipoise.charts import theme
from equipoise.charts.theme import around, shortened
from equipoise.data.backtest import (
    BASELINE,
    GROUP_METRICS,
    HIGHER_IS_BETTER,
    Backtest,
    Calibration,
    Difference,
    Group,
    GroupScores,
    SystemScores,
    judge,
)
from equipoise.errors import require
from equipoise.evaluate.standings import UNKNOWN, standings
from equipoise.wording import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


#: Title of the table of groups.
BY_EXPERIENCE = "By earlier matches of the less experienced of each pair"


class Metric(NamedTuple):
    """The names of a metric, and the format of its values.

    key : in `METRICS`; column : in tables of text; unit : after a number
    """

    key: str
    column: str
    name: str
    unit: str
    form: str
    meaning: str

    @property
    def better(self) -> str:
        """Which direction is better."""
        return "higher is better" if self.key in HIGHER_IS_BETTER else "lower is better"

    @property
    def inside(self) -> str:
        """The name within a sentence: NDCG and Brier keep their capitals."""
        return self.name if self.key in ("ndcg", "brier") else self.name.lower()

    @property
    def heading(self) -> str:
        """The name, with its unit."""
        return f"{self.name}, {self.unit}" if self.unit else self.name

    def number(self, value: float) -> str:
        """Return a value in the typography of a page, without its unit."""
        return typeset(value, self.form)

    def interval(self, lower: float, upper: float) -> str:
        """Return bounds as text; "" if they are unknown."""
        return between(lower, upper, self.form)


#: Text of a page in place of a missing number.
NOTHING = "\N{EN DASH}"


def typeset(value: float | Measure, form: str) -> str:
    """Return a number in the typography of a page; one that rounds to 0 has no sign."""
    text = format(value, form)
    if text in ("", "nan"):
        return NOTHING
    return (text if float(text) else text.lstrip("+-")).replace("-", "\N{MINUS SIGN}")


def between(lower: float, upper: float, form: str) -> str:
    """Return bounds in the typography of a page; "" if they are unknown."""
    if math.isnan(lower) or math.isnan(upper):
        return ""
    return f"{typeset(lower, form)} to {typeset(upper, form)}"


_TOP = "The same, for the players who finished in the top 100 of their match."
_PAIR = "Share of the pairs in a match that were predicted in the right order."
_PLACE = "Distance between predicted and actual place, in percent of the largest possible distance."
_GAIN = (
    "Gain of the predicted order as a share of the gain of the best order. The first places count "
    "most; 1 is perfect."
)
_LOSS = (
    "\N{MINUS SIGN}s ln p \N{MINUS SIGN} (1 \N{MINUS SIGN} s) ln(1 \N{MINUS SIGN} p) for a pair "
    "with expected score p and score s (a win 1, a tie 1/2, a loss 0). Confident wrong predictions "
    "cost most."
)
_SQUARE = "(s \N{MINUS SIGN} p)\N{SUPERSCRIPT TWO} for such a pair."
_OUTCOME = (
    "\N{MINUS SIGN}ln of the probability of what happened in a match of two: win, draw or loss. "
    "Matches without a probability of a draw are left out."
)
_RANKED = (
    "Half the sum of the squared errors of the probabilities of a win and of a loss in a match of "
    "two."
)
_ERROR = "Mean distance between expected and observed scores."

#: Every metric by its key, in the order of the tables.
METRIC = {
    metric.key: metric
    for metric in (
        Metric("pair_inversion", "pair_inv", "Pair inversion", "%", ".3f", _PAIR),
        Metric("rank_deviation", "rank_dev", "Rank deviation", "%", ".3f", _PLACE),
        Metric(
            "pair_inversion_top100", "pair_inv_100", "Pair inversion, top 100", "%", ".3f", _TOP
        ),
        Metric(
            "rank_deviation_top100", "rank_dev_100", "Rank deviation, top 100", "%", ".3f", _TOP
        ),
        Metric("log_loss", "log_loss", "Log loss", "", ".5f", _LOSS),
        Metric("brier", "brier", "Brier score", "", ".5f", _SQUARE),
        Metric("ndcg", "ndcg", "NDCG", "", ".5f", _GAIN),
        Metric(
            "outcome_log_loss", "outcome_loss", "Log loss of win, draw, loss", "", ".5f", _OUTCOME
        ),
        Metric("rps", "rps", "Ranked probability score", "", ".5f", _RANKED),
    )
}
CALIBRATION = Metric("calibration", "calibration", "Calibration error", "", ".5f", _ERROR)
#: Metrics of parts of the players.
PART = [METRIC[name] for name in GROUP_METRICS]
_HEADINGS = {metric.column: metric.heading for metric in (*METRIC.values(), CALIBRATION)}


class Measure(NamedTuple):
    """A metric in a table, with its interval.

    lower, upper : NaN without one
    judged : how certain a difference is, as of `judge`
    stands_out : whether it is the best, or a difference beyond noise
    """

    value: float
    lower: float = math.nan
    upper: float = math.nan
    judged: str = ""
    stands_out: bool = False

    def __format__(self, form: str) -> str:
        """Return the value as text, "" if it is unknown."""
        return "" if math.isnan(self.value) else format(self.value, form)


class Noted(NamedTuple):
    """Text in a table, with small text below it on a page."""

    text: str
    below: str


class Table(NamedTuple):
    """A table of values.

    columns : name -> format of its numbers; "" is a column of text, ">" of text at the right
    rows : text, numbers, measures, and None for nothing
    keys : number of columns that name a row, the first ones
    """

    title: str
    columns: Mapping[str, str]
    rows: Sequence[Sequence[object]]
    keys: int = 1

    def headings(self) -> list[str]:
        """Return the columns in the words of a page."""
        return [_HEADINGS.get(name, name) for name in self.columns]

    def unfolded(self, title: str, value: str = "value", *, judged: bool = False) -> Table:
        """Return a row for each measure, with its interval beside it.

        value : column of the measures; judged : with a column of judgements
        """
        rows: list[list[object]] = []
        for row in self.rows:
            for (name, form), cell in zip(self.columns.items(), row, strict=True):
                if isinstance(cell, Measure) and not math.isnan(cell.value):
                    bounds = (format(Measure(bound), form) for bound in (cell.lower, cell.upper))
                    judged_as = [cell.judged] if judged else []
                    rows.append([*row[: self.keys], name, format(cell, form), *bounds, *judged_as])
        columns = dict(list(self.columns.items())[: self.keys])
        columns |= {"metric": "", value: ">", "lower": ">", "upper": ">"}
        return Table(title, {**columns, **({"that is": ""} if judged else {})}, rows, self.keys)


def shown_metrics(backtest: Backtest) -> list[Metric]:
    """Return the metrics that have values; top 100 only if there are larger matches."""
    metrics = backtest.systems[0].metrics
    same = metrics["pair_inversion_top100"] == metrics["pair_inversion"]
    return [
        metric
        for key, metric in METRIC.items()
        if not (same and key.endswith("top100"))
        and not all(math.isnan(system.metrics[key]) for system in backtest.systems)
    ]


def metrics_table(backtest: Backtest, seconds: Mapping[str, float] | None = None) -> Table:
    """Return one row for each system: its metrics and calibration error.

    seconds : to rate and score, by label; None leaves the column out
    """
    metrics = shown_metrics(backtest)
    best = {metric: _best(backtest, metric) for metric in metrics}
    columns = {"system": "", **_columns(metrics), CALIBRATION.column: CALIBRATION.form}
    rows: list[list[object]] = [
        [scores.label, *_measures(scores, metrics, best), scores.calibration.error]
        for scores in backtest.systems
    ]
    if seconds is not None:
        columns["seconds"] = ".2f"
        rows = [[*row, seconds.get(str(row[0]))] for row in rows]
    title = (
        "Metrics; the best system is in bold" if any(best.values()) else "Metrics of every system"
    )
    return Table(title, columns, rows)


def _columns(metrics: Sequence[Metric], sign: str = "") -> dict[str, str]:
    return {metric.column: f"{sign}{metric.form}" for metric in metrics}


def _measures(
    scores: SystemScores | GroupScores,
    metrics: Sequence[Metric],
    best: Mapping[Metric, Collection[str]],
) -> Iterator[Measure]:
    for metric in metrics:
        bounds = scores.intervals.get(metric.key, UNKNOWN)
        stands_out = scores.label in best.get(metric, ())
        yield Measure(scores.metrics[metric.key], *bounds, stands_out=stands_out)


def _best(backtest: Backtest, metric: Metric) -> list[str]:
    """Return the labels of the best systems; several if they are tied, none of a single one."""
    values = {
        scores.label: scores.metrics[metric.key]
        for scores in backtest.systems
        if scores.label != BASELINE
    }
    known = [value for value in values.values() if not math.isnan(value)]
    if len(values) < 2 or not known:
        return []
    most = max(known) if metric.key in HIGHER_IS_BETTER else min(known)
    return [label for label, value in values.items() if value == most]


def _share(backtest: Backtest) -> str:
    return f"{100 * backtest.confidence:g} % of {counted(backtest.resamples, 'resample')}"


def differences_table(backtest: Backtest) -> Table:
    """Return one row for each pair of systems."""
    metrics = shown_metrics(backtest)
    rows = [_difference(difference, metrics, backtest) for difference in backtest.differences]
    title = f"Differences for {backtest.for_whom}, first minus second ({_share(backtest)})"
    return Table(title, {"first": "", "second": "", **_columns(metrics, "+")}, rows, keys=2)


def group_differences_table(backtest: Backtest) -> Table:
    """Return one row for each group of players and pair of systems."""
    rows = [
        [_span(group), *_difference(difference, PART, backtest)]
        for group in backtest.groups
        for difference in group.differences
    ]
    title = f"Differences by earlier matches, first minus second ({_share(backtest)})"
    columns = {"earlier": "", "first": "", "second": "", **_columns(PART, "+")}
    return Table(title, columns, rows, keys=3)


def _difference(
    difference: Difference, metrics: Sequence[Metric], backtest: Backtest
) -> list[object]:
    """Return the row of a pair of systems."""
    row: list[object] = [difference.first, difference.second]
    for metric in metrics:
        change = difference.metrics[metric.key]
        bounds = difference.intervals.get(metric.key, UNKNOWN)
        judged = judge(change, bounds, backtest.least_differences[metric.key])
        row.append(Measure(change, *bounds, judged, judged == "beyond noise"))
    return row


def unfolded_differences(table: Table) -> Table:
    """Return differences with one row for each metric, as text shows them."""
    return table.unfolded(table.title, "difference", judged=True)


def groups_table(backtest: Backtest) -> Table:
    """Return one row for each group of players and system."""
    rows = []
    for group in backtest.groups:
        best = {
            METRIC[verdict.metric]: verdict.leaders
            for verdict in standings(backtest, group)
            if verdict.rivals
        }
        rows += [
            [_span(group), group.participations, scores.label, *_measures(scores, PART, best)]
            for scores in group.systems
        ]
    columns = {"earlier": "", "participations": "d", "system": "", **_columns(PART)}
    return Table(BY_EXPERIENCE, columns, rows, keys=3)


def _span(group: Group) -> str:
    """Return how many earlier matches the players of a group had."""
    if group.last is None:
        return f"{group.first} or more" if group.first else "all"
    return str(group.first) if group.first == group.last else f"{group.first} to {group.last}"


def calibration_table(backtest: Backtest) -> Table:
    """Return one row for each system and bin that has participations."""
    columns = {"from": ".1f", "to": ".1f", "participations": ".1f", "expected": ".4f"}
    rows = [
        [scores.label, *row]
        for scores in backtest.systems
        for row in scores.calibration.to_polars().select(*columns, "observed").rows()
        if row[2]
    ]
    return Table("Calibration", {"system": "", **columns, "observed": ".4f"}, rows)


def detail_tables(backtest: Backtest) -> Iterator[Table]:
    """Yield the further tables that are not empty, as text shows them."""
    yield metrics_table(backtest).unfolded(f"Intervals ({_share(backtest)})")
    if backtest.differences:
        yield unfolded_differences(differences_table(backtest))
        if any(group.differences for group in backtest.groups):
            yield unfolded_differences(group_differences_table(backtest))
    yield calibration_table(backtest)


#: With more lines than this, the lines of a chart cannot be distinguished.
MOST_SYSTEMS = len(theme.PALETTE)
#: Shapes of the marks, which can be distinguished without colours.
MARKS = ("o", "s", "^", "D", "v", "P")
_TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)
_LETTERS = 20
#: Points from the edge of the axes to the labels.
_LEAD = 12.0
#: Area of the largest mark, in square points, and of the smallest.
_LARGEST, _SMALLEST = 120.0, 8.0

SIZE = theme.Size(7.5, 6.0)


def calibration_figure(
    calibrations: Mapping[str, Calibration], *, title: str, subtitle: str, size: theme.Size = SIZE
) -> Figure:
    """Return the figure of the calibration of systems by label.

    A mark is as large as the share of the participations in its bin.
    Raises : InvalidParameterError   more systems than can be distinguished
    """
    require(
        1 <= len(calibrations) <= MOST_SYSTEMS, "systems", f"1 to {MOST_SYSTEMS}", len(calibrations)
    )
    with theme.style():
        figure, axes = theme.new_figure(title, subtitle, size)
        axes.set_xlim(-0.02, 1.02)
        axes.set_ylim(-0.02, 1.02)
        axes.set_xticks(_TICKS)
        axes.set_yticks(_TICKS)
        axes.set_xlabel("expected score")
        axes.set_ylabel("observed score")
        axes.plot([0, 1], [0, 1], color=theme.MUTED, lw=1.2, ls=(0, (4, 3)), zorder=1)
        for number, calibration in enumerate(calibrations.values()):
            _draw(axes, calibration, number)
        _label(figure, axes, calibrations)
    return figure


def _draw(axes: Axes, calibration: Calibration, number: int) -> None:
    """Draw one system: a line through its bins, and a mark for each."""
    filled = calibration.participations > 0
    colour = theme.PALETTE[number]
    x, y = calibration.expected[filled], calibration.observed[filled]
    share = calibration.participations[filled] / calibration.participations.sum()
    axes.plot(x, y, color=colour, lw=1.8, zorder=3)
    areas = np.maximum(_LARGEST * share / share.max(), _SMALLEST)
    axes.scatter(
        x, y, s=areas, marker=MARKS[number], color=colour, zorder=4, linewidths=0.8,
        edgecolors=theme.PAGE,
    )  # fmt: skip


def _label(figure: Figure, axes: Axes, calibrations: Mapping[str, Calibration]) -> None:
    """Write each label beside the end of its line, without overlap."""
    texts = [
        theme.line_label(axes, f"{shortened(label, _LETTERS)}  {calibration.error:.3f}", number)
        for number, (label, calibration) in enumerate(calibrations.items())
    ]
    theme.fit_axes(figure, axes, right=_LEAD + max(map(theme.text_width, texts)))
    ends = [
        float(calibration.observed[calibration.participations > 0][-1])
        for calibration in calibrations.values()
    ]
    theme.place_labels(axes, texts, ends, _LEAD)


def calibration_chart(calibration: Calibration, *, title: str | None = None) -> Figure:
    """Return the chart of one calibration. Raises : EquipoiseError without matplotlib."""
    return calibration_figure(
        {"mean error": calibration}, title=title or "Calibration", subtitle=_CALIBRATION
    )


_CALIBRATION = "scores observed where they were expected; the number is the mean error"


def backtest_chart(backtest: Backtest, *, title: str | None = None) -> Figure:
    """Return the chart of the calibration of all systems, without the baseline.

    Raises : InvalidParameterError   more systems than can be distinguished; EquipoiseError
        without matplotlib
    """
    shown = {
        scores.label: scores.calibration for scores in backtest.systems if scores.label != BASELINE
    }
    return calibration_figure(
        shown,
        title=title or f"Calibration on {counted(backtest.matches, 'match', 'matches')}",
        subtitle=f"{backtest.for_whom}; {_CALIBRATION}",
    )


#: Inches: the width of a figure of intervals, its axis, and a row.
_WIDTH, _AROUND, _ROW = 4.4, 0.65, 0.34
#: Letters of a name.
_ROW_LETTERS = 18


class Estimate(NamedTuple):
    """A value with its interval.

    text : the value, written at the right
    value, lower, upper : NaN if unknown
    number : of the system, which decides its colour
    open : draw a ring instead of a dot
    """

    label: str
    text: str
    value: float
    lower: float
    upper: float
    number: int
    open: bool = False


def intervals_figure(rows: Sequence[Estimate]) -> Figure:
    """Return the figure of values and intervals, one below the other.

    A dashed line is at 0, unless it is far away.
    """
    seen = [value for row in rows for value in (row.value, row.lower, row.upper)]
    scale = around(seen, 0.0, 1.0, [0.0])
    with theme.style():
        size = theme.Size(_WIDTH, _AROUND + _ROW * len(rows))
        figure, axes = theme.new_figure("", "", size)
        axes.set_xlim(scale.low, scale.high)
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.grid(visible=True, axis="x")
        axes.grid(visible=False, axis="y")
        axes.ticklabel_format(axis="x", useOffset=False)
        axes.locator_params(axis="x", nbins=4)
        if scale.holds(0.0):
            axes.axvline(0.0, color=theme.MUTED, lw=1.2, ls=(0, (4, 3)), zorder=1)
        for place, row in enumerate(rows):
            look = _look(row.number)
            axes.plot([row.lower, row.upper], [place] * 2, color=look["color"], lw=2.5)
            face = theme.PAGE if row.open else look["color"]
            axes.plot(row.value, place, **{**look, "mfc": face, "mec": look["color"]}, ls="none")
        axes.set_yticks(range(len(rows)), [shortened(row.label, _ROW_LETTERS) for row in rows])
        beside = [
            axes.annotate(row.text, (1.0, place), (8, 0), ("axes fraction", "data"),
                          textcoords="offset points", va="center")
            for place, row in enumerate(rows)
        ]  # fmt: skip
        theme.fit_axes(figure, axes, right=8 + max(map(theme.text_width, beside)))
    return figure


def _look(number: int) -> dict[str, Any]:
    """Return the dots of a system; after the last colour, other shapes get the colours again."""
    colours = len(theme.PALETTE)
    return {
        "marker": MARKS[(number + number // colours) % len(MARKS)],
        "color": theme.PALETTE[number % colours],
        "ms": 7.0,
    }
