"""Labels beside the ends of lines, moved apart where they would overlap."""

from __future__ import annotations

import numpy as np

from equipoise.arrays import Floats


def spread_out(wanted: Floats, gap: float, low: float, high: float) -> Floats:
    """Return places at least `gap` apart within [low, high], the nearest to those wanted.

    wanted : shape (n,), in any order, which the places keep (the first of equals is highest)
    Nearest is by the sum of squares: subtracting the gaps makes it an isotonic regression, solved
    by pooling neighbours that are out of order. Where there is too little room the gap shrinks.
    """
    count = len(wanted)
    if count == 0:
        return np.zeros(0)
    gap = min(gap, (high - low) / max(count - 1, 1))
    order = np.lexsort((-np.arange(count), wanted))
    blocks: list[tuple[float, int]] = []
    for place in (wanted[order] - gap * np.arange(count)).tolist():
        mean, size = place, 1
        while blocks and blocks[-1][0] > mean:
            before, others = blocks.pop()
            mean = (before * others + mean * size) / (others + size)
            size += others
        blocks.append((mean, size))
    pooled = np.concatenate([np.full(size, mean) for mean, size in blocks])
    places = np.empty(count)
    places[order] = np.clip(pooled, low, high - gap * (count - 1)) + gap * np.arange(count)
    return places


def shortened(name: str, letters: int) -> str:
    """Return a name in at most so many letters."""
    return name if len(name) <= letters else f"{name[: max(letters - 1, 1)]}\N{HORIZONTAL ELLIPSIS}"
