"""Chooses the reader for a source of games.

`opening` says how the files of a source are stored. The columns of a table show what it contains,
however it is stored.
"""

from __future__ import annotations

import io
import os
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Literal, NoReturn, TypeAlias, get_args
from urllib.parse import urlsplit

import polars as pl

from equipoise.data.reading import HistoryReading
from equipoise.errors import InvalidDataError, InvalidParameterError
from equipoise.formats.games.as_matches import build_matches, is_matches
from equipoise.formats.games.columns import GameColumns
from equipoise.formats.games.crosstable import PLAYERS, looks_like_cross_table, read_cross_table
from equipoise.formats.games.duels import read_duels
from equipoise.formats.games.history_of_games import (
    CROSS_TABLE,
    PGN,
    TRF,
    check_tags,
    matches_of_games,
    select_dates,
)
from equipoise.formats.games.layout import Kind, find_layout, rule_for_players
from equipoise.formats.games.lists import read_game_list, read_pair_table
from equipoise.formats.opening.contents import Content, contents_of, is_source
from equipoise.formats.opening.kinds import CONTEST_FORMATS, WORDS, Format, format_of, is_address
from equipoise.formats.options import Options
from equipoise.formats.pgn.games import read_pgn_documents
from equipoise.formats.pgn.text import Open, documents_in, documents_of
from equipoise.formats.sources import open_source, table_of
from equipoise.formats.table import Table, refuse
from equipoise.formats.tables.clock_times import join_clock_times
from equipoise.formats.tables.columns import text_of
from equipoise.formats.tables.recognised import spelling
from equipoise.formats.trf import read_trf

#: Formats that can only contain a history of matches.
_CONTESTS = tuple(one for one in CONTEST_FORMATS if one != "json")
_KINDS: dict[str, Kind] = {one: one for one in get_args(Kind)}
#: Types that CSV cannot represent, in addition to lists and similar types.
_NO_TEXT = (pl.Binary, pl.Object, pl.Duration)
#: Rows of the largest cross table that is recognised.
_LARGEST = 5_000


def _games_of_table(table: Table, format: str | None, options: Options) -> GameColumns:
    """Return the games of a table, with the reader that its columns need.

    format : what it contains ("games", "pairs", "crosstable", "history"), or how it is stored
    Raises : InvalidParameterError   columns fit several kinds, or the options do not suit
    Raises : InvalidDataError        columns fit no kind
    """
    table = join_clock_times(table, options)
    if format == "crosstable":
        return _read_cross_table(table, options)
    if format == "history" or format in _CONTESTS:
        return read_duels(table, options)
    try:
        layout = find_layout(table, options, _KINDS.get(format or ""))
    except InvalidDataError:
        if format not in _KINDS and _looks_like_cross_table(table):
            return _read_cross_table(table, options)
        players = rule_for_players(table.frame.columns, options.columns)
        if players is not None and format not in _KINDS:
            refuse(table.name, players, f"columns {', '.join(table.frame.columns)}")
        raise
    if not len(table.frame):
        refuse(table.name, "must have at least one row", "none")
    if layout.kind == "history":
        return read_duels(table, options)
    read = read_game_list if layout.kind == "games" else read_pair_table
    found = read(table, layout, options)
    return replace(found, format=table.format, kind=layout.kind, meanings=layout.columns)


def refuse_options(options: Options, what: str, *, tags: bool = False) -> None:
    """Raise InvalidParameterError if options are given that only tables of games have.

    what : the kind of source; tags : whether it has tags that `where` can name
    """
    for given, parameter in (
        (options.columns, "columns (--column)"),
        (options.where and not tags, "where (--where)"),
        (options.since is not None or options.until is not None, "since and until"),
        (options.time_format is not None, "time_format (--time-format)"),
    ):
        if given:
            raise InvalidParameterError(f"{parameter} must be left out for {what}")


def _looks_like_cross_table(table: Table) -> bool:
    frame = table.frame
    if not frame.width or len(frame) > _LARGEST:
        return False
    named = [one for one in frame.columns if spelling(one) in ("player", "name")]
    names = text_of(frame[named[0] if named else frame.columns[0]])
    return looks_like_cross_table(frame.columns, [one or "" for one in names.to_list()])


def _read_cross_table(table: Table, options: Options) -> GameColumns:
    refuse_options(options, "a cross table")
    if not table.untyped:
        # Cells are text, so that there is only one reader of cross tables.
        other = [one.name for one in table.frame if one.dtype.is_nested() or one.dtype in _NO_TEXT]
        frame = table.frame.drop(other).select(pl.all().cast(pl.String).replace("", None))
        if not frame.width:
            refuse(table.name, PLAYERS, "no columns of text or numbers")
        table = replace(table, frame=frame, untyped=True, by_commas=True)
    return replace(read_cross_table(table), format=table.format, kind="crosstable")


#: What a source contains, however it is stored.
Holding: TypeAlias = Literal["pgn", "trf", "games", "pairs", "crosstable", "history"]

#: Content that is not stored as a table.
_NO_TABLE = ("pgn", "trf")
ONE_REPORT = "must be the only source: reports are read one at a time"


def read_matches(
    source: object, format: str | None, options: Options, sheet: str | int | None = None
) -> HistoryReading:
    """Return the history of any source of matches or of games, and all of its problems.

    format, sheet : as for `read_columns`
    Raises : InvalidParameterError   the kind of source is unclear, or options do not suit it
    Raises : InvalidDataError        it does not have this format, or cannot be read
    """
    known = (*get_args(Format), *get_args(Holding))
    if format is not None and format not in known:
        raise InvalidParameterError(f"format must be one of {', '.join(known)}; got {format!r}")
    # Every one of several files has the columns that the options name.
    needed = [*options.columns.values(), *options.statistics]
    opened = _open(source, format, sheet, needed)
    if not isinstance(opened, Table):
        name = opened[0].name if len(opened) == 1 else ""
        if opened[0].format == "pgn":
            found = _read_pgn(opened, options, dated=True)
            return matches_of_games(found, PGN, name, replace(options, where=()))
        _refuse_selection(options, "a report in TRF")
        return matches_of_games(_read_trf(opened), TRF, name, options)
    table = join_clock_times(opened, options)
    is_cross = format == "crosstable" or (
        format not in _KINDS and not is_matches(table, options) and _looks_like_cross_table(table)
    )
    if is_cross:
        _refuse_selection(options, "a cross table")
        columns = _read_cross_table(table, Options())
        return matches_of_games(columns, CROSS_TABLE, table.name, options)
    return build_matches(table, options, _KINDS.get(format or ""))


def _open(
    source: object, format: str | None, sheet: str | int | None, needed: Collection[str] = ()
) -> Table | list[Content]:
    """Return the table of a source, or its files if they are PGN or a report in TRF."""
    stored = format if format in (*get_args(Format), *_NO_TABLE) else None
    if not is_source(source):
        if format in _NO_TABLE:
            raise InvalidParameterError(
                f"source must be a path or a stream if format is {format}; got "
                f"{type(source).__name__}"
            )
        return open_source(source, stored)
    contents = contents_of(source, stored)
    kinds = {one.format for one in contents}
    if kinds & {*_NO_TABLE}:
        if len(kinds) > 1:
            refuse_mixed(contents)
        return contents
    return table_of(contents, sheet, needed)


def content_of(source: str | os.PathLike[str]) -> str | None:
    """Return pgn or trf if a path holds them, None for everything else, also if it is unclear."""
    if isinstance(source, str) and is_address(source):
        found = format_of(PurePosixPath(urlsplit(source).path))  # not downloaded twice
        return found if found in _NO_TABLE else None
    try:
        kinds = {one.format for one in contents_of(source, None)}
    except (InvalidDataError, InvalidParameterError):
        return None  # the reader of tables reports it
    return kinds.pop() if len(kinds) == 1 and kinds <= {*_NO_TABLE} else None


def _refuse_selection(options: Options, what: str) -> None:
    """Refuse the options that only tables have. Raises : InvalidParameterError."""
    refuse_options(replace(options, since=None, until=None, where=()), what)


def read_columns(
    source: object, format: str | None, options: Options, sheet: str | int | None = None
) -> GameColumns:
    """Return the games of a source as its reader returns them.

    format : one of `Holding` or of `sources.Format`; None detects it
    sheet : name or number, from 1, of the sheet of a workbook
    Raises : InvalidParameterError   the kind of source is unclear, or options do not suit it
    Raises : InvalidDataError        it does not have this format, or cannot be read
    """
    opened = _open(source, format, sheet)
    if isinstance(opened, Table):
        return _games_of_table(opened, format, options)
    if opened[0].format == "pgn":
        return select_dates(_read_pgn(opened, options), options)
    refuse_options(replace(options, since=None, until=None), "a report in TRF")
    return select_dates(_read_trf(opened), options)


def refuse_mixed(contents: Sequence[Content]) -> NoReturn:
    """Refuse games in PGN or TRF together with tables. Raises : InvalidDataError."""
    first = contents[0]
    other = next(one for one in contents if one.format != first.format)
    got = f"{WORDS[other.format]}, but {first.name} is {WORDS[first.format]}"
    refuse(other.name, "must have the format of the other files: read them one by one", got)


def _read_pgn(contents: Sequence[Content], options: Options, *, dated: bool = False) -> GameColumns:
    """Return the games of files, folders and archives of PGN."""
    tags: tuple[str, ...] = ()
    if dated:
        tags = tuple(dict.fromkeys(check_tags(options).values()))
    else:
        refuse_options(replace(options, since=None, until=None), "PGN", tags=True)
    documents: list[Open] = []
    for one in contents:
        if isinstance(one.data, Path):
            documents += documents_in(one.data)
        else:
            file = io.BufferedReader(io.BytesIO(one.content()))
            documents.append(partial(documents_of, file, one.name))
    dates = dated or _bounded(options)
    found = read_pgn_documents(documents, where=_tags(options), dated=dates, tags=tags)
    return replace(_with_notes(found, contents), format="pgn", kind="games")


def _read_trf(contents: Sequence[Content]) -> GameColumns:
    """Return the games of a report."""
    if len(contents) > 1:
        refuse(contents[1].name, ONE_REPORT, f"the report {contents[0].name} before it")
    found = _with_notes(read_trf(contents[0].content(), contents[0].name), contents)
    return replace(found, format="trf", kind="games")


def _with_notes(columns: GameColumns, contents: Sequence[Content]) -> GameColumns:
    notes = tuple(note for one in contents for note in one.notes)
    return replace(columns, notes=(*notes, *columns.notes)) if notes else columns


def _bounded(options: Options) -> bool:
    return options.since is not None or options.until is not None


def _tags(options: Options) -> dict[str, str]:
    """Return the wanted tags of PGN."""
    tags = {name: "" if value is None else str(value) for name, value in options.where}
    for name, value in options.where:
        if tags[name] != ("" if value is None else str(value)):
            raise InvalidParameterError(
                f"where (--where) must name a tag of PGN once; got {name!r} twice"
            )
    return tags
