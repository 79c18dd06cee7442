"""For whom does a system predict best: newcomers, players with some contests, or everybody?

Codeforces, the last nine tenths of the contests, the parameters of the authors' own runs as in
benchmarks/tables.py. Pairs by the less experienced of the two, rank deviation by player with places
counted in the whole field; players with five or more earlier contests as in benchmarks/tables.py,
with places counted again among them. 95 % intervals from 1,000 resamples of the contests. Then the
filter of section 6.3 of the paper read to the letter: players with five contests in all, wherever
they are in the history.
"""

from __future__ import annotations

import numpy as np
from elo_mmr_paper import AS_RUN

from equipoise.data.backtest import Backtest, Difference, Group, players_with
from equipoise.data.history import History
from equipoise.evaluate.backtest import backtest
from equipoise.formats import read_history
from equipoise.rating.registry import make_system
from report import DATA, Part, needs, report_parts

THREADS = 2
REFERENCE = "elo-mmr"
SHOWN = (("pair_inversion", 3), ("rank_deviation", 3), ("log_loss", 4), ("brier", 4))
COLUMNS = ("system", "pair inversion, %", "rank deviation, %", "log loss", "Brier")


def measure(history: History, *, min_total: int | None = None, resamples: int = 1000) -> Backtest:
    """Return the backtest of all systems."""
    return backtest(
        {name: make_system(name, settings) for name, settings in AS_RUN.items()},
        history,
        rng=np.random.default_rng(0),
        first=history.matches // 10,
        min_total=min_total,
        resamples=resamples,
        threads=THREADS,
    )


def group_parts(group: Group) -> list[Part]:
    """Return the scores of a group, and how far the systems are from the reference."""
    name = players_with(group.first, group.last)
    rows = [
        (one.label, *(f"{one.metrics[metric]:.{digits}f}" for metric, digits in SHOWN))
        for one in group.systems
    ]
    less = []
    for found in group.differences:
        if REFERENCE in (found.first, found.second):
            other = found.first if found.second == REFERENCE else found.second
            sign = 1.0 if other == found.first else -1.0
            less.append((other, *(apart(found, metric, sign, n) for metric, n in SHOWN)))
    heading = name[0].upper() + name[1:]
    note = f"{group.participations:,} participations."
    return [
        Part(heading, COLUMNS, rows, note),
        Part(f"{heading}: less {REFERENCE}, with the 95 % interval", COLUMNS, less),
    ]


def apart(found: Difference, metric: str, sign: float, digits: int) -> str:
    """Return a difference and its bounds."""
    low, high = sorted(sign * bound for bound in found.intervals[metric])
    return f"{sign * found.metrics[metric]:+.{digits}f} ({low:+.{digits}f} to {high:+.{digits}f})"


def to_the_letter(found: Backtest) -> Part:
    """Return the scores of those with five contests in all."""
    rows = [
        (one.label, *(f"{one.metrics[metric]:.{digits}f}" for metric, digits in SHOWN))
        for one in found.systems
    ]
    note = f"{found.participations:,} participations. This selection looks at later contests too."
    return Part("Players with five or more contests in all", COLUMNS, rows, note)


def main() -> None:
    """Measure and report."""
    history = read_history(needs(DATA / "codeforces.parquet"))
    found = measure(history)
    parts = [part for group in found.groups for part in group_parts(group)]
    parts.append(to_the_letter(measure(history, min_total=5, resamples=0)))
    report_parts("experience", (__doc__ or "").strip(), parts)


if __name__ == "__main__":
    main()
