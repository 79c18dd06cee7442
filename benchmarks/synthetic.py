"""How well do elo-mmr and elo-mmx predict the document's synthetic contests (Table 2)?

Ten histories of the default `ContestModel` (READINGS B10: 2,500 players, 50 rounds, all play),
seeds 0 to 9, default parameters, players with five earlier rounds. Table 2 has 81.7 % and 12.8 %
for both.

Then what the document prints: skills with "variance 300", performances with "variance 50", a drift
with "variance 10". Read as variances and as standard deviations, against the default model, whose
standard deviations are 300, 200 and 35; elo-mmr, the same seeds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from equipoise.evaluate.backtest import backtest
from equipoise.evaluate.synthetic import ContestModel, simulate_contests
from equipoise.rating.elo_mmr.elo_mmr import EloMMR, EloMMX
from equipoise.rating.system import RatingSystem
from report import Part, report_parts

SEEDS = 10
METRICS = ("pair_inversion", "rank_deviation")


#: Standard deviations of skills, of performances and of the drift.
READ = {
    "300, 50 and 10 as variances": (math.sqrt(300), math.sqrt(50), math.sqrt(10)),
    "300, 50 and 10 as standard deviations": (300.0, 50.0, 10.0),
    "300, 200 and 35 as standard deviations (ours)": (300.0, 200.0, 35.0),
}


def measure(
    model: ContestModel, systems: Mapping[str, RatingSystem]
) -> dict[tuple[str, str], list[float]]:
    """Return {(label, metric): its value on every seed}."""
    found: dict[tuple[str, str], list[float]] = {}
    for seed in range(SEEDS):
        history, _ = simulate_contests(model, rng=np.random.default_rng(seed))
        scores = backtest(systems, history, rng=np.random.default_rng(0), resamples=0)
        for one in scores.systems:
            for metric in METRICS:
                found.setdefault((one.label, metric), []).append(one.metrics[metric])
    return found


def main() -> None:
    """Measure and report."""
    systems: dict[str, RatingSystem] = {"elo-mmr": EloMMR(), "elo-mmx": EloMMX()}
    found = measure(ContestModel(), systems)
    rows = [
        (label, *(shown(found[label, metric]) for metric in METRICS))
        for label in (*systems, "baseline")
    ]
    read = []
    for name, (skill, performance, drift) in READ.items():
        model = ContestModel(
            skill_deviation=skill, performance_deviation=performance, drift_deviation=drift
        )
        of_reading = measure(model, {"elo-mmr": EloMMR()})
        read.append((name, *(shown(of_reading["elo-mmr", metric]) for metric in METRICS)))
    columns = ("pair inversion, %", "rank deviation, %")
    parts = [
        Part("", ("system", *columns), rows),
        Part("What the document prints", ("skills, performances, drift", *columns), read),
    ]
    report_parts("synthetic", (__doc__ or "").strip(), parts)


def shown(values: list[float]) -> str:
    """Return the mean of the histories and their range."""
    return f"{np.mean(values):.2f} ({min(values):.2f} to {max(values):.2f})"


if __name__ == "__main__":
    main()
