"""Finds ids of matches that occur in two blocks, with 8 bytes a match on disk and little memory.

A match is in one block if all its rows have one time. So an id in two blocks is a match with two
times, or, in a table without times, one whose rows are scattered. Ids are distributed over files by
their hash, and each file is sorted alone.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from equipoise.arrays import Ids, Ints
from equipoise.errors import InvalidParameterError

#: Matches whose ids are sorted together.
_TOGETHER = 4_000_000
#: Odd constant of Fibonacci hashing, 2^64 over the golden ratio.
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
#: Repeated ids that are reported.
_REPORTED = 20


class RepeatedIds:
    """Ids of the matches of all blocks, and which of them occur twice.

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
