"""Who stands above whom: the partial order that sweeps put classes into.

Arcs (above, below) lead from lower to higher class numbers and are sorted by `above`.
"""

from __future__ import annotations

import numpy as np

from equipoise.arrays import Flags, Ints


def reach(above: Ints, below: Ints, classes: int) -> Flags:
    """Return whether class a is class b or stands above it, shape (classes, classes)."""
    reached = np.eye(classes, dtype=np.bool_)
    start = np.searchsorted(above, np.arange(classes + 1))
    for number in range(classes - 1, -1, -1):
        beneath = below[start[number] : start[number + 1]]
        reached[number] |= reached[beneath].any(axis=0)
    return reached


def leads_to(above: Ints, below: Ints, upper: int, lower: int) -> bool:
    """Return whether a chain of arcs leads from class `upper` to `lower`: one look at each arc."""
    between = (above >= upper) & (below <= lower)
    reached = {upper}
    # In this order all arcs to a class come before those from it.
    for a, b in zip(above[between].tolist(), below[between].tolist(), strict=True):
        if a in reached:
            reached.add(b)
    return lower in reached
