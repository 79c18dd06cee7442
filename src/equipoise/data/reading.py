"""Results of readers: a history or games, the problems found, and what was left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from equipoise.data.games import Games
from equipoise.data.history import History
from equipoise.errors import Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryReading:
    """A history and what was left out to get it.

    history : the history; None if problems prevent it
    problems : every problem found, including those skipped on request
    dropped_matches : ids of complete matches dropped because of a problem
    dropped_rows : number of rows dropped because of a problem in matches that were kept
    unrated : number of matches dropped because their `rated` is false
    filtered : number of matches dropped by time or by `where`
    notes : further information for users, as sentences
    """

    history: History | None
    problems: tuple[Problem, ...] = ()
    dropped_matches: tuple[str, ...] = ()
    dropped_rows: int = 0
    unrated: int = 0
    filtered: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GamesReading:
    """Games and what was left out to get them.

    games : the games; None if problems prevent it
    problems : every problem found, including those skipped on request
    skipped : number of results (games, rows of a table, cells of a cross table) that were skipped
        on request because of a problem
    left_out : reason -> how many results are not games and so do not count: "unfinished",
        "without moves", "forfeit", "abandoned", "bye", "adjudged", "lost by both", "unrated",
        "filtered"
    notes : further information for users, as sentences: likely doubles of names, ratings that
        differ between games of one player, pairings that occur again
    """

    games: Games | None
    problems: tuple[Problem, ...] = ()
    skipped: int = 0
    left_out: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
