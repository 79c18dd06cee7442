"""Opens PGN text as blocks: plain files, compressed files, archives, and directories of them.

The first bytes of a file, not its name, show how it is compressed. Everything is read as a stream,
so a file that unpacks to a thousand times its size needs no more memory. Line ends become line
feeds, UTF-16 becomes UTF-8, and a byte order mark is dropped. Other bytes stay unchanged, because
the encoding is detected for each name.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import importlib
import io
import lzma
import os
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple, Protocol, TypeAlias

from equipoise.errors import EquipoiseError
from equipoise.formats.pgn.scan import BLOCK
from equipoise.formats.table import NO_FILE, refuse
from equipoise.wording import how_to_install

#: Suffixes of the files that are read below a directory.
ENDINGS = (".pgn", ".pgn.gz", ".pgn.bz2", ".pgn.zst", ".pgn.zip")

READABLE = "must be a readable file"


class Packing(NamedTuple):
    """A kind of compression: its first bytes, and the rules for such a file."""

    first: re.Pattern[bytes]
    whole: str
    readable: str


_GZIP = Packing(
    re.compile(rb"\x1f\x8b"), "must be a complete gzip file", "must be a readable gzip file"
)
_BZIP2 = Packing(
    re.compile(rb"BZh"), "must be a complete bzip2 file", "must be a readable bzip2 file"
)
# The second magic number is that of skippable frames, with which files of several frames may begin.
_ZSTD = Packing(
    re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18"),
    "must be a complete zstd file",
    "must be a readable zstd file",
)
_ARCHIVE = "must be a complete, readable zip archive"
_ZIP = Packing(re.compile(rb"PK(?:\x03\x04|\x05\x06)"), _ARCHIVE, _ARCHIVE)
_PLAIN = Packing(re.compile(rb""), READABLE, READABLE)

#: Everything that decompression raises for data that is damaged, encrypted or uses a rare
#: compression.
_DAMAGE: tuple[type[Exception], ...] = (
    OSError,
    RuntimeError,
    ValueError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
)
_BAD_ARCHIVE: tuple[type[Exception], ...] = (*_DAMAGE, EOFError)


class Readable(Protocol):
    """Anything from which bytes can be read."""

    def read(self, size: int, /) -> bytes:
        """Return the next bytes, at most `size`."""


class Document(NamedTuple):
    """A text to read. name : for problems; stream : its bytes, decompressed when read."""

    name: str
    stream: GuardedStream


Open: TypeAlias = Callable[[], Iterator[Document]]


class GuardedStream:
    """A stream that turns failures into problems of its file."""

    def __init__(
        self,
        stream: Readable,
        name: str,
        packing: Packing,
        damage: tuple[type[Exception], ...] = _DAMAGE,
    ) -> None:
        self._stream, self._name, self._packing, self._damage = stream, name, packing, damage

    def read(self, size: int) -> bytes:
        """Return the next bytes, at most `size`. Raises : InvalidDataError."""
        try:
            return self._stream.read(size)
        except EOFError:
            refuse(self._name, self._packing.whole, "a truncated file")
        except self._damage as error:
            refuse(self._name, self._packing.readable, _reason(error))


def documents_in(path: Path) -> list[Open]:
    """Return functions that open a file, or each PGN file below a directory, by name.

    Hidden files and links to directories are skipped.
    Raises : InvalidDataError   there is nothing to open
    """
    name = str(path)
    try:
        if not path.is_dir():
            if not path.exists():
                refuse(name, NO_FILE, "")
            return [partial(_opened, path)]
        files = sorted(_below(path), key=lambda one: one.parts)
    except OSError as error:
        refuse(name, READABLE, _reason(error))
    if not files:
        refuse(name, "must be a directory with .pgn files", "none")
    return [partial(_opened, one) for one in files]


def documents_of(file: io.BufferedReader[Any], name: str) -> Iterator[Document]:
    """Yield the text of an open file, or the texts of an archive.

    Raises : InvalidDataError   it cannot be decompressed
    Raises : EquipoiseError     a library for it is missing
    """
    try:
        first = file.peek(4)[:4]
    except OSError as error:
        refuse(name, READABLE, _reason(error))
    if _ZIP.first.match(first):
        yield from _members(file, name)
    elif _GZIP.first.match(first):
        with gzip.GzipFile(fileobj=file) as unzipped:
            yield Document(name, GuardedStream(unzipped, name, _GZIP))
    elif _BZIP2.first.match(first):
        with bz2.BZ2File(file) as unzipped:
            yield Document(name, GuardedStream(unzipped, name, _BZIP2))
    elif _ZSTD.first.match(first):
        zstd = _zstd()
        with zstd.open(file) as unzipped:
            damage = (*_DAMAGE, zstd.ZstdError)
            yield Document(name, GuardedStream(unzipped, name, _ZSTD, damage))
    else:
        yield Document(name, GuardedStream(file, name, _PLAIN))


def _below(path: Path) -> Iterator[Path]:
    """Yield the PGN files below a directory, in any order."""

    def fail(error: OSError) -> None:
        raise error

    for folder, _, files in os.walk(path, onerror=fail):
        for file in files:
            if file.lower().endswith(ENDINGS) and not file.startswith("."):
                yield Path(folder, file)


def _opened(path: Path) -> Iterator[Document]:
    """Yield the texts of a file."""
    try:
        file = path.open("rb")
    except OSError as error:
        refuse(str(path), READABLE, _reason(error))
    with file:
        yield from documents_of(file, str(path))


def _members(file: io.BufferedReader[Any], name: str) -> Iterator[Document]:
    """Yield the .pgn members of an archive in the order of their names."""
    try:
        archive = zipfile.ZipFile(file)
    except _BAD_ARCHIVE as error:
        refuse(name, _ZIP.readable, _reason(error))
    with archive:
        members = sorted(one for one in archive.namelist() if _is_pgn(one))
        if not members:
            refuse(name, "must be an archive with .pgn files", "none")
        for one in members:
            place = f"{name}/{one}"
            try:
                member = archive.open(one)
            except _BAD_ARCHIVE as error:
                refuse(place, _ZIP.readable, _reason(error))
            with member:
                yield Document(place, GuardedStream(member, place, _ZIP))


def _is_pgn(member: str) -> bool:
    """Return whether a member of an archive is PGN; macOS adds hidden files."""
    hidden = PurePosixPath(member).name.startswith(".") or member.startswith("__MACOSX/")
    return member.lower().endswith(".pgn") and not hidden


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


def _reason(error: BaseException) -> str:
    """Return why something could not be read."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__


_UTF_8_MARK = b"\xef\xbb\xbf"
_UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")

TEXT = "must be PGN text"


def blocks_of(stream: GuardedStream, name: str, size: int = BLOCK) -> Iterator[bytes]:
    """Yield the text of a stream, block by block.

    size : number of bytes read at once
    Raises : InvalidDataError   it is not text, or is empty
    """
    first = stream.read(size)
    if not first:
        refuse(name, "must hold at least one game", "an empty file")
    raw = _raw(first, stream, size)
    if first.startswith(_UTF_16_MARKS):
        raw = _from_utf_16(raw, name)
    elif b"\0" in first[:1024]:
        refuse(name, TEXT, "a binary file")
    yield from _with_line_feeds(raw)


def _raw(first: bytes, stream: GuardedStream, size: int) -> Iterator[bytes]:
    """Yield a first block without its byte order mark, then the rest of the stream."""
    block = first.removeprefix(_UTF_8_MARK)
    while block:
        yield block
        block = stream.read(size)


def _from_utf_16(blocks: Iterator[bytes], name: str) -> Iterator[bytes]:
    """Yield UTF-16 text as UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-16")()
    try:
        for block in blocks:
            yield decoder.decode(block).encode("utf-8")
        decoder.decode(b"", final=True)
    except UnicodeError:
        refuse(name, TEXT, "invalid UTF-16")


def _with_line_feeds(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield text with line feeds as line ends."""
    held = b""
    for block in blocks:
        text = held + block
        # The next block decides whether a carriage return is half of a line end.
        held = b"\r" if text.endswith(b"\r") else b""
        text = text.removesuffix(b"\r")
        if b"\r" in text:
            text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if text:
            yield text
    if held:
        yield b"\n"
