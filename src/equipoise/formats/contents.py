"""Gets the bytes of files: from streams and addresses, and out of compressed files and archives.

The first bytes of a file, not its name, show how it is compressed. Whatever is unpacked is read in
blocks and counted, so a small file that unpacks to a huge one is refused before it is in memory.

Addresses are https:// anywhere, http:// on this machine, s3:// and gs://. Only the command line and
the library give sources as text. Requests of the service have content.
"""

from __future__ import annotations

import bz2
import gzip
import importlib
import io
import ipaddress
import lzma
import os
import re
import struct
import sys
import time
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from glob import has_magic
from pathlib import Path, PurePosixPath
from typing import IO, Any, Protocol
from urllib.parse import quote, urlsplit

import polars as pl

from equipoise.errors import EquipoiseError, InvalidDataError
from equipoise.formats.table import PACKED_SUFFIXES, Content, Table, refuse
from equipoise.wording import counted, how_to_install

READABLE = "must be a readable file"
KNOWN_CONTENT = "must be a table, contests or games"
STANDARD_INPUT = "standard input"
WRITTEN = "must be a file, or a pipe that another process writes to"
#: Maximum number of bytes of a stream, because one may never end.
MOST_STREAMED = 4 * 2**30
STREAMED = f"must have at most {MOST_STREAMED // 2**30} GB: write it to a file, and read the file"
#: Seconds for which a pipe is waited for.
LONGEST_WAIT = 5.0
#: Number of first bytes that show a format.
PEEKED = 4096


def read_stream(stream: Any) -> tuple[bytes, str]:
    """Return the content of a stream, and its name ("" if it has none)."""
    label = getattr(stream, "name", None)
    name = label if isinstance(label, str) and label != "<stdin>" else ""
    if stream is sys.stdin.buffer or stream is sys.stdin:
        name = STANDARD_INPUT
    try:
        data = _read_all(stream, name)
    except UnicodeDecodeError as error:
        refuse(name, "must be text in UTF-8", f"the byte 0x{error.object[error.start]:02x}")
    except OSError as error:
        refuse(name, "must be a readable stream", str(error))
    return data, name


def read_pipe(path: Path, name: str) -> bytes:
    """Return what another process writes into a pipe, as in `equipoise rate <(zcat games.gz)`.

    Raises : InvalidDataError   nothing writes to it, or it has too much
    """
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb", buffering=0) as pipe:
        end = time.monotonic() + LONGEST_WAIT
        first: bytes | None = b""
        while first == b"":
            try:
                first = os.read(pipe.fileno(), PEEKED)
            except BlockingIOError:
                first = None  # a process has opened it
            if first == b"" and time.monotonic() > end:
                refuse(name, WRITTEN, "nothing")
            time.sleep(0 if first else 0.02)
        os.set_blocking(pipe.fileno(), True)
        return (first or b"") + _read_all(pipe, name)


def _read_all(stream: Any, name: str) -> bytes:
    """Return the rest of a stream of bytes. Raises : InvalidDataError   it has too much."""
    parts, total = [], 0
    while block := stream.read(2**20):
        if isinstance(block, str):
            block = block.encode("utf-8", "surrogatepass")
        total += len(block)
        if total > MOST_STREAMED:
            refuse(name, STREAMED, "more")
        parts.append(block)
    return b"".join(parts)


#: Maximum number of bytes that a file or an archive unpacks to.
MOST_UNPACKED = 4 * 2**30
#: Maximum number of bytes unpacked from each byte, for whatever unpacks to more than `RATIO_FROM`.
#: Tables shrink to a fifth or a twentieth; what shrinks to a thousandth was made to fill a memory.
MOST_RATIO = 250
RATIO_FROM = 64 * 2**20
#: Maximum number of files in an archive.
MOST_MEMBERS = 10_000
_BLOCK = 2**20

UNPACKED_SIZE = f"must unpack to at most {MOST_UNPACKED // 2**30} GB: unpack it, and read parts"
UNPACKED_RATIO = (
    f"must unpack to at most {MOST_RATIO} times its size (from {RATIO_FROM // 2**20} MB on): if "
    "you trust the file, unpack it and read the result"
)
MEMBERS = f"must be an archive of at most {MOST_MEMBERS:,} files: unpack it, and read the folder"
NESTED = "must not be packed twice: unpack it once, and read the result"

#: First bytes of compressed files. The second magic number of zstd is that of skippable frames,
#: with which files of several frames may begin.
PACKED = re.compile(
    rb"(?P<gzip>\x1f\x8b)|(?P<bzip2>BZh[1-9](?:1AY&SY|\x17rE8P\x90))|(?P<xz>\xfd7zXZ\x00)"
    rb"|(?P<zstd>\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18)|(?P<zip>PK(?:\x03\x04|\x05\x06))"
)
ARCHIVE = "must be a complete, readable zip archive"
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
        packing: str,
        damage: tuple[type[Exception], ...] = DAMAGE,
    ) -> None:
        self._stream, self._name, self._packing, self._damage = stream, name, packing, damage

    def read(self, size: int) -> bytes:
        """Return the next bytes, at most `size`. Raises : InvalidDataError."""
        try:
            return self._stream.read(size)
        except EOFError:
            refuse(self._name, self._rule("complete"), "a truncated file")
        except self._damage as error:
            refuse(self._name, self._rule("readable"), reason_of(error))

    def _rule(self, what: str) -> str:
        if self._packing == "zip":
            return ARCHIVE
        return f"must be a {what} {self._packing} file" if self._packing else READABLE


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


@contextmanager
def unpacking(file: IO[bytes], name: str, packing: str) -> Iterator[GuardedStream]:
    """Yield the unpacked bytes of an open file that is no archive.

    packing : how it is compressed, "" if it is not
    Raises : InvalidDataError   it cannot be decompressed, when it is read
    Raises : EquipoiseError     a library for it is missing
    """
    if not packing:
        yield GuardedStream(file, name, packing)
        return
    damage = DAMAGE
    if packing == "zstd":
        zstd = _zstd()
        opened, damage = zstd.open(file), (*DAMAGE, zstd.ZstdError)
    else:
        readers: dict[str, Any] = {"gzip": gzip.open, "bzip2": bz2.open, "xz": lzma.open}
        opened = readers[packing](file)
    with opened:
        yield GuardedStream(opened, name, packing, damage)


def unpacked(file: IO[bytes], name: str, packing: str) -> bytes:
    """Return all unpacked bytes of an open file that is no archive.

    Raises : InvalidDataError   it is damaged, unpacks to too much, or is packed twice
    """
    size = size_of(file)
    with unpacking(file, name, packing) as stream:
        data = Budget(name, size).read(stream)
    refuse_packed(data, name)
    return data


def refuse_packed(data: bytes, name: str) -> None:
    """Refuse unpacked data that is compressed again; Parquet and the like are not."""
    again = PACKED.match(data)
    if again is not None:
        refuse(name, NESTED, f"a {again.lastgroup} file within")


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
        return budget.read(GuardedStream(opened, place, "zip"))


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


def first_line(error: BaseException) -> str:
    """Return the first line of an error of a library, or its kind if it says nothing."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


def reason_of(error: BaseException) -> str:
    """Return why something could not be read."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__


#: White space, and what old programs write behind the text of a file.
FILLING = b" \t\r\n\v\f\0\x1a"


def is_workbook(data: bytes) -> bool:
    """Return whether the bytes of a member of an archive are a workbook, which is an archive."""
    packed = PACKED.match(data)
    if packed is None or packed.lastgroup != "zip":
        return False
    with archive_of(io.BytesIO(data), "") as archive:
        return document_in(archive, "") is not None


#: A folder in archives that are documents -> what they are; None for workbooks.
_DOCUMENTS = {
    "word/": "a text document (Word): save the table as CSV",
    "ppt/": "a presentation: save the table as CSV",
}
_BINARY_WORKBOOK = "xl/workbook.bin"
_SPREADSHEET = b"application/vnd.oasis.opendocument.spreadsheet"


def document_in(archive: zipfile.ZipFile, name: str) -> str | None:
    """Return "excel" if an archive is a workbook; None if it is no document.

    Raises : InvalidDataError   it is another document
    """
    names = set(archive.namelist())
    if _BINARY_WORKBOOK in names:
        refuse(name, KNOWN_CONTENT, "a binary workbook (.xlsb): save it as .xlsx")
    if "[Content_Types].xml" in names and any(member.startswith("xl/") for member in names):
        return "excel"
    if "[Content_Types].xml" in names:
        for folder, what in _DOCUMENTS.items():
            if any(member.startswith(folder) for member in names):
                refuse(name, KNOWN_CONTENT, what)
    if "mimetype" in names and archive.getinfo("mimetype").file_size < 200:
        try:
            kind = archive.read("mimetype").strip()
        except BAD_ARCHIVE as error:
            refuse(name, ARCHIVE, reason_of(error))
        if kind.startswith(_SPREADSHEET):
            return "excel"
        if kind.startswith(b"application/vnd.oasis.opendocument"):
            refuse(name, KNOWN_CONTENT, "a document of another kind: save the table as CSV")
    return None


#: Maximum number of bytes that are downloaded.
MOST_DOWNLOADED = 2 * 2**30
#: Seconds without an answer, and for the body of an answer.
TIMEOUT = 30
LONGEST = 900
_REDIRECTS = 5
_CLOUDS = ("s3", "gs")
#: Characters of an address that stay as they are.
_SAFE = "/%:=&?~#+!$,;'@()*[]"

READABLE_THERE = "must be an address that can be read"
SECURE = "must begin with https:// (http:// only for this machine)"
NO_PASSWORD = "must be an address without a user and password"
DOWNLOADED = (
    f"must have at most {MOST_DOWNLOADED // 2**30} GB: download it another way, and read the file"
)
ANSWER = f"must answer within {TIMEOUT} seconds: download it another way"
IN_TIME = f"must be downloaded within {LONGEST // 60} minutes: download it another way"
ONE_OBJECT = "must name one object: give several addresses one by one"
OBJECT = (
    "must be uncompressed Parquet, Arrow, CSV, TSV or JSON Lines: download it another way, and "
    "read the file"
)


def path_in(address: str) -> PurePosixPath:
    """Return the path in an address. Raises : InvalidDataError."""
    try:
        return PurePosixPath(urlsplit(address).path)
    except ValueError as error:
        # Without the rest, which may be secret.
        refuse(f"{address.partition('://')[0]}://", READABLE_THERE, str(error))


def download(address: str, stored: str | None) -> Content:
    """Return the file at an address; its format is "" if only the content can tell it.

    stored : its format, as given or by its name

    Its name, for problems, has nothing that may be secret in the address.

    Raises : InvalidDataError   it is refused, does not answer, or has too much
    """
    parts = urlsplit(address)
    name = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
    if "@" in parts.netloc:
        refuse(name, NO_PASSWORD, "one with both")
    if parts.scheme.lower() in _CLOUDS:
        return _from_cloud(address, name, stored)
    if not _is_allowed(address, on_this_machine=True):
        refuse(name, SECURE, f"{parts.scheme}://{parts.hostname or ''}")
    data = _from_web(quote(address, safe=_SAFE), name)
    return Content(name, "", data, (f"{name}: {counted(len(data), 'byte')}",))


def _is_allowed(address: str, *, on_this_machine: bool) -> bool:
    """Return whether an address is encrypted, or one of this machine.

    on_this_machine : whether addresses of this machine need no encryption
    """
    parts = urlsplit(address)
    if parts.scheme.lower() == "https":
        return bool(parts.hostname)
    return parts.scheme.lower() == "http" and on_this_machine and _is_here(parts.hostname or "")


def _is_here(host: str) -> bool:
    """Return whether a host is this machine, without asking for its address."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _from_web(address: str, name: str) -> bytes:
    """Return the body of an address. Raises : InvalidDataError."""
    httpx = _library()
    here = _is_here(urlsplit(address).hostname or "")

    def check(request: Any) -> None:
        """Refuse a request, after a redirect, to an address that is not allowed."""
        if not _is_allowed(str(request.url), on_this_machine=here):
            refuse(name, SECURE, f"a redirect to {request.url.scheme}://{request.url.host}")

    settings = {
        "follow_redirects": True,
        "max_redirects": _REDIRECTS,
        "timeout": TIMEOUT,
        # The file as it is stored, though it may be compressed.
        "headers": {"User-Agent": "equipoise", "Accept-Encoding": "identity"},
        "event_hooks": {"request": [check]},
    }
    try:
        with httpx.Client(**settings) as client, client.stream("GET", address) as answer:
            if answer.status_code != httpx.codes.OK:
                refuse(
                    name,
                    READABLE_THERE,
                    f"the answer {answer.status_code} {answer.reason_phrase}",
                )
            length = answer.headers.get("Content-Length", "")
            if length.isdecimal() and int(length[:20]) > MOST_DOWNLOADED:
                refuse(name, DOWNLOADED, counted(int(length[:20]), "byte"))
            return b"".join(_blocks(answer.iter_raw(), name))
    except httpx.TimeoutException:
        refuse(name, ANSWER, "no answer, or one that stopped")
    except InvalidDataError:
        raise
    except (httpx.HTTPError, httpx.InvalidURL, ImportError, ValueError, OSError) as error:
        # A proxy or certificates of the environment may be wrong, too.
        refuse(name, READABLE_THERE, str(error) or type(error).__name__)


def _library() -> Any:
    """Return the library that makes requests. Raises : EquipoiseError."""
    try:
        import httpx
    except ImportError as error:
        raise EquipoiseError(
            "reading files of the web needs httpx, which is not installed: "
            f"{how_to_install('client')}; or download the file, and read that"
        ) from error
    return httpx


def _blocks(body: Iterator[bytes], name: str) -> Iterator[bytes]:
    """Yield a body in blocks. Raises : InvalidDataError   it is too much, or takes too long."""
    total, begin = 0, time.monotonic()
    for block in body:
        total += len(block)
        if total > MOST_DOWNLOADED:
            refuse(name, DOWNLOADED, "more")
        if time.monotonic() - begin > LONGEST:
            refuse(name, IN_TIME, counted(total, "byte"))
        yield block


def _from_cloud(address: str, name: str, stored: str | None) -> Content:
    """Return an object of a cloud, as Polars reads it. Raises : InvalidDataError."""
    path = path_in(address)
    if has_magic(address):
        refuse(name, ONE_OBJECT, "a pattern")
    if path.suffix.lower() in PACKED_SUFFIXES or path.suffix.lower() == ".zip":
        refuse(name, OBJECT, f"a {path.suffix.lower()} file")
    try:
        if stored == "parquet":
            frame = _collected(pl.scan_parquet(address, glob=False), name)
            return Content(name, stored, Table(frame=frame, name=name, format=stored))
        if stored == "arrow":
            frame = _collected(pl.scan_ipc(address, glob=False), name)
            return Content(name, stored, Table(frame=frame, name=name, format=stored))
        if stored in ("csv", "tsv", "jsonl"):
            # As lines, so that the same reader as for files checks every row.
            lines = _collected(pl.scan_lines(address, glob=False), name).to_series()
            return Content(name, "", "\n".join(lines.fill_null("").to_list()).encode())
    except (pl.exceptions.PolarsError, OSError) as error:
        refuse(name, READABLE_THERE, first_line(error))
    refuse(name, OBJECT, f"the format {stored}" if stored else "a name without a known suffix")


def _collected(frame: pl.LazyFrame, name: str) -> pl.DataFrame:
    """Return a table that is read in batches. Raises : InvalidDataError   it is too much."""
    batches: list[pl.DataFrame] = []
    total = 0.0
    for batch in frame.collect_batches():
        total += int(batch.estimated_size())
        if total > MOST_DOWNLOADED:
            refuse(name, DOWNLOADED, "more")
        batches.append(batch)
    return pl.concat(batches) if batches else frame.clear().collect()
