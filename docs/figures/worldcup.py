"""Draw docs/figures/worldcup.svg: performances at the World Cup of 2022, class by class.

Run: python docs/figures/worldcup.py
"""

from __future__ import annotations

from pathlib import Path

import equipoise as eq
from equipoise.charts import theme

HERE = Path(__file__).parent


def main(target: Path = HERE / "worldcup.svg") -> int:
    """Draw the chart; return the exit status."""
    games = eq.read_games(HERE.parents[1] / "examples" / "worldcup2022.csv")
    theme.write(eq.performance(games).plot(name="the World Cup of 2022"), str(target))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
