"""Type aliases for arrays, and arrays of numbers that may be unknown.

All are C-contiguous. M stands for matches, N for participations, P for players. An unknown number
is NaN in arrays, and None in messages and in rows of the store.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

#: float64: ratings, deviations, weights, days.
Floats: TypeAlias = NDArray[np.float64]
#: int64: row numbers, ranks, offsets, microseconds.
Ints: TypeAlias = NDArray[np.int64]
#: bool: masks.
Flags: TypeAlias = NDArray[np.bool_]
#: int64 or object (str): ids as in the input; attributes of any kind.
Ids: TypeAlias = NDArray[Any]


def or_nan(values: Iterable[float | None]) -> Floats:
    """Return numbers as an array, NaN for None."""
    return np.array([math.nan if value is None else value for value in values], np.float64)


def nullable(values: Floats) -> list[float | None]:
    """Return numbers as a list, None for NaN."""
    missing = np.isnan(values)
    if not missing.any():
        return list(values.tolist())
    if missing.all():
        return [None] * len(values)
    return [None if math.isnan(value) else value for value in values.tolist()]
