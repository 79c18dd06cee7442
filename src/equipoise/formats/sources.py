"""Opens any source as a table: finds its files, and reads each with the reader of its format.

A source is a file, several, a folder, a pattern, an archive, a stream, an address, or a table in
memory. Each file is a `Content`: its name, its format, and its bytes or its path. A name that does
not fit what a file contains is no obstacle if the content is unmistakable; a note says how it was
read.
"""

from __future__ import annotations

import difflib
import glob
import io
import json
import os
import re
import sys
import zipfile
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Literal, NamedTuple, TypeAlias, get_args

from equipoise.errors import InvalidDataError, InvalidParameterError, Problem
from equipoise.formats.contents import (
    ARCHIVE,
    FILLING,
    KNOWN_CONTENT,
    NESTED,
    PACKED,
    PEEKED,
    Budget,
    archive_of,
    document_in,
    download,
    is_workbook,
    members_of,
    path_in,
    read_member,
    read_pipe,
    read_stream,
    refuse_packed,
    size_of,
    unpacked,
    unpacking,
)
from equipoise.formats.delimited import UTF_8_MARK, decoded, read_delimited, utf_16_of
from equipoise.formats.frames import (
    ARROW_MAGIC,
    PARQUET_MAGIC,
    read_arrow,
    read_frame,
    read_parquet,
    read_workbook,
)
from equipoise.formats.joining import choose_files, join_tables, matching, natural
from equipoise.formats.json_files import read_contest_documents, read_json
from equipoise.formats.table import (
    CONTEST_FORMATS,
    NO_FILE,
    PACKED_SUFFIXES,
    Content,
    Format,
    Table,
    check_fields,
    format_of,
    is_address,
    listed,
    no_effect,
    refuse,
    refuse_unreadable,
)

NO_TABLES = "must hold tables, contests or games"
A_FILE = "must be a file or a folder"
STANDARD_DEVICE = "/dev/stdin"
GIVEN_ONCE = "must be given only once"
NO_MATCHING = "no file has a name of this pattern"
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


def is_saved_state(source: object) -> bool:
    """Return whether a source is the path of a saved state."""
    return isinstance(source, str | os.PathLike) and str(source).lower().endswith(".npz")


def packing_of(start: bytes) -> str:
    """Return how a file is compressed, by its first bytes; "" if it is not."""
    packed = PACKED.match(start)
    return "" if packed is None else str(packed.lastgroup)


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


def notes_of(contents: Iterable[Content]) -> tuple[str, ...]:
    """Return the notes on how files were opened."""
    return tuple(note for content in contents for note in content.notes)


def is_source(source: object) -> bool:
    """Return whether a value is a path, an address, a stream, bytes, or a list of such values."""
    if isinstance(source, list | tuple):
        return bool(source) and all(is_source(part) for part in source)
    return isinstance(source, str | os.PathLike | bytes) or hasattr(source, "read")


def contents_of(source: object, format: str | None) -> list[Content]:
    """Return the files of a source, in the order in which they are read.

    source : as `is_source` knows it
    format : how they are stored, or "pgn" or "trf"; None finds out
    Raises : InvalidParameterError   nothing shows the format
    Raises : InvalidDataError        a file does not exist, cannot be read, or has another format
    """
    if isinstance(source, list | tuple):
        paths = Counter(str(path) for path in source if isinstance(path, str | os.PathLike))
        for name, count in paths.items():
            if count > 1:
                refuse(name, GIVEN_ONCE, f"{count} times")
        return [content for part in source for content in contents_of(part, format)]
    if isinstance(source, str) and source == "-":
        source = sys.stdin.buffer
    if isinstance(source, bytes):
        return _of_bytes(source, "", format)
    if hasattr(source, "read"):
        return _of_bytes(*read_stream(source), format)
    if isinstance(source, str) and is_address(source):
        named = format_of(path_in(source))
        found = download(source, format or named)
        if found.format:
            return [found]
        return _noted(_of_bytes(found.content(), found.name, format), found.notes)
    assert isinstance(source, str | os.PathLike), source
    return _of_path(Path(source), format)


def _of_path(path: Path, format: str | None) -> list[Content]:
    name = str(path)
    try:
        if path.is_dir():
            return _of_folder(path, format)
        if path.is_fifo():
            return _of_bytes(read_pipe(path, name), name, format)
        if path.is_file():
            with path.open("rb") as file:
                return _of_file(file, name, format, path)
        if name == STANDARD_DEVICE:
            return contents_of("-", format)
        if path.exists():
            refuse(name, A_FILE, "a device or socket")
        if glob.has_magic(name):
            return _of_pattern(name, format)
        refuse(name, NO_FILE + _similar(path), "")
    except OSError as error:
        refuse_unreadable(name, error)


def _similar(path: Path) -> str:
    """Return the most similar name in the folder as a question, "" if there is none."""
    if not path.name or not path.parent.is_dir():
        return ""
    neighbours = sorted(
        neighbour.name for neighbour in path.parent.iterdir() if not neighbour.name.startswith(".")
    )
    close = difflib.get_close_matches(path.name, neighbours, n=1, cutoff=0.75)
    return f": did you mean {path.with_name(close[0])}?" if close else ""


def _of_pattern(pattern: str, format: str | None) -> list[Content]:
    """Return the files whose names have a pattern, in natural order."""
    paths = sorted(matching(pattern), key=natural)
    files = [path for path in paths if Path(path).is_file()]
    if not files:
        refuse(pattern, NO_MATCHING, "only folders and devices" if paths else "none")
    return [content for file in files for content in _of_path(Path(file), format)]


def _of_folder(path: Path, format: str | None) -> list[Content]:
    """Return the files of a folder that have the format, or one kind of format, by their names."""
    name = str(path)
    if format == "pgn":
        return [Content(name, "pgn", path)]
    names = [
        file.name for file in path.iterdir() if file.is_file() and not file.name.startswith(".")
    ]
    below = any(file.is_file() and format_of(file) == "pgn" for file in path.rglob("*"))
    if not names and below and format is None:
        return [Content(name, "pgn", path)]
    nature, chosen, others = choose_files(names, format, name)
    if nature == "pgn" or (below and format is None and (nature == "contests" or not chosen)):
        others = [*others, *(chosen if nature == "contests" else ())]
        return [Content(name, "pgn", path, _left_out(name, others))]
    if not chosen:
        deeper = (file for file in sorted(path.rglob("*")) if file.is_file() and format_of(file))
        first = next(deeper, None)
        hint = ""
        if first is not None:
            packed = first.suffix.lower() in PACKED_SUFFIXES
            suffix = "".join(first.suffixes[-2:]) if packed else first.suffix
            hint = f"; '{path / '**' / f'*{suffix}'}' names files in folders below"
            parts = [part.partition("=") for part in first.relative_to(path).parts[:-1]]
            columns = ",".join(column for column, mark, _ in parts if mark)
            if columns:
                hint += (
                    f", and `equipoise rate --by {columns}` rates each part as a pool of its own"
                )
        refuse(name, NO_TABLES, (listed(sorted(names)) or "none") + hint)
    contents = [content for name in chosen for content in _of_path(path / name, format)]
    return _noted(contents, _left_out(name, others))


def _left_out(place: str, others: Sequence[str]) -> tuple[str, ...]:
    if not others:
        return ()
    where = place or "the archive"
    return (f"left out of {where}, by their names: {listed(others)}",)


def _noted(contents: list[Content], notes: tuple[str, ...]) -> list[Content]:
    """Return contents with notes on the first of them."""
    if not notes or not contents:
        return contents
    first = contents[0]
    return [first._replace(notes=(*first.notes, *notes)), *contents[1:]]


def _of_bytes(data: bytes, name: str, format: str | None) -> list[Content]:
    return _of_file(io.BytesIO(data), name, format, data)


def _of_file(file: IO[bytes], name: str, format: str | None, data: bytes | Path) -> list[Content]:
    """Return the file, or the files of an archive.

    data : its path, or all of its bytes
    """
    start = file.read(PEEKED)
    packing = packing_of(start)
    if format is not None and format.endswith(".gz"):
        if packing != "gzip":
            refuse(name, "must be a gzip file", _what(start) or "text")
        format = format.removesuffix(".gz")
    file.seek(0)
    if packing == "zip":
        with archive_of(file, name) as archive:
            return _of_archive(archive, size_of(file), name, format, data)
    notes: tuple[str, ...] = ()
    if packing:
        with unpacking(file, name, packing) as stream:
            start = stream.read(PEEKED)
        refuse_packed(start, name)
        file.seek(0)
    elif Path(name).suffix.lower() in PACKED_SUFFIXES and start:
        notes = (f"{name} is not compressed",)
    chosen, more = _decide(name, format, start)
    if packing and chosen != "pgn":
        data = unpacked(file, name, packing)
    return [Content(name, chosen, data, (*notes, *more))]


def _of_archive(
    archive: zipfile.ZipFile, size: int, name: str, format: str | None, data: bytes | Path
) -> list[Content]:
    """Return the files of an archive; a workbook and an archive of PGN are one file."""
    inside = document_in(archive, name)
    if inside is not None:
        if format not in (None, "excel"):
            refuse(name, _must_be(format), "a workbook")
        notes = _misnamed(name, "excel") if format is None else ()
        return [Content(name, "excel", data, notes)]
    members = members_of(archive)
    nature, chosen, others = choose_files(members, format, name, packed=True)
    if "pgn" in (nature, format):
        return [Content(name, "pgn", data, _left_out(name, others))]
    if not chosen:
        if any(member.lower().endswith((".zip", ".7z", ".rar")) for member in members):
            refuse(name, NESTED, listed(sorted(members)))
        refuse(name, NO_TABLES, listed(sorted(members)) or "none")
    contents, budget = [], Budget(name, size)
    for member in chosen:
        content = read_member(archive, member, name, budget)
        place = f"{name}/{member}" if name else member
        if not is_workbook(content):
            refuse_packed(content, place)
        kind, notes = _decide(place, format, content[:PEEKED])
        contents.append(Content(place, kind, content, notes))
    return _noted(contents, _left_out(name, others))


def _decide(name: str, format: str | None, start: bytes) -> tuple[str, tuple[str, ...]]:
    """Return the format of a file, and a note if its name does not show it.

    format : as given; start : its first bytes, without compression
    """
    if format is not None:
        return format, ()
    by_name = format_of(Path(name)) if name else None
    if by_name is not None and not start:
        return by_name, ()
    kind = kind_of(start, by_name)
    if kind.format is not None:
        return kind.format, _misnamed(name, kind.format)
    if by_name is not None:
        # A damaged workbook or Parquet file is left to its reader, which says more.
        if kind.what in ("", "a binary file"):
            return by_name, ()
        refuse(name, _must_be(by_name), kind.what)
    if kind.what:
        refuse(name, KNOWN_CONTENT, kind.what)
    if not start.strip():
        refuse(name, "must hold at least one row", "an empty file")
    if name.lower().endswith(".zip"):
        refuse(name, ARCHIVE, "text")
    known = ", ".join((*get_args(Format), "pgn", "trf"))
    raise InvalidParameterError(
        f"format (--format) must be given, because neither the name nor the first line of "
        f"{name or 'the stream'} shows it: one of {known}. "
        "The columns of a table in text must be separated by commas, semicolons, tabs or bars, "
        "below a header such as white,black,result"
    )


def _misnamed(name: str, kind: str) -> tuple[str, ...]:
    """Return a note on a file whose name shows another format than its content, or none."""
    if name and format_of(Path(name)) == kind:
        return ()
    return (f"{name or 'the stream'} is read as {WORDS[kind]}, because its content is that",)


def _must_be(format: str | None) -> str:
    if format in ("parquet", "arrow"):
        return f"must be {'a' if format == 'parquet' else 'an'} {WORDS[format]} file"
    return f"must be text in the format {format}" if format != "excel" else "must be a workbook"


def _what(start: bytes) -> str:
    """Return what a file is, for problems; "" for text."""
    packing = packing_of(start)
    if packing:
        return f"a {packing} file"
    kind = kind_of(start)
    binary = {"parquet": "a Parquet file", "arrow": "an Arrow file", "excel": "a workbook"}
    return kind.what or binary.get(kind.format or "", "")


def paths_of(source: object, name: str) -> dict[str, str]:
    """Return the files on this machine that a source names, each under a name of its own.

    name : of the parameter, which begins these names
    """
    sources = source if isinstance(source, list | tuple) else [source]
    paths: dict[str, None] = {}
    for path_text in sources:
        if not isinstance(path_text, str) or path_text == "-" or is_address(path_text):
            continue
        path = Path(path_text)
        if path.is_dir():
            paths.update(dict.fromkeys(str(file) for file in path.iterdir() if file.is_file()))
        elif not path.exists() and glob.has_magic(path_text):
            paths.update(dict.fromkeys(matching(path_text)))
        else:
            paths[path_text] = None
    if len(paths) == 1:
        return {name: next(iter(paths))}
    return {f"{name} ({path})": path for path in paths}


#: What a source may be, for messages.
SOURCES = (
    "a path, a pattern of paths, an address, a list of them, a stream, bytes, a data frame or a "
    "mapping of columns"
)
#: What a source contains, however it is stored.
Holding: TypeAlias = Literal["pgn", "trf", "games", "pairs", "crosstable", "history"]
#: Content that is not stored as a table.
_NO_TABLE = ("pgn", "trf")
ONE_FORMAT = "must have the format of the other files: read them one by one"
ONE_REPORT = "must be the only source: reports are read one at a time"
OTHER_COMMAND = "must be a table of matches, or contests"


def open_source(source: object, format: str | None, sheet: str | int | None = None) -> Table:
    """Return the table of a source.

    sheet : name or number, from 1, of the sheet of a workbook
    Raises : InvalidParameterError   the kind of source is unclear
    Raises : InvalidDataError        it does not have this format, or cannot be read
    """
    if format is not None and format not in get_args(Format):
        raise InvalidParameterError(
            f"format must be one of {', '.join(get_args(Format))}; got {format!r}"
        )
    if is_source(source):
        return table_of(contents_of(source, format), sheet)
    table = read_frame(source)
    if table is None:
        raise InvalidParameterError(f"source must be {SOURCES}; got {type(source).__name__}")
    return table


def open_games(
    source: object, format: str | None, sheet: str | int | None, needed: Collection[str] = ()
) -> Table | list[Content]:
    """Return the table of a source, or its files if they are PGN or a report in TRF."""
    stored = format if format in (*get_args(Format), *_NO_TABLE) else None
    if not is_source(source):
        if format in _NO_TABLE:
            raise InvalidParameterError(
                f"source must be a path or a stream if format is {format}; got "
                f"{type(source).__name__}"
            )
        return open_source(source, stored)
    contents = contents_of(source, stored)
    kinds = {content.format for content in contents}
    if kinds & {*_NO_TABLE}:
        if len(kinds) > 1:
            first = contents[0]
            other = next(content for content in contents if content.format != first.format)
            got = f"{WORDS[other.format]}, but {first.name} is {WORDS[first.format]}"
            refuse(other.name, ONE_FORMAT, got)
        if "trf" in kinds and len(contents) > 1:
            refuse(contents[1].name, ONE_REPORT, f"the report {contents[0].name} before it")
        return contents
    return table_of(contents, sheet, needed)


def content_of(source: str | os.PathLike[str]) -> str | None:
    """Return pgn or trf if a path holds them, None for everything else, also if it is unclear."""
    if isinstance(source, str) and is_address(source):
        kind = format_of(path_in(source))  # not downloaded twice
        return kind if kind in _NO_TABLE else None
    try:
        kinds = {content.format for content in contents_of(source, None)}
    except (InvalidDataError, InvalidParameterError):
        return None  # the reader of tables reports it
    return kinds.pop() if len(kinds) == 1 and kinds <= {*_NO_TABLE} else None


def table_of(
    contents: list[Content], sheet: str | int | None = None, needed: Collection[str] = ()
) -> Table:
    """Return the table of one or many files; their problems are raised together."""
    contents = [_as_utf_8(content) for content in contents]
    if len(contents) > 1 and all(content.format in CONTEST_FORMATS for content in contents):
        kinds = {None if content.format == "json" else content.format for content in contents}
        kind = kinds.pop() if len(kinds) == 1 else None
        documents = [(content.name, content.content()) for content in contents]
        if not any(data.lstrip().startswith(b"[") for _, data in documents):
            return _with_notes(check_fields(read_contest_documents(documents, kind)), contents)
    tables: list[Table] = []
    problems: list[Problem] = []
    for content in contents:
        try:
            tables.append(_with_notes(check_fields(_read(content, sheet)), [content]))
        except InvalidDataError as error:
            problems.extend(error.problems)
    if problems:
        raise InvalidDataError(problems)
    if sheet is not None and all(content.format != "excel" for content in contents):
        what = "sources without a workbook"
        raise no_effect(
            f"sheet (--sheet) must be left out for {what}; got {sheet!r}", what, "sheet"
        )
    return tables[0] if len(tables) == 1 else join_tables(tables, needed)


def _as_utf_8(content: Content) -> Content:
    """Return JSON in UTF-8, and every other file as it is, because its reader knows encodings."""
    if content.format not in (*CONTEST_FORMATS, "jsonl"):
        return content
    data, notes = decoded(content.content(), content.name)
    return content._replace(data=data, notes=(*content.notes, *notes))


def _with_notes(table: Table, contents: list[Content]) -> Table:
    return replace(table, notes=(*notes_of(contents), *table.notes))


def _read(content: Content, sheet: str | int | None) -> Table:
    """Return the table of one file."""
    name, data, format = content.name, content.data, content.format
    if isinstance(data, Table):
        return data
    if format == "excel":
        return read_workbook(data, name, sheet)
    if format == "parquet":
        return read_parquet(data, name)
    if format == "arrow":
        return read_arrow(data, name)
    if format in ("pgn", "trf"):
        what = "games in PGN" if format == "pgn" else "a FIDE report (TRF)"
        refuse(name, OTHER_COMMAND, f"{what}, which equipoise performance reads")
    data = content.content()
    if not data:
        refuse(name, "must hold at least one row", "an empty file")
    what = "" if format in CONTEST_FORMATS else _what(data[:1024])
    if what:
        refuse(name, f"must be text in the format {format}", what)
    if format == "jsonl" or format in CONTEST_FORMATS:
        return read_json(data, name, format)
    return read_delimited(data, name, "\t" if format == "tsv" else ",")
