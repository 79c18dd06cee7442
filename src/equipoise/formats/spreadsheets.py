"""Text in CSV and TSV files that spreadsheets would run as a formula.

A spreadsheet runs a cell that begins with `=`, `+`, `-` or `@`, and some skip a tab or a carriage
return first. Whoever chooses a player's name could so run a formula on the machine of whoever opens
an export. An apostrophe before the text makes it plain text. Numbers stay as they are.

Readers take the apostrophe away again. A text that has apostrophes before such a character itself
gets one more, so every text comes back as it was.
"""

from __future__ import annotations

import re

import polars as pl

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
    return frame.rename({name: one for name, one in names.items() if one != name})


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
    return frame.rename({name: one for name, one in names.items() if one != name})


def unescaped_text(text: str) -> str:
    """Return a text as it was before it was escaped."""
    return _escaped.sub(r"\1", text)
