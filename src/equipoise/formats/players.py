"""Reads tables with one player on each row: a lobby, or initial ratings.

They have the columns `player` and `rating`, and further numbers that some rows may lack.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Sequence
from typing import Literal, TypeAlias

import polars as pl

from equipoise.arrays import Floats
from equipoise.errors import InvalidDataError, Problem
from equipoise.formats.findings import Fault, Findings, faulty_rows
from equipoise.formats.opening.contents import Content, contents_of, is_source
from equipoise.formats.sources import check_format, open_source, table_of
from equipoise.formats.table import SURROGATE, Table, refuse, shown
from equipoise.formats.tables.columns import NUMBER, read_numbers, required_ids
from equipoise.formats.tables.json_lines import read_json_rows
from equipoise.wording import counted

#: Which rows may lack a number.
Lack: TypeAlias = Literal["none", "all", "any"]


def open_players(source: object, format: str | None) -> Table:
    """Return the table of a source; JSON must be a list of objects, not a contest."""
    if not is_source(source):
        return open_source(source, format)
    check_format(format)
    contents = contents_of(source, format)
    if len(contents) == 1 and _is_document(contents[0]):
        return _json_table(contents[0].content(), contents[0].name)
    return table_of(contents)


def _is_document(content: Content) -> bool:
    """Return whether a file is a JSON document, not one object on each line."""
    if content.format != "jsonl":
        return content.format == "json"
    data = content.content().strip()
    return b"\n" not in data and re.match(rb"\{\s*\"players\"\s*:\s*\[", data) is not None


def _json_table(data: bytes, name: str) -> Table:
    """Return the table of a JSON list with one object for each player."""
    try:
        document = json.load(io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig"))
    except UnicodeDecodeError as error:
        refuse(name, "must be text in UTF-8", f"the byte 0x{error.object[error.start]:02x}")
    except (ValueError, RecursionError) as error:
        refuse(name, "must be JSON", str(error))
    if SURROGATE.search(data):
        try:
            json.dumps(document, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            refuse(name, "must be text in UTF-8", "a lone surrogate")
    if isinstance(document, dict) and isinstance(document.get("players"), list):
        document = document["players"]
    if not isinstance(document, list):
        refuse(name, "must be a list", shown(document))
    table = read_json_rows(document, name)
    if not table.frame.width and table.broken_rows:
        row, _, rule, got = table.broken_rows[0]
        refuse(name, rule, got, line=row + 1)
    return table


def check_player_columns(table: Table, what: str) -> None:
    """Refuse a table without players or ratings; `what` it is. Raises : InvalidDataError."""
    frame = table.frame
    got = "columns " + ", ".join(frame.columns) if frame.columns else "no columns"
    problems = [
        Problem(table.name, None, name, "must be a column of the table", got)
        for name in ("player", "rating")
        if name not in frame.columns
    ]
    if not problems and not len(frame):
        problems.append(Problem(table.name, None, "", "must have at least one row", "none"))
    refuse_problems(problems, table, what)


def player_ids(table: Table, findings: Findings) -> pl.Series:
    """Return the ids of the players; rows without one are added to the findings."""
    ids, faults = required_ids(table.frame["player"], table.untyped)
    findings.add_faults("player", faults, table.frame["player"])
    return ids


def player_numbers(
    table: Table, name: str, findings: Findings, *, may_lack: Lack = "none"
) -> Floats:
    """Return a column of numbers, NaN where a row has none; bad cells are added to the findings.

    may_lack : which rows may have no number; "all" means all rows or none
    """
    column = table.frame[name]
    values, absent, faults = read_numbers(column, nan_is_absent=may_lack != "none")
    findings.add_faults(name, faults, column)
    if absent is None or may_lack == "any" or (may_lack == "all" and absent.all()):
        return values
    missing = absent & ~faulty_rows(faults, len(values))
    findings.add_faults(name, [Fault(missing, NUMBER)], column)
    return values


def heading(problems: Sequence[Problem], table: Table, what: str) -> str:
    """Return the sentence above a list of problems of a table; `what` it is without a name."""
    return f"{counted(len(problems), 'problem')} in {table.name or what}"


def refuse_problems(problems: Sequence[Problem], table: Table, what: str) -> None:
    """Raise with all problems, if there are any. Raises : InvalidDataError."""
    if problems:
        raise InvalidDataError(problems, heading(problems, table, what))
