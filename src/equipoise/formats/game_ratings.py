"""Ratings that games give their players -> one initial rating a player."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equipoise.arrays import Floats, Ids, Ints
from equipoise.formats.game_columns import GameColumns

#: Players and ratings that a note shows before the rest is counted.
_SHOWN = 4


class GameRatings(NamedTuple):
    """Ratings of players and of games; None where nobody has one, or games add nothing.

    initial : the first rating given to each player, NaN where there is none
    white, black : the ratings of each game; the initial one where a game gives none
    """

    initial: Floats | None
    white: Floats | None
    black: Floats | None


def gather_ratings(
    columns: GameColumns, ids: Ids, white: Ints, black: Ints, others: Ints
) -> tuple[GameRatings, tuple[str, ...]]:
    """Return the ratings of players and games, and a note on players with several.

    ids : of the players; white, black, others : rows of the players in the source's columns
    """
    sides = (_given(columns.white_rating, white), _given(columns.black_rating, black))
    told = np.stack(sides, axis=1).ravel()
    who = np.concatenate([np.stack([white, black], axis=1).ravel(), others])
    rating = np.concatenate([told, _given(columns.other_rating, others)])
    known = np.flatnonzero(~np.isnan(rating))
    if not len(known):
        return GameRatings(None, None, None), ()
    initial = np.full(len(ids), np.nan)
    # Assigned from the last to the first, so that the first one stays.
    initial[who[known[::-1]]] = rating[known[::-1]]
    again = known[rating[known] != initial[who[known]]]
    note = _describe(ids, initial, who[again], rating[again])
    if not len(again):
        return GameRatings(initial, None, None), ()
    filled = [
        np.where(np.isnan(given), initial[rows], given)
        for given, rows in zip(sides, (white, black), strict=True)
    ]
    return GameRatings(initial, *filled), note


def _given(rating: Floats | None, rows: Ints) -> Floats:
    return np.full(len(rows), np.nan) if rating is None else rating


def _describe(ids: Ids, initial: Floats, who: Ints, rating: Floats) -> tuple[str, ...]:
    """Return a note on players whose ratings differ, with the first few of them."""
    players = np.unique(who).tolist()
    if not players:
        return ()
    listed = []
    for player in players[:_SHOWN]:
        others = np.unique(rating[who == player])
        shown = [f"{one:g}" for one in (initial[player], *others[:_SHOWN])]
        more = [] if len(others) <= _SHOWN else ["..."]
        listed.append(f"{ids[player]} ({', '.join([*shown, *more])})")
    rest = len(players) - _SHOWN
    which = ", ".join(listed) + (f" and {rest:,} more" if rest > 0 else "")
    return (f"ratings differ between games, and the first counts as the initial one: {which}",)
