"""Whether ratings of two systems are on one scale, as far as their parameters show."""

from __future__ import annotations

from equipoise.rating.registry import parameters_of
from equipoise.rating.system import RatingSystem

#: Parameters that say where the ratings of a system are, and what a difference of them means.
_OF_SCALE = ("initial_rating", "initial_deviation", "beta", "scale")


def scale_difference(there: RatingSystem, here: RatingSystem) -> str | None:
    """Return how the scales of two systems differ, as a part of a sentence; None if they agree.

    there : whose ratings are to be used; here : the system that uses them
    """
    if there.name != here.name:
        return f"ratings of {there.name}, not of {here.name}"
    one, other = parameters_of(there), parameters_of(here)
    differing = [
        f"{name} {one[name]}, not {other[name]}"
        for name in _OF_SCALE
        if name in one and one[name] != other[name]
    ]
    if not differing:
        return None
    return f"ratings of {there.name} with {' and '.join(differing)}"
