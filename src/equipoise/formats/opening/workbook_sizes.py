"""Counts how much room a workbook needs, before a library reads it.

The parts of a workbook are unpacked once in blocks and counted. The library makes room for every
cell between the first and the last, so two cells far apart would fill the memory. A text that many
cells share, and a cell that is repeated, are stored once and become as many texts as there are
cells. So a file of some kilobytes may need more memory than there is.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator, Sequence

from equipoise.errors import InvalidDataError
from equipoise.formats.opening import packing
from equipoise.formats.table import refuse

#: Maximum number of rows times columns of a sheet, from its first row and column.
MOST_CELLS = 20_000_000
#: Maximum number of bytes of the texts of all cells, where a text counts for each of its cells.
MOST_TEXT = 500_000_000

READABLE = "must be a readable workbook"
CELLS = f"must have at most {MOST_CELLS:,} cells, rows times columns: save the table as CSV"
TEXT = (
    f"must have at most {MOST_TEXT // 10**6} MB of text in its cells, where a text that many "
    "cells share counts for each of them: save the table as CSV"
)

#: What may be between the name and the end of a tag: a value may have the character that ends tags.
_ATTRIBUTES = rb"""(?:[^<>"']|"[^"]*"|'[^']*')*"""
#: What is no tag, whatever it looks like.
_NO_TAG = rb"<!--.*?-->|<!\[CDATA\[.*?\]\]>"
#: A cell or row, with its position if that comes first, or else with all of its attributes.
_CELL = re.compile(
    rb"""<(?:\w+:)?(c|row)(?:\s+r="([A-Za-z]{0,3})(\d{1,9})"(?=[\s/>])|(?=[\s/>])(%s)>)|%s"""
    % (_ATTRIBUTES, _NO_TAG),
    re.DOTALL,
)
_POSITION = re.compile(rb"""\sr\s*=\s*["']([A-Za-z]{0,3})(\d{1,9})["']""")
_SHARED = re.compile(
    rb"""\st\s*=\s*["']s["'](?:[^<>"']|"[^"]*"|'[^']*')*>\s*<(?:\w+:)?v\b[^>]*>\s*(\d{1,9})\s*<"""
)
_UNCOMPUTED = re.compile(rb"(?:</f>|<f\b[^>]*/>)\s*(?:<v>\s*</v>|<v\s*/>|</c>)")
_SHARED_ITEM = re.compile(rb"<(?:\w+:)?si\b[^>]*>")
_ANY_TAG = re.compile(rb"<[^>]*>")
_ODS_TAG = re.compile(
    rb"<table:(?:(table-row|table-cell|covered-table-cell)(?=[\s/>])(%s)>|(table)[\s>])|%s"
    % (_ATTRIBUTES, _NO_TAG),
    re.DOTALL,
)
_REPEATED = re.compile(rb"number-(?:columns|rows)-repeated\s*=\s*[\"']\s*\+?(\d+)[\"']")
_SHARED_STRINGS = "xl/sharedstrings.xml"
_BLOCK = 2**20
#: The longest tag where two blocks meet.
_TAG = 2**17


def check_parts(archive: zipfile.ZipFile, name: str, size: int) -> bool:
    """Check that a workbook unpacks to no more than it may, and has few enough cells.

    Returns : whether formulas lack a stored result
    Raises : InvalidDataError
    """
    budget = packing.Budget(name, size)
    uncomputed = False
    lengths: list[int] = []
    # The texts that cells share come before the cells.
    for one in sorted(archive.namelist(), key=lambda part: part.lower() != _SHARED_STRINGS):
        try:
            with archive.open(one) as part:
                blocks = _blocks(packing.GuardedStream(part, name, packing.ZIP), budget, name)
                if one.lower() == _SHARED_STRINGS:
                    lengths = _shared_lengths(blocks)
                elif one == "content.xml":
                    _check_spreadsheet(blocks, name)
                else:
                    uncomputed |= _check_sheet(blocks, lengths, name)
        except packing.BAD_ARCHIVE as error:
            if isinstance(error, InvalidDataError):
                raise
            refuse(name, READABLE, packing.reason_of(error))
    return uncomputed


def _blocks(stream: packing.GuardedStream, budget: packing.Budget, name: str) -> Iterator[bytes]:
    """Yield a part in blocks, each of which begins with the end of the one before.

    Raises : InvalidDataError
    """
    kept = b""
    while block := stream.read(_BLOCK):
        budget.take(len(block))
        text = kept + block
        # What a block shares with the next must not be counted twice: it begins with a tag.
        cut = text.rfind(b"<")
        if len(text) - cut > _TAG and cut >= 0:
            if b">" not in text[cut:]:
                refuse(name, READABLE, f"a tag of more than {_TAG:,} bytes")
            cut = len(text)
        cut = len(text) if cut < 0 else cut
        yield text[:cut]
        kept = text[cut:]
    yield kept


def _shared_lengths(blocks: Iterator[bytes]) -> list[int]:
    """Return how long each text is that cells may share."""
    lengths: list[int] = []
    for block in blocks:
        begin, *items = _SHARED_ITEM.split(block)
        if lengths:
            lengths[-1] += _length(begin)
        lengths += map(_length, items)
    return lengths


def _length(markup: bytes) -> int:
    """Return the number of bytes of the text in a piece of markup."""
    return len(_ANY_TAG.sub(b"", markup))


def _check_sheet(blocks: Iterator[bytes], lengths: Sequence[int], name: str) -> bool:
    """Check the cells of a sheet of .xlsx, and return whether results of formulas are missing.

    blocks : of any part, because a sheet may be in any; lengths : of the texts that cells share
    """
    row = column = last_row = last_column = text = 0
    is_sheet = uncomputed = False
    for block in blocks:
        is_sheet = is_sheet or b"sheetData" in block
        for tag, first, number, attributes in _CELL.findall(block):
            if not tag:
                continue
            found = None if number else _POSITION.search(attributes)
            letters, digits = found.groups() if found else (first, number)
            if tag == b"row":
                row, column = int(digits) if digits else row + 1, 0
                continue
            column = _number(letters) if letters else column + 1
            row = int(digits) if digits else row
            last_row = max(last_row, row)
            last_column = max(last_column, column)
        if not is_sheet:
            continue
        _check_size(last_row, last_column, name)
        if lengths:
            shared = map(int, _SHARED.findall(block))
            text += sum(lengths[one] for one in shared if one < len(lengths))
            _check_text(text, name)
        uncomputed = uncomputed or _UNCOMPUTED.search(block) is not None
    return uncomputed


def _number(letters: bytes) -> int:
    """Return the number of a column from its letters, from 1; 0 without letters."""
    number = 0
    for letter in letters.upper():
        number = 26 * number + letter - ord("A") + 1
    return number


def _check_spreadsheet(blocks: Iterator[bytes], name: str) -> None:
    """Check the last row and column with a value of each sheet of .ods, and its repeated texts."""
    row = column = repeated = last_row = last_column = 0
    # Bytes of text of the row under way, and of all rows; how often the cell under way is there.
    in_row = text = times = 0
    for block in blocks:
        at = 0
        for found in _ODS_TAG.finditer(block):
            tag, attributes, table = found.groups()
            if not tag and not table:
                continue
            if times and repeated * times > 1:
                in_row += times * _length(block[at : found.start()])
            at, times = found.end(), 0
            if table or tag == b"table-row":
                text += repeated * in_row
                _check_text(text, name)
                in_row = 0
            if table:
                row = column = repeated = last_row = last_column = 0
                continue
            count = _repeats(attributes)
            if tag == b"table-row":
                row, column, repeated = row + repeated, 0, count
                continue
            column += count
            if not attributes.endswith(b"/") or b"value" in attributes:
                times = count
                # The value may be an attribute.
                in_row += times * len(attributes) if repeated * times > 1 else 0
                last_row = max(last_row, row + repeated)
                last_column = max(last_column, column)
                _check_size(last_row, last_column, name)
        if times and repeated * times > 1:
            in_row += times * _length(block[at:])
            _check_text(text + repeated * in_row, name)


def _repeats(attributes: bytes) -> int:
    found = _REPEATED.search(attributes)
    return int(found.group(1)[:9]) if found else 1


def _check_size(rows: int, columns: int, name: str) -> None:
    if rows * columns > MOST_CELLS:
        refuse(name, CELLS, f"{rows:,} rows and {columns:,} columns")


def _check_text(size: int, name: str) -> None:
    if size > MOST_TEXT:
        refuse(name, TEXT, f"more than {size // 10**6:,} MB")
