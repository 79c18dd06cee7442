"""The columns of a table under the names asked for."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from equipoise.errors import InvalidDataError, InvalidParameterError, Problem
from equipoise.formats.options import Options
from equipoise.formats.table import Table

PLACES = "needs a rank, winner or score column"


def arrange_columns(table: Table, options: Options) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Return the table under the names asked for, and notes.

    Raises : InvalidParameterError   a column that was named is not there
    Raises : InvalidDataError        required columns or all rows are missing
    """
    frame, names = table.frame, list(options.columns)
    for old in options.columns.values():
        _require_column(frame, old, "columns")
    moved = set(options.columns.values())
    hidden = [name for name in frame.columns if name in names and name not in moved]
    kept = [name for name in frame.columns if name not in moved and name not in names and name]
    if names or len(kept) < len(frame.columns):
        # Column by column: as an expression a name such as * or ^a.*$ would mean several.
        renamed = [frame[old].alias(new) for new, old in options.columns.items()]
        frame = pl.DataFrame([*(frame[name] for name in kept), *renamed])
    for name in options.statistics:
        _require_column(frame, name, "statistics")
    problems = list(_column_problems(frame, table.name, options))
    if problems:
        raise InvalidDataError(problems)
    by_score = places_from_score(frame.columns, options)
    if options.lower_score_is_better and not by_score:
        raise InvalidParameterError(
            "lower_score_is_better (--lower-score-is-better) needs a score column that decides "
            f"the places; here {'rank' if 'rank' in frame.columns else 'winner'} decides them"
        )
    notes = [f"column {name!r} of the file is hidden by the renamed one" for name in hidden]
    if "" in table.frame.columns:
        notes.append("a column without a name is left out")
    if by_score:
        first = "lowest" if options.lower_score_is_better else "highest"
        notes.append(f"the column score decides the places: the {first} is first")
    return frame, tuple(notes)


def places_from_score(columns: Sequence[str], options: Options) -> bool:
    """Return whether `score` decides the places: no other column does, and it is no statistic."""
    return (
        "score" in columns
        and "score" not in options.statistics
        and not {"rank", "winner"} & set(columns)
    )


def _require_column(frame: pl.DataFrame, name: str, parameter: str) -> None:
    if name not in frame.columns:
        raise InvalidParameterError(
            f"{parameter} must name a column of the table ({', '.join(frame.columns)}); "
            f"got {name!r}"
        )


def _column_problems(frame: pl.DataFrame, name: str, options: Options) -> list[Problem]:
    got = "columns " + ", ".join(frame.columns) if frame.columns else "no columns"
    problems = [
        Problem(name, None, required, "must be a column of the table", got)
        for required in ("match", "player")
        if required not in frame.columns
    ]
    deciding = {"rank", "winner"} & set(frame.columns)
    if not deciding and not places_from_score(frame.columns, options):
        if "score" in frame.columns:
            got += ", of which score is a statistic (--stat)"
        problems.append(Problem(name, None, "rank", PLACES, got))
    if len(deciding) == 2:
        rule = "must not stand beside rank: one of the two decides a match"
        problems.append(Problem(name, None, "winner", rule, "both columns"))
    if not len(frame):
        problems.append(Problem(name, None, "", "must have at least one row", "none"))
    return problems
