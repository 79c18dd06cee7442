"""Draw docs/figures/arena.svg: leaderboards of the synthetic arena by category.

Run: python docs/figures/arena.py
The same as `equipoise leaderboard examples/arena.csv` with these options.
"""

from __future__ import annotations

from pathlib import Path

from equipoise.cli import run

HERE = Path(__file__).parent
OPTIONS = ("--by", "category")


def main(target: Path = HERE / "arena.svg") -> int:
    """Draw the chart; return the exit status."""
    battles = str(HERE.parents[1] / "examples" / "arena.csv")
    return run(["leaderboard", battles, *OPTIONS, "--chart", str(target)])


if __name__ == "__main__":
    raise SystemExit(main())
