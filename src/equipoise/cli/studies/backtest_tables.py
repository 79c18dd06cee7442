"""The tables of a backtest as text; `backtest` and `tune` print them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from equipoise.cli.tables import Table, cell, table
from equipoise.wording import counted

if TYPE_CHECKING:
    from equipoise.messages.studies import (
        BacktestMessage,
        DifferenceMessage,
        GroupMessage,
        GroupScoresMessage,
        SliceMessage,
    )

#: Title of the table of groups.
BY_EXPERIENCE = "By earlier matches of the less experienced of each pair"
#: Metric -> its column, and how it is written.
METRICS = {
    "pair_inversion": ("pair_inv", ".3f"),
    "rank_deviation": ("rank_dev", ".3f"),
    "pair_inversion_top100": ("pair_inv_100", ".3f"),
    "rank_deviation_top100": ("rank_dev_100", ".3f"),
    "log_loss": ("log_loss", ".5f"),
    "brier": ("brier", ".5f"),
    "ndcg": ("ndcg", ".5f"),
}
#: Columns of the metrics of a part of the players, and of differences.
_PART = dict(METRICS[name] for name in ("pair_inversion", "rank_deviation", "log_loss", "brier"))
_BOUNDS = {"lower": ">", "upper": ">"}
_DIFFERENCE = {"first": "", "second": "", "metric": "", "difference": ">", **_BOUNDS, "that is": ""}


def _shown(answer: BacktestMessage) -> list[str]:
    """Return the metrics to show: those of the top 100 only if a match has more players."""
    one = answer.systems[0]
    same = one.pair_inversion_top100 == one.pair_inversion
    return [name for name in METRICS if not (same and name.endswith("top100"))]


def main_table(answer: BacktestMessage) -> Table:
    """Return one row for each system: its metrics, calibration error and seconds."""
    names = _shown(answer)
    columns = {"system": "", **dict(METRICS[name] for name in names)}
    rows = (
        (one.label, *(getattr(one, name) for name in names), one.calibration.error, one.seconds)
        for one in answer.systems
    )
    return table({**columns, "calibration": ".5f", "seconds": ".2f"}, rows)


def detail_tables(answer: BacktestMessage) -> Iterator[tuple[str, Table]]:
    """Yield the further tables that are not empty, each with its title."""
    share = (
        f"{100 * answer.scoring.confidence:g} % of {counted(answer.scoring.resamples, 'resample')}"
    )
    if answer.scoring.resamples:
        yield f"Intervals ({share})", _intervals(answer)
    if answer.differences:
        whom = answer.scoring.for_whom
        yield f"Differences for {whom}, first minus second ({share})", difference_table(answer)
        if any(group.differences for group in answer.groups):
            yield (
                f"Differences by earlier matches, first minus second ({share})",
                group_differences_table(answer),
            )
    yield "By earlier matches of the player", _slices(answer, "earlier")
    yield "By players or teams of the match", _slices(answer, "size")
    yield "Calibration", _calibration(answer)


def scoring_lines(answer: BacktestMessage) -> list[str]:
    """Return lines on what was scored and what was not."""
    from equipoise.data.backtest import LEAST_MATCHES

    scoring, scored = answer.scoring, answer.systems[0]
    lines = [
        f"scored {scored.matches:,} of {counted(answer.history.matches, 'match', 'matches')}, "
        f"{scored.participations:,} of "
        f"{counted(answer.history.participations, 'participation')}"
    ]
    if scoring.learned:
        learned = counted(scoring.learned, "match was", "matches were")
        lines.append(f"the first {learned} used only for learning")
    if scoring.min_total is not None:
        lines.append(
            f"players with fewer than {counted(scoring.min_total, 'match', 'matches')} in the "
            f"complete history are scored only in the table by earlier matches"
        )
    elif scoring.min_history:
        lines.append(
            "players with fewer than "
            f"{counted(scoring.min_history, 'earlier match', 'earlier matches')} are scored only "
            "in the table by earlier matches"
        )
    if scoring.resamples and scored.matches < LEAST_MATCHES:
        lines.append(
            f"fewer than {LEAST_MATCHES} matches are scored, too few for a verdict on differences"
        )
    if scoring.undecided:
        lines.append(
            f"{counted(scoring.undecided, 'match is', 'matches are')} left with one tie: only "
            "log_loss, brier and calibration count them"
        )
    return lines


def _intervals(answer: BacktestMessage) -> Table:
    rows = []
    for one in answer.systems:
        for name in _shown(answer):
            value, (column, form) = getattr(one, name), METRICS[name]
            if value is not None:
                bounds = (cell(bound, form) for bound in one.intervals[name])
                rows.append((one.label, column, cell(value, form), *bounds))
    return table({"system": "", "metric": "", "value": ">", **_BOUNDS}, rows)


def difference_table(answer: BacktestMessage) -> Table:
    """Return one row for each pair of systems and metric."""
    names = _shown(answer)
    rows = (row for one in answer.differences for row in _differences(one, names))
    return table(_DIFFERENCE, rows)


def group_differences_table(answer: BacktestMessage) -> Table:
    """Return one row for each group, pair of systems and metric."""
    rows = (
        (_span(group), *row)
        for group in answer.groups
        for one in group.differences
        for row in _differences(one, list(METRICS))
    )
    return table({"earlier": "", **_DIFFERENCE}, rows)


def _differences(one: DifferenceMessage, names: list[str]) -> Iterator[tuple[str, ...]]:
    """Yield one row for each metric that has a value."""
    for name in names:
        if one.metrics.get(name) is None:
            continue
        column, form = METRICS[name]
        signed = [
            cell(value, f"+{form}")
            for value in (one.metrics[name], *one.intervals.get(name, [None, None]))
        ]
        yield one.first, one.second, column, *signed, one.judgements[name]


def groups_table(answer: BacktestMessage) -> Table:
    """Return one row for each group and system."""
    rows = (
        (_span(group), group.participations, one.label, *_part(one))
        for group in answer.groups
        for one in group.systems
    )
    return table({"earlier": "", "participations": "d", "system": "", **_PART}, rows)


def _part(one: GroupScoresMessage | SliceMessage) -> tuple[float | None, ...]:
    return one.pair_inversion, one.rank_deviation, one.log_loss, one.brier


def _span(group: GroupMessage) -> str:
    """Return how many earlier matches the players of a group had."""
    if group.last is None:
        return f"{group.first} or more" if group.first else "all"
    return str(group.first) if group.first == group.last else f"{group.first} to {group.last}"


def _slices(answer: BacktestMessage, by: str) -> Table:
    """Return one row for each slice and system, the systems of a slice together."""
    parts = [(part, one.label) for one in answer.systems for part in one.slices if part.by == by]
    rows = (
        (part.first, part.last, part.participations, label, *_part(part))
        for part, label in sorted(parts, key=lambda found: found[0].first)
    )
    columns = {"from": "d", "to": "d", "participations": "d", "system": "", **_PART}
    return table(columns, rows)


def _calibration(answer: BacktestMessage) -> Table:
    columns = {"system": "", "from": ".1f", "to": ".1f", "participations": ".1f"}
    rows = (
        (one.label, part.low, part.high, part.participations, part.expected, part.observed)
        for one in answer.systems
        for part in one.calibration.bins
        if part.participations
    )
    return table({**columns, "expected": ".4f", "observed": ".4f"}, rows)
