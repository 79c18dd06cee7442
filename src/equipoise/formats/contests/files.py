"""Files of JSON: contests or rows, in one document, one document on each line, or several files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from functools import partial
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
from equipoise.formats.table import SURROGATE, Table, refuse
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
#: What the list of matches, or that of players, is called in objects that hold one.
_LISTS_OF_MATCHES = ("matches", "games", "fixtures", "results", "data", "battles", "rows")
_LISTS_OF_PLAYERS = ("players", "lobby", "ratings")
KNOWN = "must be a list of rows, a contest, or a response of Codeforces, DMOJ or AtCoder"


def read_contest_documents(documents: Iterable[tuple[str, bytes]], kind: str | None) -> Table:
    """Return one table of documents, each of which has the name and the content of a file."""
    named = [(Origin(name, PurePosixPath(name).stem), data) for name, data in documents]
    name = listed_files([origin.file for origin, _ in named])
    return _table_of(
        ((origin, partial(_decode, data, origin)) for origin, data in named), name, kind
    )


def first_is_contest(data: bytes) -> bool:
    """Return whether the first line is a contest of a platform instead of a row of a table."""
    first = data.lstrip().partition(b"\n")[0]
    try:
        document = msgspec.json.decode(first)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return _is_contest(document)


def _is_contest(document: Any) -> bool:
    """Return whether a document is a contest of a platform, and no row of a table."""
    if holds_codeforces(document):
        # A table may have columns with these names, too.
        return document["status"] in ("OK", "FAILED")
    return any(holds(document) for holds in _HOLDS.values())


def is_list_of_rows(data: bytes) -> bool:
    """Return whether text of a single line is an object with a list of rows, and no row."""
    text = data.strip()
    if not text.startswith(b"{") or b"\n" in text:
        return False
    try:
        return _list_of_rows(msgspec.json.decode(text)) is not None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False


def read_contest_file(data: bytes, name: str, kind: str | None, *, lines: bool = False) -> Table:
    """Return the table of one file in UTF-8: a document, or one document on each line.

    kind : the platform; None detects it from the content
    lines : there is one document on each line, even if there is only one
    """
    stem = Path(name).stem
    if lines or is_lines(data):
        origins = [
            (Origin(name, stem, at), line)
            for at, line in enumerate(data.split(b"\n"), start=1)
            if line.strip()
        ]
        return _table_of(((one, partial(_decode, line, one)) for one, line in origins), name, kind)
    document = _decode(data, Origin(name, stem))
    if kind is None and not holds_atcoder(document):
        if isinstance(document, list) and not (document and _is_contest(document[0])):
            return read_json_rows(document, name)
        rows = _list_of_rows(document)
        if rows is not None:
            found = document[rows]
            found = [_flat(one) for one in found] if rows in _LISTS_OF_MATCHES else found
            table = read_json_rows(found, name)
            others = ", ".join(one for one in document if one != rows)
            note = f"read the rows of {rows}" + (f", without {others}" if others else "")
            return replace(table, notes=(*table.notes, note))
    contests = [(Origin(name, stem), document)]
    if isinstance(document, list) and kind != "atcoder" and not holds_atcoder(document):
        contests = [(Origin(name, stem, at), one) for at, one in enumerate(document, start=1)]
    return _table_of(((one, partial(_itself, held)) for one, held in contests), name, kind)


def _itself(document: Any) -> Any:
    return document


def _list_of_rows(document: Any) -> str | None:
    """Return the key of the list of rows of an object that is no contest; None if unclear."""
    if any(holds(document) for holds in _HOLDS.values()):
        return None
    lists = _lists_of_objects(document)
    if _LISTS_OF_PLAYERS[0] in lists and not {*_LISTS_OF_MATCHES} & {*lists}:
        return _LISTS_OF_PLAYERS[0]
    known = (*_LISTS_OF_MATCHES, *_LISTS_OF_PLAYERS)
    return lists[0] if len(lists) == 1 and lists[0] in known else None


def _lists_of_objects(document: Any) -> list[str]:
    """Return the keys of an object whose values are lists of objects."""
    return [
        key
        for key, value in (document.items() if isinstance(document, dict) else ())
        if isinstance(value, list) and value and all(isinstance(one, dict) for one in value)
    ]


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


def _table_of(
    documents: Iterable[tuple[Origin, Callable[[], Any]]], name: str, kind: str | None
) -> Table:
    """Return the table of documents, or raise with the problems of all of them.

    documents : where each comes from, and a function that returns it
    """
    contests: list[Contest] = []
    problems: list[Problem] = []
    kinds: set[str] = set()
    for origin, decode in documents:
        try:
            document = decode()
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
        return msgspec.json.decode(data)
    except UnicodeDecodeError as error:
        origin.refuse("must be text in UTF-8", f"the byte 0x{error.object[error.start]:02x}")
    except msgspec.DecodeError as error:
        reason = str(error)
    except RecursionError:
        origin.refuse("must be JSON", "brackets nested too deeply")
    with suppress(ValueError, RecursionError):
        # Python writes NaN, which JSON does not have, and halves of pairs, which are no text.
        document = json.loads(data)
        if SURROGATE.search(data):
            origin.refuse("must be text in UTF-8", "a lone surrogate")
        return document
    if "truncated" in reason:
        origin.refuse("must be complete JSON", "a truncated document")
    origin.refuse("must be JSON", reason)


def _kind_of(document: Any, origin: Origin) -> str:
    found = [kind for kind, holds in _HOLDS.items() if holds(document)]
    if not found:
        got = f"keys {', '.join(document)}" if isinstance(document, dict) else json.dumps(document)
        got = got if len(got) <= 200 else got[:197] + "..."
        lists = [one for one in _lists_of_objects(document) if one.isidentifier()]
        if len(lists) == 1:
            got += (
                f"; if {lists[0]} is the list of rows, give it alone (jq .{lists[0]} extracts it)"
            )
        origin.refuse(KNOWN, got)
    return found[0]


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
