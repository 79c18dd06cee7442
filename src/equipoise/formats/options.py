"""The options of a reader, checked before any file is opened."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Literal, TypeAlias, get_args

from equipoise.errors import InvalidParameterError, require
from equipoise.formats.times import check_bound, check_time_format

SkipBad: TypeAlias = Literal["matches", "rows"]
#: The place of players who have none: NC, DNF.
Unplaced: TypeAlias = Literal["last"]
#: A bound of time: ISO 8601 text, a date, or in the format of the table's times.
Instant: TypeAlias = str | int | float | date | datetime
#: Equality filters: column -> value, or pairs of them.
Where: TypeAlias = Mapping[str, object] | Iterable[tuple[str, object]]

#: Columns that have a meaning, in the order of the documentation.
CANONICAL = (
    "match",
    "time",
    "player",
    "team",
    "rank",
    "winner",
    "weight",
    "performance_ceiling",
    "beta",
    "gamma",
    "rated",
    "share",
    "performance",
)
#: Columns that the reader keeps as they are, and that some systems use.
KEPT = (
    "side",
    "at_home",
    "role",
    "event",
    "birth_year",
    "games_before",
    "events_before",
    "handicap",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to turn a table into a history; the parameters of `read_history`.

    Without any, all rows are read under the names that the table has.

    since, until : as given by the caller, None if unbounded
    time_format : format of the times; None detects it
    lower_score_is_better : the lowest score is first, if `score` decides the places
    unplaced : the place of players whose place is a word such as DNF; None refuses them
    synonyms : name of a player -> the id of the same player
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    statistics: tuple[str, ...] = ()
    skip_bad: SkipBad | None = None
    since: Instant | None = None
    until: Instant | None = None
    time_format: str | None = None
    where: tuple[tuple[str, object], ...] = ()
    lower_score_is_better: bool = False
    unplaced: Unplaced | None = None
    synonyms: Mapping[str, str] = field(default_factory=dict)


def check_options(
    columns: Mapping[str, str] | None,
    statistics: Sequence[str],
    skip_bad: str | None,
    since: Instant | None,
    until: Instant | None,
    where: Where | None,
    time_format: str | None = None,
    lower_score_is_better: bool = False,
    unplaced: str | None = None,
) -> Options:
    """Return the options of a reader, or raise InvalidParameterError."""
    require(skip_bad in (None, *get_args(SkipBad)), "skip_bad", "matches or rows", skip_bad)
    require(unplaced in (None, *get_args(Unplaced)), "unplaced (--unplaced)", "last", unplaced)
    require(not isinstance(statistics, str), "statistics", "a sequence of names", statistics)
    for name in statistics:
        require(
            name not in CANONICAL and bool(name),
            "statistics",
            "names of columns without another meaning",
            name,
        )
    require(
        isinstance(lower_score_is_better, bool),
        "lower_score_is_better",
        "True or False",
        lower_score_is_better,
    )
    time_format = check_time_format(time_format)
    check_bound(since, "since", time_format)
    check_bound(until, "until", time_format)
    return Options(
        columns=_renamings(columns or {}),
        statistics=tuple(dict.fromkeys(statistics)),
        skip_bad=skip_bad,  # type: ignore[arg-type]  # checked above
        since=since,
        until=until,
        time_format=time_format,
        where=_pairs(where or ()),
        lower_score_is_better=lower_score_is_better,
        unplaced=unplaced,  # type: ignore[arg-type]  # checked above
    )


def _renamings(columns: Mapping[str, str]) -> dict[str, str]:
    rule = "a mapping of new to old names"
    require(isinstance(columns, Mapping), "columns", rule, columns)
    for pair in columns.items():
        require(
            "" not in pair and all(isinstance(name, str) for name in pair), "columns", rule, pair
        )
    return dict(columns)


def _pairs(where: Where) -> tuple[tuple[str, object], ...]:
    rule = "a mapping or pairs of column and value"
    if isinstance(where, Mapping):
        return tuple(where.items())
    require(not isinstance(where, str), "where", rule, where)
    try:
        pairs = tuple((column, value) for column, value in where)
    except (TypeError, ValueError) as error:
        raise InvalidParameterError(f"where must be {rule}; got {where!r}") from error
    for column, _ in pairs:
        require(isinstance(column, str), "where", rule, where)
    return pairs


def check_sheet(sheet: str | int | None) -> None:
    """Check the name or number of a sheet. Raises : InvalidParameterError."""
    if sheet is None or (isinstance(sheet, str) and sheet):
        return
    if not isinstance(sheet, int) or isinstance(sheet, bool) or sheet < 1:
        raise InvalidParameterError(
            f"sheet (--sheet) must be the name of a sheet, or its number from 1; got {sheet!r}"
        )
