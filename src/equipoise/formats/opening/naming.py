"""Names of several files: their order, and how messages list them."""

from __future__ import annotations

import re
from collections.abc import Sequence

#: Files that a message lists by name.
_LISTED = 5


def natural(name: str) -> tuple[object, ...]:
    """Return the key by which files are ordered: round-9 comes before round-10."""
    parts = re.split(r"([0-9]+)", name)
    return tuple((0, int(one), "") if one.isdecimal() else (1, 0, one) for one in parts)


def listed(names: Sequence[str]) -> str:
    """Return a few names, and how many more there are."""
    more = len(names) - _LISTED
    return ", ".join(names[:_LISTED]) + (f" and {more:,} more" if more > 0 else "")


def listed_files(names: Sequence[str]) -> str:
    """Return the name of several files together, for problems of all of them."""
    if len(names) == 1:
        return names[0]
    return f"{names[0]} and {len(names) - 1:,} more" if len(names) > 2 else " and ".join(names)
