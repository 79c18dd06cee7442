"""Notes on known ratings with which players begin (`--initial`), where they have no effect."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from equipoise.analysis.files.reading import unused_notes
from equipoise.data.history import History
from equipoise.data.ratings import InitialRatings, Ratings
from equipoise.rating.system import RatingSystem
from equipoise.wording import counted


def initial_notes(
    initial: InitialRatings | Ratings | None,
    history: History,
    systems: Mapping[str, RatingSystem],
    *,
    strict: bool = False,
) -> list[str]:
    """Return notes on known ratings that have no effect.

    systems : label -> system; one without deviations does not use those of the table
    strict : refuse what a system does not use. Raises : InvalidParameterError
    """
    if initial is None:
        return []
    notes = []
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
