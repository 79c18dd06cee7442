"""Known ratings with which players begin, on the right scale, and notes on those without effect."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from equipoise.analysis.files.reading import unused_notes
from equipoise.data.history import History
from equipoise.data.ratings import MAPPING_FORM, InitialRatings, Ratings, ScaleMapping
from equipoise.errors import InvalidParameterError
from equipoise.formats.initial_ratings import read_initial_ratings
from equipoise.rating.pool_state import PoolState, scale_difference
from equipoise.rating.replay import ratings_of
from equipoise.rating.system import RatingSystem
from equipoise.wording import counted


def initial_ratings(
    path: str | None, mapping: str | None, *systems: RatingSystem
) -> InitialRatings | Ratings | None:
    """Return the ratings of a file on the scale of these systems; None without a file.

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
        for system in systems:
            differs = scale_difference(state.system, system)
            if line is None and differs is not None:
                raise InvalidParameterError(
                    f"{path} has {differs}. Convert them with --initial-mapping {MAPPING_FORM}"
                )
        found = ratings_of(state)
    else:
        found = read_initial_ratings(path)
    return found if line is None else line.map(found)


def notes_of(initial: InitialRatings | Ratings | None) -> tuple[str, ...]:
    """Return notes on how known ratings were read."""
    return initial.notes if isinstance(initial, InitialRatings) else ()


def initial_notes(
    initial: InitialRatings | Ratings | None,
    history: History,
    systems: Mapping[str, RatingSystem],
    *,
    strict: bool = False,
) -> list[str]:
    """Return notes on how known ratings were read, and on those that have no effect.

    systems : label -> system; one without deviations does not use those of the table
    strict : refuse what a system does not use. Raises : InvalidParameterError
    """
    if initial is None:
        return []
    notes = list(notes_of(initial))
    known = {str(player) for player in initial.player_ids.tolist()}
    if known.isdisjoint(str(player) for player in history.player_ids.tolist()):
        notes.append(f"none of the {counted(len(known), 'player')} of --initial is in the history")
    if not np.isnan(initial.deviation).all():
        unused = {
            label: ["the deviations of --initial"]
            for label, system in systems.items()
            if "deviation" not in system.initial(0).initial
        }
        notes += unused_notes(unused, strict=strict)
    return notes
