"""Bytes of a stream -> blocks of text in a form that the reader of PGN knows.

Line ends become line feeds, UTF-16 becomes UTF-8, and a byte order mark goes. Anything else stays
as it is: names tell their encoding one by one.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator

from equipoise.formats.pgn_files import GuardedStream
from equipoise.formats.pgn_scan import BLOCK
from equipoise.formats.table import refuse

_UTF_8_MARK = b"\xef\xbb\xbf"
_UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")

TEXT = "must be text in the format pgn"


def blocks_of(stream: GuardedStream, name: str, size: int = BLOCK) -> Iterator[bytes]:
    """Yield the text of a stream, block by block.

    size : bytes read at once
    Raises : InvalidDataError   it is not text, or there is nothing
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
    """Yield a first block without its byte order mark, and the rest of its stream."""
    block = first.removeprefix(_UTF_8_MARK)
    while block:
        yield block
        block = stream.read(size)


def _from_utf_16(blocks: Iterator[bytes], name: str) -> Iterator[bytes]:
    """Yield text in UTF-16 as UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-16")()
    try:
        for block in blocks:
            yield decoder.decode(block).encode("utf-8")
        decoder.decode(b"", final=True)
    except UnicodeError:
        refuse(name, TEXT, "bytes that are no UTF-16")


def _with_line_feeds(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield text whose line ends are line feeds, whatever they were."""
    held = b""
    for block in blocks:
        text = held + block
        # What follows a return in the next block decides whether it is half of a line end.
        held = b"\r" if text.endswith(b"\r") else b""
        text = text.removesuffix(b"\r")
        if b"\r" in text:
            text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if text:
            yield text
    if held:
        yield b"\n"
