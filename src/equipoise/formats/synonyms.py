"""Reads synonyms: names that mean the same player.

CSV with the columns `name` and `same_as`, or a JSON object of names. A name may refer to another
synonym; such chains are followed to their end, and a cycle is a problem.

Spaces around a name in a file are part of it, so that " ann" can mean "ann". The name without
spaces means the same player, unless it is that player.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import polars as pl

from equipoise.data.tournaments.games import ONCE
from equipoise.errors import InvalidDataError, InvalidParameterError, Problem
from equipoise.formats.opening.contents import contents_of
from equipoise.formats.sources import table_of
from equipoise.formats.table import Findings, Table, columns_in_words, refuse, shown
from equipoise.formats.tables.columns import required_ids, whole_numbers
from equipoise.formats.tables.recognised import spelling

#: A file of synonyms, or a mapping of names to the name of the player.
Synonyms: TypeAlias = str | os.PathLike[str] | Mapping[Any, Any]

COLUMNS = "must have the columns name and same_as"
OTHER_NAME = "must differ from the first name"
CIRCLE = "must not lead back to itself"
NAMES = "must be an object of names: name -> the name it stands for"


class _Entry(NamedTuple):
    """A name, the name that it means, and its place in the file."""

    name: str
    same_as: str
    line: int | None


def read_synonyms(source: Synonyms) -> dict[str, str]:
    """Return name -> name of the player, with chains followed to their end.

    source : path of a table (.csv, .tsv, ...) or of a .json object, or a mapping
    Raises : InvalidDataError        there are problems; lists all of them
    Raises : InvalidParameterError   the source is neither a path nor a mapping
    """
    if isinstance(source, Mapping):
        entries = [_Entry(str(one), str(other), None) for one, other in source.items()]
        return _resolved(entries, "synonyms", "name")
    if not isinstance(source, str | os.PathLike):
        raise InvalidParameterError(
            f"synonyms must be a path or a mapping of names; got {type(source).__name__}"
        )
    contents = contents_of(source, None)
    if len(contents) == 1 and contents[0].format == "json":
        entries = _json_entries(contents[0].content(), contents[0].name)
    else:
        entries = _table_entries(table_of(contents))
    return _resolved(entries, str(source), "name")


def merge_ids(ids: pl.Series, synonyms: Mapping[str, str]) -> pl.Series:
    """Return ids with synonyms replaced by their players; null stays null.

    ids : Int64 or String. Whole numbers stay whole numbers if all their players are
    """
    texts = ids.cast(pl.String).replace(list(synonyms), list(synonyms.values()))
    whole = None if ids.dtype == pl.String else whole_numbers(texts)
    return texts if whole is None else whole


def strangers(synonyms: Iterable[str], known: Iterable[str]) -> list[str]:
    """Return the names that do not occur among those known, ignoring spaces around them."""
    there = {one.strip() for one in known}
    return list(dict.fromkeys(one.strip() for one in synonyms if one.strip() not in there))


def _table_entries(table: Table) -> list[_Entry]:
    columns = {spelling(name): name for name in reversed(table.frame.columns)}
    if not {"name", "sameas"} <= set(columns):
        refuse(table.name, COLUMNS, columns_in_words(table.frame.columns))
    findings = Findings(table, np.arange(len(table.frame)))
    names = []
    for spelled in ("name", "sameas"):
        column = table.frame[columns[spelled]]
        ids, faults = required_ids(column, untyped=False)
        findings.add_faults(columns[spelled], faults, column)
        names.append(ids.cast(pl.String).to_list())
    problems = findings.problems()
    if problems:
        raise InvalidDataError(problems)
    lines = [line for _, line in table.places(np.arange(len(table.frame)))]
    return [one for entry in zip(*names, lines, strict=True) for one in _with_tidy(*entry)]


def _json_entries(data: bytes, name: str) -> list[_Entry]:
    try:
        # Pairs, because an object would keep only the last of two equal names.
        document = json.loads(data, object_pairs_hook=_Pairs)
    except (ValueError, RecursionError) as error:
        refuse(name, "must be JSON", str(error))
    if not isinstance(document, _Pairs):
        refuse(name, NAMES, shown(document))
    entries = []
    for at, (one, other) in enumerate(document, start=1):
        if not one.strip() or not isinstance(other, str | int) or not str(other).strip():
            refuse(name, NAMES, f"{shown(one)}: {shown(other)}", line=at)
        entries += _with_tidy(one, str(other), at)
    return entries


def _with_tidy(name: str, same_as: str, line: int | None) -> list[_Entry]:
    """Return the entry of a name as written in a file, and of the name without outer spaces."""
    bare, player = name.strip(), same_as.strip()
    if bare == name:
        return [_Entry(name, player, line)]
    return [_Entry(one, player, line) for one in (name, bare) if one != player]


class _Pairs(list[tuple[str, Any]]):
    """The members of a JSON object in their order."""


def _resolved(entries: Iterable[_Entry], file: str, field: str) -> dict[str, str]:
    """Return the player that each name finally means, or raise with the problems."""
    step: dict[str, _Entry] = {}
    problems = []
    for entry in entries:
        known = step.setdefault(entry.name, entry)
        if entry.name == entry.same_as:
            problems.append(Problem(file, entry.line, field, OTHER_NAME, shown(entry.name)))
        elif known.same_as != entry.same_as:
            got = f"{shown(entry.name)} again, as {shown(known.same_as)} and as "
            problems.append(Problem(file, entry.line, field, ONCE, got + shown(entry.same_as)))
    if not problems:
        ends, circles = _ends(step)
        if not circles:
            return ends
        problems = [
            Problem(file, step[circle[0]].line, field, CIRCLE, " -> ".join([*circle, circle[0]]))
            for circle in circles
        ]
    raise InvalidDataError(problems)


def _ends(step: Mapping[str, _Entry]) -> tuple[dict[str, str], list[list[str]]]:
    """Return the end of the chain of every name, and the cycles; each name is visited once."""
    ends: dict[str, str] = {}
    circles: list[list[str]] = []
    for start in step:
        chain: dict[str, None] = {}
        name = start
        while name in step and name not in ends and name not in chain:
            chain[name] = None
            name = step[name].same_as
        if name in chain:
            passed = list(chain)
            circles.append(passed[passed.index(name) :])
        end = ends.get(name, name)
        ends.update(dict.fromkeys(chain, end))
    return ends, circles
