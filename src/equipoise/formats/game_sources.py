"""Any source of games -> its columns: which reader a source needs.

What a file is called tells its format; of tables, the columns tell what they hold. Where a name
tells nothing, the first bytes do if they are plain.
"""

from __future__ import annotations

import os
import re
import sys
import zipfile
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from equipoise.errors import InvalidParameterError
from equipoise.formats.game_columns import GameColumns
from equipoise.formats.game_documents import open_document, read_document, refuse_options
from equipoise.formats.options import Options
from equipoise.formats.pgn import read_pgn, read_pgn_files
from equipoise.formats.sources import Format, decompressed, format_of, read_stream
from equipoise.formats.table import NO_FILE, refuse
from equipoise.formats.trf import read_trf

#: What a source holds, however it is stored.
Content: TypeAlias = Literal["pgn", "trf", "games", "pairs", "crosstable", "history"]

_PGN_NAME = re.compile(r"\.pgn(\.(gz|bz2|zst|zip))?$")
_TRF_NAME = re.compile(r"\.trfx?(\.gz)?$")
#: How PGN starts: with a tag, perhaps below lines that are escaped.
_PGN_START = re.compile(rb"(\xef\xbb\xbf)?\s*(%[^\n]*\n\s*)*\[\s*\w+\s+\"")
#: How a report to FIDE starts: with a code of three signs.
_TRF_START = re.compile(rb"(\xef\xbb\xbf)?\s*(\d{3}|XX[A-Z]|BB[A-Z]|###)[ \r\n]")
_PEEKED = 4096


def read_columns(source: object, format: str | None, options: Options) -> GameColumns:
    """Return the games of a source as its reader hands them over.

    format : one of `Content` or of `sources.Format`; None: what the source tells
    Raises : InvalidParameterError   it is unclear what the source is, or options do not suit it
    Raises : InvalidDataError        it is not what it says, or cannot be read
    """
    if isinstance(source, str) and source == "-":
        source = sys.stdin.buffer
    if isinstance(source, str | os.PathLike):
        return _read_path(Path(source), format, options)
    if hasattr(source, "read"):
        if format is None:
            known = (*get_args(Content), *get_args(Format))
            raise InvalidParameterError(
                f"format must be given for a stream: one of {', '.join(known)}"
            )
        return _read_bytes(*read_stream(source), format, options)
    if format in ("pgn", "trf"):
        raise InvalidParameterError(
            f"source must be a path or a stream where format is {format}; "
            f"got {type(source).__name__}"
        )
    return read_document(open_document(source, format), format, options)


def _read_path(path: Path, format: str | None, options: Options) -> GameColumns:
    name = str(path)
    try:
        if not path.exists():
            refuse(name, NO_FILE, "")
        format = format or _told(path)
        if format == "pgn":
            refuse_options(options, "PGN", tags=True)
            return read_pgn_files(path, where=_tags(options))
        if format == "trf":
            return _read_bytes(path.read_bytes(), name, format, options)
        return read_document(open_document(path, format), format, options)
    except OSError as error:
        refuse(name, "must be a file that can be read", error.strerror or type(error).__name__)


def _told(path: Path) -> str | None:
    """Return what the name of a path tells, or else its content; None: some kind of table."""
    lowered = path.name.lower()
    if path.is_dir():
        files = (one for one in path.rglob("*") if _PGN_NAME.search(one.name.lower()))
        return "pgn" if any(files) else None
    for pattern, format in ((_PGN_NAME, "pgn"), (_TRF_NAME, "trf")):
        if pattern.search(lowered):
            return format
    if lowered.endswith(".zip"):
        return "pgn" if _archives_pgn(path) else None
    if format_of(path) is not None:
        return None
    with path.open("rb") as file:
        start = file.read(_PEEKED)
    for begins, format in ((_PGN_START, "pgn"), (_TRF_START, "trf")):
        if begins.match(start):
            return format
    raise InvalidParameterError(
        f"format must be given, as neither the name of {path} nor its first line tells: one of "
        f"{', '.join((*get_args(Content), *get_args(Format)))}"
    )


def _archives_pgn(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            return any(_PGN_NAME.search(one.lower()) for one in archive.namelist())
    except (zipfile.BadZipFile, ValueError):
        return False  # the reader of archives says what is wrong


def _read_bytes(data: bytes, name: str, format: str, options: Options) -> GameColumns:
    if format == "pgn":
        refuse_options(options, "PGN", tags=True)
        return read_pgn(data, name, where=_tags(options))
    if format == "trf":
        refuse_options(options, "a report in TRF")
        if data.startswith(b"\x1f\x8b"):
            data = decompressed(data, name)
        return read_trf(data, name)
    return read_document(open_document(data, format, name), format, options)


def _tags(options: Options) -> dict[str, str]:
    """Return the tags of PGN that are asked for."""
    tags = {name: "" if value is None else str(value) for name, value in options.where}
    for name, value in options.where:
        if tags[name] != ("" if value is None else str(value)):
            raise InvalidParameterError(
                f"where (--where) must name a tag of PGN once; got {name!r} twice"
            )
    return tags
