"""Finds out how a text file of a table is written: encoding, separator, and the line of the header.

Everything is decided by the first lines. A file whose first line is a header that its reader knows
is left as it is.
"""

from __future__ import annotations

import csv
import re
import shlex
from typing import NamedTuple

from equipoise.formats.games.layout import names_a_table
from equipoise.formats.spreadsheets import unescaped_text
from equipoise.formats.table import refuse

_NAMES = {",": "a comma", "\t": "a tab", ";": "a semicolon", "|": "a bar"}
#: First line with which a spreadsheet says the separator.
_SAID = re.compile(rb"\"?sep=([,;|\t])\"?[ \t]*(?:\r?\n|$)", re.IGNORECASE)
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


def find_dialect(data: bytes, separator: str) -> Dialect:
    """Return how a file in UTF-8 is written.

    separator : the one that its name shows
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
        return _below_titles(Dialect(body, mark, above, note))
    return _below_titles(Dialect(body, separator, above, ()))


def _below_titles(dialect: Dialect) -> Dialect:
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
        fields = next(csv.reader([text], delimiter=separator), [""])
    except csv.Error:
        return [""]
    return [unescaped_text(field.strip()) for field in fields] or [""]


def decoded(data: bytes, name: str) -> tuple[bytes, tuple[str, ...]]:
    """Return a file in UTF-8 without a byte order mark, with line feeds, and notes.

    UTF-16 with a byte order mark is converted; anything else is refused.
    """
    notes: tuple[str, ...] = ()
    if data.startswith(b"\xef\xbb\xbf"):
        data = data[3:]
    elif data.startswith((b"\xff\xfe", b"\xfe\xff")):
        try:
            data = data.decode("utf-16").encode()
        except UnicodeError as error:
            refuse(name, "must be text in UTF-8", f"text in UTF-16 that is damaged: {error}")
        notes = ("the file is text in UTF-16, as spreadsheets write Unicode text",)
    if data.isspace() or not data:
        refuse(name, "must have a header and at least one row", "an empty file")
    if not data.isascii():
        try:
            data.decode()
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            refuse(name, "must be text in UTF-8", _foreign(data, error.start, name), line=line)
    if b"\r" in data and b"\n" not in data:
        data = data.replace(b"\r", b"\n")
    return data, notes


def _foreign(data: bytes, at: int, name: str) -> str:
    """Return what a byte that is not UTF-8 may be, and how to convert the file."""
    said = f"the byte 0x{data[at]:02x}"
    start = max(data.rfind(b"\n", 0, at), at - 12) + 1
    ends = [end for mark in b",;\t|\r\n" if (end := data.find(mark, at)) >= 0]
    try:
        word = data[start : min([*ends, at + 12])].decode("cp1252")
    except UnicodeDecodeError:
        return said
    word = re.split(r"[,;\t|\"]", word[: at - start])[-1] + word[at - start :]
    said += f"; if {word.strip()!r} is right, the text is in Windows-1252: save it as UTF-8 "
    said += "(Excel: CSV UTF-8)"
    if not name.lower().endswith((".csv", ".tsv", ".txt")):
        return said
    stem, _, suffix = name.rpartition(".")
    files = f"{shlex.quote(name)} > {shlex.quote(f'{stem}-utf8.{suffix}')}"
    return f"{said}, or convert it with iconv -f WINDOWS-1252 -t UTF-8 {files}"
