"""Parquet and Arrow files -> table."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Literal, NoReturn

import polars as pl

from equipoise.formats.table import Table, refuse

PARQUET_MAGIC = b"PAR1"
ARROW_MAGIC = b"ARROW1"
#: All that Polars raises for damaged files; of some it says so by a panic.
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
        refuse(name, "must be a whole Parquet file", "a file that is cut off")
    try:
        frame = pl.read_parquet(_readable(source))
    except _UNREADABLE as error:
        _unreadable(name, "Parquet", error)
    return Table(frame=frame, name=name)


def read_arrow(source: Path | bytes, name: str) -> Table:
    """Return the table of an Arrow (Feather 2) file or stream."""
    start, _ = _ends(source, len(ARROW_MAGIC))
    readable = _readable(source)
    try:
        read = pl.read_ipc if start == ARROW_MAGIC else pl.read_ipc_stream
        frame = read(readable)
    except _UNREADABLE as error:
        _unreadable(name, "Arrow", error)
    return Table(frame=frame, name=name)


def _unreadable(name: str, what: Literal["Parquet", "Arrow"], error: BaseException) -> NoReturn:
    reason = str(error).strip().splitlines() or [type(error).__name__]
    article = "a" if what == "Parquet" else "an"
    refuse(name, f"must be {article} {what} file that can be read", reason[0])


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
