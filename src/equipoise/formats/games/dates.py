"""Selects the games of PGN and of FIDE reports by their dates."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

from equipoise.arrays import Ints
from equipoise.errors import InvalidParameterError, Problem
from equipoise.formats.games.columns import GameColumns
from equipoise.formats.options import Options
from equipoise.formats.times import read_times

DATED = (
    "must have a complete date as other games have, because the games are not in order of time "
    "(--skip-bad leaves those without one out)"
)
DATED_BOUNDS = (
    "must have a complete date as other games have, to select by time (--skip-bad leaves those "
    "without one out)"
)

#: Largest number of games without a date that are listed; more are counted.
_LISTED = 100


def select_dates(columns: GameColumns, options: Options) -> GameColumns:
    """Return the games in [since, until); games without a date become problems.

    Raises : InvalidParameterError   no game has a date
    """
    if options.since is None and options.until is None:
        return columns
    times = None if columns.times is None else read_times(columns.times)
    if columns.times is None or times is None:
        raise InvalidParameterError(
            "since and until (--from, --until) need games with complete dates; these have none"
        )
    undated = columns.times.is_null().to_numpy()
    inside = times.within(options.since, options.until) & ~undated
    rows = np.flatnonzero(undated)
    left_out = Counter(columns.left_out)
    left_out["filtered"] += int(np.sum(~inside & ~undated))
    return replace(
        columns.keep(np.flatnonzero(inside)),
        problems=(*columns.problems, *undated_problems(columns, rows, DATED_BOUNDS)),
        skipped=columns.skipped + len(rows),
        left_out=left_out,
    )


def undated_problems(columns: GameColumns, rows: Ints, rule: str) -> list[Problem]:
    """Return a problem for each of the first games without a date, and one for the others."""

    def place(row: int) -> tuple[str, int | None]:
        return ("", row + 1) if columns.locate is None else columns.locate(row)

    found = [
        Problem(*place(row), "Date", rule, "no complete date") for row in rows[:_LISTED].tolist()
    ]
    if len(rows) > _LISTED:
        more = f"no complete date, and {len(rows) - _LISTED:,} more without one from here on"
        found.append(Problem(*place(int(rows[_LISTED])), "Date", rule, more))
    return found
