"""Bytes of a FIDE tournament report -> the lines of its players, in the columns of TRF16.

Source: FIDE Handbook, C.04 Annex 2, "Format of Tournament Report File" (TRF16), and its version of
2026, which adds codes but leaves the lines of players as they are.
Departures: the report asks for a carriage return after each line; any line end is taken. Columns
are characters, but programs that write UTF-8 and count in bytes shift what follows a name with
an accent: a line that fits the columns only when it is counted in bytes is read so.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from equipoise.formats.table import refuse, shown
from equipoise.wording import counted

#: Columns before those of the first round, and columns of a round.
BEFORE_ROUNDS = 91
ROUND = 10
#: First column of the name from 0, and its width.
_NAME, _NAME_WIDTH = 14, 33

NOT_UTF16 = "must be text in UTF-8 or in an encoding of one byte a letter"
PLAYERS = "must hold at least one player, on a line that begins with 001"
NO_TABS = "must have blanks between its columns, not tabs"

_LINE_END = re.compile(rb"\r\n|\r|\n")
_CODE = re.compile(r"([0-9A-Za-z#]{3})(?:\s|$)")
_RULER = re.compile(r"[\d\s]*\Z")
_COLUMNS = re.compile(
    r"001 [ \d]{4} .{4} .{33} [ \d]{4} .{3} .{11} .{10} [ \d.,]{4} [ \d]{4}  "
    r"(?:[ \d]{4} [ wWbB-] [ 10=+wdlhfuzWDLHFUZ-]  )*"
)
#: Codes of TRF16 and TRF26 whose lines say nothing about games; so do all that end in 2.
_KNOWN = frozenset(("013", "240", "250", "260", "299", "300", "310", "320", "330", "801"))
#: Codes that say how points are counted, or that they are not the sum of the results.
_SCORING = frozenset(("162", "240", "250", "299", "XXA", "XXS"))
_SCORING_PREFIX = "BB"


class PlayerLine(NamedTuple):
    """A line of a player, padded so that it ends with a whole round; `line` counts from 1."""

    line: int
    text: str


class Report(NamedTuple):
    """The lines of the players of a report.

    standard : whether nothing says that points are counted in another way than 1, 1/2 and 0
    notes : sentences
    """

    lines: list[PlayerLine]
    standard: bool
    notes: list[str]


def read_report(data: bytes, name: str) -> Report:
    """Return the lines of the players of a report.

    Raises : InvalidDataError   it is no text, has tabs in its columns, or has no players
    """
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        refuse(name, NOT_UTF16, "text in UTF-16", line=1)
    if b"\0" in data:
        refuse(name, NOT_UTF16, "a binary file")
    data = data.removeprefix(b"\xef\xbb\xbf").rstrip(b"\x1a")
    encoding = _encoding(data)
    lines = [(at, line) for at, line in enumerate(_LINE_END.split(data), 1) if line.strip()]
    players = [(at, line.rstrip()) for at, line in lines if line.startswith(b"001")]
    if not players:
        got = f"{counted(len(lines), 'line')} of other kinds"
        refuse(name, PLAYERS, got if lines else "an empty file")
    tabs = [at for at, line in players if b"\t" in line]
    if tabs:
        refuse(
            name, NO_TABS, f"tabs on {len(tabs):,} of {counted(len(players), 'line')}", line=tabs[0]
        )
    others = [(at, line.decode(encoding)) for at, line in lines if not line.startswith(b"001")]
    codes = [(at, text, _code(text)) for at, text in others]
    found, notes = _laid_out(players, encoding)
    if encoding != "utf-8":
        notes.insert(0, "names are not in UTF-8; they are read as Windows-1252 (Western European)")
    standard = not any(code in _SCORING or code.startswith(_SCORING_PREFIX) for _, _, code in codes)
    return Report(found, standard, [*notes, *_skipped(codes)])


def _encoding(data: bytes) -> str:
    """Return the name of an encoding in which all of the data is text."""
    for encoding in ("utf-8", "cp1252"):
        try:
            data.decode(encoding)
        except UnicodeDecodeError:
            continue
        return encoding
    return "latin-1"


def _code(text: str) -> str:
    """Return the code of a line, "" where it has none."""
    found = _CODE.match(text)
    return found[1] if found else ""


def _skipped(codes: list[tuple[int, str, str]]) -> Iterator[str]:
    """Yield what a user should know about lines that were skipped."""
    unknown = Counter(
        code for _, _, code in codes if code.isdigit() and code[2] != "2" and code not in _KNOWN
    )
    if unknown:
        listed = ", ".join(sorted(unknown))
        yield f"lines with codes that TRF16 does not have were skipped: {listed}"
    bare = [(at, text) for at, text, code in codes if not code and not _RULER.match(text)]
    if bare:
        at, text = bare[0]
        many = counted(len(bare), "line without a code was", "lines without a code were")
        yield f"{many} skipped (the first is line {at}: {shown(text)})"


def _laid_out(
    players: list[tuple[int, bytes]], encoding: str
) -> tuple[list[PlayerLine], list[str]]:
    """Return the lines of players in columns of characters, and what to tell about them.

    Where columns may have been counted in characters or in bytes, every line is read in the way
    in which it fits; a line that fits both or neither as the others of its file do.
    """
    texts = [line.decode(encoding) for _, line in players]
    in_bytes: dict[int, str] = {}
    if encoding == "utf-8":
        shifted = {
            row: _by_bytes(players[row][1])
            for row in range(len(texts))
            if not players[row][1].isascii()
        }
        fits = {row: (_fits(texts[row]), _fits(text)) for row, text in shifted.items()}
        only_bytes = [row for row, fit in fits.items() if fit == (False, True)]
        if only_bytes and (True, False) not in fits.values():
            only_bytes = list(shifted)
        in_bytes = {row: shifted[row] for row in only_bytes}
    lines = [
        PlayerLine(at, _padded(in_bytes.get(row, text)))
        for row, ((at, _), text) in enumerate(zip(players, texts, strict=True))
    ]
    if not in_bytes:
        return lines, []
    return lines, [
        f"columns are counted in bytes, not in characters, on {counted(len(in_bytes), 'line')} "
        f"(the first is line {lines[min(in_bytes)].line})"
    ]


def _by_bytes(line: bytes) -> str:
    """Return a line whose columns are bytes with columns of characters."""
    name = line[_NAME : _NAME + _NAME_WIDTH].decode(errors="replace").ljust(_NAME_WIDTH)
    before, after = line[:_NAME], line[_NAME + _NAME_WIDTH :]
    return before.decode(errors="replace") + name + after.decode(errors="replace")


def _fits(text: str) -> bool:
    """Return whether a line has blanks, digits and letters where the columns ask for them."""
    return _COLUMNS.fullmatch(_padded(text)) is not None


def _padded(text: str) -> str:
    """Return a line up to the last column of its last round."""
    rounds = -(-max(0, len(text) - BEFORE_ROUNDS) // ROUND)
    return text.ljust(BEFORE_ROUNDS + rounds * ROUND)
