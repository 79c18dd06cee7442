"""Reads single columns of a table into typed values and faults.

A reader of plain numbers comes first. Only a column that it cannot read is read in other notations,
as a whole: its
values together decide what a comma means. What has two readings is refused, and so is a decimal
comma in a file whose columns are separated by commas.

====================  ==========================================================================
``2,5``, ``0,125``    decimal comma, because no group of thousands looks like this
``1.234,5``           decimal comma with points between thousands; ``1,234.5`` the other way round
``1 234``, ``1'234``  a space of any kind or an apostrophe between thousands
``1,234``             a decimal comma if another value of the column has one for sure, thousands if
                      another value has a decimal point and commas for sure, else refused
``1.234``             beside a decimal comma, the same with point and comma exchanged, except that
                      ``1.234`` beside ``2,5`` is refused: it may be a number that was typed by hand
``3rd``, ``2.``,      a place, as golf and results lists write it
``=3``, ``T3``
``DNF``, ``WD``       no place
====================  ==========================================================================

A column in which every player of a match has won, lost or drawn is read as places. This has one
reading if a match has two players, or two teams: one side has won and the other lost, or all have
drawn. Three players without teams of whom two have won may be a team, so they are refused.
"""

from __future__ import annotations

from datetime import date, datetime
from typing import NamedTuple

import numpy as np
import polars as pl

from equipoise.arrays import Flags, Floats, Ids, Ints
from equipoise.data.history import AT_HOME, NOT_AT_HOME, TRUTH
from equipoise.errors import InvalidDataError, Problem
from equipoise.formats.table import Fault, Table, Unplaced, faults_of, faulty_rows, shown
from equipoise.wording import counted

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
#: Names that mean that a round has no opponent.
_NOBODY = frozenset(["bye", "(bye)", "-", "--", "not paired", "spielfrei"])
#: Marks of a rating from few games: 1500?, 1500P in the notation of FICS, 1500P12 and 1500/12
#: (twelve games) in that of the US federation. The first group is the number.
PROVISIONAL = r"^\s*([0-9]{1,9}(?:\.[0-9]{1,9})?)\s*(?:\?|[Pp][0-9]{0,2}|/[0-9]{1,2})\s*$"


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
        strict = column.dtype == pl.Datetime
        column = column.dt.to_string("iso:strict") if strict else column.cast(pl.String)
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
    return whole if whole is not None and whole.cast(pl.String).equals(column) else None


def _all_integers(column: pl.Series) -> pl.Series | None:
    """Return text as Int64 if every value present is a whole number that fits, in any form."""
    for some in (column.head(_FIRST_VALUES), column):
        whole = some.cast(pl.Int64, strict=False)
        if whole.null_count() > some.null_count():
            return None
    return whole


OUTCOMES = (
    "must be won on one side and lost on the other, or drawn on all rows of a match; matches of "
    "more than two players need a column team"
)
_WON, _DRAWN, _LOST = 1, 2, 3
_WORDS = {
    **dict.fromkeys(("win", "won", "w", "victory"), _WON),
    **dict.fromkeys(("draw", "drawn", "d", "tie", "tied", "t"), _DRAWN),
    **dict.fromkeys(("loss", "lost", "lose", "l", "defeat"), _LOST),
}


def holds_outcomes(column: pl.Series) -> bool:
    """Return whether all values of a column are words such as win and loss."""
    if column.dtype != pl.String or not len(column):
        return False
    first = column.head(1).str.strip_chars().str.to_lowercase().to_list()[0]
    if first not in _WORDS:
        return False  # the usual case, at once
    return bool(_lowered(column).is_in(list(_WORDS)).fill_null(False).all())


def outcomes_as_places(frame: pl.DataFrame, table: Table, name: str) -> pl.DataFrame:
    """Return the table with places for the outcomes in its column `rank`.

    frame : with `match`, `rank` and perhaps `team`; name : of the column in the source
    Raises : InvalidDataError   a match does not have one winning and one losing side, or draws
    """
    places = _lowered(frame["rank"]).replace_strict(_WORDS, return_dtype=pl.Int64)
    keys = pl.DataFrame(
        {
            "match": frame["match"],
            "place": places,
            "row": pl.Series(range(len(frame)), dtype=pl.Int64),
            "team": frame["team"] if "team" in frame.columns else pl.Series([None] * len(frame)),
        }
    )
    matches = keys.group_by("match", maintain_order=True).agg(
        pl.col("row").first(),
        pl.len().alias("players"),
        pl.col("team").drop_nulls().n_unique().alias("teams"),
        *((pl.col("place") == place).sum().alias(f"{place}") for place in (_WON, _DRAWN, _LOST)),
    )
    won, drawn, lost, players = (pl.col(f"{number}") for number in (1, 2, 3, "players"))
    decided = (won > 0) & (lost > 0) & (drawn == 0)
    sides = (players == 2) | (pl.col("teams") == 2)
    bad = matches.filter(~(sides & (decided | (drawn == players)) | (players == 1)))
    if len(bad):
        where = table.places(bad["row"].to_numpy())
        problems = []
        for row, (file, line) in zip(bad.iter_rows(named=True), where, strict=True):
            got = f"{row['1']} won, {row['2']} drawn and {row['3']} lost in match {row['match']!r}"
            problems.append(Problem(file, line, name, OUTCOMES, got))
        raise InvalidDataError(problems)
    return frame.with_columns(places.alias("rank"))


def _lowered(column: pl.Series) -> pl.Series:
    return column.str.strip_chars().str.to_lowercase()


ONE_NUMBER = (
    "must have one meaning: 1,234 can be 1.234 or 1234, so write a decimal point, and nothing "
    "between thousands"
)
NO_PLACE = (
    "must be a place: --unplaced last gives those without one the place after the last, and "
    "--skip-bad=rows leaves these rows out, as if they had not played"
)

_SIGN = "^[+-]?"
#: Groups of three digits with spaces or apostrophes between them.
_SPACED = _SIGN + r"\d{1,3}([\s'\u2019]\d{3})+([.,]\d+)?$"
_GAPS = r"[\s'\u2019]"
_COMMA = _SIGN + r"\d+,\d+$"
_EITHER_COMMA = _SIGN + r"[1-9]\d{0,2},\d{3}$"
_EITHER_POINT = _SIGN + r"[1-9]\d{0,2}\.\d{3}$"
_POINT_GROUPS = _SIGN + r"\d{1,3}((\.\d{3}){2,}|(\.\d{3})+,\d+)$"
_COMMA_GROUPS = _SIGN + r"\d{1,3}((,\d{3}){2,}|(,\d{3})+\.\d+)$"
_POINT = _SIGN + r"\d*\.\d+$"

_PLACE = r"^(?:[=#]|t-?|no\.?)?\s?(\d+)\s?(?:st|nd|rd|th)?\.?\s?=?$"
#: A place after the last of every match: only the order of places counts.
_AFTER_LAST = str(2**31)
#: What results lists say of those who did not finish.
_ABSENT = (
    *("dnf", "dns", "dsq", "dq", "dnq", "dnc", "nc", "wd", "w/d", "mc", "cut", "mdf"),
    *("ret", "retired", "abd", "otl", "withdrawn", "disqualified", "did not finish", "absent"),
)


class Written(NamedTuple):
    """A column in plain notation, the rows that have two readings or none, and a note ("": none).

    column : values that have no reading are as they were
    """

    column: pl.Series
    faults: tuple[Fault, ...]
    note: str


def plain_numbers(
    column: pl.Series, faults: tuple[Fault, ...], *, by_commas: bool
) -> Written | None:
    """Return a column of text whose numbers have another notation; None if that is no help.

    faults : what a reader of plain numbers found
    by_commas : commas separate the columns of the file, so none is a decimal comma
    """
    if not any(fault.rule == NUMBER for fault in faults) or not _is_text(column):
        return None
    text = text_of(column).str.strip_chars().str.replace_all("[\u2212\u2013]", "-")
    spaced = text.str.contains(_SPACED).fill_null(False)
    text = _where(spaced, text.str.replace_all(_GAPS, ""), text)
    by_comma = text.str.contains(_COMMA)
    either_comma = mask(text.str.contains(_EITHER_COMMA))
    either_point = mask(text.str.contains(_EITHER_POINT))
    point_groups, comma_groups = (
        text.str.contains(pattern) for pattern in (_POINT_GROUPS, _COMMA_GROUPS)
    )
    commas = mask(by_comma) & ~either_comma | mask(point_groups)
    points = mask(text.str.contains(_POINT)) & ~either_point | mask(comma_groups)
    if by_commas and commas.any():
        return None
    unclear = np.zeros(len(column), dtype=bool)
    if commas.any() and points.any():
        unclear = commas | mask(comma_groups)
    elif commas.any():
        if not point_groups.any():
            unclear = either_point
        text = text.str.replace_all(".", "", literal=True).str.replace(",", ".", literal=True)
    elif comma_groups.any():
        text = text.str.replace_all(",", "", literal=True)
    else:
        unclear = either_comma
    changed = mask(text != text_of(column)) & ~unclear
    if not changed.any() and not unclear.any():
        return None
    plain = _where(pl.Series(~unclear), text, pl.Series([None] * len(text), dtype=pl.String))
    readable = mask(plain.cast(pl.Float64, strict=False).is_not_null())
    kept = _where(pl.Series(readable | unclear), plain, text_of(column))
    note = _described(column, plain, changed & readable, "number")
    return Written(kept.alias(column.name), faults_of((unclear, ONE_NUMBER)), note)


def plain_places(
    column: pl.Series, faults: tuple[Fault, ...], *, unplaced: Unplaced | None = None
) -> Written | None:
    """Return a column of text whose places have another notation; None if that is no help.

    faults : what a reader of whole numbers found
    unplaced : the place of players without one; None refuses them
    """
    if not any(fault.rule == WHOLE for fault in faults) or not _is_text(column):
        return None
    lowered = text_of(column).str.strip_chars().str.to_lowercase()
    absent = mask(lowered.is_in(_ABSENT))
    digits = lowered.str.extract(_PLACE)
    written = mask(digits.is_not_null())
    changed = written & mask(digits != lowered)
    if not changed.any() and not absent.any():
        return None
    plain = _where(pl.Series(written), digits, text_of(column))
    after = None if unplaced is None else _AFTER_LAST
    plain = _where(pl.Series(absent), pl.Series([after] * len(plain), dtype=pl.String), plain)
    note = _described(column, plain, changed, "place")
    if unplaced is not None and absent.any():
        marks = ", ".join(sorted({*text_of(column).filter(pl.Series(absent)).str.strip_chars()}))
        players = counted(count := int(absent.sum()), "player has", "players have")
        share = "shares" if count == 1 else "share"
        sentence = (
            f"{players} no place ({marks}) and {share} the place after the last of their match"
        )
        return Written(plain.alias(column.name), (), f"{note}; {sentence}" if note else sentence)
    return Written(plain.alias(column.name), faults_of((absent, NO_PLACE)), note)


def describe_provisional(count: int, example: str) -> str:
    """Return a note on ratings that are marked as provisional."""
    ratings = counted(count, "rating is", "ratings are")
    return f"{ratings} marked as provisional (as {example!r}); the number is read"


def is_nobody(name: str) -> bool:
    """Return whether a name means a round without an opponent."""
    return name.casefold() in _NOBODY


def without_marks(column: pl.Series, notes: list[str]) -> pl.Series:
    """Return ratings without the marks of provisional ones, such as 1500?, and add a note."""
    if not _is_text(column):
        return column
    text = text_of(column)
    marked = text.str.contains(PROVISIONAL).fill_null(False)
    if not marked.any():
        return column
    notes.append(describe_provisional(int(marked.sum()), text.filter(marked)[0]))
    return text.str.replace(PROVISIONAL, "$1").alias(column.name)


def numbers_of(
    column: pl.Series, notes: list[str], *, by_commas: bool, nan_is_absent: bool = True
) -> Numbers:
    """Return what `read_numbers` does, also of numbers in another notation.

    notes : gets a sentence if there are such numbers
    by_commas : commas separate the columns of the file
    """
    numbers = read_numbers(column, nan_is_absent=nan_is_absent)
    written = plain_numbers(column, numbers.faults, by_commas=by_commas)
    if written is None:
        return numbers
    notes += [written.note] if written.note else []
    values, absent, faults = read_numbers(written.column, nan_is_absent=nan_is_absent)
    unread = faulty_rows(written.faults, len(values))
    if absent is not None and unread.any():
        absent = absent & ~unread
    return Numbers(values, absent, (*faults, *written.faults))


def instead_of(faults: tuple[Fault, ...], written: tuple[Fault, ...]) -> tuple[Fault, ...]:
    """Return faults of values that became empty because of others, and these others."""
    if not written:
        return faults
    known = faulty_rows(written, len(written[0].rows))
    left = ((fault.rows & ~known, fault.rule) for fault in faults)
    return (*faults_of(*left), *written)


def _is_text(column: pl.Series) -> bool:
    return column.dtype in (pl.String, pl.Categorical, pl.Enum)


def _where(rows: pl.Series, one: pl.Series, other: pl.Series) -> pl.Series:
    return pl.select(pl.when(rows).then(one).otherwise(other)).to_series()


def _described(column: pl.Series, plain: pl.Series, changed: Flags, what: str) -> str:
    """Return the sentence on values that were read in another notation."""
    at = np.flatnonzero(changed)
    if not len(at):
        return ""
    first = int(at[0])
    how = f"{shown(text_of(column)[first])} as {plain[first]}"
    return f"{counted(len(at), what)} of {column.name} in another notation: read {how}"
