"""Joins the tables of several files into one, whose problems name the file and line of each row.

The columns must agree: which have the same name but for capitals, spaces and underscores is decided
once, by the first file. A column that some files lack is filled with missing values and noted; but
one that decides who played whom, when and with which result is refused, because missing values mean
something there: no winner is a draw.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import polars as pl

from equipoise.arrays import Ints
from equipoise.errors import InvalidDataError, Problem
from equipoise.formats.games.layout import OF_GAMES, OF_PAIRS, SIDES
from equipoise.formats.opening.naming import listed, listed_files
from equipoise.formats.table import Table, check_cells
from equipoise.formats.tables.recognised import KNOWN, SYNONYMS, spelling
from equipoise.wording import counted

IN_EVERY_FILE = "must be a column of every file that is read together"
DIFFERENT_FILES = "must differ from the other files"

#: Columns that every file must have if one has them, as `spelling` spells them.
_DECIDING = frozenset(
    (
        *(one for side in SIDES for one in side[:2]),
        *(one for names in (*OF_GAMES.values(), *OF_PAIRS.values()) for one in names),
        *(spelling(one) for names in SYNONYMS.values() for one in names),
        *(spelling(one) for one in KNOWN),
        *("homescore", "awayscore", "homegoals", "awaygoals"),
        *("hometeamscore", "awayteamscore", "hometeamgoals", "awayteamgoals", "neutral"),
    )
)


def join_tables(tables: Sequence[Table], needed: Collection[str] = ()) -> Table:
    """Return one table of several, in their order.

    needed : further columns that every file must have
    Raises : InvalidDataError   columns do not agree, or two files are the same
    """
    problems = _same_files(tables)
    renamed, missing = _agreed(tables)
    deciding = _DECIDING | {spelling(one) for one in needed}
    for name, lacking in missing.items():
        if spelling(name) in deciding:
            there = next(one.name for one in tables if one.name not in lacking)
            got = f"not in {listed(lacking)}, but in {there}"
            problems.append(Problem(lacking[0], None, name, IN_EVERY_FILE, got))
    if problems:
        raise InvalidDataError(problems)
    untyped = any(one.untyped for one in tables)
    frames = [one.rename(new) for one, new in zip(_frames(tables), renamed, strict=True)]
    rows = np.array([len(one) for one in frames], dtype=np.int64)
    names = list(dict.fromkeys(name for one in frames for name in one.columns))
    check_cells(int(rows.sum()), len(names), listed_files([one.name for one in tables]))
    starts = np.cumsum(rows) - rows
    frame = _concatenated(frames, names, untyped)
    file_of = np.repeat(np.arange(len(tables)), rows)
    return Table(
        frame=frame,
        name=listed_files([one.name for one in tables]),
        untyped=untyped,
        borrowed=False,
        locate=_locator(tables, starts),
        broken_rows=tuple(
            broken._replace(row=int(start) + broken.row)
            for table, start in zip(tables, starts, strict=True)
            for broken in table.broken_rows
        ),
        notes=(
            *_notes(tables),
            *_missing_notes(missing, len(tables)),
            *_repeated_notes(frame, file_of),
        ),
        format=", ".join(dict.fromkeys(one.format for one in tables)),
        nested=tuple(
            dict.fromkeys(
                new.get(name, name)
                for one, new in zip(tables, renamed, strict=True)
                for name in one.nested
            )
        ),
        files=tuple(one.name for one in tables),
        file_of=file_of,
    )


def _same_files(tables: Sequence[Table]) -> list[Problem]:
    """Return a problem for every file that has the same rows as an earlier one."""
    seen: dict[tuple[object, ...], list[Table]] = {}
    problems = []
    for table in tables:
        alike = seen.setdefault((len(table.frame), *table.frame.columns), [])
        twin = next((one for one in alike if _equal(one.frame, table.frame)), None)
        if twin is not None and len(table.frame):
            got = f"the same {counted(len(table.frame), 'row')} as {twin.name}"
            problems.append(Problem(table.name, None, "", DIFFERENT_FILES, got))
        alike.append(table)
    return problems


def _equal(one: pl.DataFrame, other: pl.DataFrame) -> bool:
    return one.schema == other.schema and one.equals(other)


def _agreed(tables: Sequence[Table]) -> tuple[list[dict[str, str]], dict[str, list[str]]]:
    """Return new names of columns for each table, and column -> names of the files without it."""
    first: dict[str, str] = {}
    renamed: list[dict[str, str]] = []
    there: list[set[str]] = []
    for table in tables:
        new: dict[str, str] = {}
        names = table.frame.columns
        spelled = [spelling(one) for one in names]
        for name, key in zip(names, spelled, strict=True):
            # Where a file has two such columns, only names that are equal mean the same.
            known = first.setdefault(key, name) if spelled.count(key) == 1 else name
            if known != name and known not in names:
                new[name] = known
        renamed.append(new)
        there.append({new.get(name, name) for name in names})
    every = list(dict.fromkeys(name for one in there for name in sorted(one)))
    missing = {
        name: [table.name for table, has in zip(tables, there, strict=True) if name not in has]
        for name in every
    }
    return renamed, {name: lacking for name, lacking in missing.items() if lacking}


def _frames(tables: Sequence[Table]) -> list[pl.DataFrame]:
    return [one.frame for one in tables]


def _concatenated(
    frames: Sequence[pl.DataFrame], names: Sequence[str], untyped: bool
) -> pl.DataFrame:
    """Return the rows of all frames; columns of different types become numbers or text."""
    columns = []
    for name in names:
        parts = [
            one[name] if name in one.columns else pl.Series(name, [None] * len(one), dtype=pl.Null)
            for one in frames
        ]
        kinds = {one.dtype for one in parts} - {pl.Null()}
        if untyped and kinds != {pl.String()}:
            parts = [_as_text(one) for one in parts]
        elif len(kinds) > 1 and all(kind.is_integer() for kind in kinds):
            parts = [one.cast(pl.Int64) for one in parts]
        elif len(kinds) > 1 and all(kind.is_numeric() for kind in kinds):
            parts = [one.cast(pl.Float64) for one in parts]
        elif len(kinds) > 1:
            parts = [_as_text(one) for one in parts]
        kind = next(iter({one.dtype for one in parts} - {pl.Null()}), pl.Null())
        columns.append(pl.concat([one.cast(kind) for one in parts]).alias(name))
    return pl.DataFrame(columns)


def _as_text(column: pl.Series) -> pl.Series:
    """Return values as text; whole numbers without a fraction, and times in ISO 8601."""
    kind = column.dtype
    if kind == pl.String:
        return column
    if kind.is_float():
        known = column.fill_nan(None)
        whole = known.cast(pl.Int64, strict=False)
        if whole.null_count() == known.null_count() and bool((whole == known).all()):
            return whole.cast(pl.String)
        return known.cast(pl.String)
    if isinstance(kind, pl.Datetime):
        ends = "Z" if kind.time_zone else ""
        if kind.time_zone:
            column = column.dt.convert_time_zone("UTC")
        return column.dt.strftime("%Y-%m-%dT%H:%M:%S%.f" + ends)
    if kind.is_nested() or kind == pl.Object:
        return pl.Series(column.name, [None if one is None else str(one) for one in column])
    return column.cast(pl.String)


def _locator(tables: Sequence[Table], starts: Ints):  # type: ignore[no-untyped-def]
    def locate(rows: Ints) -> list[tuple[str, int | None]]:
        found = np.searchsorted(starts, rows, side="right") - 1
        places: list[tuple[str, int | None]] = [("", None)] * len(rows)
        for at in np.unique(found).tolist():
            chosen = np.flatnonzero(found == at)
            of_file = tables[at].places(rows[chosen] - starts[at])
            for position, place in zip(chosen.tolist(), of_file, strict=True):
                places[position] = place
        return places

    return locate


def _notes(tables: Sequence[Table]) -> list[str]:
    """Return the notes of all files; one that not all have names its file."""
    notes = []
    for note in dict.fromkeys(note for table in tables for note in table.notes):
        having = [table.name for table in tables if note in table.notes]
        alone = len(having) == len(tables) or any(name in note for name in having if name)
        notes.append(note if alone else f"{listed(having)}: {note}")
    return notes


def _repeated_notes(frame: pl.DataFrame, file_of: Ints) -> list[str]:
    """Return a note on games that several files have, which may be the same or not.

    A row of two sides is a match of its own. Rows of a history have ids, which tell.
    """
    spelled = {spelling(one) for one in frame.columns}
    if not any({*side[:2]} <= spelled for side in SIDES):
        return []
    texts = [one.cast(pl.String, strict=False) for one in frame if not one.dtype.is_nested()]
    rows = pl.DataFrame(texts).select(pl.struct(pl.all()).hash()).to_series()
    files = pl.DataFrame({"row": rows, "file": file_of})
    again = files.group_by("row").agg(pl.col("file").n_unique()).filter(pl.col("file") > 1)
    if not len(again):
        return []
    which = counted(len(again), "game is", "games are")
    return [f"{which} in several files with the same row, and counted in each: likely doubles"]


def _missing_notes(missing: dict[str, list[str]], files: int) -> list[str]:
    """Return one note on the columns that some files lack."""
    if not missing:
        return []
    some = [
        f"{name} (not in {listed(lacking)})"
        if len(lacking) <= 2
        else f"{name} (not in {len(lacking):,} of {files:,} files)"
        for name, lacking in missing.items()
    ]
    return [f"columns that some files lack are empty there: {listed(some)}"]
