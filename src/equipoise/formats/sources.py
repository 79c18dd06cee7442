"""Opens any source as a table with the reader of its format, by its name or first bytes."""

from __future__ import annotations

import gzip
import io
import os
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from equipoise.errors import InvalidParameterError
from equipoise.formats.contests.files import read_contest_directory, read_contest_file
from equipoise.formats.table import NO_FILE, Table, refuse, refuse_unreadable
from equipoise.formats.tables.delimited import read_delimited
from equipoise.formats.tables.frames import (
    ARROW_MAGIC,
    PARQUET_MAGIC,
    read_arrow,
    read_frame,
    read_parquet,
)
from equipoise.formats.tables.json_lines import holds_contests, read_json_lines

Format: TypeAlias = Literal[
    "csv",
    "csv.gz",
    "tsv",
    "tsv.gz",
    "parquet",
    "arrow",
    "jsonl",
    "jsonl.gz",
    "json",
    "contests",
    "codeforces",
    "dmoj",
    "atcoder",
]
CONTEST_FORMATS = ("json", "contests", "codeforces", "dmoj", "atcoder")
_SUFFIXES: dict[str, Format] = {
    ".csv": "csv",
    ".csv.gz": "csv.gz",
    ".tsv": "tsv",
    ".tsv.gz": "tsv.gz",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".jsonl.gz": "jsonl.gz",
    ".json": "json",
    ".zip": "json",
}
#: First bytes of files that often have a wrong suffix.
_MAGIC = {
    PARQUET_MAGIC: "a Parquet file",
    ARROW_MAGIC: "an Arrow file",
    b"\x1f\x8b": "a gzip file",
    b"PK\x03\x04": "a zip file",
    b"\x28\xb5\x2f\xfd": "a zstd file",
    b"SQLite format 3": "an SQLite database",
}


def open_source(source: object, format: str | None) -> Table:
    """Return the table of a source.

    Raises : InvalidParameterError   the kind of source is unclear
    Raises : InvalidDataError        it does not have this format, or cannot be read
    """
    if format is not None and format not in get_args(Format):
        raise InvalidParameterError(
            f"format must be one of {', '.join(get_args(Format))}; got {format!r}"
        )
    if isinstance(source, str) and source == "-":
        source = sys.stdin.buffer
    if isinstance(source, str | os.PathLike):
        return _open_path(Path(source), format)
    if hasattr(source, "read"):
        return _open_stream(source, format)
    table = read_frame(source)
    if table is None:
        raise InvalidParameterError(
            "source must be a path, a stream, a data frame or a mapping of columns; "
            f"got {type(source).__name__}"
        )
    return table


def format_of(path: Path) -> Format | None:
    """Return the format by the suffix of a file's name, or None."""
    name = path.name.lower()
    found = [suffix for suffix in _SUFFIXES if name.endswith(suffix)]
    return _SUFFIXES[max(found, key=len)] if found else None


def _open_path(path: Path, format: str | None) -> Table:
    name = str(path)
    try:
        if path.is_dir():
            return read_contest_directory(path, None if format == "json" else format)
        if not path.exists():
            refuse(name, NO_FILE, "")
        chosen = format or format_of(path)
        if chosen is None:
            raise InvalidParameterError(
                f"format must be given, because the name of {name} does not end in one of "
                f"{', '.join(_SUFFIXES)}"
            )
        if chosen == "parquet":
            return read_parquet(path, name)
        if chosen == "arrow":
            return read_arrow(path, name)
        return open_bytes(path.read_bytes(), name, chosen)
    except OSError as error:
        refuse_unreadable(name, error)


def _open_stream(stream: Any, format: str | None) -> Table:
    if format is None:
        raise InvalidParameterError(
            f"format must be given for a stream: one of {', '.join(get_args(Format))}"
        )
    return open_bytes(*read_stream(stream), format)


def read_stream(stream: Any) -> tuple[bytes, str]:
    """Return the content of a stream, and its name ("" if it has none)."""
    label = getattr(stream, "name", None)
    name = label if isinstance(label, str) and label != "<stdin>" else ""
    if stream is sys.stdin.buffer or stream is sys.stdin:
        name = "standard input"
    try:
        data = stream.read()
    except UnicodeDecodeError as error:
        refuse(name, "must be text in UTF-8", f"the byte 0x{error.object[error.start]:02x}")
    except OSError as error:
        refuse(name, "must be a readable stream", str(error))
    if isinstance(data, str):
        data = data.encode("utf-8", "surrogatepass")
    return bytes(data), name


def open_bytes(data: bytes, name: str, format: str) -> Table:
    """Return the table in the content of a file.

    Raises : InvalidDataError   it does not have this format, or cannot be read
    """
    if format == "parquet":
        return read_parquet(data, name)
    if format == "arrow":
        return read_arrow(data, name)
    if not data:
        refuse(name, "must hold at least one row", "an empty file")
    if format.endswith(".gz"):
        data = decompressed(data, name)
        format = format.removesuffix(".gz")
    if format in CONTEST_FORMATS:
        return read_contest_file(data, name, None if format == "json" else format)
    _refuse_misnamed(data, name, format)
    if format == "jsonl" and holds_contests(data):
        return read_contest_file(data, name, "contests")
    readers: dict[str, Callable[[], Table]] = {
        "csv": lambda: read_delimited(data, name, ","),
        "tsv": lambda: read_delimited(data, name, "\t"),
        "jsonl": lambda: read_json_lines(data, name),
    }
    return readers[format]()


def decompressed(data: bytes, name: str) -> bytes:
    """Return the content of a gzip file."""
    if not data.startswith(b"\x1f\x8b"):
        refuse(name, "must be a gzip file", _what(data))
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            return file.read()
    except EOFError:
        refuse(name, "must be a complete gzip file", "a truncated file")
    except (OSError, zlib.error) as error:
        refuse(name, "must be a readable gzip file", str(error))


def _refuse_misnamed(data: bytes, name: str, format: str) -> None:
    what = _what(data)
    if what != "text":
        refuse(name, f"must be text in the format {format}", what)


def _what(data: bytes) -> str:
    for start, what in _MAGIC.items():
        if data.startswith(start):
            return what
    return (
        "a binary file" if b"\0" in data[:1024] and data[:1] not in (b"\xff", b"\xfe") else "text"
    )
