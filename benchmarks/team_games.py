"""Which system predicts team games best: Unreal Tournament 4, and international football?

Each system with its defaults (but for what its name says: "by result" is beta 0, "at home"
home_advantage 80), and tuned: the best log loss of a small grid on the first 30 % of
the matches, which are not scored afterwards (ratings go on from them). Scored are the last 70 %,
players with five earlier matches. Differences are from the best of them by log loss, on the same
matches; their intervals, as everywhere, come from drawing the matches again and again. The best
was found on these matches too, so its lead is partly luck.

UT4: two teams of one to six, without draws; performance within the team is kills less deaths plus
damage/220, as in the guide about drift. Football: national teams, a quarter of the matches drawn;
`elo` alone knows who is at home (80 points where not tuned), so it is shown without as well. There
are no players, and so no performance within a team. Where a system adds its players up, the zero of
the scale says how much a player more is worth: with ratings around 1500 almost everything. Tuning
may set it to 0.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from equipoise.analysis.reading import HistoryRequest, read
from equipoise.data.backtest import BASELINE, Backtest, SystemScores
from equipoise.data.history import History
from equipoise.evaluate.backtest import backtest
from equipoise.rating.registry import make_system
from report import DATA, Part, keep_numbers, needs, report_parts

THREADS = 2
LEARNED = 0.3
STATISTICS = {"kills": 1.0, "deaths": -1.0, "damage": 1 / 220}

Grid = Mapping[str, Sequence[float]]


@dataclass(frozen=True, slots=True)
class Entry:
    """A system that takes part.

    fixed : what is not its default in either form, and why it is an entry of its own
    grid : what tuning tries
    """

    system: str
    grid: Grid
    fixed: Mapping[str, float] = field(default_factory=dict)


DEVIATIONS = (150.0, 250.0, 350.0)
SUMMED: Grid = {
    "initial_rating": (0.0, 1500.0),
    "initial_deviation": DEVIATIONS,
    "beta": (100.0, 175.0, 300.0, 500.0, 800.0),
    "drift": (3.5, 15.0, 40.0),
}
#: The two lines of `team-glicko2` differ in this alone.
GLICKO2: Grid = {
    "initial_deviation": (100.0, *DEVIATIONS),
    "initial_volatility": (0.01, 0.03, 0.06, 0.12, 0.2),
}

UT4: dict[str, Entry] = {
    "team-glicko2, by result": Entry("team-glicko2", GLICKO2, {"beta": 0.0}),
    "team-glicko2, performance": Entry(
        "team-glicko2", {**GLICKO2, "beta": (0.1, 0.2, 0.4, 0.8, 1.6)}
    ),
    "plackett-luce": Entry("plackett-luce", SUMMED),
    "bradley-terry": Entry("bradley-terry", SUMMED),
    "trueskill": Entry("trueskill", {**SUMMED, "draw_probability": (1e-4, 0.1)}),
    "elo": Entry("elo", {"k": (8.0, 16.0, 24.0, 32.0, 48.0, 64.0)}),
}

ALONE: Grid = {name: values for name, values in SUMMED.items() if name != "initial_rating"}
FOOTBALL: dict[str, Entry] = {
    "elo, at home": Entry(
        "elo",
        {"k": (16.0, 24.0, 32.0, 48.0, 64.0), "home_advantage": (40.0, 60.0, 80.0, 100.0, 130.0)},
        {"home_advantage": 80.0},
    ),
    "elo": Entry("elo", {"k": (16.0, 24.0, 32.0, 48.0, 64.0)}),
    "glicko": Entry(
        "glicko", {"initial_deviation": DEVIATIONS, "drift": (5.0, 10.0, 20.0, 35.0, 60.0)}
    ),
    "glicko2": Entry("glicko2", GLICKO2),
    "team-glicko2": Entry("team-glicko2", GLICKO2),
    "elo-mmr": Entry(
        "elo-mmr",
        {"weight_limit": (0.05, 0.1, 0.2, 0.4), "sigma_limit": (60.0, 80.0, 110.0, 150.0)},
    ),
    "plackett-luce": Entry("plackett-luce", ALONE),
    "bradley-terry": Entry("bradley-terry", ALONE),
    "trueskill": Entry("trueskill", {**ALONE, "draw_probability": (0.1, 0.24)}),
}


def ut4() -> History:
    """Return the matches of Unreal Tournament 4 with performances."""
    source = str(needs(DATA / "ut4.parquet"))
    return read(HistoryRequest(source=source, statistics=STATISTICS))[0]


def football() -> History:
    """Return the football matches."""
    return read(HistoryRequest(source=str(needs(DATA / "football.parquet"))))[0]


def scored(
    chosen: Mapping[str, tuple[str, Mapping[str, float]]],
    history: History,
    first: int = 0,
    resamples: int = 0,
) -> Backtest:
    """Return the backtest of systems with parameters, by label."""
    return backtest(
        {label: make_system(name, settings) for label, (name, settings) in chosen.items()},
        history,
        rng=np.random.default_rng(0),
        first=first,
        resamples=resamples,
        threads=THREADS,
    )


def tuned(entry: Entry, history: History) -> dict[str, float]:
    """Return the parameters of a grid that predict a history best; the first of equals."""
    tried = [
        {**entry.fixed, **dict(zip(entry.grid, values, strict=True))}
        for values in product(*entry.grid.values())
    ]
    found = scored({str(k): (entry.system, one) for k, one in enumerate(tried)}, history)
    return min((found.of(str(k)).metrics["log_loss"], k, one) for k, one in enumerate(tried))[2]


def compare(history: History, entries: Mapping[str, Entry]) -> tuple[Backtest, dict[str, Any]]:
    """Return the backtest of all entries with defaults and tuned, and what tuning chose."""
    first = int(LEARNED * history.matches)
    early = history.slice(0, first)
    chosen: dict[str, tuple[str, Mapping[str, float]]] = {}
    parameters: dict[str, Any] = {}
    for label, entry in entries.items():
        start = time.perf_counter()
        parameters[label] = tuned(entry, early)
        chosen[label] = (entry.system, entry.fixed)
        chosen[f"{label}, tuned"] = (entry.system, parameters[label])
        print(f"{label}: {time.perf_counter() - start:.0f} s to tune", file=sys.stderr)
    return scored(chosen, history, first, 1000), parameters


def best_of(found: Backtest) -> str:
    """Return the label with the least log loss."""
    return min((one.metrics["log_loss"], one.label) for one in found.systems)[1]


def less(found: Backtest, label: str, other: str, metric: str) -> tuple[float, float, float]:
    """Return how much more of a metric one system has than another, and the bounds of that."""
    one = next(one for one in found.differences if {one.first, one.second} == {label, other})
    low, high = one.intervals[metric]
    value = one.metrics[metric]
    return (value, low, high) if one.first == label else (-value, -high, -low)


def shown(difference: tuple[float, float, float], digits: int = 4) -> str:
    """Return a difference and its bounds in words."""
    if not any(difference):
        return "unchanged"
    value, low, high = (f"{one:+.{digits}f}" for one in difference)
    return f"{value} ({low} to {high})"


def less_best(found: Backtest, label: str, metric: str, digits: int) -> str:
    """Return how much more of a metric a system has than the best."""
    if label == BASELINE:
        return ""
    best = best_of(found)
    return "best" if label == best else shown(less(found, label, best, metric), digits)


def plus_minus(one: SystemScores, metric: str, digits: int) -> str:
    """Return a metric and half of its interval."""
    lower, upper = one.intervals[metric]
    return f"{one.metrics[metric]:.{digits}f} ± {(upper - lower) / 2:.{digits}f}"


def table(name: str, found: Backtest, parameters: Mapping[str, Mapping[str, float]]) -> Part:
    """Return the results of a game, the best first."""
    rows = [
        (
            one.label,
            plus_minus(one, "log_loss", 4),
            less_best(found, one.label, "log_loss", 4),
            plus_minus(one, "brier", 4),
            plus_minus(one, "pair_inversion", 2),
            less_best(found, one.label, "pair_inversion", 2),
            f"{one.calibration.error:.4f}",
        )
        for one in sorted(found.systems, key=lambda one: (one.metrics["log_loss"], one.label))
    ]
    columns = (
        *("system", "log loss", "less the best's (95 %)", "Brier", "winners right, %"),
        *("less the best's (95 %)", "calibration error"),
    )
    chosen = "; ".join(
        f"{label}: " + ", ".join(f"{key} {value:g}" for key, value in settings.items())
        for label, settings in parameters.items()
    )
    note = (
        f"Scored: {found.matches:,} matches, {found.participations:,} participations. "
        f"Tuned parameters. {chosen}.\n\n{verdict(found)}\n\n{against(found, 'elo')}"
    )
    return Part(name, columns, rows, note)


def verdict(found: Backtest) -> str:
    """Return sentences on who is best and who cannot be told apart from it."""
    best, near, gained = best_of(found), [], []
    for label in (one.label for one in found.systems if one.label != BASELINE):
        if label != best:
            _, low, high = less(found, label, best, "log_loss")
            if low <= 0 <= high:
                near.append(label)
        name = label.removesuffix(", tuned")
        if label != name:
            gained.append(f"{name} {shown(less(found, label, name, 'log_loss'))}")
    return (
        f"Best by log loss: {best}. Not told apart from it: {', '.join(near) or 'none'}. "
        f"What tuning changed of the log loss: {'; '.join(gained)}."
    )


def against(found: Backtest, reference: str) -> str:
    """Return a sentence on the log loss of all systems less that of one of them."""
    others = (one.label for one in found.systems if one.label not in (reference, BASELINE))
    parts = [f"{label} {shown(less(found, label, reference, 'log_loss'))}" for label in others]
    return f"Log loss less that of {reference}: {'; '.join(parts)}."


def by_performance(found: Backtest) -> str:
    """Return what scaling by performance does for team-glicko2."""
    parts = []
    for suffix in ("", ", tuned"):
        one, other = (f"team-glicko2, {how}{suffix}" for how in ("performance", "by result"))
        for metric, digits in (("log_loss", 4), ("brier", 4), ("pair_inversion", 2)):
            words = f"{metric.replace('_', ' ')}{suffix}"
            parts.append(f"{words} {shown(less(found, one, other, metric), digits)}")
    return f"team-glicko2 with performance less without: {'; '.join(parts)}."


def numbers(found: Backtest) -> dict[str, list[float]]:
    """Return what the documentation's chart shows: log loss less the best's, and its bounds."""
    best = best_of(found)
    labels = (one.label for one in found.systems if one.label not in (best, BASELINE))
    return {best: [0.0] * 3} | {
        label: list(less(found, label, best, "log_loss")) for label in labels
    }


def main() -> None:
    """Measure and report."""
    start = time.perf_counter()
    of_ut4, ut4_parameters = compare(ut4(), UT4)
    of_football, football_parameters = compare(football(), FOOTBALL)
    by_perf = by_performance(of_ut4)
    first = table("UT4", of_ut4, ut4_parameters)
    parts = [
        first._replace(note=f"{first.note}\n\n{by_perf}"),
        table("Football", of_football, football_parameters),
    ]
    note = f"All of it took {time.perf_counter() - start:.0f} s."
    keep_numbers("team_games", {"UT4": numbers(of_ut4), "football": numbers(of_football)})
    report_parts("team_games", f"{(__doc__ or '').strip()}\n\n{note}", parts)


if __name__ == "__main__":
    main()
