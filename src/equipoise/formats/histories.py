"""The two ways to read a history: refuse it if anything is wrong, or look at what is wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from equipoise.data.history import History
from equipoise.data.reading import HistoryReading
from equipoise.errors import InvalidDataError, Problem
from equipoise.formats.long_table import build_history
from equipoise.formats.options import Instant, SkipBad, Where, check_options
from equipoise.formats.sources import open_source

#: With more problems than this, a report starts with their number by rule.
LISTED_SINGLY = 20


def scan_history(
    source: object,
    *,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    statistics: Sequence[str] = (),
    skip_bad: SkipBad | None = None,
    since: Instant | None = None,
    until: Instant | None = None,
    where: Where | None = None,
) -> HistoryReading:
    """Return a history and everything that is wrong with its source.

    source : path of a file or directory, "-" or a stream (with `format`), a Polars, pandas or
        Arrow table, or a mapping of column name to array
    format : how the source is written, where its name does not tell
    columns : canonical name -> name in the source
    statistics : columns that must be numbers and become `History.statistics`
    skip_bad : "matches" drops every match with a bad row, "rows" only the bad rows of matches
        that are valid without them
    since, until : keep matches in [since, until): ISO 8601 text, a date or seconds since 1970
    where : keep matches on whose rows a column has a value
    Returns : HistoryReading         its `history` is None if problems forbid it
    Raises : InvalidParameterError   wrong usage; bad content never raises
    """
    options = check_options(columns, statistics, skip_bad, since, until, where)
    try:
        return build_history(open_source(source, format), options)
    except InvalidDataError as error:
        return HistoryReading(history=None, problems=error.problems)


def read_history(
    source: object,
    *,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    statistics: Sequence[str] = (),
    skip_bad: SkipBad | None = None,
    since: Instant | None = None,
    until: Instant | None = None,
    where: Where | None = None,
) -> History:
    """Return the history that a source holds; the parameters are those of `scan_history`.

    Raises : InvalidDataError        anything is wrong that is not skipped; lists all of it
    Raises : InvalidParameterError   wrong usage
    """
    reading = scan_history(
        source,
        format=format,
        columns=columns,
        statistics=statistics,
        skip_bad=skip_bad,
        since=since,
        until=until,
        where=where,
    )
    if reading.history is None:
        raise InvalidDataError(reading.problems, summarise(reading.problems, source))
    return reading.history


def summarise(problems: Sequence[Problem], source: object = "") -> str:
    """Return the head of a report: how many problems there are, and of which kind if many."""
    name = str(source) if isinstance(source, str | Path) else "the input"
    head = f"{len(problems)} problem{'' if len(problems) == 1 else 's'} in {name}"
    if len(problems) <= LISTED_SINGLY:
        return head
    kinds = Counter((problem.field, problem.rule) for problem in problems)
    listed = [
        f"{count} x {': '.join(part for part in kind if part)}"
        for kind, count in kinds.most_common()
    ]
    return f"{head} ({'; '.join(listed)})"
