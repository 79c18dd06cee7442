"""Reads a Parquet file in blocks of complete matches, in order of time.

A block is a table of its own for the reader of histories, so its rows get every check that it
makes. What only the complete file shows is looked at first: the types of the columns, the order of
the times, and what kind of times they are. A file for which a block could be read differently from
the complete file is refused (`UnsuitedError`).

A file that is not in order of time is sorted on disk: its rows are written to one folder for each
range of times. The ranges are chosen from sampled times, so that blocks are about equally large. A
block is then read and sorted in memory. Rows of the same time stay in the order of the file.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from equipoise.arrays import Ids, Ints
from equipoise.errors import ConflictError, InvalidDataError, InvalidParameterError, Problem
from equipoise.formats.column_names import KEPT
from equipoise.formats.contents import first_line
from equipoise.formats.long_table import ADJACENT, LEFT, build_history
from equipoise.formats.meanings import arrange_columns, join_clock_times, read_header
from equipoise.formats.table import HistoryReading, Options, Table, refuse, shown
from equipoise.formats.times import read_times

#: Names of the columns with the number of a row in the file, with its time, and with its block.
ROW, KEY, BLOCK = "\x00row", "\x00key", "block"
#: Rows that are kept in memory for each block until they are written.
_BUFFERED = 4096
#: Part of the free space that sorting may take.
_FILLED = 0.95
#: Matches whose ids are sorted together.
_TOGETHER = 4_000_000
#: Odd constant of Fibonacci hashing, 2^64 over the golden ratio.
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
#: Repeated ids that are reported.
_REPORTED = 20


def in_words(count: int) -> str:
    """Return a number of bytes for people."""
    if count >= 10**9:
        return f"{count / 10**9:.1f} GB"
    return f"{max(1, round(count / 10**6)):,} MB"


def check_space(needed: int, folder: Path) -> int:
    """Return the free bytes of a folder's disk. Raises : InvalidParameterError if they are few."""
    free = shutil.disk_usage(folder).free
    if needed > _FILLED * free:
        raise InvalidParameterError(
            f"sorting by time needs about {in_words(needed)} of disk in {folder}, which has "
            f"{in_words(free)} free: set TMPDIR to a folder with more, or sort the file by time"
        )
    return free


def divide(scan: pl.LazyFrame, bounds: Ints, folder: Path) -> None:
    """Write rows to a new folder, which has a folder for each range of `KEY`.

    bounds : where ranges begin, but the first
    Raises : InvalidParameterError if the disk is full
    """
    block = pl.lit(pl.Series(bounds)).search_sorted(pl.col(KEY), side="right").alias(BLOCK)
    try:
        scan.with_columns(block).sink_ipc(
            pl.PartitionBy(folder, key=BLOCK, include_key=False),
            compression="lz4",
            record_batch_size=_BUFFERED,
            mkdir=True,
        )
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        # Others write to the same disk, so the check beforehand promises nothing.
        raise InvalidParameterError(
            f"the file cannot be sorted by time in {folder.parent.parent}: {error} (set TMPDIR to "
            "a folder with more room, or sort the file by time)"
        ) from None


def blocks_of(folders: list[Path], count: int) -> Iterator[pl.DataFrame]:
    """Yield the rows that were divided, in order of time, block by block.

    folders : of consecutive parts of the file
    """
    for number in range(count):
        paths = [path for folder in folders for path in sorted(folder.glob(f"{BLOCK}={number}/*"))]
        if paths:
            # Files are in the order of the rows, so a stable sort keeps that order.
            yield pl.concat(map(pl.read_ipc, paths)).sort(KEY, maintain_order=True)


class RepeatedIds:
    """Ids of the matches of all blocks, 8 bytes each, and which of them occur twice.

    A match is in one block if all its rows have one time. So an id in two blocks is a match with
    two times or, in a table without times, one whose rows are scattered. Ids are distributed over
    files by their hash, and each file is sorted alone.

    folder : an existing folder, which the caller removes
    matches : at most this many are expected
    """

    def __init__(self, folder: Path, matches: int) -> None:
        count = max(1, -(-matches // _TOGETHER))
        self._paths = [folder / f"ids-{number}" for number in range(count)]

    def add(self, ids: Ids) -> None:
        """Add the ids of a block, each of them once."""
        keys = hashes(ids)
        share = (keys * _SPREAD) >> np.uint64(32)
        file_of = share % np.uint64(len(self._paths))
        try:
            for number, path in enumerate(self._paths):
                with path.open("ab") as file:
                    file.write(keys[file_of == number].tobytes())
        except OSError as error:
            raise InvalidParameterError(
                f"the ids of matches cannot be kept in {path.parent.parent}: {error.strerror} (set "
                "TMPDIR to a folder with more room)"
            ) from None

    def found(self) -> Ints:
        """Return hashes of ids that occur twice, at most 20; of whole numbers the ids."""
        repeated: list[Ints] = []
        for path in self._paths:
            keys = np.fromfile(path, np.uint64) if path.exists() else np.zeros(0, np.uint64)
            keys.sort()
            repeated.append(np.unique(keys[1:][keys[1:] == keys[:-1]])[:_REPORTED])
        return np.concatenate(repeated)[:_REPORTED].view(np.int64)


def hashes(ids: Ids) -> Ids:
    """Return 64 bits of each id: whole numbers themselves, a hash of text."""
    if ids.dtype == object:
        return pl.Series(ids.tolist(), dtype=pl.String).hash().to_numpy()
    return ids.astype(np.int64).view(np.uint64)


#: Rows from which the columns are understood.
_HEAD = 1000
#: Rows of the file for one sampled time, and rows that are divided by time together.
_SAMPLED, _DIVIDED = 1024, 10_000_000
#: Columns of ids and labels, and of numbers; `time` and the kept columns have rules of their own.
_LABELS = ("match", "player", "team", "winner")
_IDS = (
    *(pl.String, pl.Categorical, pl.Int8, pl.Int16, pl.Int32, pl.Int64),
    *(pl.UInt8, pl.UInt16, pl.UInt32),
)
#: Columns that are None in a history if no row has a value.
_ALL_OR_NONE = ("performance", "performance_ceiling", "beta", "gamma")
_FAILURES = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)


class UnsuitedError(InvalidParameterError):
    """A file or an option that does not suit reading in blocks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LargeTable:
    """A Parquet file whose blocks can be read like the complete file.

    columns : names in the file of the columns that are read
    named : column with a meaning -> its name in the file
    key : times as whole numbers in their order; None if the order is that of the file
    present : columns of `_ALL_OR_NONE` with a value in any row
    notes : sentences on how columns were understood
    stamp : what changes when the file is written again or replaced
    """

    path: Path
    rows: int
    options: Options
    columns: tuple[str, ...]
    named: dict[str, str]
    key: pl.Expr | None
    present: tuple[str, ...]
    notes: tuple[str, ...]
    bytes_a_row: float
    stamp: tuple[int, ...]

    def blocks(
        self, rows: int, folder: Path, announce: Callable[[str], None]
    ) -> Iterator[pl.DataFrame]:
        """Yield complete matches in order of time, about `rows` rows at once.

        folder : where the file is sorted if it is not in order; the caller removes it
        announce : called with a line before that
        Raises : ConflictError if the file changes, InvalidParameterError if the disk is full
        """
        samples = self._sampled_times(rows)
        if samples is None:
            yield from self._consecutive(rows)
            return
        needed = int(self.rows * self.bytes_a_row)
        free = check_space(needed + 8 * self.rows, folder)
        announce(
            f"The file is not in order of time. It is sorted on disk: about {in_words(needed)} in "
            f"{folder}, which has {in_words(free)} free."
        )
        step = max(1, rows // _SAMPLED)
        bounds = np.unique(np.sort(samples)[step::step])
        parts = []
        for at in range(0, self.rows, _DIVIDED):
            parts.append(folder / f"part-{at:012}")
            try:
                divide(self._scan(at, _DIVIDED), bounds, parts[-1])
            finally:
                self._check_unchanged()
        yield from blocks_of(parts, len(bounds) + 1)

    def _sampled_times(self, rows: int) -> Ints | None:
        """Return some times of a file that is not in order; None if it is, or has no times."""
        if self.key is None:
            return None
        samples, in_order, last = [], True, None
        for at in range(0, self.rows, rows):
            times = self._collected(self._scan(at, rows).select(KEY))[KEY].to_numpy()
            in_order &= bool(np.all(times[1:] >= times[:-1]))
            in_order &= last is None or int(times[0]) >= last
            last = int(times[-1])
            samples.append(times[::_SAMPLED].copy())
        return None if in_order else np.concatenate(samples)

    def _consecutive(self, rows: int) -> Iterator[pl.DataFrame]:
        """Yield complete matches of a file that is in order."""
        key = KEY if self.key is not None else self.named["match"]
        rest: pl.DataFrame | None = None
        for at in range(0, self.rows, rows):
            frame = self._collected(self._scan(at, rows))
            held = frame if rest is None else pl.concat([rest, frame])
            changes = np.flatnonzero(held[key].ne_missing(held[key].shift(1)).to_numpy()[1:])
            last = 0 if not len(changes) else int(changes[-1]) + 1
            if last:
                yield held.head(last)
            rest = held.slice(last)
        if rest is not None and len(rest):
            yield rest

    def _scan(self, at: int, rows: int) -> pl.LazyFrame:
        """Return rows of the file, with their numbers, and times as numbers for sorting."""
        scan = pl.scan_parquet(self.path).select(self.columns).slice(at, rows)
        scan = scan.with_row_index(ROW, offset=at)
        return scan if self.key is None else scan.with_columns(self.key)

    def _collected(self, scan: pl.LazyFrame) -> pl.DataFrame:
        """Return rows of the file. Raises : ConflictError if it is not the one that was opened."""
        try:
            frame = scan.collect()
        except _FAILURES as error:
            self._check_unchanged()
            refuse(str(self.path), "must be a readable Parquet file", first_line(error))
        self._check_unchanged()
        return frame

    def _check_unchanged(self) -> None:
        if _stamp(self.path) != self.stamp:
            raise ConflictError(
                f"{self.path} changed while it was read: run the same again once it is complete"
            )

    def read(self, frame: pl.DataFrame) -> HistoryReading:
        """Return the history of a block, None without problems if nothing is selected.

        Raises : InvalidDataError, InvalidParameterError as the reader of histories does
        """
        rows = frame[ROW].to_numpy()
        table = Table(
            frame=frame.select(self.columns),
            name=str(self.path),
            format="parquet",
            locate=lambda wanted: [(str(self.path), row + 1) for row in rows[wanted].tolist()],
        )
        reading = build_history(table.flat(), self.options)
        history = reading.history
        if history is None:
            left = [problem for problem in reading.problems if problem.rule != LEFT]
            return replace(reading, problems=tuple(left))
        if history.order is not None or (history.time is None) != (self.key is None):
            raise UnsuitedError(
                "the times of a part of the file are read in another way than those of the file: "
                "set --time-format"
            )
        missing: dict[str, Any] = {
            name: np.full(
                history.participations if name == "performance" else history.matches, np.nan
            )
            for name in self.present
            if getattr(history, name) is None
        }
        return replace(reading, history=replace(history, **missing)) if missing else reading

    def problems_of_repeated(self, repeated: RepeatedIds) -> list[Problem]:
        """Return the problems of matches whose rows are in several blocks."""
        hashes = repeated.found()
        if not len(hashes):
            return []
        name = self.named["match"]
        scan = pl.scan_parquet(self.path).select(self.columns).with_row_index(ROW)
        whole = scan.collect_schema()[name].is_integer()
        key = pl.col(name).cast(pl.Int64) if whole else pl.col(name).cast(pl.String).hash()
        wanted = pl.Series(hashes if whole else hashes.view(np.uint64))
        frame = scan.filter(key.is_in(wanted.implode())).collect(engine="streaming")
        problems = list(self.read(frame).problems) if len(frame) else []
        if problems or self.key is not None:
            return problems
        # Without times a match is in several blocks if others are between its rows.
        rows = frame.group_by(name, maintain_order=True).agg(
            pl.col(ROW).min().alias("first"), pl.col(ROW).max().alias("last"), pl.len()
        )
        scattered = rows.filter(pl.col("last") - pl.col("first") >= pl.col("len"))
        return [
            Problem(str(self.path), last + 1, "match", ADJACENT, shown(match))
            for match, last in scattered.select(name, "last").iter_rows()
        ]


def open_large(source: object, options: Options, uses: frozenset[str]) -> LargeTable:
    """Return a Parquet file that can be read in blocks.

    uses : columns that the system uses
    Raises : UnsuitedError, with the reason
    """
    path = _path_of(source)
    stamp = _stamp(path)
    scan = pl.scan_parquet(path)
    try:
        schema = scan.collect_schema()
        rows = int(scan.select(pl.len()).collect().item())
        head = scan.head(_HEAD).collect()
    except _FAILURES as error:
        raise UnsuitedError(f"{path} is no readable Parquet file") from error
    if any("," in name and name not in schema for name in options.columns.values()):
        raise UnsuitedError("a column of a history that joins several of the table cannot")
    table = Table(frame=head, name=str(path), format="parquet").flat()
    header = read_header(table.frame.columns, options.columns)
    if not rows or (header.history.missing and header.is_complete):
        raise UnsuitedError("only a table with a row for each player in a match can")
    if join_clock_times(table, options) is not table:
        raise UnsuitedError("a table with dates and clock times in two columns cannot")
    try:
        arranged = arrange_columns(table, options)
    except InvalidDataError as error:
        raise UnsuitedError("its columns are in doubt") from error
    named = dict(arranged.columns)
    columns = {**named, **{name: name for name in options.statistics if name in schema}}
    _check_types({name: schema[old] for name, old in columns.items()})
    empty = _empty_rows(scan, named, options)
    for name, count in empty.items():
        if count and name in ("match", "time"):
            raise UnsuitedError(f"{count:,} rows have no {name}")
        if count and name in KEPT and name in uses and schema[named[name]].is_integer():
            raise UnsuitedError(f"the column {name} holds whole numbers, and {count:,} are missing")
    read = {*named.values(), *options.statistics, *(name for name, _ in options.where)}
    read |= {*options.columns.values(), "score", *KEPT}
    kept = tuple(name for name in table.frame.columns if name in read)
    return LargeTable(
        path=path,
        rows=rows,
        options=options,
        columns=kept,
        named=named,
        key=_key(named["time"], schema[named["time"]]) if "time" in named else None,
        present=tuple(name for name in _ALL_OR_NONE if empty.get(name, rows) < rows),
        notes=arranged.notes,
        bytes_a_row=head.select(kept).estimated_size() / len(head) + 16.0,
        stamp=stamp,
    )


def _key(time: str, kind: pl.DataType) -> pl.Expr:
    """Return times as whole numbers in their order; date-times to the microsecond."""
    if isinstance(kind, pl.Datetime):
        return pl.col(time).cast(pl.Datetime("us", kind.time_zone)).to_physical().alias(KEY)
    return pl.col(time).to_physical().cast(pl.Int64).alias(KEY)


def _stamp(path: Path) -> tuple[int, ...]:
    """Return what changes when a file is written again, replaced or deleted."""
    try:
        status = path.stat()
    except OSError:
        return ()
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _path_of(source: object) -> Path:
    if isinstance(source, list | tuple) and len(source) == 1:
        source = source[0]
    path = Path(source) if isinstance(source, str | Path) else None
    if path is None or not path.is_file():
        text = str(source)
        several = path is None or text == "-" or any(mark in text for mark in ("://", *"*?["))
        if several or Path(text).exists():
            raise UnsuitedError("only a single Parquet file can")
        raise UnsuitedError(f"there is no file {text!r}")
    if path.suffix.lower() != ".parquet":
        raise UnsuitedError("only a Parquet file can (`equipoise convert` writes one)")
    return path


def _check_types(types: Mapping[str, pl.DataType]) -> None:
    """Refuse columns whose meaning depends on all values. Raises : UnsuitedError."""
    for name, kind in types.items():
        fits = kind.is_numeric() and not kind.is_decimal()
        what = "numbers"
        if name in _LABELS:
            fits, what = kind in _IDS, "text or whole numbers"
        elif name == "rated":
            fits, what = kind == pl.Boolean or kind.is_integer(), "true or false"
        elif name == "time":
            fits = kind in (pl.Date, pl.Datetime) or (kind.is_integer() and kind != pl.UInt64)
            what = "dates, date-times or whole seconds"
        elif name in KEPT:
            fits, what = not kind.is_nested(), "single values"
        if not fits:
            raise UnsuitedError(f"the column {name} must hold {what}, and it holds {kind}")


def _empty_rows(scan: pl.LazyFrame, named: Mapping[str, str], options: Options) -> dict[str, int]:
    """Return the number of rows without a value of each column with a meaning.

    Raises : UnsuitedError   times are of several kinds, or an order without dates
    """
    schema = scan.collect_schema()
    wanted = {
        new: (pl.col(old).is_null() | (pl.col(old).is_nan() if schema[old].is_float() else False))
        for new, old in named.items()
    }
    counts = [empty.sum().alias(new) for new, empty in wanted.items()]
    time = named.get("time")
    if time is None or not schema[time].is_integer():
        counted = scan.select(counts).collect(engine="streaming")
    else:
        low, high = pl.col(time).min().alias(KEY), pl.col(time).max().alias(ROW)
        counted = scan.select(*counts, low, high).collect(engine="streaming")
        _check_times(pl.concat([counted[KEY], counted[ROW].rename(KEY)]), options)
    return {name: int(counted[name].item()) for name in wanted}


def _check_times(ends: pl.Series, options: Options) -> None:
    """Refuse whole numbers that are no times; ends : the lowest and highest."""
    times = None
    if options.time_format in (None, "s", "ms", "us"):
        times = read_times(ends, options.time_format)
    known = options.time_format is not None or (times is not None and times.scale == 1_000_000)
    if times is None or times.faults or times.is_order or not known:
        raise UnsuitedError(
            "times must be dates, date-times or whole seconds since 1970 on all rows, and these "
            "are not"
        )
