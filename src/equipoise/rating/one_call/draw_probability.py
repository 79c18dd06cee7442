"""The draw probability of one match: a number, or a function of its two teams.

It takes the place of `draw_probability` and of the draw rule of a system for one call. A function
cannot be saved, so no pool takes it: a replay of the pool would not know it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from equipoise.errors import InvalidParameterError, require

if TYPE_CHECKING:
    from equipoise.rating.base_system import System
    from equipoise.rating.one_call.rating import Rating

#: A number, or a function of the ratings of two teams that returns one.
DrawProbability: TypeAlias = float | Callable[[tuple["Rating", ...], tuple["Rating", ...]], float]

#: Least draw probability above 0, as of the parameter. A function that returns less means this.
LEAST = 1e-9


def with_draw_probability(
    system: System, given: Any, players: Sequence[Rating], sizes: Sequence[int]
) -> Any:
    """Return the system with the draw probability of a match in place of its own.

    given : a number, or a function of two teams
    Raises : InvalidParameterError
    """
    if not hasattr(system, "draw_probability"):
        more = ": its eps says how often teams draw" if hasattr(system, "eps") else ""
        raise InvalidParameterError(
            f"draw_probability must be left out, because {system.name} does not use it{more}; got "
            f"{given!r}"
        )
    chance = given
    if callable(given):
        if len(sizes) != 2:
            raise InvalidParameterError(
                "draw_probability is a function of two teams, and the match has "
                f"{len(sizes)}: give a number, or use a named rule of the system, such as "
                "draw_rule='rating'"
            )
        chance = given(tuple(players[: sizes[0]]), tuple(players[sizes[0] :]))
    plain = isinstance(chance, int | float | np.integer | np.floating)
    plain = plain and not isinstance(chance, bool)
    if callable(given):
        fits = plain and 0 <= chance < 1
        require(fits, "the result of draw_probability", "a number from 0 to below 1", chance)
        # A function of far teams may go below what a parameter can be.
        chance = max(chance, LEAST) if chance > 0 else 0.0
    fits = plain and (chance == 0 or LEAST <= chance < 1)
    require(fits, "draw_probability", f"0, or from {LEAST:g} to below 1", chance)
    found: Any = system
    return replace(found, draw_probability=float(chance), draw_rule="constant")


def refuse_in_pool(given: object) -> None:
    """Refuse a draw probability of one match of a pool. Raises : InvalidParameterError."""
    if given is None:
        return
    what = "a function of the teams cannot be saved" if callable(given) else f"got {given!r}"
    raise InvalidParameterError(
        "draw_probability must be left out in a pool, because a replay of its matches would not "
        f"know it ({what}): give the system a named rule, such as draw_rule='rating', or rate the "
        "match without a pool, system.rate(teams, draw_probability=...)"
    )
