"""Reads histories: `read_history` refuses bad input, `scan_history` lists its problems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from equipoise.arguments import checks_arguments
from equipoise.data.history import History
from equipoise.data.reading import HistoryReading
from equipoise.errors import InvalidDataError, Problem
from equipoise.formats.games.sources import read_matches
from equipoise.formats.likely_doubles import describe_spellings
from equipoise.formats.opening.naming import listed_files
from equipoise.formats.options import Instant, SkipBad, Unplaced, Where, check_options, check_sheet
from equipoise.formats.synonyms import Synonyms, read_synonyms
from equipoise.wording import counted, printable

#: With more problems than this, a report starts with a count of each rule.
LISTED_SINGLY = 20


@checks_arguments()
def scan_history(
    source: object,
    *,
    format: str | None = None,
    sheet: str | int | None = None,
    columns: Mapping[str, str] | None = None,
    statistics: Sequence[str] = (),
    skip_bad: SkipBad | None = None,
    since: Instant | None = None,
    until: Instant | None = None,
    time_format: str | None = None,
    where: Where | None = None,
    lower_score_is_better: bool = False,
    unplaced: Unplaced | None = None,
    synonyms: Synonyms | None = None,
) -> HistoryReading:
    """Return a history and all problems of its source.

    source : path of a file, folder or archive, pattern of paths (``2024-*.csv``), address
        (https://, s3://, gs://), "-" or a stream, bytes, or a list of these; or a Polars, pandas or
        Arrow table, or a mapping of column name to array
    format : format of the source, if neither its name nor its content shows it
    sheet : name or number, from 1, of the sheet of a workbook, if several have a table
    columns : canonical name -> name in the source
    statistics : columns that must be numbers and become `History.statistics`
    skip_bad : "matches" drops every match with a bad row, "rows" only the bad rows of matches
        that are valid without them
    since, until : keep matches in [since, until): ISO 8601 text, a date, or in the format of `time`
    time_format : format of the times: "iso", "s", "ms", "us", "excel" or a pattern of strptime;
      None detects it if only one fits
    where : keep matches in which a column has a value on all rows
    lower_score_is_better : the lowest score is first, if the column `score` decides the places. It
      does so without `rank` and `winner`, unless `statistics` names it
    unplaced : "last" gives players without a place (a rank such as DNF, NC or DSQ) the place after
      the last of their match, which they share; None refuses them
    synonyms : file (.csv with name and same_as, or .json) or mapping from a name to the name of the
      same player. Without it names are never merged; notes list names that differ only in white
      space, case or Unicode form
    Returns : HistoryReading         its `history` is None if problems prevent it
    Raises : InvalidParameterError   wrong usage; bad content does not raise

    Examples
    --------
    >>> reading = eq.scan_history({"match": [1, 1], "player": ["ann", "ann"], "rank": [1, 2]})
    >>> reading.history is None
    True
    >>> reading.problems[0].field
    'player'
    """
    check_sheet(sheet)
    options = check_options(
        columns,
        statistics,
        skip_bad,
        since,
        until,
        where,
        time_format,
        lower_score_is_better,
        unplaced,
    )
    try:
        if synonyms is not None:
            options = replace(options, synonyms=read_synonyms(synonyms))
        reading = read_matches(source, format, options, sheet)
    except InvalidDataError as error:
        return HistoryReading(history=None, problems=error.problems)
    if reading.history is None:
        return reading
    doubles = describe_spellings(reading.history.player_ids)
    return replace(reading, notes=(*reading.notes, *doubles)) if doubles else reading


@checks_arguments()
def read_history(
    source: object,
    *,
    format: str | None = None,
    sheet: str | int | None = None,
    columns: Mapping[str, str] | None = None,
    statistics: Sequence[str] = (),
    skip_bad: SkipBad | None = None,
    since: Instant | None = None,
    until: Instant | None = None,
    time_format: str | None = None,
    where: Where | None = None,
    lower_score_is_better: bool = False,
    unplaced: Unplaced | None = None,
    synonyms: Synonyms | None = None,
) -> History:
    """Return the history of a source; the parameters are those of `scan_history`.

    Raises : InvalidDataError        there are problems that are not skipped; lists all of them
    Raises : InvalidParameterError   wrong usage

    Examples
    --------
    >>> duels = eq.read_history({
    ...     "match": [1, 1, 2, 2], "player": ["ann", "ben", "ben", "cid"], "rank": [1, 2, 1, 2],
    ... })
    >>> duels
    <History: 2 matches of 3 players>
    >>> eq.read_history("examples/contests.csv")
    <History: 40 matches of 120 players, 2020-01-01 to 2020-09-30>
    """
    reading = scan_history(
        source,
        format=format,
        sheet=sheet,
        columns=columns,
        statistics=statistics,
        skip_bad=skip_bad,
        since=since,
        until=until,
        time_format=time_format,
        where=where,
        lower_score_is_better=lower_score_is_better,
        unplaced=unplaced,
        synonyms=synonyms,
    )
    if reading.history is None:
        raise InvalidDataError(reading.problems, summarise(reading.problems, source))
    return reading.history


def summarise(problems: Sequence[Problem], source: object = "") -> str:
    """Return the head of a report: the number of problems, and of each kind if there are many."""
    name = "the input"
    if isinstance(source, str | Path):
        name = printable(str(source))
    elif isinstance(source, list | tuple):
        name = printable(listed_files([str(one) for one in source]))
    head = f"{counted(len(problems), 'problem')} in {name}"
    if len(problems) <= LISTED_SINGLY:
        return head
    kinds = Counter((problem.field, problem.rule) for problem in problems)
    listed = [
        printable(f"{count:,} x {': '.join(part for part in kind if part)}")
        for kind, count in kinds.most_common()
    ]
    return f"{head} ({'; '.join(listed)})"
