"""Draw docs/figures/season.svg: three players of the bundled sample through their season.

Run: python docs/figures/season.py
The chart of `equipoise plot examples/contests.csv` with these players, and a title.
"""

from __future__ import annotations

from pathlib import Path

import equipoise as eq
from equipoise.charts import theme

HERE = Path(__file__).parent
PLAYERS = ("jade-kite", "dune-crane", "birch-fox")
TITLE = "Three players through a season of 40 contests"


def main(target: Path = HERE / "season.svg") -> int:
    """Draw the chart; return the exit status."""
    history = eq.read_history(HERE.parents[1] / "examples" / "contests.csv")
    done = eq.replay(eq.EloMMR(), history, trace=True)
    theme.write(done.plot(*PLAYERS, title=TITLE), str(target))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
