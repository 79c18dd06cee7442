"""Which columns a table without known names may have: the assignments that read without a problem.

Only the first rows are tried. Nothing is read by a suggestion: it is a command to type.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, islice

import polars as pl

from equipoise.analysis.files.reading import HistoryRequest
from equipoise.analysis.inspecting.next_commands import command, words_of
from equipoise.data.history import History
from equipoise.data.reading import HistoryReading
from equipoise.errors import EquipoiseError, Problem
from equipoise.formats import scan_history
from equipoise.formats.games.layout import SIDES
from equipoise.formats.table import Table
from equipoise.formats.tables.recognised import spelling
from equipoise.messages.sources.inspection import NextMessage

#: Rows of a table that are tried, columns of it, and assignments of columns.
_ROWS, _COLUMNS, _TRIED = 400, 12, 300
#: Values of a vote: two sides, and two kinds of ties.
_VOTES = 4
#: Assignments from which none is named, because each of them is a guess.
_TOO_MANY = 3
#: Meanings without which a table may be a history.
_SPARED = ("time", "rank", "winner", "team", "weight", "rated", "round", "share")
#: The start of a date or time.
_DAY = r"^\d{4}-\d{2}-\d{2}([T ]|$)"
#: A format that a problem names; one with a space is in quotes.
_FORMAT = re.compile(r"--time-format (?:'([^']*%[^']*)'|([^'\s]*%\S*))")


def time_formats(request: HistoryRequest, problems: Sequence[Problem]) -> list[NextMessage]:
    """Return a command for each format of time that a problem names."""
    return [
        NextMessage(
            command("inspect", words_of(replace(request, time_format=one.rstrip(",;.)")))),
            f"reads the times as {_example(one)}",
        )
        for one in _formats(problems)
    ]


def without_column(
    request: HistoryRequest, reading: HistoryReading, source: Callable[[], object]
) -> list[NextMessage]:
    """Return a command that reads a table without a column of which no value is readable.

    Such a column was taken for what its name says: a time of day, or a player's position. One that
    every history needs is never left out.
    """
    broken = {problem.field for problem in reading.problems if problem.line is not None}
    taken = {column for meaning, column in reading.columns.items() if meaning in _SPARED}
    if len(broken) != 1 or not broken <= taken or "unused" in request.columns:
        return []
    column = broken.pop()
    others = {new: old for new, old in request.columns.items() if old != column}
    wanted = replace(request, columns={**others, "unused": column}, time_format=None)
    try:
        found = scan_history(
            source(), format=wanted.format, sheet=wanted.sheet, columns=wanted.columns
        )
    except EquipoiseError:
        return []
    formats = [one.rstrip(",;.)") for one in _formats(found.problems)]
    lacking = found.problems and all(problem.line is None for problem in found.problems)
    does = f"reads it, with {column} as a column like any other"
    if lacking:
        does = f"makes {column} a column like any other, and says what is missing then"
    if found.history is not None or lacking:
        return [NextMessage(command("inspect", words_of(wanted)), does)]
    return [
        NextMessage(
            command("inspect", words_of(replace(wanted, time_format=one))),
            f"{does}, and the times as {_example(one)}",
        )
        for one in formats
    ]


def _formats(problems: Sequence[Problem]) -> list[str]:
    """Return the formats of time that problems name."""
    return list(
        dict.fromkeys(
            quoted or plain
            for problem in problems
            for quoted, plain in _FORMAT.findall(problem.rule)
        )
    )


def _example(pattern: str) -> str:
    """Return a pattern of strptime in words: %d/%m/%Y is day/month/year."""
    words = {"%d": "day", "%m": "month", "%Y": "year", "%y": "year", "%H": "hour", "%M": "minute"}
    for directive, word in {**words, "%S": "second"}.items():
        pattern = pattern.replace(directive, word)
    return pattern


def suggested_columns(request: HistoryRequest, table: Table) -> list[NextMessage]:
    """Return commands that name the columns of a table, if few assignments read it.

    An assignment counts if the first rows then have no problem and every match has two sides.
    """
    if request.columns or not 2 <= table.frame.width <= _COLUMNS:
        return []
    frame = table.frame.head(_ROWS)
    dates = [name for name in frame.columns if _has_dates(frame[name])]
    # Without the only dates, the order of the file would count.
    time = {"time": dates[0]} if len(dates) == 1 else {}
    found: list[dict[str, str]] = []
    # Two sides and a result that names them are hardly ever there by chance.
    for assignments in (_voted(frame), (*_long(frame), *_sides(frame))):
        candidates = [{**columns, **time} for columns in islice(assignments, _TRIED)]
        found = found or [columns for columns in candidates if _reads(frame, columns)]
    if len(found) >= _TOO_MANY:
        return []
    return [one for columns in found for one in _commands(request, columns)]


def _commands(request: HistoryRequest, columns: Mapping[str, str]) -> Iterator[NextMessage]:
    """Yield a command for an assignment; a score may also be one of which less is better."""
    renamed = {new: old for new, old in columns.items() if new != old}
    wanted = replace(request, columns=renamed)
    yield NextMessage(command("inspect", words_of(wanted)), _does(columns))
    if "score" in columns and not request.lower_score_is_better:
        lowest = replace(wanted, lower_score_is_better=True)
        does = (
            f"reads {columns['score']} as a score of which the lowest is the best, such as a time"
        )
        yield NextMessage(command("inspect", words_of(lowest)), does)


def _does(columns: Mapping[str, str]) -> str:
    if "result" in columns:
        first, second = [*columns.values()][:2]
        return f"reads {first} and {second} as the two sides of a game"
    if "rank" in columns:
        return f"reads {columns['rank']} as places, of which the lowest is the best"
    return f"reads {columns['score']} as a score of which the highest is the best"


def _long(frame: pl.DataFrame) -> Iterator[dict[str, str]]:
    """Yield assignments of match, player, and rank or score."""
    rows = len(frame)
    distinct = {name: frame[name].n_unique() for name in frame.columns}
    whole = {name: _numbers(frame[name]) for name in frame.columns}
    for match in frame.columns:
        if not 1 <= distinct[match] <= rows / 2:
            continue
        for player in frame.columns:
            if player == match or distinct[player] < 2 or frame[player].dtype.is_float():
                continue
            for value in frame.columns:
                numbers = whole[value]
                if value in (match, player) or numbers is None:
                    continue
                known = {"match": match, "player": player}
                if numbers.min() in (0, 1) and bool((numbers == numbers.round()).all()):
                    yield known | {"rank": value}
                    if _starts_everywhere(frame[match], numbers):
                        continue  # every match has a first place, so these are places
                yield known | {"score": value}


def _starts_everywhere(match: pl.Series, numbers: pl.Series) -> bool:
    """Return whether the least number of every match is that of all matches."""
    least = pl.DataFrame({"match": match, "number": numbers}).group_by("match").min()["number"]
    return bool((least == numbers.min()).all())


def _voted(frame: pl.DataFrame) -> Iterator[dict[str, str]]:
    """Yield assignments of two sides and a result that names them, such as left and right."""
    texts = _texts(frame)
    for columns in _sides(frame, most=_VOTES):
        white, black, result = columns.values()
        words = {spelling(one) for one in texts[result]}
        named = [pair[:2] for pair in SIDES if not pair[2] and words & {*pair[:2]}]
        for one, other in named:
            yield {one: white, other: black, "result": result}


def _texts(frame: pl.DataFrame) -> dict[str, set[str]]:
    """Return the values of every column as text."""
    return {
        name: set(frame[name].drop_nulls().cast(pl.String).to_list())
        for name in frame.columns
        if not frame[name].dtype.is_nested()
    }


def _sides(frame: pl.DataFrame, *, most: int = 3) -> Iterator[dict[str, str]]:
    """Yield assignments of two sides and a result with at most so many values."""
    texts = _texts(frame)
    for white, black in combinations(texts, 2):
        shared = texts[white] & texts[black]
        if len(shared) * 4 < min(len(texts[white]), len(texts[black])) or _few(texts[white]):
            continue
        for result in texts:
            if result not in (white, black) and len(texts[result]) <= most:
                yield {"white": white, "black": black, "result": result}


def _has_dates(column: pl.Series) -> bool:
    """Return whether all values are days or times as in ISO 8601."""
    if column.dtype.is_temporal():
        return True
    if column.dtype != pl.String or column.null_count():
        return False
    return bool(column.str.contains(_DAY).all())


def _few(values: set[str]) -> bool:
    """Return whether values are results or flags, and no players."""
    return all(value.replace(".", "").replace("-", "").isdecimal() for value in values)


def _numbers(column: pl.Series) -> pl.Series | None:
    """Return a column as numbers; None if a value is none."""
    if column.dtype.is_nested() or column.dtype.is_temporal() or column.null_count():
        return None
    numbers = column.cast(pl.String).cast(pl.Float64, strict=False)
    return None if numbers.null_count() or not len(numbers) else numbers


def _reads(frame: pl.DataFrame, columns: Mapping[str, str]) -> bool:
    """Return whether rows have no problem with these columns, and look like matches."""
    try:
        history = scan_history(_typed(frame), columns=columns).history
    except EquipoiseError:
        return False
    return history is not None and _plausible(history)


def _typed(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the rows with numbers as such, as the reader of text would read them."""
    found = {}
    for column in frame:
        numbers = _numbers(column) if column.dtype == pl.String else None
        whole = numbers is not None and bool((numbers == numbers.round()).all())
        found[column.name] = column.cast(pl.Int64, strict=False) if whole else column
        if numbers is not None and not whole:
            found[column.name] = numbers
    return pl.DataFrame(found)


def _plausible(history: History) -> bool:
    """Return whether all matches but perhaps the last, which may be cut, have two sides."""
    alone = int((history.teams() == 1).sum())
    return alone <= (1 if history.matches > 2 else 0) and bool((history.distinct_ranks() > 1).any())
