"""Files of contests: a JSON document, one document on each line, or several files."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator
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
from equipoise.formats.opening.naming import listed_files
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
#: What the list of matches is called in objects that hold one.
_LISTS_OF_MATCHES = ("matches", "games", "fixtures", "results", "data", "battles", "rows")
KNOWN = "must be a contest, or a response of Codeforces, DMOJ or AtCoder"


def read_contest_documents(documents: Iterable[tuple[str, bytes]], kind: str | None) -> Table:
    """Return one table of documents, each of which has the name and the content of a file."""
    named = [(Origin(name, PurePosixPath(name).stem), data) for name, data in documents]
    return _table_of(iter(named), listed_files([origin.file for origin, _ in named]), kind)


def first_is_contest(data: bytes) -> bool:
    """Return whether the first line is a contest of a platform instead of a row of a table."""
    first = data.removeprefix(b"\xef\xbb\xbf").lstrip().partition(b"\n")[0]
    try:
        document = msgspec.json.decode(first)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    if isinstance(document, dict) and holds_codeforces(document):
        # A table may have columns with these names, too.
        return document["status"] in ("OK", "FAILED")
    return any(holds(document) for holds in _HOLDS.values())


def read_contest_file(data: bytes, name: str, kind: str | None, *, lines: bool = False) -> Table:
    """Return the table of one file: a document, or one document on each line.

    kind : the platform; None detects it from the content
    lines : there is one document on each line, even if there is only one
    """
    data = data.removeprefix(b"\xef\xbb\xbf")
    origin = Origin(name, Path(name).stem)
    if lines or is_lines(data):
        documents = [
            (Origin(name, origin.stem, at), line)
            for at, line in enumerate(data.split(b"\n"), start=1)
            if line.strip()
        ]
        return _table_of(iter(documents), name, kind)
    if kind is None:
        document = _decode(data, origin)
        if isinstance(document, list) and not holds_atcoder(document):
            return read_json_rows(document, name)
        rows = _only_list(document)
        if rows is not None:
            table = read_json_rows([_flat(one) for one in document[rows]], name)
            others = ", ".join(one for one in document if one != rows)
            note = f"read the rows of {rows}" + (f", without {others}" if others else "")
            return replace(table, notes=(*table.notes, note))
    return _table_of(iter([(origin, data)]), name, kind)


def _only_list(document: Any) -> str | None:
    """Return the key of the only list of objects of an object that is no contest, else None."""
    if not isinstance(document, dict) or any(holds(document) for holds in _HOLDS.values()):
        return None
    lists = [
        key
        for key, value in document.items()
        if isinstance(value, list) and value and all(isinstance(one, dict) for one in value)
    ]
    return lists[0] if len(lists) == 1 and lists[0] in _LISTS_OF_MATCHES else None


def _flat(row: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return a row whose nested objects have columns of their own, such as score.ft.

    A list of two whole numbers becomes text such as 4-1, as scores are written.
    """
    flat: dict[str, Any] = {}
    for key, value in row.items():
        if isinstance(value, dict):
            flat |= _flat(value, f"{prefix}{key}.")
        elif isinstance(value, list) and len(value) == 2 and {*map(type, value)} == {int}:
            flat[f"{prefix}{key}"] = f"{value[0]}-{value[1]}"
        else:
            flat[f"{prefix}{key}"] = value
    return flat


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
        got = got if len(got) <= 200 else got[:197] + "..."
        origin.refuse(KNOWN, got + _rows_within(document, origin.file))
    return found[0]


def _rows_within(document: Any, file: str) -> str:
    """Return how to get at the one list of objects in a document, as the end of a message."""
    lists = [
        key
        for key, value in (document.items() if isinstance(document, dict) else ())
        if key.isascii()
        and key.isidentifier()
        and isinstance(value, list)
        and value
        and all(isinstance(one, dict) for one in value)
    ]
    if len(lists) != 1:
        return ""
    names = f"{shlex.quote(file or 'FILE.json')} > {lists[0]}.json"
    return f"; if {lists[0]} is the list of rows: jq .{lists[0]} {names}"


def is_lines(data: bytes) -> bool:
    """Return whether the first line is a complete document and other lines follow."""
    first, _, rest = data.lstrip().partition(b"\n")
    if not rest.strip() or not first.rstrip().endswith(b"}"):
        return False
    try:
        msgspec.json.decode(first)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True
