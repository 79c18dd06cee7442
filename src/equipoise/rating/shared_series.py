"""Series of tail sums, filled in by many threads: chunks as on one thread, so the same bits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from equipoise.arrays import Floats
from equipoise.numeric.chebyshev import NODES, to_series
from equipoise.numeric.sigmoid_sum import CHUNK, Sigmoids, add_tail_nodes, sum_of_chunks
from equipoise.numeric.workers import Workers


def series_on_workers(
    sides: Sequence[tuple[Sigmoids, int]], width: float, workers: Workers
) -> list[Floats]:
    """Return what `tail_series` returns for each of the sides, the same bits.

    sides : (field, intervals) of each, all of one number of players
    width : of an interval
    """
    n = len(sides[0][0].centres)
    parts = [np.zeros(((n + CHUNK - 1) // CHUNK, intervals * NODES)) for _, intervals in sides]

    def add(number: int, start: int, stop: int) -> None:
        for (field, _), part in zip(sides, parts, strict=True):
            add_tail_nodes(field, start, stop, width, part[number])

    workers.each_chunk(n, CHUNK, add)
    series = [np.zeros(intervals * NODES) for _, intervals in sides]
    for sums, part in zip(series, parts, strict=True):
        sum_of_chunks(part, sums)
        to_series(sums)
    return series
