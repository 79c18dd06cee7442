"""How good are the systems that came with the home advantage, beside `elo` and `glicko2`?

Every system with its defaults, and with the parameters of a small grid that have the least log loss
on the first half of the matches, of which the first tenth is not scored. Scored is the second half,
on which nothing was chosen, for players with five or more earlier matches; ratings go on from the
first half. Differences are on the same matches, with 95 % intervals from 1,000 resamples of the
matches. `lichess` and the federations' systems (`fide`, `dwz`, `egf`, `uscf`) have their own
numbers, so nothing of theirs is chosen. A history without their columns (ages, events) is rated as
each of them says for that case. "glicko, periods" has rating periods, of 30 days where nothing is
chosen.

Football: national teams, a quarter of the matches drawn; a single team is a player. Without and
with a learned home advantage, which the federations' systems do not have. UT4: all matches of two
teams, for the systems that rate teams, and the duels among them, for all. They have no times, so
there are no rating periods. Chess: the Interzonal of 1970, 24 players, everybody against everybody;
White is at home. It is small: its intervals say how little it shows.

The last part repeats the comparison of `team_games.py` with the new systems: the last 70 % of the
football matches, parameters chosen on the first 30 %, from its grids for `elo` and `team-glicko2`
and from those above for the others.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
import polars as pl
from advantage import football
from team_games import FOOTBALL, less, scored, shown

from equipoise.analysis.reading import HistoryRequest, read
from equipoise.data.backtest import BASELINE, Backtest
from equipoise.data.history import History
from equipoise.formats import read_history
from report import DATA, Part, needs, report_parts

Grid = Mapping[str, Sequence[float]]
Chosen = dict[str, tuple[str, dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class Entry:
    """A system that takes part.

    fixed : what is not its default
    grid : what is tried on the first half; empty if nothing is
    """

    system: str
    grid: Grid = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)


DEVIATIONS = (150.0, 350.0)
THURSTONE: Grid = {"beta": (100.0, 175.0, 300.0, 500.0), "drift": (3.5, 15.0, 40.0)}
DUELS: dict[str, Entry] = {
    "elo": Entry("elo", {"k": (16.0, 24.0, 32.0, 48.0)}),
    "glicko2": Entry(
        "glicko2", {"initial_deviation": DEVIATIONS, "initial_volatility": (0.03, 0.06, 0.12)}
    ),
    "glicko": Entry("glicko", {"initial_deviation": DEVIATIONS, "drift": (10.0, 20.0, 35.0)}),
    "thurstone-mosteller": Entry("thurstone-mosteller", THURSTONE),
    "lichess": Entry("lichess"),
    "stephenson": Entry(
        "stephenson",
        {
            "initial_deviation": (150.0, 300.0),
            "game_drift": (5.0, 10.0, 20.0),
            "neighbourhood": (0.0, 2.0),
        },
    ),
}
PERIODS = {
    "glicko, periods": Entry(
        "glicko",
        {"period_days": (30.0, 91.0, 182.0, 365.0), "drift": (10.0, 20.0, 35.0)},
        {"period_days": 30.0},
    )
}
FEDERATIONS = {name: Entry(name) for name in ("fide", "dwz", "egf", "uscf")}
TEAMS: dict[str, Entry] = {
    "elo": DUELS["elo"],
    "plackett-luce": Entry("plackett-luce", THURSTONE),
    "thurstone-mosteller": DUELS["thurstone-mosteller"],
}
LEARNS = {"learn_home_advantage": True}


def ut4(duels: bool) -> History:
    """Return the matches of Unreal Tournament 4; only those of one against one if `duels`."""
    path = needs(DATA / "ut4.parquet")
    if not duels:
        return read(HistoryRequest(source=str(path)))[0]
    table = pl.read_parquet(path)
    return read_history(table.filter(pl.len().over("match") == 2).drop("team"))


def chess() -> History:
    """Return the games of the Interzonal of 1970."""
    games = pl.read_csv(needs(DATA / "chess_palma1970_interzonal.csv"))
    points = {"1-0": (1.0, 0.0), "0-1": (0.0, 1.0), "1/2-1/2": (0.5, 0.5)}
    rows = [
        {"match": number, "player": game[side], "score": score, "side": side}
        for number, game in enumerate(games.sort("round", maintain_order=True).to_dicts())
        for side, score in zip(("white", "black"), points[game["result"]], strict=True)
    ]
    return read_history(pl.DataFrame(rows))


def learning(entries: Mapping[str, Entry]) -> dict[str, Entry]:
    """Return the same entries with a learned home advantage."""
    return {
        label: Entry(one.system, one.grid, {**one.fixed, **LEARNS})
        for label, one in entries.items()
    }


def best(entry: Entry, early: History, first: int) -> dict[str, Any]:
    """Return the parameters of the grid with the least log loss on a part of the history."""
    tried = [
        {**entry.fixed, **dict(zip(entry.grid, values, strict=True))}
        for values in product(*entry.grid.values())
    ]
    if len(tried) == 1:
        return tried[0]
    found = scored({str(k): (entry.system, one) for k, one in enumerate(tried)}, early, first)
    losses = [found.of(str(k)).metrics["log_loss"] for k in range(len(tried))]
    return tried[int(np.argmin(losses))]


def table(heading: str, history: History, entries: Mapping[str, Entry]) -> Part:
    """Return the table of a history: all entries with defaults and with what was chosen."""
    start = time.perf_counter()
    half = history.matches // 2
    early = history.slice(0, half)
    systems: Chosen = {}
    for label, entry in entries.items():
        systems[label] = entry.system, dict(entry.fixed)
        if entry.grid:
            systems[f"{label}, chosen"] = entry.system, best(entry, early, half // 10)
    found = scored(systems, history, half, 1000)
    note = (
        f"Scored: {found.matches:,} of {history.matches:,} matches. Log loss without ratings: "
        f"{found.of(BASELINE).metrics['log_loss']:.4f}."
    )
    print(f"{heading}: {time.perf_counter() - start:.0f} s", file=sys.stderr)
    return Part(heading, COLUMNS, rows_of(found, systems), note)


COLUMNS = (
    *("system", "log loss", "less that of elo (95 %)", "winners right, %"),
    *("less that of elo, points (95 %)", "parameters"),
)


def rows_of(found: Backtest, systems: Chosen) -> list[tuple[str, ...]]:
    """Return a line for every system, the best first. `elo` is compared with itself nowhere."""
    loss = {label: found.of(label).metrics["log_loss"] for label in systems}
    return [
        (
            label,
            f"{loss[label]:.4f}",
            "" if label == "elo" else shown(less(found, label, "elo", "log_loss")),
            f"{found.of(label).metrics['pair_inversion']:.2f}",
            "" if label == "elo" else shown(less(found, label, "elo", "pair_inversion"), 2),
            ", ".join(
                f"{key} {value:g}" for key, value in systems[label][1].items() if key not in LEARNS
            )
            or "defaults",
        )
        for label in sorted(loss, key=lambda label: loss[label])
    ]


def worth_to_elo(history: History) -> Part:
    """Return the table of what the home advantage is worth to `elo`, beside all that lack it."""
    first = int(0.3 * history.matches)
    early = history.slice(0, first)
    old = ("elo, at home", "elo", "team-glicko2")
    entries = {
        **{label: Entry(FOOTBALL[label].system, FOOTBALL[label].grid) for label in old},
        **{label: one for label, one in {**DUELS, **PERIODS}.items() if label != "elo"},
        **FEDERATIONS,
    }
    systems: Chosen = {label: (one.system, best(one, early, 0)) for label, one in entries.items()}
    found = scored(systems, history, first, 1000)
    loss = {label: found.of(label).metrics["log_loss"] for label in systems}
    rows = [
        (
            label,
            f"{loss[label]:.4f}",
            *(
                "" if label == other else shown(less(found, label, other, "log_loss"))
                for other in ("elo", "elo, at home")
            ),
            ", ".join(f"{key} {value:g}" for key, value in systems[label][1].items()) or "defaults",
        )
        for label in sorted(loss, key=lambda label: loss[label])
    ]
    columns = (
        *("system", "log loss", "less that of elo (95 %)", "less that of elo, at home (95 %)"),
        "parameters",
    )
    note = f"Scored: {found.matches:,} of {history.matches:,} matches."
    return Part("Football, the last 70 %, only one knows who is at home", columns, rows, note)


def main() -> None:
    """Measure and report."""
    matches, duels = football(), {**DUELS, **PERIODS}
    parts = [
        table("Football, nobody at home", matches, {**duels, **FEDERATIONS}),
        table("Football, learned home advantage", matches, learning(duels)),
        table("UT4, teams", ut4(duels=False), TEAMS),
        table("UT4, duels", ut4(duels=True), {**DUELS, **FEDERATIONS}),
        table("Chess, Interzonal 1970", chess(), {**learning(DUELS), **FEDERATIONS}),
        worth_to_elo(matches),
    ]
    report_parts("new_systems", (__doc__ or "").strip(), parts)


if __name__ == "__main__":
    main()
