"""Charts of letters on a terminal or in a pipe."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from equipoise.charts.canvas import Row

#: Of a chart in a pipe, whose width nobody tells.
_PIPED = (100, 30)
#: Lines of a terminal left to titles and prompt, and the most that a chart needs.
_LEFT, _TALLEST = 7, 26


class Sheet(NamedTuple):
    """What there is room for, and what its reader can see."""

    columns: int
    rows: int
    coloured: bool
    unicode: bool


def sheet() -> Sheet:
    """Return how large a chart should be: as wide as the terminal, plain in a pipe."""
    import os
    import shutil

    columns, lines = shutil.get_terminal_size(_PIPED)
    # NO_COLOR: https://no-color.org
    coloured = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return Sheet(
        columns=columns - 1,
        rows=min(max(lines - _LEFT, 8), _TALLEST),
        coloured=coloured,
        # Whether standard output takes every letter that a chart may use.
        unicode=encoding.lower().startswith("utf"),
    )


def print_rows(rows: list[Row]) -> None:
    """Print the lines of a chart, in colours on a terminal."""
    if not sys.stdout.isatty():
        lines = ["".join(span.text for span in row).rstrip() for row in rows]
        sys.stdout.write("\n".join(lines) + "\n")
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, markup=False)
    for row in rows:
        console.print(Text.assemble(*((span.text, span.colour) for span in row)), no_wrap=True)
