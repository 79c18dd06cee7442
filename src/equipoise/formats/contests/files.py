"""Files of contests: a JSON document, one document on each line, a directory or an archive."""

from __future__ import annotations

import io
import json
import lzma
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from equipoise.errors import InvalidDataError, Problem
from equipoise.formats.contests.contests import Contest, Origin, ReadContests, contest_table
from equipoise.formats.contests.platforms import (
    holds_atcoder,
    holds_codeforces,
    holds_contest_json,
    holds_dmoj,
    read_atcoder,
    read_codeforces,
    read_contest_json,
    read_dmoj,
)
from equipoise.formats.table import Table, refuse
from equipoise.formats.tables.json_lines import read_json_rows

READERS: dict[str, ReadContests] = {
    "contests": read_contest_json,
    "codeforces": read_codeforces,
    "dmoj": read_dmoj,
    "atcoder": read_atcoder,
}
_HOLDS = {
    "contests": holds_contest_json,
    "codeforces": holds_codeforces,
    "dmoj": holds_dmoj,
    "atcoder": holds_atcoder,
}
KNOWN = "must be a contest, or a response of Codeforces, DMOJ or AtCoder"
ZIP_MAGIC = b"PK"
#: Everything that zipfile raises for archives that are damaged, encrypted or use a rare
#: compression.
_BAD_ARCHIVE = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    OSError,
    RuntimeError,
    ValueError,
)


def read_contest_directory(path: Path, kind: str | None) -> Table:
    """Return the table of all .json files of a directory, in the order of their names."""
    name = str(path)
    files = sorted(one for one in path.iterdir() if one.suffix.lower() == ".json")
    if not files:
        refuse(name, "must be a directory with .json files of contests", "none")
    documents = ((Origin(str(one), one.stem), one.read_bytes()) for one in files)
    return _table_of(documents, name, kind)


def read_contest_file(data: bytes, name: str, kind: str | None) -> Table:
    """Return the table of one file: an archive, a document, or one document on each line.

    kind : the platform; None detects it from the content
    """
    if data.startswith(ZIP_MAGIC) or name.lower().endswith(".zip"):
        return _table_of(_archived(data, name), name, kind)
    data = data.removeprefix(b"\xef\xbb\xbf")
    origin = Origin(name, Path(name).stem)
    if name.lower().endswith((".jsonl", ".ndjson", ".jsonl.gz")) or _is_lines(data):
        lines = data.split(b"\n")
        documents = [
            (Origin(name, origin.stem, at), line)
            for at, line in enumerate(lines, start=1)
            if line.strip()
        ]
        return _table_of(iter(documents), name, kind)
    if kind is None:
        document = _decode(data, origin)
        if isinstance(document, list) and not holds_atcoder(document):
            return read_json_rows(document, name)
    return _table_of(iter([(origin, data)]), name, kind)


def _table_of(documents: Iterator[tuple[Origin, bytes]], name: str, kind: str | None) -> Table:
    """Return the table of documents, or raise with the problems of all of them."""
    contests: list[Contest] = []
    problems: list[Problem] = []
    kinds: set[str] = set()
    for origin, data in documents:
        try:
            document = _decode(data, origin)
            chosen = kind or _kind_of(document, origin)
            contests.extend(READERS[chosen](document, origin))
            kinds.add(chosen)
        except InvalidDataError as error:
            problems.extend(error.problems)
    if problems:
        raise InvalidDataError(problems)
    table = contest_table(contests, name)
    if not len(table.frame):
        refuse(name, "must have at least one rated participant", "none")
    return replace(table, format=kinds.pop() if len(kinds) == 1 else "contests")


def _decode(data: bytes, origin: Origin) -> Any:
    try:
        return msgspec.json.decode(data.removeprefix(b"\xef\xbb\xbf"))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        reason = str(error)
    except RecursionError:
        reason = "brackets nested too deeply"
    if "truncated" in reason:
        origin.refuse("must be complete JSON", "a truncated document")
    origin.refuse("must be JSON", reason)


def _kind_of(document: Any, origin: Origin) -> str:
    found = [kind for kind, holds in _HOLDS.items() if holds(document)]
    if not found:
        got = f"keys {', '.join(document)}" if isinstance(document, dict) else json.dumps(document)
        origin.refuse(KNOWN, got if len(got) <= 200 else got[:197] + "...")
    return found[0]


def _is_lines(data: bytes) -> bool:
    """Return whether the first line is a complete document and other lines follow."""
    first, _, rest = data.lstrip().partition(b"\n")
    if not rest.strip() or not first.rstrip().endswith(b"}"):
        return False
    try:
        msgspec.json.decode(first)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True


def _archived(data: bytes, name: str) -> Iterator[tuple[Origin, bytes]]:
    """Yield the .json members of an archive in the order of their names."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            # macOS adds a folder with metadata.
            members = {
                one: archive.read(one)
                for one in sorted(archive.namelist())
                if one.lower().endswith(".json") and not one.startswith("__MACOSX/")
            }
    except _BAD_ARCHIVE as error:
        refuse(name, "must be a complete, readable zip archive", str(error))
    if not members:
        refuse(name, "must be an archive with .json files of contests", "none")
    for one, content in members.items():
        yield Origin(f"{name}/{one}", PurePosixPath(one).stem), content
