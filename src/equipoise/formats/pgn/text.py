"""Opens PGN text as blocks: plain files, compressed files, archives, and directories of them.

The first bytes of a file, not its name, show how it is compressed. Everything is read as a stream,
so a file that unpacks to a thousand times its size needs no more memory. Line ends become line
feeds, UTF-16 becomes UTF-8, and a byte order mark is dropped. Other bytes stay unchanged, because
the encoding is detected for each name.
"""

from __future__ import annotations

import codecs
import io
import os
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple, TypeAlias

from equipoise.formats.opening.encodings import UTF_8_MARK, utf_16_of
from equipoise.formats.opening.kinds import FILLING
from equipoise.formats.opening.packing import (
    ARCHIVE,
    BAD_ARCHIVE,
    PACKED_START,
    READABLE,
    ZIP,
    GuardedStream,
    packing_of,
    reason_of,
    unpacking,
)
from equipoise.formats.pgn.scan import BLOCK
from equipoise.formats.table import NO_FILE, refuse

#: Suffixes of the files that are read below a directory.
ENDINGS = (".pgn", ".pgn.gz", ".pgn.bz2", ".pgn.xz", ".pgn.zst", ".pgn.zip")


class Document(NamedTuple):
    """A text to read. name : for problems; stream : its bytes, decompressed when read."""

    name: str
    stream: GuardedStream


Open: TypeAlias = Callable[[], Iterator[Document]]


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
        refuse(name, READABLE, reason_of(error))
    if not files:
        refuse(name, "must be a directory with .pgn files", "none")
    return [partial(_opened, one) for one in files]


def documents_of(file: io.BufferedReader[Any], name: str) -> Iterator[Document]:
    """Yield the text of an open file, or the texts of an archive.

    Raises : InvalidDataError   it cannot be decompressed
    Raises : EquipoiseError     a library for it is missing
    """
    try:
        first = file.peek(PACKED_START)[:PACKED_START]
    except OSError as error:
        refuse(name, READABLE, reason_of(error))
    packing = packing_of(first)
    if packing is ZIP:
        yield from _members(file, name)
        return
    with unpacking(file, name, packing) as stream:
        yield Document(name, stream)


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
        refuse(str(path), READABLE, reason_of(error))
    with file:
        yield from documents_of(file, str(path))


def _members(file: io.BufferedReader[Any], name: str) -> Iterator[Document]:
    """Yield the .pgn members of an archive in the order of their names."""
    try:
        archive = zipfile.ZipFile(file)
    except BAD_ARCHIVE as error:
        refuse(name, ARCHIVE, reason_of(error))
    with archive:
        members = sorted(one for one in archive.namelist() if _is_pgn(one))
        if not members:
            refuse(name, "must be an archive with .pgn files", "none")
        for one in members:
            place = f"{name}/{one}"
            try:
                member = archive.open(one)
            except BAD_ARCHIVE as error:
                refuse(place, ARCHIVE, reason_of(error))
            with member:
                yield Document(place, GuardedStream(member, place, ZIP))


def _is_pgn(member: str) -> bool:
    """Return whether a member of an archive is PGN; macOS adds hidden files."""
    hidden = PurePosixPath(member).name.startswith(".") or member.startswith("__MACOSX/")
    return member.lower().endswith(".pgn") and not hidden


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
    codec = utf_16_of(first)
    if codec is not None:
        raw = _from_utf_16(raw, codec, name)
    elif b"\0" in first.rstrip(FILLING)[:1024]:
        refuse(name, TEXT, "a binary file")
    yield from _with_line_feeds(raw)


def _raw(first: bytes, stream: GuardedStream, size: int) -> Iterator[bytes]:
    """Yield a first block without its byte order mark, then the rest of the stream."""
    block = first.removeprefix(UTF_8_MARK)
    while block:
        yield block
        block = stream.read(size)


def _from_utf_16(blocks: Iterator[bytes], codec: str, name: str) -> Iterator[bytes]:
    """Yield UTF-16 text as UTF-8."""
    decoder = codecs.getincrementaldecoder(codec)()
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
