"""Reads compressed files and archives, and refuses what would unpack to fill the memory.

The first bytes of a file, not its name, show how it is compressed. Whatever is unpacked is read in
blocks and counted, so a small file that unpacks to a huge one is refused before it is in memory.
"""

from __future__ import annotations

import bz2
import gzip
import importlib
import io
import lzma
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import IO, Any, NamedTuple, Protocol

from equipoise.errors import EquipoiseError
from equipoise.formats.table import refuse
from equipoise.wording import how_to_install

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
    found = (one for one in (*STREAMS, ZIP) if one.first.match(start))
    return next(found, PLAIN)


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
        one
        for one in archive.namelist()
        if not one.endswith("/")
        and not one.startswith("__MACOSX/")
        and not PurePosixPath(one).name.startswith(".")
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
