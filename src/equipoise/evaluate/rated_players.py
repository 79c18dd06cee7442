"""Ratings of players from any source: values of the library, saved states, and tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from equipoise.arrays import Floats
from equipoise.data.ratings import InitialRatings, Ratings
from equipoise.errors import InvalidDataError, Problem
from equipoise.formats.names import merge_ids
from equipoise.formats.players import read_first_ratings, read_rating_list
from equipoise.formats.sources import is_saved_state

if TYPE_CHECKING:
    from equipoise.rating.system import RatingSystem

_ONCE = "must not repeat a player, also by synonyms"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RatedPlayers:
    """The players of a source with their ratings, every player once.

    ids : text; rating, deviation : shape (P,), deviation NaN if unknown
    matches : shape (P,), numbers of rated matches; None if unknown
    name : of the source
    system : that computed the ratings, None if it is not known
    columns : columns of a table that were renamed, as they are in it
    notes : sentences on how the source was read
    """

    ids: pl.Series
    rating: Floats
    deviation: Floats
    name: str
    matches: Floats | None = None
    system: RatingSystem | None = None
    columns: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()


def rated_players(
    source: Any,
    name: str,
    *,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    synonyms: Mapping[str, str] | None = None,
    matches: bool = False,
) -> RatedPlayers:
    """Return the players of a source with their ratings.

    source : `Ratings`, `InitialRatings`, `Replay`, `PoolState`, the path of a saved state (.npz),
        or a table: a path, "-" or a stream with a format, a data frame, or a mapping
    name : of the source, if it has none
    format, columns : of a table; columns are new name -> name in the table, and names that are not
        in it are ignored
    synonyms : name -> name of the player
    matches : whether the numbers of matches are needed
    Raises : InvalidDataError, InvalidParameterError
    """
    known = synonyms or {}
    if is_saved_state(source):
        from equipoise.rating.pool_state import PoolState

        name, source = str(source), PoolState.load(source)
    if isinstance(source, InitialRatings | Ratings):
        return _of_values(source, name, known)
    if hasattr(source, "player_ids") and hasattr(source, "system"):
        # Imported here, because a table alone needs no compiled code.
        from equipoise.rating.replay import ratings_of

        return _of_values(ratings_of(source), name, known, source.system)
    if hasattr(source, "ratings") and hasattr(source, "state"):
        return _of_values(source.ratings, name, known, source.state.system)
    saved = read_first_ratings(source, format)
    if saved is not None:
        # PGN or a report of a federation: the ratings that players had in their first game.
        return _of_values(saved, str(source) if isinstance(source, str) else name, known)
    listed = read_rating_list(
        source,
        format=format,
        columns=columns or {},
        synonyms=known,
        what=name,
        matches=matches,
    )
    return RatedPlayers(
        ids=listed.ids,
        rating=listed.rating,
        deviation=listed.deviation,
        matches=listed.matches,
        name=listed.name or name,
        columns=listed.columns,
        notes=listed.notes,
    )


def _of_values(
    ratings: InitialRatings | Ratings,
    name: str,
    synonyms: Mapping[str, str],
    system: RatingSystem | None = None,
) -> RatedPlayers:
    """Return the players of a value. Raises : InvalidDataError for players who are twice there."""
    ids = pl.Series([str(player) for player in ratings.player_ids.tolist()], dtype=pl.String)
    if synonyms:
        ids = merge_ids(ids, synonyms).cast(pl.String)
        again = ids.filter(~ids.is_first_distinct()).unique(maintain_order=True).to_list()
        if again:
            raise InvalidDataError(
                [Problem(name, None, "player", _ONCE, repr(row)) for row in again]
            )
    rated = ~np.isnan(ratings.rating)
    matches = ratings.matches if isinstance(ratings, Ratings) else None
    return RatedPlayers(
        ids=ids.filter(rated),
        rating=ratings.rating[rated],
        deviation=ratings.deviation[rated],
        matches=None if matches is None else matches[rated].astype(np.float64),
        name=name,
        system=system,
    )
