"""Memory of test processes: what they no longer use goes back to the system."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from pathlib import Path

#: Below so many MB a process is left alone.
_MUCH = 400.0

IS_LINUX = sys.platform == "linux"


def settle() -> None:
    """Collect garbage once, and never look at what is left again: imports and collected tests."""
    gc.collect()
    gc.freeze()
    _trim()


def give_back() -> None:
    """Collect garbage, and let the C library return free memory to the system, where it can."""
    if IS_LINUX and _resident() >= _MUCH:
        gc.collect()
        _trim()


def _trim() -> None:
    """Return free memory to the system."""
    if not IS_LINUX:
        return
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc has it, musl does not
    if trim is not None:
        trim(0)


def _resident() -> float:
    """Return the resident memory of this process in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
