"""What a rating in blocks keeps on disk: rows divided by time, and the ids of matches.

A file that is not in order of time is divided into blocks: its rows are written to one folder for
each range of times. The ranges are chosen from sampled times, so that blocks are about equally
large. A block is then read and sorted in memory. Rows of the same time stay in the order of the
file.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

from equipoise.arrays import Ids, Ints
from equipoise.errors import InvalidParameterError

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
        paths = [path for one in folders for path in sorted(one.glob(f"{BLOCK}={number}/*"))]
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
