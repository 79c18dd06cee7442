"""The two ways to read games: refuse them if anything is wrong, or look at what is wrong."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import get_args

from equipoise.arguments import checks_arguments
from equipoise.data.games import Games
from equipoise.data.reading import GamesReading
from equipoise.errors import InvalidDataError, require
from equipoise.formats.game_assembly import assemble_games
from equipoise.formats.game_sources import Content, read_columns
from equipoise.formats.histories import summarise
from equipoise.formats.options import Instant, Where, check_options
from equipoise.formats.sources import Format
from equipoise.formats.synonyms import Synonyms, read_synonyms


@checks_arguments()
def scan_games(
    source: object,
    *,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    where: Where | None = None,
    since: Instant | None = None,
    until: Instant | None = None,
    time_format: str | None = None,
    synonyms: Synonyms | None = None,
    skip_bad: bool = False,
) -> GamesReading:
    """Return the games of a source, what was left out, and everything that is wrong with it.

    source : path of a file or directory, "-" or a stream (with `format`), a Polars, pandas or
        Arrow table, or a mapping of column name to array
    format : what the source holds ("pgn", "trf", "games", "pairs", "crosstable", "history") or how
        its table is stored ("csv", "parquet", ...), where its name does not tell
    columns : name of a column of games -> name in the source; of tables only
    where : keep games of which a column, or a tag of PGN, has a value
    since, until : keep games of a table with times in [since, until): ISO 8601 text, a date, or
        as its times are written
    time_format : how these times are written: "iso", "s", "ms", "us", "excel" or a pattern of
        strptime; None: as the column tells, if it reads in one way
    synonyms : file (.csv with name and same_as, or .json), or mapping, of names to the name of
        the same player
    skip_bad : leave out games, rows and cells that break a rule; they are counted and listed. A
        player's rating that cannot be read counts as none. What concerns a whole file is never
        skipped
    Returns : GamesReading           its `games` is None if problems forbid it
    Raises : InvalidParameterError   wrong usage; bad content never raises
    """
    options = check_options(
        columns, (), "matches" if skip_bad else None, since, until, where, time_format
    )
    known = (*get_args(Content), *get_args(Format))
    require(format is None or format in known, "format", f"one of {', '.join(known)}", format)
    try:
        names = None if synonyms is None else read_synonyms(synonyms)
        found = read_columns(source, format, options)
    except InvalidDataError as error:
        return GamesReading(games=None, problems=error.problems)
    is_path = isinstance(source, str | os.PathLike) and str(source) != "-"
    return assemble_games(found, str(source) if is_path else "", names, skip_bad=skip_bad)


@checks_arguments()
def read_games(
    source: object,
    *,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    where: Where | None = None,
    since: Instant | None = None,
    until: Instant | None = None,
    time_format: str | None = None,
    synonyms: Synonyms | None = None,
    skip_bad: bool = False,
) -> Games:
    """Return the games that a source holds; the parameters are those of `scan_games`.

    Raises : InvalidDataError        anything is wrong; lists all of it
    Raises : InvalidParameterError   wrong usage
    """
    reading = scan_games(
        source,
        format=format,
        columns=columns,
        where=where,
        since=since,
        until=until,
        time_format=time_format,
        synonyms=synonyms,
        skip_bad=skip_bad,
    )
    if reading.games is None:
        raise InvalidDataError(reading.problems, summarise(reading.problems, source))
    return reading.games
