"""Which players are connected by games, directly or through others."""

from __future__ import annotations

import numpy as np

from equipoise.arrays import Ints
from equipoise.errors import ConvergenceError


def connected(first: Ints, second: Ints, players: int) -> Ints:
    """Return the component of every player, numbered from 0 in the order of their first players.

    first, second : shape (K,), rows of those who met; components without games count too
    Every player points at one of his component with a lower row; roots that met join the lower.
    """
    root = np.arange(players)
    for _ in range(players + 1):
        left, right = root[first], root[second]
        lower = np.minimum(left, right)
        if np.array_equal(left, right):
            return np.asarray(np.unique(root, return_inverse=True)[1], dtype=np.int64)
        np.minimum.at(root, left, lower)
        np.minimum.at(root, right, lower)
        root = _followed(root)
    raise ConvergenceError("components", players + 1, float(np.count_nonzero(left != right)))


def _followed(root: Ints) -> Ints:
    """Return where pointers end, halving the way each time."""
    while True:
        further = root[root]
        if np.array_equal(further, root):
            return root
        root = further
