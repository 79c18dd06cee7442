"""Memory of test processes: what they no longer use goes back to the system."""

from __future__ import annotations

import ctypes
import gc
import sys


def give_back() -> None:
    """Collect garbage, and let the C library return free memory to the system, where it can."""
    gc.collect()
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc has it, musl does not
        if trim is not None:
            trim(0)
