"""Make the sample: a season of 40 contests between 120 invented players.

Run: python examples/make_contests.py
It is written twice, the same: examples/contests.csv for readers of this repository, and a copy
inside the package, which `equipoise demo` finds wherever the package is installed. The files are
the same on every machine; a test holds them against this script.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np

from equipoise.data.history import History
from equipoise.evaluate.synthetic import ContestModel, simulate_contests
from equipoise.formats import write_history

FIRST = ("amber", "birch", "cedar", "dune", "ember", "fjord", "grove", "heath", "iris", "jade")
SECOND = (
    *("ant", "bear", "crane", "deer", "eagle", "fox"),
    *("goose", "hare", "ibis", "jay", "kite", "lynx"),
)

MODEL = ContestModel(
    players=120,
    contests=40,
    attendance=0.45,
    skill_deviation=320.0,
    performance_deviation=180.0,
    drift_deviation=25.0,
    score_step=60.0,
)


def season() -> History:
    """Return the season."""
    names = np.array(
        [f"{first}-{second}" for first, second in itertools.product(FIRST, SECOND)], dtype=object
    )
    history, _ = simulate_contests(MODEL, rng=np.random.default_rng(20261120), names=names)
    return history


EXAMPLES = Path(__file__).parent
PLACES = (
    EXAMPLES / "contests.csv",
    EXAMPLES.parent / "src" / "equipoise" / "sample" / "contests.csv",
)

if __name__ == "__main__":
    for place in PLACES:
        write_history(season(), place)
