"""The time limit of a search."""

from __future__ import annotations

import time
from collections.abc import Callable


def until(seconds: float | None) -> Callable[[], bool]:
    """Return a function that is true for some seconds from now; None: always."""
    if seconds is None:
        return lambda: True
    deadline = time.monotonic() + seconds
    return lambda: time.monotonic() < deadline
