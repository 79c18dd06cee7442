"""Which format a file has: by its name, and by its first bytes."""

from __future__ import annotations

import json
import re
from pathlib import Path, PurePosixPath
from typing import Literal, NamedTuple, TypeAlias

from equipoise.formats.opening.encodings import UTF_8_MARK, utf_16_of
from equipoise.formats.tables.frames import ARROW_MAGIC, PARQUET_MAGIC

#: How a table is stored. Those that end in .gz must be compressed; all may be.
Format: TypeAlias = Literal[
    "csv",
    "csv.gz",
    "tsv",
    "tsv.gz",
    "parquet",
    "arrow",
    "jsonl",
    "jsonl.gz",
    "json",
    "contests",
    "codeforces",
    "dmoj",
    "atcoder",
    "excel",
]
CONTEST_FORMATS = ("json", "contests", "codeforces", "dmoj", "atcoder")
SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".xlsx": "excel",
    ".xlsm": "excel",
    ".xls": "excel",
    ".ods": "excel",
    ".pgn": "pgn",
    ".trf": "trf",
    ".trfx": "trf",
}
#: Suffixes of compressed files.
PACKED_SUFFIXES = (".gz", ".bz2", ".xz", ".zst")
#: Number of first bytes that show a format.
PEEKED = 4096

#: What files are called in notes and problems.
WORDS = {
    "csv": "CSV",
    "tsv": "TSV",
    "parquet": "Parquet",
    "arrow": "Arrow",
    "jsonl": "JSON Lines",
    "json": "JSON",
    "contests": "contest JSON",
    "excel": "a workbook",
    "pgn": "PGN",
    "trf": "a FIDE report (TRF)",
}
#: First bytes of files that no reader reads -> what they are, and what to do.
_FOREIGN = {
    b"SQLite format 3": "an SQLite database: export the table as CSV",
    b"%PDF-": "a PDF: save the table as CSV",
    b"{\\rtf": "a text document (RTF): save the table as CSV",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive: unpack it, and read the folder",
    b"Rar!": "a RAR archive: unpack it, and read the folder",
    b"\x93NUMPY": "a NumPy array: save the table as CSV",
    b"Obj\x01": "an Avro file: save the table as Parquet",
    b"ORC": "an ORC file: save the table as Parquet",
}
_WORKBOOK_97 = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ARROW_STREAM = b"\xff\xff\xff\xff"
_HTML = re.compile(rb"<(!doctype\s+html|html|head|body|\?xml[^>]*>\s*<(!doctype\s+)?html)", re.I)
_LINE = rb"(?:\A|[\r\n])"
#: The start of a line of a FIDE report.
_CODE = rb"(?:\d{3}|XX[A-Z]|BB[A-Z]|###)(?:[ \t\r\n]|\Z)"
_JSON = rb"\A(?:\[\s*(?:[\[{\]\"\d-]|true|false|null|\Z)|\{\s*(?:\"|\}|\Z))"
#: What a text format looks like in the first bytes: enough to believe the name of a file. Titles
#: and comments may hold any mark, so a comma is no sign of another format.
_LOOKS_LIKE = {
    "pgn": re.compile(rb"\A[;%{]|" + _LINE + rb"[ \t]*\[\s*\w+\s*\""),
    "trf": re.compile(_LINE + _CODE),
    "json": re.compile(_JSON),
    "jsonl": re.compile(_JSON),
}
#: What shows a text format by itself: a complete tag on a line, the columns of a player.
_SIGNATURES = {
    "pgn": re.compile(_LINE + rb"[ \t]*\[\s*\w+\s*\"(?:[^\"\\\r\n]|\\.)*\"\s*\]"),
    "trf": re.compile(_LINE + rb"001 [ \d]{4} "),
    "json": re.compile(_JSON),
}
#: Marks between columns.
_SEPARATORS = re.compile(rb"[,;\t|]")


class Kind(NamedTuple):
    """What a file is by its first bytes.

    format : the format, None if they do not show one
    what : what it is in a problem, if no reader reads it; "" for text of an unknown form
    """

    format: str | None
    what: str = ""


def is_address(text: str) -> bool:
    """Return whether a text is an address and not a path."""
    scheme, mark, _ = text.partition("://")
    return bool(mark) and scheme.lower() in ("https", "http", "s3", "gs")


def format_of(path: Path | PurePosixPath) -> str | None:
    """Return the format by the suffix of a file's name without that of a compression, or None."""
    name = path.name.lower()
    for packed in PACKED_SUFFIXES:
        name = name.removesuffix(packed)
    return SUFFIXES.get(PurePosixPath(name).suffix)


def kind_of(start: bytes, named: str | None = None) -> Kind:
    """Return what a file without compression is, by the strongest evidence.

    Unmistakable bytes come first, then the name, if the text looks like its format, then what text
    has of PGN, a FIDE report or JSON. Only text that has nothing of these is CSV or TSV.

    start : its first bytes, `PEEKED` or all
    named : the format of its name
    """
    if start.startswith(PARQUET_MAGIC):
        return Kind("parquet")
    if start.startswith((ARROW_MAGIC, _ARROW_STREAM)):
        return Kind("arrow")
    if start.startswith(_WORKBOOK_97):
        return Kind("excel")
    for magic, what in _FOREIGN.items():
        if start.startswith(magic):
            return Kind(None, what)
    codec = utf_16_of(start)
    if codec is not None:
        # Cut off after any byte, so the last character may be lost.
        start = start.decode(codec, "ignore").encode("utf-8", "ignore")
    text = start.removeprefix(UTF_8_MARK).lstrip().rstrip(FILLING)
    if b"\0" in (text[:1024] or start):
        return Kind(None, "a binary file")
    if _HTML.match(text):
        return Kind(None, "a web page (HTML): save the table as CSV, or give the raw file")
    if named in _LOOKS_LIKE and _LOOKS_LIKE[named].search(text):
        return Kind(named)
    found = next((format for format, sign in _SIGNATURES.items() if sign.search(text)), None)
    if found == "json":
        is_line = text.startswith(b"{") and _is_json(text.partition(b"\n")[0])
        return Kind("jsonl" if is_line else "json")
    return Kind(found or _table_format(text, named))


#: White space, and what old programs write behind the text of a file.
FILLING = b" \t\r\n\v\f\0\x1a"


def _table_format(text: bytes, named: str | None) -> str | None:
    """Return how the columns of text are separated, None if it is hardly a table."""
    lines = text.splitlines()
    first = next((line for line in lines if _SEPARATORS.search(line)), b"")
    if not first and len(lines) < 2:
        return None
    if named in ("csv", "tsv"):
        return named
    if _LOOKS_LIKE["trf"].match(text) and not _SEPARATORS.search(lines[0]):
        return "trf"
    return "tsv" if b"\t" in first and b"," not in first else "csv"


def _is_json(line: bytes) -> bool:
    """Return whether a line is a complete JSON document."""
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True
