"""Reads JSON: rows or contests, in one document, one document on each line, or several files."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec
import polars as pl

from equipoise.errors import InvalidDataError, Problem
from equipoise.formats.contests import (
    Contest,
    Origin,
    ReadContests,
    contest_table,
    holds_atcoder,
    holds_codeforces,
    holds_contest_json,
    holds_dmoj,
    read_atcoder,
    read_codeforces,
    read_contest_json,
    read_dmoj,
)
from equipoise.formats.frames import series_of
from equipoise.formats.joining import listed_files
from equipoise.formats.table import SURROGATE, BrokenRow, Table, check_cells, refuse, shown

OBJECT = "must be one JSON object"


def read_json(data: bytes, name: str, format: str) -> Table:
    """Return the table of a file in UTF-8: rows or contests, in one document or one on each line.

    format : "json", "jsonl" or a platform
    """
    first, _, rest = data.lstrip().partition(b"\n")
    several = bool(rest.strip())
    document = None
    if format == "jsonl" or (several and first.rstrip().endswith(b"}")):
        # A first line that is a document, with others below it, is the first of many.
        with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            document = msgspec.json.decode(first)
    if format == "jsonl" and not several and _list_of_rows(document) is not None:
        return _read_documents(data, name, None, lines=False)
    if format == "jsonl" or (format == "json" and isinstance(document, dict)):
        if not _is_contest(document):
            return _read_lines(data, name)
        return _read_documents(data, name, None, lines=True)
    kind = None if format == "json" else format
    return _read_documents(data, name, kind, lines=isinstance(document, dict))


def _read_lines(data: bytes, name: str) -> Table:
    """Return the table of a file in UTF-8 with one JSON object on each line."""
    if data.isspace() or not data:
        refuse(name, "must hold at least one row", "an empty file")
    _refuse_half_pairs(data, name)
    frame = _fast(data)
    if frame is not None:
        return Table(frame=frame, name=name, format="jsonl")
    return _careful(data, name)


def _fast(data: bytes) -> pl.DataFrame | None:
    """Return the rows if all lines are flat objects of plain types, else None."""
    try:
        frame = pl.read_ndjson(io.BytesIO(data), infer_schema_length=None)
    except pl.exceptions.PolarsError:
        return None
    plain = (pl.Int64, pl.Float64, pl.String, pl.Boolean, pl.Null)
    if not all(dtype in plain for dtype in frame.dtypes):
        return None
    # Blank lines are not rows, so lines are counted only if there are none.
    lines = data.count(b"\n") + (not data.endswith(b"\n"))
    return frame if lines == len(frame) else None


def _refuse_half_pairs(data: bytes, name: str) -> None:
    """Refuse an escape of half of a surrogate pair. Polars reads all of them as NUL."""
    if not SURROGATE.search(data):
        return
    for at, text in enumerate(data.split(b"\n")):
        if not SURROGATE.search(text):
            continue
        try:
            json.dumps(json.loads(text), ensure_ascii=False).encode()
        except UnicodeEncodeError:
            refuse(name, "must be text in UTF-8", "a lone surrogate", line=at + 1)
        except (ValueError, RecursionError):
            continue  # no JSON: it is refused as such


def _careful(data: bytes, name: str) -> Table:
    rows: list[dict[str, Any]] = []
    lines: list[int] = []
    broken: list[BrokenRow] = []
    texts = data.split(b"\n")
    last = max(at for at, text in enumerate(texts) if text.strip())
    for at, text in enumerate(texts):
        if not text.strip():
            continue
        try:
            row = json.loads(text)
        except UnicodeDecodeError as error:
            got = f"the byte 0x{text[error.start]:02x}"
            refuse(name, "must be text in UTF-8", got, line=at + 1)
        except ValueError as error:
            is_longer = isinstance(error, json.JSONDecodeError) and error.msg == "Extra data"
            is_last = at == last and len(texts) == last + 1
            if is_last and not is_longer and text.lstrip().startswith(b"{"):
                refuse(name, "must be complete", "a truncated last line", line=at + 1)
            row = str(error)
        except RecursionError:
            row = None  # nested too deeply: not an object of plain values
        if not isinstance(row, dict):
            got = shown(text.decode("utf-8", "replace")[:80])
            broken.append(BrokenRow(len(rows), "", OBJECT, got))
            row = {}
        rows.append(row)
        lines.append(at + 1)

    if len(broken) == len(rows):
        refuse(name, OBJECT, broken[0].got, line=lines[0])
    return replace(_table(rows, name), lines=lines, broken_rows=tuple(broken), format="jsonl")


def read_json_rows(documents: list[Any], name: str) -> Table:
    """Return the table of a JSON list with one object for each row."""
    broken = tuple(
        BrokenRow(at, "", OBJECT, shown(document))
        for at, document in enumerate(documents)
        if not isinstance(document, dict)
    )
    if broken and len(broken) == len(documents):
        refuse(name, OBJECT, broken[0].got, line=1)
    rows = [document if isinstance(document, dict) else {} for document in documents]
    return replace(_table(rows, name), broken_rows=broken, format="json")


def _table(rows: list[dict[str, Any]], name: str) -> Table:
    keys = list(dict.fromkeys(key for row in rows for key in row))
    check_cells(len(rows), len(keys), name)
    columns, nested = [], []
    for key in keys:
        values = [row.get(key) for row in rows]
        kinds = {type(value) for value in values} - {type(None)}
        columns.append(_column(key, values, kinds))
        # Lists or objects alone are the values of no column.
        if kinds and kinds <= {list, dict}:
            nested.append(key)
    return Table(frame=pl.DataFrame(columns), name=name, nested=tuple(nested))


def _column(key: str, values: list[Any], kinds: set[type]) -> pl.Series:
    if kinds == {int, float}:
        # A number that no float can hold stays as it is; it is a problem of its row later.
        with suppress(OverflowError):
            values = [None if value is None else float(value) for value in values]
    if kinds <= {int, float} or kinds <= {bool}:
        return series_of(key, values)
    texts = [
        value if value is None or isinstance(value, str) else json.dumps(value) for value in values
    ]
    return pl.Series(key, texts, dtype=pl.String)


#: Platform -> whether a document is one of its answers, and what turns it into contests.
_PLATFORMS: dict[str, tuple[Callable[[Any], bool], ReadContests]] = {
    "contests": (holds_contest_json, read_contest_json),
    "codeforces": (holds_codeforces, read_codeforces),
    "dmoj": (holds_dmoj, read_dmoj),
    "atcoder": (holds_atcoder, read_atcoder),
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


def _is_contest(document: Any) -> bool:
    """Return whether a document is a contest of a platform, and no row of a table."""
    if holds_codeforces(document):
        # A table may have columns with these names, too.
        return document["status"] in ("OK", "FAILED")
    return any(holds(document) for holds, _ in _PLATFORMS.values())


def _read_documents(data: bytes, name: str, kind: str | None, *, lines: bool) -> Table:
    """Return the table of one file: a document, or one document on each line.

    kind : the platform; None detects it from the content
    """
    stem = Path(name).stem
    if lines:
        origins = [
            (Origin(name, stem, at), line)
            for at, line in enumerate(data.split(b"\n"), start=1)
            if line.strip()
        ]
        return _table_of(
            ((content, partial(_decode, line, content)) for content, line in origins), name, kind
        )
    document = _decode(data, Origin(name, stem))
    if kind is None and not holds_atcoder(document):
        if isinstance(document, list) and not (document and _is_contest(document[0])):
            return read_json_rows(document, name)
        rows = _list_of_rows(document)
        if rows is not None:
            rows_found = document[rows]
            rows_found = (
                [_flat(row) for row in rows_found] if rows in _LISTS_OF_MATCHES else rows_found
            )
            table = read_json_rows(rows_found, name)
            others = ", ".join(key for key in document if key != rows)
            note = f"read the rows of {rows}" + (f", without {others}" if others else "")
            return replace(table, notes=(*table.notes, note))
    contests = [(Origin(name, stem), document)]
    if isinstance(document, list) and kind != "atcoder" and not holds_atcoder(document):
        contests = [
            (Origin(name, stem, at), contest) for at, contest in enumerate(document, start=1)
        ]
    return _table_of(
        ((origin, partial(lambda held: held, contest)) for origin, contest in contests), name, kind
    )


def _list_of_rows(document: Any) -> str | None:
    """Return the key of the list of rows of an object that is no contest; None if unclear."""
    if any(holds(document) for holds, _ in _PLATFORMS.values()):
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
        if isinstance(value, list) and value and all(isinstance(item, dict) for item in value)
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
            contests.extend(_PLATFORMS[chosen][1](document, origin))
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
    kinds = [kind for kind, (holds, _) in _PLATFORMS.items() if holds(document)]
    if not kinds:
        got = f"keys {', '.join(document)}" if isinstance(document, dict) else json.dumps(document)
        got = got if len(got) <= 200 else got[:197] + "..."
        lists = [name for name in _lists_of_objects(document) if name.isidentifier()]
        if len(lists) == 1:
            got += (
                f"; if {lists[0]} is the list of rows, give it alone (jq .{lists[0]} extracts it)"
            )
        origin.refuse(KNOWN, got)
    return kinds[0]
