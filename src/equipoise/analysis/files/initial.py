"""Known ratings with which players begin, from a table or a saved state, on the right scale."""

from __future__ import annotations

from equipoise.data.ratings import InitialRatings, Ratings
from equipoise.data.scales import FORM, ScaleMapping
from equipoise.errors import InvalidParameterError
from equipoise.formats.initial_ratings import read_initial_ratings
from equipoise.rating.pool_state import PoolState
from equipoise.rating.replay import ratings_of
from equipoise.rating.scales import scale_difference
from equipoise.rating.system import RatingSystem


def initial_ratings(
    path: str | None, mapping: str | None, system: RatingSystem
) -> InitialRatings | Ratings | None:
    """Return the ratings of a file on the scale of a system; None without a file.

    path : a table, or a state that `--save` wrote, which knows its system
    mapping : as `ScaleMapping.read` takes it; None keeps the ratings as they are
    Raises : InvalidDataError, NotFoundError; InvalidParameterError, also for a saved state of
        another scale without a mapping
    """
    line = None if mapping is None else ScaleMapping.read(mapping, "--initial-mapping")
    if path is None:
        if line is not None:
            raise InvalidParameterError("--initial-mapping needs --initial")
        return None
    found: InitialRatings | Ratings
    if path.endswith(".npz"):
        state = PoolState.load(path)
        differs = scale_difference(state.system, system)
        if line is None and differs is not None:
            raise InvalidParameterError(
                f"{path} has {differs}: say how they correspond, with --initial-mapping {FORM}"
            )
        found = ratings_of(state)
    else:
        found = read_initial_ratings(path)
    return found if line is None else line.map(found)
