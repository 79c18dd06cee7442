"""FIDE's tables of expected scores and of differences, for kernels.

Source: FIDE Handbook B.02, Rating Regulations [FIDE]_, 8.1.2 (a difference of ratings, and the
score expected of the higher rated player) and 8.1.1 (a share of points, and the difference that it
shows). They are the normal curve of standard deviation 2000/7, rounded, but for a few entries.
`tournament.fide_expected` has the first for whole tournaments.
"""

from __future__ import annotations

import math

import numpy as np

from equipoise._jit import inner_kernel

#: Smallest difference of ratings at which 51, 52, ... 100 per cent are expected.
STEPS = np.array(
    [
        *(4, 11, 18, 26, 33, 40, 47, 54, 62, 69, 77, 84, 92, 99, 107, 114, 122, 130, 138, 146),
        *(154, 163, 171, 180, 189, 198, 207, 216, 226, 236, 246, 257, 268, 279, 291, 303, 316),
        *(329, 345, 358, 375, 392, 412, 433, 457, 485, 518, 560, 620, 736),
    ],
    dtype=np.float64,
)

#: Difference of ratings that 50, 51, ... 100 per cent of the points show.
DIFFERENCES = np.array(
    [
        *(0, 7, 14, 21, 29, 36, 43, 50, 57, 65, 72, 80, 87, 95, 102, 110, 117, 125, 133, 141, 149),
        *(158, 166, 175, 184, 193, 202, 211, 220, 230, 240, 251, 262, 273, 284, 296, 309, 322, 336),
        *(351, 366, 383, 401, 422, 444, 470, 501, 538, 589, 677, 800),
    ],
    dtype=np.float64,
)


@inner_kernel
def expected_score(difference: float) -> float:
    """Return the expected score of a player rated this much higher, table 8.1.2."""
    size = abs(difference)
    low, high = 0, len(STEPS)
    while low < high:
        middle = (low + high) // 2
        if STEPS[middle] <= size:
            low = middle + 1
        else:
            high = middle
    percent = 50.0 + low if difference >= 0.0 else 50.0 - low
    return percent / 100.0


@inner_kernel
def difference_shown(share: float) -> float:
    """Return the difference of ratings that a share of points shows, table 8.1.1.

    share : from 0 to 1; rounded to hundredths, a half upwards
    """
    percent = math.floor(100.0 * share + 0.5)
    place = min(abs(percent - 50), 50)
    shown = float(DIFFERENCES[place])
    return shown if percent >= 50 else -shown
