"""Reads several files as one source, whose problems name the file and line of each row.

Folders may hold the value of a column in their names: `mode=ranked/region=eu/part-0.parquet` has
rows with these two values. Hive, Spark, DuckDB and Polars write such folders. Characters that a
path cannot have are written as %XX, and a missing value has a name of its own.

The columns must agree: which have the same name but for capitals, spaces and underscores is decided
once, by the first file. A column that some files lack is filled with missing values and noted; but
one that decides who played whom, when and with which result is refused, because missing values mean
something there: no winner is a draw.

A match belongs to one file. With dates, equal rows under one id are one match that was exported
twice, and count once; the same players at the same time with another result contradict each other.
All others are matches of their own, as in seasons that each count from 1: their ids get the name of
the file. Without dates equal rows prove nothing, so files of which all common matches are equal are
refused.
"""

from __future__ import annotations

import glob
import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from glob import has_magic
from itertools import pairwise
from pathlib import Path, PurePath, PurePosixPath
from typing import NamedTuple
from urllib.parse import unquote

import numpy as np
import polars as pl

from equipoise.arrays import Ints
from equipoise.errors import InvalidDataError, Problem
from equipoise.formats.column_names import OF_EVERY_FILE, SIDES
from equipoise.formats.contents import READABLE_THERE, first_line, path_in
from equipoise.formats.table import (
    CONTEST_FORMATS,
    PACKED_SUFFIXES,
    Table,
    check_cells,
    format_of,
    is_address,
    listed,
    refuse,
    shown,
    spelling,
)
from equipoise.wording import counted


def natural(name: str) -> tuple[object, ...]:
    """Return the key by which files are ordered: round-9 comes before round-10."""
    parts = re.split(r"([0-9]+)", name)
    return tuple((0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts)


def listed_files(names: Sequence[str]) -> str:
    """Return the name of several files together, for problems of all of them."""
    if len(names) == 1:
        return names[0]
    return f"{names[0]} and {len(names) - 1:,} more" if len(names) > 2 else " and ".join(names)


def matching(pattern: str) -> list[str]:
    """Return the paths that have a pattern; `**` follows no links, because they may form loops."""
    parts = Path(pattern).parts
    if "**" not in parts:
        return glob.glob(pattern)
    first = next(at for at, part in enumerate(parts) if glob.has_magic(part))
    root, rest = Path(*parts[:first]), parts[first:]
    shows_hidden = any(part.startswith(".") for part in rest)
    return [
        str(path)
        for path in set(root.glob(str(Path(*rest))))
        if shows_hidden or not any(name.startswith(".") for name in path.relative_to(root).parts)
    ]


ONE_KIND = "must hold files of one kind: name those to read"
#: Formats that are not joined with others -> what they are called.
_NATURES = {"pgn": "pgn", "trf": "trf", "json": "contests"}


def choose_files(
    names: Iterable[str], format: str | None, place: str, *, packed: bool = False
) -> tuple[str, list[str], list[str]]:
    """Return the nature of the files to read, these files in natural order, and the others.

    place : of the files; packed : whether it is an archive, into which no pattern looks
    Raises : InvalidDataError   there are several kinds
    """
    ordered = sorted(names, key=natural)
    if format is not None:
        wanted: tuple[str, ...] = (format.removesuffix(".gz"),)
        if format in CONTEST_FORMATS:
            wanted = ("json", "jsonl")
        chosen = [name for name in ordered if format_of(PurePosixPath(name)) in wanted]
        if format not in CONTEST_FORMATS:
            chosen = chosen or ordered
        return _NATURES.get(wanted[0], "tables"), chosen, []
    groups: dict[str, list[str]] = {}
    others = []
    for name in ordered:
        kind = format_of(PurePosixPath(name))
        if kind is None:
            others.append(name)
        else:
            groups.setdefault(_NATURES.get(kind, "tables"), []).append(name)
    if set(groups) == {"pgn", "contests"}:
        # Metadata beside games are JSON, and contests are not among games.
        others += groups.pop("contests")
    if len(groups) > 1:
        suffixes = Counter(_suffix(name) for several in groups.values() for name in several)
        got = ", ".join(f"{count:,} {suffix}" for suffix, count in suffixes.most_common())
        most = suffixes.most_common(1)[0][0]
        name = (
            f"--format {format_of(PurePosixPath(f'x{most}'))}" if packed else f"'{place}/*{most}'"
        )
        refuse(place, ONE_KIND, f"{got}. For example: {name}")
    if not groups and len(others) == 1:
        return "tables", others, []
    nature = next(iter(groups), "tables")
    return nature, groups.get(nature, []), others


def _suffix(name: str) -> str:
    """Return the suffix of a name with that of its compression."""
    path = PurePosixPath(name.lower())
    return "".join(path.suffixes[-2:]) if path.suffix in PACKED_SUFFIXES else path.suffix


#: The name of a missing value, as Hive writes it.
MISSING = "__HIVE_DEFAULT_PARTITION__"

#: Characters that are escaped: those that Hive escapes, and what file systems forbid.
_ESCAPED = re.compile(r"[\x00-\x1f\x7f\"#%'*/:<=>?\\^|{}\[\]]")
_PATH = "equipoise_path_of_the_file"


class PartitionFile(NamedTuple):
    """A file of a data set, and the values in the names of its folders; None is a missing value."""

    path: str
    values: dict[str, str | None]


def folder_name(column: str, value: str | None) -> str:
    """Return the name of the folder for a value of a column."""
    return f"{_escaped(column)}={MISSING if value is None else _escaped_value(value)}"


def _escaped(text: str) -> str:
    return _ESCAPED.sub(lambda character: f"%{ord(character[0]):02X}", text)


def _escaped_value(value: str) -> str:
    return "%5F" + value[1:] if value == MISSING else _escaped(value)


def values_of(path: str) -> dict[str, str | None]:
    """Return the values in the names of the folders of a path."""
    parts = (path_in(path) if is_address(path) else Path(path)).parts
    values: dict[str, str | None] = {}
    for part in parts[:-1]:
        column, equals, value = part.partition("=")
        if column and equals:
            values[unquote(column)] = None if value in (MISSING, "") else unquote(value)
    return values


def partition_files(source: object) -> list[PartitionFile]:
    """Return the files of a partitioned data set in natural order; none if it is not partitioned.

    source : a path of a folder or file, a pattern, an address (of one object, or of many:
        s3://bucket/folder/ and patterns), or a list of these
    Raises : InvalidDataError   objects cannot be listed
    """
    sources = source if isinstance(source, list | tuple) else [source]
    texts = [path for path in sources if isinstance(path, str)]
    if len(texts) < len(sources):
        return []
    files = [PartitionFile(path, values_of(path)) for text in texts for path in _paths(text)]
    return files if any(file.values for file in files) else []


def _paths(source: str) -> Sequence[str]:
    if is_address(source):
        several = has_magic(source) or source.endswith("/")
        return _objects(source) if several and not source.lower().startswith("http") else [source]
    path = Path(source)
    if path.is_dir():
        return sorted(_below(path), key=natural)
    if not path.exists() and has_magic(source):
        return sorted((path for path in matching(source) if Path(path).is_file()), key=natural)
    return [source]


def _below(folder: Path) -> Iterator[str]:
    """Yield the files below a folder that readers know, without hidden ones and marks of others."""
    for place, folders, names in os.walk(folder):
        folders[:] = [folder for folder in folders if not folder.startswith((".", "_"))]
        for name in names:
            # Spark and others leave files such as _SUCCESS.
            if not name.startswith((".", "_")) and format_of(Path(name)) is not None:
                yield str(Path(place, name))


def _objects(address: str) -> list[str]:
    """Return the Parquet objects of a cloud below an address, or of a pattern."""
    pattern = address if has_magic(address) else f"{address}**/*.parquet"
    try:
        # Nothing but the footers of the files is read for this.
        objects = (
            pl.scan_parquet(
                pattern,
                include_file_paths=_PATH,
                hive_partitioning=False,
                missing_columns="insert",
                extra_columns="ignore",
            )
            .select(pl.col(_PATH).unique())
            .collect()
        )
    except (pl.exceptions.PolarsError, OSError) as error:
        refuse(address, READABLE_THERE, first_line(error))
    return sorted(objects[_PATH].to_list(), key=natural)


IN_EVERY_FILE = "must be a column of every file that is read together"
DIFFERENT_FILES = "must differ from the other files"


def join_tables(tables: Sequence[Table], needed: Collection[str] = ()) -> Table:
    """Return one table of several, in their order.

    needed : further columns that every file must have
    Raises : InvalidDataError   columns do not agree, or two files are the same
    """
    problems = _same_files(tables)
    renamed, missing = _agreed(tables)
    deciding = OF_EVERY_FILE | {spelling(name) for name in needed}
    for name, lacking in missing.items():
        if spelling(name) in deciding:
            holder = next(table.name for table in tables if table.name not in lacking)
            got = f"not in {listed(lacking)}, but in {holder}"
            problems.append(Problem(lacking[0], None, name, IN_EVERY_FILE, got))
    if problems:
        raise InvalidDataError(problems)
    untyped = any(table.untyped for table in tables)
    frames = [table.frame.rename(new) for table, new in zip(tables, renamed, strict=True)]
    rows = np.array([len(frame) for frame in frames], dtype=np.int64)
    names = list(dict.fromkeys(name for frame in frames for name in frame.columns))
    check_cells(int(rows.sum()), len(names), listed_files([table.name for table in tables]))
    starts = np.cumsum(rows) - rows
    frame = _concatenated(frames, names, untyped)
    file_of = np.repeat(np.arange(len(tables)), rows)
    nested, dates = (
        [
            [new.get(name, name) for name in getattr(table, kind)]
            for table, new in zip(tables, renamed, strict=True)
        ]
        for kind in ("nested", "dates")
    )
    return Table(
        frame=frame,
        name=listed_files([table.name for table in tables]),
        untyped=untyped,
        locate=_locator(tables, starts),
        broken_rows=tuple(
            broken._replace(row=int(start) + broken.row)
            for table, start in zip(tables, starts, strict=True)
            for broken in table.broken_rows
        ),
        notes=(
            *_notes(tables),
            *_missing_notes(missing, len(tables)),
            *_repeated_notes(frame, file_of),
        ),
        format=", ".join(dict.fromkeys(table.format for table in tables)),
        nested=tuple(dict.fromkeys(name for names in nested for name in names)),
        dates=tuple(name for name in names if all(name in of_one for of_one in dates)),
        files=tuple(table.name for table in tables),
        file_of=file_of,
    )


def _same_files(tables: Sequence[Table]) -> list[Problem]:
    """Return a problem for every file that has the same rows as an earlier one."""
    seen: dict[tuple[object, ...], list[Table]] = {}
    problems = []
    for table in tables:
        alike = seen.setdefault((len(table.frame), *table.frame.columns), [])
        schema = table.frame.schema
        same = (table for table in alike if table.frame.schema == schema)
        twin = next((one for one in same if one.frame.equals(table.frame)), None)
        if twin is not None and len(table.frame):
            got = f"the same {counted(len(table.frame), 'row')} as {twin.name}"
            problems.append(Problem(table.name, None, "", DIFFERENT_FILES, got))
        alike.append(table)
    return problems


def _agreed(tables: Sequence[Table]) -> tuple[list[dict[str, str]], dict[str, list[str]]]:
    """Return new names of columns for each table, and column -> names of the files without it."""
    first: dict[str, str] = {}
    renamed: list[dict[str, str]] = []
    names_of_files: list[set[str]] = []
    for table in tables:
        new: dict[str, str] = {}
        names = table.frame.columns
        spelled = [spelling(name) for name in names]
        for name, key in zip(names, spelled, strict=True):
            # Where a file has two such columns, only names that are equal mean the same.
            known = first.setdefault(key, name) if spelled.count(key) == 1 else name
            if known != name and known not in names:
                new[name] = known
        renamed.append(new)
        names_of_files.append({new.get(name, name) for name in names})
    every = list(
        dict.fromkeys(name for names_of_file in names_of_files for name in sorted(names_of_file))
    )
    missing = {
        name: [
            table.name for table, has in zip(tables, names_of_files, strict=True) if name not in has
        ]
        for name in every
    }
    return renamed, {name: lacking for name, lacking in missing.items() if lacking}


def _concatenated(
    frames: Sequence[pl.DataFrame], names: Sequence[str], untyped: bool
) -> pl.DataFrame:
    """Return the rows of all frames; columns of different types become numbers or text."""
    columns = []
    for name in names:
        parts = [
            frame[name]
            if name in frame.columns
            else pl.Series(name, [None] * len(frame), dtype=pl.Null)
            for frame in frames
        ]
        kinds = {part.dtype for part in parts} - {pl.Null()}
        if untyped and kinds != {pl.String()}:
            parts = [_as_text(part) for part in parts]
        elif len(kinds) > 1 and all(kind.is_integer() for kind in kinds):
            parts = [part.cast(pl.Int64) for part in parts]
        elif len(kinds) > 1 and all(kind.is_numeric() for kind in kinds):
            parts = [part.cast(pl.Float64) for part in parts]
        elif len(kinds) > 1:
            parts = [_as_text(part) for part in parts]
        kind = next(iter({part.dtype for part in parts} - {pl.Null()}), pl.Null())
        columns.append(pl.concat([part.cast(kind) for part in parts]).alias(name))
    return pl.DataFrame(columns)


def _as_text(column: pl.Series) -> pl.Series:
    """Return values as text; whole numbers without a fraction, and times in ISO 8601."""
    kind = column.dtype
    if kind == pl.String:
        return column
    if kind.is_float():
        known = column.fill_nan(None)
        whole = known.cast(pl.Int64, strict=False)
        if whole.null_count() == known.null_count() and bool((whole == known).all()):
            return whole.cast(pl.String)
        return known.cast(pl.String)
    if isinstance(kind, pl.Datetime):
        ends = "Z" if kind.time_zone else ""
        if kind.time_zone:
            column = column.dt.convert_time_zone("UTC")
        return column.dt.strftime("%Y-%m-%dT%H:%M:%S%.f" + ends)
    if kind.is_nested() or kind == pl.Object:
        return pl.Series(column.name, [None if value is None else str(value) for value in column])
    return column.cast(pl.String)


def _locator(tables: Sequence[Table], starts: Ints):  # type: ignore[no-untyped-def]
    def locate(rows: Ints) -> list[tuple[str, int | None]]:
        numbers = np.searchsorted(starts, rows, side="right") - 1
        places: list[tuple[str, int | None]] = [("", None)] * len(rows)
        for at in np.unique(numbers).tolist():
            chosen = np.flatnonzero(numbers == at)
            of_file = tables[at].places(rows[chosen] - starts[at])
            for position, place in zip(chosen.tolist(), of_file, strict=True):
                places[position] = place
        return places

    return locate


def _notes(tables: Sequence[Table]) -> list[str]:
    """Return the notes of all files; one that not all have names its file."""
    notes = []
    for note in dict.fromkeys(note for table in tables for note in table.notes):
        having = [table.name for table in tables if note in table.notes]
        alone = len(having) == len(tables) or any(name in note for name in having if name)
        notes.append(note if alone else f"{listed(having)}: {note}")
    return notes


def _repeated_notes(frame: pl.DataFrame, file_of: Ints) -> list[str]:
    """Return a note on games that several files have, which may be the same or not.

    A row of two sides is a match of its own. Rows of a history have ids, which tell.
    """
    spelled = {spelling(name) for name in frame.columns}
    if not any({*side[:2]} <= spelled for side in SIDES):
        return []
    texts = [
        column.cast(pl.String, strict=False) for column in frame if not column.dtype.is_nested()
    ]
    rows = pl.DataFrame(texts).select(pl.struct(pl.all()).hash()).to_series()
    files = pl.DataFrame({"row": rows, "file": file_of})
    again = files.group_by("row").agg(pl.col("file").n_unique()).filter(pl.col("file") > 1)
    if not len(again):
        return []
    which = counted(len(again), "game is", "games are")
    return [f"{which} in several files with the same row, and counted in each: likely doubles"]


def _missing_notes(missing: dict[str, list[str]], files: int) -> list[str]:
    """Return one note on the columns that some files lack."""
    if not missing:
        return []
    some = [
        f"{name} (not in {listed(lacking)})"
        if len(lacking) <= 2
        else f"{name} (not in {len(lacking):,} of {files:,} files)"
        for name, lacking in missing.items()
    ]
    return [f"columns that some files lack are empty there: {listed(some)}"]


CONTRADICTION = "must have the same rows in every file: it has the same players and time"
TWICE = (
    "must be in only one file, because no date shows whether it is the same match: leave one of "
    "the files out, or add a column with dates"
)
COUNTS_ON = (
    "must not begin again in another file, because the rounds of both would be mixed: give dates, "
    "or continue the numbers"
)

#: Whole numbers that are an order and no dates.
_ORDER = r"^\s*[0-9]{1,4}(\.0)?\s*$"
#: Problems of one kind that are listed.
_LISTED = 20
_MARK = "\x1f"


def tell_apart(table: Table, frame: pl.DataFrame) -> tuple[Table, pl.DataFrame, tuple[str, ...]]:
    """Return a table of several files and its columns, in which every match has an id of its own.

    frame : the columns under their canonical names; every row is that of the table
    Returns : also notes on what was done
    Raises : InvalidDataError   matches contradict each other, or may be the same
    """
    if table.file_of is None or "match" not in frame.columns or frame["match"].dtype.is_nested():
        return table, frame, ()
    files = pl.Series("file", table.file_of)
    ids = frame["match"].cast(pl.String, strict=False)
    of_files = pl.DataFrame({"id": ids, "file": files}).drop_nulls().unique()
    common = of_files.filter(pl.col("id").is_duplicated())["id"].unique()
    if not len(common):
        return table, frame, ()
    matches = _matches(frame, ids, files, common)
    dated = _is_dated(frame)
    alike = matches.select(pl.struct("id", "rows").is_duplicated()).to_series()
    if not dated:
        if (
            matches.group_by("id")
            .agg(pl.col("rows").n_unique())
            .select((pl.col("rows") == 1).all())[0, 0]
        ):
            _refuse(table, matches.filter(pl.col("file") > 0), TWICE, matches)
        again = pl.Series([False] * len(matches))
    else:
        again = alike & ~matches.select(pl.struct("id", "rows").is_first_distinct()).to_series()
    left = matches.filter(~again)
    if dated:
        clash = left.filter(pl.struct("id", "players", "time").is_duplicated())
        if len(clash):
            later = clash.filter(~pl.struct("id", "players", "time").is_first_distinct())
            _refuse(table, later, CONTRADICTION, clash)
    notes = []
    dropped = np.zeros(len(frame), dtype=bool)
    if again.any():
        key = pl.struct("id", "file")
        gone = matches.filter(again).select(key.alias("key"))["key"].implode()
        rows = pl.DataFrame({"id": ids, "file": files}).select(key.is_in(gone)).to_series()
        dropped = rows.fill_null(False).to_numpy()
        which = counted(int(again.sum()), "match is", "matches are")
        notes.append(f"{which} in several files with the same rows, and counted once")
    several = left.filter(pl.col("id").is_duplicated())["id"].n_unique()
    if several:
        labels = pl.Series(_labels(table.files)).gather(table.file_of)
        named = pl.select(labels + ":" + ids).to_series().alias("match")
        frame = frame.with_columns(named)
        which = counted(several, "match id is", "match ids are")
        notes.append(
            f"{which} in several files for different matches: ids begin with the name of the file, "
            f"such as {shown(named.drop_nulls()[0])}"
        )
    if dropped.any():
        return table.only(np.flatnonzero(~dropped)), frame.filter(~dropped), tuple(notes)
    return table, frame, tuple(notes)


def _matches(
    frame: pl.DataFrame, ids: pl.Series, files: pl.Series, common: pl.Series
) -> pl.DataFrame:
    """Return what each common match is in each file, in order of appearance.

    Columns: id, file, first (its first row), rows (all of their values as text), players, time.
    """
    texts = [
        column.cast(pl.String, strict=False).fill_null("").str.strip_chars()
        for column in frame
        if column.name != "match" and not column.dtype.is_nested()
    ]
    rows = pl.DataFrame(texts).select(pl.concat_str(pl.all(), separator=_MARK)).to_series()
    twin = pl.DataFrame(
        {
            "id": ids,
            "file": files,
            "row": np.arange(len(frame)),
            "rows": rows,
            "players": _text(frame, "player"),
            "time": _text(frame, "time"),
        }
    )
    return (
        twin.filter(pl.col("id").is_in(common.implode()))
        .group_by("id", "file", maintain_order=True)
        .agg(
            pl.col("row").first().alias("first"),
            pl.col("rows").sort().str.join("\n"),
            pl.col("players").sort().str.join("\n"),
            pl.col("time").first(),
        )
    )


def _text(frame: pl.DataFrame, name: str) -> pl.Series:
    if name not in frame.columns or frame[name].dtype.is_nested():
        return pl.Series([""] * len(frame), dtype=pl.String)
    return frame[name].cast(pl.String, strict=False).fill_null("")


def _is_dated(frame: pl.DataFrame) -> bool:
    """Return whether rows have dates, not only an order."""
    times = _text(frame, "time")
    return bool(((times != "") & ~times.str.contains(_ORDER)).any())


def _refuse(table: Table, again: pl.DataFrame, rule: str, every: pl.DataFrame) -> None:
    """Raise with a problem for each match that is in an earlier file too."""
    problems = []
    for row in again.head(_LISTED).iter_rows(named=True):
        here = table.places(np.array([row["first"]]))[0]
        others = every.filter((pl.col("id") == row["id"]) & (pl.col("file") < row["file"]))
        if not len(others):
            continue
        file, line = table.places(np.array([others[0, "first"]]))[0]
        problems.append(Problem(*here, "match", rule, f"{row['id']!r}, also in {file}:{line}"))
    raise InvalidDataError(problems)


def _labels(files: Sequence[str]) -> list[str]:
    """Return short names of files that differ: without folder and suffix if that is enough."""
    stems = [PurePath(file).name.partition(".")[0] for file in files]
    return stems if len(set(stems)) == len(stems) else list(files)


def check_order(table: Table, order: Ints, rows: Ints) -> None:
    """Check that an order without dates does not begin again in another file.

    order : of some rows; rows : their numbers in the table. Raises : InvalidDataError
    """
    if table.file_of is None or not len(rows):
        return
    files = table.file_of[rows]
    spans = [
        (int(order[files == at].min()), int(order[files == at].max()), at)
        for at in np.unique(files).tolist()
    ]
    spans.sort()
    for one, other in pairwise(spans):
        if other[0] <= one[1]:
            (*_, before), (first, _, at) = sorted((one, other), key=lambda span: span[2])
            row = rows[files == at][int(np.argmin(order[files == at]))]
            place = table.places(np.array([row]))[0]
            got = f"{first}, which {table.files[before]} has or passes"
            raise InvalidDataError([Problem(*place, "time", COUNTS_ON, got)])


def order_of_files(table: Table) -> tuple[str, ...]:
    """Return the note on matches of several files that have no times."""
    if len(table.files) < 2:
        return ()
    return (f"without times, matches are in the order of the files: {listed(table.files)}",)
