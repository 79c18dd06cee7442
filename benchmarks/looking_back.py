"""Who was best when? Ratings in hindsight (`equipoise.look_back`) of international football.

The drift of Glicko and the advantage at home are those of a small grid that predict best, each
match from earlier ones only. Ratings in hindsight know all results, so they are no predictions.

Of each decade the three teams with the highest mean rating over their matches, of those with twenty
matches or more, and half of the mean 95 % range. docs/figures/hindsight.png draws the best teams.

Coverage: skills of 200 players are Wiener processes, and games have the chances of the model. How
often the 95 % range contains the skill, both less their means on all games, because the level of
all players together cannot be known. The mean of eight simulations.
"""

from __future__ import annotations

import math
import time
from itertools import product
from typing import Any

import numpy as np
import polars as pl

import equipoise as eq
from equipoise.charts import theme
from equipoise.display import HALF_WIDTH
from report import DATA, ROOT, Part, needs, report_parts

GRID = {"drift": (6.0, 10.0, 15.0, 25.0), "home_advantage": (90.0, 120.0)}


def chosen(history: eq.History) -> tuple[eq.Glicko, Part]:
    """Return the system that predicts best, and the table of all."""
    settings: list[Any] = [
        dict(zip(GRID, values, strict=True)) for values in product(*GRID.values())
    ]
    systems = {str(at): eq.Glicko(**each) for at, each in enumerate(settings)}
    scores = eq.backtest(systems, history, rng=np.random.default_rng(0), resamples=0)
    losses = [scores.of(label).metrics["log_loss"] for label in systems]
    rows = [
        (f"{each['drift']:g}", f"{each['home_advantage']:g}", f"{loss:.4f}")
        for each, loss in zip(settings, losses, strict=True)
    ]
    best = systems[str(int(np.argmin(losses)))]
    return best, Part("Parameters", ("drift", "home_advantage", "log loss"), rows)


def decades(trace: eq.Trace) -> Part:
    """Return the best three teams of each decade."""
    table = trace.to_polars().with_columns(decade=pl.col("time").dt.year() // 10 * 10)
    means = table.group_by("decade", "player").agg(
        pl.col("rating", "deviation").mean(), matches=pl.len()
    )
    best = means.filter(pl.col("matches") >= 20).sort(
        ["decade", "rating"], descending=[False, True]
    )
    rows = []
    for (decade,), teams in best.group_by("decade", maintain_order=True):
        cells = [
            f"{team['player']} {team['rating']:.0f} ± {HALF_WIDTH * team['deviation']:.0f}"
            for team in teams.head(3).iter_rows(named=True)
        ]
        rows.append((f"{decade}s", *cells))
    return Part("Decades", ("decade", "first", "second", "third"), rows)


def coverage(games: int, seed: int) -> float:
    """Return how often the range of a simulated skill contains it."""
    rng, players, system = np.random.default_rng(seed), 200, eq.Glicko(drift=25.0)
    skill = rng.normal(1500.0, system.initial_deviation, players)
    rows, skills = [], []
    for game in range(players * games // 2):
        pair = rng.permutation(players)[:2]
        skill[pair] += rng.normal(0.0, system.drift, 2)
        chance = 1.0 / (1.0 + 10.0 ** ((skill[pair[1]] - skill[pair[0]]) / 400.0))
        first = 1 if rng.random() < chance else 2
        rows += [(game, int(pair[0]), first), (game, int(pair[1]), 3 - first)]
        skills += skill[pair].tolist()
    frame = pl.DataFrame(rows, ["match", "player", "rank"], orient="row")
    columns = eq.look_back(system, eq.read_history(frame)).columns
    error = columns["rating"] - np.array(skills)
    error -= error.mean()
    return float((np.abs(error) <= HALF_WIDTH * columns["deviation"]).mean())


def main() -> None:
    """Measure, draw and report."""
    source = str(needs(DATA / "football.parquet"))
    history = eq.read_history(source)
    system, parameters = chosen(history)
    eq.look_back(system, history.slice(0, 100))
    seconds = math.inf
    for _ in range(3):
        start = time.process_time()
        trace = eq.look_back(system, history)
        seconds = min(seconds, time.process_time() - start)
    note = f"{history.participations:,} participations took {seconds:.1f} s of processor time."
    best = decades(trace)._replace(note=note)
    shares = [
        (str(games), f"{100 * np.mean([coverage(games, seed) for seed in range(8)]):.1f}")
        for games in (5, 20, 60)
    ]
    covered = Part("Coverage", ("games of a player", "skills within the 95 % range, %"), shares)
    report_parts("looking_back", (__doc__ or "").strip(), [parameters, best, covered])
    teams = ("Brazil", "Argentina", "Hungary", "England")
    figure = trace.plot(*teams, title="Four football teams, judged by all results")
    theme.write(figure, str(ROOT / "docs" / "figures" / "hindsight.png"))


if __name__ == "__main__":
    main()
