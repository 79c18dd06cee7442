"""The columns that every reader of games returns, before names become players.

The functions write notes on games: repeated pairings, synonyms that do not occur, and what was read
and left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from equipoise.arrays import Floats, Ids, Ints
from equipoise.data.tournaments.games import Games
from equipoise.data.tournaments.rounds import Rounds
from equipoise.errors import Problem
from equipoise.wording import counted


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class GameColumns:
    """G results as a source has them, one row each; names become players later.

    white, black : shape (G,), ids (int64 or object of str), or rows of `players` (int64) if these
      are given; white has the white pieces if `coloured`
    points : shape (G,), of white, from 0 to weight; rows that break this have a problem instead
    weight : shape (G,), number of games of each result; None means 1 each
    white_rating, black_rating : shape (G,), NaN if unrated; None: the source has none
    draws : shape (G,), number of drawn games; None if unknown
    coloured : whether white had the white pieces
    round : shape (G,), object; None: the source has none
    players : distinct ids of players, int64 or object of str; None if white and black are ids.
      Sources of many games use it to avoid one object for each row
    others : ids of players who are named but may have no game
    other_rating : rating of each of `others`, NaN if unrated; None: the source has none
    rounds : rounds of `others`, with byes and forfeits; None if the source does not tell them
    left_out : reason -> number of results that are not games
    problems : broken rules, with lines
    notes : sentences
    locate : row -> file and line, for problems that are found later
    skipped : number of results that break a rule, which are not among the rows
    refused : whether a problem concerns more than single results, so that skipping is impossible
    format, kind, meanings : how the source is stored, what it holds, and its columns that have a
      meaning, as in `GamesReading`
    dropped : what the skipped results are called, as many as `skipped`; readers that cannot say it
      have none
    numbers : shape (G,), number of each result in the source, from 1, also counting those that are
      not games; None if results are not counted
    times : when the games were played, as dates or as dates with a time, null if unknown; None if
      the source has none, or was not asked for them
    time_source : what `times` come from, for notes
    events : shape (G,), object, event of each game, None if unknown; None: the source has none
    tags : name -> shape (G,), object of str: tags of PGN that were asked for, "" if a game has none
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
    rounds: Rounds | None = None
    left_out: Counter[str] = field(default_factory=Counter)
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    locate: Callable[[int], tuple[str, int | None]] | None = None
    skipped: int = 0
    refused: bool = False
    format: str = ""
    kind: str = ""
    meanings: Mapping[str, str] = field(default_factory=dict)
    dropped: tuple[str, ...] = ()
    numbers: Ints | None = None
    times: pl.Series | None = None
    time_source: str = ""
    events: Ids | None = None
    tags: Mapping[str, Ids] = field(default_factory=dict)

    def place(self, row: int) -> tuple[str, int | None]:
        """Return the file and line of a result; without files, its number from 1."""
        return ("", row + 1) if self.locate is None else self.locate(row)

    def keep(self, rows: Ints) -> GameColumns:
        """Return some of the results; the rounds of players are not known any more."""
        locate = self.locate

        def of(column: Any) -> Any:
            return None if column is None else column[rows]

        return replace(
            self,
            white=self.white[rows],
            black=self.black[rows],
            points=self.points[rows],
            weight=of(self.weight),
            white_rating=of(self.white_rating),
            black_rating=of(self.black_rating),
            draws=of(self.draws),
            round=of(self.round),
            rounds=None,
            locate=None if locate is None else lambda row: locate(int(rows[row])),
            numbers=of(self.numbers),
            times=None if self.times is None else self.times.gather(rows),
            events=of(self.events),
            tags={tag: values[rows] for tag, values in self.tags.items()},
        )


def both_sides(white: Ids, black: Ids) -> Ids:
    """Return the values of white and of black for each game in turn."""
    values: Ids = np.stack([white, black], axis=1).ravel()
    return values


def both_players(white: pl.Series, black: pl.Series) -> pl.Series:
    """Return the ids of white and of black for each game in turn."""
    rows = np.arange(len(white))
    together = pl.concat([white.alias("player"), black.alias("player")])
    return together.gather(both_sides(rows, rows + len(white)))


def both_places(points: Floats) -> pl.Series:
    """Return the places of white and of black for each game in turn, by white's points."""
    return pl.Series(both_sides(np.where(points < 0.5, 2, 1), np.where(points > 0.5, 2, 1)))


def players_at(ids: Ids, rows: Ints) -> pl.Series:
    """Return ids as a column: those at some rows, none at -1."""
    kind = pl.String if ids.dtype == object else pl.Int64
    return pl.Series([*ids.tolist(), None], dtype=kind).gather(np.where(rows < 0, len(ids), rows))


def in_order(problems: Sequence[Problem]) -> tuple[Problem, ...]:
    """Return problems in the order of files, and within each in the order of lines."""
    files = {problem.file: at for at, problem in reversed(list(enumerate(problems)))}
    return tuple(sorted(problems, key=lambda one: (files[one.file], one.line or 0)))


#: Largest number of pairings or names in a note; the rest is counted.
_SHOWN = 4
#: Fewest players of a round robin; three players soon have all met.
_FEWEST = 4
#: Largest share of pairings that may break the rule of a round robin, and a number that always may.
_SHARE, _ALWAYS = 0.1, 2


def describe_repeated(games: Games) -> tuple[str, ...]:
    """Return a note on pairings that occur too often in what is otherwise a round robin.

    In a round robin all players meet equally often; one in ten pairings may differ.
    """
    low, high = np.minimum(games.white, games.black), np.maximum(games.white, games.black)
    players = int(np.count_nonzero(games.played()))
    pairings = players * (players - 1) // 2
    exceptions = max(_ALWAYS, int(_SHARE * pairings))
    if players < _FEWEST or games.rows < pairings - exceptions:
        return ()
    keys, first, counts = np.unique(
        low * games.players + high, return_index=True, return_counts=True
    )
    often = int(np.bincount(counts).argmax())
    again = np.flatnonzero(counts > often)
    regular = int(np.sum(counts == often))
    if not len(again) or pairings - regular > exceptions or len(keys) < pairings - exceptions:
        return ()
    times = {1: "once", 2: "twice"}.get(often, f"{often} times")
    listed = [
        f"{games.player_ids[games.white[row]]} - {games.player_ids[games.black[row]]}"
        for row in np.sort(first[again])[:_SHOWN].tolist()
    ]
    which = "; ".join(listed) + _more(len(again))
    return (
        f"most pairings occur {times}, as in a round robin, but these occur more often: {which}",
    )


def describe_strangers(names: Sequence[str]) -> tuple[str, ...]:
    """Return a note on names in the synonyms that occur in no game."""
    if not names:
        return ()
    which = ", ".join(repr(one) for one in names[:_SHOWN]) + _more(len(names))
    return (f"names in the synonyms that do not occur: {which}",)


def _more(count: int) -> str:
    return f" and {count - _SHOWN:,} more" if count > _SHOWN else ""


def describe_matches(games: int, what: str, sides: tuple[str, str] | None) -> str:
    """Return the sentence on what was understood.

    sides : what the column `side` says of both, None if neither has an advantage
    """
    said = ""
    if sides is not None:
        said = "; side says who " + ("is at home" if sides[0] == "home" else "has white")
    return (
        f"read {counted(games, 'game')} of {what} as {'a match' if games == 1 else 'matches'}{said}"
    )


def describe_left_out(left_out: Mapping[str, int]) -> str:
    """Return the counts of results that are not games, as text; "" if there are none."""
    return ", ".join(f"{count:,} {reason}" for reason, count in sorted(left_out.items()) if count)
