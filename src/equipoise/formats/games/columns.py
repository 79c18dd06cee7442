"""The games that every reader of a source returns, as columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import polars as pl

from equipoise.arrays import Floats, Ids, Ints
from equipoise.data.games import Rounds
from equipoise.errors import Problem
from equipoise.formats.sources import Content


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class GameColumns:
    """G results as a source has them, one row each.

    players : ids of players, int64 or object of str; rows name each of them once
    white, black : shape (G,), rows of `players`; white has the white pieces if `coloured`
    points : shape (G,), of white, from 0 to weight; rows that break this have a problem instead
    weight : shape (G,), number of games of each result; None means 1 each
    white_rating, black_rating : shape (G,), NaN if unrated; None: the source has none
    draws : shape (G,), number of drawn games; None if unknown
    coloured : whether white had the white pieces
    round : shape (G,), object; None: the source has none
    others : rows of `players` who are named but may have no game; None if nobody is
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

    players: Ids
    white: Ints
    black: Ints
    points: Floats
    weight: Floats | None = None
    white_rating: Floats | None = None
    black_rating: Floats | None = None
    draws: Floats | None = None
    coloured: bool = False
    round: Ids | None = None
    others: Ints | None = None
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

    def of_files(self, contents: Sequence[Content]) -> GameColumns:
        """Return the same games with the notes on their files before their own."""
        notes = tuple(note for content in contents for note in content.notes)
        return replace(self, notes=(*notes, *self.notes)) if notes else self

    def keep(self, rows: Ints) -> GameColumns:
        """Return some of the results; the rounds of players are not known any more."""
        locate = self.locate
        of_rows = ("white", "black", "points", "weight", "white_rating", "black_rating", "draws")
        kept = {
            name: column[rows]
            for name in (*of_rows, "round", "numbers", "events")
            if (column := getattr(self, name)) is not None
        }
        return replace(
            self,
            rounds=None,
            locate=None if locate is None else lambda row: locate(int(rows[row])),
            times=None if self.times is None else self.times.gather(rows),
            tags={tag: values[rows] for tag, values in self.tags.items()},
            **kept,
        )
