"""Reads Parquet, Arrow, workbooks, and tables in memory: Polars, pandas, Arrow, mappings.

A sheet of a workbook (.xlsx, .xlsm, .xls, .ods) is read as it looks: rows above the header are
passed over, empty rows and columns are left out, a cell that is merged over several rows has its
value on each, a date is a date, and a formula is its result as the workbook stores it. Values
become text, as in CSV, so that numbers written as text are numbers too. The lines of problems are
the rows of the sheet.
"""

from __future__ import annotations

import datetime
import io
import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, NoReturn

import numpy as np
import polars as pl

from equipoise.errors import EquipoiseError, InvalidDataError, InvalidParameterError, Problem
from equipoise.formats.contents import BAD_ARCHIVE, archive_of, first_line, reason_of
from equipoise.formats.table import Table, check_columns, refuse, refuse_unreadable
from equipoise.wording import are_options_named, how_to_install

#: First bytes of files.
PARQUET_MAGIC, ARROW_MAGIC = b"PAR1", b"ARROW1"


def read_frame(source: object) -> Table | None:
    """Return the table of a value in memory, or None if it is not a table."""
    library = type(source).__module__.partition(".")[0]
    try:
        if isinstance(source, pl.LazyFrame):
            source = source.collect()
        if isinstance(source, pl.DataFrame):
            frame = _plain(source)
        elif isinstance(source, Mapping):
            frame = _from_mapping(source)
        elif library == "pandas":
            frame = _from_pandas(source)
        elif library == "pyarrow" or hasattr(source, "__arrow_c_stream__"):
            frame = _from_arrow(source)
        else:
            return None
    except (pl.exceptions.PolarsError, OSError) as error:
        refuse("", "must be a readable table", str(error).partition("\n")[0])
    return Table(frame=frame, borrowed=True, format="memory")


def series_of(name: str, values: Any) -> pl.Series:
    """Return values as a column; values of mixed types become text.

    values : NumPy array, list, Polars or pandas series
    """
    if isinstance(values, pl.Series):
        return values.alias(name)
    if type(values).__module__.partition(".")[0] == "pandas":
        return _pandas_column(name, values)
    if isinstance(values, np.ndarray) and values.dtype.kind == "M":
        days = values.dtype == np.dtype("datetime64[D]")
        values = values if days else values.astype("datetime64[us]")
    if isinstance(values, np.ndarray) and values.dtype == object:
        values = values.tolist()
    elif not isinstance(values, np.ndarray):
        values = list(values)
    try:
        column = pl.Series(name, values, strict=True)
        if column.dtype != pl.Object:
            return column
    except (TypeError, OverflowError, pl.exceptions.PolarsError):
        pass
    texts = [None if _missing(value) else _text(value) for value in values]
    return pl.Series(name, texts, dtype=pl.String)


def _missing(value: object) -> bool:
    # Only not-a-number, and pandas' NaT, differ from themselves.
    return value is None or (isinstance(value, float) and value != value)


def _text(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _plain(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a frame whose columns of Python objects are replaced by text."""
    objects = [column for column in frame if column.dtype == pl.Object]
    return frame.with_columns(series_of(column.name, column.to_list()) for column in objects)


def _from_mapping(source: Mapping[Any, Any]) -> pl.DataFrame:
    columns = []
    for name, values in source.items():
        if not isinstance(name, str):
            raise InvalidParameterError(f"columns must have names that are text; got {name!r}")
        if isinstance(values, str | bytes) or not isinstance(values, Iterable):
            raise InvalidParameterError(
                f"column {name!r} must be an array or a list; got {values!r}"
            )
        if isinstance(values, np.ndarray) and values.ndim != 1:
            raise InvalidParameterError(
                f"column {name!r} must have one dimension; got shape {values.shape}"
            )
        columns.append(series_of(name, values))
    problems = []
    for column in columns:
        if len(column) != len(columns[0]):
            rule = f"must have as many values as {columns[0].name!r}: {len(columns[0])}"
            problems.append(Problem("", None, column.name, rule, f"{len(column)}"))
    if problems:
        raise InvalidDataError(problems)
    return pl.DataFrame(columns)


def _from_pandas(source: Any) -> pl.DataFrame:
    if type(source).__name__ != "DataFrame":
        raise InvalidParameterError(f"a pandas table must be a DataFrame; got {type(source)!r}")
    names = [str(name) for name in source.columns]
    check_columns(names)
    return pl.DataFrame([_pandas_column(name, source.iloc[:, at]) for at, name in enumerate(names)])


def _pandas_column(name: str, column: Any) -> pl.Series:
    if column.dtype != object and str(column.dtype) not in ("str", "string"):
        try:
            return pl.Series(name, pl.from_pandas(column))
        except (TypeError, ValueError, ImportError, pl.exceptions.PolarsError):
            column = column.astype(str).where(column.notna())
    # Missing values of pandas are None, NaN, NaT and NA.
    absent = column.isna().tolist()
    values = column.tolist()
    return series_of(
        name, [None if gone else value for value, gone in zip(values, absent, strict=True)]
    )


def _from_arrow(source: Any) -> pl.DataFrame:
    check_columns([str(name) for name in getattr(source, "column_names", ())])
    frame = pl.DataFrame(source) if hasattr(source, "__arrow_c_stream__") else pl.from_arrow(source)
    if not isinstance(frame, pl.DataFrame):
        raise InvalidParameterError(f"an Arrow source must be a table; got {type(source)!r}")
    return frame


#: Everything that Polars raises for damaged files; for some it panics.
_UNREADABLE = (
    pl.exceptions.PolarsError,
    pl.exceptions.PanicException,
    OSError,
    OverflowError,
    ValueError,
)


def read_parquet(source: Path | bytes, name: str) -> Table:
    """Return the table of a Parquet file."""
    start, end = _ends(source, len(PARQUET_MAGIC))
    if start != PARQUET_MAGIC:
        refuse(name, "must be a Parquet file", f"a file that starts with {start!r}")
    if end != PARQUET_MAGIC:
        refuse(name, "must be a complete Parquet file", "a truncated file")
    try:
        frame = pl.read_parquet(_readable(source))
    except _UNREADABLE as error:
        _unreadable(name, "Parquet", error)
    return Table(frame=frame, name=name, format="parquet")


def read_arrow(source: Path | bytes, name: str) -> Table:
    """Return the table of an Arrow (Feather 2) file or stream."""
    start, _ = _ends(source, len(ARROW_MAGIC))
    readable = _readable(source)
    try:
        read = pl.read_ipc if start == ARROW_MAGIC else pl.read_ipc_stream
        frame = read(readable)
    except _UNREADABLE as error:
        _unreadable(name, "Arrow", error)
    return Table(frame=frame, name=name, format="arrow")


def _unreadable(name: str, what: Literal["Parquet", "Arrow"], error: BaseException) -> NoReturn:
    refuse(name, f"must be a readable {what} file", first_line(error))


def _readable(source: Path | bytes) -> Path | io.BytesIO:
    return io.BytesIO(source) if isinstance(source, bytes) else source


def _ends(source: Path | bytes, length: int) -> tuple[bytes, bytes]:
    """Return the first and the last bytes of a file."""
    if isinstance(source, bytes):
        return source[:length], source[-length:]
    with source.open("rb") as file:
        start = file.read(length)
        file.seek(0, io.SEEK_END)
        file.seek(max(0, file.tell() - length))
        return start, file.read(length)


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
    library = _calamine()
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


def _calamine() -> Any:
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
        refuse(name, READABLE, first_line(error))


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
    # One with a text twice is refused by its name.
    for at, row in wide[:1]:
        if all(isinstance(cell, str) for cell in row):
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
    names = [_cell_text(heads[at]) or "" for at in columns]
    check_columns(names, name, sheet.header + 1)
    cells = {
        head: [sheet.rows[line][at] for line in lines]
        for head, at in zip(names, columns, strict=True)
    }
    texts = {head: _cell_texts(column) for head, column in cells.items()}

    notes: tuple[str, ...] = ()
    if unnamed:
        which = ", ".join(_letters(at) for at in unnamed[:5])
        notes = (f"{name}: columns without a name are left out: {which}",)
    return Table(
        frame=pl.DataFrame(texts, schema=dict.fromkeys(texts, pl.String)),
        name=name,
        untyped=True,
        lines=[line + 1 for line in lines],
        notes=notes,
        format="excel",
        dates=tuple(head for head, column in cells.items() if _are_dates(column)),
    )


def _are_dates(values: Sequence[Any]) -> bool:
    """Return whether all cells with a value are dates."""
    filled = [cell for cell in values if not _is_empty(cell)]
    return bool(filled) and all(isinstance(cell, datetime.date) for cell in filled)


def _cell_texts(values: Sequence[Any]) -> list[str | None]:
    """Return values as text; dates are times of day 0 if others in the column have a time."""
    if any(isinstance(cell, datetime.datetime) for cell in values):
        midnight = datetime.time()
        values = [
            datetime.datetime.combine(cell, midnight) if type(cell) is datetime.date else cell
            for cell in values
        ]
    return [_cell_text(cell) for cell in values]


def _cell_text(value: Any) -> str | None:
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
