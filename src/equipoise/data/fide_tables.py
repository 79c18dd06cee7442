"""FIDE's tables 8.1.1 and 8.1.2 (Handbook B.02 [FIDE]_): differences of ratings and scores."""

from __future__ import annotations

import numpy as np

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
