"""Reads single columns of a table into typed values and faults, and arranges columns by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime
from typing import NamedTuple

import numpy as np
import polars as pl

from equipoise.arrays import Flags, Floats, Ids, Ints
from equipoise.data.history import AT_HOME, NOT_AT_HOME, TRUTH
from equipoise.errors import InvalidDataError, InvalidParameterError, Problem
from equipoise.formats.options import Options
from equipoise.formats.table import Fault, Table, faults_of, faulty_rows
from equipoise.formats.tables.outcomes import holds_outcomes, outcomes_as_places
from equipoise.formats.tables.recognised import (
    check_renamings,
    problems_of_columns,
    recognise,
    unknown_column,
)

IDENTIFIER = "must be text or a whole number"
NOT_EMPTY = "must not be empty"
WHOLE = "must be a whole number from 0"
NUMBER = "must be a number"
FINITE = "must be a finite number"

_CANONICAL_FLOAT = r"^(-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?|NaN|-?inf)$"
_TRUTHS = dict.fromkeys(AT_HOME, True) | dict.fromkeys(NOT_AT_HOME, False)
#: Values looked at before a column of text is read as numbers, because most are clear from these.
_FIRST_VALUES = 100
#: Rows that are compared together.
_PIECE = 2**17
#: Widest range of whole numbers, as a multiple of their count, for which a lookup table is used.
_SPREAD = 8


class Numbers(NamedTuple):
    """The number of every row (NaN if absent or faulty), which are absent, and the faults."""

    values: Floats
    absent: Flags | None
    faults: tuple[Fault, ...]


def mask(flags: pl.Series) -> Flags:
    """Return a boolean column as a NumPy mask; null is False."""
    values: Flags = flags.fill_null(False).to_numpy()
    return values


def _as_text(column: pl.Series) -> pl.Series:
    """Return text-like columns as text; empty text becomes null."""
    if column.dtype in (pl.Categorical, pl.Enum, pl.Binary):
        column = column.cast(pl.String, strict=False)
    if column.dtype != pl.String:
        return column
    blank = column.str.contains(r"^\s*$")
    return column.set(blank, None) if blank.any() else column


def text_of(column: pl.Series) -> pl.Series:
    """Return values as text, null for lists, objects, and bytes that are not text."""
    if column.dtype.is_nested() or column.dtype == pl.Object:
        return pl.Series(column.name, [None] * len(column), dtype=pl.String)
    return column.cast(pl.String, strict=False)


def read_ids(column: pl.Series, untyped: bool) -> tuple[pl.Series, tuple[Fault, ...]]:
    """Return ids as Int64 or String (null if absent or faulty), and the faults.

    untyped : text becomes whole numbers if it is a canonical whole number on every row
    """
    # First as it is, because a column of whole numbers has no blank text that must become null.
    whole = whole_numbers(column) if untyped and column.dtype == pl.String else None
    if whole is not None:
        return whole, ()
    column = _as_text(column)
    if column.dtype == pl.String:
        whole = whole_numbers(column) if untyped else None
        return (column if whole is None else whole), ()
    if column.dtype.is_integer():
        whole = column.cast(pl.Int64, strict=False)
        fits = whole.null_count() == column.null_count()
        return (whole if fits else column.cast(pl.String)), ()
    if column.dtype.is_float() or column.dtype.is_decimal():
        column = column.cast(pl.Float64).fill_nan(None)
        whole = (column.floor() == column) & (column.abs() < 2**53)
        fraction = mask(~whole)
        return column.set(~whole, None).cast(pl.Int64), faults_of((fraction, IDENTIFIER))
    if column.dtype.is_temporal() or column.dtype == pl.Boolean:
        return column.cast(pl.String), ()
    if column.dtype == pl.Null:
        return column.cast(pl.String), ()
    nothing = pl.Series(column.name, [None] * len(column), dtype=pl.String)
    return nothing, faults_of((mask(column.is_not_null()), IDENTIFIER))


def required_ids(column: pl.Series, untyped: bool) -> tuple[pl.Series, tuple[Fault, ...]]:
    """Return ids as `read_ids` does; absent ids are faults."""
    ids, faults = read_ids(column, untyped)
    if ids.null_count() == 0:
        return ids, faults
    empty = mask(ids.is_null()) & ~faulty_rows(faults, len(ids))
    return ids, (*faults, *faults_of((empty, NOT_EMPTY)))


def read_ranks(column: pl.Series) -> tuple[Ints, tuple[Fault, ...]]:
    """Return whole numbers from 0 (0 on faulty rows), and the faults."""
    whole = _all_integers(column) if column.dtype == pl.String else None
    column = _as_text(column) if whole is None else whole
    if column.dtype == pl.String:
        text = column.str.strip_chars()
        whole = _all_integers(text)
        column = text.cast(pl.Float64, strict=False) if whole is None else whole
    if column.dtype.is_float() or column.dtype.is_decimal():
        column = column.cast(pl.Float64)
        column = column.set((column.floor() != column) | (column.abs() >= 2**53), None)
    numeric = column.dtype.is_numeric()
    if not numeric:
        return np.zeros(len(column), np.int64), (Fault(np.ones(len(column), bool), WHOLE),)
    whole = column.cast(pl.Int64, strict=False)
    absent = mask(whole.is_null()) if whole.null_count() else None
    values: Ints = whole.fill_null(0).to_numpy()
    if len(values) and values.min() < 0:
        absent = values < 0 if absent is None else absent | (values < 0)
    return values, faults_of((absent, WHOLE))


def read_numbers(column: pl.Series, *, nan_is_absent: bool = True) -> Numbers:
    """Return finite numbers, NaN if absent, and the faults."""
    column = _as_text(column)
    unread = None
    if column.dtype == pl.String:
        numbers = column.str.strip_chars().cast(pl.Float64, strict=False)
        if numbers.null_count() > column.null_count():
            unread = mask(numbers.is_null() & column.is_not_null())
    elif column.dtype.is_numeric() or column.dtype in (pl.Boolean, pl.Null):
        numbers = column.cast(pl.Float64)
    else:
        numbers = pl.Series([None] * len(column), dtype=pl.Float64)
        unread = mask(column.is_not_null())
    if nan_is_absent:
        numbers = numbers.fill_nan(None)
    absent = mask(numbers.is_null()) if numbers.null_count() else None
    values: Floats = numbers.fill_null(np.nan).to_numpy()
    infinite = np.isinf(values) if nan_is_absent else ~np.isfinite(values)
    if absent is not None:
        infinite &= ~absent
    return Numbers(values, absent, faults_of((unread, NUMBER), (infinite, FINITE)))


def read_scores(column: pl.Series, *, lower_is_better: bool) -> tuple[Ints, tuple[Fault, ...]]:
    """Return numbers as ranks from 1, with equal ranks for equal numbers (0 if faulty), and faults.

    lower_is_better : the lowest number has the lowest rank, not the highest
    """
    numbers = read_numbers(column)
    faults = numbers.faults
    if numbers.absent is not None:
        faulty = faulty_rows(faults, len(column))
        faults = (*faults, *faults_of((numbers.absent & ~faulty, NUMBER)))
    exact = _as_text(column)
    if exact.dtype == pl.String:
        whole = whole_numbers(exact)
        exact = pl.Series(numbers.values) if whole is None else whole
    elif not exact.dtype.is_integer():
        exact = pl.Series(numbers.values)
    # Equal scores tie, so whole numbers must not pass through float64; -0.0 is 0.0.
    if exact.dtype.is_float():
        exact = (exact + 0.0).fill_nan(None)
    ranks: Ints = (
        exact.rank("dense", descending=not lower_is_better).cast(pl.Int64).fill_null(0).to_numpy()
    )
    return ranks, faults


def read_truths(column: pl.Series) -> tuple[Flags, tuple[Fault, ...]]:
    """Return truth values (true if absent), and the faults."""
    column = _as_text(column)
    if column.dtype == pl.Boolean:
        return column.fill_null(True).to_numpy(), ()
    if column.dtype.is_float():
        column = column.fill_nan(None)
    text = text_of(column).str.strip_chars().str.to_lowercase()
    truths = text.replace_strict(_TRUTHS, default=None, return_dtype=pl.Boolean)
    unread = mask(truths.is_null() & column.is_not_null())
    return truths.fill_null(True).to_numpy(), faults_of((unread, TRUTH))


def number_ids(ids: pl.Series) -> tuple[Ints, Ids]:
    """Return the row of every id among the distinct ids in ascending order, and the distinct ids.

    Null gets row 0; rows without an id are dropped before it matters.
    """
    if ids.dtype == pl.String:
        numbers, distinct = _number_texts(ids)
        return numbers, distinct.to_numpy().astype(object)
    present = ids.drop_nulls()
    if not len(present):
        return np.zeros(len(ids), np.int64), np.zeros(0, np.int64)
    values: Ints = ids.fill_null(present[0]).to_numpy()
    low, high = int(values.min()), int(values.max())
    if high - low >= _SPREAD * len(values):
        distinct_values, rows = np.unique(values, return_inverse=True)
        return rows.astype(np.int64, copy=False), distinct_values
    shifted = values - low if low else values
    there = np.zeros(high - low + 1, dtype=bool)
    there[shifted] = True
    if there.all():
        return shifted, np.arange(low, high + 1)
    return (np.cumsum(there) - 1)[shifted], np.flatnonzero(there) + low


def _number_texts(texts: pl.Series) -> tuple[Ints, pl.Series]:
    """Return the row of every text among the distinct texts in ascending order, and these.

    Null gets row 0. Texts are found by their hashes, and then compared.
    """
    hashes = texts.hash()
    if texts.null_count():
        hashes = hashes.set(texts.is_null(), None)
    distinct = texts.filter(hashes.is_first_distinct()).drop_nulls().sort()
    if not len(distinct):
        return np.zeros(len(texts), np.int64), distinct
    rows = pl.int_range(len(distinct), dtype=pl.UInt32, eager=True)
    numbers = hashes.replace_strict(distinct.hash(), rows, default=0)
    del hashes  # In large tables, every column counts.
    if not _are_at(texts, distinct, numbers):
        # Two texts share a hash.
        distinct = texts.drop_nulls().unique().sort()
        numbers = texts.cast(pl.Enum(distinct)).to_physical().fill_null(0)
    return numbers.cast(pl.Int64).to_numpy(), distinct


def _are_at(texts: pl.Series, distinct: pl.Series, numbers: pl.Series) -> bool:
    """Return whether each text that is there is the distinct one of its number."""
    return not any(
        (distinct.gather(numbers.slice(at, _PIECE)) != texts.slice(at, _PIECE)).any()
        for at in range(0, len(texts), _PIECE)
    )


def equal_rows(column: pl.Series, value: object) -> Flags:
    """Return the rows that have a value, compared as numbers if both are numbers, else as text."""
    if value is None or value == "":
        empty = column.is_null()
        return (empty | (column == "") if column.dtype == pl.String else empty).to_numpy()
    if isinstance(value, bool | np.bool_):
        text = "true" if value else "false"
    elif isinstance(value, datetime | date):
        text = value.isoformat()
    else:
        text = str(value)
    if column.dtype.is_float():
        try:
            return (column == float(text)).fill_null(False).to_numpy()
        except ValueError:
            return np.zeros(len(column), dtype=bool)
    if column.dtype.is_nested() or column.dtype == pl.Object:
        return np.zeros(len(column), dtype=bool)
    return (column.cast(pl.String, strict=False) == text).fill_null(False).to_numpy()


def keep_used(rows: Ints, ids: Ids) -> tuple[Ints, Ids]:
    """Return rows and ids without unused ids."""
    used = np.zeros(len(ids), dtype=bool)
    used[rows] = True
    if used.all():
        return rows, ids
    return (np.cumsum(used) - 1)[rows], ids[used]


def read_attribute(column: pl.Series, untyped: bool) -> Ids | None:
    """Return a kept column: int64, float64, bool or objects (text); None if it is nested.

    Absent values are NaN among numbers with a fraction, else None.
    """
    column = _as_text(column)
    if untyped and column.dtype == pl.String:
        column = _recognised(column)
    if column.dtype.is_temporal() and column.dtype != pl.Duration:
        column = _iso_text(column)
    if column.dtype.is_nested() or column.dtype in (pl.Object, pl.Duration):
        return None
    if column.dtype.is_float() or column.dtype.is_decimal():
        column = column.cast(pl.Float64).fill_nan(None)
    if column.null_count() == len(column):
        return np.full(len(column), None, dtype=object)
    if column.dtype.is_float():
        return column.fill_null(np.nan).to_numpy()
    if column.dtype.is_integer():
        whole = column.cast(pl.Int64, strict=False)
        # Beyond 64 bits, only text keeps every digit.
        fits = whole.null_count() == column.null_count()
        column = whole if fits else column.cast(pl.String)
    return text_objects(column) if column.dtype == pl.String else _plain(column)


def text_objects(column: pl.Series) -> Ids:
    """Return text as objects; equal texts share one object."""
    numbers, distinct = _number_texts(column)
    codes = np.where(column.is_null().to_numpy(), -1, numbers) if column.null_count() else numbers
    objects = np.array([*distinct.to_list(), None], dtype=object)
    taken: Ids = objects[codes]
    return taken


def _plain(column: pl.Series) -> Ids:
    if column.null_count() == 0:
        return column.to_numpy()
    return np.array(column.to_list(), dtype=object)


def _recognised(column: pl.Series) -> pl.Series:
    """Return text as numbers or truth values, if every value present is one."""
    whole = whole_numbers(column)
    if whole is not None:
        return whole
    if column.str.contains(_CANONICAL_FLOAT).all():
        return column.cast(pl.Float64)
    if column.is_in(["true", "false"]).all():
        return column == "true"
    return column


def whole_numbers(column: pl.Series) -> pl.Series | None:
    """Return text as Int64 if every value present is a canonical whole number that fits.

    Canonical is a number without leading zeros, plus or minus zero, so that writing it gives the
    same text.
    """
    whole = _all_integers(column)
    # No text of a number is shorter than the canonical one, so all are as long only in sum.
    canonical = whole is not None and column.str.len_bytes().sum() == _characters(whole)
    return whole if canonical else None


def _all_integers(column: pl.Series) -> pl.Series | None:
    """Return text as Int64 if every value present is a whole number that fits, in any form."""
    for some in (column.head(_FIRST_VALUES), column):
        whole = some.cast(pl.Int64, strict=False)
        if whole.null_count() > some.null_count():
            return None
    return whole


def _characters(whole: pl.Series) -> int:
    """Return the sum of the characters of whole numbers in canonical form."""
    numbers = whole.drop_nulls().to_numpy()
    if not len(numbers):
        return 0
    low, high = int(numbers.min()), int(numbers.max())
    characters = len(numbers) + (int(np.count_nonzero(numbers < 0)) if low < 0 else 0)
    limit = 10
    while limit <= max(high, -low):
        if limit <= high:
            characters += int(np.count_nonzero(numbers >= limit))
        if limit <= -low:
            characters += int(np.count_nonzero(numbers <= -limit))
        limit *= 10
    return characters


def _iso_text(column: pl.Series) -> pl.Series:
    if column.dtype == pl.Datetime:
        return column.dt.to_string("iso:strict")
    return column.cast(pl.String)


class Arranged(NamedTuple):
    """A table under the names of a history, and what was understood.

    frame : the columns, renamed; options : with `where` by the new names
    columns : column with a meaning -> its name in the source
    taken : those that were recognised by another name
    notes : sentences for users
    """

    frame: pl.DataFrame
    options: Options
    columns: dict[str, str]
    taken: dict[str, str]
    notes: tuple[str, ...]


def arrange_columns(table: Table, options: Options, *, own_names: bool = False) -> Arranged:
    """Return the table with its columns renamed, and notes.

    own_names : the columns have the exact names, so no other names are looked for
    Raises : InvalidParameterError   a named column does not exist
    Raises : InvalidDataError        required columns or all rows are missing, or one is in doubt
    """
    frame = table.frame
    check_renamings(frame, options.columns)
    found = recognise(frame, options)
    renamed = {**options.columns, **found.taken}
    moved = set(renamed.values())
    hidden = [name for name in frame.columns if name in renamed and name not in moved]
    kept = [name for name in frame.columns if name not in moved and name not in renamed and name]
    if renamed or len(kept) < len(frame.columns):
        # Column by column, because as an expression a name such as * or ^a.*$ means several
        # columns.
        columns = [frame[old].alias(new) for new, old in renamed.items()]
        frame = pl.DataFrame([*(frame[name] for name in kept), *columns])
    for name in options.statistics:
        if name not in frame.columns:
            raise InvalidParameterError(unknown_column("statistics (--stat)", name, frame.columns))
    problems = problems_of_columns(found, table.frame, table.name, options)
    if not len(frame):
        problems.append(Problem(table.name, None, "", "must have at least one row", "none"))
    if problems:
        raise InvalidDataError(problems)
    if "rank" in renamed and holds_outcomes(frame["rank"]):
        frame = outcomes_as_places(frame, table, renamed["rank"])
    by_score = places_from_score(frame.columns, options)
    if options.lower_score_is_better and not by_score:
        raise InvalidParameterError(
            "lower_score_is_better (--lower-score-is-better) needs a score column that decides "
            f"the places; here {'rank' if 'rank' in frame.columns else 'winner'} decides them"
        )
    notes = [] if own_names else found.describe()
    notes += [f"column {name!r} of the file is replaced by the renamed one" for name in hidden]
    if "" in table.frame.columns:
        notes.append("a column without a name is left out")
    if by_score:
        first = "lowest" if options.lower_score_is_better else "highest"
        notes.append(f"the column score decides the places: the {first} is first")
    new_of = {old: new for new, old in found.taken.items()}
    where = tuple((new_of.get(name, name), value) for name, value in options.where)
    meant = {name: old for name, old in found.columns.items() if name != "score" or by_score}
    return Arranged(frame, replace(options, where=where), meant, dict(found.taken), tuple(notes))


def places_from_score(columns: Sequence[str], options: Options) -> bool:
    """Return whether `score` decides the places: no other column does, and it is no statistic."""
    return (
        "score" in columns
        and "score" not in options.statistics
        and not {"rank", "winner"} & set(columns)
    )
