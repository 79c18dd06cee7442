"""The seconds that work takes, without the compilation of kernels."""

from __future__ import annotations

import atexit
import time
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from equipoise._jit import Compilation


def working_time() -> float:
    """Return the seconds of a clock that stops while kernels are compiled or loaded.

    Kernels are compiled once on a machine and loaded once in a process, so their time says nothing
    about the speed of rating. Only the difference of two values is meaningful.
    """
    _, compilation = _watch()
    return time.perf_counter() - compilation.seconds - compilation.loading


@lru_cache(maxsize=1)
def _watch() -> tuple[AbstractContextManager[Compilation], Compilation]:
    """Return a watch of all compilation from now on; the cache keeps it alive."""
    from equipoise._jit import watch_compilation

    watch = watch_compilation()
    compilation = watch.__enter__()
    # Closed before the interpreter unloads Numba, which would print an error.
    atexit.register(watch.__exit__, None, None, None)
    return watch, compilation
