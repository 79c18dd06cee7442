"""What every reader of games hands over: results between names, before names become players."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from equipoise.arrays import Floats, Ids
from equipoise.errors import Problem


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class GameColumns:
    """G results, a row each, as a source tells them; who is who is decided later, once for all.

    white, black : shape (G,), ids (int64 or object of str), of the player with white first where
        `coloured`; rows of `players` (int64) where that is given
    points : shape (G,), of white, from 0 to weight; rows that break this have a problem instead
    weight : shape (G,), number of games of each result; None: 1 each
    white_rating, black_rating : shape (G,), NaN where unrated; None: the source has none
    draws : shape (G,), how many of the games were drawn; None: not known
    coloured : whether white had the white pieces
    round : shape (G,), object; None: the source has none
    players : ids of players, int64 or object of str, none twice; None: white and black are ids.
        For sources of many games, which are not turned into objects row by row
    others : ids of players who are named but may have no game here
    other_rating : rating of each of `others`, NaN where unrated; None: the source has none
    left_out : reason -> number of results that are not games
    problems : broken rules, with lines
    notes : sentences
    locate : row -> file and line, for problems found later
    skipped : number of results that break a rule and so are not among the rows
    refused : whether a problem concerns more than single results: then nothing can be skipped
    """

    white: Ids
    black: Ids
    points: Floats
    weight: Floats | None = None
    white_rating: Floats | None = None
    black_rating: Floats | None = None
    draws: Floats | None = None
    coloured: bool = False
    round: Ids | None = None
    players: Ids | None = None
    others: Ids | None = None
    other_rating: Floats | None = None
    left_out: Counter[str] = field(default_factory=Counter)
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    locate: Callable[[int], tuple[str, int | None]] | None = None
    skipped: int = 0
    refused: bool = False
