"""Results of readers: a history or games, the problems found, and what was left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from equipoise.data.games import Games
from equipoise.data.history import History
from equipoise.display import Displayed
from equipoise.errors import Problem
from equipoise.wording import addressed, counted


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class _Reading(Displayed):
    """What readers of histories and of games both say of a source."""

    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    format: str = ""
    kind: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "notes", tuple(map(addressed, self.notes)))

    def _told(self, read: str) -> str:
        return f"{read}; {counted(len(self.problems), 'problem')}"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class HistoryReading(_Reading):
    """A history and what was left out to get it.

    history : the history; None if problems prevent it
    problems : every problem found, including those skipped on request
    dropped_matches : ids of complete matches dropped because of a problem
    dropped_rows : number of rows dropped because of a problem in matches that were kept
    unrated : number of matches dropped because their `rated` is false
    filtered : number of matches dropped by time or by `where`
    notes : further information for users, as sentences
    format : how the source is stored, such as "csv" or "codeforces"; "memory" for data in Python,
        "" if the source could not be opened
    kind : what the source holds: "history" (a row for each player in a match), "games" (a row for
        each game); "" if no kind fits
    columns : column with a meaning, such as "rank" or "white" -> its name in the source, also if
        it is the same

    Examples
    --------
    >>> reading = eq.scan_history("examples/contests.csv")
    >>> reading.history
    <History: 40 matches of 120 players, 2020-01-01 to 2020-09-30>
    >>> reading.problems
    ()
    >>> reading.format, reading.kind, sorted(reading.columns)
    ('csv', 'history', ['match', 'player', 'rank', 'time'])
    """

    history: History | None
    dropped_matches: tuple[str, ...] = ()
    dropped_rows: int = 0
    unrated: int = 0
    filtered: int = 0

    def _in_words(self) -> str:
        return self._told("no history" if self.history is None else self.history._in_words())


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class GamesReading(_Reading):
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
    format : how the source is stored, such as "csv" or "pgn"; "memory" for data in Python, "" if
        the source could not be opened
    kind : what the source holds: "games", "pairs", "crosstable" or "history"; "" if no kind fits
    columns : column with a meaning, such as "white" -> its name in the source, also if it is the
        same; empty if the source has no columns

    Examples
    --------
    >>> reading = eq.scan_games("examples/league.csv")
    >>> reading.games
    <Games: 1,080 results between 6 players>
    >>> reading.problems
    ()
    """

    games: Games | None
    skipped: int = 0
    left_out: Mapping[str, int] = field(default_factory=dict)

    def _in_words(self) -> str:
        return self._told("no games" if self.games is None else self.games._in_words())
