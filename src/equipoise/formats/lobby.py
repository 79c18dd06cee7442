"""Reads lobby tables: players who wait for teams, with their parties, locks and avoid pairs.

Columns: `player` and `rating`; optionally `deviation`, without which players are balanced by rating
alone; `effective_rating`, or else `form`, from which it is computed; `party`; `team` (a lock); and
`avoid`, the ids of other players, separated by semicolons or as a list if the format has lists. A
table of ratings has the same columns; its other columns are ignored.
"""

from __future__ import annotations

import csv
import io
import json
import os
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from equipoise.arguments import checks_arguments
from equipoise.arrays import Floats, Ids
from equipoise.data.lobby import ONCE, Lobby
from equipoise.data.ratings import EffectiveRating
from equipoise.errors import InvalidDataError, InvalidParameterError, NotFoundError, Problem
from equipoise.formats.findings import Fault, Findings, faulty_rows
from equipoise.formats.sources import format_of, open_source
from equipoise.formats.table import Table, refuse, refuse_unreadable, shown
from equipoise.formats.tables.columns import NUMBER, Numbers, read_ids, read_numbers, required_ids
from equipoise.formats.tables.json_lines import read_json_rows
from equipoise.wording import counted

SEPARATOR = ";"


@checks_arguments()
def read_lobby(source: object, *, format: str | None = None) -> Lobby:
    """Return the lobby of a source.

    source : path of a file (.csv, .tsv, .json, .jsonl, .parquet, ...), "-" or a stream (with
        `format`), a Polars, pandas or Arrow table, or a mapping of column name to array
    format : format of the source, if its name does not show it
    Raises : InvalidDataError        there are problems; lists all of them
    Raises : InvalidParameterError   wrong usage

    Examples
    --------
    >>> eq.read_lobby("examples/lobby.csv")
    <Lobby: 10 players, the top player amber-fox>
    """
    table = open_players(source, format)
    return _lobby_of(table, table.frame)


def read_lobby_of(source: object, players: Sequence[str], *, format: str | None = None) -> Lobby:
    """Return the lobby of some players of a table of ratings, in the order in which they are named.

    Raises : NotFoundError      players have no rating; names all of them
    Raises : InvalidDataError   a player is named twice, or has a bad value
    """
    table = open_players(source, format)
    check_player_columns(table, table.frame)
    ids = read_ids(table.frame["player"], table.untyped)[0].cast(pl.String).to_list()
    row_of = {one: row for row, one in enumerate(ids) if one is not None}
    missing = [one for one in players if one not in row_of]
    if missing:
        where = f" of {table.name}" if table.name else ""
        raise NotFoundError(
            f"not among the {counted(len(row_of), 'rated player')}{where}: {', '.join(missing)}. "
            "A table of ratings does not say how newcomers start; a saved state does (--state)"
        )
    twice = [one for one, count in Counter(players).items() if count > 1]
    if twice:
        raise InvalidDataError([Problem("--players", None, "player", ONCE, one) for one in twice])
    rows = np.array([row_of[one] for one in players], dtype=np.int64)
    chosen = Table(
        frame=table.frame[rows],
        name=table.name,
        untyped=table.untyped,
        locate=lambda at: table.places(rows[at]),
    )
    return _lobby_of(chosen, chosen.frame)


def open_players(source: object, format: str | None) -> Table:
    """Return the table of a source; JSON must be a list of objects, not a contest."""
    is_path = isinstance(source, str | os.PathLike) and str(source) != "-"
    if format != "json" and not (
        format is None and is_path and format_of(Path(str(source))) == "json"
    ):
        return open_source(source, format)
    if not is_path:
        stream: Any = sys.stdin.buffer if source == "-" else source
        data = stream.read()
        return _json_table(data.encode() if isinstance(data, str) else data, "standard input")
    name = str(source)
    try:
        return _json_table(Path(name).read_bytes(), name)
    except OSError as error:
        refuse_unreadable(name, error)


def _json_table(data: bytes, name: str) -> Table:
    """Return the table of a JSON list with one object for each player."""
    try:
        document = json.load(io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig"))
    except UnicodeDecodeError as error:
        refuse(name, "must be text in UTF-8", f"the byte 0x{error.object[error.start]:02x}")
    except ValueError as error:
        refuse(name, "must be JSON", str(error))
    if isinstance(document, dict) and isinstance(document.get("players"), list):
        document = document["players"]
    if not isinstance(document, list):
        refuse(name, "must be a list", shown(document))
    table = read_json_rows(document, name)
    if not table.frame.width and table.broken_rows:
        row, _, rule, got = table.broken_rows[0]
        refuse(name, rule, got, line=row + 1)
    return table


def _lobby_of(table: Table, frame: pl.DataFrame) -> Lobby:
    """Return the lobby of a table, or raise with every problem and its line."""
    check_player_columns(table, frame)
    findings = Findings(table, np.arange(len(frame)))
    ids, faults = required_ids(frame["player"], table.untyped)
    findings.add_faults("player", faults, frame["player"])
    numbers = {
        name: _read_numbers(frame, name, findings)
        for name in ("rating", "deviation", "effective_rating", "form")
        if name in frame.columns
    }
    labels = {name: _labels(frame, name, findings) for name in ("party", "team")}
    # From a system without deviations, or from no system.
    deviation = numbers.get("deviation", np.zeros(len(frame)))
    effective = numbers.get("effective_rating")
    if effective is None and "form" in numbers:
        # Players without a match have no form.
        form = np.where(np.isnan(numbers["form"]), 0.0, numbers["form"])
        effective = EffectiveRating().rating(numbers["rating"], deviation, form)
    # A bad cell does not hide others: rows without an id count as separate players until then.
    names = [f"\0{row}" if one is None else one for row, one in enumerate(ids.to_list())]
    try:
        lobby = Lobby(
            player_ids=np.array(names, dtype=object),
            rating=numbers["rating"],
            deviation=deviation,
            effective_rating=effective,
            avoid=() if ids.null_count() else _avoided(frame, names),
            party=labels["party"],
            team=labels["team"],
        )
    except InvalidDataError as error:
        found = _with_cells(findings, error.problems, table)
        raise InvalidDataError(found, _head(found, table)) from None
    _raise(findings.problems(), table)
    return lobby


def _with_cells(
    findings: Findings, problems: Sequence[Problem], table: Table
) -> tuple[Problem, ...]:
    """Return the problems of cells and of the lobby; a bad cell is reported once.

    problems : of the lobby; lines are rows from 1
    """
    whole = [one for one in problems if one.line is None]
    for one in problems:
        # An effective rating may be computed from the other numbers.
        numbers = ("effective_rating", "rating", "deviation", "form")
        cells = numbers if one.field == "effective_rating" else (one.field,)
        if one.line is not None and not findings.bad_in(*cells)[one.line - 1]:
            findings.add(np.array([one.line - 1]), one.field, one.rule, [one.got])
    return (*_located(whole, table), *findings.problems())


def check_player_columns(table: Table, frame: pl.DataFrame) -> None:
    """Refuse a table without players or ratings. Raises : InvalidDataError."""
    got = "columns " + ", ".join(frame.columns) if frame.columns else "no columns"
    problems = [
        Problem(table.name, None, name, "must be a column of the table", got)
        for name in ("player", "rating")
        if name not in frame.columns
    ]
    if not problems and not len(frame):
        problems.append(Problem(table.name, None, "", "must have at least one row", "none"))
    _raise(problems, table)


def _read_numbers(frame: pl.DataFrame, name: str, findings: Findings) -> Floats:
    """Return a column of numbers; only form may be empty, or deviation on all rows."""
    column = frame[name]
    values, absent, faults = _numbers(column, name)
    findings.add_faults(name, faults, column)
    if absent is None or name == "form":
        return values
    if name == "deviation" and absent.all():
        return np.zeros(len(values))  # from a system without deviations
    faulty = faulty_rows(faults, len(values))
    findings.add_faults(name, [Fault(absent & ~faulty, NUMBER)], column)
    return values


def _numbers(column: pl.Series, name: str) -> Numbers:
    return read_numbers(column, nan_is_absent=name in ("form", "deviation"))


def _labels(frame: pl.DataFrame, name: str, findings: Findings) -> Ids | None:
    """Return the labels of parties or locks as text, None if there is none."""
    if name not in frame.columns:
        return None
    ids, faults = read_ids(frame[name], untyped=False)
    findings.add_faults(name, faults, frame[name])
    return np.array(ids.cast(pl.String).to_list(), dtype=object)


def _avoided(frame: pl.DataFrame, names: Sequence[Any]) -> tuple[tuple[Any, Any], ...]:
    """Return the pairs of players who avoid each other."""
    if "avoid" not in frame.columns:
        return ()
    id_of = {str(one): one for one in names}
    pairs = []
    for one, cell in zip(names, frame["avoid"].to_list(), strict=True):
        for other in _ids_of(cell):
            pairs.append((one, id_of.get(other, other)))
    return tuple(pairs)


def _ids_of(cell: Any) -> list[str]:
    """Return the ids in a cell: a list, JSON text of a list, or text with semicolons."""
    if cell is None:
        return []
    if isinstance(cell, str) and cell.lstrip().startswith("["):
        with suppress(ValueError, RecursionError):
            cell = json.loads(cell)
    listed = cell if isinstance(cell, list) else str(cell).split(SEPARATOR)
    texts = [str(one).strip() for one in listed if one is not None]
    return [one for one in texts if one]


def _located(problems: Sequence[Problem], table: Table) -> list[Problem]:
    """Return problems of rows of a lobby with their file and line."""
    found = []
    for problem in problems:
        file, line = table.name, None
        if problem.line is not None:
            [(file, line)] = table.places(np.array([problem.line - 1]))
        found.append(Problem(file, line, problem.field, problem.rule, problem.got))
    return found


def _head(problems: Sequence[Problem], table: Table) -> str:
    count = len(problems)
    return f"{count} problem{'' if count == 1 else 's'} in {table.name or 'the lobby'}"


def _raise(problems: Sequence[Problem], table: Table) -> None:
    if problems:
        raise InvalidDataError(problems, _head(problems, table))


def ids_of(text: str, option: str) -> list[str]:
    """Return ids from text: they are separated by commas; an id with a comma is quoted as in CSV.

    Raises : InvalidParameterError
    """
    try:
        (ids,) = csv.reader([text], skipinitialspace=True, strict=True)
    except (csv.Error, ValueError):
        ids = []
    ids = [one.strip() for one in ids]
    if not ids or not all(ids):
        raise InvalidParameterError(
            f"{option} takes ids separated by commas, in double quotes if an id has a comma; "
            f"got {text!r}"
        )
    return ids
