"""Options of a performance table as text: on the command line, and in queries of the service."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, cast

from equipoise.errors import InvalidParameterError, require
from equipoise.performance.tournament import EXTRA, Extra


def anchors_of(given: Sequence[str], option: str) -> tuple[float | None, dict[str, float]]:
    """Return the average and who is held at what, of texts R and PLAYER=R.

    option : what the user calls it
    Raises : InvalidParameterError
    """
    average: float | None = None
    held: dict[str, float] = {}
    for text in given:
        name, _, value = text.rpartition("=")
        try:
            rating = float(value)
        except ValueError:
            raise InvalidParameterError(
                f"{option} takes a rating, or PLAYER=RATING; got {text!r}"
            ) from None
        if name and name not in held:
            held[name] = rating
        elif name or average is not None:
            who = f"player {name}" if name else "the average"
            raise InvalidParameterError(f"{option} must give one rating for {who}; got {text!r}")
        else:
            average = rating
    return average, held


def extra_columns(given: Sequence[str], option: str) -> tuple[Extra, ...]:
    """Return further columns by their names. Raises : InvalidParameterError."""
    for name in given:
        require(name in EXTRA, option, f"one of {', '.join(EXTRA)}", name)
    return tuple(cast("Extra", name) for name in given)


def advantage_of(text: str | None, option: str) -> float | Literal["estimate"]:
    """Return rating points, or the word that asks for them. Raises : InvalidParameterError."""
    if text is None:
        return 0.0
    if text == "estimate":
        return "estimate"
    try:
        return float(text)
    except ValueError:
        raise InvalidParameterError(
            f"{option} takes rating points or the word estimate; got {text!r}"
        ) from None
