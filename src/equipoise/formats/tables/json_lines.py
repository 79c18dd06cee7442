"""Reads JSON Lines, with one object for each row, into a table."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from typing import Any

import polars as pl

from equipoise.arrays import Ints
from equipoise.formats.table import (
    SURROGATE,
    BrokenRow,
    Table,
    check_cells,
    refuse,
    shown,
)
from equipoise.formats.tables.frames import series_of

OBJECT = "must be one JSON object"


def read_json_lines(data: bytes, name: str) -> Table:
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

    def locate(at: Ints) -> list[tuple[str, int | None]]:
        return [(name, lines[row]) for row in at.tolist()]

    if len(broken) == len(rows):
        refuse(name, OBJECT, broken[0].got, line=lines[0])
    return replace(_table(rows, name), locate=locate, broken_rows=tuple(broken), format="jsonl")


def read_json_rows(documents: list[Any], name: str) -> Table:
    """Return the table of a JSON list with one object for each row."""
    broken = tuple(
        BrokenRow(at, "", OBJECT, shown(one))
        for at, one in enumerate(documents)
        if not isinstance(one, dict)
    )
    if broken and len(broken) == len(documents):
        refuse(name, OBJECT, broken[0].got, line=1)
    rows = [one if isinstance(one, dict) else {} for one in documents]
    return replace(_table(rows, name), broken_rows=broken, format="json")


def _table(rows: list[dict[str, Any]], name: str) -> Table:
    keys = _keys(rows)
    check_cells(len(rows), len(keys), name)
    return Table(
        frame=pl.DataFrame([_column(key, rows) for key in keys]),
        name=name,
        nested=tuple(key for key in keys if _is_nested(key, rows)),
    )


def _is_nested(key: str, rows: list[dict[str, Any]]) -> bool:
    """Return whether all values of a key are lists or objects, as those of no column are."""
    values = [value for row in rows if (value := row.get(key)) is not None]
    return bool(values) and all(isinstance(value, list | dict) for value in values)


def _keys(rows: list[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(key for row in rows for key in row))


def _column(key: str, rows: list[dict[str, Any]]) -> pl.Series:
    values = [row.get(key) for row in rows]
    kinds = {type(value) for value in values} - {type(None)}
    if kinds <= {int} or kinds <= {int, float} or kinds <= {bool}:
        return series_of(
            key,
            [
                float(value) if kinds == {int, float} and value is not None else value
                for value in values
            ],
        )
    texts = [
        value if value is None or isinstance(value, str) else json.dumps(value) for value in values
    ]
    return pl.Series(key, texts, dtype=pl.String)
