"""Tables of text: how values become cells, and cells become aligned lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import NamedTuple

from equipoise.wording import printable

#: Ends a time that is a day.
_MIDNIGHT = " 00:00"


class Table(NamedTuple):
    """A table of text; the columns named in `numbers` are aligned to the right."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: set[str]

    def printable(self) -> Table:
        """Return the table without control characters and invisible characters."""
        return Table(
            [printable(name) for name in self.columns],
            [[printable(text) for text in row] for row in self.rows],
            {printable(name) for name in self.numbers},
        )

    def lines(self) -> list[str]:
        """Return the table as aligned lines."""
        widths = self.widths()
        lines = []
        for row in (self.columns, *self.rows):
            aligned = [
                text.rjust(width) if column in self.numbers else text.ljust(width)
                for column, text, width in zip(self.columns, row, widths, strict=True)
            ]
            lines.append("  ".join(aligned).rstrip())
        return lines

    def widths(self) -> list[int]:
        """Return the width of every column."""
        return [max(map(len, cells)) for cells in zip(self.columns, *self.rows, strict=True)]


def table(columns: Mapping[str, str], rows: Iterable[Iterable[object]]) -> Table:
    """Return a table of values.

    columns : name -> format of its numbers, such as ".2f"; "" is a column of text, and ">" is a
        column of text that is aligned to the right
    rows : their values; None becomes an empty cell
    """
    forms = list(columns.values())
    cells = [[cell(value, form) for value, form in zip(row, forms, strict=True)] for row in rows]
    return Table(list(columns), cells, {name for name, form in columns.items() if form})


def cell(value: object, form: str) -> str:
    """Return a value as a table shows it."""
    if value is None:
        return ""
    return str(value) if isinstance(value, str) or not form else format(value, form)


def minutes(time: int | str | date | datetime | None) -> str | None:
    """Return a time to the minute, a day, the number in an order without dates, or the text."""
    from equipoise.data.times import to_the_minute

    return None if time is None else to_the_minute(time)


def dates(times: Sequence[int | date | datetime | None]) -> list[str | None]:
    """Return the cells of a column of times: days, or minutes if a time is not a midnight."""
    cells = [minutes(time) for time in times]
    if all(one is None or one.endswith(_MIDNIGHT) or ":" not in one for one in cells):
        return [None if one is None else one.removesuffix(_MIDNIGHT) for one in cells]
    return cells


def cut(text: str, letters: int) -> str:
    """Return text, shortened to at most `letters` characters."""
    return text if len(text) <= letters else f"{text[: letters - 3]}..."
