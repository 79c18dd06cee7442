"""What are contexts worth: surfaces of tennis, and shuffled surfaces?

Every system with its defaults, without contexts and with a context_deviation that is chosen on the
first half of the matches: of 0, 20 .. 100 rating points the one with the least log loss on the
second tenth to fifth tenth. Scored is the second half, matches of two players with five or more
earlier matches each; a draw counts as half a win. Differences are on the same matches. Their 95 %
intervals come from 1,000 resamples of the matches, and from 1,000 of the players: each player
counts as often as drawn, and a match as often as both of its players together.

Shuffled: the same with the contexts of all matches in random order, where nothing is to be learned.
Its last column has the deviation that was chosen for the true contexts instead, which nobody would
choose who has tried it.

Tennis: matches of men since 1990 (ATP), without walkovers, in order of tournament and round, from
https://github.com/JeffSackmann/tennis_atp (CC BY-NC-SA 4.0; not part of this project); TENNIS_ATP
names a directory with its files.

Speed: processor time with contexts over that without, of a replay in memory (the median of five
pairs) and of a backtest (of three), all compiled before.
"""

from __future__ import annotations

import os
import statistics
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

import equipoise as eq
from equipoise.arrays import Floats
from equipoise.data.history import History
from equipoise.data.outlook import chance
from equipoise.evaluate.backtest import SystemPredictor
from equipoise.numeric.workers import Workers
from equipoise.rating.registry import make_system
from equipoise.rating.system import RatingSystem
from report import DATA, Part, needs, report_parts

#: Rating points that are tried on the first half.
TRIED = (0.0, 20.0, 40.0, 60.0, 80.0, 100.0)
SYSTEMS = ("elo", "glicko", "glicko2", "trueskill")
FEWEST, RESAMPLES = 5, 1000
ROUNDS = ("ER", "RR", "R128", "R64", "R32", "R16", "QF", "SF", "BR", "F")


def tennis() -> History:
    """Return the matches of tennis."""
    folder = needs(Path(os.environ.get("TENNIS_ATP", DATA / "tennis_atp")))
    places = {name: place for place, name in enumerate(ROUNDS)}
    games = (
        pl.concat(
            pl.read_csv(folder / f"atp_matches_{year}.csv", infer_schema_length=0)
            for year in range(1990, 2025)
        )
        .filter(~pl.col("score").fill_null("").str.contains("W/O"))
        .with_columns(place=pl.col("round").replace_strict(places, default=4))
        .sort("tourney_date", "tourney_id", "place", maintain_order=True)
        .with_row_index("match")
        .with_columns(time=pl.col("tourney_date").str.to_date("%Y%m%d"))
    )
    kept = games.select("match", "time", "surface", "winner_name", "loser_name")
    sides = (
        kept.rename({name: "player"}).with_columns(rank=pl.lit(rank)).drop(other)
        for rank, name, other in (
            (0, "winner_name", "loser_name"),
            (1, "loser_name", "winner_name"),
        )
    )
    return eq.read_history(pl.concat(sides, how="diagonal"), columns={"context": "surface"})


def shuffled(history: History) -> History:
    """Return a history with the contexts of its matches in random order."""
    of_match = history.attributes["context"][history.offsets[:-1]]
    mixed = np.random.default_rng(0).permutation(of_match)[history.match_rows()]
    return replace(history, attributes={**history.attributes, "context": mixed})


def losses(system: RatingSystem, history: History) -> Floats:
    """Return the log loss of every match of two players, predicted before it."""
    with Workers() as workers:
        outlook = SystemPredictor(system, history, workers).predict(0, history.matches)
    centre, scale = outlook.centre.reshape(-1, 2), outlook.scale.reshape(-1, 2)
    z = (centre[:, 0] - centre[:, 1]) / np.hypot(scale[:, 0], scale[:, 1])
    first, second = history.rank.reshape(-1, 2).T
    score = 0.5 + 0.5 * np.sign(second - first)
    won, lost = chance(z, outlook.curve), chance(-z, outlook.curve)
    found: Floats = -(score * np.log(won) + (1.0 - score) * np.log(lost))
    return found


def experienced(history: History) -> np.ndarray:
    """Return whether both players of every match have enough earlier matches."""
    order = np.argsort(history.player, kind="stable")
    counts = np.bincount(history.player)
    earlier = np.empty(len(order), np.int64)
    earlier[order] = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
    both: np.ndarray = np.minimum(earlier[::2], earlier[1::2]) >= FEWEST
    return both


def interval(values: Floats, players: np.ndarray) -> str:
    """Return the mean of values of matches and its intervals over matches and over players.

    players : shape (M, 2)
    """
    rng, count = np.random.default_rng(1), int(players.max()) + 1
    by_match = [
        float(rng.poisson(1.0, len(values)) @ values) / len(values) for _ in range(RESAMPLES)
    ]
    by_player = []
    for _ in range(RESAMPLES):
        drawn = rng.poisson(1.0, count)
        weight = drawn[players[:, 0]] * drawn[players[:, 1]]
        by_player.append(float(weight @ values) / float(weight.sum()))
    edges = [np.quantile(one, (0.025, 0.975)) for one in (by_match, by_player)]
    both = "; ".join(f"{low:+.4f} to {high:+.4f}" for low, high in edges)
    return f"{values.mean():+.4f} ({both})"


def with_contexts(name: str, deviation: float) -> RatingSystem:
    """Return a system with its defaults and this deviation."""
    return make_system(name, {"context_deviation": deviation})


def line(name: str, history: History, mixed: History) -> tuple[str, ...]:
    """Return a line of the table."""
    half, known = history.matches // 2, experienced(history)
    at = np.arange(history.matches)
    early, late = known & (at >= history.matches // 10) & (at < half), known & (at >= half)
    players = history.player.reshape(-1, 2)[late]
    found: dict[str, dict[float, Floats]] = {}
    for label, given in (("true", history), ("shuffled", mixed)):
        found[label] = {one: losses(with_contexts(name, one), given) for one in TRIED}
    without = found["true"][0.0]
    best = {
        label: min((float(of[one][early].mean()), one) for one in TRIED)[1]
        for label, of in found.items()
    }
    less = {label: (found[label][best[label]] - without)[late] for label in found}
    anyway = (found["shuffled"][best["true"]] - without)[late]
    cost = "the same" if best["shuffled"] == 0.0 else interval(less["shuffled"], players)
    print(name, best, {label: one.mean() for label, one in less.items()}, flush=True)
    return (
        name,
        f"{without[late].mean():.4f}",
        f"{best['true']:.0f}",
        "the same" if best["true"] == 0.0 else interval(less["true"], players),
        f"{best['shuffled']:.0f}",
        cost,
        f"{anyway.mean():+.4f}",
    )


def part(heading: str, history: History) -> Part:
    """Return the table of a game."""
    columns = (
        *("system", "log loss without", "deviation", "less without (95 %, matches; players)"),
        *("shuffled: deviation", "less without", "with that of the true"),
    )
    mixed = shuffled(history)
    rows = [line(name, history, mixed) for name in SYSTEMS]
    contexts = len({one for one in history.attributes["context"].tolist() if one is not None})
    late = history.matches - history.matches // 2
    note = f"{history.matches:,} matches in {contexts} contexts; the last {late:,} are scored."
    return Part(heading, columns, rows, note)


def seconds(system: RatingSystem, history: History, scores: bool) -> float:
    """Return the processor time of a replay, or of a backtest."""
    start = time.process_time()
    if scores:
        eq.backtest({"one": system}, history, first=history.matches // 2, resamples=0)
    else:
        eq.replay(system, history)
    return time.process_time() - start


def speed(history: History) -> Part:
    """Return the processor time with contexts over that without."""
    rows = []
    for name in SYSTEMS:
        both = [make_system(name, {"context_deviation": one}) for one in (0.0, 60.0)]
        cells = [name]
        for scores, pairs in ((False, 5), (True, 3)):
            found = [[seconds(one, history, scores) for one in both] for _ in range(pairs + 1)][1:]
            ratio = statistics.median(second / first for first, second in found)
            cells += [f"{1000 * min(first for first, _ in found):.0f}", f"{ratio:.2f}"]
        rows.append(cells)
        print(cells, flush=True)
    columns = (
        "system",
        "replay, ms without",
        "with/without",
        "backtest, ms without",
        "with/without",
    )
    return Part("Speed", columns, rows, f"{history.matches:,} matches of tennis.")


def main() -> None:
    """Measure and report."""
    surfaces = tennis()
    parts = [
        part("Tennis, by surface", surfaces),
        speed(surfaces),
    ]
    report_parts("contexts", (__doc__ or "").strip(), parts)


if __name__ == "__main__":
    main()
