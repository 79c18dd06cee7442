"""Finds the pools of a data set: the matches with one combination of values of some columns.

The values are in the names of folders (`mode=ranked/region=eu/`), in columns, or some here and
some there. A column is one of the history, with one value in every match, as in `equipoise
leaderboard --by`. A missing value and an empty text are the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches

import numpy as np
import polars as pl

from equipoise.analysis.files.reading import HistoryRequest, read
from equipoise.arrays import Ids, Ints
from equipoise.data.history import History
from equipoise.data.reading import HistoryReading
from equipoise.errors import InvalidDataError, InvalidParameterError, Problem, require
from equipoise.evaluate.resampling import some_matches
from equipoise.formats.opening.naming import natural
from equipoise.formats.opening.partitions import partition_files

#: More pools than this are taken for a mistake, such as a column of ids.
MOST_POOLS = 100_000
#: Column of the numbers of matches, while they are grouped.
_MATCH = "\x00match"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Part:
    """Matches to rate, which one worker reads.

    values : by column, as far as the names of folders say them; None is a missing value
    columns : the columns that divide the matches further
    source : the matches if they were read already, else how to read them
    """

    values: dict[str, str | None]
    columns: tuple[str, ...] = ()
    source: HistoryRequest | History


def parts_of(
    request: HistoryRequest, by: Sequence[str]
) -> tuple[list[Part], HistoryReading | None]:
    """Return the parts of a data set in natural order of their values.

    Files in folders named after values are not read here. Others are read together, and how they
    were read is returned as well.
    Raises : InvalidDataError, InvalidParameterError
    """
    files = partition_files(request.source)
    in_folders = [one for one in by if any(one in file.values for file in files)]
    if not in_folders:
        if files:
            request = replace(request, source=[file.path for file in files])
        history, reading = read(request)
        parts = [Part(values=values, source=part) for values, part in pools_of(history, by)]
        return parts, replace(reading, history=None)
    problems = [
        Problem(file.path, None, one, f"must be in a folder {one}=VALUE like the other files", "")
        for file in files
        for one in in_folders
        if one not in file.values
    ]
    if problems:
        raise InvalidDataError(problems)
    # Values of folders select files; the others are selected by the reader.
    folders = {name for name in request.where if all(name in one.values for one in files)}
    wanted = {name: request.where[name] for name in request.where if name in folders}
    grouped: dict[tuple[str | None, ...], list[str]] = {}
    for file in files:
        if all((file.values[name] or "") == value for name, value in wanted.items()):
            grouped.setdefault(tuple(file.values[one] for one in in_folders), []).append(file.path)
    if not grouped:
        got = ", ".join(f"{name}={value}" for name, value in wanted.items())
        raise InvalidParameterError(f"--where must name values that some folder has; got {got}")
    require(len(grouped) <= MOST_POOLS, "--by", f"of at most {MOST_POOLS:,} pools", len(grouped))
    where = {name: value for name, value in request.where.items() if name not in folders}
    parts = [
        Part(
            values=dict(zip(in_folders, values, strict=True)),
            columns=tuple(one for one in by if one not in in_folders),
            source=replace(
                request,
                source=grouped[values][0] if len(grouped[values]) == 1 else grouped[values],
                where=where,
            ),
        )
        for values in sorted(grouped, key=in_order)
    ]
    return parts, None


def pools_of(
    history: History, columns: Sequence[str]
) -> Iterator[tuple[dict[str, str | None], History]]:
    """Yield the values of columns, and the matches that have them with their players alone.

    Raises : InvalidParameterError
    """
    texts = {one: pl.Series(_texts(history, one).tolist(), dtype=pl.String) for one in columns}
    groups = pl.DataFrame(texts).with_row_index(_MATCH).group_by(columns).agg(_MATCH)
    if len(groups) > MOST_POOLS:
        raise InvalidParameterError(
            f"--by must name columns with at most {MOST_POOLS:,} combinations of values; "
            f"{','.join(columns)} has {len(groups):,}"
        )
    found = {
        tuple(value or None for value in values): row
        for row, values in enumerate(groups.select(columns).iter_rows())
    }
    for values in sorted(found, key=in_order):
        matches = groups[_MATCH][found[values]].to_numpy().astype(np.int64)
        yield dict(zip(columns, values, strict=True)), part_of(history, matches)


def in_order(values: Sequence[str | None]) -> tuple[object, ...]:
    """Return the key by which combinations of values are ordered."""
    return tuple(natural(one or "") for one in values)


def part_of(history: History, matches: Ints) -> History:
    """Return some matches of a history, with the players who took part in them.

    matches : rising numbers
    """
    part = some_matches(history, matches)
    players, player = np.unique(part.player, return_inverse=True)
    return replace(
        part,
        match_ids=history.match_ids[matches],
        player_ids=history.player_ids[players],
        player=player.astype(np.int64),
    )


def _texts(history: History, column: str) -> Ids:
    """Return the value of a column in every match as text; "" if there is none.

    Raises : InvalidParameterError   no such column, or a match with several values
    """
    values = history.attributes.get(column)
    if values is None:
        raise InvalidParameterError(_no_column(column, list(history.attributes)))
    # A float that is not equal to itself is a missing value.
    texts: Ids = np.array(
        ["" if one is None or one != one else str(one) for one in values.tolist()], dtype=object
    )
    first = texts[history.offsets[:-1]]
    different = np.flatnonzero(texts != np.repeat(first, history.sizes()))
    if len(different):
        row = int(different[0])
        match = int(np.searchsorted(history.offsets, row, "right")) - 1
        raise InvalidParameterError(
            f"--by must name columns with one value in every match; {column} has "
            f"{first[match]!r} and {texts[row]!r} in match {history.match_ids[match]}"
        )
    return first


def _no_column(by: str, known: list[str]) -> str:
    """Return the sentence on a column that neither the history nor its folders have."""
    if not known:
        return (
            "--by must name columns of the history or of folders such as mode=ranked; the history "
            f"has no further columns; got {by!r}"
        )
    near = get_close_matches(by, known, 1, 0.6)
    hint = f"; did you mean {near[0]}?" if near else ""
    return (
        f"--by must name columns of the history ({', '.join(known)}) or of folders such as "
        f"mode=ranked; got {by!r}{hint}"
    )
