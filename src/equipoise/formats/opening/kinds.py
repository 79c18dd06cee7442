"""Which format a file has, by its name and by its first bytes, and how it is unpacked.

The first bytes of a file, not its name, show how it is compressed. Whatever is unpacked is read in
blocks and counted, so a small file that unpacks to a huge one is refused before it is in memory.
"""

from __future__ import annotations

import bz2
import gzip
import importlib
import io
import json
import lzma
import os
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any, Literal, NamedTuple, Protocol, TypeAlias

from equipoise.errors import EquipoiseError
from equipoise.formats.table import refuse
from equipoise.formats.tables.delimited import UTF_8_MARK, utf_16_of
from equipoise.wording import how_to_install

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
PARQUET_MAGIC = b"PAR1"
ARROW_MAGIC = b"ARROW1"
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


def is_saved_state(source: object) -> bool:
    """Return whether a source is the path of a saved state."""
    return isinstance(source, str | os.PathLike) and str(source).lower().endswith(".npz")


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
    format_found = next((format for format, sign in _SIGNATURES.items() if sign.search(text)), None)
    if format_found == "json":
        is_line = text.startswith(b"{") and _is_json(text.partition(b"\n")[0])
        return Kind("jsonl" if is_line else "json")
    return Kind(format_found or _table_format(text, named))


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


#: Maximum number of bytes that a file or an archive unpacks to.
MOST_UNPACKED = 4 * 2**30
#: Maximum number of bytes unpacked from each byte, for whatever unpacks to more than `RATIO_FROM`.
#: Tables shrink to a fifth or a twentieth; what shrinks to a thousandth was made to fill a memory.
MOST_RATIO = 250
RATIO_FROM = 64 * 2**20
#: Maximum number of files in an archive.
MOST_MEMBERS = 10_000
_BLOCK = 2**20

READABLE = "must be a readable file"
UNPACKED_SIZE = f"must unpack to at most {MOST_UNPACKED // 2**30} GB: unpack it, and read parts"
UNPACKED_RATIO = (
    f"must unpack to at most {MOST_RATIO} times its size (from {RATIO_FROM // 2**20} MB on): if "
    "you trust the file, unpack it and read the result"
)
MEMBERS = f"must be an archive of at most {MOST_MEMBERS:,} files: unpack it, and read the folder"
NESTED = "must not be packed twice: unpack it once, and read the result"


class Packing(NamedTuple):
    """A kind of compression: its name, its first bytes, and the rules for such a file."""

    kind: str
    first: re.Pattern[bytes]
    whole: str
    readable: str


def _packing(kind: str, first: bytes) -> Packing:
    return Packing(
        kind,
        re.compile(first),
        f"must be a complete {kind} file",
        f"must be a readable {kind} file",
    )


GZIP = _packing("gzip", rb"\x1f\x8b")
BZIP2 = _packing("bzip2", rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)")
XZ = _packing("xz", rb"\xfd7zXZ\x00")
# The second magic number is that of skippable frames, with which files of several frames may begin.
ZSTD = _packing("zstd", rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18")
ARCHIVE = "must be a complete, readable zip archive"
ZIP = Packing("zip", re.compile(rb"PK(?:\x03\x04|\x05\x06)"), ARCHIVE, ARCHIVE)
PLAIN = Packing("plain", re.compile(rb""), READABLE, READABLE)
#: Compressions of one file.
STREAMS = (GZIP, BZIP2, XZ, ZSTD)
#: Bytes that show every compression.
PACKED_START = 10

#: Everything that decompression raises for data that is damaged, encrypted or uses a rare
#: compression.
DAMAGE: tuple[type[Exception], ...] = (
    OSError,
    RuntimeError,
    ValueError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
)
BAD_ARCHIVE: tuple[type[Exception], ...] = (*DAMAGE, EOFError)


class Readable(Protocol):
    """Anything from which bytes can be read."""

    def read(self, size: int, /) -> bytes:
        """Return the next bytes, at most `size`."""


class GuardedStream:
    """A stream that turns failures into problems of its file."""

    def __init__(
        self,
        stream: Readable,
        name: str,
        packing: Packing,
        damage: tuple[type[Exception], ...] = DAMAGE,
    ) -> None:
        self._stream, self._name, self._packing, self._damage = stream, name, packing, damage

    def read(self, size: int) -> bytes:
        """Return the next bytes, at most `size`. Raises : InvalidDataError."""
        try:
            return self._stream.read(size)
        except EOFError:
            refuse(self._name, self._packing.whole, "a truncated file")
        except self._damage as error:
            refuse(self._name, self._packing.readable, reason_of(error))


class Budget:
    """How much may still be unpacked from a file or an archive.

    name : of the file; packed : its size, from which the ratio is counted
    """

    def __init__(self, name: str, packed: int) -> None:
        self._name, self._packed, self._total = name, packed, 0

    def take(self, size: int) -> None:
        """Count unpacked bytes. Raises : InvalidDataError if there are too many."""
        self._total += size
        if self._total > MOST_UNPACKED:
            refuse(self._name, UNPACKED_SIZE, f"more than {MOST_UNPACKED:,} bytes")
        if self._total > max(RATIO_FROM, MOST_RATIO * self._packed):
            got = f"{self._packed:,} bytes that unpack to more than {self._total:,}"
            refuse(self._name, UNPACKED_RATIO, got)

    def read(self, stream: Readable) -> bytes:
        """Return all of a stream. Raises : InvalidDataError if it is too much."""
        parts = []
        while block := stream.read(_BLOCK):
            self.take(len(block))
            parts.append(block)
        return b"".join(parts)


def packing_of(start: bytes) -> Packing:
    """Return how a file is compressed, by its first bytes; `PLAIN` if it is not."""
    packings = (packing for packing in (*STREAMS, ZIP) if packing.first.match(start))
    return next(packings, PLAIN)


@contextmanager
def unpacking(file: IO[bytes], name: str, packing: Packing) -> Iterator[GuardedStream]:
    """Yield the unpacked bytes of an open file that is no archive.

    Raises : InvalidDataError   it cannot be decompressed, when it is read
    Raises : EquipoiseError     a library for it is missing
    """
    damage = DAMAGE
    readers: dict[Packing, Any] = {
        GZIP: lambda: gzip.GzipFile(fileobj=file),
        BZIP2: lambda: bz2.BZ2File(file),
        XZ: lambda: lzma.LZMAFile(file),  # noqa: SIM115  # it is closed below
    }
    if packing in readers:
        opened = readers[packing]()
    elif packing is ZSTD:
        zstd = _zstd()
        opened, damage = zstd.open(file), (*DAMAGE, zstd.ZstdError)
    else:
        yield GuardedStream(file, name, PLAIN)
        return
    with opened:
        yield GuardedStream(opened, name, packing, damage)


def unpacked(file: IO[bytes], size: int, name: str, packing: Packing) -> bytes:
    """Return all unpacked bytes of an open file that is no archive.

    size : of the file
    Raises : InvalidDataError   it is damaged, unpacks to too much, or is packed twice
    """
    with unpacking(file, name, packing) as stream:
        data = Budget(name, size).read(stream)
    refuse_packed(data, name)
    return data


def refuse_packed(data: bytes, name: str) -> None:
    """Refuse unpacked data that is compressed again; Parquet and the like are not."""
    again = packing_of(data[:PACKED_START])
    if again is not PLAIN:
        refuse(name, NESTED, f"a {again.kind} file within")


@contextmanager
def archive_of(file: IO[bytes], name: str) -> Iterator[zipfile.ZipFile]:
    """Yield an open archive. Raises : InvalidDataError   it is damaged, or has too many files."""
    try:
        archive = zipfile.ZipFile(file)
    except BAD_ARCHIVE as error:
        refuse(name, ARCHIVE, reason_of(error))
    with archive:
        count = len(archive.infolist())
        if count > MOST_MEMBERS:
            refuse(name, MEMBERS, f"{count:,}")
        yield archive


def members_of(archive: zipfile.ZipFile) -> list[str]:
    """Return the files of an archive; hidden ones, and the folder that macOS adds, are left out."""
    return [
        member
        for member in archive.namelist()
        if not member.endswith("/")
        and not member.startswith("__MACOSX/")
        and not PurePosixPath(member).name.startswith(".")
    ]


def read_member(archive: zipfile.ZipFile, member: str, name: str, budget: Budget) -> bytes:
    """Return a file of an archive. Raises : InvalidDataError   it is damaged, or too much."""
    place = f"{name}/{member}"
    try:
        opened = archive.open(member)
    except BAD_ARCHIVE as error:
        refuse(place, ARCHIVE, reason_of(error))
    with opened:
        return budget.read(GuardedStream(opened, place, ZIP))


def size_of(file: IO[bytes]) -> int:
    """Return the size of an open file, and leave it at its start."""
    size = file.seek(0, io.SEEK_END)
    file.seek(0)
    return size


def _zstd() -> Any:
    """Return the module that reads zstd, in the standard library from Python 3.14 on."""
    for module in ("compression.zstd", "backports.zstd"):
        try:
            return importlib.import_module(module)
        except ImportError:
            continue
    raise EquipoiseError(
        f"reading zstd files needs backports.zstd, which is not installed: {how_to_install('zstd')}"
    )


def reason_of(error: BaseException) -> str:
    """Return why something could not be read."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__
