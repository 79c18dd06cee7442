"""Draw docs/figures/figure1.svg, Figure 1 of [EM]: penalties, and the two models of performance.

Run: python docs/figures/figure1.py
`equipoise reproduce elo-mmr figure-1 --charts DIR` draws the same.
"""

from __future__ import annotations

from pathlib import Path

from equipoise.charts import theme
from equipoise.papers.elo_mmr.figures import figure1
from equipoise.papers.items import Facts

HERE = Path(__file__).parent


def main() -> None:
    """Draw the figure and write the file."""
    with theme.style():
        theme.write(figure1(Facts()), str(HERE / "figure1.svg"))


if __name__ == "__main__":
    main()
