"""Draw docs/figures/drift.svg: team-glicko2 with and without scaling by performance.

Run: python docs/figures/drift.py
The matches are made up (`equipoise simulate --kind teams --seed 7` with newcomers = 0.6 and
newcomer_gap = 150), so that nothing but the package is needed.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import equipoise as eq
from equipoise.analysis.audit.chart import drift_figure
from equipoise.analysis.reading import with_performance
from equipoise.charts import theme
from equipoise.evaluate.drift import drift
from equipoise.evaluate.synthetic import TeamModel, simulate_teams

HERE = Path(__file__).parent
WEIGHTS = {"kills": 1.0, "deaths": -1.0, "damage": 1 / 220}
MODEL = TeamModel(newcomers=0.6, newcomer_gap=150)
VARIANTS = {"plain": {"beta": 0.0}, "scaled": {}, "conserved": {"conserve": True}}
POINTS = 40


def draw(target: Path) -> None:
    """Simulate, rate in three ways, and write the chart."""
    made, _ = simulate_teams(MODEL, rng=np.random.default_rng(7))
    history = with_performance(made, WEIGHTS)
    found = {
        label: drift(eq.make_system("team-glicko2", parameters), history, points=POINTS)
        for label, parameters in VARIANTS.items()
    }
    figure = drift_figure(
        found,
        title="What scaling by performance does to the level",
        subtitle="2,000 made-up matches of five against five, with newcomers who are weaker. "
        "Active players have played in the last 90 days.",
    )
    with target.open("wb") as file:
        theme.save(figure, file, "svg")


if __name__ == "__main__":
    draw(HERE / "drift.svg")
