"""The tables of an audit of drift, as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from equipoise.wording import counted

if TYPE_CHECKING:
    from equipoise.messages.drift import DriftMessage, DriftPointMessage, DriftSystemMessage

#: Columns, rows, and which columns are numbers.
Table: TypeAlias = tuple[Sequence[str], Sequence[Sequence[str]], set[str]]

#: (field, its column, how it is written)
_LEVEL = (
    ("active", "active", ",d"),
    ("rating", "rating", ".1f"),
    ("deviation", "deviation", ".1f"),
    ("spread", "spread", ".1f"),
)
_MOVES = (
    ("by_matches", "by_matches", "+.1f"),
    ("by_entering", "by_entering", "+.1f"),
    ("by_leaving", "by_leaving", "+.1f"),
    ("by_performance", "by_perf", "+.1f"),
)
_INFLATION = (
    ("inflation", "inflation", "+.3f"),
    ("inflation_by_performance", "infl_perf", "+.3f"),
)
_ALL = (("players", "players", ",d"), ("rating_all", "rating_all", ".1f"))


def moments_table(answer: DriftMessage) -> Table:
    """Return a row a moment, of one system after the other."""
    from equipoise.data.times import to_the_minute

    several = len(answer.systems) > 1
    timed = answer.systems[0].points[0].time is not None
    fields = (*_LEVEL, *_MOVES, *_INFLATION)
    columns = ["system"] * several + ["matches"] + ["time"] * timed
    columns += [column for _, column, _ in fields]
    rows = [
        [one.label] * several
        + [f"{point.matches:,d}"]
        + [to_the_minute(point.time)] * timed
        + [_cell(getattr(point, field), kind) for field, _, kind in fields]
        for one in answer.systems
        for point in one.points
    ]
    return columns, rows, set(columns) - {"system", "time"}


def ends_table(answer: DriftMessage) -> Table:
    """Return a row a system: the last moment, and what moved its mean rating since the start."""
    fields = (*_LEVEL, *_MOVES, *_ALL, *_INFLATION)
    columns = ["system", *(column for _, column, _ in fields)]
    rows = [
        [one.label, *(_cell(_at_end(one, field), kind) for field, _, kind in fields)]
        for one in answer.systems
    ]
    return columns, rows, set(columns) - {"system"}


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
    added = f"matches added {_cell(last.added, '+.1f')} points a player"
    if not one.scales:
        return f"{added}; {one.system} does not scale changes by performance"
    return f"{added}, {_cell(last.added_by_performance, '+.1f')} of them by performance scaling"


def _at_end(one: DriftSystemMessage, field: str) -> Any:
    """Return the last value of a field; of what moved the mean rating, the sum."""
    values = [getattr(point, field) for point in one.points]
    if field not in {move for move, _, _ in _MOVES}:
        return values[-1]
    return None if values[-1] is None else sum(values)


def _cell(value: float | None, kind: str) -> str:
    if value is None:
        return ""
    # What is 0 but for rounding must not become -0.0.
    return format(value if isinstance(value, int) else round(value, int(kind[-2])) + 0.0, kind)
