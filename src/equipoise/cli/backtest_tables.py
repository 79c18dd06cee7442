"""The tables of a backtest, as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

from equipoise.wording import counted

if TYPE_CHECKING:
    from equipoise.messages.backtest import BacktestMessage, DifferenceMessage, GroupMessage

#: Columns, rows, and which columns are numbers.
Table: TypeAlias = tuple[Sequence[str], Sequence[Sequence[str]], set[str]]
TitledTable: TypeAlias = tuple[str, Sequence[str], Sequence[Sequence[str]], set[str]]

#: Title of the table of groups.
BY_EXPERIENCE = "By earlier matches of the less experienced of each pair"
#: (metric, its column, digits behind the point)
_METRICS = (
    ("pair_inversion", "pair_inv", 3),
    ("rank_deviation", "rank_dev", 3),
    ("pair_inversion_top100", "pair_inv_100", 3),
    ("rank_deviation_top100", "rank_dev_100", 3),
    ("log_loss", "log_loss", 5),
    ("brier", "brier", 5),
    ("ndcg", "ndcg", 5),
)


def _shown(answer: BacktestMessage) -> list[tuple[str, str, int]]:
    """Return the metrics worth a column: those of the top only where matches are larger."""
    one = answer.systems[0]
    same = one.pair_inversion_top100 == one.pair_inversion
    return [shown for shown in _METRICS if not (same and shown[0].endswith("top100"))]


def main_table(answer: BacktestMessage) -> Table:
    """Return a row a system: its metrics, calibration error and seconds."""
    metrics = _shown(answer)
    columns = ["system", *(column for _, column, _ in metrics), "calibration", "seconds"]
    rows = [
        [
            one.label,
            *(_number(getattr(one, metric), digits) for metric, _, digits in metrics),
            _number(one.calibration.error, 5),
            _number(one.seconds, 2),
        ]
        for one in answer.systems
    ]
    return columns, rows, set(columns[1:])


def detail_tables(answer: BacktestMessage) -> Iterator[TitledTable]:
    """Yield the tables below it, those that have anything to say."""
    share = (
        f"{100 * answer.scoring.confidence:g} % of {counted(answer.scoring.resamples, 'resample')}"
    )
    if answer.scoring.resamples:
        yield f"Intervals ({share})", *_intervals(answer)
    if answer.differences:
        whom = answer.scoring.for_whom
        yield f"Differences for {whom}, first less second ({share})", *difference_table(answer)
        if any(group.differences for group in answer.groups):
            yield (
                f"Differences by earlier matches, first less second ({share})",
                *group_differences_table(answer),
            )
    yield "By earlier matches of the player", *_slices(answer, "earlier")
    yield "By players or teams of the match", *_slices(answer, "size")
    yield "Calibration", *_calibration(answer)


def scoring_lines(answer: BacktestMessage) -> list[str]:
    """Return what was scored, and what was not."""
    scoring, scored = answer.scoring, answer.systems[0]
    lines = [
        f"scored {scored.matches:,} of {counted(answer.history.matches, 'match', 'matches')}, "
        f"{scored.participations:,} of "
        f"{counted(answer.history.participations, 'participation')}"
    ]
    if scoring.learned:
        learned = counted(scoring.learned, "match was", "matches were")
        lines.append(f"the first {learned} only learned from")
    if scoring.min_total is not None:
        lines.append(
            f"players with fewer than {counted(scoring.min_total, 'match', 'matches')} in the "
            "whole history are scored only in the table by earlier matches"
        )
    elif scoring.min_history:
        lines.append(
            "players with fewer than "
            f"{counted(scoring.min_history, 'earlier match', 'earlier matches')} are scored only "
            "in the table by earlier matches"
        )
    if scoring.undecided:
        lines.append(
            f"{counted(scoring.undecided, 'match is', 'matches are')} left with one tie: only "
            "log_loss, brier and calibration count them"
        )
    return lines


def _intervals(answer: BacktestMessage) -> Table:
    columns = ["system", "metric", "value", "lower", "upper"]
    rows = [
        [
            one.label,
            column,
            _number(getattr(one, metric), digits),
            *(_number(bound, digits) for bound in one.intervals[metric]),
        ]
        for one in answer.systems
        for metric, column, digits in _shown(answer)
        if getattr(one, metric) is not None
    ]
    return columns, rows, {"value", "lower", "upper"}


def difference_table(answer: BacktestMessage) -> Table:
    """Return a row for every pair of systems and metric."""
    rows = [
        _difference(one, metric, column, digits)
        for one in answer.differences
        for metric, column, digits in _shown(answer)
        if one.metrics[metric] is not None
    ]
    return _DIFFERENCE, rows, _NUMBERS


def group_differences_table(answer: BacktestMessage) -> Table:
    """Return a row for every group, pair of systems and metric."""
    rows = [
        [_span(group), *_difference(one, metric, column, digits)]
        for group in answer.groups
        for one in group.differences
        for metric, column, digits in _METRICS
        if one.metrics.get(metric) is not None
    ]
    return ["earlier", *_DIFFERENCE], rows, _NUMBERS


_DIFFERENCE = ["first", "second", "metric", "difference", "lower", "upper", "that is"]
_NUMBERS = {"difference", "lower", "upper"}


def _difference(one: DifferenceMessage, metric: str, column: str, digits: int) -> list[str]:
    bounds = one.intervals.get(metric, [None, None])
    return [
        one.first,
        one.second,
        column,
        _signed(one.metrics[metric], digits),
        *(_signed(bound, digits) for bound in bounds),
        one.judgements[metric],
    ]


def groups_table(answer: BacktestMessage) -> Table:
    """Return a row for every group and system."""
    columns = ["earlier", "participations", "system", "pair_inv", "rank_dev", "log_loss", "brier"]
    rows = [
        [
            _span(group),
            f"{group.participations}",
            one.label,
            _number(one.pair_inversion, 3),
            _number(one.rank_deviation, 3),
            _number(one.log_loss, 5),
            _number(one.brier, 5),
        ]
        for group in answer.groups
        for one in group.systems
    ]
    return columns, rows, set(columns) - {"earlier", "system"}


def _span(group: GroupMessage) -> str:
    """Return in few letters how many earlier matches a group had."""
    if group.last is None:
        return f"{group.first} or more" if group.first else "all"
    return str(group.first) if group.first == group.last else f"{group.first} to {group.last}"


def _slices(answer: BacktestMessage, by: str) -> Table:
    columns = ["from", "to", "participations", "system", "pair_inv", "rank_dev"]
    columns += ["log_loss", "brier"]
    parts = [
        (part.first, number, one.label, part)
        for number, one in enumerate(answer.systems)
        for part in one.slices
        if part.by == by
    ]
    rows = [
        [
            str(part.first),
            "" if part.last is None else str(part.last),
            str(part.participations),
            label,
            _number(part.pair_inversion, 3),
            _number(part.rank_deviation, 3),
            _number(part.log_loss, 5),
            _number(part.brier, 5),
        ]
        for _, _, label, part in sorted(parts, key=lambda found: found[:2])
    ]
    return columns, rows, set(columns) - {"system"}


def _calibration(answer: BacktestMessage) -> Table:
    columns = ["system", "from", "to", "participations", "expected", "observed"]
    rows = [
        [
            one.label,
            f"{part.low:.1f}",
            f"{part.high:.1f}",
            f"{part.participations:.1f}",
            _number(part.expected, 4),
            _number(part.observed, 4),
        ]
        for one in answer.systems
        for part in one.calibration.bins
        if part.participations
    ]
    return columns, rows, set(columns[1:])


def _number(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def _signed(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:+.{digits}f}"
