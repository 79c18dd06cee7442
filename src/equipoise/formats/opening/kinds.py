"""Which format a file has: by its name, and by its first bytes."""

from __future__ import annotations

import json
import re
from pathlib import Path, PurePosixPath
from typing import Literal, NamedTuple, TypeAlias

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
#: Formats whose files are read by their path, or are not text.
BINARY_FORMATS = ("parquet", "arrow", "excel")
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
_UTF_8_MARK = b"\xef\xbb\xbf"
_UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")
#: The start of PGN: a tag, perhaps after escaped lines.
_PGN = re.compile(rb"(%[^\n]*\n\s*)*\[\s*\w+\s+\"")
#: The start of a FIDE report: a code of three characters.
_TRF = re.compile(rb"(\d{3}|XX[A-Z]|BB[A-Z]|###)[ \r\n]")
_HTML = re.compile(rb"<(!doctype\s+html|html|head|body|\?xml[^>]*>\s*<(!doctype\s+)?html)", re.I)
#: Marks between columns.
_SEPARATORS = re.compile(rb"[,;\t|]")


class Kind(NamedTuple):
    """What a file is by its first bytes.

    format : the format, None if they do not show one
    what : what it is in a problem, if no reader reads it; "" for text of an unknown form
    """

    format: str | None
    what: str = ""


def format_of(path: Path | PurePosixPath) -> str | None:
    """Return the format by the suffix of a file's name without that of a compression, or None."""
    name = path.name.lower()
    for packed in PACKED_SUFFIXES:
        name = name.removesuffix(packed)
    return SUFFIXES.get(PurePosixPath(name).suffix)


def kind_of(start: bytes) -> Kind:
    """Return what a file without compression is.

    start : its first bytes, `PEEKED` or all
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
    if start.startswith(_UTF_16_MARKS):
        # Cut off after any byte, so the last character may be lost.
        return _text_kind(start.decode("utf-16", "ignore").encode("utf-8", "ignore").lstrip())
    if b"\0" in start[:1024]:
        return Kind(None, "a binary file")
    return _text_kind(start.removeprefix(_UTF_8_MARK).lstrip())


def _text_kind(text: bytes) -> Kind:
    """Return the format of text without white space before it."""
    line = text.partition(b"\n")[0]
    if _HTML.match(text):
        return Kind(None, "a web page (HTML): save the table as CSV, or give the raw file")
    if _PGN.match(text):
        return Kind("pgn")
    if _TRF.match(text) and b"," not in line and b"\t" not in line:
        return Kind("trf")
    if text.startswith(b"["):
        return Kind("json")
    if text.startswith(b"{"):
        return Kind("jsonl" if _is_json(line) else "json")
    if not _SEPARATORS.search(line):
        return Kind(None)
    return Kind("tsv" if b"\t" in line and b"," not in line else "csv")


def _is_json(line: bytes) -> bool:
    """Return whether a line is a complete JSON document."""
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def agrees(format: str, kind: Kind) -> bool:
    """Return whether a file with a name of this format may have this content.

    Text of an unknown form agrees with every format of text: its reader says what is wrong.
    """
    found = kind.format
    if found is None:
        return not kind.what and format not in BINARY_FORMATS
    if found == "tsv" or format == "tsv":
        return {found, format} <= {"csv", "tsv"}
    if found in ("json", "jsonl"):
        return format in ("json", "jsonl")
    return found == format
