"""Turns text in other encodings into UTF-8: UTF-16, and Windows-1252 where nothing else fits."""

from __future__ import annotations

import re

from equipoise.formats.table import refuse

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
