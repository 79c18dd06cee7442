"""Reads the ratings with which players begin: columns `player`, `rating` and perhaps `deviation`.

A table that `equipoise rate --output` wrote has these columns; others are ignored.
"""

from __future__ import annotations

import numpy as np

from equipoise.arguments import checks_arguments
from equipoise.data.ratings import InitialRatings
from equipoise.errors import InvalidDataError, Problem
from equipoise.formats.findings import Fault, Findings, faulty_rows
from equipoise.formats.lobby import check_player_columns, open_players
from equipoise.formats.tables.columns import NUMBER, read_numbers, required_ids
from equipoise.wording import counted

_POSITIVE = "must be positive"
_ONCE = "must not repeat a player"


@checks_arguments()
def read_initial_ratings(source: object, *, format: str | None = None) -> InitialRatings:
    """Return the ratings of a source; players without a deviation have that of newcomers.

    source : path of a file (.csv, .tsv, .json, .jsonl, .parquet, ...), "-" or a stream (with
        `format`), a Polars, pandas or Arrow table, or a mapping of column name to array
    format : format of the source, if its name does not show it
    Raises : InvalidDataError        there are problems; lists all of them
    Raises : InvalidParameterError   wrong usage

    Examples
    --------
    >>> known = eq.read_initial_ratings({"player": ["ann", "ben"], "rating": [1700, 1500]})
    >>> known.rating.tolist()
    [1700.0, 1500.0]
    """
    table = open_players(source, format)
    frame = table.frame
    check_player_columns(table, frame)
    findings = Findings(table, np.arange(len(frame)))
    ids, faults = required_ids(frame["player"], table.untyped)
    findings.add_faults("player", faults, frame["player"])
    again = (ids.is_not_null() & ~ids.is_first_distinct()).to_numpy()
    findings.add_faults("player", [Fault(again, _ONCE)], frame["player"])
    rating, absent, faults = read_numbers(frame["rating"])
    findings.add_faults("rating", faults, frame["rating"])
    if absent is not None:
        missing = absent & ~faulty_rows(faults, len(rating))
        findings.add_faults("rating", [Fault(missing, NUMBER)], frame["rating"])
    deviation = np.full(len(frame), np.nan)
    if "deviation" in frame.columns:
        deviation, _, faults = read_numbers(frame["deviation"])
        findings.add_faults("deviation", faults, frame["deviation"])
        findings.add_faults("deviation", [Fault(deviation <= 0, _POSITIVE)], frame["deviation"])
    _refuse(findings.problems(), table.name)
    whole = ids.dtype.is_integer()
    return InitialRatings(
        player_ids=np.array(ids.to_list(), dtype=np.int64 if whole else object),
        rating=rating,
        deviation=deviation,
    )


def _refuse(problems: tuple[Problem, ...], name: str) -> None:
    """Raise with all problems, if there are any."""
    if problems:
        where = name or "the initial ratings"
        raise InvalidDataError(problems, f"{counted(len(problems), 'problem')} in {where}")
