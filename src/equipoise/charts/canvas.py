"""Text charts for a terminal: lines of braille dots, areas, text and axes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from equipoise.arrays import Floats, Ints


class Span(NamedTuple):
    """Adjacent letters of one colour: a name of `COLOURS`, "dim", or ""."""

    text: str
    colour: str


Row: TypeAlias = list[Span]

#: Colours of the terminal's palette, which are readable on its background.
COLOURS = ("cyan", "yellow", "magenta", "green", "red", "blue")


class Glyphs(NamedTuple):
    """The characters that a terminal can show.

    braille : whether lines can be drawn with braille dots
    """

    braille: bool
    dot: str
    band: str
    bars: str
    rule: str
    side: str
    corner: str
    above: str
    below: str


UNICODE = Glyphs(
    braille=True,
    dot="\N{BULLET}",
    band="\N{LIGHT SHADE}",
    bars=" \N{LOWER ONE EIGHTH BLOCK}\N{LOWER ONE QUARTER BLOCK}\N{LOWER THREE EIGHTHS BLOCK}"
    "\N{LOWER HALF BLOCK}\N{LOWER FIVE EIGHTHS BLOCK}\N{LOWER THREE QUARTERS BLOCK}"
    "\N{LOWER SEVEN EIGHTHS BLOCK}\N{FULL BLOCK}",
    rule="\N{BOX DRAWINGS LIGHT HORIZONTAL}",
    side="\N{BOX DRAWINGS LIGHT VERTICAL AND LEFT}",
    corner="\N{BOX DRAWINGS LIGHT UP AND RIGHT}",
    above="\N{BLACK UP-POINTING TRIANGLE}",
    below="\N{BLACK DOWN-POINTING TRIANGLE}",
)
ASCII = Glyphs(False, "o", ":", " #", "-", "+", "+", "^", "v")


class Sheet(NamedTuple):
    """The size of a chart, and what the terminal can show."""

    columns: int
    rows: int
    coloured: bool
    glyphs: Glyphs


#: Dots of a cell: two columns and four rows, with their bits in the Unicode block.
_BITS = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]])
_BRAILLE = 0x2800


class Canvas:
    """Cells to draw on; positions run from 0 to 1, to the right and upwards."""

    def __init__(self, columns: int, rows: int) -> None:
        self.columns, self.rows = columns, rows
        self._dots = np.zeros((rows, columns), np.int64)
        self._letters = np.full((rows, columns), " ", dtype=object)
        self._colours = np.full((rows, columns), "", dtype=object)

    def write(self, x: float, y: float, text: str, colour: str) -> None:
        """Write text to the right from the cell at a position, as far as there are cells."""
        row, column = self._row(y), self._column(x)
        for letter in text[: self.columns - column]:
            self._letters[row, column], self._colours[row, column] = letter, colour
            column += 1

    def fill(self, x: float, low: float, high: float, letter: str, colour: str) -> None:
        """Fill the cells of one column whose middle is between two heights."""
        middles = 1 - (np.arange(self.rows) + 0.5) / self.rows
        within = (middles >= low) & (middles <= high)
        self._letters[within, self._column(x)] = letter
        self._colours[within, self._column(x)] = colour

    def line(self, x: Floats, y: Floats, colour: str) -> None:
        """Draw a line through points in braille; both arrays have shape (n,)."""
        across, up = x * (2 * self.columns - 1), y * (4 * self.rows - 1)
        for start in range(max(len(x) - 1, 1)):
            stop = min(start + 1, len(x) - 1)
            length = max(abs(across[stop] - across[start]), abs(up[stop] - up[start]))
            steps = int(min(length, 8 * (self.columns + self.rows))) + 1
            self._dot(
                np.linspace(across[start], across[stop], steps + 1),
                np.linspace(up[start], up[stop], steps + 1),
                colour,
            )

    def letters(self, x: Floats, y: Floats, letter: str, colour: str) -> None:
        """Draw a line through points with one letter for each column; x rises."""
        middles = (np.arange(self.columns) + 0.5) / self.columns
        reach = 0.5 / self.columns
        within = middles[(middles >= x[0] - reach) & (middles <= x[-1] + reach)]
        for across, up in zip(within.tolist(), np.interp(within, x, y).tolist(), strict=True):
            self.write(across, up, letter, colour)

    def _dot(self, across: Floats, up: Floats, colour: str) -> None:
        column = np.clip(np.rint(across).astype(np.int64), 0, 2 * self.columns - 1)
        row = np.clip(4 * self.rows - 1 - np.rint(up).astype(np.int64), 0, 4 * self.rows - 1)
        cells = (row // 4, column // 2)
        np.bitwise_or.at(self._dots, cells, _BITS[row % 4, column % 2])
        self._colours[cells] = colour

    def _column(self, x: float) -> int:
        return int(np.clip(x * self.columns, 0, self.columns - 1))

    def _row(self, y: float) -> int:
        return self.rows - 1 - int(np.clip(y * self.rows, 0, self.rows - 1))

    def spans(self) -> list[Row]:
        """Return the rows from the top, with cells of one colour joined."""
        letters = np.where(
            self._dots > 0, np.vectorize(chr, otypes=[object])(_BRAILLE + self._dots), self._letters
        )
        return [
            joined(Span(str(letter), str(colour)) for letter, colour in zip(*row, strict=True))
            for row in zip(letters, self._colours, strict=True)
        ]


def joined(spans: Iterable[Span]) -> Row:
    """Return a row with adjacent spans of one colour joined."""
    row: Row = []
    for span in spans:
        if row and row[-1].colour == span.colour:
            row[-1] = Span(row[-1].text + span.text, span.colour)
        else:
            row.append(span)
    return row


def with_heights(
    rows: Sequence[Row], texts: Sequence[str], at: Floats, glyphs: Glyphs
) -> list[Row]:
    """Add a vertical axis at the left of rows, with texts at the positions `at` (0 to 1)."""
    width = max(map(len, texts), default=0)
    count = len(rows)
    by_row = {
        count - 1 - int(np.clip(height * count, 0, count - 1)): text
        for text, height in zip(texts, at.tolist(), strict=True)
    }
    return [
        [Span(f"{by_row.get(number, ''):>{width}} {glyphs.side}", "dim"), *row]
        for number, row in enumerate(rows)
    ]


def ruler(columns: int, names: Sequence[str], at: Floats, glyphs: Glyphs, indent: int) -> list[Row]:
    """Return the axis below a chart: a line, and labels centred at `at` if there is room."""
    letters = [" "] * columns
    end = -1
    order: Ints = np.argsort(at, kind="stable")
    for number in order.tolist():
        name = names[number]
        start = int(np.clip(at[number] * columns - len(name) / 2, 0, max(columns - len(name), 0)))
        if start > end:
            letters[start : start + len(name)] = name
            end = start + len(name)
    rule = " " * (indent - 1) + glyphs.corner + glyphs.rule * columns
    return [
        [Span(rule, "dim")],
        [Span((" " * indent + "".join(letters)).rstrip(), "dim")],
    ]
