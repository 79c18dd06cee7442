"""The tables of an audit of drift, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from equipoise.cli.tables import Table, cell, minutes, table
from equipoise.wording import counted

if TYPE_CHECKING:
    from equipoise.messages.drift import DriftMessage, DriftPointMessage, DriftSystemMessage

#: Field -> its column, and how it is written. What is 0 but for rounding has no minus sign.
_LEVEL = {
    "active": ("active", ",d"),
    "rating": ("rating", "z.1f"),
    "deviation": ("deviation", "z.1f"),
    "spread": ("spread", "z.1f"),
}
_MOVES = {
    "by_matches": ("by_matches", "+z.1f"),
    "by_entering": ("by_entering", "+z.1f"),
    "by_leaving": ("by_leaving", "+z.1f"),
    "by_performance": ("by_perf", "+z.1f"),
}
_INFLATION = {
    "inflation": ("inflation", "+z.3f"),
    "inflation_by_performance": ("infl_perf", "+z.3f"),
}
_ALL = {"players": ("players", ",d"), "rating_all": ("rating_all", "z.1f")}


def moments_table(answer: DriftMessage) -> Table:
    """Return a row a moment, of one system after the other."""
    several = len(answer.systems) > 1
    timed = answer.systems[0].points[0].time is not None
    fields = {**_LEVEL, **_MOVES, **_INFLATION}
    columns = {"system": ""} if several else {}
    columns |= {"matches": ",d", **({"time": ""} if timed else {}), **dict(fields.values())}
    rows = (
        [one.label] * several
        + [point.matches]
        + [minutes(point.time)] * timed
        + [getattr(point, field) for field in fields]
        for one in answer.systems
        for point in one.points
    )
    return table(columns, rows)


def ends_table(answer: DriftMessage) -> Table:
    """Return a row a system: the last moment, and what moved its mean rating since the start."""
    fields = {**_LEVEL, **_MOVES, **_ALL, **_INFLATION}
    rows = ((one.label, *(_at_end(one, field) for field in fields)) for one in answer.systems)
    return table({"system": "", **dict(fields.values())}, rows)


def drift_lines(answer: DriftMessage) -> list[str]:
    """Return what was looked at, in words."""
    from equipoise.data.drift import ActivityWindow

    first, last = answer.systems[0].points[0], answer.systems[0].points[-1]
    window = ActivityWindow(
        "days" if answer.window.unit == "days" else "matches", answer.window.length
    )
    lines = [
        f"{counted(len(answer.systems[0].points), 'moment')} from match {first.matches:,} to "
        f"{last.matches:,}; active players have played in the last {window}"
    ]
    for one in answer.systems:
        name = f"{one.label}: " if len(answer.systems) > 1 else ""
        if one.start is not None and last.rated:
            lines.append(f"{name}{_told(one, one.points[-1])}")
    return lines


def _told(one: DriftSystemMessage, last: DriftPointMessage) -> str:
    """Return in words what a system did to the ratings of all."""
    added = f"matches added {cell(last.added, '+z.1f')} points a player"
    if not one.scales:
        return f"{added}; {one.system} does not scale changes by performance"
    return f"{added}, {cell(last.added_by_performance, '+z.1f')} of them by performance scaling"


def _at_end(one: DriftSystemMessage, field: str) -> Any:
    """Return the last value of a field; of what moved the mean rating, the sum."""
    values = [getattr(point, field) for point in one.points]
    if field not in _MOVES:
        return values[-1]
    return None if values[-1] is None else sum(values)
