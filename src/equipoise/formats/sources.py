"""Opens any source as a table, with the reader of the format of each of its files."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import get_args

from equipoise.errors import InvalidDataError, InvalidParameterError, Problem
from equipoise.formats.contests.files import (
    first_is_contest,
    is_lines,
    is_list_of_rows,
    read_contest_documents,
    read_contest_file,
)
from equipoise.formats.opening import packing
from equipoise.formats.opening.contents import Content, contents_of, is_source, read_stream
from equipoise.formats.opening.encodings import decoded, from_western
from equipoise.formats.opening.joining import join_tables
from equipoise.formats.opening.kinds import CONTEST_FORMATS, Format, format_of, kind_of
from equipoise.formats.opening.workbooks import read_workbook
from equipoise.formats.table import Table, check_fields, refuse
from equipoise.formats.tables.delimited import read_delimited
from equipoise.formats.tables.frames import read_arrow, read_frame, read_parquet
from equipoise.formats.tables.json_lines import read_json_lines

__all__ = [
    "CONTEST_FORMATS",
    "Format",
    "decoded",
    "format_of",
    "from_western",
    "open_source",
    "read_stream",
    "table_of",
]

#: What a source may be, for messages.
SOURCES = (
    "a path, a pattern of paths, an address, a list of them, a stream, bytes, a data frame or a "
    "mapping of columns"
)
OTHER_COMMAND = "must be a table of matches, or contests"


def open_source(
    source: object,
    format: str | None,
    sheet: str | int | None = None,
    needed: Collection[str] = (),
) -> Table:
    """Return the table of a source.

    sheet : name or number, from 1, of the sheet of a workbook
    needed : columns that every one of several files must have
    Raises : InvalidParameterError   the kind of source is unclear
    Raises : InvalidDataError        it does not have this format, or cannot be read
    """
    check_format(format)
    if is_source(source):
        return table_of(contents_of(source, format), sheet, needed)
    table = read_frame(source)
    if table is None:
        raise InvalidParameterError(f"source must be {SOURCES}; got {type(source).__name__}")
    return table


def check_format(format: str | None) -> None:
    """Check the name of a format of tables. Raises : InvalidParameterError."""
    if format is not None and format not in get_args(Format):
        raise InvalidParameterError(
            f"format must be one of {', '.join(get_args(Format))}; got {format!r}"
        )


def table_of(
    contents: list[Content], sheet: str | int | None = None, needed: Collection[str] = ()
) -> Table:
    """Return the table of one or many files; their problems are raised together."""
    contents = [_as_utf_8(one) for one in contents]
    if len(contents) > 1 and all(one.format in CONTEST_FORMATS for one in contents):
        kinds = {None if one.format == "json" else one.format for one in contents}
        kind = kinds.pop() if len(kinds) == 1 else None
        documents = [(one.name, one.content()) for one in contents]
        if not any(_is_list(data) for _, data in documents):
            return _with_notes(check_fields(read_contest_documents(documents, kind)), contents)
    tables: list[Table] = []
    problems: list[Problem] = []
    for one in contents:
        try:
            tables.append(_with_notes(check_fields(_read(one, sheet)), [one]))
        except InvalidDataError as error:
            problems.extend(error.problems)
    if problems:
        raise InvalidDataError(problems)
    if sheet is not None and all(one.format != "excel" for one in contents):
        raise InvalidParameterError(
            f"sheet (--sheet) must be left out for sources without a workbook; got {sheet!r}"
        )
    return tables[0] if len(tables) == 1 else join_tables(tables, needed)


def _as_utf_8(content: Content) -> Content:
    """Return JSON in UTF-8, and every other file as it is, because its reader knows encodings."""
    if content.format not in (*CONTEST_FORMATS, "jsonl"):
        return content
    data, notes = decoded(content.content(), content.name)
    return content._replace(data=data, notes=(*content.notes, *notes))


def _is_list(data: bytes) -> bool:
    return data.lstrip().startswith(b"[")


def _with_notes(table: Table, contents: list[Content]) -> Table:
    notes = tuple(note for one in contents for note in one.notes)
    if not notes:
        return table
    return replace(table, notes=(*notes, *table.notes))


def _read(content: Content, sheet: str | int | None) -> Table:
    """Return the table of one file."""
    name, data, format = content.name, content.data, content.format
    if isinstance(data, Table):
        return data
    if format == "excel":
        return read_workbook(data, name, sheet)
    if format == "parquet":
        return read_parquet(data, name)
    if format == "arrow":
        return read_arrow(data, name)
    if format in ("pgn", "trf"):
        what = "games in PGN" if format == "pgn" else "a FIDE report (TRF)"
        refuse(name, OTHER_COMMAND, f"{what}, which equipoise performance reads")
    data = content.content()
    if not data:
        refuse(name, "must hold at least one row", "an empty file")
    if format == "jsonl" and is_list_of_rows(data):
        format = "json"
    if format == "json" and is_lines(data) and not first_is_contest(data):
        return read_json_lines(data, name)
    if format in CONTEST_FORMATS:
        return read_contest_file(data, name, None if format == "json" else format)
    _refuse_misnamed(data, name, format)
    if format == "jsonl" and first_is_contest(data):
        return read_contest_file(data, name, None, lines=True)
    if format == "jsonl":
        return read_json_lines(data, name)
    return read_delimited(data, name, "\t" if format == "tsv" else ",")


def _refuse_misnamed(data: bytes, name: str, format: str) -> None:
    """Refuse what is not text."""
    packed = packing.packing_of(data[: packing.PACKED_START])
    kind = kind_of(data[:1024])
    what = kind.what if packed is packing.PLAIN else f"a {packed.kind} file"
    if kind.format in ("parquet", "arrow", "excel"):
        what = {"parquet": "a Parquet file", "arrow": "an Arrow file"}.get(
            kind.format, "a workbook"
        )
    if what:
        refuse(name, f"must be text in the format {format}", what)
