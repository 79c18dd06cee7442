"""Draw docs/figures/comparing.svg: the bundled sample rated by two systems.

Run: python docs/figures/comparing.py
The same as the commands at the beginning of docs/guides/comparing.md, with this chart.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from equipoise.cli import run

HERE = Path(__file__).parent
SYSTEMS = ("elo-mmr", "trueskill")
TITLE = "A season of 40 contests, rated by two systems"


def main(target: Path = HERE / "comparing.svg") -> int:
    """Draw the chart; return the exit status."""
    sample = str(HERE.parents[1] / "examples" / "contests.csv")
    with tempfile.TemporaryDirectory() as folder:
        tables = [f"{folder}/{system}.csv" for system in SYSTEMS]
        for system, table in zip(SYSTEMS, tables, strict=True):
            run(["rate", sample, "--system", system, "--output", table])
        drawn = ["--title", TITLE, "--chart", str(target)]
        return run(["compare", *tables, *drawn])


if __name__ == "__main__":
    raise SystemExit(main())
