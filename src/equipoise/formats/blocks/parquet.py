"""Reads a Parquet file in blocks of complete matches, in order of time.

A block is a table of its own for the reader of histories, so its rows get every check that it
makes. What only the complete file shows is looked at first: the types of the columns, the order of
the times, and what kind of times they are. A file for which a block could be read differently from
the complete file is refused (`UnsuitedError`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from equipoise.arrays import Ints
from equipoise.data.history import History
from equipoise.data.reading import HistoryReading
from equipoise.errors import ConflictError, InvalidDataError, InvalidParameterError, Problem
from equipoise.formats.blocks.sorting import KEY, ROW
from equipoise.formats.games.as_matches import build_matches, is_matches
from equipoise.formats.games.layout import has_long_columns
from equipoise.formats.options import CANONICAL, KEPT, Options
from equipoise.formats.table import Table, refuse, shown
from equipoise.formats.tables.clock_times import join_clock_times
from equipoise.formats.tables.columns import arrange_columns
from equipoise.formats.tables.long_table import ADJACENT, LEFT
from equipoise.formats.times import read_times

#: Rows from which the columns are understood.
_HEAD = 1000
#: Columns of ids and labels, and of numbers; `time` and the kept columns have rules of their own.
_LABELS = ("match", "player", "team", "winner")
_IDS = (
    *(pl.String, pl.Categorical, pl.Int8, pl.Int16, pl.Int32, pl.Int64),
    *(pl.UInt8, pl.UInt16, pl.UInt32),
)
#: Columns that are None in a history if no row has a value.
_ALL_OR_NONE = ("performance", "performance_ceiling", "beta", "gamma")


class UnsuitedError(InvalidParameterError):
    """A file or an option that does not suit reading in blocks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LargeTable:
    """A Parquet file whose blocks can be read like the complete file.

    columns : names in the file of the columns that are read
    named : column with a meaning -> its name in the file
    present : columns of `_ALL_OR_NONE` with a value in any row
    notes : sentences on how columns were understood
    stamp : what changes when the file is written again or replaced
    sample : the first rows with all columns, as a history; None if they hold no valid match
    """

    path: Path
    rows: int
    options: Options
    columns: tuple[str, ...]
    named: dict[str, str]
    present: tuple[str, ...]
    notes: tuple[str, ...]
    sample: History | None
    bytes_a_row: float
    stamp: tuple[int, ...]

    @property
    def time(self) -> str | None:
        """The column of times in the file; None if the order is that of the file."""
        return self.named.get("time")

    def slices(self, rows: int) -> Iterator[pl.DataFrame]:
        """Yield consecutive rows of the file, with their numbers and times for sorting."""
        for at in range(0, self.rows, rows):
            frame = self._part(self.columns, at, rows)
            yield frame.with_columns(
                pl.Series(ROW, np.arange(at, at + len(frame))),
                *([] if self.time is None else [_microseconds(frame[self.time]).alias(KEY)]),
            )

    def _part(self, columns: Sequence[str], at: int, rows: int) -> pl.DataFrame:
        """Return rows of the file. Raises : ConflictError if it is not the one that was opened."""
        try:
            frame = pl.scan_parquet(self.path).select(columns).slice(at, rows).collect()
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
            self._check_unchanged()
            reason = str(error).strip().splitlines() or [type(error).__name__]
            refuse(str(self.path), "must be a readable Parquet file", reason[0])
        self._check_unchanged()
        return frame

    def _check_unchanged(self) -> None:
        if _stamp(self.path) != self.stamp:
            raise ConflictError(
                f"{self.path} changed while it was read: run the same again once it is complete"
            )

    def blocks(self, rows: int) -> Iterator[pl.DataFrame]:
        """Yield complete matches of a file that is in order, about `rows` rows at once."""
        key = KEY if self.time is not None else self.named["match"]
        rest: pl.DataFrame | None = None
        for frame in self.slices(rows):
            held = frame if rest is None else pl.concat([rest, frame])
            changes = np.flatnonzero(held[key].ne_missing(held[key].shift(1)).to_numpy()[1:])
            last = 0 if not len(changes) else int(changes[-1]) + 1
            if last:
                yield held.head(last)
            rest = held.slice(last)
        if rest is not None and len(rest):
            yield rest

    def order(self, rows: int, progress: Callable[[int], None] | None = None) -> tuple[bool, bool]:
        """Return whether the times never decrease, and whether the ids of matches do not.

        progress : called with the number of rows looked at
        """
        match, last_time, last_match = self.named["match"], None, None
        in_order = numbered = True
        wanted = [match] if self.time is None else [match, self.time]
        for at in range(0, self.rows, rows):
            frame = self._part(wanted, at, rows)
            if self.time is not None and in_order:
                times = _microseconds(frame[self.time])
                in_order, last_time = _rises(times, last_time)
            whole = frame[match].dtype.is_integer()
            if numbered and whole:
                numbered, last_match = _rises(frame[match], last_match)
            numbered = numbered and whole
            if progress is not None:
                progress(min(at + rows, self.rows))
            if not in_order:
                break
        return in_order, numbered

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
        reading = build_matches(table, self.options, "history")
        found = reading.history
        if found is None:
            left = [one for one in reading.problems if one.rule != LEFT]
            return replace(reading, problems=tuple(left))
        if found.order is not None or (found.time is None) != (self.time is None):
            raise UnsuitedError(
                "the times of a part of the file are read in another way than those of the file: "
                "set --time-format"
            )
        missing: dict[str, Any] = {
            name: np.full(found.participations if name == "performance" else found.matches, np.nan)
            for name in self.present
            if getattr(found, name) is None
        }
        return replace(reading, history=replace(found, **missing)) if missing else reading

    def problems_of(self, hashes: Ints) -> list[Problem]:
        """Return the problems of a few matches whose rows are in several blocks.

        hashes : what `repeated.hashes` returns for their ids
        """
        name = self.named["match"]
        scan = pl.scan_parquet(self.path).select(self.columns).with_row_index(ROW)
        whole = pl.scan_parquet(self.path).collect_schema()[name].is_integer()
        key = pl.col(name).cast(pl.Int64) if whole else pl.col(name).cast(pl.String).hash()
        wanted = pl.Series(hashes if whole else hashes.view(np.uint64))
        frame = scan.filter(key.is_in(wanted.implode())).collect(engine="streaming")
        problems = list(self.read(frame).problems) if len(frame) else []
        if problems or self.time is not None:
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

    uses : columns that the system uses; others without a meaning are not read
    Raises : UnsuitedError, with the reason
    """
    path = _path_of(source)
    stamp = _stamp(path)
    scan = pl.scan_parquet(path)
    try:
        schema = scan.collect_schema()
        rows = int(scan.select(pl.len()).collect().item())
        head = scan.head(_HEAD).collect()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise UnsuitedError(f"{path} is no readable Parquet file") from error
    table = Table(frame=head, name=str(path), format="parquet").flat()
    long = has_long_columns(table.frame, options.columns) or not is_matches(table, options)
    if not rows or not long:
        raise UnsuitedError("only a table with a row for each player in a match can")
    if join_clock_times(table, options) is not table:
        raise UnsuitedError("a table with dates and clock times in two columns cannot")
    try:
        arranged = arrange_columns(table, options)
    except InvalidDataError as error:
        raise UnsuitedError("its columns are in doubt") from error
    kept = _wanted(table.frame.columns, arranged.columns, options, uses)
    types = {name: schema[old] for name, old in arranged.columns.items()}
    types |= {name: schema[name] for name in options.statistics if name in schema}
    _check_types(types)
    counts = _counts(path, arranged.columns, kept)
    if arranged.columns.get("time") and not _are_times(path, arranged.columns["time"], options):
        raise UnsuitedError(
            "times must be dates, date-times or whole seconds since 1970 on all rows, and these "
            "are not"
        )
    _check_counts(counts, types, options)
    return LargeTable(
        path=path,
        rows=rows,
        options=options,
        columns=kept,
        named=dict(arranged.columns),
        present=tuple(name for name in _ALL_OR_NONE if counts.get(name, rows) < rows),
        notes=arranged.notes,
        sample=_sample(table, options),
        bytes_a_row=head.select(kept).estimated_size() / len(head) + 16.0,
        stamp=stamp,
    )


def _stamp(path: Path) -> tuple[int, ...]:
    """Return what changes when a file is written again, replaced or deleted."""
    try:
        found = path.stat()
    except OSError:
        return ()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _path_of(source: object) -> Path:
    if isinstance(source, list | tuple) and len(source) == 1:
        source = source[0]
    if isinstance(source, Path | str) and _names_nothing(str(source)):
        raise UnsuitedError(f"there is no file {str(source)!r}")
    if not isinstance(source, str | Path) or not Path(source).is_file():
        raise UnsuitedError("only a single Parquet file can")
    if Path(source).suffix.lower() != ".parquet":
        raise UnsuitedError("only a Parquet file can (`equipoise convert` writes one)")
    return Path(source)


def _names_nothing(source: str) -> bool:
    """Return whether there is nothing of this name, which is no pattern and no address."""
    is_other = source == "-" or "://" in source or any(mark in source for mark in "*?[")
    return not is_other and not Path(source).exists()


def _wanted(
    names: list[str], meant: dict[str, str], options: Options, uses: frozenset[str]
) -> tuple[str, ...]:
    """Return the columns of the file that decide ratings, in the order of the file."""
    new_of = {old: new for new, old in meant.items()}
    always = {*options.columns.values(), *options.statistics, *(name for name, _ in options.where)}

    def is_read(old: str) -> bool:
        new = new_of.get(old, old)
        if old in always or new in always or (new in CANONICAL and old in new_of):
            return True
        return (new in KEPT and new in uses) or (new == "score" and (old in new_of or new in uses))

    return tuple(old for old in names if is_read(old))


def _check_types(types: dict[str, pl.DataType]) -> None:
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


def _counts(path: Path, meant: dict[str, str], kept: tuple[str, ...]) -> dict[str, int]:
    """Return the number of rows without a value of each column with a meaning."""
    scan = pl.scan_parquet(path)
    schema = scan.collect_schema()
    wanted = []
    for new, old in meant.items():
        if old in kept:
            empty = pl.col(old).is_null()
            if schema[old].is_float():
                empty |= pl.col(old).is_nan()
            wanted.append(empty.sum().alias(new))
    found = scan.select(wanted).collect(engine="streaming")
    return {name: int(found[name].item()) for name in found.columns}


def _check_counts(counts: dict[str, int], types: dict[str, pl.DataType], options: Options) -> None:
    for name, empty in counts.items():
        if empty and name in ("match", "time"):
            raise UnsuitedError(f"{empty:,} rows have no {name}")
        if empty and name in KEPT and types[name].is_integer():
            raise UnsuitedError(f"the column {name} holds whole numbers, and {empty:,} are missing")


def _are_times(path: Path, column: str, options: Options) -> bool:
    """Return whether all times are of one kind, and not an order without dates."""
    scan = pl.scan_parquet(path)
    kind = scan.collect_schema()[column]
    if kind in (pl.Date, pl.Datetime):
        return True
    if options.time_format not in (None, "s", "ms", "us"):
        return False
    ends = scan.select(pl.col(column).min().alias("low"), pl.col(column).max().alias("high"))
    found = ends.collect(engine="streaming").row(0)
    times = read_times(pl.Series(found, dtype=kind), options.time_format)
    return (
        times is not None
        and not times.faults
        and not times.is_order
        and (options.time_format is not None or times.scale == 1_000_000)
    )


def _sample(table: Table, options: Options) -> History | None:
    """Return the first rows as a history with all columns, to say what is not used."""
    try:
        reading = build_matches(table, replace(options, skip_bad="matches", where=()), "history")
    except (InvalidDataError, InvalidParameterError):
        return None
    return reading.history


def _microseconds(column: pl.Series) -> pl.Series:
    """Return times as whole numbers in their order; date-times to the microsecond."""
    if isinstance(column.dtype, pl.Datetime):
        return column.cast(pl.Datetime("us", column.dtype.time_zone)).to_physical()
    return column.to_physical().cast(pl.Int64)


def _rises(column: pl.Series, last: int | None) -> tuple[bool, int | None]:
    """Return whether values never decrease, also from the last one before them, and the last."""
    if not len(column):
        return True, last
    values = column.to_numpy()
    rising = bool(np.all(values[1:] >= values[:-1])) and (last is None or int(values[0]) >= last)
    return rising, int(values[-1])
