"""Reads the ratings with which players begin: columns `player`, `rating` and perhaps `deviation`.

A table that `equipoise rate --output` wrote has these columns; others are ignored. PGN and FIDE
reports have the ratings of their players.
"""

from __future__ import annotations

import numpy as np

from equipoise.arguments import checks_arguments
from equipoise.data.ratings import InitialRatings
from equipoise.formats.findings import Fault, Findings
from equipoise.formats.games.as_history.first_ratings import read_first_ratings
from equipoise.formats.players import (
    check_player_columns,
    open_players,
    player_ids,
    player_numbers,
    refuse_problems,
)

_POSITIVE = "must be positive"
_ONCE = "must not repeat a player"


@checks_arguments()
def read_initial_ratings(source: object, *, format: str | None = None) -> InitialRatings:
    """Return the ratings of a source; players without a deviation have that of newcomers.

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
    table, what = open_players(source, format), "the initial ratings"
    check_player_columns(table, what)
    frame = table.frame
    findings = Findings(table, np.arange(len(frame)))
    ids = player_ids(table, findings)
    again = (ids.is_not_null() & ~ids.is_first_distinct()).to_numpy()
    findings.add_faults("player", [Fault(again, _ONCE)], frame["player"])
    rating = player_numbers(table, "rating", findings)
    deviation = np.full(len(frame), np.nan)
    if "deviation" in frame.columns:
        deviation = player_numbers(table, "deviation", findings, may_lack="any")
        findings.add_faults("deviation", [Fault(deviation <= 0, _POSITIVE)], frame["deviation"])
    refuse_problems(findings.problems(), table, what)
    whole = ids.dtype.is_integer()
    return InitialRatings(
        player_ids=np.array(ids.to_list(), dtype=np.int64 if whole else object),
        rating=rating,
        deviation=deviation,
    )
