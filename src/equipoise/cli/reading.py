"""Which history a command reads, from its options, and what is said of it afterwards."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from equipoise.cli.options import skip_bad_choice

if TYPE_CHECKING:
    from equipoise.messages.history import HistoryMessage
    from equipoise.messages.rating import RateSummary
    from equipoise.workflows.reading import HistoryRequest
    from equipoise.workflows.settings import Settings

#: Problems shown before the rest is only counted.
SHOWN = 20


def history_request(
    source: str,
    settings: Settings,
    *,
    format_: str | None,
    column: Sequence[str] | None,
    stat: Sequence[str] | None,
    skip_bad: str | None,
    where: Sequence[str] | None,
    since: str | None = None,
    until: str | None = None,
) -> HistoryRequest:
    """Return what the options of a command say of the history to read.

    settings : of the parameter file; `--stat` wins over its weights
    Raises : InvalidParameterError
    """
    from equipoise.workflows.reading import HistoryRequest
    from equipoise.workflows.settings import assignments, numbers

    weights = numbers(assignments(stat or [], "--stat"), "--stat")
    return HistoryRequest(
        source=sys.stdin.buffer if source == "-" else source,
        format=format_,
        columns=assignments(column or [], "--column"),
        statistics={**settings.statistics, **weights},
        skip_bad=skip_bad_choice(skip_bad),
        since=since,
        until=until,
        where=assignments(where or [], "--where"),
    )


def reading_lines(history: HistoryMessage | RateSummary) -> list[str]:
    """Return everything that was left out, and why."""
    left_out = (
        (history.unrated, "matches are marked as not rated"),
        (history.filtered, "matches were filtered out"),
        (len(history.dropped_matches), "bad matches were dropped"),
        (history.dropped_rows, "bad rows were dropped from matches that stayed"),
    )
    lines = [f"{count:,} {what}" for count, what in left_out if count]
    lines += [
        f"  {found.file}, line {found.line}, {found.field}: {found.rule}; got {found.got}"
        for found in history.problems[:SHOWN]
    ]
    if len(history.problems) > SHOWN:
        lines.append(f"  ... and {len(history.problems) - SHOWN:,} more problems")
    return [*lines, *history.notes]
