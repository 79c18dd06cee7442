"""Do the error bars of leaderboards cover the true strengths, and how near do ratings come?

Sixty arenas are made as examples/make_arena.py does, with other seeds: 1,200 battles between 8
models in 3 categories, so that a model has about 100 battles in a category, and the one that joins
late about 45. The leaderboards of the categories are compared with the true strengths, both minus
their mean over the models, in rating points. Error bars are of 95 %. elo-k4 is elo with k=4;
bt-logistic is bradley-terry with beta=122.8, at which 400 points are ten to one, and drift=0.
strengths leaves ties out.
"""

from __future__ import annotations

import runpy
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from equipoise.analysis.leaderboard import LeaderboardRequest
from equipoise.analysis.leaderboard.computation import make_leaderboards
from equipoise.analysis.reading import HistoryRequest
from report import report

HERE = Path(__file__).parent
ARENAS = 60
SYSTEMS = (
    "elo",
    "elo-k4=elo",
    "bradley-terry",
    "bt-logistic=bradley-terry",
    "performance",
    "strengths",
)
#: beta of bt-logistic makes 400 points ten to one: 400 / ln 10 = sqrt(2) beta.
ASSIGNED = (
    "elo-k4.k=4",
    "bt-logistic.beta=122.8",
    "bt-logistic.drift=0",
)

#: Where error bars come from, of systems without deviations.
_SOURCES = {
    "elo": "bootstrap",
    "elo-k4": "bootstrap",
    "performance": "likelihood",
    "strengths": "likelihood",
}


def main() -> int:
    """Measure, print and write the results."""
    maker = runpy.run_path(str(HERE.parent / "examples" / "make_arena.py"))
    arenas = int(sys.argv[1]) if len(sys.argv) > 1 else ARENAS
    found: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for errors in ("deviation", "bootstrap"):
        for number in range(arenas):
            for label, pairs in compared(maker, number, errors).items():
                found.setdefault((label, errors), []).extend(pairs)
    rows = []
    for (label, errors), pairs in found.items():
        source = _SOURCES.get(label, "deviation") if errors == "deviation" else "bootstrap"
        if errors == "bootstrap" and label in _SOURCES:
            continue
        miss, width = np.array(pairs).T
        covered = 100 * float(np.mean(np.abs(miss) <= width))
        rows.append(
            (
                label,
                source,
                f"{np.sqrt(np.mean(miss**2)):.1f}",
                f"{np.mean(width):.1f}",
                f"{covered:.1f} %",
            )
        )
    columns = ("system", "error bars", "root mean square error", "mean half-width", "covered")
    report("arena", __doc__ or "", columns, rows)
    return 0


def compared(
    maker: dict[str, Any], number: int, errors: Any
) -> dict[str, list[tuple[float, float]]]:
    """Return how far each rating is off, and the half-width of its error bar, by system."""
    truth = maker["strengths"]()
    models, categories = maker["MODELS"], maker["CATEGORIES"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "arena.csv"
        path.write_text(maker["arena"](5_000 + number), encoding="utf-8")
        answer = make_leaderboards(
            LeaderboardRequest(
                history=HistoryRequest(source=str(path)),
                systems=SYSTEMS,
                assigned=ASSIGNED,
                by="category",
                errors=errors,
                seed=number,
            )
        )
    found: dict[str, list[tuple[float, float]]] = {}
    for board in answer.boards:
        column = categories.index(board.group)
        rows = board.order()
        strength = np.array([truth[models.index(board.player_ids[row])][column] for row in rows])
        for label, one in board.estimates.items():
            rating = one.rating[rows]
            miss = rating - np.nanmean(rating) - (strength - strength.mean())
            known = np.isfinite(miss)
            pairs = zip(miss[known].tolist(), one.error[rows][known].tolist(), strict=True)
            found.setdefault(label, []).extend(pairs)
    return found


if __name__ == "__main__":
    raise SystemExit(main())
