"""How much longer does rating take with a learned entry, and with a level that is held as well?

Run: python benchmarks/entry_time.py [TURNS]

The whole Codeforces history, rated from the start with compiled kernels, reading excluded. Each
turn rates it in all three ways, every other turn in reverse; the table has the median seconds, and
the median of each turn's ratio to the fixed entry. Parameters of elo-mmr and elo-mmx are those of
the authors' own runs.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from statistics import median

from elo_mmr_paper import AS_RUN

from equipoise.data.history import History
from equipoise.formats import read_history
from equipoise.rating.registry import make_system
from equipoise.rating.system import RatingSystem
from report import DATA, needs, report

WAYS: dict[str, dict[str, object]] = {
    "fixed": {},
    "learned": {"entry": "learned"},
    "learned, level held": {"entry": "learned", "hold_level": 0.05},
}
NAMES = ("elo-mmr", "elo-mmx", "trueskill-spb", "codeforces")


def seconds(system: RatingSystem, history: History, matches: int) -> float:
    """Return the time of rating the first matches."""
    state = system.initial(history.players)
    started = time.perf_counter()
    system.run(state, history, 0, matches)
    return time.perf_counter() - started


def measured(systems: Mapping[str, RatingSystem], history: History, turns: int) -> list[list[str]]:
    """Return the rows of one system."""
    for system in systems.values():
        seconds(system, history, 3)  # compiles the kernels, or loads them
    found: list[dict[str, float]] = []
    for turn in range(turns):
        order = list(systems.items())
        taken = {
            way: seconds(system, history, history.matches)
            for way, system in (order if turn % 2 else reversed(order))
        }
        found.append(taken)
    return [
        [
            system.name,
            way,
            f"{median(one[way] for one in found):.2f}",
            f"{median(one[way] / one['fixed'] for one in found):.2f}",
        ]
        for way, system in systems.items()
    ]


def main() -> None:
    """Measure every system and report."""
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else 11
    history = read_history(needs(DATA / "codeforces.parquet"))
    rows: list[list[str]] = []
    for name in NAMES:
        authors = AS_RUN.get(name, {})
        systems = {way: make_system(name, {**authors, **more}) for way, more in WAYS.items()}
        rows += measured(systems, history, turns)
    question = "How much longer does rating take with a learned entry, and with a held level?"
    report("entry_time", question, ["system", "entry", "seconds", "ratio to fixed"], rows)


if __name__ == "__main__":
    main()
