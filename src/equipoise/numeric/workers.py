"""Threads for kernels: chunks of fixed size, results in the order of the chunks.

Kernels release the GIL, so plain threads suffice. The chunks of a match depend on its size only, so
the number of threads never changes a result.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Self

from equipoise.errors import require


def available_cores() -> int:
    """Return how many processor cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Workers:
    """A pool of threads, to be used in a `with` block; with one thread there is no pool.

    Examples
    --------
    >>> with eq.Workers(2) as workers:
    ...     workers.threads
    2
    """

    def __init__(self, threads: int = 1) -> None:
        require(threads >= 1, "threads", "at least 1", threads)
        self.threads = threads
        self._pool = ThreadPoolExecutor(threads - 1) if threads > 1 else None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown()

    def each_chunk(self, total: int, chunk: int, work: Callable[[int, int, int], None]) -> None:
        """Call work(number, start, stop) for every chunk of range(total), on all threads."""
        starts = range(0, total, chunk)
        if self._pool is None or len(starts) < 2:
            for number, start in enumerate(starts):
                work(number, start, min(start + chunk, total))
            return
        # A free thread takes the next chunk; the GIL makes sure that no chunk is taken twice.
        numbers = iter(range(len(starts)))

        def take() -> None:
            for number in numbers:
                work(number, starts[number], min(starts[number] + chunk, total))

        others = [self._pool.submit(take) for _ in range(self.threads - 1)]
        take()
        for other in others:
            other.result()


#: The calling thread alone, for work that is not shared.
ONE_THREAD = Workers()
