"""Tables and histories -> files, whole or not at all."""

from __future__ import annotations

import gzip
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, Literal, TypeAlias, cast, get_args

import polars as pl
import polars.selectors as cs

from equipoise.arguments import checks_arguments
from equipoise.data.files import check_place, whole_file
from equipoise.data.history import History
from equipoise.errors import InvalidParameterError, require

TableFormat: TypeAlias = Literal["csv", "csv.gz", "tsv", "parquet", "json", "jsonl"]
HISTORY_FORMATS = ("csv", "csv.gz", "tsv", "parquet", "jsonl")
#: Smaller than zlib's own default by a hair, in half the time.
GZIP_LEVEL = 5


@checks_arguments()
def write_history(history: History, path: str | os.PathLike[str]) -> None:
    """Write a history as a long table in the format that the suffix of `path` tells.

    Reading the file gives the same history, if columns of statistics are named as such and the
    format tells text from numbers (in CSV and TSV a text id that looks like a number becomes one).

    path : ends in .csv, .csv.gz, .tsv, .parquet or .jsonl
    Raises : InvalidParameterError   another suffix, or no such directory
    """
    require(isinstance(history, History), "history", "a History", type(history).__name__)
    _write_to(Path(path), history.to_polars(), format_of(Path(path), HISTORY_FORMATS))


@checks_arguments("format")
def write_table(
    frame: pl.DataFrame,
    target: str | os.PathLike[str] | IO[Any],
    *,
    format: TableFormat | None = None,
) -> None:
    """Write a table of results; NaN becomes null, and floats keep their full precision.

    A file appears whole or not at all: it is written beside its place and then moved there.

    target : path that ends in .csv, .csv.gz, .tsv, .parquet, .json or .jsonl, or a text or binary
        stream
    format : needed for a stream; for a path its suffix tells
    Raises : InvalidParameterError   another suffix, or no such directory
    """
    require(isinstance(frame, pl.DataFrame), "frame", "a Polars DataFrame", type(frame).__name__)
    allowed = get_args(TableFormat)
    if format is not None:
        require(format in allowed, "format", f"one of {', '.join(allowed)}", format)
    if isinstance(target, str | os.PathLike):
        path = Path(target)
        _write_to(path, frame, format or format_of(path, allowed))
        return
    require(hasattr(target, "write"), "target", "a path or a stream", type(target).__name__)
    require(format is not None, "format", f"one of {', '.join(allowed)} for a stream", format)
    _write_stream(target, frame, str(format))


def check_target(path: str | os.PathLike[str]) -> None:
    """Refuse a path that `write_table` would refuse, before the work is done.

    Raises : InvalidParameterError   another suffix, or no such directory
    """
    format_of(Path(path), get_args(TableFormat))
    check_place(path)


def format_of(path: Path, allowed: tuple[str, ...]) -> str:
    """Return which of these formats a name's ending tells. Raises : InvalidParameterError."""
    found = [one for one in allowed if path.name.lower().endswith(f".{one}")]
    if not found:
        endings = ", ".join(f".{one}" for one in allowed)
        raise InvalidParameterError(f"the name of a file must end in {endings}; got {str(path)!r}")
    return max(found, key=len)


def _write_to(path: Path, frame: pl.DataFrame, format: str) -> None:
    with whole_file(path) as file:
        _encode(frame, file, format)


def _write_stream(stream: IO[Any], frame: pl.DataFrame, format: str) -> None:
    buffer = io.BytesIO()
    _encode(frame, buffer, format)
    if isinstance(stream, io.TextIOBase):
        require(format not in ("parquet", "csv.gz"), "format", "text for a text stream", format)
        stream.write(buffer.getvalue().decode())
    else:
        stream.write(buffer.getvalue())


def _encode(frame: pl.DataFrame, file: IO[bytes], format: str) -> None:
    frame = frame.with_columns(cs.float().fill_nan(None))
    encoders: dict[str, Callable[[], object]] = {
        "csv": lambda: frame.write_csv(file),
        "csv.gz": lambda: _write_gzip(frame, file),
        "tsv": lambda: frame.write_csv(file, separator="\t"),
        "parquet": lambda: frame.write_parquet(file, compression="zstd", compression_level=1),
        "json": lambda: file.write(frame.write_json().encode()),
        "jsonl": lambda: frame.write_ndjson(file),
    }
    encoders[format]()


def _write_gzip(frame: pl.DataFrame, file: IO[bytes]) -> None:
    # Neither name nor time inside: the same table gives the same bytes.
    with gzip.GzipFile("", "wb", GZIP_LEVEL, file, mtime=0) as compressed:
        frame.write_csv(cast(IO[bytes], compressed))
