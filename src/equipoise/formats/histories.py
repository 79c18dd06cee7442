"""Read histories: `read_history` refuses bad input, `scan_history` lists what is wrong with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from equipoise.arguments import checks_arguments
from equipoise.data.history import History
from equipoise.data.reading import HistoryReading
from equipoise.errors import InvalidDataError, Problem
from equipoise.formats.likely_doubles import describe_spellings
from equipoise.formats.options import Instant, SkipBad, Where, check_options
from equipoise.formats.sources import open_source
from equipoise.formats.synonyms import Synonyms, read_synonyms
from equipoise.formats.tables.long_table import build_history
from equipoise.wording import counted, printable

#: With more problems than this, a report starts with their number by rule.
LISTED_SINGLY = 20


@checks_arguments("skip_bad")
def scan_history(
    source: object,
    *,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    statistics: Sequence[str] = (),
    skip_bad: SkipBad | None = None,
    since: Instant | None = None,
    until: Instant | None = None,
    time_format: str | None = None,
    where: Where | None = None,
    lower_score_is_better: bool = False,
    synonyms: Synonyms | None = None,
) -> HistoryReading:
    """Return a history and everything that is wrong with its source.

    source : path of a file or directory, "-" or a stream (with `format`), a Polars, pandas or
        Arrow table, or a mapping of column name to array
    format : how the source is written, where its name does not tell
    columns : canonical name -> name in the source
    statistics : columns that must be numbers and become `History.statistics`
    skip_bad : "matches" drops every match with a bad row, "rows" only the bad rows of matches
        that are valid without them
    since, until : keep matches in [since, until): ISO 8601 text, a date, or as `time` is written
    time_format : how the times are written: "iso", "s", "ms", "us", "excel" or a pattern of
        strptime; None: as the column tells, if it reads in one way
    where : keep matches on whose rows a column has a value
    lower_score_is_better : where the column `score` decides the places, as it does without `rank`
        and `winner` unless `statistics` names it, the lowest score is first, not the highest
    synonyms : file (.csv with name and same_as, or .json), or mapping, of names to the name of
        the same player. Without it names are never merged; those that differ only in white space,
        case or Unicode form are pointed out in the notes
    Returns : HistoryReading         its `history` is None if problems forbid it
    Raises : InvalidParameterError   wrong usage; bad content never raises
    """
    options = check_options(
        columns, statistics, skip_bad, since, until, where, time_format, lower_score_is_better
    )
    try:
        if synonyms is not None:
            options = replace(options, synonyms=read_synonyms(synonyms))
        reading = build_history(open_source(source, format), options)
    except InvalidDataError as error:
        return HistoryReading(history=None, problems=error.problems)
    if reading.history is None:
        return reading
    doubles = describe_spellings(reading.history.player_ids)
    return replace(reading, notes=(*reading.notes, *doubles)) if doubles else reading


@checks_arguments("skip_bad")
def read_history(
    source: object,
    *,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    statistics: Sequence[str] = (),
    skip_bad: SkipBad | None = None,
    since: Instant | None = None,
    until: Instant | None = None,
    time_format: str | None = None,
    where: Where | None = None,
    lower_score_is_better: bool = False,
    synonyms: Synonyms | None = None,
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
        time_format=time_format,
        where=where,
        lower_score_is_better=lower_score_is_better,
        synonyms=synonyms,
    )
    if reading.history is None:
        raise InvalidDataError(reading.problems, summarise(reading.problems, source))
    return reading.history


def summarise(problems: Sequence[Problem], source: object = "") -> str:
    """Return the head of a report: how many problems there are, and of which kind if many."""
    name = printable(str(source)) if isinstance(source, str | Path) else "the input"
    head = f"{counted(len(problems), 'problem')} in {name}"
    if len(problems) <= LISTED_SINGLY:
        return head
    kinds = Counter((problem.field, problem.rule) for problem in problems)
    listed = [
        printable(f"{count:,} x {': '.join(part for part in kind if part)}")
        for kind, count in kinds.most_common()
    ]
    return f"{head} ({'; '.join(listed)})"
