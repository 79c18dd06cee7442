"""Finds out how a text file of a table is written: separator, and the line of the header.

Everything is decided by the first lines. A file whose first line is a header that its reader knows
is left as it is.
"""

from __future__ import annotations

import csv
import re
from typing import NamedTuple

from equipoise.formats.games.layout import names_a_table
from equipoise.formats.spreadsheets import unescaped_text
from equipoise.formats.table import refuse

_NAMES = {",": "a comma", "\t": "a tab", ";": "a semicolon", "|": "a bar"}
#: First line with which a spreadsheet says the separator.
_SAID = re.compile(rb"\"?sep=([,;|\t])\"?[ \t]*(?:\r?\n|$)", re.IGNORECASE)
SEPARATED = "must have commas, semicolons, tabs or bars between its columns"
#: Lines below the first one, and bytes, in which a header is looked for.
_LINES, _BYTES = 20, 65_536


class Dialect(NamedTuple):
    """How a file is written.

    body : the file from its header on
    separator : between columns
    above : number of lines above the header
    notes : sentences for users
    """

    body: bytes
    separator: str
    above: int
    notes: tuple[str, ...]

    @property
    def spaced(self) -> bool:
        """Whether spaces follow separators, so that quotation marks may follow the spaces."""
        return f"{self.separator} ".encode() in self.body.partition(b"\n")[0]


def find_dialect(data: bytes, separator: str, name: str = "") -> Dialect:
    """Return how a file in UTF-8 is written.

    separator : the one that its name shows; name : of the file
    Raises : InvalidDataError   only spaces are between columns
    """
    body = data.lstrip(b"\r\n")
    above = data[: len(data) - len(body)].count(b"\n")
    said = _SAID.match(body)
    if said is not None and body[said.end() :].strip():
        mark = said[1].decode()
        rest = body[said.end() :]
        body = rest.lstrip(b"\r\n")
        above += 1 + rest[: len(rest) - len(body)].count(b"\n")
        note = () if mark == separator else (f"columns are separated by {mark!r}, as line 1 says",)
        return _below_titles(Dialect(body, mark, above, note), name)
    return _below_titles(Dialect(body, separator, above, ()), name)


def _below_titles(dialect: Dialect, name: str) -> Dialect:
    """Return the dialect from the first line on that is a header, if the first one is none."""
    body, separator, above, notes = dialect
    lines = body[:_BYTES].split(b"\n", _LINES + 1)[: _LINES + 1]
    first = _fields(lines[0], separator)
    other = next((mark for mark in ";\t|," if mark in first[0]), "") if len(first) == 1 else ""
    if other and other != separator and not notes:
        note = f"columns are separated by {other!r}, not by {_NAMES[separator]}"
        dialect = Dialect(body, other, above, (note,))
        first = _fields(lines[0], other)
    if names_a_table(first):
        return dialect
    marks = dict.fromkeys((dialect.separator, *_NAMES))
    start = len(lines[0]) + 1
    for at, line in enumerate(lines[1:], start=1):
        for mark in marks:
            fields = _fields(line, mark)
            if len(fields) > 1 and names_a_table(fields):
                return _from_line(dialect, body[start:], above + at, mark)
        start += len(line) + 1
    for at, line in enumerate(lines):
        words = line.decode("utf-8", "replace").split()
        if len(words) > 1 and not re.search(rb"[,;\t|]", line) and names_a_table(words):
            refuse(name, SEPARATED, "only spaces", line=above + at + 1)
    return dialect


def _from_line(dialect: Dialect, body: bytes, above: int, mark: str) -> Dialect:
    """Return the dialect of a file whose header has lines above it."""
    notes = [f"the header is line {above + 1}; what is above it is left out"]
    if mark != dialect.separator:
        notes.append(f"columns are separated by {mark!r}, not by {_NAMES[dialect.separator]}")
    return Dialect(body, mark, above, tuple(notes))


def _fields(line: bytes, separator: str) -> list[str]:
    text = line.decode("utf-8", "replace").rstrip("\r")
    try:
        fields = next(csv.reader([text], delimiter=separator, skipinitialspace=True), [""])
    except csv.Error:
        return [""]
    return [unescaped_text(field.strip()) for field in fields] or [""]
