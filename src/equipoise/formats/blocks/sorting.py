"""Sorts a table on disk: sorted runs of consecutive rows, from which ranges of times are read.

Every run is a part of the table that fits into memory, sorted by time and written to a file. The
times at which blocks begin are chosen from samples of all runs. A block is then a slice of each
run, sorted again. So every row is written once, and no two runs are merged row by row.

The order is stable: rows of the same time stay in the order of the file.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import polars as pl

from equipoise.arrays import Ints
from equipoise.errors import InvalidParameterError

#: Name of the column with the number of a row in the file.
ROW = "\x00row"
#: Name of the column with the time in the unit of sorting.
KEY = "\x00key"
#: Rows of a run for one sampled time. Blocks are larger than wanted by at most this for each run.
_SAMPLED = 1024
#: Rows that a reader of a run decodes together.
_BATCH = 1 << 15
#: Part of the free space that sorting may take.
_FILLED = 0.95


def check_space(needed: int, folder: Path) -> int:
    """Return the free bytes of a folder's disk. Raises : InvalidParameterError if they are few."""
    free = shutil.disk_usage(folder).free
    if needed > _FILLED * free:
        raise InvalidParameterError(
            f"sorting by time needs about {in_words(needed)} of disk in {folder}, which has "
            f"{in_words(free)} free: set TMPDIR to a folder with more, or sort the file by time"
        )
    return free


def in_words(count: int) -> str:
    """Return a number of bytes for people."""
    if count >= 10**9:
        return f"{count / 10**9:.1f} GB"
    return f"{max(1, round(count / 10**6)):,} MB"


class SortedRuns:
    """Runs of a table in a folder, sorted by time.

    folder : an existing folder, which the caller removes
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._paths: list[Path] = []
        self._samples: list[Ints] = []

    def add(self, frame: pl.DataFrame) -> None:
        """Write the next rows of the table as one run; `KEY` and `ROW` are among the columns."""
        frame = frame.sort(KEY, maintain_order=True)
        path = self._folder / f"run-{len(self._paths)}.arrow"
        try:
            frame.write_ipc(path, compression="lz4", record_batch_size=_BATCH)
        except (pl.exceptions.PolarsError, OSError) as error:
            # Others write to the same disk, so the check beforehand promises nothing.
            raise InvalidParameterError(
                f"the file cannot be sorted by time in {self._folder.parent}: {error} (set TMPDIR "
                "to a folder with more room, or sort the file by time)"
            ) from None
        self._paths.append(path)
        self._samples.append(frame[KEY].gather_every(_SAMPLED).to_numpy().copy())

    def blocks(self, rows: int) -> Iterator[pl.DataFrame]:
        """Yield the rows in order of time, about `rows` at once; no time is in two blocks."""
        bounds = self._bounds(rows)
        edges = [self._edges(path, bounds) for path in self._paths]
        for block in range(len(bounds) + 1):
            parts = [
                pl.scan_ipc(path).slice(int(edge[block]), int(edge[block + 1] - edge[block]))
                for path, edge in zip(self._paths, edges, strict=True)
                if edge[block] < edge[block + 1]
            ]
            if parts:
                # Runs are in the order of the file, so a stable sort keeps that order.
                yield pl.concat([part.collect() for part in parts]).sort(KEY, maintain_order=True)

    def _bounds(self, rows: int) -> Ints:
        """Return the times at which blocks begin, but the first."""
        samples = np.sort(np.concatenate(self._samples))
        return np.unique(samples[max(1, rows // _SAMPLED) :: max(1, rows // _SAMPLED)])

    @staticmethod
    def _edges(path: Path, bounds: Ints) -> Ints:
        """Return the first row of a run in every block, and the number of its rows."""
        keys = pl.scan_ipc(path).select(KEY).collect()[KEY].to_numpy()
        inner = np.searchsorted(keys, bounds, side="left")
        return np.concatenate([[0], inner, [len(keys)]]).astype(np.int64)


def sort_on_disk(
    slices: Iterator[pl.DataFrame], folder: Path, progress: Callable[[int], None] | None = None
) -> SortedRuns:
    """Return the runs of consecutive parts of a table.

    progress : called with the number of rows written
    """
    runs, done = SortedRuns(folder), 0
    for frame in slices:
        runs.add(frame)
        done += len(frame)
        if progress is not None:
            progress(done)
    return runs
