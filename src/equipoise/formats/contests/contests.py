"""Turn contests of any platform into one long table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, NoReturn, TypeAlias

import numpy as np
import polars as pl

from equipoise.arrays import Ints
from equipoise.errors import InvalidDataError, Problem
from equipoise.formats.table import BrokenRow, Table, shown
from equipoise.formats.tables.frames import series_of
from equipoise.wording import counted


class Origin(NamedTuple):
    """Where a document comes from; `stem` is the name of a contest that has none of its own.

    line : of a file with one document on each line, else None
    """

    file: str
    stem: str
    line: int | None = None

    def refuse(self, rule: str, got: str, field: str = "") -> NoReturn:
        """Raise InvalidDataError with one problem of the document."""
        raise InvalidDataError([Problem(self.file, self.line, field, rule, got)])


@dataclass(slots=True, kw_only=True)
class Contest:
    """One contest: the columns of its participations, and the values they share.

    match : id; time : whole seconds or ISO 8601 text; None if the platform gives none
    columns : lists of player, rank, team, share and others
    rows : number of every participation in the standings, from 1
    broken : (index into the columns, field, rule, value found) of entries that break a rule
    """

    origin: Origin
    match: str | int
    time: int | str | None
    columns: dict[str, list[Any]]
    rows: Sequence[int]
    weight: float | None = None
    performance_ceiling: float | None = None
    rated: bool = True
    broken: list[tuple[int, str, str, str]] = field(default_factory=list)


#: Values of a complete contest, with their defaults.
_OF_CONTEST = {"time": None, "weight": None, "performance_ceiling": None, "rated": True}
#: Turns one document of a platform into contests.
ReadContests: TypeAlias = Callable[[Any, Origin], list[Contest]]


def contest_table(contests: list[Contest], name: str) -> Table:
    """Return the long table of contests; problems name the file and the row of the standings."""
    sizes = np.array([len(contest.rows) for contest in contests], dtype=np.int64)
    columns = [series_of("match", _distinct_ids(contests)).gather(_repeat(sizes))]
    for key, usual in _OF_CONTEST.items():
        values = [getattr(contest, key) for contest in contests]
        if any(value is not usual for value in values):
            columns.append(series_of(key, values).gather(_repeat(sizes)))
    for key in dict.fromkeys(key for contest in contests for key in contest.columns):
        lists = [
            contest.columns.get(key, [None] * size)
            for contest, size in zip(contests, sizes.tolist(), strict=True)
        ]
        columns.append(series_of(key, [value for values in lists for value in values]))
    return Table(
        frame=pl.DataFrame(columns),
        name=name,
        locate=_locator(contests, sizes),
        broken_rows=_broken(contests, sizes),
        notes=_empty_note(contests),
    )


def _repeat(sizes: Ints) -> Ints:
    return np.repeat(np.arange(len(sizes)), sizes)


def _distinct_ids(contests: list[Contest]) -> list[str | int]:
    """Return the ids of contests; ids that occur twice get a number."""
    seen: dict[str | int, int] = {}
    for contest in contests:
        seen[contest.match] = seen.get(contest.match, 0) + 1
    return [
        contest.match if seen[contest.match] == 1 else f"{contest.match} ({_place(contest.origin)})"
        for contest in contests
    ]


def _place(origin: Origin) -> str:
    return origin.stem if origin.line is None else f"line {origin.line}"


def _locator(
    contests: list[Contest], sizes: Ints
) -> Callable[[Ints], list[tuple[str, int | None]]]:
    ends = np.cumsum(sizes)

    def locate(rows: Ints) -> list[tuple[str, int | None]]:
        found = np.searchsorted(ends, rows, side="right")
        places: list[tuple[str, int | None]] = []
        for row, at in zip(rows.tolist(), found.tolist(), strict=True):
            contest = contests[at]
            if contest.origin.line is not None:
                places.append((contest.origin.file, contest.origin.line))
            else:
                standing = contest.rows[row - int(ends[at] - sizes[at])]
                places.append((contest.origin.file, standing))
        return places

    return locate


def _broken(contests: list[Contest], sizes: Ints) -> tuple[BrokenRow, ...]:
    starts = np.cumsum(sizes) - sizes
    return tuple(
        BrokenRow(int(start) + row, name, rule, got)
        for contest, start in zip(contests, starts, strict=True)
        for row, name, rule, got in contest.broken
    )


def _empty_note(contests: list[Contest]) -> tuple[str, ...]:
    empty = [str(contest.match) for contest in contests if not contest.rows]
    if not empty:
        return ()
    left_out = counted(
        len(empty),
        "contest without participants is left out",
        "contests without participants are left out",
    )
    return (f"{left_out}: {', '.join(empty)}",)


def listed(document: Any, key: str, origin: Origin) -> list[Any]:
    """Return the list under a key of an object, or refuse the document."""
    value = document.get(key) if isinstance(document, dict) else None
    if not isinstance(value, list):
        origin.refuse("must be a list", shown(value), key)
    return value
