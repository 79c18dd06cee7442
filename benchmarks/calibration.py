"""What is calibration worth, and how much nearer to the results are calibrated chances?

`backtest(calibrate=True)` on football, UT4, Codeforces and two chess tournaments, with the defaults
of every system. The two constants of the curve, a ridge of 20 and a memory of 2,000 matches, were
compared on the first halves of football, UT4 and Codeforces with memories of 500, 1,000 and 5,000
matches and a ridge of 50; `--choose` prints that. The features of the curve were chosen with both
halves of these three in view, so only chess is new to them. Reported are the second halves, and the
whole of the chess tournaments, which are too short to learn much from.

The calibration error is the mean distance between expected and observed scores in ten bins. "Chance
alone" is the mean error of chances that are right: five times, the results of the matches of two
teams are drawn from the calibrated chances. Players with five earlier matches or more, 95 %
intervals by matches and players of the difference in log loss.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np

from equipoise.data.backtest import CALIBRATED, Backtest
from equipoise.data.history import History
from equipoise.evaluate.backtest import backtest
from equipoise.formats import read_history
from equipoise.rating.calibration_curve import CurveConstants
from equipoise.rating.registry import make_system
from report import DATA, needs, report

HISTORIES = {
    "football": (
        "football.parquet",
        ("elo", "glicko", "glicko2", "trueskill", "elo-mmr", "elo-mmx"),
    ),
    "UT4": (
        "ut4.parquet",
        ("elo", "team-glicko2", "trueskill", "plackett-luce", "bradley-terry"),
    ),
    "Codeforces": ("codeforces.parquet", ("elo-mmr", "elo-mmx")),
    "chess 1970": ("chess_palma1970_interzonal.csv", ("elo", "glicko2", "elo-mmr")),
    "chess 2017": ("chess_palma2017_grandprix.csv", ("elo", "glicko2", "elo-mmr")),
}
HEADINGS = (
    *("history", "system", "log loss", "calibrated", "calibrated less uncorrected (95 %)"),
    *("calibration error", "calibrated ", "chance alone"),
)
DRAWS = 5


def measure(name: str, history: History) -> Iterator[tuple[str, ...]]:
    """Yield a row for each system."""
    first = 0 if name.startswith("chess") else history.matches // 2
    systems = {one: make_system(one) for one in HISTORIES[name][1]}
    two = bool((history.teams() == 2).all())
    found = backtest(systems, history, first=first, calibrate=True, predictions=two)
    for label in systems:
        one, other = found.of(label), found.of(label + CALIBRATED)
        change = next(
            each for each in found.differences if (each.first, each.second) == (label, other.label)
        )
        low, high = (-bound for bound in reversed(change.intervals["log_loss"]))
        yield (
            *(name, label),
            *(f"{each.metrics['log_loss']:.5f}" for each in (one, other)),
            f"{-change.metrics['log_loss']:+.5f} ({low:+.5f} to {high:+.5f})",
            *(f"{each.calibration.error:.4f}" for each in (one, other)),
            f"{by_chance(found, label):.4f}" if two else "",
        )


def by_chance(found: Backtest, label: str) -> float:
    """Return the mean calibration error if the calibrated chances were the true ones."""
    assert found.predictions is not None
    rows = found.predictions.filter(system=label)
    expected = rows["expected_calibrated"].to_numpy()
    draw = np.nan_to_num(rows["draw_calibrated"].to_numpy())
    rng, errors = np.random.default_rng(0), []
    for _ in range(DRAWS):
        u = rng.random(len(expected))
        win = expected - 0.5 * draw
        score = np.where(u < win, 1.0, np.where(u < win + draw, 0.5, 0.0))
        favoured = np.maximum(expected, 1.0 - expected)
        number = np.minimum((10 * favoured).astype(int), 9)
        less = np.where(expected >= 0.5, score - expected, expected - score)
        errors.append(np.abs(np.bincount(number, less)).sum() / len(expected))
    return float(np.mean(errors))


def choose() -> None:
    """Print the log loss on the first halves for several constants."""
    for ridge, memory in ((20.0, 500), (20.0, 1000), (20.0, 2000), (20.0, 5000), (50.0, 2000)):
        CurveConstants.__new__.__defaults__ = (ridge, 1.0 / memory)
        for name in ("football", "UT4", "Codeforces"):
            history = read_history(DATA / HISTORIES[name][0])
            half = history.slice(0, history.matches // 2)
            systems = {one: make_system(one) for one in HISTORIES[name][1]}
            found = backtest(systems, half, first=half.matches // 10, calibrate=True, resamples=0)
            for label in systems:
                one = found.of(label + CALIBRATED)
                print(
                    f"{ridge:g} {memory} {name} {label} {one.metrics['log_loss']:.5f} "
                    f"{one.calibration.error:.4f}"
                )


def main() -> None:
    """Measure and report."""
    for path, _ in HISTORIES.values():
        needs(DATA / path)
    if "--choose" in sys.argv:
        choose()
        return
    rows = [
        row
        for name, (path, _) in HISTORIES.items()
        for row in measure(name, read_history(DATA / path))
    ]
    report("calibration", (__doc__ or "").strip(), HEADINGS, rows)


if __name__ == "__main__":
    main()
