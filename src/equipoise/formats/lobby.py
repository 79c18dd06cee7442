"""Reads lobby tables: players who wait for teams, with their parties, locks and avoid pairs.

Columns: `player` and `rating`; optionally `deviation`, without which players are balanced by rating
alone; `effective_rating`, or else `form`, from which it is computed; `party`; `team` (a lock); and
`avoid`, the ids of other players, separated by semicolons or as a list if the format has lists. A
table of ratings has the same columns; its other columns are ignored.
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from equipoise.arguments import checks_arguments
from equipoise.arrays import Floats, Ids
from equipoise.data.lobby import ONCE, Lobby
from equipoise.data.ratings import EffectiveRating
from equipoise.errors import InvalidDataError, InvalidParameterError, NotFoundError, Problem
from equipoise.formats.players import (
    Lack,
    PlayerRows,
    check_player_columns,
    heading,
    recognise_player_columns,
    rename_player_columns,
)
from equipoise.formats.sources import open_source
from equipoise.formats.table import Findings, Table
from equipoise.formats.tables.columns import read_ids
from equipoise.wording import counted

SEPARATOR = ";"

#: What the table is, where it has no name.
WHAT, WHAT_RATINGS = "the lobby", "the ratings"

#: Columns that only a lobby has.
_OWN = ("effective_rating", "form", "party", "team", "avoid")

#: Columns of numbers, and which rows may have none: deviations are of a system without them, form
#: is of players without a match.
_NUMBERS: Mapping[str, Lack] = {
    "rating": "none",
    "deviation": "all",
    "effective_rating": "none",
    "form": "any",
}


@checks_arguments()
def read_lobby(
    source: object, *, format: str | None = None, default_deviation: float | None = None
) -> Lobby:
    """Return the lobby of a source.

    source : path of a file (.csv, .tsv, .json, .jsonl, .parquet, ...), "-" or a stream (with
        `format`), a Polars, pandas or Arrow table, or a mapping of column name to array
    format : format of the source, if its name does not show it; columns with another name are taken
        if they are the only ones that can be meant, such as Name for player and Elo for rating
    default_deviation : of players without a deviation; None: all players must have one, or none
    Raises : InvalidDataError        there are problems; lists all of them
    Raises : InvalidParameterError   wrong usage

    Examples
    --------
    >>> eq.read_lobby("examples/lobby.csv")
    <Lobby: 10 players, the top player amber-fox>
    """
    return read_lobby_noting(source, format=format, default_deviation=default_deviation)[0]


def read_lobby_noting(
    source: object, *, format: str | None = None, default_deviation: float | None = None
) -> tuple[Lobby, tuple[str, ...]]:
    """Return the lobby of a source, as `read_lobby` does, and notes on how it was read."""
    given = open_source(source, format)
    table, notes = recognise_player_columns(given, _OWN, WHAT)
    lobby, more = _lobby_of(table, default_deviation)
    return lobby, (*given.notes, *notes, *more)


def read_lobby_of(
    source: object,
    players: Sequence[str],
    *,
    format: str | None = None,
    default_deviation: float | None = None,
) -> tuple[Lobby, tuple[str, ...]]:
    """Return the lobby of some players of a table of ratings, in the order in which they are named.

    The second value has notes on how the table was read.
    Raises : NotFoundError      players have no rating; names all of them
    Raises : InvalidDataError   a player is named twice, or has a bad value
    """
    table, notes = rename_player_columns(open_source(source, format), None, WHAT_RATINGS)
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
        by_commas=table.by_commas,
        locate=lambda at: table.places(rows[at]),
    )
    lobby, more = _lobby_of(chosen, default_deviation)
    return lobby, (*table.notes, *notes, *more)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Strengths:
    """The numbers of some players of a table of ratings.

    rows : id as text -> row of the arrays; players who are not in the table are missing
    rating, effective_rating : shape (P,); deviation : shape (P,), NaN if unknown
    count : number of players of the table
    notes : sentences on how the table was read
    """

    rows: Mapping[str, int]
    rating: Floats
    effective_rating: Floats
    deviation: Floats
    count: int
    notes: tuple[str, ...]


def read_strengths(source: object, players: Sequence[str]) -> Strengths:
    """Return the numbers of those of some players who are in a table of ratings.

    Raises : InvalidDataError   a player is twice in the table, or has a bad value
    """
    table, notes = rename_player_columns(open_source(source, None), None, WHAT_RATINGS)
    ids = read_ids(table.frame["player"], table.untyped)[0].cast(pl.String)
    at = ids.is_in(list(players)).fill_null(False).arg_true().to_numpy().astype(np.int64)
    chosen = Table(
        frame=table.frame[at],
        name=table.name,
        untyped=table.untyped,
        by_commas=table.by_commas,
        locate=lambda rows: table.places(at[rows]),
    )
    rows = PlayerRows(chosen, WHAT_RATINGS)
    rows.check_once(ONCE)
    rating = rows.numbers("rating")
    deviation, given, form = (
        rows.numbers(name, may_lack="any") for name in ("deviation", "effective_rating", "form")
    )
    rows.refuse()
    adjusted = EffectiveRating().rating(rating, np.nan_to_num(deviation), np.nan_to_num(form))
    return Strengths(
        rows={one: row for row, one in enumerate(ids.gather(at).to_list())},
        rating=rating,
        effective_rating=np.where(np.isnan(given), adjusted, given),
        deviation=deviation,
        count=len(ids),
        notes=(*table.notes, *notes, *rows.notes),
    )


def _lobby_of(table: Table, default_deviation: float | None) -> tuple[Lobby, list[str]]:
    """Return the lobby of a table and notes, or raise with every problem and its line."""
    frame = table.frame
    check_player_columns(table, WHAT)
    rows = PlayerRows(table, WHAT)
    ids, findings = rows.ids, rows.findings
    lacks = dict(_NUMBERS) if default_deviation is None else {**_NUMBERS, "deviation": "any"}
    numbers = {
        name: rows.numbers(name, may_lack=may_lack)
        for name, may_lack in lacks.items()
        if rows.has(name)
    }
    labels = {name: _labels(frame, name, findings) for name in ("party", "team")}
    # From a system without deviations, or from no system.
    deviation = numbers.get("deviation", np.zeros(len(frame)))
    if default_deviation is not None:
        lacking = np.isnan(deviation) if "deviation" in numbers else np.ones(len(frame), dtype=bool)
        deviation = np.where(lacking, default_deviation, deviation)
    elif np.isnan(deviation).all():
        deviation = np.zeros(len(frame))
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
        raise InvalidDataError(found, heading(found, table, WHAT)) from None
    rows.refuse()
    return lobby, rows.notes


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
            has_commas = one.field == "avoid" and "," in one.got
            got = f"{one.got}; semicolons separate ids" if has_commas else one.got
            findings.add(np.array([one.line - 1]), one.field, one.rule, [got])
    return (*_located(whole, table), *findings.problems())


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
