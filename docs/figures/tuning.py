"""Draw docs/figures/tuning.svg: drift and deviation of Glicko on half of the bundled sample.

Run: python docs/figures/tuning.py
The chart of `equipoise tune examples/contests.csv --first 50%` with this grid, and a title.
"""

from __future__ import annotations

from pathlib import Path

import equipoise as eq
from equipoise.charts import theme

HERE = Path(__file__).parent
GRID = {
    "drift": (0.0, 5.0, 10.0, 20.0, 35.0, 50.0),
    "initial_deviation": (60.0, 80.0, 100.0, 150.0, 200.0, 350.0),
}
TITLE = "Log loss of Glicko by its two parameters"


def main(target: Path = HERE / "tuning.svg") -> int:
    """Draw the chart; return the exit status."""
    history = eq.read_history(HERE.parents[1] / "examples" / "contests.csv")
    first = history.slice(0, history.matches // 2)
    theme.write(eq.tune(eq.Glicko(), first, GRID, metric="log_loss").plot(title=TITLE), str(target))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
