"""Reads sheets of workbooks (.xlsx, .xlsm, .xls, .ods) as tables.

A sheet is read as it looks: rows above the header are passed over, empty rows and columns are left
out, a cell that is merged over several rows has its value on each, a date is a date, and a formula
is its result as the workbook stores it. Values become text, as in CSV, so that numbers written as
text are numbers too. The lines of problems are the rows of the sheet.
"""

from __future__ import annotations

import datetime
import io
import re
import shlex
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from equipoise.arrays import Ints
from equipoise.errors import EquipoiseError, InvalidDataError
from equipoise.formats.opening.kinds import BAD_ARCHIVE, archive_of, reason_of
from equipoise.formats.table import Table, check_columns, refuse, refuse_unreadable
from equipoise.wording import are_options_named, how_to_install

#: Rows of a sheet in which the header is looked for.
_ABOVE = 50
#: Part of the usual number of cells of a row that a header has at least.
_HEADER_WIDTH = 0.6
_OLD_MAGIC = b"\xd0\xcf\x11\xe0"
#: A cell of a sheet of .xlsx with a formula and without a result.
_UNCOMPUTED = re.compile(rb"(?:</f>|<f\b[^>]*/>)\s*(?:<v>\s*</v>|<v\s*/>|</c>)")

READABLE = "must be a readable workbook"
NO_PASSWORD = "must be a workbook without a password: save it without one"
ONE_SHEET = "must say which sheet to read: add --sheet (in Python sheet=)"
KNOWN_SHEET = "must be a sheet of the workbook"
HAS_TABLE = "must have a sheet with a header and at least one row"
NO_RESULTS = (
    "formulas without a stored result are read as empty cells: open the workbook in a spreadsheet "
    "program and save it"
)


class _Sheet(NamedTuple):
    """A sheet with a table. header : row of the header, from 0."""

    name: str
    rows: list[list[Any]]
    header: int


def read_workbook(source: Path | bytes, name: str, sheet: str | int | None) -> Table:
    """Return the table of a sheet of a workbook.

    sheet : its name, or its number from 1; None takes the only one that has a table
    Raises : InvalidDataError   it is damaged, or no or several sheets have a table
    Raises : EquipoiseError     the library for workbooks is missing
    """
    library = _library()
    try:
        data = source if isinstance(source, bytes) else source.read_bytes()
    except OSError as error:
        refuse_unreadable(name, error)
    uncomputed = False
    if data.startswith(b"PK"):
        uncomputed = _lacks_results(data, name)
    elif not data.startswith(_OLD_MAGIC):
        refuse(name, "must be a workbook", "a file of another kind" if data else "an empty file")
    workbook = _read(lambda: library.CalamineWorkbook.from_filelike(io.BytesIO(data)), name)
    sheets = _sheets(workbook, library, name, sheet)
    filled = [sheet for sheet in sheets if sheet is not None]
    if len(filled) > 1:
        names = ", ".join(repr(sheet.name) for sheet in filled)
        first = filled[0].name
        example = f"--sheet {shlex.quote(first)}" if are_options_named() else f"sheet={first!r}"
        refuse(name, ONE_SHEET, f"{names}; for example {example}")
    if not filled:
        refuse(name, HAS_TABLE, "none")
    table = _table_of(filled[0], name)
    notes = [f"{name}: sheet {filled[0].name!r}"] if len(workbook.sheet_names) > 1 else []
    if filled[0].header:
        notes.append(
            f"{name}: the header is row {filled[0].header + 1}; the rows above are left out"
        )
    if uncomputed:
        notes.append(f"{name}: {NO_RESULTS}")
    return replace(table, notes=(*notes, *table.notes))


def _lacks_results(data: bytes, name: str) -> bool:
    """Return whether formulas of a workbook have no stored result. Raises : InvalidDataError."""
    with archive_of(io.BytesIO(data), name) as archive:
        try:
            sheets = (
                archive.read(member) for member in archive.namelist() if "worksheets/" in member
            )
            return any(_UNCOMPUTED.search(sheet) for sheet in sheets)
        except BAD_ARCHIVE as error:
            refuse(name, READABLE, reason_of(error))


def _library() -> Any:
    """Return the library that reads workbooks. Raises : EquipoiseError."""
    try:
        import python_calamine
    except ImportError as error:
        raise EquipoiseError(
            "reading workbooks needs python-calamine, which is not installed: "
            f"{how_to_install('excel')}; or save the table as CSV"
        ) from error
    return python_calamine


def _read(reads: Callable[[], Any], name: str) -> Any:
    """Return what the library reads; whatever it raises is a problem of the file."""
    try:
        return reads()
    except BaseException as error:  # it panics for some damaged files
        if isinstance(error, KeyboardInterrupt | SystemExit | MemoryError | InvalidDataError):
            raise
        if type(error).__name__ == "PasswordError":
            refuse(name, NO_PASSWORD, "one that needs a password")
        reason = str(error).strip().splitlines() or [type(error).__name__]
        refuse(name, READABLE, reason[0])


def _sheets(
    workbook: Any, library: Any, name: str, wanted: str | int | None
) -> list[_Sheet | None]:
    """Return the wanted sheet, or every visible one that has a table."""
    names: list[str] = workbook.sheet_names
    if wanted is not None:
        chosen = [_chosen_sheet(names, wanted, name)]
    else:
        sheets = library.SheetTypeEnum.WorkSheet
        visible = library.SheetVisibleEnum.Visible
        chosen = [
            sheet.name
            for sheet in workbook.sheets_metadata
            if sheet.typ == sheets and sheet.visible == visible
        ]
    return [_sheet_of(workbook, sheet, name) for sheet in chosen]


def _chosen_sheet(names: Sequence[str], wanted: str | int, name: str) -> str:
    """Return the sheet of a name, or of a number from 1; a name goes before a number."""
    text = str(wanted)
    if isinstance(wanted, str) and text in names:
        return text
    if text.isdecimal() and 1 <= int(text) <= len(names):
        return names[int(text) - 1]
    listed = ", ".join(repr(name) for name in names)
    refuse(name, KNOWN_SHEET, f"{text!r}, but there are {listed}")


def _sheet_of(workbook: Any, sheet: str, name: str) -> _Sheet | None:
    """Return a sheet, None if it has no table."""
    opened = _read(lambda: workbook.get_sheet_by_name(sheet), name)
    rows: list[list[Any]] = _read(lambda: opened.to_python(skip_empty_area=False), name)
    _fill_merged(rows, _read(lambda: opened.merged_cell_ranges, name) or ())
    header = _header_of(rows)
    if header is None or not any(map(_has_value, rows[header + 1 :])):
        return None
    return _Sheet(sheet, rows, header)


def _fill_merged(rows: list[list[Any]], merged: Sequence[Any]) -> None:
    """Repeat the value of cells that are merged over rows of one column."""
    for (first, column), (last, other) in merged:
        if column == other and first < len(rows) and column < len(rows[first]):
            for row in rows[first + 1 : last + 1]:
                row[column] = rows[first][column]


def _has_value(row: Sequence[Any]) -> bool:
    return any(not _is_empty(cell) for cell in row)


def _is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _header_of(rows: Sequence[Sequence[Any]]) -> int | None:
    """Return the row of the header: the first row of different texts that is wide enough.

    A title or a line with a date above a table is narrower than the table. A cross table may have
    the numbers of the players in its header. Without such a row, the first row with values is the
    header if it has two or more.
    """
    filled = [(at, [cell for cell in row if not _is_empty(cell)]) for at, row in enumerate(rows)]
    filled = [(at, row) for at, row in filled if row]
    if not filled:
        return None
    usual = Counter(len(row) for _, row in filled).most_common(1)[0][0]
    least = max(2, _HEADER_WIDTH * usual)
    wide = [(at, row) for at, row in filled[:_ABOVE] if len(row) >= least]
    for at, row in wide:
        texts = [cell for cell in row if isinstance(cell, str)]
        if len(texts) == len(row) == len(set(texts)):
            return at
    for at, row in wide:
        if _counts_players(row):
            return at
    at, row = filled[0]
    return at if len(row) > 1 else None


def _counts_players(row: Sequence[Any]) -> bool:
    """Return whether a row has different texts, and the numbers from 1 to two or more."""
    texts = [cell for cell in row if isinstance(cell, str)]
    numbers = [cell for cell in row if isinstance(cell, int | float)]
    return (
        len(texts) == len(set(texts))
        and len(texts) + len(numbers) == len(row)
        and len(numbers) > 1
        and numbers == list(range(1, len(numbers) + 1))
    )


def _table_of(sheet: _Sheet, name: str) -> Table:
    """Return the table below a header."""
    heads = sheet.rows[sheet.header]
    lines = [at for at in range(sheet.header + 1, len(sheet.rows)) if _has_value(sheet.rows[at])]
    columns = [at for at, head in enumerate(heads) if not _is_empty(head)]
    unnamed = [
        at
        for at, head in enumerate(heads)
        if _is_empty(head) and any(not _is_empty(sheet.rows[line][at]) for line in lines)
    ]
    names = [_text(heads[at]) or "" for at in columns]
    check_columns(names, name, sheet.header + 1)
    cells = {
        head: [sheet.rows[line][at] for line in lines]
        for head, at in zip(names, columns, strict=True)
    }
    series = [pl.Series(head, _column(column), dtype=pl.String) for head, column in cells.items()]

    def locate(rows: Ints) -> list[tuple[str, int | None]]:
        return [(name, lines[row] + 1) for row in rows.tolist()]

    notes: tuple[str, ...] = ()
    if unnamed:
        which = ", ".join(_letters(at) for at in unnamed[:5])
        notes = (f"{name}: columns without a name are left out: {which}",)
    return Table(
        frame=pl.DataFrame(series),
        name=name,
        untyped=True,
        locate=locate,
        notes=notes,
        format="excel",
        dates=tuple(head for head, column in cells.items() if _are_dates(column)),
    )


def _are_dates(values: Sequence[Any]) -> bool:
    """Return whether all cells with a value are dates."""
    filled = [cell for cell in values if not _is_empty(cell)]
    return bool(filled) and all(isinstance(cell, datetime.date) for cell in filled)


def _column(values: Sequence[Any]) -> list[str | None]:
    """Return values as text; dates are times of day 0 if others in the column have a time."""
    if any(isinstance(cell, datetime.datetime) for cell in values):
        midnight = datetime.time()
        values = [
            datetime.datetime.combine(cell, midnight) if type(cell) is datetime.date else cell
            for cell in values
        ]
    return [_text(cell) for cell in values]


def _text(value: Any) -> str | None:
    """Return a value as CSV has it."""
    if _is_empty(value):
        return None
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    return str(value)


def _letters(column: int) -> str:
    """Return the letters of a column, counted from 0."""
    letters = ""
    column += 1
    while column:
        column, letter = divmod(column - 1, 26)
        letters = chr(ord("A") + letter) + letters
    return letters
