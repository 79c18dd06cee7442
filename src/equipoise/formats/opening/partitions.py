"""Partitioned data sets: files in folders whose names hold the value of a column.

`mode=ranked/region=eu/part-0.parquet` has rows with these two values. Hive, Spark, DuckDB and
Polars write such folders. Characters that a path cannot have are written as %XX, and a missing
value has a name of its own.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from glob import has_magic
from pathlib import Path, PurePosixPath
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

import polars as pl

from equipoise.formats.opening.contents import matching
from equipoise.formats.opening.kinds import format_of, is_address
from equipoise.formats.opening.naming import natural
from equipoise.formats.opening.remote import READABLE
from equipoise.formats.table import refuse

#: The name of a missing value, as Hive writes it.
MISSING = "__HIVE_DEFAULT_PARTITION__"

#: Characters that are escaped: those that Hive escapes, and what file systems forbid.
_ESCAPED = re.compile(r"[\x00-\x1f\x7f\"#%'*/:<=>?\\^|{}\[\]]")
_PATH = "equipoise_path_of_the_file"


class PartitionFile(NamedTuple):
    """A file of a data set, and the values in the names of its folders; None is a missing value."""

    path: str
    values: dict[str, str | None]


def folder_name(column: str, value: str | None) -> str:
    """Return the name of the folder for a value of a column."""
    return f"{_escaped(column)}={MISSING if value is None else _escaped_value(value)}"


def _escaped(text: str) -> str:
    return _ESCAPED.sub(lambda found: f"%{ord(found[0]):02X}", text)


def _escaped_value(value: str) -> str:
    return "%5F" + value[1:] if value == MISSING else _escaped(value)


def values_of(path: str) -> dict[str, str | None]:
    """Return the values in the names of the folders of a path."""
    parts = PurePosixPath(urlsplit(path).path if is_address(path) else Path(path).as_posix()).parts
    found: dict[str, str | None] = {}
    for part in parts[:-1]:
        column, equals, value = part.partition("=")
        if column and equals:
            found[unquote(column)] = None if value in (MISSING, "") else unquote(value)
    return found


def partition_files(source: object) -> list[PartitionFile]:
    """Return the files of a partitioned data set in natural order; none if it is not partitioned.

    source : a path of a folder or file, a pattern, an address (of one object, or of many:
        s3://bucket/folder/ and patterns), or a list of these
    Raises : InvalidDataError   objects cannot be listed
    """
    given = source if isinstance(source, list | tuple) else [source]
    texts = [one for one in given if isinstance(one, str)]
    if len(texts) < len(given):
        return []
    files = [PartitionFile(path, values_of(path)) for one in texts for path in _paths(one)]
    return files if any(one.values for one in files) else []


def _paths(source: str) -> Sequence[str]:
    if is_address(source):
        several = has_magic(source) or source.endswith("/")
        return _objects(source) if several and not source.lower().startswith("http") else [source]
    path = Path(source)
    if path.is_dir():
        return sorted(_below(path), key=natural)
    if not path.exists() and has_magic(source):
        return sorted((one for one in matching(source) if Path(one).is_file()), key=natural)
    return [source]


def _below(folder: Path) -> Iterator[str]:
    """Yield the files below a folder that readers know, without hidden ones and marks of others."""
    for place, folders, names in os.walk(folder):
        folders[:] = [one for one in folders if not one.startswith((".", "_"))]
        for name in names:
            # Spark and others leave files such as _SUCCESS.
            if not name.startswith((".", "_")) and format_of(Path(name)) is not None:
                yield str(Path(place, name))


def _objects(address: str) -> list[str]:
    """Return the Parquet objects of a cloud below an address, or of a pattern."""
    pattern = address if has_magic(address) else f"{address}**/*.parquet"
    try:
        # Nothing but the footers of the files is read for this.
        found = (
            pl.scan_parquet(
                pattern,
                include_file_paths=_PATH,
                hive_partitioning=False,
                missing_columns="insert",
                extra_columns="ignore",
            )
            .select(pl.col(_PATH).unique())
            .collect()
        )
    except (pl.exceptions.PolarsError, OSError) as error:
        reason = str(error).strip().splitlines() or [type(error).__name__]
        refuse(address, READABLE, reason[0])
    return sorted(found[_PATH].to_list(), key=natural)
