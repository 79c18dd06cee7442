"""Unknown numbers: NaN in arrays, None in messages and in rows of the store."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from equipoise.arrays import Floats


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
