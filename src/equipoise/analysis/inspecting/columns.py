"""The columns of a file as they are understood: meaning, and what each decides."""

from __future__ import annotations

from collections.abc import Mapping

from equipoise.data.history import History
from equipoise.data.reading import HistoryReading
from equipoise.formats.table import Table, shown
from equipoise.messages.sources.inspection import ColumnMessage
from equipoise.rating.registry import SYSTEMS, make_system
from equipoise.rating.system import USABLE

#: What a column decides, by its meaning, in the order of lists. The columns that only some systems
#: use are not here.
_USES = {
    "match": "which match a row belongs to",
    "player": "who played",
    "time": "when: matches are rated in this order",
    "round": "the order, where there is no time",
    "team": "who played together",
    "white": "who played on the first side",
    "black": "who played on the second side",
    "opponent": "who played on the second side",
    "rank": "the places, the lowest first",
    "winner": "who won",
    "rated": "matches where it is false are left out",
    "result": "the result",
    "white_score": "the scores, which decide",
    "black_score": "the scores, which decide",
    "neutral": "whether nobody is at home",
    "points": "the points of the first side",
    "games": "the number of games",
    "draws": "the number of drawn games",
}
_NO_RATING = "kept; no rating depends on it"
#: Values of a column that is not read, and systems that are named for one.
_VALUES, _NAMED = 3, 3


def columns_of(reading: HistoryReading, history: History) -> list[ColumnMessage]:
    """Return the columns with a meaning, and then those that were kept without one."""
    columns = reading.columns
    found = [
        ColumnMessage(column, meaning, _ordered(meaning, history) or _use(meaning, columns))
        for meaning, column in sorted(columns.items(), key=lambda pair: _place(pair[0]))
    ]
    found += [
        ColumnMessage(name, "statistic", "adds to the performance, with the weight of --stat")
        for name in history.statistics
    ]
    known = {*columns, *columns.values()}
    known |= {"side", "score"} if reading.kind == "games" else set()
    # The numbers of rounds in PGN and in reports are the order, if there are no dates.
    by_round = history.order is not None and not {"time", "round"} & {*columns}
    found += [
        ColumnMessage(
            name, "", _USES["round"] if name == "round" and by_round else _system_use(name)
        )
        for name in history.attributes
        if name not in known
    ]
    return found


def columns_of_games(columns: Mapping[str, str]) -> list[ColumnMessage]:
    """Return the columns of games; columns : meaning -> name in the file."""
    return [
        ColumnMessage(column, meaning, _USES.get(meaning, ""))
        for meaning, column in sorted(columns.items(), key=lambda pair: _place(pair[0]))
    ]


def columns_with_values(table: Table, columns: Mapping[str, str]) -> list[ColumnMessage]:
    """Return the columns of a table that cannot be read, with their first values."""
    meanings = {column: meaning for meaning, column in columns.items()}
    found = []
    for column in table.frame:
        values = ", ".join(shown(value) for value in column.head(_VALUES).to_list())
        nested = column.name in table.nested or column.dtype.is_nested()
        use = "is not read, because its values are nested: " if nested else "has "
        meaning = meanings.get(column.name, "")
        found.append(ColumnMessage(column.name, meaning, use + (values or "no values")))
    return found


def _place(meaning: str) -> int:
    """Return the place of a meaning in lists: as in `_USES`, and then the others."""
    return list(_USES).index(meaning) if meaning in _USES else len(_USES)


def _ordered(meaning: str, history: History) -> str:
    """Return what times or rounds do if they are not the order; "" if they are, and for others."""
    if meaning == "time" and history.time is None and history.order is None:
        return "has no values, so the order of the file counts"
    if meaning == "round" and history.order is None:
        return _NO_RATING
    return ""


def _use(meaning: str, columns: Mapping[str, str]) -> str:
    """Return what a column with a meaning decides."""
    decided = not {"rank", "winner", "result"}.isdisjoint(columns)
    if meaning == "score" and not decided:
        return "the places"
    if meaning == "points" and not decided:
        return "the result: points of the first side"
    return _USES.get(meaning) or _system_use(meaning)


def _system_use(column: str) -> str:
    """Return which systems use a column that is not needed, by default or with a parameter."""
    if column not in USABLE:
        return _NO_RATING
    using: dict[str, list[str]] = {}
    for name in SYSTEMS:
        able = make_system(name).capabilities
        if column in able.uses:
            using.setdefault("counts", []).append(name)
        elif column in able.needed:
            using.setdefault(f"counts with {able.needed[column]}", []).append(name)
    return "; ".join(f"{how} in {_few(names)}" for how, names in using.items()) or _NO_RATING


def _few(names: list[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")
