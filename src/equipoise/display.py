"""How values print, and what notebooks show of them: one line, or a table with its first rows.

`Displayed` gives a value a short `repr` from its `_in_words`. `Tabular` adds `to_pandas`, `head`
and the HTML table of notebooks to a value that has `to_polars`. `table_html` makes such a table
from columns of any kind. Names come from users, so all text is escaped.
"""

from __future__ import annotations

import importlib
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from markupsafe import Markup

from equipoise.errors import EquipoiseError, require
from equipoise.markup import element, joined
from equipoise.wording import counted, printable

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure


#: Rows and columns of a table in a notebook; more are counted.
SHOWN_ROWS, SHOWN_COLUMNS = 10, 12
#: Letters of a name or of a text in a cell; longer ones are cut.
_LETTERS, _CELL_LETTERS = 32, 120
_NOTHING = "\N{EN DASH}"
_MORE = "\N{HORIZONTAL ELLIPSIS}"

#: Lines are half transparent, and text has the colour of the page, so that tables can be read on
#: light and on dark pages.
_LINE = "1px solid rgba(128,128,128,.45)"
_STYLES = {
    "frame": "overflow-x:auto;max-width:100%;margin:.4em 0",
    "table": "border-collapse:collapse;font-size:.92em;line-height:1.45;color:inherit",
    "caption": "text-align:left;font-weight:600;padding:.2em .6em;caption-side:top;color:inherit;"
    "white-space:nowrap",
    "head": f"text-align:{{}};padding:.2em .6em;border-bottom:{_LINE};font-weight:600;"
    "white-space:nowrap;vertical-align:bottom",
    "cell": "text-align:{};padding:.15em .6em;font-variant-numeric:tabular-nums;"
    "font-weight:normal;white-space:{}",
    "note": "margin:.1em 0 .1em .6em;opacity:.75;font-size:.88em",
}

#: Deviations on either side of a rating within which 95 % of a normal distribution lies.
HALF_WIDTH: Final = 1.96
#: How ± is labelled.
RANGE_LABEL: Final = "95 %"


def name_in_words(name: object) -> str:
    """Return a name for a line of text: without control characters, and not too long."""
    text = printable(str(name))
    return text if len(text) <= _LETTERS else f"{text[: _LETTERS - 1]}{_MORE}"


def names_in_words(names: Sequence[object], most: int = 3) -> str:
    """Return the first names, and how many more there are."""
    listed = ", ".join(name_in_words(name) for name in names[:most])
    return listed if len(names) <= most else f"{listed} and {len(names) - most:,} more"


def number_in_words(value: float, digits: int = 1) -> str:
    """Return a number with this many decimals, or a dash for NaN."""
    if math.isnan(value):
        return _NOTHING
    text = f"{value:,.{digits}f}"
    return text.removeprefix("-") if not text.strip("-0.,") else text


class Displayed(ABC):
    """A value that prints as one short line, which notebooks show too.

    Examples
    --------
    >>> duels = {"match": [1, 1], "player": ["ann", "ben"], "rank": [1, 2]}
    >>> eq.replay(eq.Elo(), eq.read_history(duels)).state
    <PoolState: 2 players after 1 match by elo>
    """

    __slots__ = ()

    @abstractmethod
    def _in_words(self) -> str:
        """Return what the value holds, in one line."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {printable(self._in_words())}>"

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        return element("p", repr(self), style="margin:.4em 0")


class Tabular(Displayed):
    """A value that is a table, for Polars, for pandas, and for notebooks.

    Examples
    --------
    >>> duels = {"match": [1, 1], "player": ["ann", "ben"], "rank": [1, 2]}
    >>> done = eq.replay(eq.Elo(), eq.read_history(duels))
    >>> done.head(1)["player"].to_list()
    ['ann']
    >>> done.to_pandas()["rating"].tolist()
    [1516.0, 1484.0]
    """

    __slots__ = ()

    @abstractmethod
    def to_polars(self) -> pl.DataFrame:
        """Return the table as a Polars data frame."""

    def file_table(self) -> pl.DataFrame:
        """Return the table as files have it: times are of the kind that came in."""
        return self.to_polars()

    def to_pandas(self) -> Any:
        """Return the table as a pandas data frame.

        Raises : EquipoiseError   pandas is not installed
        """
        return pandas_frame(self.to_polars())

    def head(self, rows: int = 5) -> pl.DataFrame:
        """Return the first rows of the table as a Polars data frame.

        Raises : InvalidParameterError
        """
        require(rows >= 0, "rows", "at least 0", rows)
        return self._first(rows)

    def _first(self, rows: int) -> pl.DataFrame:
        """Return the first rows; large tables override this, so as not to make all of them."""
        return self.to_polars().head(rows)

    def _shown(self, rows: int) -> pl.DataFrame:
        """Return the first rows for a notebook; wide tables override this."""
        return self._first(rows)

    def _rows(self) -> int:
        """Return the number of rows of the table."""
        return self.to_polars().height

    def _notes(self) -> Sequence[str]:
        """Return sentences to show below the table."""
        return ()

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the first rows, and how many more there are."""
        first = self._shown(SHOWN_ROWS)
        columns = dict(_column_in_words(first[name]) for name in first.columns)
        return table_html(self._in_words(), columns, rows=self._rows(), notes=self._notes())


def draw(value: object, *arguments: Any, **options: Any) -> Figure:
    """Return the chart of a value, by its type.

    Charts stand above values, so their table is looked up by name when one is drawn.
    """
    charts = importlib.import_module("equipoise.analysis.plot.computation").CHARTS
    figure: Figure = charts[type(value)](value, *arguments, **options)
    return figure


def pandas_frame(frame: pl.DataFrame) -> Any:
    """Return a Polars data frame as one of pandas, without Arrow.

    Missing numbers are NaN, and missing whole numbers are NA of the type Int64.
    Raises : EquipoiseError   pandas is not installed
    """
    try:
        import pandas
    except ImportError:
        raise EquipoiseError(
            "to_pandas needs pandas, which is not installed: pip install pandas"
        ) from None
    import polars as pl

    def column(values: pl.Series) -> Any:
        if isinstance(values.dtype, pl.Datetime):
            stamps = pandas.Series(values.dt.replace_time_zone(None).to_numpy())
            return stamps if values.dtype.time_zone is None else stamps.dt.tz_localize("UTC")
        if values.dtype.is_float():
            return values.fill_null(math.nan).to_numpy()
        if values.dtype.is_integer() and values.null_count():
            return pandas.array(values.to_list(), dtype="Int64")
        if values.dtype.is_integer() or values.dtype == pl.Boolean:
            return values.to_numpy() if not values.null_count() else values.to_list()
        return pandas.Series(values.to_list(), dtype=object)

    return pandas.DataFrame({name: column(frame[name]) for name in frame.columns})


def table_html(
    caption: str,
    columns: Mapping[str, Sequence[object]],
    *,
    rows: int | None = None,
    notes: Sequence[str] = (),
) -> Markup:
    """Return a table in HTML for a notebook; all text is escaped.

    caption : what the table is, in one line
    columns : name -> values; the first column names the rows
    rows : number of rows that the whole table has; None means those given
    notes : sentences below the table
    """
    names = list(columns)[:SHOWN_COLUMNS]
    shown = {name: list(columns[name])[:SHOWN_ROWS] for name in names}
    count = max((len(values) for values in columns.values()), default=0)
    rows = count if rows is None else rows
    texts = {name: _texts(values) for name, values in shown.items()}
    sides = {name: "right" if _are_numbers(shown[name]) else "left" for name in names}
    head = [
        element("th", name, scope="col", style=_STYLES["head"].format(sides[name]))
        for name in names
    ]
    body = [
        element(
            "tr",
            [
                element(
                    "th" if at == 0 else "td",
                    texts[name][row],
                    scope="row" if at == 0 else None,
                    style=_STYLES["cell"].format(
                        sides[name], "nowrap" if len(texts[name][row]) <= _LETTERS else "normal"
                    ),
                )
                for at, name in enumerate(names)
            ],
        )
        for row in range(min(count, SHOWN_ROWS))
    ]
    more = []
    if rows > len(body):
        more.append(f"{_MORE} and {rows - len(body):,} more")
    if len(columns) > len(names):
        more.append(f"{_MORE} and {counted(len(columns) - len(names), 'more column')}")
    words = printable(caption)
    table = element(
        "table",
        element("caption", words, style=_STYLES["caption"]),
        element("thead", element("tr", head)),
        element("tbody", body),
        style=_STYLES["table"],
    )
    # A keyboard scrolls a wide table only if it can reach it.
    frame = {"tabindex": "0", "role": "region", "aria_label": words, "style": _STYLES["frame"]}
    below = [element("p", printable(note), style=_STYLES["note"]) for note in (*more, *notes)]
    return element("div", element("div", table, **frame), joined(below))


def _column_in_words(column: pl.Series) -> tuple[str, list[Any]]:
    """Return the heading and the values of a column; times are said to be in UTC."""
    import polars as pl

    if isinstance(column.dtype, pl.Datetime):
        # Without the zone, so that Python needs no database of time zones.
        return f"{column.name} (UTC)", column.dt.replace_time_zone(None).to_list()
    return column.name, column.to_list()


def _are_numbers(values: Sequence[object]) -> bool:
    """Return whether a column has nothing but numbers, or nothing at all."""
    return all(
        value is None or (isinstance(value, int | float) and not isinstance(value, bool))
        for value in values
    )


def _texts(values: Sequence[object]) -> list[str]:
    """Return the cells of a column; floats of a column have the same number of decimals."""
    floats = [value for value in values if isinstance(value, float) and math.isfinite(value)]
    largest = max((abs(number) for number in floats), default=0.0)
    digits = 1 if largest >= 100 else 2 if largest >= 10 else 3
    if all(number == round(number) for number in floats):
        digits = 0
    return [_text(value, digits) for value in values]


def _text(value: object, digits: int) -> str:
    if value is None:
        return _NOTHING
    if isinstance(value, float):
        return number_in_words(value, digits) if math.isfinite(value) else str(value)
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M}"
    text = printable(str(value))
    return text if len(text) <= _CELL_LETTERS else f"{text[: _CELL_LETTERS - 1]}{_MORE}"


def half_width_in_words(deviation: float) -> str:
    """Return how far the 95 % range extends on either side of a rating, in two or three digits.

    More would claim to know it better.
    """
    width = HALF_WIDTH * deviation
    digits = 0 if width >= 100 else 1 if width >= 10 else 2
    return f"{width:,.{digits}f}"
