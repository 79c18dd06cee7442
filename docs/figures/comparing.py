"""Draw docs/figures/comparing.svg: the bundled sample rated by two systems.

Run: python docs/figures/comparing.py
The chart of the commands at the beginning of docs/guides/comparing.md, and a title.
"""

from __future__ import annotations

from pathlib import Path

import equipoise as eq
from equipoise.charts import theme

HERE = Path(__file__).parent
TITLE = "A season of 40 contests, rated by two systems"


def main(target: Path = HERE / "comparing.svg") -> int:
    """Draw the chart; return the exit status."""
    history = eq.read_history(HERE.parents[1] / "examples" / "contests.csv")
    old, new = (eq.replay(system, history).ratings for system in (eq.EloMMR(), eq.TrueSkill()))
    comparison = eq.compare_ratings(old, new, names=("elo-mmr.csv", "trueskill.csv"))
    theme.write(comparison.plot(title=TITLE), str(target))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
