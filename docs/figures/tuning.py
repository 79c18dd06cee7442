"""Draw docs/figures/tuning.svg: drift and deviation of Glicko on half of the bundled sample.

Run: python docs/figures/tuning.py
The same as `equipoise tune examples/contests.csv` with this grid, a title and this file.
"""

from __future__ import annotations

from pathlib import Path

from equipoise.cli import run

HERE = Path(__file__).parent
GRID = ("drift=0,5,10,20,35,50", "initial_deviation=60,80,100,150,200,350")
TITLE = "Log loss of Glicko by its two parameters"


def main(target: Path = HERE / "tuning.svg") -> int:
    """Draw the chart; return the exit status."""
    arguments = ["tune", str(HERE.parents[1] / "examples" / "contests.csv"), "--system", "glicko"]
    for values in GRID:
        arguments += ["--grid", values]
    arguments += ["--metric", "log_loss", "--first", "50%", "--title", TITLE]
    return run([*arguments, "--chart", str(target)])


if __name__ == "__main__":
    raise SystemExit(main())
