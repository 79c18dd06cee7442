"""Reading the history that a command or a request names, and telling what was left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from equipoise.data.files import check_distinct
from equipoise.data.history import History
from equipoise.data.reading import HistoryReading
from equipoise.errors import InvalidDataError
from equipoise.formats import scan_history
from equipoise.formats.histories import summarise
from equipoise.messages.errors import ProblemMessage
from equipoise.messages.history import HistoryMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryRequest:
    """Which history to read, and how; the options of every command that reads one."""

    source: object
    format: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    statistics: Mapping[str, float] = field(default_factory=dict)
    skip_bad: Literal["matches", "rows"] | None = None
    since: str | None = None
    until: str | None = None
    where: Mapping[str, str] = field(default_factory=dict)


def read(request: HistoryRequest) -> tuple[History, HistoryReading]:
    """Return the history asked for, performances computed from its statistics.

    Raises : InvalidDataError, InvalidParameterError.
    """
    reading = scan_history(
        request.source,
        format=request.format,
        columns=request.columns,
        statistics=tuple(request.statistics),
        skip_bad=request.skip_bad,
        since=request.since,
        until=request.until,
        where=request.where,
    )
    if reading.history is None:
        raise InvalidDataError(reading.problems, summarise(reading.problems, request.source))
    return with_performance(reading.history, request.statistics), reading


def check_outputs(request: HistoryRequest, outputs: Mapping[str, str | None]) -> None:
    """Refuse outputs that would overwrite the history or one another.

    outputs : path by the name of the option
    Raises : InvalidParameterError
    """
    source = request.source if isinstance(request.source, str) else None
    check_distinct({"HISTORY": source, **outputs})


def with_performance(history: History, weights: Mapping[str, float]) -> History:
    """Return the history with performance = sum of weight x statistic [TG2] (5).

    A player without one of the statistics has no performance.
    """
    if not weights:
        return history
    total = np.zeros(history.participations)
    for name, weight in weights.items():
        total += weight * history.statistics[name]
    return replace(history, performance=total)


def history_message(history: History, reading: HistoryReading) -> HistoryMessage:
    """Return what was read and what was left out."""
    return HistoryMessage(
        matches=history.matches,
        participations=history.participations,
        players=history.players,
        unrated=reading.unrated,
        filtered=reading.filtered,
        dropped_matches=list(reading.dropped_matches),
        dropped_rows=reading.dropped_rows,
        problems=problems_of(reading),
        notes=list(reading.notes),
    )


def problems_of(reading: HistoryReading) -> list[ProblemMessage]:
    """Return what was wrong with what was left out."""
    return [
        ProblemMessage(found.file, found.line, found.field, found.rule, found.got)
        for found in reading.problems
    ]
