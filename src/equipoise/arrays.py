"""Type aliases for arrays.

All are C-contiguous. M stands for matches, N for participations, P for players. An unknown number
is NaN in arrays, and None in messages and in rows of the store; NumPy reads None as NaN.
"""

from __future__ import annotations

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
