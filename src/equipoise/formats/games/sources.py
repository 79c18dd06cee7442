"""Chooses the reader for a source of games.

The name of a file shows its format; otherwise the first bytes may. The columns of a table show what
it contains, however it is stored.
"""

from __future__ import annotations

import json
import os
import re
import sys
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias, get_args

import polars as pl

from equipoise.data.reading import HistoryReading
from equipoise.errors import InvalidDataError, InvalidParameterError, Problem
from equipoise.formats.games.as_history.game_columns import (
    CROSS_TABLE,
    PGN,
    TRF,
    check_tags,
    matches_of_games,
)
from equipoise.formats.games.as_matches import build_matches, is_matches
from equipoise.formats.games.columns import GameColumns
from equipoise.formats.games.crosstable import PLAYERS, looks_like_cross_table, read_cross_table
from equipoise.formats.games.dates import select_dates
from equipoise.formats.games.duels import read_duels
from equipoise.formats.games.layout import Kind, find_layout, spelling
from equipoise.formats.games.lists import read_game_list, read_pair_table
from equipoise.formats.games.other_tables import rule_for_players
from equipoise.formats.options import Options
from equipoise.formats.pgn.games import read_pgn, read_pgn_files
from equipoise.formats.sources import (
    CONTEST_FORMATS,
    Format,
    decompressed,
    format_of,
    open_bytes,
    open_source,
    read_stream,
)
from equipoise.formats.spreadsheets import escaped
from equipoise.formats.table import NO_FILE, Table, refuse, refuse_unreadable
from equipoise.formats.tables.columns import text_of
from equipoise.formats.tables.frames import ARROW_MAGIC, PARQUET_MAGIC
from equipoise.formats.trf import read_trf

#: Formats that can only contain a history of matches.
_CONTESTS = tuple(one for one in CONTEST_FORMATS if one != "json")
_KINDS: dict[str, Kind] = {one: one for one in get_args(Kind)}
#: Types that CSV cannot represent, in addition to lists and similar types.
_NO_TEXT = (pl.Binary, pl.Object)
#: Rows of the largest cross table that is recognised.
_LARGEST = 5_000


class Document(NamedTuple):
    """A table, and its text if it comes from CSV or TSV."""

    table: Table
    text: bytes | None = None
    separator: str = ","


def open_document(source: object, format: str | None, name: str = "") -> Document:
    """Return the table of a path, of the content of a file, or of a value in memory.

    format : how it is stored, or what it contains; None detects it from the name of the path
    Raises : InvalidParameterError   the kind of source is unclear
    Raises : InvalidDataError        it does not have this format, or cannot be read
    """
    stored = format if format in get_args(Format) else None
    if isinstance(source, os.PathLike):
        path = Path(source)
        stored = stored or format_of(path)
        if path.is_dir() or stored in ("parquet", "arrow"):
            return Document(open_source(path, stored))
        source, name = path.read_bytes(), str(path)
    if not isinstance(source, bytes):
        return Document(open_source(source, stored))
    if stored is None:
        source, stored = _recognised(source, name)
    if stored.endswith(".gz"):
        source, stored = decompressed(source, name), stored.removesuffix(".gz")
    if stored in ("csv", "tsv"):
        separator = "," if stored == "csv" else "\t"
        return Document(open_bytes(source, name, stored), source, separator)
    return Document(open_bytes(source, name, stored))


def read_document(document: Document, format: str | None, options: Options) -> GameColumns:
    """Return the games of a table, with the reader that its columns need.

    format : what it contains ("games", "pairs", "crosstable", "history"), or how it is stored
    Raises : InvalidParameterError   columns fit several kinds, or the options do not suit
    Raises : InvalidDataError        columns fit no kind
    """
    table = document.table
    if format == "crosstable":
        return _read_cross_table(document, options)
    if format == "history" or format in _CONTESTS:
        return read_duels(table, options)
    try:
        layout = find_layout(table, options.columns, _KINDS.get(format or ""))
    except InvalidDataError:
        if format not in _KINDS and _looks_like_cross_table(table):
            return _read_cross_table(document, options)
        players = rule_for_players(table.frame.columns, options.columns)
        if players is not None and format not in _KINDS:
            refuse(table.name, players, f"columns {', '.join(table.frame.columns)}")
        raise
    if not len(table.frame):
        refuse(table.name, "must have at least one row", "none")
    if layout.kind == "games":
        return read_game_list(table, layout, options)
    if layout.kind == "pairs":
        return read_pair_table(table, layout, options)
    return read_duels(table, options)


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


def _recognised(data: bytes, name: str) -> tuple[bytes, str]:
    """Return the decompressed content of a file, and its format by its first bytes."""
    if data.startswith(b"\x1f\x8b"):
        data = decompressed(data, name)
    for magic, stored in ((PARQUET_MAGIC, "parquet"), (ARROW_MAGIC, "arrow")):
        if data.startswith(magic):
            return data, stored
    start = data.removeprefix(b"\xef\xbb\xbf").lstrip()
    line = start.partition(b"\n")[0]
    if start.startswith(b"["):
        return data, "json"
    if start.startswith(b"{"):
        try:
            json.loads(line)
        except (ValueError, RecursionError):
            return data, "json"
        return data, "jsonl"
    return data, "tsv" if b"\t" in line and b"," not in line else "csv"


def _looks_like_cross_table(table: Table) -> bool:
    frame = table.frame
    if not frame.width or len(frame) > _LARGEST:
        return False
    named = [one for one in frame.columns if spelling(one) in ("player", "name")]
    names = text_of(frame[named[0] if named else frame.columns[0]])
    return looks_like_cross_table(frame.columns, [one or "" for one in names.to_list()])


def _read_cross_table(document: Document, options: Options) -> GameColumns:
    refuse_options(options, "a cross table")
    table = document.table
    if document.text is not None:
        return read_cross_table(document.text, table.name, document.separator)
    # Other values are written as text, so that there is only one reader of cross tables.
    other = [one.name for one in table.frame if one.dtype.is_nested() or one.dtype in _NO_TEXT]
    kept = table.frame.drop(other)
    if not kept.width:
        refuse(table.name, PLAYERS, "no columns of text or numbers")
    text = escaped(kept).write_csv().encode()
    try:
        columns = read_cross_table(text, table.name, ",")
    except InvalidDataError as error:
        raise InvalidDataError(_without_header(error.problems)) from None
    return replace(columns, problems=_without_header(columns.problems))


def _without_header(problems: Sequence[Problem]) -> tuple[Problem, ...]:
    """Return problems with rows from 1, without the header that a table in memory lacks."""
    return tuple(
        problem if problem.line is None else replace(problem, line=max(1, problem.line - 1))
        for problem in problems
    )


#: Options that select and rename nothing.
_EVERYTHING = Options(
    columns={},
    statistics=(),
    skip_bad=None,
    since=None,
    until=None,
    time_format=None,
    where=(),
)

#: What a source contains, however it is stored.
Content: TypeAlias = Literal["pgn", "trf", "games", "pairs", "crosstable", "history"]

_PGN_NAME = re.compile(r"\.pgn(\.(gz|bz2|zst|zip))?$")
_TRF_NAME = re.compile(r"\.trfx?(\.gz)?$")
#: The start of PGN: a tag, perhaps after escaped lines.
_PGN_START = re.compile(rb"(\xef\xbb\xbf)?\s*(%[^\n]*\n\s*)*\[\s*\w+\s+\"")
#: The start of a FIDE report: a code of three characters.
_TRF_START = re.compile(rb"(\xef\xbb\xbf)?\s*(\d{3}|XX[A-Z]|BB[A-Z]|###)[ \r\n]")
_PEEKED = 4096


def read_matches(source: object, format: str | None, options: Options) -> HistoryReading:
    """Return the history of any source of matches or of games, and all of its problems.

    format : one of `Content` or of `sources.Format`; None detects it
    Raises : InvalidParameterError   the kind of source is unclear, or options do not suit it
    Raises : InvalidDataError        it does not have this format, or cannot be read
    """
    known = (*get_args(Format), *get_args(Content))
    if format is not None and format not in known:
        raise InvalidParameterError(f"format must be one of {', '.join(known)}; got {format!r}")
    is_path = isinstance(source, str | os.PathLike) and str(source) != "-"
    if is_path and format is None:
        format = content_of(Path(str(source)))
    name = str(source) if is_path else ""
    if format == "pgn":
        columns = read_columns(source, format, options, dated=True)
        return matches_of_games(columns, PGN, name, replace(options, where=()))
    if format == "trf":
        refuse_options(replace(options, since=None, until=None, where=()), "a report in TRF")
        columns = read_columns(source, format, _EVERYTHING)
        return matches_of_games(columns, TRF, name, options)
    stored = format if format in get_args(Format) else None
    if format is not None and stored is None:
        table = _open_content(source, format)
    else:
        table = open_source(source, stored)
    is_cross = format == "crosstable" or (
        format not in _KINDS and not is_matches(table, options) and _looks_like_cross_table(table)
    )
    if is_cross:
        refuse_options(replace(options, since=None, until=None, where=()), "a cross table")
        columns = _read_cross_table(Document(table), _EVERYTHING)
        return matches_of_games(columns, CROSS_TABLE, table.name, options)
    return build_matches(table, options, _KINDS.get(format or ""))


def _open_content(source: object, content: str) -> Table:
    """Return the table of a source that is known to be a table with some content."""
    if isinstance(source, str) and source == "-":
        source = sys.stdin.buffer
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        try:
            if not path.exists():
                refuse(str(path), NO_FILE, "")
            return open_document(path, content).table
        except OSError as error:
            refuse_unreadable(str(path), error)
    if hasattr(source, "read"):
        data, name = read_stream(source)
        return open_document(data, content, name).table
    return open_document(source, content).table


def content_of(path: Path) -> str | None:
    """Return pgn or trf if a path holds them, None for everything else, also if it is unclear."""
    try:
        found = _format_of(path) if path.exists() else None
    except (OSError, InvalidParameterError):
        return None  # the reader of tables reports it
    return found if found in ("pgn", "trf") else None


def read_columns(
    source: object, format: str | None, options: Options, *, dated: bool = False
) -> GameColumns:
    """Return the games of a source as its reader returns them.

    format : one of `Content` or of `sources.Format`; None detects it
    dated : whether PGN is read as a history: with dates, events, and the tags that become columns
    Raises : InvalidParameterError   the kind of source is unclear, or options do not suit it
    Raises : InvalidDataError        it does not have this format, or cannot be read
    """
    if isinstance(source, str) and source == "-":
        source = sys.stdin.buffer
    if isinstance(source, str | os.PathLike):
        return _read_path(Path(source), format, options, dated)
    if hasattr(source, "read"):
        if format is None:
            known = (*get_args(Content), *get_args(Format))
            raise InvalidParameterError(
                f"format must be given for a stream: one of {', '.join(known)}"
            )
        return _read_bytes(*read_stream(source), format, options, dated)
    if format in ("pgn", "trf"):
        raise InvalidParameterError(
            f"source must be a path or a stream if format is {format}; got {type(source).__name__}"
        )
    return read_document(open_document(source, format), format, options)


def _read_path(path: Path, format: str | None, options: Options, dated: bool) -> GameColumns:
    name = str(path)
    try:
        if not path.exists():
            refuse(name, NO_FILE, "")
        format = format or _format_of(path)
        if format == "pgn":
            tags = _check_pgn(options, dated)
            dates = dated or _bounded(options)
            columns = read_pgn_files(path, where=_tags(options), dated=dates, tags=tags)
            return columns if dated else select_dates(columns, options)
        if format == "trf":
            return _read_bytes(path.read_bytes(), name, format, options, dated)
        return read_document(open_document(path, format), format, options)
    except OSError as error:
        refuse_unreadable(name, error)


def _format_of(path: Path) -> str | None:
    """Return the format by the name of a path, or by its content; None for a kind of table."""
    lowered = path.name.lower()
    if path.is_dir():
        files = (one for one in path.rglob("*") if _PGN_NAME.search(one.name.lower()))
        return "pgn" if any(files) else None
    for pattern, format in ((_PGN_NAME, "pgn"), (_TRF_NAME, "trf")):
        if pattern.search(lowered):
            return format
    if lowered.endswith(".zip"):
        return "pgn" if _archives_pgn(path) else None
    if format_of(path) is not None:
        return None
    with path.open("rb") as file:
        start = file.read(_PEEKED)
    for begins, format in ((_PGN_START, "pgn"), (_TRF_START, "trf")):
        if begins.match(start):
            return format
    raise InvalidParameterError(
        f"format must be given, because neither the name of {path} nor its first line shows it: "
        f"one of "
        f"{', '.join((*get_args(Content), *get_args(Format)))}"
    )


def _archives_pgn(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            return any(_PGN_NAME.search(one.lower()) for one in archive.namelist())
    except (zipfile.BadZipFile, ValueError):
        return False  # the reader of archives reports the problem


def _read_bytes(data: bytes, name: str, format: str, options: Options, dated: bool) -> GameColumns:
    if format == "pgn":
        tags = _check_pgn(options, dated)
        dates = dated or _bounded(options)
        columns = read_pgn(data, name, where=_tags(options), dated=dates, tags=tags)
        return columns if dated else select_dates(columns, options)
    if format == "trf":
        refuse_options(replace(options, since=None, until=None), "a report in TRF")
        if data.startswith(b"\x1f\x8b"):
            data = decompressed(data, name)
        return select_dates(read_trf(data, name), options)
    return read_document(open_document(data, format, name), format, options)


def _check_pgn(options: Options, dated: bool) -> tuple[str, ...]:
    """Return the tags of PGN to keep, after checking that options suit it."""
    if dated:
        return tuple(dict.fromkeys(check_tags(options).values()))
    refuse_options(replace(options, since=None, until=None), "PGN", tags=True)
    return ()


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
