"""The clock of the service, read at its border and passed on as an argument."""

from __future__ import annotations

import time


def now() -> int:
    """Return the time as the store keeps it: microseconds since 1970 UTC."""
    return time.time_ns() // 1000
