"""How many examples a property draws: all each night, a quarter in CI, fewer of slow kernels."""

from __future__ import annotations

import os

from hypothesis import settings

#: Kernels run as plain Python, up to a thousand times slower.
WITHOUT_JIT = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")

#: Kernels check every index.
WITH_CHECKS = os.environ.get("NUMBA_BOUNDSCHECK", "0") not in ("", "0")

#: What a property without a number of its own draws; the Makefile chooses a quarter of it or all.
_ALL = 100


def examples(count: int, part: int = 3) -> settings:
    """Return settings for so many examples; one in `part` without JIT or with index checks."""
    wanted = count * settings().max_examples
    slower = part if WITHOUT_JIT or WITH_CHECKS else 1
    return settings(max_examples=-(-wanted // (_ALL * slower)), deadline=None)
