"""Reads tables in memory (Polars, pandas, Arrow, mappings of arrays), Parquet and Arrow files."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, NoReturn

import numpy as np
import polars as pl

from equipoise.errors import InvalidDataError, InvalidParameterError, Problem
from equipoise.formats.table import Table, check_columns, refuse


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


PARQUET_MAGIC = b"PAR1"
ARROW_MAGIC = b"ARROW1"
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
    reason = str(error).strip().splitlines() or [type(error).__name__]
    refuse(name, f"must be a readable {what} file", reason[0])


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
