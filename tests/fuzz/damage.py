"""Files to damaged files: bytes lost, changed, doubled, moved, and pieces that hurt put in."""

from __future__ import annotations

import random
from collections.abc import Sequence


def damaged(seeds: Sequence[bytes], pieces: Sequence[bytes], rng: random.Random) -> bytes:
    """Return one of the seeds after a few accidents.

    seeds : whole files; pieces : texts that mean something in the format
    """
    data = bytearray(rng.choice(seeds))
    for _ in range(rng.choice([1, 1, 1, 2, 3, 5, 9])):
        start = rng.randrange(len(data) + 1)
        stop = min(len(data), start + rng.choice([0, 1, 1, 2, 7, 40, 300]))
        kind = rng.randrange(8)
        if kind == 0:
            data[start:stop] = b""
        elif kind == 1:
            data[start:stop] = rng.randbytes(rng.randrange(4))
        elif kind == 2 and start < len(data):
            data[start] ^= 1 << rng.randrange(8)
        elif kind == 3:
            data[start:start] = data[start:stop] * rng.choice([1, 2, 30])
        elif kind == 4:
            del data[rng.choice([start, stop]) :]
        elif kind == 5:
            other = rng.choice(seeds)
            at = rng.randrange(len(other) + 1)
            data[start:stop] = other[at : at + rng.choice([5, 50, 500])]
        else:
            data[start:stop] = rng.choice(pieces) * rng.choice([1, 1, 1, 2, 50])
    return bytes(data)
