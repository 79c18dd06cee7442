"""Draw docs/figures/worldcup.svg: performances at the World Cup of 2022, class by class.

Run: python docs/figures/worldcup.py
"""

from __future__ import annotations

from pathlib import Path

from equipoise.cli import run

HERE = Path(__file__).parent


def main(target: Path = HERE / "worldcup.svg") -> int:
    """Draw the chart; return the exit status."""
    games = str(HERE.parents[1] / "examples" / "worldcup2022.csv")
    return run(["performance", games, "--title", "the World Cup of 2022", "--chart", str(target)])


if __name__ == "__main__":
    raise SystemExit(main())
