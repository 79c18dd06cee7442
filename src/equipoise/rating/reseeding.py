"""Players who begin with a rating that they have from elsewhere: the start of a season."""

from __future__ import annotations

import numpy as np

from equipoise.arrays import Floats
from equipoise.errors import InvalidParameterError
from equipoise.rating.state import State
from equipoise.rating.system import RatingSystem


def seeded_state(system: RatingSystem, rating: Floats, deviation: Floats) -> State:
    """Return players with these ratings who are newcomers in all else: nothing is remembered.

    deviation : positive; not read by systems that keep none a player
    Raises : InvalidParameterError
    """
    if not np.isfinite(rating).all():
        raise InvalidParameterError("every rating must be a finite number")
    state = system.initial(len(rating))
    state.column("rating")[:] = rating
    if "deviation" in state.initial:
        if not (np.isfinite(deviation) & (deviation > 0)).all():
            raise InvalidParameterError("every deviation must be a positive number")
        state.column("deviation")[:] = deviation
    if "gaussian_weight" in state.initial:
        _believe(state, rating, deviation)
    return state


def soft_reset(
    rating: Floats, deviation: Floats, *, centre: float, keep: float, widen: float, most: float
) -> tuple[Floats, Floats]:
    """Return ratings moved towards a centre, and deviations that have grown.

    keep : share of the distance to the centre that stays
    widen : what is added to a deviation, as one adds independent errors
    most : no deviation becomes larger; also that of players without one
    """
    moved = centre + keep * (rating - centre)
    grown = np.minimum(most, np.hypot(deviation, widen))
    return moved, np.where(np.isnan(grown), most, grown)


def _believe(state: State, rating: Floats, deviation: Floats) -> None:
    """Make a player's belief in Elo-MMR the one Gaussian that it is before the first match."""
    weight = 1.0 / (deviation * deviation)
    state.column("gaussian_mean")[:] = rating
    state.column("gaussian_weight")[:] = weight
    state.column("curvature")[:] = weight
