"""Reads CSV and TSV into a table of text.

Text in UTF-16, or in Windows-1252 where nothing else fits, becomes UTF-8. The first lines decide
how a file is written: its separator, and the line of its header. A file whose first line is a
header that its reader knows is left as it is.

Polars reads well-formed files. The standard library then reads files with ragged rows or stray
quotes row by row. This is slower, but every bad row is reported with its line.

A spreadsheet runs a cell that begins with `=`, `+`, `-` or `@`, and some skip a tab or a carriage
return first. Whoever chooses a player's name could so run a formula on the machine of whoever opens
an export. `escaped` puts an apostrophe before such text, which makes it plain text; numbers stay as
they are. Readers take the apostrophe away again. A text that has apostrophes before such a
character itself gets one more, so every text comes back as it was.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple, NoReturn

import numpy as np
import polars as pl

from equipoise.arrays import Flags, Ints
from equipoise.formats.meanings import names_a_table
from equipoise.formats.table import (
    LONG_FIELD,
    LONGEST_FIELD,
    BrokenRow,
    Table,
    check_columns,
    refuse,
    shown,
)
from equipoise.wording import counted

UTF_8_MARK = b"\xef\xbb\xbf"
_UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")
#: First bytes that show UTF-16 without a mark, and how many there must be.
_SHOWING, _LEAST = 32, 8
#: A character of several bytes in UTF-8, which are two characters or more in Windows-1252.
_LONG_CHARACTER = re.compile(
    rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}"
)

TEXT = "must be text in UTF-8"


def utf_16_of(start: bytes) -> str | None:
    """Return the codec of text in UTF-16, None for anything else.

    A byte order mark shows it, or a first line of ASCII, in which every other byte is 0.
    """
    if start.startswith(_UTF_16_MARKS):
        return "utf-16"
    head = start[:_SHOWING]
    for codec, low, high in (("utf-16-le", 0, 1), ("utf-16-be", 1, 0)):
        letters = head[low::2]
        if len(head) >= _LEAST and not any(head[high::2]) and min(letters) >= 9:
            return codec
    return None


def decoded(data: bytes, name: str) -> tuple[bytes, tuple[str, ...]]:
    """Return text in UTF-8 or UTF-16 as UTF-8 without a byte order mark, and notes.

    Raises : InvalidDataError   it is damaged UTF-16
    """
    codec = utf_16_of(data)
    if codec is None:
        return data.removeprefix(UTF_8_MARK), ()
    try:
        text = data.decode(codec).encode()
    except UnicodeError as error:
        refuse(name, TEXT, f"text in UTF-16 that is damaged: {error}")
    return text, ("the file is text in UTF-16",)


def from_western(data: bytes, name: str) -> tuple[bytes, tuple[str, ...]]:
    """Return text as UTF-8, also if it is in Windows-1252, and a note if it is.

    Windows-1252 holds Latin-1, and older spreadsheets of Western Europe write it. Text with a
    longer character of UTF-8 is damaged UTF-8 instead, and so is text that ends within one.
    Raises : InvalidDataError   it is neither
    """
    if data.isascii():
        return data, ()
    try:
        data.decode()
        return data, ()
    except UnicodeDecodeError as error:
        at, is_cut = error.start, error.end == len(data) and "unexpected end" in error.reason
    line = data.count(b"\n", 0, at) + 1
    try:
        text = data.decode("cp1252")
    except UnicodeDecodeError:
        text = ""
    if is_cut or not text or _LONG_CHARACTER.search(data):
        refuse(name, TEXT, f"the byte 0x{data[at]:02x}", line=line)
    # One byte is one character, so the positions are the same.
    before, after = re.split(r"[,;\t|\"\n\r]", text[:at])[-1], re.split(r"[,;\t|\"\n\r]", text[at:])
    word = f"{before[-20:]}{after[0][:20]}".strip()
    note = f"the text is not UTF-8 and read as Windows-1252, which holds Latin-1 (as {word!r})"
    return text.encode(), (f"{note}; save it as UTF-8 if names are wrong",)


_BEGIN = r"[=+\-@\t\r]"
#: Text that would be run, or would lose an apostrophe when it is read.
_RUN = rf"^'*{_BEGIN}"
_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
_ESCAPED = rf"^'('*{_BEGIN})"
_escaped, _run, _number = re.compile(_ESCAPED), re.compile(_RUN), re.compile(_NUMBER)
#: Bytes of a file that may hold escaped text.
_TRACE = re.compile(rb"'[=+\-@\t\r]")


def escaped(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a table in which no text or column name is run by a spreadsheet."""
    texts = [name for name, dtype in frame.schema.items() if dtype == pl.String]
    texts += [name for name, dtype in frame.schema.items() if dtype in (pl.Categorical, pl.Enum)]
    frame = frame.with_columns(_escaped_column(frame[name]) for name in texts)
    names = {name: escaped_text(name) for name in frame.columns}
    return frame.rename({name: new for name, new in names.items() if new != name})


def escaped_text(text: str) -> str:
    """Return a text that no spreadsheet runs."""
    runs = _run.match(text) and not _number.match(text)
    return f"'{text}" if runs else text


def _escaped_column(column: pl.Series) -> pl.Series:
    text = column.cast(pl.String)
    runs = text.str.contains(_RUN) & ~text.str.contains(_NUMBER)
    if not runs.any():
        return column
    return pl.select(pl.when(runs).then("'" + text).otherwise(text)).to_series().alias(column.name)


def may_be_escaped(data: bytes) -> bool:
    """Return whether a file may hold escaped text. For most files this is False."""
    # A file without apostrophes is known several times as fast.
    return b"'" in data and _TRACE.search(data) is not None


def unescaped(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a table of text as it was before it was escaped."""
    frame = frame.with_columns(pl.col(pl.String).str.replace(_ESCAPED, "${1}"))
    names = {name: unescaped_text(name) for name in frame.columns}
    return frame.rename({name: new for name, new in names.items() if new != name})


def unescaped_text(text: str) -> str:
    """Return a text as it was before it was escaped."""
    return _escaped.sub(r"\1", text)


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
    declared = _SAID.match(body)
    if declared is not None and body[declared.end() :].strip():
        mark = declared[1].decode()
        rest = body[declared.end() :]
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


_NEWLINE, _RETURN, _QUOTE = 10, 13, 34
#: Bytes of a file that are looked at together.
_PIECE = 2**20
UNCLOSED = "must close all quotation marks"


def read_delimited(data: bytes, name: str, separator: str) -> Table:
    """Return the table of a CSV or TSV file, all of whose columns are text.

    Text that was escaped for spreadsheets comes as it was before.
    """
    stored = "tsv" if separator == "\t" else "csv"
    data, notes = decoded(data, name)
    data = data.rstrip(b"\0\x1a")
    if not data.strip():
        refuse(name, "must have a header and at least one row", "an empty file")
    if b"\r" in data and b"\n" not in data:
        data = data.replace(b"\r", b"\n")
    data, more = from_western(data, name)
    dialect = find_dialect(data, separator, name)
    body, separator, above, understood = dialect
    _check_fields(body, name, separator, above)
    body, escapes = _without_backslashes(body, separator)
    notes += (*more, *understood, *escapes)
    header = _header(body, name, separator, above)
    names = [unescaped_text(cell) for cell in header if cell]
    check_columns(names, name, above + 1)
    table = None
    if _has_whole_quotes(body, separator) and not (dialect.spaced and b' "' in body):
        table = _fast(body, name, separator, header, above)
    if table is None:
        table = _careful(body, name, separator, header, above)
    frame = unescaped(table.frame) if may_be_escaped(body) else table.frame
    table = replace(
        table, frame=frame, notes=(*notes, *table.notes), format=stored, by_commas=separator == ","
    )
    blank = _blank_rows(table.frame)
    blank[[row.row for row in table.broken_rows]] = False
    return table.only(np.flatnonzero(~blank)) if blank.any() else table


def _check_fields(data: bytes, name: str, separator: str, above: int) -> None:
    """Refuse a field that is far too long, before anything reads it.

    One of up to one and a half times the limit may pass here. A longer one covers a whole step, in
    which there is no separator, or no quotation mark after it began.
    """
    step = LONGEST_FIELD // 2
    mark, quoted = separator.encode(), b'"' in data
    quote = data.rfind(b'"', 0, step) if quoted else -1
    for start in range(step, len(data) - step, step):
        end = start + step
        if data.find(b"\n", start, end) < 0 and data.find(mark, start, end) < 0:
            at = max(data.rfind(b"\n", 0, start), data.rfind(mark, 0, start)) + 1
            _refuse_long(data, at, name, above)
        if quoted:
            last = data.rfind(b'"', start, end)
            # A mark before a letter opens a field only if it begins it.
            if last < 0 <= quote and _opens(data, quote, separator):
                _refuse_long(data, quote, name, above)
            quote = last if last >= 0 else quote


def _opens(data: bytes, quote: int, separator: str) -> bool:
    """Return whether a quotation mark can only be the first of a field."""
    edges = f"{separator}\r\n".encode()
    return (quote == 0 or data[quote - 1] in edges) and data[quote + 1] not in edges


def _refuse_long(data: bytes, at: int, name: str, above: int) -> NoReturn:
    """Refuse a field that is too long and begins at a byte."""
    line = above + data.count(b"\n", 0, at) + 1
    if data[at : at + 1] == b'"':
        got = "a quotation mark that is not closed"
        refuse(name, f"{UNCLOSED} within {LONGEST_FIELD:,} bytes", got, line=line)
    refuse(name, LONG_FIELD, "a longer one", line=line)


def _reader(text: io.TextIOWrapper, separator: str) -> Any:
    """Return a strict reader of CSV, for which quotation marks may follow spaces."""
    return csv.reader(text, delimiter=separator, skipinitialspace=True, strict=True)


def _has_whole_quotes(data: bytes, separator: str) -> bool:
    """Return whether every quotation mark that begins a field has its pair at the end of one.

    Polars drops others silently.
    """
    if _QUOTE not in data:
        return True
    letters = np.frombuffer(data, np.uint8)
    pieces = range(0, len(letters), _PIECE)
    quotes = np.concatenate(
        [np.flatnonzero(letters[start : start + _PIECE] == _QUOTE) + start for start in pieces]
    )
    if len(quotes) % 2:
        return False
    borders = np.zeros(256, dtype=bool)
    borders[[_NEWLINE, _RETURN, ord(separator), _QUOTE]] = True
    # Beside the first and the last character is a border, as if there were another mark.
    begins = borders[letters[np.maximum(quotes[::2] - 1, 0)]]
    ends = borders[letters[np.minimum(quotes[1::2] + 1, len(letters) - 1)]]
    return bool(np.all(ends | ~begins))


def _without_backslashes(data: bytes, separator: str) -> tuple[bytes, tuple[str, ...]]:
    """Return text whose quotation marks are doubled, not escaped by backslashes, and a note.

    Text that is well formed as it is stays so, because a field may end with a backslash.
    """
    if b'\\"' not in data or _has_whole_quotes(data, separator):
        return data, ()
    doubled = re.sub(rb'\\([\\"])', lambda mark: mark[1] * (1 + (mark[1] == b'"')), data)
    if not _has_whole_quotes(doubled, separator):
        return data, ()
    return doubled, ("quotation marks are escaped by backslashes",)


def _header(data: bytes, name: str, separator: str, above: int) -> list[str]:
    """Return the names of the columns."""
    text = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", newline="")
    try:
        return [field.strip() for field in next(_reader(text, separator))]
    except csv.Error as error:
        refuse(name, "must have a header of column names", str(error), line=above + 1)


def _fast(data: bytes, name: str, separator: str, header: list[str], above: int) -> Table | None:
    """Return the table of a well-formed file, or None if it is not one."""
    try:
        frame = pl.read_csv(
            data,
            has_header=False,
            separator=separator,
            infer_schema=False,
            new_columns=[f"{at}" for at in range(len(header))],
        )
    except pl.exceptions.PolarsError:
        return None
    frame = _named(frame.slice(1), header)
    # A row with too few fields ends in a null, but so does one with an empty last field.
    ends_empty = frame.width > 1 and len(frame) > 0 and frame[:, -1].null_count() > 0
    if ends_empty:
        ends, fields = _records(data, ord(separator))
        if len(ends) != len(frame) + 1:
            return None
        blank = np.append(False, _blank_rows(frame))
        if np.any((fields != len(header)) & ~blank):
            return None
    locate = _lines_of(data, name, separator, above)
    return Table(frame=frame, name=name, untyped=True, locate=locate)


def _named(frame: pl.DataFrame, header: list[str]) -> pl.DataFrame:
    """Return the frame under its header; of columns without a name only the first stays."""
    first = header.index("") if "" in header else None
    kept = [at for at, cell in enumerate(header) if cell or at == first]
    named = frame[:, kept]
    named.columns = [header[at] for at in kept]
    return named


def _blank_rows(frame: pl.DataFrame) -> Flags:
    """Return the rows without any value: blank lines, or only separators."""
    if not frame.width or not len(frame) or not frame[:, 0].null_count():
        return np.zeros(len(frame), dtype=bool)
    blank: Flags = frame.select(pl.all_horizontal(pl.all().is_null())).to_series().to_numpy()
    return blank


def _lines_of(
    data: bytes, name: str, separator: str, above: int
) -> Callable[[Ints], list[tuple[str, int | None]]]:
    def locate(rows: Ints) -> list[tuple[str, int | None]]:
        ends, _ = _records(data, ord(separator))
        starts = np.append(0, ends + 1)[rows + 1]
        newlines = np.flatnonzero(np.frombuffer(data, np.uint8) == _NEWLINE)
        return [(name, above + line + 1) for line in np.searchsorted(newlines, starts).tolist()]

    return locate


def _records(data: bytes, separator: int) -> tuple[Ints, Ints]:
    """Return the end of every record, and its number of fields; quoted newlines do not count."""
    letters = np.frombuffer(data, np.uint8)
    outside = None
    if _QUOTE in data:
        outside = np.bitwise_xor.accumulate((letters == _QUOTE).view(np.uint8)) == 0
    newline, mark = letters == _NEWLINE, letters == separator
    if outside is not None:
        newline &= outside
        mark &= outside
    ends = np.flatnonzero(newline)
    if not data.endswith(b"\n"):
        ends = np.append(ends, len(data))
    marks = np.searchsorted(np.flatnonzero(mark), ends)
    return ends, np.diff(marks, prepend=0) + 1


def _careful(data: bytes, name: str, separator: str, header: list[str], above: int) -> Table:
    """Return the table of a file with malformed rows, and report each of them."""
    width = len(header)
    rows: list[list[str | None]] = []
    lines: list[int] = []
    broken: list[BrokenRow] = []
    beyond = 0
    for line, record, error in _strict_records(data, name, separator, above):
        if error:
            rule = "must be a row with well-formed quotation marks"
            broken.append(BrokenRow(len(rows), "", rule, error))
        elif len(record) > width and not any(record[width:]):
            beyond += 1
        elif len(record) != width:
            got = f"{len(record)}: {shown(separator.join(record))}"
            rule = f"must have {width} fields like the header"
            broken.append(BrokenRow(len(rows), "", rule, got))
        filled: list[str | None] = [field or None for field in record[:width]]
        rows.append(filled + [None] * (width - len(filled)))
        lines.append(line)
    frame = pl.DataFrame(rows, schema={f"{at}": pl.String for at in range(width)}, orient="row")

    return Table(
        frame=_named(frame, header),
        name=name,
        untyped=True,
        lines=lines,
        broken_rows=tuple(broken),
        notes=(f"empty fields beyond the header are left out of {counted(beyond, 'row')}",)
        if beyond
        else (),
    )


def _strict_records(
    data: bytes, name: str, separator: str, above: int
) -> Iterator[tuple[int, list[str], str]]:
    """Yield the line, the fields and the problem of every record below the header."""
    text = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", newline="")
    reader = _reader(text, separator)
    next(reader)
    while True:
        line = above + reader.line_num + 1
        try:
            record = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            if "unexpected end" in str(error):
                got = "a quotation mark that is open at the end of the file"
                refuse(name, UNCLOSED, got, line=line)
            yield line, [], str(error)
            continue
        if any(field.strip() for field in record):
            yield line, record, ""
