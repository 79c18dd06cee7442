"""What is said of a history that a command has read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from equipoise.errors import Problem
from equipoise.wording import counted

if TYPE_CHECKING:
    from equipoise.messages.errors import ProblemMessage
    from equipoise.messages.history import HistoryMessage
    from equipoise.messages.rating import RateSummary

#: Problems shown before the rest is only counted.
SHOWN = 20


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
