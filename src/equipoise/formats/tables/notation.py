"""Reads numbers and places in other notations: decimal commas, marks between thousands, 3rd, T3.

A reader of plain numbers comes first. Only a column that it cannot read comes here, as a whole: its
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
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl

from equipoise.arrays import Flags
from equipoise.formats.options import Unplaced
from equipoise.formats.pgn.values import PROVISIONAL, describe_provisional
from equipoise.formats.table import Fault, faults_of, faulty_rows, shown
from equipoise.formats.tables.columns import NUMBER, WHOLE, Numbers, mask, read_numbers, text_of
from equipoise.wording import counted

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
    point_groups, comma_groups = (text.str.contains(one) for one in (_POINT_GROUPS, _COMMA_GROUPS))
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
    found = mask(digits.is_not_null())
    changed = found & mask(digits != lowered)
    if not changed.any() and not absent.any():
        return None
    plain = _where(pl.Series(found), digits, text_of(column))
    after = None if unplaced is None else _AFTER_LAST
    plain = _where(pl.Series(absent), pl.Series([after] * len(plain), dtype=pl.String), plain)
    note = _described(column, plain, changed, "place")
    if unplaced is not None and absent.any():
        marks = ", ".join(sorted({*text_of(column).filter(pl.Series(absent)).str.strip_chars()}))
        players = counted(count := int(absent.sum()), "player has", "players have")
        share = "shares" if count == 1 else "share"
        said = f"{players} no place ({marks}) and {share} the place after the last of their match"
        return Written(plain.alias(column.name), (), f"{note}; {said}" if note else said)
    return Written(plain.alias(column.name), faults_of((absent, NO_PLACE)), note)


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
