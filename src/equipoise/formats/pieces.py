"""Tables that come piece by piece -> files and streams, without ever holding the whole."""

from __future__ import annotations

import gzip
import io
import itertools
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, cast

import polars as pl
from polars.io.plugins import register_io_source

from equipoise.data.files import check_place, whole_file
from equipoise.errors import require
from equipoise.formats.writing import GZIP_LEVEL, HISTORY_FORMATS, format_of

#: Rows written together: enough for Parquet to pack them well, some megabytes in memory.
ROWS = 250_000


def write_pieces(
    pieces: Iterable[pl.DataFrame],
    target: str | os.PathLike[str] | IO[bytes],
    *,
    rows: int = ROWS,
) -> int:
    """Write tables with the same columns one below the other; return the number of rows.

    A file appears whole or not at all, and has the bytes that the table in one piece would have;
    where they are compressed (.csv.gz, .parquet), the same content.

    target : path that ends in .csv, .csv.gz, .tsv, .parquet or .jsonl; a binary stream gets CSV
    rows : written together
    Raises : InvalidParameterError   another suffix, no such directory, or no piece at all
    """
    if not isinstance(target, str | os.PathLike):
        return _write(pieces, target, "csv", rows)
    kind = format_of(Path(target), HISTORY_FORMATS)
    with whole_file(target) as file:
        return _write(pieces, file, kind, rows)


def check_pieces_target(path: str | os.PathLike[str]) -> None:
    """Refuse a path that `write_pieces` would refuse. Raises : InvalidParameterError."""
    format_of(Path(path), HISTORY_FORMATS)
    check_place(path)


def _write(pieces: Iterable[pl.DataFrame], file: IO[bytes], kind: str, rows: int) -> int:
    gathered = _gathered(pieces, rows)
    first = next(gathered, None)
    require(first is not None, "pieces", "at least one", "none")
    tables = itertools.chain([cast(pl.DataFrame, first)], gathered)
    if kind == "parquet":
        return _write_parquet(tables, cast(pl.DataFrame, first).schema, file, rows)
    if kind == "csv.gz":
        # Neither name nor time inside: the same table gives the same bytes.
        with gzip.GzipFile("", "wb", GZIP_LEVEL, file, mtime=0) as compressed:
            return _write_text(tables, cast(IO[bytes], compressed), "csv")
    return _write_text(tables, file, kind)


def _gathered(pieces: Iterable[pl.DataFrame], least: int) -> Iterator[pl.DataFrame]:
    """Yield pieces joined to tables of at least so many rows, but for the last."""
    waiting: list[pl.DataFrame] = []
    rows = 0
    for piece in pieces:
        waiting.append(piece)
        rows += len(piece)
        if rows >= least:
            yield pl.concat(waiting)
            waiting, rows = [], 0
    if waiting:
        yield pl.concat(waiting)


def _write_text(tables: Iterable[pl.DataFrame], file: IO[bytes], kind: str) -> int:
    rows = 0
    for table in tables:
        # Not into the file itself: Polars would not say which error a closed pipe is.
        buffer = io.BytesIO()
        if kind == "jsonl":
            table.write_ndjson(buffer)
        else:
            separator = "\t" if kind == "tsv" else ","
            table.write_csv(buffer, include_header=rows == 0, separator=separator)
        file.write(buffer.getbuffer())
        rows += len(table)
    return rows


def _write_parquet(
    tables: Iterator[pl.DataFrame], schema: pl.Schema, file: IO[bytes], group: int
) -> int:
    """Hand tables to the streaming writer of Polars, which asks for one after the other."""
    rows = 0
    failed: list[BaseException] = []

    def source(*_: object) -> Iterator[pl.DataFrame]:
        nonlocal rows
        try:
            for table in tables:
                rows += len(table)
                yield table
        except BaseException as error:
            failed.append(error)
            raise

    try:
        register_io_source(source, schema=schema).sink_parquet(
            file, compression="zstd", compression_level=1, row_group_size=group
        )
    except pl.exceptions.PolarsError:
        # What stopped the source is the cause; Polars tells only of its own surprise.
        if failed:
            raise failed[0] from None
        raise
    return rows
