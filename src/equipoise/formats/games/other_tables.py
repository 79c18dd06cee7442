"""Recognises tables of players that hold neither matches nor games, to say what they are for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from equipoise.formats.tables.recognised import spelling

RATINGS = (
    "must have matches or games, and has ratings of players: equipoise rate HISTORY --initial FILE "
    "begins with them, and equipoise balance FILE makes teams"
)
TOTALS = (
    "must have matches or games, and has totals of players, which do not say who met whom: give "
    "the games (white, black, result), or a cross table"
)

_PLAYERS = {"player", "name", "username", "team"}
_RATINGS = {"rating", "elo"}
_TOTALS = {"points", "pts", "total", "wins"}
_MATCHES = {"match", "opponent", "white", "black", "home", "away", "rank", "winner", "score"}


def rule_for_players(names: Sequence[str], renamed: Mapping[str, str]) -> str | None:
    """Return the rule that a table of players breaks, None if it is not one.

    names : of the columns; renamed : new name -> name in the source
    """
    there = {spelling(name) for name in (*names, *renamed)}
    if not there & _PLAYERS or there & _MATCHES:
        return None
    if there & _TOTALS:
        return TOTALS
    return RATINGS if there & _RATINGS else None
