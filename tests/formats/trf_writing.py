"""A tiny writer of TRF16 for tests: columns are counted here, independently of the reader."""

from __future__ import annotations

from collections.abc import Sequence


def player_line(
    number: int,
    rounds: Sequence[str] = (),
    *,
    name: str = "",
    rating: str = "",
    fide: str = "",
    points: str = "",
    in_bytes: bool = False,
) -> str:
    """Return the line of a player; every round is eight columns, as "  12 w 1"."""
    name = name or f"Player {number}"
    width = 33 - (len(name.encode()) - len(name) if in_bytes else 0)
    line = (
        f"001 {number:>4} m    {name:<{width}} {rating:>4} NED {fide:>11} 1990/00/00 "
        f"{points:>4} {number:>4}"
    )
    shorter = 33 - width
    assert len(line) == 89 - shorter
    assert all(len(one) == 8 for one in rounds)
    return line + "".join(f"  {one}" for one in rounds)


def report(*lines: str, end: str = "\n") -> str:
    """Return a report of lines below the name of a tournament, which is line 1."""
    return "".join(line + end for line in ("012 Test", *lines))
