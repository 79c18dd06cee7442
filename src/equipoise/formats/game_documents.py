"""Tables of games, wherever they are stored -> the reader of what their columns hold."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, get_args

import polars as pl

from equipoise.errors import InvalidDataError, InvalidParameterError, Problem
from equipoise.formats.columns import text_of
from equipoise.formats.crosstable import looks_like_cross_table, read_cross_table
from equipoise.formats.duels import read_duels
from equipoise.formats.game_columns import GameColumns
from equipoise.formats.game_layout import Kind, find_layout, spelling
from equipoise.formats.game_tables import read_game_list
from equipoise.formats.options import Options
from equipoise.formats.pair_tables import read_pair_table
from equipoise.formats.parquet import ARROW_MAGIC, PARQUET_MAGIC
from equipoise.formats.sources import (
    CONTEST_FORMATS,
    Format,
    decompressed,
    format_of,
    open_bytes,
    open_source,
)
from equipoise.formats.table import Table, refuse

#: Formats that can only hold a history of matches.
_CONTESTS = tuple(one for one in CONTEST_FORMATS if one != "json")
_KINDS: dict[str, Kind] = {one: one for one in get_args(Kind)}
#: Types that CSV cannot hold; lists and the like cannot either.
_NO_TEXT = (pl.Binary, pl.Object)
#: Rows of the largest cross table that is looked for.
_LARGEST = 5_000


class Document(NamedTuple):
    """A table, and the text it comes from where that is CSV or TSV."""

    table: Table
    text: bytes | None = None
    separator: str = ","


def open_document(source: object, format: str | None, name: str = "") -> Document:
    """Return the table that a path, the content of a file, or a value in memory holds.

    format : how it is stored, or what it holds; None: what the name of the path tells
    Raises : InvalidParameterError   it is unclear what the source is
    Raises : InvalidDataError        it is not what it says, or cannot be read
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
    """Return the games of a table, by the reader of what its columns hold.

    format : what it holds ("games", "pairs", "crosstable", "history"), or how it is stored
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

    what : the source is; tags : whether it has something that `where` can name
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
    """Return the content of a file, unpacked, and how it is stored, by its first bytes."""
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
    # Values that are no text are written as one, so that there is one reader of cross tables.
    other = [one.name for one in table.frame if one.dtype.is_nested() or one.dtype in _NO_TEXT]
    text = table.frame.drop(other).write_csv().encode()
    try:
        columns = read_cross_table(text, table.name, ",")
    except InvalidDataError as error:
        raise InvalidDataError(_without_header(error.problems)) from None
    return replace(columns, problems=_without_header(columns.problems))


def _without_header(problems: Sequence[Problem]) -> tuple[Problem, ...]:
    """Return problems with rows from 1, where lines counted a header that is not there."""
    return tuple(
        problem if problem.line is None else replace(problem, line=max(1, problem.line - 1))
        for problem in problems
    )
