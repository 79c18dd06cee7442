"""Decides whether matches of several files that have the same id are the same match.

A match belongs to one file. With dates, equal rows under one id are one match that was exported
twice, and count once; the same players at the same time with another result contradict each other.
All others are matches of their own, as in seasons that each count from 1: their ids get the name of
the file. Without dates equal rows prove nothing, so files of which all common matches are equal are
refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import PurePath

import numpy as np
import polars as pl

from equipoise.arrays import Ints
from equipoise.errors import InvalidDataError, Problem
from equipoise.formats.opening.naming import listed
from equipoise.formats.table import Table, shown
from equipoise.wording import counted

CONTRADICTION = "must have the same rows in every file: it has the same players and time"
TWICE = (
    "must be in only one file, because no date shows whether it is the same match: leave one of "
    "the files out, or add a column with dates"
)
COUNTS_ON = (
    "must not begin again in another file, because the rounds of both would be mixed: give dates, "
    "or continue the numbers"
)

#: Whole numbers that are an order and no dates.
_ORDER = r"^\s*[0-9]{1,4}(\.0)?\s*$"
#: Problems of one kind that are listed.
_LISTED = 20
_MARK = "\x1f"


def tell_apart(table: Table, frame: pl.DataFrame) -> tuple[Table, pl.DataFrame, tuple[str, ...]]:
    """Return a table of several files and its columns, in which every match has an id of its own.

    frame : the columns under their canonical names; every row is that of the table
    Returns : also notes on what was done
    Raises : InvalidDataError   matches contradict each other, or may be the same
    """
    if table.file_of is None or "match" not in frame.columns or frame["match"].dtype.is_nested():
        return table, frame, ()
    files = pl.Series("file", table.file_of)
    ids = frame["match"].cast(pl.String, strict=False)
    of_files = pl.DataFrame({"id": ids, "file": files}).drop_nulls().unique()
    common = of_files.filter(pl.col("id").is_duplicated())["id"].unique()
    if not len(common):
        return table, frame, ()
    matches = _matches(frame, ids, files, common)
    dated = _is_dated(frame)
    alike = matches.select(pl.struct("id", "rows").is_duplicated()).to_series()
    if not dated:
        if (
            matches.group_by("id")
            .agg(pl.col("rows").n_unique())
            .select((pl.col("rows") == 1).all())[0, 0]
        ):
            _refuse(table, matches.filter(pl.col("file") > 0), TWICE, matches)
        again = pl.Series([False] * len(matches))
    else:
        again = alike & ~matches.select(pl.struct("id", "rows").is_first_distinct()).to_series()
    left = matches.filter(~again)
    if dated:
        clash = left.filter(pl.struct("id", "players", "time").is_duplicated())
        if len(clash):
            later = clash.filter(~pl.struct("id", "players", "time").is_first_distinct())
            _refuse(table, later, CONTRADICTION, clash)
    notes = []
    dropped = np.zeros(len(frame), dtype=bool)
    if again.any():
        key = pl.struct("id", "file")
        gone = matches.filter(again).select(key.alias("key"))["key"].implode()
        rows = pl.DataFrame({"id": ids, "file": files}).select(key.is_in(gone)).to_series()
        dropped = rows.fill_null(False).to_numpy()
        which = counted(int(again.sum()), "match is", "matches are")
        notes.append(f"{which} in several files with the same rows, and counted once")
    several = left.filter(pl.col("id").is_duplicated())["id"].n_unique()
    if several:
        labels = pl.Series(_labels(table.files)).gather(table.file_of)
        named = pl.select(labels + ":" + ids).to_series().alias("match")
        frame = frame.with_columns(named)
        which = counted(several, "match id is", "match ids are")
        notes.append(
            f"{which} in several files for different matches: ids begin with the name of the file, "
            f"such as {shown(named.drop_nulls()[0])}"
        )
    if dropped.any():
        return table.without(dropped), frame.filter(~dropped), tuple(notes)
    return table, frame, tuple(notes)


def _matches(
    frame: pl.DataFrame, ids: pl.Series, files: pl.Series, common: pl.Series
) -> pl.DataFrame:
    """Return what each common match is in each file, in order of appearance.

    Columns: id, file, first (its first row), rows (all of their values as text), players, time.
    """
    texts = [
        one.cast(pl.String, strict=False).fill_null("").str.strip_chars()
        for one in frame
        if one.name != "match" and not one.dtype.is_nested()
    ]
    rows = pl.DataFrame(texts).select(pl.concat_str(pl.all(), separator=_MARK)).to_series()
    one = pl.DataFrame(
        {
            "id": ids,
            "file": files,
            "row": np.arange(len(frame)),
            "rows": rows,
            "players": _text(frame, "player"),
            "time": _text(frame, "time"),
        }
    )
    return (
        one.filter(pl.col("id").is_in(common.implode()))
        .group_by("id", "file", maintain_order=True)
        .agg(
            pl.col("row").first().alias("first"),
            pl.col("rows").sort().str.join("\n"),
            pl.col("players").sort().str.join("\n"),
            pl.col("time").first(),
        )
    )


def _text(frame: pl.DataFrame, name: str) -> pl.Series:
    if name not in frame.columns or frame[name].dtype.is_nested():
        return pl.Series([""] * len(frame), dtype=pl.String)
    return frame[name].cast(pl.String, strict=False).fill_null("")


def _is_dated(frame: pl.DataFrame) -> bool:
    """Return whether rows have dates, not only an order."""
    times = _text(frame, "time")
    return bool(((times != "") & ~times.str.contains(_ORDER)).any())


def _refuse(table: Table, again: pl.DataFrame, rule: str, every: pl.DataFrame) -> None:
    """Raise with a problem for each match that is in an earlier file too."""
    problems = []
    for row in again.head(_LISTED).iter_rows(named=True):
        here = table.places(np.array([row["first"]]))[0]
        others = every.filter((pl.col("id") == row["id"]) & (pl.col("file") < row["file"]))
        if not len(others):
            continue
        file, line = table.places(np.array([others[0, "first"]]))[0]
        problems.append(Problem(*here, "match", rule, f"{row['id']!r}, also in {file}:{line}"))
    raise InvalidDataError(problems)


def _labels(files: Sequence[str]) -> list[str]:
    """Return short names of files that differ: without folder and suffix if that is enough."""
    stems = [PurePath(one).name.partition(".")[0] for one in files]
    return stems if len(set(stems)) == len(stems) else list(files)


def check_order(table: Table, order: Ints, rows: Ints) -> None:
    """Check that an order without dates does not begin again in another file.

    order : of some rows; rows : their numbers in the table. Raises : InvalidDataError
    """
    if table.file_of is None or not len(rows):
        return
    files = table.file_of[rows]
    spans = [
        (int(order[files == at].min()), int(order[files == at].max()), at)
        for at in np.unique(files).tolist()
    ]
    spans.sort()
    for one, other in pairwise(spans):
        if other[0] <= one[1]:
            (*_, before), (first, _, at) = sorted((one, other), key=lambda span: span[2])
            row = rows[files == at][int(np.argmin(order[files == at]))]
            place = table.places(np.array([row]))[0]
            got = f"{first}, which {table.files[before]} has or passes"
            raise InvalidDataError([Problem(*place, "time", COUNTS_ON, got)])


def order_of_files(table: Table) -> tuple[str, ...]:
    """Return the note on matches of several files that have no times."""
    if len(table.files) < 2:
        return ()
    return (f"without times, matches are in the order of the files: {listed(table.files)}",)
