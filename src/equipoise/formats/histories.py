"""Reads histories: `read_history` refuses bad input, `scan_history` lists its problems.

`sources` opens a source, and the names of its columns show what it holds: a history, which
`long_table` builds, or games, which the modules of `games` turn into one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, get_args

from equipoise.arguments import checks_arguments
from equipoise.data.history import History, matches_played
from equipoise.errors import InvalidDataError, InvalidParameterError, Problem, require
from equipoise.formats.column_names import CANONICAL, KNOWN, MEANINGS
from equipoise.formats.conversions import (
    CROSS_TABLE,
    PGN,
    TRF,
    check_tags,
    history_of_games,
    wanted_tags,
)
from equipoise.formats.crosstable import may_be_cross_table, read_cross_table
from equipoise.formats.game_lists import history_of_pairs
from equipoise.formats.history_of_sides import history_of_sides
from equipoise.formats.joining import listed_files
from equipoise.formats.long_table import build_history
from equipoise.formats.meanings import (
    KINDS,
    Header,
    Kind,
    check_once,
    check_renamings,
    instead,
    join_clock_times,
    read_header,
    recognise,
    rule_for_players,
    with_joined_columns,
)
from equipoise.formats.names import Synonyms, describe_spellings, read_synonyms
from equipoise.formats.pgn import read_pgn
from equipoise.formats.sources import Holding, notes_of, open_games
from equipoise.formats.table import (
    Format,
    HistoryReading,
    Instant,
    Options,
    SkipBad,
    Table,
    Unplaced,
    Walkovers,
    Where,
    columns_in_words,
    refuse,
    refuse_options,
)
from equipoise.formats.times import check_bound, check_time_format
from equipoise.formats.trf import read_trf
from equipoise.wording import addressed, counted, printable

FORMS = (
    "must have the columns of a history (match, player, rank) or of games (white, black, result)"
)
#: With more problems than this, a report starts with a count of each rule.
LISTED_SINGLY = 20
#: The parameters of `scan_history` that are options.
OPTIONS = tuple(field.name for field in fields(Options) if field.name != "synonyms")


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
    walkovers: Walkovers = "keep",
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
      same player. Without it names are never merged; notes list names that may be one player
    walkovers : "keep" counts matches that nobody played as won; "drop" leaves them out, where a
      table that lists the winner and the loser says so in its score. Retirements always count
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
    options = check_options(locals())
    try:
        if synonyms is not None:
            options = replace(options, synonyms=read_synonyms(synonyms))
        reading = _read_matches(source, format, options, sheet)
    except InvalidDataError as error:
        return HistoryReading(history=None, problems=error.problems)
    if reading.history is None:
        return reading
    doubles = describe_spellings(reading.history.player_ids, matches_played(reading.history))
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
    walkovers: Walkovers = "keep",
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
    reading = scan_history(**locals())
    if reading.history is None:
        raise InvalidDataError(reading.problems, summarise(reading.problems, source, synonyms))
    return reading.history


def summarise(
    problems: Sequence[Problem], source: object = "", synonyms: Synonyms | None = None
) -> str:
    """Return the head of a report: the number of problems, and of each kind if there are many.

    synonyms : of the source; a report on nothing but them names their file
    """
    name = "the input"
    if synonyms is not None and {problem.file for problem in problems} == {str(synonyms)}:
        source = addressed(f"{synonyms} (--synonyms)")
    if isinstance(source, str | Path):
        name = printable(str(source))
    elif isinstance(source, list | tuple):
        name = printable(listed_files([str(path) for path in source]))
    head = f"{counted(len(problems), 'problem')} in {name}"
    if len(problems) <= LISTED_SINGLY:
        return head
    kinds = Counter((problem.field, problem.rule) for problem in problems)
    listed = [
        printable(f"{count:,} x {': '.join(part for part in kind if part)}")
        for kind, count in kinds.most_common()
    ]
    return f"{head} ({'; '.join(listed)})"


def check_options(parameters: Mapping[str, Any]) -> Options:
    """Return the options among the parameters of a reader, or raise InvalidParameterError."""
    given = {name: parameters[name] for name in OPTIONS if name in parameters}
    for name in given["statistics"]:
        rule = "names of columns without another meaning"
        require(name not in CANONICAL and bool(name), "statistics", rule, name)
    columns = dict(given["columns"] or {})
    for pair in columns.items():
        require(all(pair), "columns", "a mapping of new to old names", pair)
    time_format = given["time_format"]
    if time_format is not None:
        time_format = check_time_format(time_format)
    for option, name in (("--from", "since"), ("--until", "until")):
        if given[name] is not None:
            check_bound(given[name], addressed(option), time_format)
    checked = {
        "columns": columns,
        "statistics": tuple(dict.fromkeys(given["statistics"])),
        "time_format": time_format,
        "where": _pairs(given["where"] or ()),
    }
    return Options(**(given | checked))


def _pairs(where: Where) -> tuple[tuple[str, object], ...]:
    rule = "a mapping or pairs of column and value"
    pairs = where.items() if isinstance(where, Mapping) else where
    try:
        wanted = tuple((column, value) for column, value in pairs)
    except (TypeError, ValueError) as error:
        raise InvalidParameterError(f"where must be {rule}; got {where!r}") from error
    require(all(isinstance(column, str) for column, _ in wanted), "where", rule, where)
    return wanted


def check_sheet(sheet: str | int | None) -> None:
    """Check the name or number of a sheet. Raises : InvalidParameterError."""
    if sheet is None or (isinstance(sheet, str) and sheet):
        return
    if not isinstance(sheet, int) or isinstance(sheet, bool) or sheet < 1:
        raise InvalidParameterError(
            f"sheet (--sheet) must be the name of a sheet, or its number from 1; got {sheet!r}"
        )


def _read_matches(
    source: object, format: str | None, options: Options, sheet: str | int | None
) -> HistoryReading:
    """Return the history of any source of matches or of games, and all of its problems.

    Raises : InvalidParameterError   the kind of source is unclear, or options do not suit it
    Raises : InvalidDataError        it does not have this format, or cannot be read
    """
    known = (*get_args(Format), *get_args(Holding))
    if format is not None and format not in known:
        raise InvalidParameterError(f"format must be one of {', '.join(known)}; got {format!r}")
    # Every one of several files has the columns that the options name.
    parts = [part for name in options.columns.values() for part in (name, *name.split(","))]
    needed = [*parts, *options.statistics]
    opened = open_games(source, format, sheet, needed)
    if not isinstance(opened, Table):
        name = opened[0].name if len(opened) == 1 else ""
        if opened[0].format == "pgn":
            tags = tuple(dict.fromkeys(check_tags(options).values()))
            games = read_pgn(opened, where=wanted_tags(options), dated=True, tags=tags)
            return history_of_games(games, PGN, name, replace(options, where=()), notes_of(opened))
        refuse_options(_without_selection(options), "a report in TRF")
        games = read_trf(opened[0].content(), opened[0].name)
        return history_of_games(games, TRF, name, options, notes_of(opened))
    table = join_clock_times(opened, options)
    kind = KINDS.get(format or "")
    flat = with_joined_columns(table.flat(), options.columns)
    header = read_header(flat.frame.columns, options.columns)
    if format == "crosstable" or (
        kind is None and not header.is_complete and may_be_cross_table(table)
    ):
        refuse_options(_without_selection(options), "a cross table")
        return history_of_games(read_cross_table(table), CROSS_TABLE, table.name, options)
    return _history_of_table(flat, header, options, kind)


def _without_selection(options: Options) -> Options:
    """Return the options that only tables have."""
    return replace(options, since=None, until=None, where=())


def _history_of_table(
    table: Table, header: Header, options: Options, kind: Kind | None
) -> HistoryReading:
    """Return the history of a table of any kind, and all of its problems.

    kind : of the table; None detects it from the header
    Raises : InvalidDataError        it is no history, or has no rows
    Raises : InvalidParameterError   the options do not suit the table
    """
    frame, renamed = table.frame, options.columns
    check_renamings(frame, renamed, (*KNOWN, *MEANINGS))
    if kind == "history":
        return build_history(table, options)
    sides, pairs = header.games, header.pairs
    paired = kind == "pairs" or (bool(sides.missing) and not pairs.missing)
    if kind is None and not header.history.missing:
        reading = build_history(table, options)
        if sides.missing:
            return reading
        others = ", ".join(sides.columns[side] for side in ("white", "black"))
        note = f"read by match and player, as a history; the columns {others} decide nothing"
        return replace(reading, notes=(note, *reading.notes))
    if paired and not pairs.missing and len(frame):
        return history_of_pairs(table, pairs, options)
    if sides.missing:
        players = rule_for_players(frame.columns, renamed)
        if players is not None:
            refuse(table.name, players, f"columns {', '.join(frame.columns)}")
        # A table that is nearly a history is told column by column what it lacks.
        recognition = recognise(frame, options)
        nearly = len(recognition.missing) < 2 or {"match", "player"} & {*renamed, *frame.columns}
        if not frame.width or not recognition.missing or (nearly and len(sides.missing) > 1):
            return build_history(table, options)
        has_side = {"white", "black"} & {*sides.columns}
        missing = "no match, no player"
        if has_side and len(sides.missing) < 3:
            missing = ", ".join(f"no {side}" for side in sides.missing)
        got = f"{missing}, but {columns_in_words(frame.columns)}"
        refuse(table.name, FORMS, got + (instead(sides, frame.columns) if has_side else ""))
    if "white_score" in sides.columns:
        # Scores decide, so points are a column like any other.
        meant = {meaning: name for meaning, name in sides.columns.items() if meaning != "points"}
        sides = replace(sides, columns=meant)
    check_once(sides, table, renamed)
    if not len(frame):
        refuse(table.name, "must have at least one row", "none")
    return history_of_sides(table, sides, options)
