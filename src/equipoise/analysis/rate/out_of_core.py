"""Rates a Parquet file in blocks of complete matches, in order of time, in little memory.

A block is a table of its own for the reader of histories, so its rows get every check that it
makes, and only players are kept. What only the complete file shows is looked at first: the types of
the columns, the order of the times, and what kind of times they are. A file for which a block could
be read differently from the complete file is refused (`UnsuitedError`). So the answers are those of
rating it at once.

A file that is not in order of time is sorted on disk: Polars writes its rows to one folder for each
range of times. The ranges are chosen from sampled times, so that blocks are about equally large. A
block is then read and sorted in memory. Rows of the same time stay in the order of the file.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl

from equipoise._jit import working_time
from equipoise.analysis.reading import (
    advice_on,
    left_out,
    missing_notes,
    unused_at,
    unused_notes,
    unused_of,
)
from equipoise.analysis.requests import HistoryRequest
from equipoise.arrays import Ids, Ints
from equipoise.data.history import History, with_performance
from equipoise.errors import ConflictError, InvalidDataError, InvalidParameterError, Problem
from equipoise.formats.column_names import KEPT
from equipoise.formats.contents import first_line
from equipoise.formats.histories import OPTIONS, check_options, summarise
from equipoise.formats.long_table import ADJACENT, LEFT, build_history
from equipoise.formats.meanings import arrange_columns, join_clock_times, read_header
from equipoise.formats.names import describe_spellings, read_synonyms
from equipoise.formats.table import HistoryReading, Options, Table, refuse, shown
from equipoise.formats.times import read_times
from equipoise.rating.replay import BlockReplay, Replay
from equipoise.rating.system import RatingSystem
from equipoise.wording import counted

#: Bytes of the program with its libraries; bytes of a row of a block, while it is read and rated.
_PROGRAM, _ROW_BYTES = 400_000_000, 400
#: Least and most rows of a block: larger ones are no faster.
_FEWEST, _MOST = 50_000, 2_000_000
#: Problems after which no more are looked for.
_PROBLEMS = 1_000
#: Names of the columns with the number of a row in the file, with its time, and with its block.
_ROW, _KEY, _BLOCK = "\x00row", "\x00key", "block"
#: Rows from which the columns are understood.
_HEAD = 1000
#: Rows of the file for one sampled time, and rows that are divided by time together: Polars takes
#: more memory for more.
_SAMPLED, _DIVIDED = 1024, 10_000_000
#: Rows that are kept in memory for each block until they are written.
_BUFFERED = 4096
#: Part of the free space that sorting may take.
_FILLED = 0.95
#: Matches whose ids are sorted together, and repeated ids that are reported.
_TOGETHER, _REPORTED = 4_000_000, 20
#: Columns that are None in a history if no row has a value.
_ALL_OR_NONE = ("performance", "performance_ceiling", "beta", "gamma")
_WHOLE = (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32)
_IDS = (pl.String, pl.Categorical, *_WHOLE), "text or whole numbers"
#: Types of columns, and what these hold. Others must be numbers, or single values if they are kept.
_TYPES = {
    **dict.fromkeys(("match", "player", "team", "winner"), _IDS),
    "rated": ((pl.Boolean, *_WHOLE), "true or false"),
    "time": ((pl.Date, pl.Datetime, *_WHOLE), "dates, date-times or whole seconds"),
}
_FAILURES = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)


class UnsuitedError(InvalidParameterError):
    """A file or an option that does not suit reading in blocks."""


def in_words(count: int) -> str:
    """Return a number of bytes for people."""
    if count >= 10**9:
        return f"{count / 10**9:.1f} GB"
    return f"{max(1, round(count / 10**6)):,} MB"


@dataclass(slots=True, kw_only=True)
class Rated:
    """A history that was rated, at once or in blocks.

    reading : with all notes; without the history if it was rated in blocks
    unused : columns and options that the system does not use
    seconds : of reading, which includes sorting, and of rating
    """

    reading: HistoryReading
    replay: Replay
    unused: list[str]
    seconds: tuple[float, float]


def rate_in_blocks(
    system: RatingSystem,
    request: HistoryRequest,
    memory: int,
    *,
    at: float | None = None,
    keeps_matches: bool = False,
    threads: int = 1,
    check: Callable[[History], None] = lambda history: None,
    announce: Callable[[str], None] = lambda line: None,
    progress: Callable[[int, int], None] | None = None,
) -> Rated:
    """Rate a Parquet file in blocks.

    memory : bytes that blocks and the program are chosen for; players come on top
    keeps_matches : whether the state can be saved, for 16 bytes a match
    check : called with the first block, to refuse what the system cannot do with its columns
    announce : called with a line before the file is sorted on disk
    Raises : UnsuitedError if the file cannot be rated in blocks; InvalidDataError and
        InvalidParameterError as rating it at once does
    """
    table = open_large(request.source, _options(request), system.capabilities.uses)
    rows = min(_MOST, max(_FEWEST, (memory - _PROGRAM) // (2 * _ROW_BYTES)))
    rating = BlockReplay(system, keeps_matches=keeps_matches, threads=threads)
    readings: list[HistoryReading] = []
    unused, notes, problems = list[str](), list[str](), list[Problem]()
    columns: tuple[str, ...] = ()
    started, rating_time, seen = working_time(), 0.0, 0
    largest: tuple[int, tuple[str, ...]] = (0, ())
    with TemporaryDirectory(prefix="equipoise-blocks-") as name:
        folder = Path(name)
        repeated = RepeatedIds(folder, table.rows)
        for frame in table.blocks(rows, folder, announce):
            reading = table.read(frame)
            readings.append(replace(reading, history=None))
            before, seen = seen, seen + len(frame)
            problems += () if request.skip_bad else reading.problems
            if len(problems) >= _PROBLEMS:
                break
            if problems or reading.history is None:
                continue
            history = with_performance(reading.history, request.statistics)
            if not rating.players:
                check(history)
                unused = unused_of(system, history, request)
                unused += [] if at is None else unused_at(system)
                columns = tuple(system.capabilities.unused(history))
                notes = unused_notes({system.name: unused}, strict=request.strict)
                # Without matches only columns are missing: values of rows are not counted.
                notes += missing_notes(system, history.slice(0, 0), resumed=False)
            if hasattr(system, "field_notes"):
                # The note on the largest matches of all blocks.
                misfits = tuple(dict.fromkeys(system.field_notes(history)))
                largest = max(largest, (int(history.teams().max()), misfits))
            repeated.add(history.match_ids)
            clock = working_time()
            rating.add(history, _after(before, table.rows, progress))
            rating_time += working_time() - clock
        # Also with --skip-bad, because these matches are rated by then.
        problems += [] if problems else table.problems_of_repeated(repeated)
    if not problems and not rating.players:
        problems = [Problem(str(table.path), None, "", LEFT, "no match is rated and selected")]
    if problems:
        head = summarise(problems, request.source)
        raise InvalidDataError(problems, head, advice=advice_on(problems, skipping=False))
    clock = working_time()
    replayed = rating.done(at)
    rating_time += working_time() - clock
    notes_of_blocks = [note for reading in readings for note in reading.notes]
    reading = HistoryReading(
        history=None,
        **left_out(readings),
        notes=(
            *dict.fromkeys([*request.notes, *table.notes, *notes_of_blocks]),
            f"rated in blocks of about {counted(rows, 'participation')}",
            *describe_spellings(replayed.ratings.player_ids, replayed.ratings.matches),
            *notes,
            *largest[1],
        ),
        format="parquet",
        kind="history",
        columns=table.named,
    )
    return Rated(
        reading=reading,
        replay=replace(replayed, unused=columns),
        unused=unused,
        seconds=(working_time() - started - rating_time, rating_time),
    )


def _after(
    done: int, total: int, progress: Callable[[int, int], None] | None
) -> Callable[[int], None] | None:
    """Return what reports the progress of a block after `done` rows of the file."""
    return None if progress is None else lambda rows: progress(done + rows, total)


def _options(request: HistoryRequest) -> Options:
    if request.sheet is not None or request.format not in (None, "parquet", "history"):
        raise UnsuitedError("only a Parquet file with a row for each player in a match can")
    options = check_options({name: getattr(request, name) for name in OPTIONS})
    if request.synonyms is not None:
        options = replace(options, synonyms=read_synonyms(request.synonyms))
    return options


class RepeatedIds:
    """Hashes of the match ids of all blocks, 8 bytes each, and which of them occur twice.

    A match is in one block if all its rows have one time. So an id in two blocks is a match with
    two times or, in a table without times, one whose rows are scattered. Hashes are distributed
    over files, and each file is sorted alone.

    folder : an existing folder, which the caller removes
    matches : at most this many are expected
    """

    def __init__(self, folder: Path, matches: int) -> None:
        self._paths = [folder / f"ids-{number}" for number in range(1 + matches // _TOGETHER)]

    def add(self, ids: Ids) -> None:
        """Add the ids of a block, each of them once."""
        hashes = pl.Series(ids.tolist() if ids.dtype == object else ids).hash().to_numpy()
        file_of = hashes % np.uint64(len(self._paths))
        try:
            for number, path in enumerate(self._paths):
                with path.open("ab") as file:
                    file.write(hashes[file_of == number].tobytes())
        except OSError as error:
            raise InvalidParameterError(
                f"the ids of matches cannot be kept in {path.parent.parent}: {error.strerror} (set "
                "TMPDIR to a folder with more room)"
            ) from None

    def found(self) -> Ids:
        """Return some hashes that occur twice, at most 20."""
        repeated: list[Ids] = []
        for path in self._paths:
            hashes = np.fromfile(path, np.uint64) if path.exists() else np.zeros(0, np.uint64)
            hashes.sort()
            repeated.append(np.unique(hashes[1:][hashes[1:] == hashes[:-1]])[:_REPORTED])
        return np.concatenate(repeated)[:_REPORTED]


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
        try:
            bounds = self._bounds(rows)
            if bounds is None:
                yield from self._consecutive(rows)
            else:
                yield from self._sorted(bounds, folder, announce)
        except InvalidParameterError:
            self._check_unchanged()
            raise
        except _FAILURES as error:
            self._check_unchanged()
            refuse(str(self.path), "must be a readable Parquet file", first_line(error))

    def _bounds(self, rows: int) -> Ints | None:
        """Return where blocks begin, but the first; None if the file is in order."""
        if self.key is None:
            return None
        scan, key = self._scan(0, self.rows), pl.col(_KEY)
        if scan.select((key >= key.shift()).all()).collect(engine="streaming").item():
            return None
        # A filter: Polars would load the whole column to gather every 1,024th value of it.
        sampled = scan.filter(pl.col(_ROW) % _SAMPLED == 0).select(key)
        samples = sampled.collect(engine="streaming")[_KEY].to_numpy()
        step = max(1, rows // _SAMPLED)
        return np.unique(np.sort(samples)[step::step])

    def _consecutive(self, rows: int) -> Iterator[pl.DataFrame]:
        """Yield complete matches of a file that is in order."""
        key = pl.col(_KEY if self.key is not None else self.named["match"])
        rest = self._scan(0, 0).collect()
        for at in range(0, self.rows, rows):
            frame = pl.concat([rest, self._scan(at, rows).collect()])
            self._check_unchanged()
            earlier = frame.select(key != key.last()).to_series().arg_true()
            complete = int(earlier[-1]) + 1 if len(earlier) else 0
            if complete:
                yield frame.head(complete)
            rest = frame.slice(complete)
        yield rest

    def _sorted(
        self, bounds: Ints, folder: Path, announce: Callable[[str], None]
    ) -> Iterator[pl.DataFrame]:
        """Write the rows of each block to the disk; yield the blocks."""
        needed, free = int(self.rows * self.bytes_a_row), shutil.disk_usage(folder).free
        if needed + 8 * self.rows > _FILLED * free:
            raise InvalidParameterError(
                f"sorting by time needs about {in_words(needed + 8 * self.rows)} of disk in "
                f"{folder}, which has {in_words(free)} free: set TMPDIR to a folder with more, or "
                "sort the file by time"
            )
        announce(
            f"The file is not in order of time. It is sorted on disk: about {in_words(needed)} in "
            f"{folder}, which has {in_words(free)} free."
        )
        block = pl.lit(pl.Series(bounds)).search_sorted(pl.col(_KEY), side="right").alias(_BLOCK)
        try:
            for at in range(0, self.rows, _DIVIDED):
                part = folder / f"part-{at:012}"
                self._scan(at, _DIVIDED).with_columns(block).sink_ipc(
                    pl.PartitionBy(part, key=_BLOCK, include_key=False),
                    compression="lz4",
                    record_batch_size=_BUFFERED,
                    mkdir=True,
                )
                self._check_unchanged()
            for number in range(len(bounds) + 1):
                # These are in the order of the rows, and a stable sort keeps that order.
                paths = sorted(folder.glob(f"part-*/{_BLOCK}={number}/*"))
                if paths:
                    yield pl.concat(map(pl.read_ipc, paths)).sort(_KEY, maintain_order=True)
        except _FAILURES as error:
            # Others write to the same disk, so the check beforehand promises nothing.
            raise InvalidParameterError(
                f"the file cannot be sorted by time in {folder.parent}: {error} (set TMPDIR to a "
                "folder with more room, or sort the file by time)"
            ) from None

    def _scan(self, at: int, rows: int) -> pl.LazyFrame:
        """Return rows of the file, with their numbers, and times as numbers for sorting."""
        scan = pl.scan_parquet(self.path).select(self.columns).slice(at, rows)
        scan = scan.with_row_index(_ROW, offset=at)
        return scan if self.key is None else scan.with_columns(self.key)

    def _check_unchanged(self) -> None:
        if _stamp(self.path) != self.stamp:
            raise ConflictError(
                f"{self.path} changed while it was read: run the same again once it is complete"
            )

    def read(self, frame: pl.DataFrame) -> HistoryReading:
        """Return the history of a block, None without problems if nothing is selected.

        Raises : InvalidDataError, InvalidParameterError as the reader of histories does
        """
        rows = frame[_ROW].to_numpy()
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
        match = pl.col(self.named["match"])
        scan = self._scan(0, self.rows)
        whole = scan.collect_schema()[self.named["match"]].is_integer()
        hash_of = match.cast(pl.Int64 if whole else pl.String).hash()
        frame = scan.filter(hash_of.is_in(pl.Series(hashes).implode())).collect(engine="streaming")
        problems = list(self.read(frame).problems)
        if problems or self.key is not None:
            return problems
        # Without times a match is in several blocks if others are between its rows.
        rows = frame.group_by(match, maintain_order=True).agg(pl.col(_ROW))
        return [
            Problem(str(self.path), numbers[-1] + 1, "match", ADJACENT, shown(name))
            for name, numbers in rows.iter_rows()
            if numbers[-1] - numbers[0] >= len(numbers)
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
        head = scan.head(_HEAD).collect()
    except _FAILURES as error:
        raise UnsuitedError(f"{path} is no readable Parquet file") from error
    if any("," in name and name not in schema for name in options.columns.values()):
        raise UnsuitedError("a column of a history that joins several of the table cannot")
    table = Table(frame=head, name=str(path), format="parquet").flat()
    header = read_header(table.frame.columns, options.columns)
    if not len(head) or (header.history.missing and header.is_complete):
        raise UnsuitedError("only a table with a row for each player in a match can")
    if join_clock_times(table, options) is not table:
        raise UnsuitedError("a table with dates and clock times in two columns cannot")
    try:
        arranged = arrange_columns(table, options)
    except InvalidDataError as error:
        raise UnsuitedError("its columns are in doubt") from error
    named = dict(arranged.columns)
    types = {name: schema[old] for name, old in named.items()}
    _check_types({**types, **{name: schema[name] for name in options.statistics if name in schema}})
    rows, empty = _check_values(scan, named, types, options)
    for name, count in empty.items():
        if count and name in ("match", "time"):
            raise UnsuitedError(f"{count:,} rows have no {name}")
        if count and name in KEPT and name in uses and types[name].is_integer():
            raise UnsuitedError(f"the column {name} holds whole numbers, and {count:,} are missing")
    read = {*named.values(), *options.statistics, *(name for name, _ in options.where)}
    read |= {*options.columns.values(), "score", *KEPT}
    kept = tuple(name for name in table.frame.columns if name in read)
    time = types.get("time")
    key = None if time is None else pl.col(named["time"])
    if key is not None and isinstance(time, pl.Datetime):
        key = key.cast(pl.Datetime("us", time.time_zone))
    return LargeTable(
        path=path,
        rows=rows,
        options=options,
        columns=kept,
        named=named,
        key=None if key is None else key.to_physical().cast(pl.Int64).alias(_KEY),
        present=tuple(name for name in _ALL_OR_NONE if empty.get(name, rows) < rows),
        notes=arranged.notes,
        bytes_a_row=head.select(kept).estimated_size() / len(head) + 16.0,
        stamp=stamp,
    )


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
    if not isinstance(source, str | Path) or any(mark in str(source) for mark in ("://", *"*?[")):
        raise UnsuitedError("only a single Parquet file, without *, ? or [ in its name, can")
    path = Path(source)
    if not path.exists():
        raise UnsuitedError(f"there is no file {str(source)!r}")
    if not path.is_file() or path.suffix.lower() != ".parquet":
        raise UnsuitedError("only a Parquet file can (`equipoise convert` writes one)")
    return path


def _check_types(types: Mapping[str, pl.DataType]) -> None:
    """Refuse columns whose meaning depends on all values. Raises : UnsuitedError."""
    for name, kind in types.items():
        if name in _TYPES:
            allowed, what = _TYPES[name]
            fits = kind in allowed
        elif name in KEPT:
            fits, what = not kind.is_nested(), "single values"
        else:
            fits, what = kind.is_numeric() and not kind.is_decimal(), "numbers"
        if not fits:
            raise UnsuitedError(f"the column {name} must hold {what}, and it holds {kind}")


def _check_values(
    scan: pl.LazyFrame,
    named: Mapping[str, str],
    types: Mapping[str, pl.DataType],
    options: Options,
) -> tuple[int, dict[str, int]]:
    """Return the number of rows, and of those without a value of each column with a meaning.

    Raises : UnsuitedError   whole numbers are no times, of several kinds, or an order without dates
    """
    facts = [pl.len().alias(_ROW)]
    for name, old in named.items():
        empty = pl.col(old).is_null()
        empty |= pl.col(old).is_nan() if types[name].is_float() else False
        facts.append(empty.sum().alias(name))
    whole = "time" in types and types["time"].is_integer()
    if whole:
        time = pl.col(named["time"])
        facts.append(pl.concat_list(time.min(), time.max()).alias(_KEY))
    found = scan.select(facts).collect(engine="streaming")
    if whole:
        times, form = None, options.time_format
        if form in (None, "s", "ms", "us"):
            times = read_times(found[_KEY].explode(), form)
        known = form is not None or (times is not None and times.scale == 1_000_000)
        if times is None or times.faults or times.is_order or not known:
            raise UnsuitedError(
                "times must be dates, date-times or whole seconds since 1970 on all rows, and "
                "these are not"
            )
    return int(found[_ROW][0]), {name: int(found[name][0]) for name in named}
