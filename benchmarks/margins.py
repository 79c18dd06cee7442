"""Does the margin of victory help to predict football?

International football with its goals as scores. Each entry is a rule of `elo`, or openskill's
margin in `plackett-luce` (in matches of two the same as `bradley-terry`), all with a home
advantage. What the grid of an entry leaves open is chosen by the log loss on the first half of the
matches. Scored is the second half, which nothing was chosen on; ratings go on from the first.
Differences are from the same system without a margin, on the same matches, for teams with five
earlier matches; intervals come from drawing the matches again and again.
"""

from __future__ import annotations

import sys
import time
from itertools import product
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from team_games import less, plus_minus, scored, shown

from equipoise.data.history import History
from equipoise.formats import read_history
from report import DATA, Part, needs, report_parts

Grid: TypeAlias = dict[str, tuple[float, ...]]

#: Label -> system, what is fixed, and what is chosen on the first half.
ELO: Grid = {"k": (16.0, 24.0, 32.0, 48.0), "home_advantage": (80.0, 100.0, 120.0)}
LUCE: Grid = {"beta": (100.0, 175.0), "drift": (15.0, 40.0), "home_advantage": (80.0, 100.0)}
ENTRIES: dict[str, tuple[str, dict[str, Any], Grid]] = {
    "elo": ("elo", {}, ELO),
    "elo, world-football": ("elo", {"margin_rule": "world-football"}, ELO),
    "elo, square-root": ("elo", {"margin_rule": "square-root"}, ELO),
    "elo, fivethirtyeight": ("elo", {"margin_rule": "fivethirtyeight"}, ELO),
    "plackett-luce": ("plackett-luce", {}, LUCE),
    "plackett-luce, margin": ("plackett-luce", {}, {**LUCE, "margin": (1.0, 2.0)}),
}


def football() -> History:
    """Return the football matches, goals as scores."""
    table = pl.read_parquet(needs(DATA / "football.parquet"))
    return read_history(table.rename({"goals": "score"}))


def main() -> None:
    """Measure and report."""
    history = football()
    half = history.matches // 2
    early = history.slice(0, half)
    chosen: dict[str, tuple[str, dict[str, Any]]] = {}
    for label, (name, fixed, grid) in ENTRIES.items():
        start = time.perf_counter()
        tried = [
            {**fixed, **dict(zip(grid, values, strict=True))} for values in product(*grid.values())
        ]
        found = scored({str(k): (name, one) for k, one in enumerate(tried)}, early)
        losses = [found.of(str(k)).metrics["log_loss"] for k in range(len(tried))]
        chosen[label] = name, tried[int(np.argmin(losses))]
        print(f"{label}: {time.perf_counter() - start:.0f} s", file=sys.stderr)
    late = scored(chosen, history, first=half, resamples=1000)
    rows = []
    for label, (name, settings) in chosen.items():
        one = late.of(label)
        rows.append(
            (
                label,
                plus_minus(one, "log_loss", 4),
                "" if label == name else shown(less(late, label, name, "log_loss")),
                "" if label == name else shown(less(late, label, name, "pair_inversion"), 2),
                ", ".join(f"{key} {value}" for key, value in settings.items()),
            )
        )
    columns = (
        *("system", "log loss", "less without a margin (95 %)"),
        *("winners right, points (95 %)", "chosen on the first half"),
    )
    note = f"Scored: {late.matches:,} matches, {late.participations:,} participations."
    report_parts("margins", (__doc__ or "").strip(), [Part("", columns, rows, note)])


if __name__ == "__main__":
    main()
