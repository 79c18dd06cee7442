"""Which history a command reads, from its options, and what is said of it afterwards."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from equipoise.cli.options import skip_bad_choice
from equipoise.errors import Problem
from equipoise.wording import counted

if TYPE_CHECKING:
    from equipoise.messages.errors import ProblemMessage
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
    synonyms: str | None,
    since: str | None = None,
    until: str | None = None,
    lower_score_is_better: bool = False,
    strict: bool = False,
    time_format: str | None = None,
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
        time_format=time_format,
        where=assignments(where or [], "--where"),
        lower_score_is_better=lower_score_is_better,
        synonyms=synonyms,
        strict=strict,
    )


def reading_lines(history: HistoryMessage | RateSummary) -> list[str]:
    """Return everything that was left out, and why."""
    left_out = (
        (history.unrated, "match is marked as not rated", "matches are marked as not rated"),
        (history.filtered, "match was filtered out", "matches were filtered out"),
        (len(history.dropped_matches), "bad match was dropped", "bad matches were dropped"),
        (
            history.dropped_rows,
            "bad row was dropped from a match that stayed",
            "bad rows were dropped from matches that stayed",
        ),
    )
    lines = [counted(count, *what) for count, *what in left_out if count]
    return [*lines, *problem_lines(history.problems), *history.notes]


def problem_lines(problems: Sequence[Problem | ProblemMessage]) -> list[str]:
    """Return problems that were skipped on request, a line each, and how many more there are."""
    lines = [
        f"  {Problem(found.file, found.line, found.field, found.rule, found.got)}"
        for found in problems[:SHOWN]
    ]
    if len(problems) > SHOWN:
        lines.append(f"  ... and {counted(len(problems) - SHOWN, 'more problem')}")
    return lines
