"""Reads the ratings that PGN or a FIDE report gives its players in their first games."""

from __future__ import annotations

import os

import numpy as np

from equipoise.data.ratings import InitialRatings
from equipoise.errors import InvalidDataError
from equipoise.formats.games.sources import content_of
from equipoise.formats.histories import scan_history, summarise
from equipoise.formats.table import refuse

RATINGS = "must have ratings of players, such as the tags WhiteElo and BlackElo"


def read_first_ratings(source: object, format: str | None) -> InitialRatings | None:
    """Return the ratings of players in their first games, None if it is not PGN or a report.

    Players whose first game has no rating are left out, because a later rating depends on games
    that are yet to be rated. Games that break a rule are skipped.
    Raises : InvalidDataError   the source cannot be read, or has no ratings
    """
    is_path = isinstance(source, str | os.PathLike) and str(source) != "-"
    content = format
    if isinstance(source, str | os.PathLike) and is_path and format is None:
        content = content_of(source)
    if content not in ("pgn", "trf"):
        return None
    name = str(source) if is_path else ""
    reading = scan_history(source, format=content, skip_bad="matches")
    history = reading.history
    if history is None:
        raise InvalidDataError(reading.problems, summarise(reading.problems, source))
    rating = history.attributes.get("rating")
    if rating is None:
        refuse(name, RATINGS, "none")
    players, first = np.unique(history.player, return_index=True)
    known = ~np.isnan(rating[first])
    return InitialRatings(
        player_ids=history.player_ids[players[known]],
        rating=rating[first[known]],
        deviation=np.full(int(known.sum()), np.nan),
    )
