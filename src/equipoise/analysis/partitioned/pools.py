"""Finds the pools of a data set: the matches with one combination of values of some columns.

The values stand in the names of folders (`mode=ranked/region=eu/`), in columns, or some here and
some there. A column is one of the history, with one value in every match, as in `equipoise
leaderboard --by`. A missing value and an empty text are the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches

import numpy as np

from equipoise.analysis.files.reading import HistoryRequest, read
from equipoise.arrays import Ids, Ints
from equipoise.data.history import History
from equipoise.data.reading import HistoryReading
from equipoise.errors import InvalidDataError, InvalidParameterError, Problem, require
from equipoise.evaluate.resampling import some_matches
from equipoise.formats.opening.naming import natural
from equipoise.formats.opening.partitions import PartitionFile, partition_files

#: More pools than this are taken for a mistake, such as a column of ids.
MOST_POOLS = 100_000


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Part:
    """Matches to rate, which one worker reads.

    values : by column, as far as the names of folders say them; None is a missing value
    columns : the columns that divide the matches further
    files : to read; empty if the matches were read already
    given : the matches, if they are not in files of their own
    """

    values: dict[str, str | None]
    columns: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    given: History | None = None


def check_columns(by: Sequence[str]) -> None:
    """Refuse columns that cannot divide anything. Raises : InvalidParameterError."""
    for one in by:
        require(bool(one), "--by", "names of columns, separated by commas", ",".join(by))
        require(by.count(one) == 1, "--by", "different columns", ",".join(by))


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
        parts = [Part(values=values, given=part) for values, part in pools_of(history, by)]
        return parts, replace(reading, history=None)
    _check_folders(files, in_folders)
    files = _selected(files, request)
    grouped: dict[tuple[str | None, ...], list[str]] = {}
    for file in files:
        grouped.setdefault(tuple(file.values[one] for one in in_folders), []).append(file.path)
    require(len(grouped) <= MOST_POOLS, "--by", f"of at most {MOST_POOLS:,} pools", len(grouped))
    columns = tuple(one for one in by if one not in in_folders)
    parts = [
        Part(
            values=dict(zip(in_folders, values, strict=True)),
            columns=columns,
            files=tuple(grouped[values]),
        )
        for values in sorted(grouped, key=in_order)
    ]
    return parts, None


def request_of(request: HistoryRequest, part: Part) -> HistoryRequest:
    """Return how to read the files of a part."""
    folders = _where_of_folders(partition_files(list(part.files)), request)
    where = {name: value for name, value in request.where.items() if name not in folders}
    source = part.files[0] if len(part.files) == 1 else list(part.files)
    return replace(request, source=source, where=where)


def pools_of(
    history: History, columns: Sequence[str]
) -> Iterator[tuple[dict[str, str | None], History]]:
    """Yield the values of columns, and the matches that have them with their players alone.

    Raises : InvalidParameterError
    """
    if not columns:
        yield {}, history
        return
    texts = [_texts(history, one) for one in columns]
    numbers: Ints = np.zeros(history.matches, np.int64)
    for one in texts:
        _, code = np.unique(one, return_inverse=True)
        # Renumbered every time, because the product of many columns would overflow.
        _, numbers = np.unique(numbers * (int(code.max(initial=0)) + 1) + code, return_inverse=True)
    order = np.argsort(numbers, kind="stable")
    starts = np.flatnonzero(np.diff(numbers[order], prepend=-1))
    if len(starts) > MOST_POOLS:
        raise InvalidParameterError(
            f"--by must name columns with at most {MOST_POOLS:,} combinations of values; "
            f"{','.join(columns)} has {len(starts):,}"
        )
    found = {}
    for matches in np.split(order, starts[1:]):
        found[tuple(str(one[matches[0]]) or None for one in texts)] = matches
    for values in sorted(found, key=in_order):
        yield dict(zip(columns, values, strict=True)), part_of(history, found[values])


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
    texts: Ids = np.array([_text(one) for one in values.tolist()], dtype=object)
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


def _text(value: object) -> str:
    absent = value is None or (isinstance(value, float) and np.isnan(value))
    return "" if absent else str(value)


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


def _check_folders(files: Sequence[PartitionFile], columns: Sequence[str]) -> None:
    """Refuse files outside of the folders in which the others are. Raises : InvalidDataError."""
    problems = [
        Problem(file.path, None, one, f"must be in a folder {one}=VALUE like the other files", "")
        for file in files
        for one in columns
        if one not in file.values
    ]
    if problems:
        raise InvalidDataError(problems)


def _where_of_folders(files: Sequence[PartitionFile], request: HistoryRequest) -> set[str]:
    """Return the columns of `where` that the folders have."""
    return {name for name in request.where if files and all(name in one.values for one in files)}


def _selected(files: list[PartitionFile], request: HistoryRequest) -> list[PartitionFile]:
    """Return the files in folders with the wanted values."""
    wanted = {name: request.where[name] for name in _where_of_folders(files, request)}
    found = [
        one
        for one in files
        if all((one.values[name] or "") == value for name, value in wanted.items())
    ]
    if not found:
        got = ", ".join(f"{name}={value}" for name, value in wanted.items())
        raise InvalidParameterError(f"--where must name values that some folder has; got {got}")
    return found
