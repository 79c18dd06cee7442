"""How large a chart of letters may be, and what its reader can see."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from equipoise.charts.canvas import Sheet

#: Of a chart in a pipe, whose width nobody tells.
_PIPED = (100, 30)
#: Lines of a terminal left to titles and prompt, and the most that a chart needs.
_LEFT, _TALLEST = 7, 26


def sheet() -> Sheet:
    """Return how large a chart should be: as wide as the terminal, plain in a pipe."""
    import os
    import shutil

    from equipoise.charts.canvas import ASCII, UNICODE, Sheet

    columns, lines = shutil.get_terminal_size(_PIPED)
    # NO_COLOR: https://no-color.org
    coloured = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return Sheet(
        columns=columns - 1,
        rows=min(max(lines - _LEFT, 8), _TALLEST),
        coloured=coloured,
        # Whether standard output takes every letter that a chart may use.
        glyphs=UNICODE if encoding.lower().startswith("utf") else ASCII,
    )
