"""Reads tables of ratings: columns `player`, `rating` and perhaps `deviation`.

`read_initial_ratings` reads the ratings with which players begin, and `read_rating_list` a list to
compare with another one. A table that `equipoise rate --output` wrote has these columns; others are
ignored. PGN and FIDE reports have the ratings of their players.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from equipoise.arguments import checks_arguments
from equipoise.arrays import Floats
from equipoise.data.ratings import InitialRatings
from equipoise.display import names_in_words
from equipoise.errors import InvalidDataError
from equipoise.formats.games.sources import content_of
from equipoise.formats.histories import scan_history, summarise
from equipoise.formats.players import (
    PlayerRows,
    check_player_columns,
    rename_player_columns,
)
from equipoise.formats.sources import open_source
from equipoise.formats.synonyms import merge_ids
from equipoise.formats.table import Table, refuse
from equipoise.wording import counted

#: What the table is, where it has no name.
WHAT = "the initial ratings"

_POSITIVE = "must be positive"
_ONCE = "must not repeat a player"
_ONCE_IN_LIST = (
    "must not repeat a player; leave out one of the rows, or read a column of ids with --column "
    "player=COLUMN"
)
_FROM_ZERO = "must be at least 0"


@checks_arguments()
def read_initial_ratings(source: object, *, format: str | None = None) -> InitialRatings:
    """Return the ratings of a source; players without a deviation have that of newcomers.

    A column with another name is taken if it is the only one that can be meant, such as Elo for
    rating; `notes` of the result say so.

    source : path of a file (.csv, .tsv, .json, .jsonl, .parquet, ...), "-" or a stream (with
        `format`), a Polars, pandas or Arrow table, or a mapping of column name to array; or PGN or
        a FIDE report, which give the rating of every player in the first game
    format : format of the source, if its name does not show it
    Raises : InvalidDataError        there are problems; lists all of them
    Raises : InvalidParameterError   wrong usage

    Examples
    --------
    >>> known = eq.read_initial_ratings({"player": ["ann", "ben"], "rating": [1700, 1500]})
    >>> known.rating.tolist()
    [1700.0, 1500.0]
    """
    given = read_first_ratings(source, format)
    if given is not None:
        return given
    table, notes = rename_player_columns(open_source(source, format), None, WHAT)
    more: list[str] = []
    known = initial_ratings_of(table, more)
    return replace(known, notes=(*table.notes, *notes, *more))


def initial_ratings_of(table: Table, notes: list[str]) -> InitialRatings:
    """Return the ratings of a table whose columns have their own names.

    notes : gets sentences on numbers in other notations
    Raises : InvalidDataError
    """
    check_player_columns(table, WHAT)
    rows = PlayerRows(table, WHAT)
    rows.check_once(_ONCE)
    rating = rows.numbers("rating")
    deviation = rows.numbers("deviation", may_lack="any")
    rows.check("deviation", ~(deviation <= 0), _POSITIVE)
    notes += rows.notes
    rows.refuse()
    whole = rows.ids.dtype.is_integer()
    return InitialRatings(
        player_ids=np.array(rows.ids.to_list(), dtype=np.int64 if whole else object),
        rating=rating,
        deviation=deviation,
    )


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RatingList:
    """The players of a table with their ratings, every player once.

    ids : text; rating, deviation : shape (P,), deviation NaN if unknown
    matches : shape (P,), numbers of rated matches; None if they were not read or the table has none
    name : of the file, "" for values in memory
    columns : those that were renamed, as they are in the table
    notes : sentences on how it was read
    """

    ids: pl.Series
    rating: Floats
    deviation: Floats
    matches: Floats | None
    name: str
    columns: frozenset[str]
    notes: tuple[str, ...]


def read_rating_list(
    source: object,
    *,
    format: str | None = None,
    columns: Mapping[str, str],
    synonyms: Mapping[str, str],
    what: str,
    matches: bool = False,
) -> RatingList:
    """Return the players of a table; those without a rating are left out, and a note names them.

    columns : new name -> name in the table; names that are not in it are ignored
    synonyms : name -> name of the player
    what : the table is, where it has no name
    matches : read the column of matches, if there is one
    Raises : InvalidDataError   there are problems; lists all of them
    """
    given = open_source(source, format)
    table, notes = rename_player_columns(given, columns, what)
    rows = PlayerRows(table, what)
    rows.ids = merge_ids(rows.ids, synonyms).cast(pl.String)
    rating = rows.numbers("rating", may_lack="any")
    deviation = rows.numbers("deviation", may_lack="any")
    rows.check("deviation", ~(deviation < 0), _FROM_ZERO)
    played = rows.numbers("matches") if matches and rows.has("matches") else None
    rated = ~np.isnan(rating)
    # Only rated players count: lists have people twice, of whom one has no rating.
    rows.check_once(_ONCE_IN_LIST, rated)
    rows.refuse()
    unrated = rows.ids.filter(~rated).to_list()
    if unrated:
        lacking = f"{counted(len(unrated), 'player')} without a rating"
        rows.notes.append(f"{table.name or what}: {lacking} left out: {names_in_words(unrated)}")
    return RatingList(
        ids=rows.ids.filter(rated),
        rating=rating[rated],
        deviation=deviation[rated],
        matches=None if played is None else played[rated],
        name=table.name,
        columns=frozenset(columns.values()) & frozenset(given.frame.columns),
        notes=(*table.notes, *notes, *rows.notes),
    )


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
