"""Sentences for users on games that are read as the matches of a history."""

from __future__ import annotations

from collections.abc import Mapping

from equipoise.wording import counted


def describe_matches(games: int, what: str, sides: tuple[str, str] | None) -> str:
    """Return the sentence on what was understood.

    sides : what the column `side` says of both, None if neither has an advantage
    """
    said = ""
    if sides is not None:
        said = "; side says who " + ("is at home" if sides[0] == "home" else "has white")
    return (
        f"read {counted(games, 'game')} of {what} as {'a match' if games == 1 else 'matches'}{said}"
    )


def describe_left_out(left_out: Mapping[str, int]) -> str:
    """Return the counts of results that are not games, as text; "" if there are none."""
    return ", ".join(f"{count:,} {reason}" for reason, count in sorted(left_out.items()) if count)
